//! FRED: boundaries, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{FredLimit, Overflow, RedEarly, RedForced};
use fairdrop::{
    AnyDiscipline, AnyParams, Discipline, DropTailParams, Fred, FredFlow, FredParams, RedParams, Stream, Time,
};
use fairdrop_reference::arbitrary::{events, red_params};
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation};
use fairdrop_reference::fred::FredModel;
use fairdrop_reference::host::{Bottleneck, DROP, Event, KEEP, Step};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const DRAW: usize = Stream::EarlyDrop as usize;

type FredQueue = Fred<u32, Box<[fairdrop::Slot<u32>]>, Box<[fairdrop::FlowPlace<FredFlow>]>>;

fn fred(link: &Bottleneck) -> &FredQueue {
    let AnyDiscipline::Fred(queue) = &link.queue else { panic!("not FRED") };
    queue
}

/// The average is the queue that the last packet queued found, or the last one that left leaves behind.
fn sharp(min_th: f64, max_th: f64, min_q: u32, many_flows: bool) -> FredParams {
    let red = RedParams { limit: 50, min_th, max_th, w_q: 1.0, max_p: 0.5, ..RedParams::default() };
    FredParams { red, min_q, many_flows }
}

/// The average stays next to 0, and the mean flow has one packet.
fn slack(min_th: f64) -> FredParams {
    let params = sharp(min_th, 40.0, 2, false);
    FredParams { red: RedParams { w_q: 1e-12, ..params.red }, ..params }
}

/// Queued packets of these flows before a busy transmitter; nothing is dropped at random.
fn holding(params: FredParams, flows: &[u64]) -> Bottleneck {
    let mut link = Bottleneck::blocked(AnyParams::Fred(params));
    link.world.bits[DRAW] = KEEP;
    for &flow in flows {
        assert_eq!(link.arrive(flow).causes(), [], "flow {flow}");
    }
    link
}

fn state(link: &Bottleneck, flow: u64) -> Option<(u32, u32)> {
    fred(link).flow(flow).map(|flow| (flow.waiting, flow.strikes))
}

/// The transmitter takes the head and is busy again.
fn send(link: &mut Bottleneck) {
    assert!(link.finish().departed.is_some());
}

#[test]
fn a_flow_has_at_most_min_th_packets() {
    let mut link = holding(slack(5.0), &[1, 1, 1, 1, 1]);
    assert_eq!(link.arrive(1).causes(), [FredLimit]);
    assert_eq!((state(&link, 1), link.waiting().len()), (Some((5, 1)), 5));
    assert_eq!(link.arrive(2).causes(), [], "another flow is not concerned");
    assert_eq!((state(&link, 2), fred(&link).active()), (Some((1, 0)), 2));
}

/// One packet is the least that a flow is let have.
#[test]
fn a_min_th_below_one_lets_a_flow_have_one_packet() {
    for min_th in [0.0, 0.5, 1.0] {
        let mut link = holding(slack(min_th), &[1, 2, 3]);
        assert_eq!(link.arrive(1).causes(), [FredLimit]);
    }
}

/// From its third refusal on a flow is held to the mean flow, here one packet.
#[test]
fn two_strikes_hold_a_flow_to_the_mean() {
    for (strikes, refused) in [(1, false), (2, true), (3, true)] {
        let mut link = holding(slack(5.0), &[1, 1, 1, 1, 1]);
        for _ in 0..strikes {
            assert_eq!(link.arrive(1).causes(), [FredLimit]);
        }
        (0..4).for_each(|_| send(&mut link));
        assert_eq!(state(&link, 1), Some((1, strikes)));
        assert_eq!(link.arrive(1).causes() == [FredLimit], refused, "{strikes} strikes");
    }
}

#[test]
fn strikes_are_forgotten_as_the_flow_has_no_packet_waiting() {
    let mut link = holding(slack(2.0), &[1, 1]);
    (0..3).for_each(|_| assert_eq!(link.arrive(1).causes(), [FredLimit]));
    (0..2).for_each(|_| send(&mut link));
    assert_eq!((state(&link, 1), fred(&link).active()), (None, 0));
    assert_eq!(link.arrive(1).causes(), []);
    assert_eq!(link.arrive(1).causes(), []);
    assert_eq!(state(&link, 1), Some((2, 0)));
}

/// Average 6 at a `max_th` of 6, four flows: the mean flow has 1.5 packets.
fn long(many_flows: bool) -> Bottleneck {
    let link = holding(sharp(5.0, 6.0, 4, many_flows), &[1, 1, 1, 1, 2, 3, 4]);
    assert_eq!((link.average(), fred(&link).active()), (6.0, 4));
    link
}

#[test]
fn above_max_th_a_flow_has_at_most_twice_the_mean() {
    let mut link = long(false);
    assert_eq!(link.arrive(1).causes(), [FredLimit], "4 > 2 * 1.5");
    assert_eq!(link.arrive(2).causes(), [RedForced], "1 < 2 * 1.5, and every arrival is dropped");
    // Exactly twice the mean is not above it.
    let mut link = holding(sharp(5.0, 6.0, 4, false), &[1, 1, 1, 1, 2, 2, 3]);
    assert_eq!((link.average(), fred(&link).active()), (6.0, 3));
    assert_eq!(link.arrive(1).causes(), [RedForced]);
    assert_eq!(state(&link, 1), Some((4, 0)));
}

#[test]
fn with_many_flows_each_has_two_packets_above_max_th() {
    let mut link = long(true);
    assert_eq!(link.arrive(1).causes(), [FredLimit]);
    assert_eq!(link.arrive(2).causes(), []);
    assert_eq!(link.arrive(2).causes(), [FredLimit]);
    assert_eq!(link.arrive(9).causes(), []);
}

/// Packets of a flow are dropped at random once it has `min_q` packets and as many as the mean flow.
#[test]
fn only_robust_flows_are_dropped_at_random() {
    for (min_q, waiting, meets) in [(2, 1, false), (2, 2, true), (3, 2, false), (3, 3, true), (1, 1, false)] {
        // Average 10 or a little more over 6 to 8 flows: the mean flow has fewer than two packets.
        let mut flows = vec![1; waiting];
        flows.extend([2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7]);
        let mut link = holding(sharp(8.0, 40.0, min_q, false), &flows);
        assert!(link.average() >= 8.0);
        let used = link.world.used[DRAW];
        link.world.bits[DRAW] = DROP;
        assert_eq!(link.arrive(1).causes() == [RedEarly], meets, "{waiting} waiting, min_q {min_q}");
        assert_eq!(link.world.used[DRAW] - used, u64::from(meets));
    }
}

/// Arrivals that are dropped leave the average; packets queued and packets sent move it.
#[test]
fn the_average_moves_with_packets_queued_and_sent() {
    let params = FredParams { red: RedParams { w_q: 0.5, ..slack(2.0).red }, ..slack(2.0) };
    let mut link = holding(params, &[1, 1]);
    assert_eq!(link.average(), 0.5, "of queues of 0 and 1");
    assert_eq!(link.arrive(1).causes(), [FredLimit]);
    assert_eq!(link.average(), 0.5);
    send(&mut link);
    assert_eq!(link.average(), 0.75);
    assert!(link.finish().departed.is_some());
    assert_eq!(link.average(), 0.375);
    assert!(link.finish().departed.is_none(), "nothing waits, nothing leaves");
    assert_eq!(link.average(), 0.375);
}

/// An idle link counts as arrivals to an empty queue, once, and the packet that ends it as one more.
#[test]
fn idle_time_decays_the_average() {
    let red = RedParams { w_q: 0.5, mean_packet_time: Time::from_ms(1), ..slack(5.0).red };
    let mut link = holding(FredParams { red, ..slack(5.0) }, &[1, 1, 1]);
    let average = link.average();
    (0..3).for_each(|_| send(&mut link));
    link.finish();
    // Half of the sums with 2, 1 and 0 that are left.
    let busy = average / 8.0 + 0.5;
    assert_eq!(link.average(), busy);
    link.wait(3_000_000);
    link.busy = true;
    link.arrive(1);
    assert_eq!(link.average(), busy / 16.0);
}

fn params() -> impl Strategy<Value = FredParams> {
    let red = (red_params(), 1.0..12.0).prop_map(|(red, min_th)| {
        // Wider than for RED, since every flow has a share of it.
        let width = red.max_th - red.min_th;
        RedParams { min_th, max_th: min_th + width, ..red }
    });
    (red, 1_u32..6, any::<bool>()).prop_map(|(red, min_q, many_flows)| FredParams { red, min_q, many_flows })
}

fn run(params: AnyParams, trace: &[Event], seed: u64) -> Vec<Step> {
    let mut link = Bottleneck::new(params, seed);
    trace.iter().map(|event| link.step(event)).collect()
}

properties! {
    #[test]
    fn fred_agrees(params in params(), trace in events(5), seed in any::<u64>()) {
        let link = Bottleneck::new(AnyParams::Fred(params.clone()), seed);
        let result = compare(link, &mut FredModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in events(5), seed in any::<u64>()) {
        check_conservation(&AnyParams::Fred(params), &trace, seed, InOrder::All)?;
    }

    /// No flow has more than `min_th` packets, or one, waiting; below `min_q` none is dropped early; below `min_th`
    /// none is dropped early or forced.
    #[test]
    fn flows_keep_within_their_bounds(params in params(), trace in events(5), seed in any::<u64>()) {
        let mut link = Bottleneck::new(AnyParams::Fred(params.clone()), seed);
        for event in &trace {
            let before = link.clone();
            let step = link.step(event);
            for flow in 0..5 {
                let waiting = state(&link, flow).map_or(0, |(waiting, _)| waiting);
                prop_assert!(f64::from(waiting) <= params.red.min_th.ceil());
            }
            for (packet, cause) in &step.dropped {
                let waiting = state(&before, packet.meta.flow).map_or(0, |(waiting, _)| waiting);
                match cause {
                    RedEarly => prop_assert!(waiting >= params.min_q && before.average() >= params.red.min_th),
                    RedForced => prop_assert!(!params.many_flows && before.average() >= params.red.max_th),
                    FredLimit => prop_assert!(waiting > 0),
                    cause => prop_assert_eq!(*cause, Overflow),
                }
            }
        }
    }

    /// The sum over flows is the queue.
    #[test]
    fn flows_add_up_to_the_queue(params in params(), trace in events(5), seed in any::<u64>()) {
        let mut link = Bottleneck::new(AnyParams::Fred(params), seed);
        for event in &trace {
            link.step(event);
            let waiting: Vec<u32> = (0..5).filter_map(|flow| state(&link, flow)).map(|(n, _)| n).collect();
            prop_assert_eq!(waiting.iter().sum::<u32>(), link.queue.backlog().packets);
            prop_assert_eq!(waiting.len(), fred(&link).active() as usize);
            prop_assert!(waiting.iter().all(|&n| n > 0));
        }
    }

    /// A flow has its share only of what others are there for: with one packet each, nothing is refused or dropped
    /// early.
    #[test]
    fn distinct_flows_see_droptail(params in params(), trace in events(1), seed in any::<u64>()) {
        let params = FredParams { many_flows: true, ..params };
        let mut trace = trace;
        for (at, event) in trace.iter_mut().enumerate() {
            if let Event::Arrive { flow, .. } = event {
                *flow = at as u64;
            }
        }
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.red.limit });
        prop_assert_eq!(run(AnyParams::Fred(params), &trace, seed), run(droptail, &trace, seed));
    }

    #[test]
    fn thresholds_above_the_limit_are_droptail(params in params(), trace in events(3), seed in any::<u64>()) {
        let limit = params.red.limit;
        let red = RedParams { min_th: f64::from(limit) + 1.0, max_th: f64::INFINITY, ..params.red };
        let droptail = AnyParams::DropTail(DropTailParams { limit });
        let fred = AnyParams::Fred(FredParams { red, ..params });
        prop_assert_eq!(run(fred, &trace, seed), run(droptail, &trace, seed));
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(
        1000,
        &(params(), events(5), any::<u64>()),
        &[FredLimit, RedEarly, RedForced, Overflow],
        |(params, trace, seed)| {
            let link = Bottleneck::new(AnyParams::Fred(params.clone()), seed);
            compare(link, &mut FredModel::new(params), &trace)
        },
    );
}
