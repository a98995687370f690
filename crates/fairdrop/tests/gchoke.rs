//! gCHOKe: draws that go on while they match, what must hold of every trace, and agreement with a slow model event by event.

use fairdrop::DropCause::{self, MatchArriving, MatchQueued, Overflow, RedEarly, RedForced};
use fairdrop::{AnyParams, Candidates, ChokeParams, GChokeParams, ParamValue, RedParams, Stream};
use fairdrop_reference::arbitrary::{events, red_params};
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::gchoke::GChokeModel;
use fairdrop_reference::host::{Bits, Bottleneck, Event, KEEP};
use fairdrop_reference::properties;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Compares from the second packet on, and drops nothing else.
fn eager(max_draws: u32) -> GChokeParams {
    let red =
        RedParams { limit: 20, min_th: 0.0, max_th: 100.0, max_p: 0.0, w_q: 1.0, ..RedParams::default() };
    GChokeParams { red, max_draws }
}

/// A busy transmitter behind a queue of these flows; every draw takes the oldest packet.
fn filled(params: GChokeParams, flows: &[u64]) -> Bottleneck {
    let mut link = Bottleneck::blocked(AnyParams::GChoke(params));
    link.world.bits[Stream::EarlyDrop as usize] = KEEP;
    link.world.bits[Stream::Candidate as usize] = Bits::Always(1 << 40);
    for &flow in flows {
        assert_eq!(link.arrive(flow).causes(), []);
    }
    link
}

#[test]
fn errors_name_the_parameter() {
    let mut params = AnyParams::of("gchoke").unwrap();
    assert!(params.set("gchoke", "max_draws", ParamValue::Number(7.0)));
    let refused = |params: GChokeParams| AnyParams::GChoke(params).validate().unwrap_err().name;
    assert_eq!(refused(GChokeParams { max_draws: 0, ..GChokeParams::default() }), "max_draws");
    let red = RedParams { limit: 0, ..RedParams::default() };
    assert_eq!(refused(GChokeParams { red, ..GChokeParams::default() }), "limit");
}

#[test]
fn a_miss_ends_the_draws() {
    let mut link = filled(eager(5), &[1, 2, 3]);
    let step = link.arrive(9);
    assert_eq!((step.causes(), step.drawn.len()), (vec![], 1));
}

#[test]
fn every_match_draws_again() {
    // While these came, draws met flow 3.
    let mut link = filled(eager(5), &[3, 2, 4, 5]);
    let step = link.arrive(3);
    assert_eq!(step.causes(), [MatchQueued, MatchArriving]);
    assert_eq!(step.drawn.len(), 2, "the match, and the miss after it");
    let step = link.arrive(2);
    assert_eq!((step.causes(), step.drawn.len()), (vec![MatchQueued, MatchArriving], 2));
}

#[test]
fn draws_have_a_bound_and_end_with_the_queue() {
    for (max_draws, killed) in [(1, 1), (2, 2), (5, 4)] {
        // Four packets of one flow got in while nothing was compared.
        let mut params = eager(max_draws);
        (params.red.min_th, params.red.max_th) = (4.0, 50.0);
        let mut link = filled(params, &[7; 4]);
        let step = link.arrive(7);
        let mut expected = vec![MatchQueued; killed];
        expected.push(MatchArriving);
        assert_eq!(step.causes(), expected, "{max_draws}");
        assert_eq!(step.drawn.len(), killed);
        assert_eq!(link.waiting().len(), 4 - killed);
    }
}

#[test]
fn nothing_is_compared_below_min_th() {
    let mut params = eager(5);
    params.red.min_th = 3.0;
    let mut link = filled(params, &[7, 7, 7]);
    assert_eq!(link.arrive(7).causes().last(), Some(&MatchArriving), "the average is 3");
}

#[test]
fn red_decides_about_what_was_not_met() {
    let mut params = eager(5);
    (params.red.max_th, params.red.max_p) = (3.0, 0.1);
    let mut link = filled(params, &[1, 2, 3]);
    assert_eq!(link.arrive(9).causes(), [RedForced]);
}

/// Where every waiting packet is of the flow with probability q, the first miss comes after q / (1 - q) matches.
#[test]
fn matches_are_geometric() {
    let mut params = eager(1000);
    (params.red.limit, params.red.min_th, params.red.max_th) = (400, 400.0, 1000.0);
    let (mut killed, trials) = (0, 400);
    for seed in 0..trials {
        // 400 packets, half of them of flow 1: nothing is compared while the average is below.
        let mut link = Bottleneck::blocked(AnyParams::GChoke(params.clone()));
        link.world.bits[Stream::Candidate as usize] = Bits::Stream(fairdrop::Philox::new(seed, 0, 0));
        for packet in 0..400 {
            assert_eq!(link.arrive(1 + packet % 2).causes(), []);
        }
        killed += link.arrive(1).count(MatchQueued);
    }
    let mean = killed as f64 / f64::from(trials as u32);
    assert!((mean - 1.0).abs() < 0.2, "{mean} of 1; the deviation of the mean is 0.07");
}

fn params() -> impl Strategy<Value = GChokeParams> {
    (red_params(), prop_oneof![1_u32..6, Just(100)])
        .prop_map(|(red, max_draws)| GChokeParams { red, max_draws })
}

fn compare_gchoke(params: GChokeParams, trace: &[Event], seed: u64) -> Result<Vec<DropCause>, String> {
    let link = Bottleneck::new(AnyParams::GChoke(params.clone()), seed);
    compare(link, &mut GChokeModel::new(params), trace)
}

properties! {
    #[test]
    fn gchoke_agrees(params in params(), trace in events(3), seed in any::<u64>()) {
        let result = compare_gchoke(params, &trace, seed);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in events(3), seed in any::<u64>()) {
        check_conservation(&AnyParams::GChoke(params), &trace, seed, InOrder::All)?;
    }

    /// With one draw it is CHOKe, random numbers included.
    #[test]
    fn with_one_draw_it_is_choke(params in params(), trace in events(3), seed in any::<u64>()) {
        let choke = ChokeParams { red: params.red.clone(), candidates: Candidates::Fixed(1), ..ChokeParams::default() };
        same_links(Bottleneck::new(AnyParams::GChoke(GChokeParams { max_draws: 1, ..params }), seed), Bottleneck::new(AnyParams::Choke(choke), seed), &trace)?;
    }

    /// All that is drawn but the last is dropped, and is of the arrival's flow.
    #[test]
    fn drops_are_a_run_of_matches(params in params(), trace in events(2), seed in any::<u64>()) {
        let mut link = Bottleneck::new(AnyParams::GChoke(params.clone()), seed);
        for event in &trace {
            let step = link.step(event);
            let met = step.count(MatchQueued);
            prop_assert!(step.drawn.len() <= params.max_draws as usize);
            prop_assert!(met == step.drawn.len() || met + 1 == step.drawn.len());
            prop_assert_eq!(step.count(MatchArriving), usize::from(met > 0));
            for (packet, _) in &step.dropped {
                prop_assert_eq!(Some(packet.meta.flow), step.arrived.as_ref().map(|packet| packet.meta.flow));
            }
        }
    }
}

/// The random cases above are worth something only if they reach every cause often, and more than one match.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (params(), events(3), any::<u64>());
    let mut reached = [0; 6];
    for _ in 0..1000 {
        let (params, trace, seed) = strategy.new_tree(&mut runner).unwrap().current();
        let causes = compare_gchoke(params, &trace, seed).unwrap();
        for (cause, cases) in
            [Overflow, RedEarly, RedForced, MatchArriving, MatchQueued].iter().zip(&mut reached)
        {
            *cases += u32::from(causes.contains(cause));
        }
        let many = causes.windows(2).any(|two| two == [MatchQueued, MatchQueued]);
        reached[5] += u32::from(many);
    }
    assert!(
        reached.iter().all(|&cases| cases >= 50),
        "cases of 1000 by cause, and with two matches: {reached:?}"
    );
}
