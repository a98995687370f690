//! RIO: boundaries, invariants, reductions to RED, and agreement with a slow model event by event.

use fairdrop::DropCause::{Overflow, RedEarly, RedForced};
use fairdrop::{AnyDiscipline, AnyParams, Meta, RedParams, Rio, RioParams, Stream, Time};
use fairdrop_reference::arbitrary::{events, red_params};
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation_of};
use fairdrop_reference::host::{Bits, Bottleneck, DROP, Event, KEEP, Step};
use fairdrop_reference::rio::RioModel;
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const DRAW: usize = Stream::EarlyDrop as usize;
const OUT: u64 = 0;
const IN: u64 = 1;

/// Packets of odd flows are IN, those of even ones OUT.
fn by_parity(flow: u64, len: u32) -> Meta {
    Meta { class: (flow % 2) as u8, ..Meta::of_flow(flow, len) }
}

fn link_of(params: RioParams, seed: u64) -> Bottleneck {
    Bottleneck { meta: by_parity, ..Bottleneck::new(AnyParams::Rio(params), seed) }
}

fn rio(link: &Bottleneck) -> &Rio<u32, Box<[fairdrop::Slot<u32>]>> {
    let AnyDiscipline::Rio(queue) = &link.queue else { panic!("not RIO") };
    queue
}

/// Averages are the queues themselves, and draws do not depend on each other; OUT from 2 to 6 packets, IN from 3 to 8 IN packets.
fn sharp() -> RioParams {
    let red = RedParams { limit: 20, min_th: 2.0, max_th: 6.0, max_p: 0.5, w_q: 1.0, ..RedParams::default() };
    let red = RedParams { independent: true, ..red };
    RioParams { red, min_th_in: 3.0, max_th_in: 8.0, max_p_in: 0.1, ..RioParams::default() }
}

/// Queued packets before a busy transmitter; nothing is dropped at random.
fn holding(params: RioParams, flows: &[u64]) -> Bottleneck {
    let mut link = Bottleneck { busy: true, ..link_of(params, 1) };
    link.world.bits[DRAW] = KEEP;
    for &flow in flows {
        assert_eq!(link.arrive(flow).causes(), [], "flow {flow}");
    }
    link
}

#[test]
fn out_packets_are_judged_by_all_that_wait() {
    let mut link = holding(sharp(), &[IN; 6]);
    assert_eq!((rio(&link).waiting_in(), rio(&link).average_in()), (6, 5.0));
    assert_eq!(link.arrive(OUT).causes(), [RedForced]);
    assert_eq!(link.average(), 6.0);
    let mut link = holding(sharp(), &[IN, OUT]);
    link.world.bits[DRAW] = DROP;
    assert_eq!(link.arrive(OUT).causes(), [], "at min_th the probability is 0");
    assert_eq!(link.arrive(OUT).causes(), [RedEarly]);
}

#[test]
fn in_packets_are_judged_by_those_that_are_in() {
    let mut link = holding(sharp(), &[OUT, OUT, OUT, OUT, OUT, OUT, IN, IN, IN]);
    link.world.bits[DRAW] = DROP;
    assert_eq!(link.arrive(IN).causes(), [], "at min_th_in the probability is 0");
    assert_eq!((rio(&link).average_in(), link.average()), (3.0, 9.0));
    assert_eq!(link.arrive(IN).causes(), [RedEarly]);
    link.world.bits[DRAW] = KEEP;
    (0..4).for_each(|_| assert_eq!(link.arrive(IN).causes(), []));
    assert_eq!(link.arrive(IN).causes(), [RedForced], "8 IN packets wait");
}

#[test]
fn out_packets_never_move_the_average_of_in() {
    let link = holding(sharp(), &[IN, IN, OUT, OUT]);
    assert_eq!((rio(&link).average_in(), link.average()), (1.0, 3.0));
}

/// In the form of ns-2 OUT packets leave both averages as the last IN packet found them.
#[test]
fn in_the_form_of_ns2_only_in_packets_move_averages() {
    let mut link = holding(RioParams { ns2_compat: true, ..sharp() }, &[OUT; 15]);
    assert_eq!((rio(&link).average_in(), link.average()), (0.0, 0.0));
    assert_eq!(link.arrive(IN).causes(), []);
    assert_eq!((rio(&link).average_in(), link.average()), (0.0, 15.0));
    assert_eq!(link.arrive(OUT).causes(), [RedForced]);
}

/// The idle correction of the whole queue's average is lost with the first OUT packet that ends an idle period, as in
/// ns-2; that of the IN packets' average is not.
#[test]
fn idle_time_in_both_forms() {
    for (ns2_compat, flows, all, inside) in [
        (false, [OUT, IN], 0.5 / 8.0 / 2.0 / 2.0, 0.5 / 8.0 / 2.0),
        (true, [OUT, IN], 0.5 / 2.0, 0.5 / 8.0 / 2.0),
        (true, [IN, IN], 0.5 / 8.0 / 2.0 / 2.0, 0.5 / 8.0 / 2.0 / 2.0),
    ] {
        let red = RedParams { w_q: 0.5, mean_packet_time: Time::from_ms(1), ..sharp().red };
        let mut link = holding(RioParams { red, ns2_compat, ..sharp() }, &[IN, IN]);
        assert_eq!((rio(&link).average_in(), link.average()), (0.5, 0.5));
        while link.finish().departed.is_some() {}
        link.wait(3_000_000);
        // Both find nothing waiting: the first is sent at once, before the other comes.
        for flow in flows {
            assert_eq!(link.arrive(flow).causes(), []);
        }
        assert_eq!((link.average(), rio(&link).average_in()), (all, inside), "{ns2_compat} {flows:?}");
    }
}

#[test]
fn the_lowest_class_that_is_in_can_be_chosen() {
    let classes: fn(u64, u32) -> Meta = |flow, len| Meta { class: flow as u8, ..Meta::of_flow(flow, len) };
    for (in_class, waiting_in) in [(0, 4), (1, 3), (2, 2), (255, 1)] {
        let mut link = holding(RioParams { in_class, ..sharp() }, &[]);
        link.meta = classes;
        for flow in [0, 1, 2, 255] {
            link.arrive(flow);
        }
        assert_eq!(rio(&link).waiting_in(), waiting_in);
    }
}

#[test]
fn a_full_buffer_overflows_for_both() {
    let red = RedParams { limit: 3, min_th: 10.0, max_th: 20.0, ..sharp().red };
    let mut link = holding(RioParams { red, min_th_in: 10.0, max_th_in: 20.0, ..sharp() }, &[IN, OUT, IN]);
    assert_eq!(link.arrive(IN).causes(), [Overflow]);
    assert_eq!(link.arrive(OUT).causes(), [Overflow]);
    assert_eq!(rio(&link).waiting_in(), 2);
}

fn params() -> impl Strategy<Value = RioParams> {
    (red_params(), red_params(), 0_u32..3, any::<bool>()).prop_map(|(red, inside, in_class, ns2_compat)| {
        RioParams {
            red,
            min_th_in: inside.min_th,
            max_th_in: inside.max_th,
            max_p_in: inside.max_p,
            in_class,
            ns2_compat,
        }
    })
}

fn run(mut link: Bottleneck, trace: &[Event]) -> Vec<Step> {
    trace.iter().map(|event| link.step(event)).collect()
}

/// The same steps of a queue that judges all packets by `red`.
fn run_red(red: RedParams, trace: &[Event], seed: u64) -> Vec<Step> {
    run(Bottleneck { meta: by_parity, ..Bottleneck::new(AnyParams::Red(red), seed) }, trace)
}

properties! {
    #[test]
    fn rio_agrees(params in params(), trace in events(5), seed in any::<u64>()) {
        let result = compare(link_of(params.clone(), seed), &mut RioModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in events(5), seed in any::<u64>()) {
        let limit = params.red.limit;
        check_conservation_of(link_of(params, seed), limit, &trace, InOrder::All)?;
    }

    /// n_in is the number of IN packets in the queue; nothing is dropped early below its threshold.
    #[test]
    fn in_packets_are_counted(params in params(), trace in events(5), seed in any::<u64>()) {
        let mut link = link_of(params.clone(), seed);
        for event in &trace {
            let step = link.step(event);
            let counted = link.fifo().iter().filter(|packet| u32::from(packet.meta.class) >= params.in_class);
            prop_assert_eq!(counted.count(), rio(&link).waiting_in() as usize);
            for (packet, cause) in &step.dropped {
                let is_in = u32::from(packet.meta.class) >= params.in_class;
                let (average, min_th) =
                    if is_in { (rio(&link).average_in(), params.min_th_in) } else { (link.average(), params.red.min_th) };
                prop_assert!(*cause == Overflow || average >= min_th);
            }
        }
    }

    /// With everything IN it is RED on the thresholds of IN, in both forms.
    #[test]
    fn all_in_is_red_on_the_thresholds_of_in(params in params(), trace in events(5), seed in any::<u64>()) {
        let params = RioParams { in_class: 0, ..params };
        let (min_th, max_th, max_p) = (params.min_th_in, params.max_th_in, params.max_p_in);
        let red = RedParams { min_th, max_th, max_p, ..params.red.clone() };
        prop_assert_eq!(run(link_of(params, seed), &trace), run_red(red, &trace, seed));
    }

    /// With nothing IN it is RED.
    #[test]
    fn all_out_is_red(params in params(), trace in events(5), seed in any::<u64>()) {
        let params = RioParams { in_class: 2, ns2_compat: false, ..params };
        let red = params.red.clone();
        prop_assert_eq!(run(link_of(params, seed), &trace), run_red(red, &trace, seed));
    }

    /// In the form of ns-2 and with nothing IN there is no average, and it is `DropTail`.
    #[test]
    fn ns2_without_in_is_droptail(params in params(), trace in events(5), seed in any::<u64>()) {
        let red = RedParams { min_th: params.red.min_th + 1.0, max_th: f64::INFINITY, ..params.red };
        let never = RedParams { max_p: 0.0, ..red.clone() };
        let params = RioParams { red, in_class: 2, ns2_compat: true, ..params };
        let causes = run(link_of(params, seed), &trace).into_iter().map(|step| step.dropped);
        prop_assert!(causes.eq(run_red(never, &trace, seed).into_iter().map(|step| step.dropped)));
    }
}

/// Of two packets that meet the same queue of IN packets the OUT one is dropped with at least the probability of the
/// IN one when thresholds and probabilities are ordered. The draw here drops packets whose probability is above one half.
#[test]
fn out_is_dropped_before_in() {
    let red = RedParams { max_th: 16.0, max_p: 1.0, ..sharp().red };
    let params = RioParams { red, min_th_in: 3.0, max_th_in: 17.0, max_p_in: 0.9, ..sharp() };
    let drops = |n: usize, flow: u64| {
        let mut link = holding(params.clone(), &[IN].repeat(n));
        link.world.bits[DRAW] = Bits::Always(1 << 63);
        link.arrive(flow).causes() == [RedEarly]
    };
    let first = |flow: u64| (3..15).find(|&n| drops(n, flow)).expect("some length is too long");
    assert_eq!((first(OUT), first(IN)), (10, 11), "(n - 2) / 14 > 1/2, and 0.9 (n - 3) / 14 > 1/2");
    assert!((11..15).all(|n| drops(n, OUT) && drops(n, IN)));
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(
        1000,
        &(params(), events(5), any::<u64>()),
        &[RedEarly, RedForced, Overflow],
        |(params, trace, seed)| compare(link_of(params.clone(), seed), &mut RioModel::new(params), &trace),
    );
}
