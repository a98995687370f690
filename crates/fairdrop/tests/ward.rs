//! WARD: the paper's weights and cases, what must hold of every trace, and agreement with a slow reference, event by
//! event.

use std::collections::HashMap;

use fairdrop::DropCause::{MatchArriving, MatchQueued, Overflow, WardPairQueued};
use fairdrop::{
    AnyParams, Discipline, DropCause, DropTailParams, FullCase3, Philox, Stream, WardParams, uniform_below,
};
use fairdrop_reference::compare::by_name;
use fairdrop_reference::host::{Bits, Bottleneck, Event, Step};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const DRAW: usize = Stream::WardCoin as usize;

fn ward(limit: u32) -> AnyParams {
    AnyParams::Ward(WardParams { limit, ..WardParams::default() })
}

fn ward_that_drops(limit: u32) -> AnyParams {
    AnyParams::Ward(WardParams { limit, full_case3: FullCase3::Drop })
}

/// 64 random bits from which `uniform_below(10)` makes `tenths`.
fn bits_for(tenths: u64) -> u64 {
    let bits = (u128::from(tenths) << 64) / 10 + (1 << 32);
    let bits = u64::try_from(bits).unwrap();
    assert_eq!(uniform_below(10, || bits), tenths);
    bits
}

/// A queue of `flows`, head first, behind a busy transmitter; no packet was compared on the way.
fn holding(params: AnyParams, flows: &[u64]) -> Bottleneck {
    let mut link = Bottleneck::blocked(params);
    link.world.bits[DRAW] = Bits::Always(bits_for(9));
    for &flow in flows {
        let step = link.arrive(flow);
        assert!(step.dropped.is_empty() && step.drawn.is_empty(), "{step:?}");
    }
    link
}

/// The next arrival is compared whatever the weight of its position, unless that is 0.
fn compared(mut link: Bottleneck, flow: u64) -> (Bottleneck, Step) {
    link.world.bits[DRAW] = Bits::Always(bits_for(0));
    let step = link.arrive(flow);
    (link, step)
}

fn flows(link: &Bottleneck) -> Vec<u64> {
    link.fifo().iter().map(|packet| packet.meta.flow).collect()
}

fn distinct(n: u64) -> Vec<u64> {
    (1000..1000 + n).collect()
}

// Weights (section 3.1 of the paper; A-35).

/// Whether an arrival at `position` is compared at each of the ten values of the draw.
fn compared_at(limit: u32, position: u64) -> Vec<bool> {
    let link = holding(ward(limit), &distinct(position - 1));
    (0..10)
        .map(|tenths| {
            let mut copy = link.clone();
            copy.world.bits[DRAW] = Bits::Always(bits_for(tenths));
            !copy.arrive(1).drawn.is_empty()
        })
        .collect()
}

#[test]
fn example_of_the_paper_with_a_buffer_of_100() {
    // Position 1 finds no packet to be compared with, whatever its weight.
    for position in 2..=99 {
        let expected: Vec<bool> = (0..10).map(|tenths| tenths < position / 10).collect();
        assert_eq!(compared_at(100, position), expected, "position {position}");
    }
}

#[test]
fn first_and_last_position_need_no_draw() {
    let mut link = holding(ward(100), &distinct(9));
    assert_eq!(link.world.used[DRAW], 0, "positions 1 to 9 weigh 0.0");
    link.arrive(1);
    assert_eq!(link.world.used[DRAW], 1, "position 10 weighs 0.1");
    for limit in [1, 2, 5, 10, 100, 132] {
        let mut link = holding(ward(limit), &distinct(u64::from(limit) - 1));
        let used = link.world.used[DRAW];
        let step = link.arrive(1);
        assert_eq!(step.drawn.len(), (limit as usize - 1).min(2), "position {limit} weighs 1.0");
        assert_eq!(link.world.used[DRAW], used);
    }
}

#[test]
fn weights_with_a_buffer_of_132() {
    for (position, weight) in
        [(2, 0), (13, 0), (14, 1), (26, 1), (27, 2), (39, 2), (40, 3), (66, 5), (118, 8), (119, 9), (131, 9)]
    {
        let compared = compared_at(132, position).into_iter().filter(|&compared| compared).count();
        assert_eq!(compared, weight, "position {position}");
    }
}

#[test]
fn a_u_that_is_not_bigger_than_the_weight_compares() {
    // Position 50 of 100: the draw's values 0 to 4 stand for U up to 0.5, which is "no larger".
    assert_eq!(compared_at(100, 50).iter().position(|&compared| !compared), Some(5));
}

// Cases 1 to 4.

#[test]
fn case_1_drops_all_three() {
    let (link, step) = compared(holding(ward(4), &[7, 7]), 7);
    assert_eq!(step.causes(), [MatchQueued, MatchQueued, MatchArriving]);
    assert!(link.waiting().is_empty());
}

#[test]
fn case_2_drops_the_one_of_the_flow_and_the_arrival() {
    for (queue, left) in [([7, 8], 8), ([8, 7], 8)] {
        let (link, step) = compared(holding(ward(4), &queue), 7);
        assert_eq!(step.causes(), [MatchQueued, MatchArriving]);
        assert_eq!(flows(&link), [left]);
        assert_eq!(step.drawn.len(), 2);
    }
}

#[test]
fn case_3_drops_the_pair_and_queues_the_arrival() {
    let (link, step) = compared(holding(ward(4), &[8, 8]), 7);
    assert_eq!(step.causes(), [WardPairQueued, WardPairQueued]);
    assert_eq!(flows(&link), [7]);
}

#[test]
fn case_4_keeps_everything_in_its_place() {
    let (link, step) = compared(holding(ward(4), &[8, 9]), 7);
    assert_eq!((step.causes(), step.drawn.len()), (vec![], 2));
    assert_eq!(flows(&link), [8, 9, 7]);
}

// Empty, nearly empty and full.

#[test]
fn an_empty_queue_admits_at_any_weight() {
    for limit in 1..=10 {
        let (link, step) = compared(holding(ward(limit), &[]), 7);
        assert_eq!((step.causes(), step.drawn.len(), flows(&link)), (vec![], 0, vec![7]), "limit {limit}");
    }
}

#[test]
fn a_lone_packet_is_drawn_once() {
    let (link, step) = compared(holding(ward(5), &[7]), 7);
    assert_eq!((step.causes(), step.drawn.len()), (vec![MatchQueued, MatchArriving], 1));
    assert!(link.waiting().is_empty());
    let (link, step) = compared(holding(ward(5), &[8]), 7);
    assert_eq!((step.causes(), step.drawn.len()), (vec![], 1));
    assert_eq!(flows(&link), [8, 7], "one packet is no pair");
}

#[test]
fn a_full_buffer_always_compares_and_drops_what_does_not_match() {
    for limit in [1, 2, 9, 10, 100] {
        let mut link = Bottleneck::blocked(ward(limit));
        for flow in distinct(u64::from(limit)) {
            assert_eq!(link.arrive(flow).causes(), []);
        }
        let used = link.world.used[DRAW];
        let step = link.arrive(1);
        assert_eq!((step.causes(), step.drawn.len()), (vec![Overflow], (limit as usize).min(2)));
        assert_eq!(link.world.used[DRAW], used, "certain");
    }
}

/// A full buffer of 10: eight packets of flow 8, one of flow 9 and one of flow 5. The last position always compares, and
/// was taken by an arrival whose drawn packets differed.
fn full_of_eight(params: &AnyParams) -> Bottleneck {
    let nine = holding(params.clone(), &[8, 8, 8, 8, 8, 8, 8, 8, 9]);
    for seed in 0..100 {
        let mut link = nine.clone();
        link.world.bits[Stream::Candidate as usize] = Bits::Stream(Philox::new(seed, 0, 0));
        if link.arrive(5).dropped.is_empty() {
            return link;
        }
    }
    panic!("two of nine packets differ in 2 of 9 draws");
}

#[test]
fn case_3_at_a_full_buffer() {
    for (params, expected) in [
        (ward(10), vec![WardPairQueued, WardPairQueued]),
        (ward_that_drops(10), vec![WardPairQueued, WardPairQueued, Overflow]),
    ] {
        let full = full_of_eight(&params);
        let mut seen = 0;
        for seed in 0..200 {
            let mut link = full.clone();
            link.world.bits[Stream::Candidate as usize] = Bits::Stream(Philox::new(seed, 0, 0));
            let step = link.arrive(7);
            if step.drawn.iter().any(|&handle| handle >= 8) {
                assert_eq!(step.causes(), [Overflow], "case 4");
                continue;
            }
            assert_eq!(step.causes(), expected);
            let mut left = vec![8, 8, 8, 8, 8, 8, 9, 5];
            left.extend((expected.len() == 2).then_some(7));
            assert_eq!(flows(&link), left);
            seen += 1;
        }
        assert!(seen > 50, "{seen}");
    }
}

#[test]
fn case_3_before_the_buffer_is_full_queues_under_both_readings() {
    for params in [ward(4), ward_that_drops(4)] {
        assert_eq!(flows(&compared(holding(params, &[8, 8]), 7).0), [7]);
    }
}

// What must hold of every trace.

fn ward_params() -> impl Strategy<Value = WardParams> {
    let limit = prop_oneof![3 => 1_u32..40, 1 => 40_u32..140];
    let full_case3 = prop_oneof![Just(FullCase3::Queue), Just(FullCase3::Drop)];
    (limit, full_case3).prop_map(|(limit, full_case3)| WardParams { limit, full_case3 })
}

/// Up to 200 events of `flows` flows; overloaded on the whole, drained in the middle of some.
fn events(flows: u64) -> impl Strategy<Value = Vec<Event>> {
    let len = prop_oneof![Just(1000_u32), Just(40), 0_u32..2000];
    let event = prop_oneof![
        10 => (0..flows, len).prop_map(|(flow, len)| Event::Arrive { flow, len }),
        4 => Just(Event::Finish),
        1 => (0_u64..1 << 40).prop_map(Event::Wait),
    ];
    (prop::collection::vec(event, 1..200), 0_usize..30).prop_map(|(mut events, drain)| {
        let half = events.len() / 2;
        events.splice(half..half, std::iter::repeat_n(Event::Finish, drain));
        events
    })
}

fn run(params: AnyParams, trace: &[Event], seed: u64) -> Vec<Step> {
    let mut link = Bottleneck::new(params, seed);
    trace.iter().map(|event| link.step(event)).collect()
}

/// Runs both; returns the causes seen, or the first difference.
fn compare_ward(params: &WardParams, trace: &[Event], seed: u64) -> Result<Vec<DropCause>, String> {
    by_name::compare(&AnyParams::Ward(params.clone()), trace, seed)
}

properties! {
    #[test]
    fn ward_agrees(params in ward_params(), trace in events(5), seed in any::<u64>()) {
        let result = compare_ward(&params, &trace, seed);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// Packets of each flow and their bytes: arrived = departed + dropped + waiting, and counters agree.
    #[test]
    fn nothing_is_lost(params in ward_params(), trace in events(5), seed in any::<u64>()) {
        let mut link = Bottleneck::new(AnyParams::Ward(params), seed);
        let mut offered = HashMap::new();
        let (mut drawn, mut dropped) = (0, 0);
        for event in &trace {
            let step = link.step(event);
            if let Some(packet) = step.arrived {
                offered.insert(packet.handle, packet);
            }
            for packet in step.dropped.iter().map(|(packet, _)| packet).chain(&step.departed) {
                prop_assert_eq!(offered.remove(&packet.handle), Some(packet.clone()));
            }
            drawn += step.drawn.len() as u64;
            dropped += step.dropped.len() as u64;
            prop_assert_eq!(offered.len(), link.queue.backlog().packets as usize);
            prop_assert_eq!(link.queue.stats().drawn, drawn);
            prop_assert_eq!(link.queue.stats().dropped_total().packets, dropped);
        }
    }

    #[test]
    fn survivors_leave_in_order_and_the_link_never_rests(
        params in ward_params(), trace in events(4), seed in any::<u64>(),
    ) {
        let limit = params.limit as usize;
        let mut link = Bottleneck::new(AnyParams::Ward(params), seed);
        let mut last = None;
        for event in &trace {
            let step = link.step(event);
            if let Some(packet) = step.departed {
                prop_assert!(last < Some(packet.handle));
                last = Some(packet.handle);
            }
            let waiting = link.waiting();
            prop_assert!(waiting.is_sorted() && (last < waiting.first().copied() || waiting.is_empty()));
            prop_assert!(waiting.len() <= limit && (link.busy || waiting.is_empty()));
        }
    }

    /// 0, 1, 2 or 3 drops for an arrival, by case; nothing while the position weighs 0.0.
    #[test]
    fn drops_fit_the_cases(params in ward_params(), trace in events(3), seed in any::<u64>()) {
        let mut link = Bottleneck::new(AnyParams::Ward(params.clone()), seed);
        for event in &trace {
            let before: HashMap<u32, u64> =
                link.fifo().iter().map(|packet| (packet.handle, packet.meta.flow)).collect();
            let step = link.step(event);
            let Some(arrived) = &step.arrived else {
                prop_assert!(step.dropped.is_empty() && step.drawn.is_empty());
                continue;
            };
            let full = before.len() == params.limit as usize;
            let causes = step.causes();
            let change = match causes[..] {
                [] => 1,
                [Overflow] => { prop_assert!(full); 0 }
                [MatchQueued, MatchQueued, MatchArriving] => -2,
                [MatchQueued, MatchArriving] | [WardPairQueued, WardPairQueued] => -1,
                [WardPairQueued, WardPairQueued, Overflow] => {
                    prop_assert!(full && params.full_case3 == FullCase3::Drop);
                    -2
                }
                _ => return Err(TestCaseError::fail(format!("{causes:?}"))),
            };
            let after = link.waiting().len() as i64 + i64::from(step.departed.is_some());
            prop_assert_eq!(after, before.len() as i64 + change);
            if 10 * (before.len() as u64 + 1) < u64::from(params.limit) {
                prop_assert!(causes.is_empty() && step.drawn.is_empty());
            }
            for (packet, cause) in &step.dropped {
                prop_assert_eq!(packet.handle == arrived.handle, matches!(cause, MatchArriving | Overflow));
                // Case 3 is the only way to be lost for another flow's arrival.
                prop_assert_eq!(packet.meta.flow == arrived.meta.flow, *cause != WardPairQueued);
            }
            let pair: Vec<u64> = step.drawn.iter().map(|handle| before[handle]).collect();
            if causes.contains(&WardPairQueued) {
                prop_assert!(pair[0] == pair[1]);
            }
        }
    }

    #[test]
    fn a_lone_flow_meets_case_1_whenever_two_wait(params in ward_params(), trace in events(1), seed in any::<u64>()) {
        let mut link = Bottleneck::new(AnyParams::Ward(params), seed);
        for event in &trace {
            let step = link.step(event);
            let expected = match step.drawn.len() {
                0 => vec![],
                1 => vec![MatchQueued, MatchArriving],
                _ => vec![MatchQueued, MatchQueued, MatchArriving],
            };
            prop_assert_eq!(step.causes(), expected);
        }
    }

    #[test]
    fn ward_of_distinct_flows_is_droptail(params in ward_params(), trace in events(1), seed in any::<u64>()) {
        let distinct: Vec<Event> = trace.into_iter().enumerate().map(|(at, event)| match event {
            Event::Arrive { len, .. } => Event::Arrive { flow: at as u64, len },
            other => other,
        }).collect();
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        let fates = |params| -> Vec<_> {
            run(params, &distinct, seed).into_iter().map(|step| (step.dropped, step.departed)).collect()
        };
        prop_assert_eq!(fates(AnyParams::Ward(params)), fates(droptail));
    }

    #[test]
    fn same_seed_same_run_and_other_labels_too(
        params in ward_params(), trace in events(4), seed in any::<u64>(), shift in any::<u64>(),
    ) {
        let renamed: Vec<Event> = trace.iter().cloned().map(|event| match event {
            Event::Arrive { flow, len } => {
                Event::Arrive { flow: flow.wrapping_add(shift).wrapping_mul(0x9E37_79B9_7F4A_7C15), len }
            }
            other => other,
        }).collect();
        let params = AnyParams::Ward(params);
        let steps = run(params.clone(), &trace, seed);
        prop_assert_eq!(&steps, &run(params.clone(), &trace, seed));
        let decisions = |steps: Vec<Step>| -> Vec<_> {
            steps.into_iter().map(|step| {
                let dropped: Vec<_> = step.dropped.iter().map(|(packet, cause)| (packet.handle, *cause)).collect();
                (dropped, step.drawn, step.departed.map(|packet| packet.handle))
            }).collect()
        };
        prop_assert_eq!(decisions(steps), decisions(run(params, &renamed, seed)));
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(
        1000,
        &(ward_params(), events(5), any::<u64>()),
        &[Overflow, MatchArriving, MatchQueued, WardPairQueued],
        |(params, trace, seed)| compare_ward(&params, &trace, seed),
    );
}

// Probabilities; the seeds are fixed.

/// An arrival is compared with a probability equal to the weight of its position.
#[test]
fn compare_probability_is_the_weight() {
    for position in [14, 26, 27, 66, 93, 119, 131] {
        let mut link = holding(ward(132), &distinct(position - 1));
        link.world.bits[DRAW] = Bits::Stream(Philox::new(position, 0, 0));
        let weight = (10 * position / 132) as f64 / 10.0;
        let trials = 20_000_u32;
        let mut compared = 0;
        for _ in 0..trials {
            let mut copy = link.clone();
            compared += u32::from(!copy.arrive(1).drawn.is_empty());
            link.world.bits[DRAW] = copy.world.bits[DRAW].clone();
        }
        let deviation = (f64::from(trials) * weight * (1.0 - weight)).sqrt();
        let deviations = (f64::from(compared) - f64::from(trials) * weight) / deviation;
        assert!(deviations.abs() < 4.0, "position {position}, weight {weight}: {deviations}");
    }
}

/// Every pair of two different packets is drawn with the same probability.
#[test]
fn pairs_are_uniform() {
    let mut full = Bottleneck::blocked(ward(10));
    for flow in distinct(10) {
        assert_eq!(full.arrive(flow).causes(), []);
    }
    let mut counts = HashMap::new();
    for _ in 0..45_000 {
        let step = full.arrive(1);
        assert_eq!(step.causes(), [Overflow]);
        let pair = (step.drawn[0].min(step.drawn[1]), step.drawn[0].max(step.drawn[1]));
        *counts.entry(pair).or_insert(0_u32) += 1;
    }
    assert_eq!(counts.len(), 45);
    let chi_squared: f64 = counts.values().map(|&count| (f64::from(count) - 1000.0).powi(2) / 1000.0).sum();
    let deviations = (chi_squared - 44.0) / 88.0_f64.sqrt();
    assert!(deviations.abs() < 5.0, "{deviations} standard deviations");
}
