//! BLACK: its list and its counts, what must hold of every trace, and agreement with a slow model event by event.

use fairdrop::DropCause::{self, Filter, Overflow, RedEarly, RedForced};
use fairdrop::{
    AnyDiscipline, AnyParams, Black, BlackFlow, BlackParams, Discipline, ParamValue, RedParams, Slot, Stream,
};
use fairdrop_reference::arbitrary::{events, red_params};
use fairdrop_reference::black::BlackModel;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation};
use fairdrop_reference::host::{Bits, Bottleneck, DROP, Event, KEEP};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const CANDIDATE: usize = Stream::Candidate as usize;
const DRAW: usize = Stream::FilterCoin as usize;

type BlackQueue = Black<u32, Box<[Slot<u32>]>, Box<[BlackFlow]>>;

fn black(link: &Bottleneck) -> &BlackQueue {
    let AnyDiscipline::Black(queue) = &link.queue else { panic!("not BLACK") };
    queue
}

fn listed(link: &Bottleneck) -> Vec<u64> {
    black(link).listed().iter().map(|listed| listed.flow).collect()
}

/// Counts from the second packet on; RED drops nothing.
fn eager(flows: u32, samples: u32) -> BlackParams {
    let red =
        RedParams { limit: 100, min_th: 0.0, max_th: 1000.0, max_p: 0.0, w_q: 1.0, ..RedParams::default() };
    BlackParams { red, flows, samples }
}

/// A busy transmitter; draws meet the oldest packet, and nothing is dropped at random.
fn blocked(params: BlackParams) -> Bottleneck {
    let mut link = Bottleneck::blocked(AnyParams::Black(params));
    link.world.bits[CANDIDATE] = Bits::Always(1 << 40);
    link.world.bits[DRAW] = KEEP;
    link
}

#[test]
fn errors_name_the_parameter() {
    let mut params = AnyParams::of("black").unwrap();
    assert!(params.set("black", "flows", ParamValue::Number(7.0)));
    assert!(params.set("black", "samples", ParamValue::Number(7.0)));
    let refused = |params: BlackParams| AnyParams::Black(params).validate().unwrap_err().name;
    assert_eq!(refused(BlackParams { flows: 0, ..BlackParams::default() }), "flows");
    assert_eq!(refused(BlackParams { samples: 0, ..BlackParams::default() }), "samples");
    let slots = vec![None::<fairdrop::Packet<u8>>; fairdrop::slots_for(300)];
    let few = Black::new(BlackParams::default(), slots, vec![BlackFlow::default(); 19]);
    assert_eq!(few.expect_err("one is missing").name, "flows");
}

#[test]
fn those_met_last_come_first_and_the_oldest_gives_way() {
    let mut link = blocked(eager(2, 1000));
    assert_eq!((link.arrive(1).drawn.len(), listed(&link)), (0, vec![]), "nothing waits");
    link.arrive(2);
    assert_eq!(listed(&link), [1]);
    link.finish();
    link.arrive(3);
    assert_eq!(listed(&link), [2, 1]);
    link.arrive(3);
    link.finish();
    link.arrive(1);
    assert_eq!(listed(&link), [3, 2], "flow 1 was met longest ago");
    let met: Vec<_> = black(&link).listed().iter().map(|listed| listed.met).collect();
    assert_eq!(met, [1, 2]);
}

#[test]
fn a_complete_count_gives_the_shares() {
    // Five draws: the first meets the arrival's flow, all meet flow 1.
    let mut link = blocked(eager(4, 5));
    link.arrive(1);
    for flow in [1, 2, 3, 4] {
        link.arrive(flow);
    }
    assert_eq!((black(&link).fair_share(), black(&link).listed()[0].share), (0.0, 0), "one draw is missing");
    link.arrive(5);
    assert_eq!(black(&link).fair_share(), 0.2);
    assert_eq!(black(&link).listed(), [BlackFlow { flow: 1, met: 0, share: 5 }]);
    // (5 - 1) / 5 of flow 1, nothing of others.
    for (number, causes) in [((1_u64 << 53) * 4 / 5, vec![Filter]), ((1 << 53) * 4 / 5 + 1, vec![])] {
        let mut link = link.clone();
        link.world.bits[DRAW] = Bits::Always(number << 11);
        assert_eq!(link.arrive(1).causes(), causes);
    }
    link.world.bits[DRAW] = DROP;
    assert_eq!(link.arrive(2).causes(), []);
}

#[test]
fn a_flow_at_the_fair_share_is_not_dropped_at_random() {
    let mut link = blocked(eager(4, 2));
    for flow in [1, 1, 1] {
        link.arrive(flow);
    }
    assert_eq!(black(&link).fair_share(), 1.0);
    let before = link.world.used[DRAW];
    link.arrive(1);
    assert_eq!(link.world.used[DRAW], before);
}

/// A greedy flow beside nine: the count estimates its share of the queue, and matches the sum of squares.
#[test]
fn counts_estimate_shares_of_the_queue() {
    let params = BlackParams { samples: 20_000, ..eager(20, 20_000) };
    let red = RedParams { limit: 400, ..params.red.clone() };
    let mut link = Bottleneck::new(AnyParams::Black(BlackParams { red, ..params }), 7);
    let mut order = fairdrop::Philox::new(5, 0, 0);
    for _ in 0..20_600 {
        // Half of all arrivals are of flow 0.
        let draw = order.next_u64() % 18;
        link.step(&Event::Arrive { flow: if draw < 9 { 0 } else { draw }, len: 1000 });
        if link.queue.backlog().packets > 200 {
            link.finish();
        }
    }
    let greedy = black(&link).listed().iter().find(|listed| listed.flow == 0).map(|listed| listed.share);
    let share = f64::from(greedy.unwrap()) / 20_000.0;
    assert!((share - 0.5).abs() < 0.03, "{share}");
    let expected = 0.25 + 9.0 * (0.5_f64 / 9.0).powi(2);
    assert!(
        (black(&link).fair_share() - expected).abs() < 0.03,
        "{}, not {expected}",
        black(&link).fair_share()
    );
}

fn params() -> impl Strategy<Value = BlackParams> {
    (red_params(), 1_u32..6, prop_oneof![1_u32..12, Just(40)]).prop_map(|(red, flows, samples)| BlackParams {
        red,
        flows,
        samples,
    })
}

fn compare_black(params: BlackParams, trace: &[Event], seed: u64) -> Result<Vec<DropCause>, String> {
    compare(Bottleneck::new(AnyParams::Black(params.clone()), seed), &mut BlackModel::new(params), trace)
}

properties! {
    #[test]
    fn black_agrees(params in params(), trace in events(5), seed in any::<u64>()) {
        let result = compare_black(params, &trace, seed);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in events(5), seed in any::<u64>()) {
        check_conservation(&AnyParams::Black(params), &trace, seed, InOrder::All)?;
    }

    /// Flows of the list are different, and no more was counted than was drawn.
    #[test]
    fn the_list_keeps_its_bounds(params in params(), trace in events(5), seed in any::<u64>()) {
        let mut link = Bottleneck::new(AnyParams::Black(params.clone()), seed);
        for event in &trace {
            link.step(event);
            let list = black(&link).listed();
            prop_assert!(list.len() <= params.flows as usize);
            let flows: std::collections::BTreeSet<_> = list.iter().map(|listed| listed.flow).collect();
            prop_assert_eq!(flows.len(), list.len());
            prop_assert!(list.iter().map(|listed| listed.met).sum::<u32>() < params.samples);
            prop_assert!(list.iter().map(|listed| listed.share).sum::<u32>() <= params.samples);
        }
    }

    /// Before a count is complete it is RED.
    #[test]
    fn before_the_first_count_it_is_red(params in params(), trace in events(5), seed in any::<u64>()) {
        let params = BlackParams { samples: 1_000_000, ..params };
        let mut one = Bottleneck::new(AnyParams::Black(params.clone()), seed);
        let mut other = Bottleneck::new(AnyParams::Red(params.red), seed);
        for event in &trace {
            let (one, other) = (one.step(event), other.step(event));
            prop_assert_eq!((one.dropped, one.departed), (other.dropped, other.departed));
        }
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(
        1000,
        &(params(), events(5), any::<u64>()),
        &[Overflow, RedEarly, RedForced, Filter],
        |(params, trace, seed)| compare_black(params, &trace, seed),
    );
}
