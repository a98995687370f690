//! AFD: boundaries, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{Afd, Overflow};
use fairdrop::{AfdParams, AnyDiscipline, AnyParams, DropTailParams, ParamValue, Stream, Time};
use fairdrop_reference::afd::AfdModel;
use fairdrop_reference::arbitrary::greedy_events;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::host::{Bits, Bottleneck, DROP, Event, KEEP};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const DRAW: usize = Stream::AfdCoin as usize;
const SAMPLE: usize = Stream::AfdSample as usize;

/// Every packet of 1000 bytes is sampled; the share moves by whole numbers.
fn simple() -> AfdParams {
    AfdParams {
        limit: 10,
        q_target: 2.0,
        shadow: 8,
        sample_every: 1.0,
        t_update: Time::from_ms(10),
        alpha: 1.0,
        beta: 2.0,
        mean_packet_size: 1000,
    }
}

fn share_and_count(link: &Bottleneck, flow: u64) -> (f64, u32) {
    let AnyDiscipline::Afd(afd) = &link.queue else { panic!("this is not AFD") };
    (afd.fair_share(), afd.count(flow))
}

/// Flow 1 has all eight places, flow 2 none, and six packets wait.
fn filled() -> Bottleneck {
    let mut link = Bottleneck::blocked(AnyParams::Afd(simple()));
    link.world.bits[SAMPLE] = DROP;
    for _ in 0..8 {
        assert_eq!(link.arrive(1).causes(), []);
    }
    (0..2).for_each(|_| drop(link.finish()));
    assert_eq!(share_and_count(&link, 1), (8.0, 8));
    link
}

#[test]
fn defaults_and_names() {
    let mut read = AfdParams { q_target: 0.0, shadow: 1, sample_every: 1.0, ..simple() };
    let values = [
        ("q_target", 100.0),
        ("shadow", 500.0),
        ("sample_every", 5.0),
        ("t_update", 0.006_25),
        ("alpha", 1.7),
        ("beta", 1.8),
        ("mean_packet_size", 1000.0),
    ];
    read.limit = 300;
    assert!(values.iter().all(|&(name, value)| read.set(name, ParamValue::Number(value))));
    assert!(!read.set("tea", ParamValue::Number(1.0)));
    assert_eq!(read, AfdParams::default());
}

#[test]
fn errors_name_the_parameter() {
    let name = |params: AfdParams| params.validate().expect_err("out of range").name;
    assert_eq!(name(AfdParams { limit: 0, ..simple() }), "limit");
    assert_eq!(name(AfdParams { q_target: f64::INFINITY, ..simple() }), "q_target");
    assert_eq!(name(AfdParams { shadow: 0, ..simple() }), "shadow");
    assert_eq!(name(AfdParams { sample_every: 0.5, ..simple() }), "sample_every");
    assert_eq!(name(AfdParams { t_update: Time::ZERO, ..simple() }), "t_update");
    assert_eq!(name(AfdParams { alpha: f64::NAN, ..simple() }), "alpha");
    assert_eq!(name(AfdParams { beta: -1.0, ..simple() }), "beta");
    assert_eq!(name(AfdParams { mean_packet_size: 0, ..simple() }), "mean_packet_size");
}

/// Queue 6, target 2: the first update is -2 alpha - 4 beta from the empty queue's -2, the next ones 4 alpha - 4 beta.
#[test]
fn the_share_follows_the_queue() {
    for (wait, share) in [(10 * MS - 1, 8.0), (10 * MS, 0.0), (20 * MS, 0.0)] {
        let mut link = filled();
        link.wait(wait);
        link.arrive(3);
        assert_eq!(share_and_count(&link, 1).0, share, "{wait}");
    }
    let gentle = AfdParams { alpha: 0.25, beta: 0.5, ..simple() };
    let mut link = Bottleneck::blocked(AnyParams::Afd(gentle));
    link.world.bits[SAMPLE] = DROP;
    (0..6).for_each(|_| drop(link.arrive(1)));
    // -0.5 - 2, then -1 each.
    for (updates, share) in [(1, 5.5), (2, 4.5), (4, 2.5), (7, 0.0), (1000, 0.0)] {
        let mut link = link.clone();
        link.wait(updates * 10 * MS);
        link.finish();
        assert_eq!(share_and_count(&link, 1).0, share, "{updates}");
    }
}

/// The share moves back to the whole shadow buffer, and not beyond it, while the queue is below its target.
#[test]
fn an_empty_queue_frees_everyone() {
    let mut link = filled();
    link.wait(10 * MS);
    link.arrive(1);
    while link.finish().departed.is_some() {}
    link.wait(1000 * MS);
    assert_eq!(link.arrive(1).causes(), []);
    assert_eq!(share_and_count(&link, 1).0, 8.0);
}

/// At a share of 6 of 8 places, a quarter of the draws drops; a flow at or below the share needs no draw.
#[test]
fn flows_above_the_share_lose_what_is_above_it() {
    let params = AfdParams { alpha: 0.0, beta: 0.5, ..simple() };
    let mut link = Bottleneck::blocked(AnyParams::Afd(params));
    link.world.bits[SAMPLE] = DROP;
    (0..8).for_each(|_| drop(link.arrive(1)));
    (0..2).for_each(|_| drop(link.finish()));
    link.wait(10 * MS);
    for (draw, dropped) in [(0, true), ((1 << 62) - 1, true), (1 << 62, false), (u64::MAX, false)] {
        let mut link = link.clone();
        link.world.bits[DRAW] = Bits::Always(draw);
        assert_eq!(link.arrive(1).causes() == [Afd], dropped, "{draw:x}");
        assert_eq!(share_and_count(&link, 1).0, 6.0);
        assert_eq!(link.world.used[DRAW], 1);
        assert_eq!(link.arrive(2).causes(), []);
        assert_eq!(link.world.used[DRAW], 1);
    }
}

/// A packet of half the mean size is sampled half as often; dropped arrivals are sampled as well.
#[test]
fn long_packets_are_sampled_more_often() {
    for (len, draw, sampled) in [(500, 1 << 63, 0), (500, (1 << 63) - 1, 1), (2000, u64::MAX, 1), (0, 0, 0)] {
        let mut link = Bottleneck::blocked(AnyParams::Afd(simple()));
        link.world.bits[SAMPLE] = Bits::Always(draw);
        link.step(&Event::Arrive { flow: 1, len });
        assert_eq!(share_and_count(&link, 1).1, sampled, "{len}");
    }
    let mut link = Bottleneck::blocked(AnyParams::Afd(AfdParams { limit: 1, ..simple() }));
    link.world.bits[SAMPLE] = DROP;
    link.arrive(1);
    assert_eq!(link.arrive(1).causes(), [Overflow]);
    assert_eq!(share_and_count(&link, 1).1, 2);
}

/// A full shadow buffer replaces a place drawn uniformly: the last of eight with the highest numbers.
#[test]
fn a_sample_replaces_another() {
    let mut link = filled();
    link.world.bits[SAMPLE] = Bits::Script([0, u64::MAX, 0, 0].into());
    link.arrive(2);
    assert_eq!((share_and_count(&link, 1).1, share_and_count(&link, 2).1), (7, 1));
    link.arrive(3);
    assert_eq!((share_and_count(&link, 1).1, share_and_count(&link, 3).1), (6, 1));
}

#[test]
fn late_times_do_not_wrap() {
    let mut link = filled();
    link.world.now = Time::NEVER;
    link.arrive(1);
    link.arrive(1);
    link.finish();
}

fn params() -> impl Strategy<Value = AfdParams> {
    let gain = || prop_oneof![Just(0.0), Just(1.7), 0.0..3.0];
    let rest = (gain(), gain(), prop_oneof![Just(1000_u32), 1_u32..3000]);
    let t_update = prop_oneof![Just(6_250_000_u64), MS..100 * MS];
    let q_target = prop_oneof![3 => (0..10).prop_map(f64::from), 1 => 0.0..20.0];
    let every = prop_oneof![Just(1.0), 1.0..5.0];
    (1_u32..25, q_target, 1_u32..30, every, t_update, rest).prop_map(
        |(limit, q_target, shadow, sample_every, t_update, (alpha, beta, mean_packet_size))| {
            let t_update = Time::from_ns(t_update);
            AfdParams { limit, q_target, shadow, sample_every, t_update, alpha, beta, mean_packet_size }
        },
    )
}

properties! {
    #[test]
    fn afd_agrees(params in params(), trace in greedy_events(300), seed in any::<u64>()) {
        let result = compare(Bottleneck::new(AnyParams::Afd(params.clone()), seed), &mut AfdModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        check_conservation(&AnyParams::Afd(params), &trace, seed, InOrder::All)?;
    }

    /// The share is within the shadow buffer, counts add up to at most its places, and who is dropped was above the
    /// share.
    #[test]
    fn only_flows_above_the_share_are_dropped(
        params in params(), trace in greedy_events(200), seed in any::<u64>(),
    ) {
        let mut link = Bottleneck::new(AnyParams::Afd(params.clone()), seed);
        for event in &trace {
            let before: Vec<u32> = (0..5).map(|flow| share_and_count(&link, flow).1).collect();
            let step = link.step(event);
            let (share, _) = share_and_count(&link, 0);
            prop_assert!((0.0..=f64::from(params.shadow)).contains(&share));
            prop_assert!((0..5).map(|flow| share_and_count(&link, flow).1).sum::<u32>() <= params.shadow);
            if step.causes() == [Afd] {
                let flow = step.arrived.as_ref().map_or(0, |packet| packet.meta.flow);
                prop_assert!(f64::from(before[flow as usize]) > share);
            }
        }
    }

    /// A queue that never passes its target leaves nobody an excess; so does a target beyond the limit.
    #[test]
    fn without_excess_it_is_droptail(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        let params = AfdParams { q_target: f64::from(params.limit) + 1.0, beta: params.alpha, ..params };
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        let steady = AfdParams { alpha: 0.0, ..params };
        same_links(Bottleneck::new(AnyParams::Afd(steady), seed), Bottleneck::new(droptail, seed), &trace)?;
    }

    /// Flows are compared for equality only.
    #[test]
    fn other_labels_same_run(
        params in params(), trace in greedy_events(200), seed in any::<u64>(), mask in any::<u64>(),
    ) {
        let mut one = Bottleneck::new(AnyParams::Afd(params), seed);
        let mut other = one.clone();
        for event in &trace {
            let renamed = match event {
                Event::Arrive { flow, len } => {
                    Event::Arrive { flow: flow.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ mask, len: *len }
                }
                event => event.clone(),
            };
            let (a, b) = (one.step(event), other.step(&renamed));
            prop_assert_eq!((a.causes(), a.departed.map(|p| p.handle)), (b.causes(), b.departed.map(|p| p.handle)));
        }
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(1000, &(params(), greedy_events(300), any::<u64>()), &[Overflow, Afd], |(params, events, seed)| {
        compare(Bottleneck::new(AnyParams::Afd(params.clone()), seed), &mut AfdModel::new(params), &events)
    });
}

/// At a share of 0 the drop is certain; at the whole shadow buffer there is none.
#[test]
fn the_bounds_of_the_share_need_no_luck() {
    let mut link = filled();
    link.world.bits[DRAW] = DROP;
    assert_eq!(link.arrive(1).causes(), []);
    link.world.bits[DRAW] = KEEP;
    link.wait(10 * MS);
    assert_eq!(link.arrive(1).causes(), [Afd]);
}
