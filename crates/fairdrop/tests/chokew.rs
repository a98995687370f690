//! `CHOKeW`: table I of the paper and its equalities, what must hold of every trace, and agreement with a slow
//! reference, event by event.

use std::collections::HashMap;

use fairdrop::DropCause::{MatchArriving, MatchQueued, Overflow, RedEarly, RedForced};
use fairdrop::{
    AnyParams, ChokeW, ChokeWParams, Discipline, DropCause, DropTailParams, Meta, Packet, Philox, RedParams,
    Slot, Stream, Time, Weights, slots_for,
};
use fairdrop_reference::arbitrary::red_params;
use fairdrop_reference::chokew::{ChokeWReference, Paper};
use fairdrop_reference::compare::compare;
use fairdrop_reference::host::{Bits, Bottleneck, Event, KEEP, Step, World};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const FRACTION: usize = Stream::DrawingFraction as usize;
const CANDIDATE: usize = Stream::Candidate as usize;
const DRAW: usize = Stream::EarlyDrop as usize;

/// A queue by itself, with its drawing factor in sight. Nothing leaves it but through `pop`.
struct Lone {
    queue: ChokeW<u32, Vec<Slot<u32>>>,
    world: World,
    arrivals: u32,
}

impl Lone {
    fn new(params: ChokeWParams) -> Self {
        let slots = vec![None; slots_for(params.red.limit)];
        Self { queue: ChokeW::new(params, slots).unwrap(), world: World::new(7), arrivals: 0 }
    }

    /// The packets of flows 1000, 1001, ... that fill the queue to `n`.
    fn filled(params: ChokeWParams, n: u64) -> Self {
        let mut lone = Self::new(params);
        for flow in 0..n {
            lone.arrive(1000 + flow, 0);
        }
        assert_eq!(lone.waiting(), n);
        lone
    }

    fn waiting(&self) -> u64 {
        u64::from(self.queue.backlog().packets)
    }

    fn p_0(&self) -> f64 {
        self.queue.drawing_factor()
    }

    fn pop(&mut self) {
        self.queue.dequeue(&mut self.world);
    }

    /// Causes of drops, and the number of candidates.
    fn arrive(&mut self, flow: u64, class: u8) -> (Vec<DropCause>, usize) {
        let meta = Meta { class, ..Meta::of_flow(flow, 1000) };
        let packet = Packet::new(meta, self.world.now, self.arrivals);
        self.arrivals += 1;
        self.queue.enqueue(packet, &mut self.world);
        let causes = std::mem::take(&mut self.world.dropped).into_iter().map(|(_, cause)| cause).collect();
        (causes, std::mem::take(&mut self.world.drawn).len())
    }
}

/// The paper's parameters and buffer, one class.
fn paper() -> ChokeWParams {
    ChokeWParams {
        red: RedParams { limit: 500, ..RedParams::default() },
        weights: Weights::new(&[1.0]).unwrap(),
        ..ChokeWParams::default()
    }
}

/// Steps of whole draws, so that fractions do not matter: one draw for each arrival above 4 packets.
fn steep() -> ChokeWParams {
    ChokeWParams {
        red: RedParams { limit: 20, ..RedParams::default() },
        l_th: 0.0,
        l_minus: 2.0,
        l_plus: 4.0,
        p_plus: 1.0,
        p_minus: 1.0,
        weights: Weights::new(&[1.0]).unwrap(),
        ..ChokeWParams::default()
    }
}

// Table I.

/// An arrival that finds `length` packets and a drawing factor of `before`: whether it is compared, and the factor after.
fn state_at(length: u64, before: f64) -> (bool, f64) {
    // A first arrival above L+ raises the factor by `before`; the queue then drains to `length`.
    let params = ChokeWParams { p_plus: before, ..paper() };
    let mut lone = Lone::filled(params, 176);
    lone.world.bits[CANDIDATE] = Bits::Stream(Philox::new(length, 0, 0));
    assert_eq!(lone.p_0(), 0.0, "176 arrivals have found up to 175");
    lone.arrive(1, 0);
    assert_eq!(lone.p_0(), before);
    while lone.waiting() > length {
        lone.pop();
    }
    while lone.waiting() < length {
        // Above L+ the factor grows on the way; only its change by the last arrival is of interest.
        lone.arrive(10_000 + lone.waiting(), 0);
    }
    let at = lone.p_0();
    let (_, drawn) = lone.arrive(1, 0);
    (drawn > 0, lone.p_0() - at)
}

#[test]
fn table_i() {
    let (inactive, active) = (false, true);
    // Steps of 3 up and 0.001 down, so that there is something to draw with. Ranges [0, Lth], (Lth, L-), [L-, L+],
    // (L+, Llim], ends included.
    for (lengths, matched_drops, change) in [
        (vec![0, 1, 50, 99, 100], inactive, -0.001),
        (vec![101, 110, 124], active, -0.001),
        (vec![125, 126, 150, 174, 175], active, 0.0),
        (vec![176, 177, 300, 499, 500], active, 3.0),
    ] {
        for length in lengths {
            let (is_active, moved) = state_at(length, 3.0);
            assert_eq!(is_active, matched_drops, "length {length}");
            assert!((moved - change).abs() < 1e-9, "length {length}: {moved}");
        }
    }
}

#[test]
fn steps_are_those_of_the_paper() {
    let mut lone = Lone::filled(paper(), 176);
    for arrivals in 1..=5 {
        lone.arrive(5000 + arrivals, 0);
        assert!((lone.p_0() - 0.002 * arrivals as f64).abs() < 1e-15);
    }
    while lone.waiting() > 60 {
        lone.pop();
    }
    for arrivals in 1..=10 {
        lone.arrive(6000 + arrivals, 0);
        assert!((lone.p_0() - (0.01 - 0.001 * arrivals as f64)).abs() < 1e-15);
    }
    lone.arrive(7000, 0);
    assert_eq!(lone.p_0(), 0.0, "never below 0 (A-53)");
}

#[test]
fn the_drawing_factor_moves_before_the_draw() {
    // The fifth packet finds 4, which is not above L+; the sixth finds 5 and is drawn for at once.
    let mut lone = Lone::filled(steep(), 5);
    assert_eq!(lone.p_0(), 0.0);
    assert_eq!(lone.arrive(1, 0), (vec![], 1));
    assert_eq!(lone.p_0(), 1.0);
    // Below L- the last draw is lost before it is made.
    while lone.waiting() > 1 {
        lone.pop();
    }
    assert_eq!(lone.arrive(1, 0), (vec![], 0));
}

#[test]
fn matched_arrivals_move_the_drawing_factor_too() {
    let mut lone = Lone::filled(steep(), 6);
    let before = lone.p_0();
    let mut matched = 0;
    // All of one flow from here on: matches hold the queue up.
    for _ in 0..40 {
        let waiting = lone.waiting();
        let p_0 = lone.p_0();
        matched += u32::from(lone.arrive(1, 0).0.contains(&MatchArriving));
        let step = if waiting > 4 {
            1.0
        } else if waiting < 2 {
            -1.0
        } else {
            0.0
        };
        assert_eq!(lone.p_0(), p_0 + step);
    }
    assert!(matched > 5 && lone.p_0() > before, "{matched}");
}

// Draws.

/// A queue of `n` other flows whose next arrivals have the drawing factor `p_0`.
fn with_factor(p_0: f64, weights: &[f64], max_draws: u32, n: u64) -> Lone {
    let params =
        ChokeWParams { weights: Weights::new(weights).unwrap(), max_draws, ..ChokeWParams::default() };
    at_factor(p_0, &params, n)
}

/// The same with these parameters, but for thresholds and steps.
fn at_factor(p_0: f64, params: &ChokeWParams, n: u64) -> Lone {
    let params = ChokeWParams {
        red: RedParams { limit: 1000, ..RedParams::default() },
        l_th: 0.0,
        l_minus: 0.5,
        l_plus: (n - 1) as f64 + 0.5,
        p_plus: p_0,
        ..params.clone()
    };
    let mut lone = Lone::filled(params, n);
    // This one finds n > L+; then the queue shrinks to where the factor stays.
    lone.arrive(999, 0);
    lone.pop();
    lone.pop();
    assert_eq!((lone.waiting(), lone.p_0()), (n - 1, p_0));
    lone
}

#[test]
fn whole_part_is_certain_and_fraction_is_a_probability() {
    for (p_0, weight, low, high) in
        [(0.25, 1.0, 0, 1), (1.0, 1.0, 1, 1), (2.75, 1.0, 2, 3), (2.75, 2.0, 1, 2), (7.0, 2.5, 2, 3)]
    {
        let mut lone = with_factor(p_0, &[weight], 0, 100);
        // Just below the fraction: one more; the fraction itself: none more (U < f).
        let fraction = p_0 / weight - (p_0 / weight).floor();
        let at = (fraction * 2_f64.powi(53)).ceil() as u64;
        if at > 0 {
            lone.world.bits[FRACTION] = Bits::Always((at - 1) << 11);
            assert_eq!(lone.arrive(1, 0).1, high, "{p_0} / {weight}");
            lone.pop();
        }
        lone.world.bits[FRACTION] = Bits::Always(at << 11);
        assert_eq!(lone.arrive(2, 0).1, low, "{p_0} / {weight}");
    }
}

#[test]
fn draws_stop_at_the_first_match() {
    // Nine packets: eight of flow 1, and draws without end.
    let params = ChokeWParams { l_plus: 8.5, p_plus: 50.0, ..steep() };
    let mut lone = Lone::new(params);
    for flow in [1, 1, 1, 1, 2, 1, 1, 1, 1] {
        assert_eq!(lone.arrive(flow, 0), (vec![], 0));
    }
    let (causes, drawn) = lone.arrive(1, 0);
    assert_eq!(causes, [MatchQueued, MatchArriving]);
    assert!((1..=9).contains(&drawn));
    assert_eq!(lone.waiting(), 8, "one pair, however many draws are left");
}

#[test]
fn draws_are_made_with_replacement() {
    // Two packets, two draws: both are the same one half of the time.
    let params = ChokeWParams { l_plus: 2.5, l_minus: 0.5, p_plus: 50.0, max_draws: 2, ..steep() };
    let mut same = 0;
    for seed in 0..1000 {
        let mut lone = Lone::filled(params.clone(), 3);
        lone.world.bits[CANDIDATE] = Bits::Stream(Philox::new(seed, 0, 0));
        lone.arrive(5, 0);
        (0..2).for_each(|_| lone.pop());
        let meta = Meta::of_flow(6, 1000);
        lone.queue.enqueue(Packet::new(meta, Time::ZERO, 99), &mut lone.world);
        let drawn = &lone.world.drawn;
        same += u32::from(drawn[drawn.len() - 2] == drawn[drawn.len() - 1]);
    }
    assert!((400..600).contains(&same), "{same} of 1000");
}

#[test]
fn caps_on_draws() {
    assert_eq!(with_factor(1e6, &[1.0], 0, 10).arrive(1, 0).1, 9, "as many as wait");
    assert_eq!(with_factor(1e6, &[1.0], 4, 10).arrive(1, 0).1, 4);
    assert_eq!(with_factor(1e6, &[1.0], 400, 10).arrive(1, 0).1, 9);
    assert_eq!(with_factor(3.0, &[1.0], 4, 10).arrive(1, 0).1, 3);
    let mut lone = with_factor(1e6, &[1.0], 5, 10);
    lone.arrive(1, 0);
    assert_eq!(lone.queue.most_drawn(), 5);
}

#[test]
fn draws_without_the_cap_are_as_many_as_the_factor_says() {
    let draws = |p_0, max_draws| {
        let params = ChokeWParams { uncapped: true, max_draws, ..ChokeWParams::default() };
        at_factor(p_0, &params, 10).arrive(1, 0).1
    };
    assert_eq!([draws(25.0, 0), draws(25.0, 12), draws(3.0, 0), draws(1e6, 0)], [25, 12, 3, 65_536]);
}

#[test]
fn weight_is_that_of_the_arriving_packet() {
    let draws = |class| {
        let mut lone = with_factor(12.0, &[1.0, 2.0, 3.0], 0, 100);
        lone.arrive(1, class).1
    };
    assert_eq!([0, 1, 2, 3, 255].map(draws), [12, 6, 4, 12, 12], "unknown classes have the lowest weight");
}

#[test]
fn a_match_is_of_flow_whatever_the_class() {
    // Ten packets of one flow in class 0; an arrival of the flow in class 1 kills one of them.
    let params = ChokeWParams {
        l_plus: 9.5,
        l_th: 9.0,
        l_minus: 9.25,
        p_plus: 50.0,
        weights: Weights::new(&[1.0, 2.0]).unwrap(),
        ..steep()
    };
    let mut lone = Lone::new(params);
    (0..10).for_each(|_| assert_eq!(lone.arrive(1, 0), (vec![], 0)));
    assert_eq!(lone.arrive(1, 1), (vec![MatchQueued, MatchArriving], 1));
}

#[test]
fn full_buffer_with_and_without_a_match() {
    let params = ChokeWParams { red: RedParams { limit: 6, ..RedParams::default() }, ..steep() };
    let mut lone = Lone::filled(params, 6);
    let (causes, drawn) = lone.arrive(1, 0);
    assert_eq!((causes, drawn > 0), (vec![Overflow], true), "compared first, then dropped");
    let mut matched = false;
    for _ in 0..100 {
        let (causes, _) = lone.arrive(1005, 0);
        matched |= causes == [MatchQueued, MatchArriving];
        assert!(matched || causes == [Overflow]);
        if matched {
            break;
        }
    }
    assert!(matched && lone.waiting() == 5, "the pair and no more");
}

// CHOKeW-RED.

#[test]
fn red_decides_about_what_nothing_matched() {
    let red = RedParams { limit: 20, min_th: 3.0, max_th: 6.0, w_q: 1.0, ..RedParams::default() };
    let mut lone = Lone::new(ChokeWParams { red, with_red: true, ..steep() });
    lone.world.bits[DRAW] = KEEP;
    for flow in 0..6 {
        assert_eq!(lone.arrive(1000 + flow, 0).0, []);
    }
    assert_eq!(lone.queue.average_packets(), Some(5.0));
    assert_eq!(lone.arrive(1, 0).0, [RedForced], "the average is 6");
    let mut matched = false;
    for _ in 0..100 {
        let waiting = lone.waiting() as f64;
        let (causes, _) = lone.arrive(1003, 0);
        assert_eq!(lone.queue.average_packets(), Some(waiting), "matched arrivals count");
        if causes == [MatchQueued, MatchArriving] {
            matched = true;
            break;
        }
        assert_eq!(causes, [RedForced]);
    }
    assert!(matched);
}

#[test]
fn without_red_there_is_no_average() {
    assert_eq!(Lone::filled(steep(), 3).queue.average_packets(), None);
}

// What must hold of every trace.

/// Packets of five classes, whatever their flow.
fn events(flows: u64) -> impl Strategy<Value = Vec<Event>> {
    let classed = |(event, class)| match event {
        Event::Arrive { flow, len } => Event::Offer(Meta { class, ..Meta::of_flow(flow, len) }),
        other => other,
    };
    (fairdrop_reference::arbitrary::events(flows), prop::collection::vec(0_u8..5, 300)).prop_map(
        move |(events, classes)| events.into_iter().zip(classes.into_iter().cycle()).map(classed).collect(),
    )
}

/// Thresholds low enough for short traces, steps of all sizes.
fn papers() -> impl Strategy<Value = Paper> {
    let l_th = prop_oneof![2 => Just(0.0), 2 => (0..6).prop_map(f64::from), 1 => 0.0..6.0];
    let width = || prop_oneof![2 => (1..5).prop_map(f64::from), 1 => 0.01..4.0];
    let step = || prop_oneof![1 => Just(0.0), 2 => Just(0.25), 2 => 0.0..0.5, 1 => 0.0..20.0];
    let weight = prop_oneof![2 => Just(1.0), 2 => Just(2.0), 1 => 1.0..5.0];
    let weights = prop::collection::vec(weight, 1..5);
    let caps = (prop_oneof![3 => Just(0_u32), 1 => 1_u32..8], prop::bool::weighted(0.3));
    (red_params(), l_th, (width(), width()), (step(), step()), weights, caps, any::<bool>()).prop_map(
        |(red, l_th, (one, two), (p_plus, p_minus), weights, (max_draws, uncapped), with_red)| Paper {
            red,
            l_th,
            l_minus: l_th + one,
            l_plus: l_th + one + two,
            p_plus,
            p_minus,
            weights,
            max_draws,
            uncapped,
            with_red,
        },
    )
}

fn params_of(paper: &Paper) -> ChokeWParams {
    ChokeWParams {
        red: paper.red.clone(),
        l_th: paper.l_th,
        l_minus: paper.l_minus,
        l_plus: paper.l_plus,
        p_plus: paper.p_plus,
        p_minus: paper.p_minus,
        weights: Weights::new(&paper.weights).expect("weights of at least 1"),
        max_draws: paper.max_draws,
        uncapped: paper.uncapped,
        with_red: paper.with_red,
    }
}

fn run(params: AnyParams, trace: &[Event], seed: u64) -> Vec<Step> {
    let mut link = Bottleneck::new(params, seed);
    trace.iter().map(|event| link.step(event)).collect()
}

fn compare_chokew(paper: Paper, trace: &[Event], seed: u64) -> Result<Vec<DropCause>, String> {
    let link = Bottleneck::new(AnyParams::ChokeW(params_of(&paper)), seed);
    compare(link, &mut ChokeWReference::new(paper), trace)
}

properties! {
    #[test]
    fn chokew_agrees(paper in papers(), trace in events(5), seed in any::<u64>()) {
        let result = compare_chokew(paper, &trace, seed);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(paper in papers(), trace in events(5), seed in any::<u64>()) {
        let mut link = Bottleneck::new(AnyParams::ChokeW(params_of(&paper)), seed);
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
        paper in papers(), trace in events(4), seed in any::<u64>(),
    ) {
        let mut link = Bottleneck::new(AnyParams::ChokeW(params_of(&paper)), seed);
        let mut last = None;
        for event in &trace {
            let step = link.step(event);
            if let Some(packet) = step.departed {
                prop_assert!(last < Some(packet.handle));
                last = Some(packet.handle);
            }
            let waiting = link.waiting();
            prop_assert!(waiting.is_sorted() && (last < waiting.first().copied() || waiting.is_empty()));
            prop_assert!(waiting.len() <= paper.red.limit as usize && (link.busy || waiting.is_empty()));
        }
    }

    /// Matches come in pairs of one flow; without RED nothing else is dropped while there is room.
    #[test]
    fn drops_are_pairs_or_overflow(paper in papers(), trace in events(3), seed in any::<u64>()) {
        let mut link = Bottleneck::new(AnyParams::ChokeW(params_of(&paper)), seed);
        for event in &trace {
            let before = link.waiting().len();
            let step = link.step(event);
            if step.arrived.is_none() {
                prop_assert!(step.dropped.is_empty() && step.drawn.is_empty());
                continue;
            }
            prop_assert!(step.drawn.is_empty() || before as f64 > paper.l_th);
            prop_assert!(paper.uncapped || step.drawn.len() <= before);
            prop_assert!(paper.max_draws == 0 || step.drawn.len() <= paper.max_draws as usize);
            match step.causes()[..] {
                [] => {}
                [MatchQueued, MatchArriving] => {
                    prop_assert_eq!(step.dropped[0].0.meta.flow, step.dropped[1].0.meta.flow);
                    prop_assert_eq!(step.drawn.last(), Some(&step.dropped[0].0.handle));
                }
                [Overflow] => prop_assert_eq!(before, paper.red.limit as usize),
                [RedEarly | RedForced] => prop_assert!(paper.with_red),
                _ => return Err(TestCaseError::fail(format!("{step:?}"))),
            }
        }
    }

    /// The drawing factor stays at 0 or above, and moves by its steps only.
    #[test]
    fn drawing_factor_moves_by_its_steps(paper in papers(), trace in events(3), seed in any::<u64>()) {
        let mut lone = Lone::new(params_of(&paper));
        lone.world = World::new(seed);
        for event in &trace {
            let (before, waiting) = (lone.p_0(), lone.waiting() as f64);
            let expected = match event {
                Event::Offer(meta) => {
                    lone.arrive(meta.flow, meta.class);
                    if waiting < paper.l_minus {
                        (before - paper.p_minus).max(0.0)
                    } else if waiting > paper.l_plus {
                        before + paper.p_plus
                    } else {
                        before
                    }
                }
                _ => {
                    lone.pop();
                    before
                }
            };
            prop_assert!(lone.p_0() == expected && expected >= 0.0);
        }
    }

    #[test]
    fn chokew_that_never_draws_is_droptail(paper in papers(), trace in events(3), seed in any::<u64>()) {
        let paper = Paper { p_plus: 0.0, with_red: false, ..paper };
        let droptail = AnyParams::DropTail(DropTailParams { limit: paper.red.limit });
        prop_assert_eq!(run(AnyParams::ChokeW(params_of(&paper)), &trace, seed), run(droptail, &trace, seed));
    }

    /// The same with RED behind it is RED, average and random draws included.
    #[test]
    fn chokew_red_that_never_draws_is_red(paper in papers(), trace in events(3), seed in any::<u64>()) {
        let paper = Paper { p_plus: 0.0, with_red: true, ..paper };
        let red = AnyParams::Red(paper.red.clone());
        prop_assert_eq!(run(AnyParams::ChokeW(params_of(&paper)), &trace, seed), run(red, &trace, seed));
    }

    /// RED that drops nothing changes nothing.
    #[test]
    fn chokew_red_without_early_drops_is_chokew(paper in papers(), trace in events(3), seed in any::<u64>()) {
        let red = RedParams { max_p: 0.0, max_th: f64::INFINITY, wait: false, ..paper.red };
        let with = |with_red| AnyParams::ChokeW(params_of(&Paper { red: red.clone(), with_red, ..paper.clone() }));
        prop_assert_eq!(run(with(true), &trace, seed), run(with(false), &trace, seed));
    }

    #[test]
    fn chokew_of_distinct_flows_is_droptail(paper in papers(), trace in events(1), seed in any::<u64>()) {
        let distinct: Vec<_> = trace.into_iter().enumerate().map(|(at, event)| match event {
            Event::Offer(meta) => Event::Offer(Meta { flow: at as u64, ..meta }),
            other => other,
        }).collect();
        let fates = |params| -> Vec<_> {
            run(params, &distinct, seed).into_iter().map(|step| (step.dropped, step.departed)).collect()
        };
        let droptail = AnyParams::DropTail(DropTailParams { limit: paper.red.limit });
        let chokew = AnyParams::ChokeW(params_of(&Paper { with_red: false, ..paper }));
        prop_assert_eq!(fates(chokew), fates(droptail));
    }

    #[test]
    fn same_seed_same_run_and_other_labels_too(
        paper in papers(), trace in events(4), seed in any::<u64>(), shift in any::<u64>(),
    ) {
        let renamed: Vec<_> = trace.iter().cloned().map(|event| match event {
            Event::Offer(meta) => {
                Event::Offer(Meta { flow: meta.flow.wrapping_add(shift).wrapping_mul(0x9E37_79B9_7F4A_7C15), ..meta })
            }
            other => other,
        }).collect();
        let params = AnyParams::ChokeW(params_of(&paper));
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
        &(papers(), events(5), any::<u64>()),
        &[Overflow, RedEarly, RedForced, MatchArriving, MatchQueued],
        |(paper, trace, seed)| compare_chokew(paper, &trace, seed),
    );
}

// Expectations; the seeds are fixed.

/// The mean number of draws is p0 / w, for each class.
#[test]
fn mean_draws_are_the_drawing_factor_over_the_weight() {
    let weights = [1.0, 1.5, 2.0, 2.5];
    for p_0 in [0.3, 1.0, 3.7, 11.3] {
        for (class, weight) in weights.into_iter().enumerate() {
            let mut lone = with_factor(p_0, &weights, 0, 100);
            let trials = 20_000;
            let mut draws = 0;
            for _ in 0..trials {
                draws += lone.arrive(1_000_000 + u64::from(lone.arrivals), class as u8).1;
                lone.pop();
            }
            let mean = p_0 / weight;
            let fraction = mean - mean.floor();
            let deviation = (f64::from(trials) * fraction * (1.0 - fraction)).sqrt();
            let difference = draws as f64 - f64::from(trials) * mean;
            // A whole number has no variance: exact to the rounding of the quotient.
            assert!(
                difference.abs() < 4.0 * deviation.max(0.25),
                "{p_0} / {weight}: {difference}, {deviation}"
            );
        }
    }
}

/// Given the queue, an arrival matches with probability 1 - (1 - share)^m, m the draws allowed.
#[test]
fn match_probability_is_that_of_draws_with_replacement() {
    for (m, of_flow) in [(1, 20), (2, 20), (3, 50), (5, 10)] {
        let params = ChokeWParams {
            red: RedParams { limit: 1000, ..RedParams::default() },
            l_th: 99.0,
            l_minus: 99.1,
            l_plus: 100.5,
            p_plus: f64::from(m),
            ..paper()
        };
        let mut matched = 0;
        let trials = 4000_u32;
        for seed in 0..trials {
            let mut lone = Lone::new(params.clone());
            lone.world.bits[CANDIDATE] = Bits::Stream(Philox::new(u64::from(seed), 0, 0));
            for packet in 0..101 {
                let flow = if packet < 1 || packet > of_flow { 100 + packet } else { 1 };
                assert_eq!(lone.arrive(flow, 0), (vec![], 0));
            }
            // Finds 101 and raises the factor; two packets leave, neither of flow 1 but for the second.
            let raised = lone.arrive(9999, 0);
            assert_eq!(raised.0, []);
            lone.pop();
            lone.pop();
            assert_eq!((lone.waiting(), lone.p_0()), (100, f64::from(m)));
            matched += u32::from(lone.arrive(1, 0).0 == [MatchQueued, MatchArriving]);
        }
        let share = (of_flow - 1) as f64 / 100.0;
        let p = 1.0 - (1.0 - share).powi(m);
        let deviations =
            (f64::from(matched) - f64::from(trials) * p) / (f64::from(trials) * p * (1.0 - p)).sqrt();
        assert!(deviations.abs() < 4.0, "m = {m}, share {share}: {deviations}");
    }
}
