//! FQ: boundaries, the fluid system that it follows, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{LongestQueue, Overflow};
use fairdrop::{AnyDiscipline, AnyParams, DropTailParams, FqParams, Meta, ParamValue, Time, Weights};
use fairdrop_reference::arbitrary::classed_events;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same};
use fairdrop_reference::fq::FqModel;
use fairdrop_reference::host::{Bottleneck, Event, Step};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

/// A byte in a microsecond.
const RATE: u64 = 8_000_000;
const NS_PER_BYTE: u64 = 1000;

fn fq(params: FqParams) -> AnyParams {
    AnyParams::Fq(params)
}

fn with_weights(limit: u32, weights: &[f64]) -> FqParams {
    FqParams { limit, rate_bps: RATE, weights: Weights::new(weights).expect("weights are valid") }
}

fn virtual_time(link: &Bottleneck) -> f64 {
    let AnyDiscipline::Fq(queue) = &link.queue else { panic!("it is FQ") };
    queue.virtual_time()
}

/// A packet whose class is its flow.
fn meta(flow: u64, len: u32) -> Meta {
    Meta { class: flow as u8, ..Meta::of_flow(flow, len) }
}

fn flows(link: &mut Bottleneck, count: usize) -> Vec<u64> {
    (0..count).map(|_| link.finish().departed.expect("packets wait").meta.flow).collect()
}

#[test]
fn parameters_by_name() {
    let mut params = AnyParams::of("fq").unwrap();
    assert!(params.set("fq", "weights", ParamValue::Numbers(&[1.0, 3.0])));
    assert!(
        !params.set("fq", "weights", ParamValue::Number(1.0))
            && !params.set("fq", "weights", ParamValue::Numbers(&[]))
    );
    params.set_link(50, RATE);
    assert_eq!(params, fq(with_weights(50, &[1.0, 3.0])));
    let name = |params: FqParams| params.validate().expect_err("out of range").name;
    assert_eq!(name(FqParams { limit: 0, ..FqParams::default() }), "limit");
    assert_eq!(name(FqParams { rate_bps: 0, ..FqParams::default() }), "rate_bps");
}

/// Demers, Keshav, Shenker, section 2: the smallest finish goes first, so short packets do not wait for long ones.
#[test]
fn the_smallest_finish_goes_first() {
    let mut link = Bottleneck::blocked(fq(with_weights(100, &[1.0])));
    for (flow, len) in [(0, 1000), (0, 1000), (1, 400), (1, 400), (1, 400), (2, 1500)] {
        link.offer(Meta::of_flow(flow, len));
    }
    // Finishes: 1000, 2000; 400, 800, 1200; 1500.
    assert_eq!(flows(&mut link, 6), [1, 1, 0, 1, 2, 0]);
}

#[test]
fn weights_divide_sizes() {
    let mut link = Bottleneck::blocked(fq(with_weights(100, &[1.0, 3.0])));
    for _ in 0..6 {
        link.offer(meta(0, 900));
        link.offer(meta(1, 1000));
    }
    // Finishes: 900, 1800, ...; 333, 667, 1000, 1333, 1667, 2000
    assert_eq!(flows(&mut link, 8), [1, 1, 0, 1, 1, 1, 0, 1]);
}

/// Virtual time is what a flow of weight 1 is served: slower the more flows there are, and not at all when there are none.
#[test]
fn virtual_time_follows_the_fluid_system() {
    let mut link = Bottleneck::blocked(fq(with_weights(100, &[1.0, 3.0])));
    let at = |link: &mut Bottleneck, us: u64, flow: u64| {
        link.world.now = Time::from_ns(us * 1000);
        link.offer(meta(flow, 1000));
        virtual_time(link)
    };
    assert_eq!(at(&mut link, 0, 0), 0.0);
    assert_eq!(at(&mut link, 500, 1), 500.0, "one flow of weight 1");
    assert_eq!(at(&mut link, 900, 2), 600.0, "weights 1 + 3");
    // Weight 1 + 3 + 1: 233.3 more until flow 1 has its 1000 bytes, in 1166.7 us; then halves of the link.
    let reached = at(&mut link, 900 + 1200, 3);
    let expected = 2500.0 / 3.0 + (1200.0 - 3500.0 / 3.0) / 2.0;
    assert!((reached - expected).abs() < 1e-3, "{reached}, {expected}");
}

#[test]
fn everything_idle_begins_anew() {
    let mut link = Bottleneck::blocked(fq(with_weights(100, &[1.0])));
    link.offer(meta(0, 1000));
    link.world.now = Time::from_ns(2_000_000);
    assert!(link.finish().departed.is_some());
    assert_eq!(virtual_time(&link), 1000.0, "a packet waited although the fluid system had nothing left");
    link.finish();
    assert_eq!(virtual_time(&link), 0.0);
    let AnyDiscipline::Fq(queue) = &link.queue else { panic!("it is FQ") };
    assert_eq!(queue.flows(), 0);
}

/// A flow that has sent in advance waits: its packets are charged in the fluid system although none is queued.
#[test]
fn a_flow_served_early_is_remembered() {
    let mut link = Bottleneck::blocked(fq(with_weights(100, &[1.0])));
    link.offer(meta(0, 1000));
    link.offer(meta(1, 1100));
    assert_eq!(flows(&mut link, 1), [0]);
    let AnyDiscipline::Fq(queue) = &link.queue else { panic!("it is FQ") };
    assert_eq!(queue.flows(), 2, "one of which has nothing queued");
    link.offer(meta(0, 1000));
    assert_eq!(flows(&mut link, 2), [1, 0], "starts at 1000, not at 0");
}

#[test]
fn a_full_buffer_takes_from_the_most_packets_over_weight() {
    let mut link = Bottleneck::blocked(fq(with_weights(6, &[1.0, 2.0])));
    (0..2).for_each(|_| drop(link.offer(meta(0, 1000))));
    (0..4).for_each(|_| drop(link.offer(meta(1, 1000))));
    // 2 / 1 and 4 / 2: another packet would make its own flow the longest.
    assert_eq!(link.offer(meta(1, 1000)).causes(), [Overflow]);
    assert_eq!(link.offer(meta(0, 1000)).causes(), [Overflow]);
    let step = link.offer(Meta { class: 1, ..Meta::of_flow(5, 1000) });
    assert_eq!(
        step.dropped.iter().map(|(p, cause)| (p.handle, *cause)).collect::<Vec<_>>(),
        [(1, LongestQueue)]
    );
}

/// The fluid system serves no more of a packet that was dropped: the flow's next one starts where it would have.
#[test]
fn a_dropped_packet_is_not_charged() {
    let mut link = Bottleneck::blocked(fq(with_weights(3, &[1.0])));
    (0..3).for_each(|_| drop(link.offer(meta(0, 1000))));
    assert_eq!(link.offer(meta(1, 2500)).causes(), [LongestQueue]);
    assert_eq!(flows(&mut link, 1), [0]);
    link.offer(meta(0, 400));
    // 0: 2000, then 2400 and not 3400; 1: 2500.
    assert_eq!(flows(&mut link, 3), [0, 0, 1]);
}

/// Twice as many records as packets: flows that only the fluid system still serves use them up.
#[test]
fn records_run_out() {
    let mut link = Bottleneck::blocked(fq(with_weights(2, &[1.0])));
    for flow in 0..4 {
        assert_eq!(link.offer(meta(flow, 1000)).causes(), []);
        assert_eq!(flows(&mut link, 1), [flow]);
    }
    assert_eq!(link.offer(meta(4, 1000)).causes(), [Overflow]);
    assert_eq!(link.offer(meta(3, 1000)).causes(), [], "a flow with a record goes on");
    link.world.now = Time::from_ns(5_000 * NS_PER_BYTE);
    assert_eq!(link.offer(meta(4, 1000)).causes(), []);
}

fn params() -> impl Strategy<Value = FqParams> {
    let weights = prop_oneof![
        Just(vec![1.0]),
        prop::collection::vec((1_u32..9).prop_map(f64::from), 1..5),
        prop::collection::vec((4_u32..40).prop_map(|quarters| f64::from(quarters) / 4.0), 1..5),
    ];
    let rate = prop_oneof![Just(RATE), 1_000_u64..100_000_000];
    (1_u32..40, rate, weights)
        .prop_map(|(limit, rate_bps, weights)| FqParams { rate_bps, ..with_weights(limit, &weights) })
}

/// A packet in the fluid system: where it is due, what is left of it, when it is done there.
struct Fluid {
    flow: u64,
    weight: f64,
    left: f64,
    done: Option<f64>,
}

/// Serves the flows for `span` ns, each its oldest packet.
fn serve(packets: &mut [Fluid], mut clock: f64, span: f64) {
    let end = clock + span;
    loop {
        let mut heads: Vec<usize> = Vec::new();
        for at in 0..packets.len() {
            let is_head =
                packets[at].left > 0.0 && !heads.iter().any(|&head| packets[head].flow == packets[at].flow);
            if is_head {
                heads.push(at);
            }
        }
        let weights: f64 = heads.iter().map(|&head| packets[head].weight).sum();
        if heads.is_empty() {
            return;
        }
        let needed = |at: usize| packets[at].left * weights / packets[at].weight * NS_PER_BYTE as f64;
        let first =
            heads.iter().copied().min_by(|&a, &b| needed(a).total_cmp(&needed(b))).expect("not empty");
        let step = needed(first).min(end - clock);
        let done = needed(first) <= end - clock;
        clock += step;
        for &at in &heads {
            packets[at].left -= step / NS_PER_BYTE as f64 * packets[at].weight / weights;
            if packets[at].left < 1e-6 {
                (packets[at].left, packets[at].done) = (0.0, Some(clock));
            }
        }
        if !done {
            return;
        }
    }
}

properties! {
    #[test]
    fn fq_agrees(params in params(), trace in classed_events(6, 250)) {
        let result = compare(Bottleneck::new(fq(params.clone()), 0), &mut FqModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in classed_events(8, 200)) {
        check_conservation(&fq(params), &trace, 0, InOrder::Flow)?;
    }

    /// Parekh and Gallager 1993, theorem 1: no packet is done later than in the fluid system by more than the longest
    /// packet takes. The fluid system is simulated by itself, packet by packet, without tags.
    #[test]
    fn no_packet_is_a_packet_behind_the_fluid_system(
        weights in prop::collection::vec((1_u32..6).prop_map(f64::from), 1..5),
        arrivals in prop::collection::vec((0_u64..5, 1_u32..=1500, 0_u64..2500), 1..60),
    ) {
        let params = with_weights(1000, &weights);
        let mut link = Bottleneck::new(fq(params.clone()), 1);
        let mut fluid: Vec<Fluid> = Vec::new();
        let mut done: Vec<Option<u64>> = Vec::new();
        let (mut now, mut free): (u64, Option<(u64, u32)>) = (0, None);
        let departed = |step: Step, at: u64, free: &mut Option<(u64, u32)>| {
            if let Some(packet) = step.departed {
                *free = Some((at + u64::from(packet.meta.len) * NS_PER_BYTE, packet.handle));
            }
        };
        let mut clock = 0;
        let finish_until = |until: u64, link: &mut Bottleneck, free: &mut Option<(u64, u32)>, done: &mut Vec<Option<u64>>| {
            while let Some((at, handle)) = free.take_if(|(at, _)| *at <= until) {
                done[handle as usize] = Some(at);
                link.world.now = Time::from_ns(at);
                let step = link.finish();
                if let Some(packet) = step.departed {
                    *free = Some((at + u64::from(packet.meta.len) * NS_PER_BYTE, packet.handle));
                }
            }
        };
        for &(flow, len, gap) in &arrivals {
            now += gap * NS_PER_BYTE;
            finish_until(now, &mut link, &mut free, &mut done);
            serve(&mut fluid, clock as f64, (now - clock) as f64);
            clock = now;
            link.world.now = Time::from_ns(now);
            done.push(None);
            fluid.push(Fluid { flow, weight: params.weights.of(flow as u8), left: f64::from(len), done: None });
            let step = link.offer(meta(flow, len));
            departed(step, now, &mut free);
        }
        finish_until(u64::MAX, &mut link, &mut free, &mut done);
        serve(&mut fluid, clock as f64, f64::INFINITY);
        let longest = arrivals.iter().map(|&(_, len, _)| u64::from(len) * NS_PER_BYTE).max().unwrap_or(0);
        for (packet, done) in fluid.iter().zip(done) {
            let (ideal, done) = (packet.done.expect("all is served"), done.expect("all are sent"));
            prop_assert!(done as f64 <= ideal + longest as f64 + 1.0, "{} ns after {}", done, ideal);
        }
    }

    /// One flow: a FIFO that overflows.
    #[test]
    fn one_flow_is_droptail(params in params(), trace in classed_events(1, 200)) {
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        same(fq(params), droptail, &trace)?;
    }

    /// Weights that are all the same are no weights. A power of two, since sizes are divided by it.
    #[test]
    fn equal_weights_are_none(params in params(), exponent in 0_i32..6, trace in classed_events(6, 200)) {
        let weights = |weight: f64| Weights::new(&[weight; 4]).expect("weights are valid");
        let all = |weight: f64| fq(FqParams { weights: weights(weight), ..params.clone() });
        same(all(f64::from(1 << exponent)), all(1.0), &trace)?;
        same(fq(FqParams { weights: Weights::EQUAL, ..params.clone() }), all(1.0), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(
        1000,
        &(params(), classed_events(6, 250)),
        &[Overflow, LongestQueue],
        |(params, trace): (FqParams, Vec<Event>)| {
            compare(Bottleneck::new(fq(params.clone()), 0), &mut FqModel::new(params), &trace)
        },
    );
}
