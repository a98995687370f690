//! SFB: boundaries, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{Filter, Overflow, Sfb};
use fairdrop::disciplines::sfb::FullBins;
use fairdrop::{AnyDiscipline, AnyParams, DropTailParams, Linux, ParamValue, SfbParams, Stream, Time};
use fairdrop_reference::arbitrary::{classed_events, greedy_events};
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::host::{Bits, Bottleneck, Event, KEEP};
use fairdrop_reference::sfb::SfbModel;
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const DRAW: usize = Stream::SfbCoin as usize;

/// Steps that are exact in binary; one bin, so that flows share everything.
fn one_bin() -> SfbParams {
    SfbParams {
        limit: 10,
        levels: 1,
        bins: 1,
        bin_size: 2,
        full: FullBins::One,
        max: 25,
        increment: 0.25,
        decrement: 0.125,
        penalty_rate: 10.0,
        penalty_burst: 2.0,
        rehash: Time::ZERO,
        warm_up: Time::ZERO,
        linux: Linux::None,
    }
}

fn probability(link: &Bottleneck, flow: u64) -> f64 {
    let AnyDiscipline::Sfb(sfb) = &link.queue else { panic!("this is not SFB") };
    sfb.probability(flow)
}

fn waiting(link: &Bottleneck) -> Vec<u32> {
    let AnyDiscipline::Sfb(sfb) = &link.queue else { panic!("this is not SFB") };
    sfb.bins().iter().map(|bin| bin.waiting).collect()
}

/// A bin with three packets, one more than its size, behind a busy transmitter; nothing is dropped at random.
fn overfull(params: SfbParams) -> Bottleneck {
    let mut link = Bottleneck::blocked(AnyParams::Sfb(params));
    link.world.bits[DRAW] = KEEP;
    (0..3).for_each(|_| assert_eq!(link.arrive(1).causes(), []));
    link
}

/// The probability at 1, and the bin at its size again.
fn penalised() -> Bottleneck {
    let mut link = overfull(one_bin());
    (0..4).for_each(|_| assert_eq!(link.arrive(1).causes(), [Sfb]));
    assert_eq!(probability(&link, 1), 1.0);
    link.finish();
    link.busy = true;
    link
}

#[test]
fn defaults_and_names() {
    let mut read = SfbParams { limit: 300, ..one_bin() };
    let values = [
        ("levels", 2.0),
        ("bins", 23.0),
        ("bin_size", 20.0),
        ("increment", 0.001),
        ("decrement", 0.000_167),
        ("penalty_rate", 10.0),
        ("penalty_burst", 20.0),
        ("rehash", 600.0),
        ("warm_up", 60.0),
    ];
    assert!(values.iter().all(|&(name, value)| read.set(name, ParamValue::Number(value))));
    assert!(!read.set("tea", ParamValue::Number(1.0)));
    assert_eq!(read, SfbParams::default());
}

#[test]
fn errors_name_the_parameter() {
    let name = |params: SfbParams| params.validate().expect_err("out of range").name;
    assert_eq!(name(SfbParams { limit: 0, ..one_bin() }), "limit");
    assert_eq!(name(SfbParams { levels: 0, ..one_bin() }), "levels");
    assert_eq!(name(SfbParams { levels: 17, ..one_bin() }), "levels");
    assert_eq!(name(SfbParams { bins: 0, ..one_bin() }), "bins");
    let linux = SfbParams { linux: Linux::V6_12, levels: 8, bins: 16, ..one_bin() };
    assert!(linux.validate().is_ok());
    assert_eq!(name(SfbParams { levels: 7, ..linux.clone() }), "levels");
    assert_eq!(name(SfbParams { bins: 17, ..linux }), "bins");
    assert_eq!(name(SfbParams { bin_size: u32::MAX, ..one_bin() }), "bin_size");
    assert_eq!(name(SfbParams { increment: 1.5, ..one_bin() }), "increment");
    assert_eq!(name(SfbParams { decrement: f64::NAN, ..one_bin() }), "decrement");
    assert_eq!(name(SfbParams { penalty_rate: -1.0, ..one_bin() }), "penalty_rate");
    assert_eq!(name(SfbParams { penalty_burst: f64::INFINITY, ..one_bin() }), "penalty_burst");
    assert_eq!(name(SfbParams { rehash: Time::NEVER, ..one_bin() }), "rehash");
    let backwards = SfbParams { rehash: Time::from_ms(10), warm_up: Time::from_ms(11), ..one_bin() };
    assert_eq!(name(backwards), "warm_up");
}

/// Up to `bin_size` packets the probability stays; an arrival that finds more raises it and is dropped.
#[test]
fn a_full_bin_raises_its_probability_and_drops() {
    let mut link = overfull(one_bin());
    assert_eq!(probability(&link, 1), 0.0);
    for step in 1..=6 {
        assert_eq!(link.arrive(1).causes(), [Sfb]);
        assert_eq!(probability(&link, 1), (f64::from(step) * 0.25).min(1.0));
    }
    assert_eq!(waiting(&link), [3]);
}

/// An arrival that finds an empty bin lowers the probability before its own random draw.
#[test]
fn an_empty_bin_lowers_its_probability() {
    let mut link = overfull(one_bin());
    (0..2).for_each(|_| drop(link.arrive(1)));
    (0..3).for_each(|_| assert!(link.finish().departed.is_some()));
    link.world.bits[DRAW] = Bits::Always(3 << 61);
    assert_eq!(link.arrive(1).causes(), [], "3/8 is not below 1/2 - 1/8");
    assert_eq!(probability(&link, 1), 0.375);
    link.world.bits[DRAW] = Bits::Always((3 << 61) - 1);
    assert_eq!(link.arrive(1).causes(), [Sfb]);
    assert_eq!(probability(&link, 1), 0.375, "one packet waits: neither up nor down");
}

/// A burst of two, and then one packet every 100 ms; no random draw.
#[test]
fn certain_flows_share_a_rate() {
    let mut link = penalised();
    link.world.bits[DRAW] = Bits::Script([].into());
    let queued = |link: &mut Bottleneck| {
        let passes = link.arrive(1).causes() != [Filter];
        // What passes is sent, so that two go on waiting and nothing moves the probability.
        if passes {
            link.finish();
        }
        passes
    };
    let fates: Vec<bool> = (0..3).map(|_| queued(&mut link)).collect();
    assert_eq!(fates, [true, true, false]);
    link.wait(100 * MS - 1);
    assert!(!queued(&mut link));
    link.wait(1);
    assert!(queued(&mut link));
    assert!(!queued(&mut link));
}

/// The lowest probability decides: one bin of its own keeps a flow free.
#[test]
fn a_bin_of_its_own_keeps_a_flow_free() {
    let params = SfbParams { levels: 4, bins: 64, limit: 1000, bin_size: 0, ..one_bin() };
    let mut link = Bottleneck::blocked(AnyParams::Sfb(params));
    (0..5).for_each(|_| drop(link.arrive(1)));
    assert_eq!(probability(&link, 1), 1.0);
    let free = (2..200).filter(|&flow| probability(&link, flow) == 0.0).count();
    assert!(free >= 195, "{free} of 198");
    assert_eq!(waiting(&link).iter().sum::<u32>(), 4, "one packet in one bin of each level");
}

/// When the functions change, the set that was warmed up decides; nothing is forgotten of packets queued since.
#[test]
fn a_warm_set_takes_over() {
    for (warm_up, after) in [(50, 0.5), (0, 0.0)] {
        let (rehash, warm_up) = (Time::from_ms(100), Time::from_ms(warm_up));
        let params = SfbParams { rehash, warm_up, bin_size: 0, increment: 0.25, ..one_bin() };
        let mut link = Bottleneck::blocked(AnyParams::Sfb(params));
        link.world.bits[DRAW] = KEEP;
        (0..4).for_each(|_| drop(link.arrive(1)));
        assert_eq!(probability(&link, 1), 0.75);
        link.wait(60 * MS);
        // The second set begins; what waits already is not counted in it. Its next two arrivals are.
        link.arrive(1);
        link.finish();
        link.busy = true;
        link.arrive(1);
        assert_eq!(probability(&link, 1), 0.875);
        link.arrive(1);
        link.wait(40 * MS);
        link.arrive(1);
        assert_eq!(probability(&link, 1), after, "{warm_up:?}");
    }
}

/// Two changes within one silence leave nothing of what was before.
#[test]
fn a_silence_of_two_changes_forgets() {
    let (rehash, warm_up) = (Time::from_ms(100), Time::from_ms(100));
    let mut link = overfull(SfbParams { rehash, warm_up, ..one_bin() });
    (0..3).for_each(|_| drop(link.arrive(1)));
    link.wait(200 * MS);
    assert_eq!(link.arrive(1).causes(), []);
    assert_eq!((probability(&link, 1), waiting(&link)), (0.0, vec![1]));
}

#[test]
fn late_times_do_not_wrap() {
    let (rehash, warm_up) = (Time::from_ms(100), Time::from_ms(100));
    let mut link = overfull(SfbParams { rehash, warm_up, ..one_bin() });
    link.world.now = Time::NEVER;
    (0..3).for_each(|_| drop(link.arrive(1)));
}

// As Linux has it: all bins, and at `max`.

#[test]
fn linux_drops_at_max_and_raises_from_the_size_on() {
    let params = SfbParams { full: FullBins::All, max: 4, ..one_bin() };
    let mut link = Bottleneck::blocked(AnyParams::Sfb(params));
    link.world.bits[DRAW] = KEEP;
    for expected in [0.0, 0.0, 0.25, 0.5] {
        assert_eq!(link.arrive(1).causes(), []);
        assert_eq!(probability(&link, 1), expected);
    }
    assert_eq!((link.arrive(1).causes(), probability(&link, 1)), (vec![Sfb], 0.75));
}

/// A flow whose bins are not all full loses nothing for those that are.
#[test]
fn one_full_bin_is_not_enough_in_linux() {
    let dropped = |full| {
        let params = SfbParams {
            levels: 2,
            bins: 4,
            limit: 1000,
            bin_size: 5,
            full,
            max: 5,
            increment: 0.0,
            ..one_bin()
        };
        let mut link = Bottleneck::blocked(AnyParams::Sfb(params));
        link.world.bits[DRAW] = KEEP;
        (0..20).for_each(|_| drop(link.arrive(1)));
        (2..40).filter(|&flow| link.clone().arrive(flow).causes() == [Sfb]).count()
    };
    // Of 38 others 7/16 share a bin with it, and 1/16 share both.
    let (one, all) = (dropped(FullBins::One), dropped(FullBins::All));
    assert!((8..28).contains(&one) && all < 8, "{one} {all}");
}

#[test]
fn a_full_buffer_moves_no_probability_in_linux() {
    let params = SfbParams { full: FullBins::All, limit: 3, ..one_bin() };
    let mut link = overfull(params);
    let before = probability(&link, 1);
    assert_eq!((link.arrive(1).causes(), probability(&link, 1)), (vec![Overflow], before));
}

fn params() -> impl Strategy<Value = SfbParams> {
    let step = || prop_oneof![Just(0.0), Just(1.0), Just(0.125), 0.0..=1.0];
    let rate = prop_oneof![Just(0.0), 0.0..1000.0];
    let rehash = prop_oneof![Just(0_u64), 20 * MS..1000 * MS];
    let full = prop_oneof![
        (0_u32..8).prop_map(|max| (FullBins::One, max)),
        (0_u32..8).prop_map(|max| (FullBins::All, max))
    ];
    let shape = (1_u32..25, 1_u32..4, 1_u32..8, 0_u32..6, full);
    (shape, step(), step(), rate, 0.0..5.0, (rehash, 0.0..=1.0)).prop_map(
        |(
            (limit, levels, bins, bin_size, (full, max)),
            increment,
            decrement,
            penalty_rate,
            penalty_burst,
            (rehash, part),
        )| {
            let warm_up = Time::from_ns((rehash as f64 * part) as u64);
            let rehash = Time::from_ns(rehash);
            SfbParams {
                limit,
                levels,
                bins,
                bin_size,
                full,
                max,
                increment,
                decrement,
                penalty_rate,
                penalty_burst,
                rehash,
                warm_up,
                linux: Linux::None,
            }
        },
    )
}

properties! {
    #[test]
    fn linux_agrees(params in params(), trace in classed_events(5, 300), seed in any::<u64>()) {
        let params = SfbParams { linux: Linux::V6_12, levels: 8, bins: 16, ..params };
        let result = compare(Bottleneck::new(AnyParams::Sfb(params.clone()), seed), &mut SfbModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn sfb_agrees(params in params(), trace in greedy_events(300), seed in any::<u64>()) {
        let result = compare(Bottleneck::new(AnyParams::Sfb(params.clone()), seed), &mut SfbModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        check_conservation(&AnyParams::Sfb(params), &trace, seed, InOrder::All)?;
    }

    /// Each level of the set that decides counts no more than what waits, and exactly that while the first set does.
    #[test]
    fn bins_count_what_waits(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        let first = SfbParams { rehash: Time::ZERO, ..params.clone() };
        for (params, exact) in [(params, false), (first, true)] {
            let mut link = Bottleneck::new(AnyParams::Sfb(params.clone()), seed);
            for event in &trace {
                link.step(event);
                let AnyDiscipline::Sfb(sfb) = &link.queue else { panic!("this is not SFB") };
                for level in sfb.bins().chunks(params.bins as usize) {
                    let counted: u32 = level.iter().map(|bin| bin.waiting).sum();
                    prop_assert!(counted <= sfb.fifo().len());
                    prop_assert!(!exact || counted == sfb.fifo().len());
                    prop_assert!(level.iter().all(|bin| (0.0..=1.0).contains(&bin.probability)));
                }
            }
        }
    }

    /// One level of one bin looks at no flow: it is a BLUE that a queue above `bin_size` raises.
    #[test]
    fn one_bin_looks_at_no_flow(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        let params = SfbParams { levels: 1, bins: 1, full: FullBins::One, ..params };
        let mut one = Bottleneck::new(AnyParams::Sfb(params.clone()), seed);
        let mut other = one.clone();
        let mut p = 0.0_f64;
        for event in &trace {
            let alone = match event {
                Event::Arrive { len, .. } => Event::Arrive { flow: 0, len: *len },
                event => event.clone(),
            };
            let waited = one.waiting().len();
            let (a, b) = (one.step(event), other.step(&alone));
            prop_assert_eq!(a.causes(), b.causes());
            if params.rehash == Time::ZERO && a.arrived.is_some() {
                if waited > params.bin_size as usize {
                    p = (p + params.increment).min(1.0);
                } else if waited == 0 {
                    p = (p - params.decrement).max(0.0);
                }
                prop_assert_eq!(probability(&one, 9), p);
            }
        }
    }

    /// Bins that are never full leave a FIFO.
    #[test]
    fn without_full_bins_it_is_droptail(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        let params = SfbParams { bin_size: params.limit, max: params.limit, ..params };
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        same_links(Bottleneck::new(AnyParams::Sfb(params), seed), Bottleneck::new(droptail, seed), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(
        1000,
        &(params(), greedy_events(300), any::<u64>()),
        &[Overflow, Sfb, Filter],
        |(params, events, seed)| {
            compare(
                Bottleneck::new(AnyParams::Sfb(params.clone()), seed),
                &mut SfbModel::new(params),
                &events,
            )
        },
    );
}
