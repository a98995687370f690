//! AHAB: rates, the threshold and how it moves, what must hold of every trace, and agreement with a slow model event by event.

use fairdrop::DropCause::{self, Filter, Overflow};
use fairdrop::{AhabParams, AnyDiscipline, AnyParams, DropTailParams, ParamValue, Stream, Time};
use fairdrop_reference::ahab::AhabModel;
use fairdrop_reference::arbitrary::timed_events;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::host::{Bits, Bottleneck, DROP, Event, KEEP};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

/// A byte in a microsecond: a packet of 1000 bytes takes a millisecond.
const RATE: u64 = 8_000_000;
const MS: u64 = 1_000_000;

fn simple() -> AhabParams {
    AhabParams {
        limit: 100,
        k_flow: Time::from_ms(100),
        k_link: Time::from_ms(100),
        epoch: Time::from_ms(50),
        delta: 1,
        columns: 64,
        rate_bps: RATE,
    }
}

/// A link that stands still, and draws of `bits`.
fn blocked(params: AhabParams, bits: Bits) -> Bottleneck {
    let mut link = Bottleneck::blocked(AnyParams::Ahab(params));
    link.world.bits[Stream::FilterCoin as usize] = bits;
    link
}

fn threshold(link: &Bottleneck) -> f64 {
    let AnyDiscipline::Ahab(queue) = &link.queue else { panic!("not AHAB") };
    queue.threshold()
}

fn rates(link: &Bottleneck) -> [f64; 4] {
    let AnyDiscipline::Ahab(queue) = &link.queue else { panic!("not AHAB") };
    queue.rates()
}

/// A packet of `flow` every `every` nanoseconds, `count` in all; returns how many were let in.
fn send(link: &mut Bottleneck, flow: u64, every: u64, count: u32) -> u32 {
    let mut passed = 0;
    for _ in 0..count {
        link.wait(every);
        let step = link.arrive(flow);
        passed += u32::from(!step.causes().contains(&Filter));
        link.finish();
    }
    passed
}

#[test]
fn errors_name_the_parameter() {
    let mut params = AnyParams::of("ahab").unwrap();
    let numbers = [("k_flow", 0.1), ("k_link", 0.1), ("epoch", 0.05), ("delta", 1.0), ("columns", 64.0)];
    for (name, value) in numbers {
        assert!(params.set("ahab", name, ParamValue::Number(value)), "{name}");
    }
    params.set_link(100, RATE);
    assert_eq!(params, AnyParams::Ahab(simple()));
    let refused = |params: AhabParams| AnyParams::Ahab(params).validate().unwrap_err().name;
    assert_eq!(refused(AhabParams { limit: 0, ..simple() }), "limit");
    assert_eq!(refused(AhabParams { k_flow: Time::ZERO, ..simple() }), "k_flow");
    assert_eq!(refused(AhabParams { k_link: Time::NEVER, ..simple() }), "k_link");
    assert_eq!(refused(AhabParams { epoch: Time::ZERO, ..simple() }), "epoch");
    assert_eq!(refused(AhabParams { delta: 31, ..simple() }), "delta");
    assert_eq!(refused(AhabParams { columns: 0, ..simple() }), "columns");
    assert_eq!(refused(AhabParams { rate_bps: 0, ..simple() }), "rate_bps");
}

/// A steady flow is measured at its rate, but for the part of a packet that is its grain.
#[test]
fn filters_measure_rates() {
    let mut link = blocked(simple(), KEEP);
    send(&mut link, 1, 2 * MS, 1000);
    for rate in rates(&link) {
        assert!((rate / 4e6 - 1.0).abs() < 0.02, "{rate} bit/s of 4 Mb/s");
    }
}

/// While no more comes than the link sends nothing is dropped, and the threshold rises to the link's rate and no further.
#[test]
fn an_idle_link_drops_nothing() {
    let mut link = blocked(simple(), DROP);
    assert_eq!(send(&mut link, 1, 2 * MS, 1000), 1000);
    assert_eq!(threshold(&link), RATE as f64);
}

/// One flow at twice the rate of the link: half of it is let in, at a threshold of the link's rate.
#[test]
fn a_flow_alone_is_let_in_at_the_rate_of_the_link() {
    let mut link = Bottleneck::blocked(AnyParams::Ahab(simple()));
    send(&mut link, 1, MS / 2, 2000);
    let passed = send(&mut link, 1, MS / 2, 4000);
    assert!((f64::from(passed) / 2000.0 - 1.0).abs() < 0.08, "{passed} of 4000 in 2 s");
}

/// Flows at 1, 1/2 and 1/16 of the link: the last keeps what it sends, the others share the rest.
#[test]
fn what_is_let_in_is_max_min_fair() {
    let mut link = Bottleneck::new(AnyParams::Ahab(AhabParams { delta: 4, ..simple() }), 3);
    let mut sent = [0_u32; 3];
    for step in 0..160_000_u64 {
        for (flow, every) in [(0, 16), (1, 32), (2, 256)] {
            if step % every == flow {
                link.arrive(flow);
            }
        }
        link.wait(MS / 16);
        if step % 16 == 15
            && let Some(packet) = link.finish().departed
            && step >= 80_000
        {
            sent[packet.meta.flow as usize] += 1;
        }
    }
    let share = sent.map(|count| f64::from(count) / 5_000.0);
    assert!((share[2] - 1.0 / 16.0).abs() < 0.01, "{share:?}");
    assert!((share[0] - share[1]).abs() < 0.06, "{share:?}");
    assert!(share.iter().sum::<f64>() > 0.95, "{share:?}");
}

/// Where the lower threshold lets in more than the link sends it is the next one, and where the higher one lets in less that
/// is.
#[test]
fn the_threshold_moves_by_its_distance_at_most() {
    // No draw drops a packet, so that all thresholds let in all: 16 Mb/s once the filters have it.
    let mut link = blocked(simple(), KEEP);
    send(&mut link, 1, MS / 2, 199);
    assert_eq!(threshold(&link), RATE as f64, "after 50 ms the filters had 6 Mb/s");
    // 2^22 is the largest power of two in 8,000,000, and half of that the distance.
    for expected in [RATE - (1 << 21), RATE - (2 << 21), RATE - (2 << 21) - (1 << 20)] {
        send(&mut link, 1, MS / 2, 1);
        assert_eq!(threshold(&link), expected as f64);
        send(&mut link, 1, MS / 2, 99);
    }
    // Now each falls that may, so that no threshold lets in anything.
    link.world.bits[Stream::FilterCoin as usize] = DROP;
    let low = threshold(&link);
    send(&mut link, 1, MS / 2, 1000);
    assert!(threshold(&link) > low, "{} after {low}", threshold(&link));
}

#[test]
fn a_full_buffer_drops_the_arrival() {
    let mut link = blocked(AhabParams { limit: 1, ..simple() }, KEEP);
    link.arrive(1);
    assert_eq!(link.arrive(2).causes(), [Overflow]);
}

fn params() -> impl Strategy<Value = AhabParams> {
    let time = || prop_oneof![Just(Time::from_ms(10)), (100_000_u64..500_000_000).prop_map(Time::from_ns)];
    let epoch = prop_oneof![Just(Time::from_ms(1)), (100_000_u64..50_000_000).prop_map(Time::from_ns)];
    let rate = prop_oneof![Just(RATE), Just(100_000_u64), 10_000_u64..10_000_000];
    (1_u32..20, (time(), time(), epoch), 0_u32..8, prop_oneof![Just(1_u32), 1_u32..9], rate).prop_map(
        |(limit, (k_flow, k_link, epoch), delta, columns, rate_bps)| AhabParams {
            limit,
            k_flow,
            k_link,
            epoch,
            delta,
            columns,
            rate_bps,
        },
    )
}

fn compare_ahab(params: AhabParams, trace: &[Event]) -> Result<Vec<DropCause>, String> {
    compare(Bottleneck::new(AnyParams::Ahab(params.clone()), 7), &mut AhabModel::new(params), trace)
}

properties! {
    #[test]
    fn ahab_agrees(params in params(), trace in timed_events(300)) {
        let result = compare_ahab(params, &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in timed_events(200)) {
        check_conservation(&AnyParams::Ahab(params), &trace, 0, InOrder::All)?;
    }

    /// A lower threshold lets in no more than a higher one, and neither more than what came.
    #[test]
    fn rates_are_in_order(params in params(), trace in timed_events(300)) {
        let link_bps = params.rate_bps as f64;
        let mut link = Bottleneck::new(AnyParams::Ahab(params), 1);
        for event in &trace {
            link.step(event);
            let [low, passed, high, offered] = rates(&link);
            prop_assert!(low <= high && low <= passed && passed <= offered && high <= offered, "{:?}", rates(&link));
            prop_assert!((1.0..=link_bps).contains(&threshold(&link)), "{}", threshold(&link));
        }
    }

    /// On a link faster than anything that comes it is DropTail.
    #[test]
    fn on_a_fast_link_it_is_droptail(params in params(), trace in timed_events(200)) {
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        let params = AhabParams { rate_bps: 1 << 50, ..params };
        same_links(Bottleneck::new(AnyParams::Ahab(params), 0), Bottleneck::new(droptail, 0), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(500, &(params(), timed_events(300)), &[Filter, Overflow], |(params, trace)| {
        compare_ahab(params, &trace)
    });
}
