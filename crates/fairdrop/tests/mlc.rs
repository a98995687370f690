//! MLC(l): its trials and their number, what must hold of every trace, and agreement with a slow model event by event.

use fairdrop::DropCause::{self, MatchArriving, Overflow};
use fairdrop::{AnyDiscipline, AnyParams, DropTailParams, MlcParams, ParamValue, Philox, Stream, Time};
use fairdrop_reference::arbitrary::timed_events;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation};
use fairdrop_reference::host::{Bits, Bottleneck, DROP, Event, KEEP};
use fairdrop_reference::mlc::MlcModel;
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const FRACTION: usize = Stream::DrawingFraction as usize;
const CANDIDATE: usize = Stream::Candidate as usize;

fn trials(link: &Bottleneck) -> f64 {
    let AnyDiscipline::Mlc(queue) = &link.queue else { panic!("not MLC(l)") };
    queue.trials()
}

/// A busy transmitter; draws meet the oldest packet.
fn blocked(params: MlcParams) -> Bottleneck {
    let mut link = Bottleneck::blocked(AnyParams::Mlc(params));
    link.world.bits[CANDIDATE] = Bits::Always(1 << 40);
    link.world.bits[FRACTION] = KEEP;
    link
}

#[test]
fn errors_name_the_parameter() {
    let mut params = AnyParams::of("mlc").unwrap();
    for (name, value) in
        [("level", 3.0), ("step", 0.5), ("target", 0.25), ("max_trials", 8.0), ("t_update", 1.0)]
    {
        assert!(params.set("mlc", name, ParamValue::Number(value)), "{name}");
    }
    let refused = |params: MlcParams| AnyParams::Mlc(params).validate().unwrap_err().name;
    assert_eq!(refused(MlcParams { limit: 0, ..MlcParams::default() }), "limit");
    assert_eq!(refused(MlcParams { level: 0, ..MlcParams::default() }), "level");
    assert_eq!(refused(MlcParams { step: 0.0, ..MlcParams::default() }), "step");
    assert_eq!(refused(MlcParams { target: 1.5, ..MlcParams::default() }), "target");
    assert_eq!(refused(MlcParams { max_trials: 0, ..MlcParams::default() }), "max_trials");
    assert_eq!(refused(MlcParams { t_update: Time::ZERO, ..MlcParams::default() }), "t_update");
}

#[test]
fn an_empty_queue_has_nothing_to_draw() {
    let mut link = blocked(MlcParams::default());
    assert_eq!(link.arrive(1).causes(), []);
    assert_eq!((link.world.used[FRACTION], link.world.used[CANDIDATE]), (0, 0));
}

#[test]
fn a_trial_wants_every_packet_to_match() {
    for level in [1, 2, 3] {
        let mut link = blocked(MlcParams { level, ..MlcParams::default() });
        link.arrive(1);
        let step = link.arrive(1);
        assert_eq!((step.causes(), step.drawn.len()), (vec![MatchArriving], level as usize));
        assert_eq!(link.waiting().len(), 1, "what was met stays");
        let step = link.arrive(2);
        assert_eq!((step.causes(), step.drawn.len()), (vec![], 1), "the first other flow ends a trial");
    }
}

#[test]
fn the_number_of_trials_follows_the_queue() {
    let params = MlcParams { limit: 4, target: 0.5, step: 0.25, max_trials: 2, ..MlcParams::default() };
    let mut link = blocked(params.clone());
    let period = params.t_update.ns();
    for flow in [1, 2] {
        link.arrive(flow);
    }
    // Two of four are not above half.
    link.wait(period);
    link.arrive(3);
    assert_eq!(trials(&link), 0.8);
    link.wait(period - 1);
    link.arrive(9);
    assert_eq!(trials(&link), 0.8, "not before its time");
    link.wait(1);
    link.arrive(9);
    assert_eq!(trials(&link), 1.0);
    link.wait(10 * period);
    link.arrive(9);
    assert_eq!(trials(&link), 2.0, "no more than max_trials");
    for _ in 0..4 {
        link.finish();
    }
    link.wait(100 * period);
    link.arrive(9);
    assert_eq!(trials(&link), 0.5, "no fewer than one in max_trials arrivals");
}

#[test]
fn the_fraction_is_a_probability() {
    let params = MlcParams { step: 0.25, level: 1, ..MlcParams::default() };
    for (bits, drawn) in [(DROP, 1), (KEEP, 0)] {
        let mut link = blocked(params.clone());
        link.arrive(1);
        // 1 / 1.25 of a trial.
        link.wait(params.t_update.ns());
        link.world.bits[FRACTION] = bits;
        assert_eq!(link.arrive(2).drawn.len(), drawn);
    }
}

/// A flow that has the share q of the queue is refused with probability q^level.
#[test]
fn refusals_go_by_a_power_of_the_share() {
    for level in [1, 2, 3] {
        let mut link =
            Bottleneck::blocked(AnyParams::Mlc(MlcParams { level, limit: 120, ..MlcParams::default() }));
        // Every other packet is of flow 1; the draws of these arrivals meet nothing.
        link.world.bits[CANDIDATE] = Bits::Always(1 << 40);
        link.arrive(0);
        for packet in 0..98_u64 {
            assert_eq!(link.arrive(if packet % 2 == 0 { 1 } else { 1000 + packet }).causes(), []);
        }
        link.arrive(1);
        let (mut refused, arrivals) = (0, 20_000);
        let before = link;
        let mut draws = Philox::new(u64::from(level), 0, 0);
        for _ in 0..arrivals {
            let mut link = before.clone();
            link.world.bits[CANDIDATE] = Bits::Script((0..64).map(|_| draws.next_u64()).collect());
            refused += u32::from(link.arrive(1).causes() == [MatchArriving]);
        }
        let p = 0.5_f64.powi(level as i32);
        let n = f64::from(arrivals);
        let deviations = (f64::from(refused) - n * p) / (n * p * (1.0 - p)).sqrt();
        assert!(deviations.abs() < 4.0, "level {level}: {deviations}");
    }
}

fn params() -> impl Strategy<Value = MlcParams> {
    let t_update = prop_oneof![Just(1_000_000_u64), 100_000_u64..100_000_000];
    let step = prop_oneof![Just(0.01), Just(0.5), Just(1.0), 0.001..1.0];
    let target = prop_oneof![Just(0.0), Just(0.5), 0.0..=1.0];
    (1_u32..20, 1_u32..4, t_update, step, target, prop_oneof![Just(1_u32), 1_u32..70]).prop_map(
        |(limit, level, t_update, step, target, max_trials)| MlcParams {
            limit,
            level,
            t_update: Time::from_ns(t_update),
            step,
            target,
            max_trials,
        },
    )
}

fn compare_mlc(params: MlcParams, trace: &[Event], seed: u64) -> Result<Vec<DropCause>, String> {
    compare(Bottleneck::new(AnyParams::Mlc(params.clone()), seed), &mut MlcModel::new(params), trace)
}

properties! {
    #[test]
    fn mlc_agrees(params in params(), trace in timed_events(300), seed in any::<u64>()) {
        let result = compare_mlc(params, &trace, seed);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        check_conservation(&AnyParams::Mlc(params), &trace, seed, InOrder::All)?;
    }

    /// Trials stay within their bounds, and no draws are made beyond them.
    #[test]
    fn trials_keep_their_bounds(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        let mut link = Bottleneck::new(AnyParams::Mlc(params.clone()), seed);
        let most = f64::from(params.max_trials);
        for event in &trace {
            let step = link.step(event);
            prop_assert!((1.0 / most..=most).contains(&trials(&link)));
            prop_assert!(step.drawn.len() <= ((params.max_trials + 1) * params.level) as usize);
        }
    }

    /// Flows of one packet are never met.
    #[test]
    fn of_distinct_flows_it_is_droptail(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        let mut trace = trace;
        for (at, event) in trace.iter_mut().enumerate() {
            if let Event::Arrive { flow, .. } = event {
                *flow = at as u64;
            }
        }
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        let (mut one, mut other) =
            (Bottleneck::new(AnyParams::Mlc(params), seed), Bottleneck::new(droptail, seed));
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
        &(params(), timed_events(300), any::<u64>()),
        &[MatchArriving, Overflow],
        |(params, trace, seed)| compare_mlc(params, &trace, seed),
    );
}
