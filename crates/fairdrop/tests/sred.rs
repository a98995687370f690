//! SRED: boundaries, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{Overflow, Sred as Zapped};
use fairdrop::{AnyDiscipline, AnyParams, DropTailParams, Sred, SredParams, Stream, Time, Zombie};
use fairdrop_reference::arbitrary::timed_events;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::host::{Bits, Bottleneck, DROP, Event, KEEP};
use fairdrop_reference::properties;
use fairdrop_reference::sred::SredModel;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const DRAW: usize = Stream::SredCoin as usize;
const ZOMBIE: usize = Stream::Zombie as usize;
const OVERWRITE: usize = Stream::ZombieOverwrite as usize;

type SredQueue = Sred<u32, Box<[fairdrop::Slot<u32>]>, Box<[Zombie]>>;

fn sred(link: &Bottleneck) -> &SredQueue {
    let AnyDiscipline::Sred(queue) = &link.queue else { panic!("not SRED") };
    queue
}

/// A list of two zombies; the weight of a comparison is 1/4.
fn two() -> SredParams {
    SredParams { limit: 6, zombies: 2, overwrite: 0.5, max_p: 0.5, full: true }
}

/// A busy transmitter; the first zombie is always met, none is overwritten, nothing is dropped at random.
fn blocked(params: SredParams) -> Bottleneck {
    let mut link = Bottleneck::blocked(AnyParams::Sred(params));
    link.world.bits[DRAW] = KEEP;
    link.world.bits[ZOMBIE] = Bits::Always(0);
    link.world.bits[OVERWRITE] = KEEP;
    link
}

fn flows(link: &Bottleneck) -> Vec<u64> {
    sred(link).zombies().iter().map(|zombie| zombie.flow).collect()
}

#[test]
fn the_list_fills_with_arrivals_whatever_their_flow() {
    let mut link = blocked(two());
    link.arrive(7);
    link.arrive(7);
    assert_eq!((flows(&link), link.world.used[ZOMBIE]), (vec![7, 7], 0));
    assert_eq!(sred(&link).hit_frequency(), 0.0);
}

#[test]
fn a_hit_is_counted_and_raises_the_frequency() {
    let mut link = blocked(two());
    for flow in [7, 8] {
        link.arrive(flow);
    }
    link.wait(5);
    link.arrive(7);
    assert_eq!(sred(&link).zombies()[0], Zombie { flow: 7, hits: 1, seen: Time::from_ns(5) });
    assert_eq!((sred(&link).hit_frequency(), link.world.used[OVERWRITE]), (0.25, 0));
    link.arrive(8);
    assert_eq!(sred(&link).hit_frequency(), 0.1875, "it met the first zombie");
}

#[test]
fn a_miss_overwrites_by_chance() {
    for (bits, overwritten) in [(1_u64 << 63, false), ((1 << 63) - 1, true)] {
        let mut link = blocked(two());
        for flow in [7, 8] {
            link.arrive(flow);
        }
        link.world.bits[OVERWRITE] = Bits::Always(bits);
        link.arrive(9);
        assert_eq!(flows(&link), if overwritten { [9, 8] } else { [7, 8] });
    }
}

/// Four packets waiting of six, frequency 1/4 after a hit and 3/16 after a miss: 1/(256 P) is far below 1, and a hit
/// multiplies by 1 + 1/P.
#[test]
fn probability_of_hits_and_misses() {
    for (full, flow, p) in [
        (false, 7, 0.5 / (256.0 * 0.4375_f64).powi(2)),
        (true, 7, 0.5 / (256.0 * 0.4375_f64).powi(2) * (1.0 + 1.0 / 0.4375)),
        (false, 8, 0.5 / (256.0 * 0.1875_f64).powi(2)),
        (true, 8, 0.5 / (256.0 * 0.1875_f64).powi(2)),
    ] {
        let mut link = blocked(SredParams { full, ..two() });
        for flow in [7, 8, 7] {
            link.arrive(flow);
        }
        let bits = p * (1_u64 << 53) as f64;
        for (number, dropped) in [(bits.ceil() as u64 - 1, true), (bits.ceil() as u64 + 1, false)] {
            let mut link = link.clone();
            link.world.bits[DRAW] = Bits::Always(number << 11);
            assert_eq!(link.arrive(flow).causes() == [Zapped], dropped, "full {full}, flow {flow}, {number}");
        }
    }
}

/// While nothing has hit there seem to be infinitely many flows, and the probability has its bound.
#[test]
fn without_hits_the_probability_is_its_bound() {
    let mut link = blocked(two());
    for waiting in 0..6 {
        // 1 of 6 is a sixth, 2 of 6 a third.
        let bound = [0.0, 0.125, 0.5, 0.5, 0.5, 0.5][waiting];
        let just_below = ((bound * (1_u64 << 53) as f64) as u64).saturating_sub(1) << 11;
        let mut other = link.clone();
        other.world.bits[DRAW] = Bits::Always(just_below);
        assert_eq!(other.arrive(99).causes() == [Zapped], bound > 0.0, "{waiting} waiting");
        let mut other = link.clone();
        other.world.bits[DRAW] = Bits::Always(((bound * (1_u64 << 53) as f64) as u64) << 11);
        assert_ne!(other.arrive(99).causes(), [Zapped], "{waiting} waiting, a draw as high as the bound");
        assert_eq!(link.arrive(100 + waiting as u64).causes(), []);
    }
    link.world.bits[DRAW] = Bits::Script([].into());
    assert_eq!(link.arrive(1).causes(), [Overflow], "no draw for a packet that does not fit");
}

/// A dropped arrival met its zombie all the same.
#[test]
fn dropped_arrivals_count() {
    let mut link = blocked(two());
    for flow in [7, 8, 9] {
        link.arrive(flow);
    }
    link.world.bits[DRAW] = DROP;
    assert_eq!(link.arrive(7).causes(), [Zapped]);
    assert_eq!((sred(&link).hit_frequency(), sred(&link).zombies()[0].hits), (0.25, 1));
}

/// Of n flows with equal rates one arrival in n hits, so one over the frequency is their number.
#[test]
fn the_frequency_gives_the_number_of_flows() {
    for n in [1_u64, 4, 20] {
        let params = SredParams { max_p: 0.0, ..SredParams::default() };
        let mut link = Bottleneck::new(AnyParams::Sred(params), n);
        let mut mean = 0.0;
        for arrival in 0..60_000 {
            // A random order, since in a fixed one zombies and arrivals could keep step.
            let flow = link.world.bits[DRAW].next_u64() % n;
            link.step(&Event::Arrive { flow, len: 1000 });
            link.finish();
            if arrival >= 20_000 {
                mean += sred(&link).hit_frequency() / 40_000.0;
            }
        }
        assert!((1.0 / mean - n as f64).abs() < 0.1 * n as f64, "{n} flows, 1 / {mean}");
    }
}

fn params() -> impl Strategy<Value = SredParams> {
    let overwrite = prop_oneof![Just(1.0), Just(0.25), 0.01..1.0];
    let max_p = prop_oneof![Just(1.0), Just(0.15), 0.0..=1.0];
    (1_u32..20, 1_u32..12, overwrite, max_p, any::<bool>()).prop_map(
        |(limit, zombies, overwrite, max_p, full)| SredParams { limit, zombies, overwrite, max_p, full },
    )
}

properties! {
    #[test]
    fn sred_agrees(params in params(), trace in timed_events(300), seed in any::<u64>()) {
        let link = Bottleneck::new(AnyParams::Sred(params.clone()), seed);
        let result = compare(link, &mut SredModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        check_conservation(&AnyParams::Sred(params), &trace, seed, InOrder::All)?;
    }

    /// A frequency, and no drop but by overflow below a sixth of the buffer.
    #[test]
    fn drops_keep_the_rules(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        let mut link = Bottleneck::new(AnyParams::Sred(params.clone()), seed);
        for event in &trace {
            let waiting = link.waiting().len();
            let step = link.step(event);
            prop_assert!((0.0..=1.0).contains(&sred(&link).hit_frequency()));
            prop_assert!(sred(&link).zombies().len() <= params.zombies as usize);
            if step.causes() == [Zapped] {
                prop_assert!(6 * waiting >= params.limit as usize && waiting < params.limit as usize);
            }
        }
    }

    #[test]
    fn without_probability_it_is_droptail(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        let params = SredParams { max_p: 0.0, ..params };
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        same_links(Bottleneck::new(AnyParams::Sred(params), seed), Bottleneck::new(droptail, seed), &trace)?;
    }

    /// Full and simple SRED differ after hits only.
    #[test]
    fn without_hits_full_is_simple(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        let mut trace = trace;
        for (at, event) in trace.iter_mut().enumerate() {
            if let Event::Arrive { flow, .. } = event {
                *flow = at as u64;
            }
        }
        let of = |full| Bottleneck::new(AnyParams::Sred(SredParams { full, ..params.clone() }), seed);
        let (mut one, mut other) = (of(true), of(false));
        for event in &trace {
            prop_assert_eq!(one.step(event), other.step(event));
        }
        prop_assert_eq!(sred(&one).hit_frequency(), 0.0);
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (params(), timed_events(300), any::<u64>());
    let mut reached = [0; 3];
    for _ in 0..1000 {
        let (params, trace, seed) = strategy.new_tree(&mut runner).unwrap().current();
        let link = Bottleneck::new(AnyParams::Sred(params.clone()), seed);
        let causes = compare(link, &mut SredModel::new(params.clone()), &trace).unwrap();
        for (cause, cases) in [Zapped, Overflow].iter().zip(&mut reached) {
            *cases += u32::from(causes.contains(cause));
        }
        let mut link = Bottleneck::new(AnyParams::Sred(params), seed);
        for event in &trace {
            link.step(event);
        }
        reached[2] += u32::from(sred(&link).zombies().iter().any(|zombie| zombie.hits > 0));
    }
    assert!(reached.iter().all(|&cases| cases >= 50), "cases of 1000 by cause, and with hits: {reached:?}");
}
