//! `CHOKe` per class: boundaries, classes that do not see each other, weights that are honoured, and agreement with the slow
//! reference.

use fairdrop::DropCause::{MatchArriving, MatchQueued, Overflow};
use fairdrop::{
    AnyDiscipline, AnyParams, Candidates, ChokeParams, ClassChokeParams, Discipline, Meta, ParamValue,
    RedParams, Weights,
};
use fairdrop_reference::arbitrary::{classed_events, events, red_params};
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation};
use fairdrop_reference::host::{Bottleneck, Event, mixed};
use fairdrop_reference::properties;
use fairdrop_reference::reference_of;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn class_choke(red: RedParams, weights: &[f64], quantum: u32) -> ClassChokeParams {
    ClassChokeParams { red, weights: Weights::new(weights).unwrap(), quantum, candidates: 1 }
}

/// No early drops, and no matches below `min_th`.
fn quiet(limit: u32) -> RedParams {
    RedParams { limit, min_th: 500.0, max_th: 1000.0, ..RedParams::default() }
}

/// Flow f is of class f modulo 4.
fn by_flow(flow: u64, len: u32) -> Meta {
    Meta { class: (flow % 4) as u8, ..Meta::of_flow(flow, len) }
}

fn blocked(params: ClassChokeParams) -> Bottleneck {
    Bottleneck { meta: by_flow, ..Bottleneck::blocked(AnyParams::ClassChoke(params)) }
}

fn fill(link: &mut Bottleneck, flow: u64, count: usize, len: u32) {
    (0..count).for_each(|_| assert_eq!(link.step(&Event::Arrive { flow, len }).causes(), []));
}

/// Flows of the next `count` departures.
fn departures(link: &mut Bottleneck, count: usize) -> Vec<u64> {
    (0..count).map(|_| link.finish().departed.expect("packets wait").meta.flow).collect()
}

fn params() -> impl Strategy<Value = ClassChokeParams> {
    let weight = prop_oneof![Just(1.0), Just(2.0), 1.0..4.0, Just(50.0)];
    let quantum = prop_oneof![Just(1500_u32), 1_u32..50, 50_u32..3000];
    (red_params(), prop::collection::vec(weight, 1..5), quantum, 0_u8..4, 0_u32..40).prop_map(
        |(red, weights, quantum, candidates, more)| {
            let red = RedParams { limit: weights.len() as u32 + more, ..red };
            ClassChokeParams { candidates, ..class_choke(red, &weights, quantum) }
        },
    )
}

#[test]
fn parameters_by_name() {
    let mut params = AnyParams::of("class_choke").unwrap();
    assert_eq!(params, AnyParams::ClassChoke(ClassChokeParams::default()));
    assert!(params.set("class_choke", "weights", ParamValue::Numbers(&[1.0, 3.0])));
    assert!(params.set("class_choke", "quantum", ParamValue::Number(700.0)));
    assert!(params.set("class_choke", "candidates", ParamValue::Number(2.0)));
    assert!(!params.set("class_choke", "weights", ParamValue::Numbers(&[0.5])));
    params.set_link(50, 8_000_000);
    let red = RedParams { limit: 50, mean_packet_time: fairdrop::Time::from_ms(1), ..RedParams::default() };
    let expected = ClassChokeParams { candidates: 2, ..class_choke(red, &[1.0, 3.0], 700) };
    assert_eq!(params, AnyParams::ClassChoke(expected));
}

#[test]
fn errors_and_warnings_name_the_parameter() {
    let refused = |params: ClassChokeParams| params.validate().expect_err("it is refused").to_string();
    assert_eq!(
        refused(class_choke(quiet(2), &[1.0; 3], 1500)),
        "weights = 3 is not valid: at most as many classes as packets may wait"
    );
    assert!(class_choke(quiet(3), &[1.0; 3], 1500).validate().is_ok());
    assert!(refused(class_choke(quiet(9), &[1.0], 0)).starts_with("quantum = 0"));
    let warning = |limit| {
        let red = RedParams { limit, min_th: 10.0, max_th: 20.0, ..RedParams::default() };
        AnyParams::ClassChoke(class_choke(red, &[1.0, 1.0], 1500)).warning()
    };
    assert!(warning(21).is_some_and(|warning| warning.value == 10.0), "10 of 21 packets for class 1");
    assert_eq!(warning(22), None);
}

/// What does not divide goes to the first classes.
#[test]
fn classes_share_the_limit() {
    let params = class_choke(quiet(11), &[1.0, 5.0, 1.0, 1.0], 1500);
    assert_eq!([0, 1, 2, 3].map(|class| params.limit_of(class)), [3, 3, 3, 2]);
    let mut link = blocked(params);
    for (flow, room) in [(0, 3), (1, 3), (2, 3), (3, 2)] {
        fill(&mut link, flow, room, 1000);
        assert_eq!(link.arrive(flow).causes(), [Overflow], "class {flow}");
    }
    assert_eq!(link.queue.backlog().packets, 11);
}

#[test]
fn classes_beyond_the_weights_go_with_the_last() {
    let mut link = blocked(class_choke(quiet(10), &[1.0, 1.0], 1000));
    fill(&mut link, 1, 2, 1000);
    fill(&mut link, 3, 2, 1000);
    fill(&mut link, 0, 2, 1000);
    assert_eq!(departures(&mut link, 6), [0, 1, 0, 1, 3, 3]);
}

/// Turns by weight: three packets of class 1 for one of class 0.
#[test]
fn a_turn_is_quantum_times_weight() {
    let mut link = blocked(class_choke(quiet(100), &[1.0, 3.0], 1000));
    fill(&mut link, 0, 4, 1000);
    fill(&mut link, 1, 9, 1000);
    assert_eq!(departures(&mut link, 13), [0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0]);
}

/// A weight need not be whole: 3 packets of class 1 for 2 of class 0.
#[test]
fn what_a_turn_leaves_over_is_kept() {
    let mut link = blocked(class_choke(quiet(100), &[1.0, 1.5], 1000));
    fill(&mut link, 0, 20, 1000);
    fill(&mut link, 1, 30, 1000);
    assert_eq!(departures(&mut link, 10), [0, 1, 0, 1, 1, 0, 1, 0, 1, 1]);
}

/// A class that a match has emptied keeps nothing of its turn.
#[test]
fn a_class_emptied_by_a_match_forgets_its_deficit() {
    let red = RedParams { limit: 40, min_th: 0.0, max_th: 1000.0, max_p: 0.0, ..RedParams::default() };
    // 1,400 of 1,500 bytes are left over after the first packet of class 0, which the second needs.
    let mut link = blocked(class_choke(red, &[1.0, 1.0], 1500));
    fill(&mut link, 0, 1, 100);
    fill(&mut link, 4, 1, 1000);
    fill(&mut link, 1, 1, 1000);
    assert_eq!(departures(&mut link, 1), [0]);
    assert_eq!(link.arrive(4).causes(), [MatchQueued, MatchArriving]);
    // Its turn is over: class 1 comes first.
    fill(&mut link, 8, 1, 1000);
    assert_eq!(departures(&mut link, 2), [1, 8]);
}

/// Small quanta and long packets: as many numbers of rounds as it takes, in three walks at most. The order is that of walking.
#[test]
fn a_quantum_of_a_byte_is_as_good_as_any() {
    let mut link = blocked(class_choke(quiet(20), &[1.0, 2.0, 1.0], 1));
    for (flow, len) in [(0, 16_777_216), (1, 16_777_216), (2, 8_000_000)] {
        fill(&mut link, flow, 2, len);
    }
    assert_eq!(departures(&mut link, 6), [2, 1, 2, 0, 1, 0]);
}

/// An arrival's candidates are of its class: with one flow in each of two classes a lone class-1 packet is never drawn by
/// class 0.
#[test]
fn candidates_are_of_the_class() {
    let red = RedParams { limit: 200, min_th: 0.0, max_th: 1000.0, max_p: 0.0, ..RedParams::default() };
    let mut link = blocked(ClassChokeParams { candidates: 32, ..class_choke(red, &[1.0, 1.0], 1500) });
    let flows: Vec<u64> = (0..20).map(|flow| flow * 4 + flow % 2).collect();
    for &flow in &flows {
        fill(&mut link, flow, 1, 1000);
    }
    let handle_of = |flow: u64| flows.iter().position(|&of| of == flow).unwrap() as u32;
    for new in [1000, 1001] {
        let mut drawn = link.arrive(new).drawn;
        drawn.sort_unstable();
        let own: Vec<u32> =
            flows.iter().filter(|&&flow| flow % 4 == new % 4).map(|&flow| handle_of(flow)).collect();
        assert_eq!(drawn, own);
    }
}

properties! {
    #[test]
    fn agrees_with_the_reference(params in params(), trace in events(8), seed in any::<u64>()) {
        let params = AnyParams::ClassChoke(params);
        let link = Bottleneck { meta: by_flow, ..mixed(params.clone(), seed) };
        let result = compare(link, reference_of(&params).unwrap().as_mut(), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in classed_events(8, 200), seed in any::<u64>()) {
        let steps = check_conservation(&AnyParams::ClassChoke(params), &trace, seed, InOrder::Flow)?;
        for step in steps {
            for (packet, _) in &step.dropped {
                let arrived = step.arrived.as_ref().expect("only arrivals drop");
                prop_assert_eq!(packet.meta.class, arrived.meta.class, "a drop in another class");
            }
        }
    }

    /// With one class it is CHOKe.
    #[test]
    fn one_class_is_choke(red in red_params(), candidates in 0_u8..6, trace in events(5), seed in any::<u64>()) {
        let one = ClassChokeParams { candidates, ..class_choke(red.clone(), &[7.0], 3) };
        let choke = ChokeParams { red, candidates: Candidates::Fixed(candidates), ..ChokeParams::default() };
        let mut one = mixed(AnyParams::ClassChoke(one), seed);
        let mut choke = mixed(AnyParams::Choke(choke), seed);
        for event in &trace {
            prop_assert_eq!(one.step(event), choke.step(event));
            prop_assert_eq!(one.average().to_bits(), choke.average().to_bits());
            prop_assert_eq!(one.queue.stats(), choke.queue.stats());
        }
    }

    /// Classes are isolated: each does what a CHOKe queue of its own would that sees its arrivals, is asked when its turn has
    /// come, and when it is empty, whatever the other classes send.
    #[test]
    fn a_class_is_a_choke_queue_of_its_own(params in params(), trace in classed_events(8, 200), seed in any::<u64>()) {
        let classes = params.weights.as_slice().len();
        let mut alone: Vec<Bottleneck> =
            (0..classes).map(|class| Bottleneck::blocked(AnyParams::Choke(params.choke_of(class)))).collect();
        let mut link = Bottleneck::new(AnyParams::ClassChoke(params), seed);
        for event in &trace {
            // The same random numbers for the class whose packet comes.
            let bits = link.world.bits.clone();
            let step = link.step(event);
            if let Some(arrived) = &step.arrived {
                let class = usize::from(arrived.meta.class).min(classes - 1);
                let own = &mut alone[class];
                (own.world.now, own.world.bits, own.arrivals) = (link.world.now, bits, arrived.handle);
                let choke = own.offer(arrived.meta);
                prop_assert_eq!(&choke.dropped, &step.dropped);
                prop_assert_eq!(&choke.drawn, &step.drawn);
                prop_assert!(own.world.bits.iter_mut().zip(&mut link.world.bits.clone()).all(|(a, b)| a.next_u64() == b.next_u64()));
            }
            for (class, own) in alone.iter_mut().enumerate().filter(|_| step.asked) {
                own.world.now = link.world.now;
                let sent = step.departed.as_ref().filter(|packet| usize::from(packet.meta.class).min(classes - 1) == class);
                if sent.is_some() || own.waiting().is_empty() {
                    let departed = own.finish().departed;
                    prop_assert_eq!(departed.as_ref(), sent);
                    own.busy = true;
                }
            }
        }
    }

    /// Over any interval in which two classes have packets waiting, what they are served by weight differs by at most a quantum
    /// and the longest packet of each, by weight (Shreedhar, Varghese 1996, IV).
    #[test]
    fn weights_are_honoured(
        quantum in prop_oneof![Just(1500_u32), 20_u32..4000],
        weights in prop::collection::vec(prop_oneof![Just(1.0), 1.0..5.0], 2..5),
        lens in prop::collection::vec(0_u32..=1500, 100..200),
        lead in 0_usize..30,
    ) {
        let params = class_choke(RedParams { limit: 100_000, ..quiet(1) }, &weights, quantum);
        // As the weights come to whole bytes.
        let weights: Vec<f64> = weights.iter().map(|weight| (f64::from(quantum) * weight).round() / f64::from(quantum)).collect();
        let mut link = blocked(params);
        // The first class is already being served as the others begin.
        (0..=lead).for_each(|at| fill(&mut link, 0, 1, lens[at % lens.len()]));
        (0..lead).for_each(|_| drop(link.finish()));
        for flow in 0..weights.len() as u64 {
            for &len in &lens {
                fill(&mut link, flow, 1, len);
            }
        }
        let mut served = vec![0_i64; weights.len()];
        let mut range = vec![(0.0_f64, 0.0_f64); weights.len() * weights.len()];
        loop {
            let packet = link.finish().departed.expect("all are backlogged");
            served[packet.meta.flow as usize] += i64::from(packet.meta.len);
            let AnyDiscipline::ClassChoke(queue) = &link.queue else { panic!("it is CHOKe per class") };
            if (0..weights.len() as u8).any(|class| queue.class(class).unwrap().fifo().is_empty()) {
                break;
            }
            for i in 0..weights.len() {
                for j in 0..i {
                    let ahead = served[i] as f64 / weights[i] - served[j] as f64 / weights[j];
                    let (least, most) = &mut range[i * weights.len() + j];
                    (*least, *most) = (least.min(ahead), most.max(ahead));
                    let bound = f64::from(quantum) + 1500.0 / weights[i] + 1500.0 / weights[j];
                    prop_assert!(*most - *least <= bound + 1e-6, "classes {} and {}: {} to {}", i, j, least, most);
                }
            }
        }
    }
}

/// The random cases above are worth something only if they reach every cause often, and classes overtake each other.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (params(), events(8));
    let (mut matched, mut overflowed, mut overtaken) = (0, 0, 0);
    for _ in 0..1000 {
        let (params, trace) = strategy.new_tree(&mut runner).unwrap().current();
        let mut link = Bottleneck { meta: by_flow, ..mixed(AnyParams::ClassChoke(params), 1) };
        let steps: Vec<_> = trace.iter().map(|event| link.step(event)).collect();
        let any = |cause| steps.iter().any(|step| step.count(cause) > 0);
        matched += u32::from(any(MatchQueued));
        overflowed += u32::from(any(Overflow));
        let left: Vec<_> = steps.iter().filter_map(|step| Some(step.departed.as_ref()?.handle)).collect();
        overtaken += u32::from(!left.is_sorted());
    }
    assert!(matched >= 50 && overflowed >= 50 && overtaken >= 50, "{matched} {overflowed} {overtaken}");
}
