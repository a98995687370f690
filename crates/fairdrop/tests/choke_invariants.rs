//! What must hold of `CHOKe` for every trace and every valid parameter, and the probability of a match.

use std::collections::HashMap;

use fairdrop::DropCause::{MatchArriving, MatchQueued, Overflow, RedEarly, RedForced};
use fairdrop::{
    AnyParams, AverageIn, Candidates, ChokeParams, Ecn, Order, Philox, RedParams, Sampling, Schedule, Time,
};
use fairdrop_reference::arbitrary::{choke_scheme, choke_with, events, red_params};
use fairdrop_reference::host::{Event, decisions, mixed, run, waiting_of};
use fairdrop_reference::properties;
use proptest::prelude::*;

fn choke_params() -> impl Strategy<Value = ChokeParams> {
    (red_params(), choke_scheme()).prop_map(|(red, scheme)| choke_with(&red, &scheme))
}

fn basic(red: RedParams) -> ChokeParams {
    ChokeParams { red, ..ChokeParams::default() }
}

properties! {
    /// Sections 2 and 3: what an arrival may lead to, by the average it meets.
    #[test]
    fn causes_fit_the_average(params in choke_params(), trace in events(3), seed in any::<u64>()) {
        let red = params.red.clone();
        let params = ChokeParams { average_in: AverageIn::Packets, ..params };
        let mut link = mixed(AnyParams::Choke(params), seed);
        let mut longest = 0_usize;
        for event in &trace {
            let before = link.waiting();
            let step = link.step(event);
            if step.arrived.is_none() {
                prop_assert!(step.dropped.is_empty() && step.drawn.is_empty());
                continue;
            }
            longest = longest.max(before.len());
            let avg = link.average();
            let certain = if red.gentle { 2.0 * red.max_th } else { red.max_th };
            prop_assert!(avg >= 0.0 && avg <= longest as f64 * (1.0 + 1e-12));
            let over = avg >= red.min_th;
            let possible = [
                (Overflow, before.len() == red.limit as usize),
                (RedEarly, over && avg < certain && (red.max_p > 0.0 || avg >= red.max_th)),
                (RedForced, avg >= certain),
                (MatchArriving, over && !before.is_empty()),
                (MatchQueued, over && !before.is_empty()),
            ];
            for cause in step.causes() {
                prop_assert!(possible.contains(&(cause, true)), "{cause:?} at average {avg}, {before:?}");
            }
            prop_assert!(over || step.drawn.is_empty());
        }
    }

    /// Sections 4 and 20.10: one arrival, up to m queued, all of one flow; the queue moves by +1 to -m.
    #[test]
    fn matches_are_of_one_flow(params in choke_params(), trace in events(3), seed in any::<u64>()) {
        let mut link = mixed(AnyParams::Choke(params.clone()), seed);
        let most = match params.candidates {
            Candidates::Fixed(m) => usize::from(m),
            Candidates::Regions(schedule) => usize::from(*schedule.as_slice().last().unwrap()),
        };
        for event in &trace {
            let before = link.waiting().len();
            let flows: HashMap<u32, u64> =
                link.fifo().iter().map(|packet| (packet.handle, packet.meta.flow)).collect();
            let step = link.step(event);
            let Some(arrived) = &step.arrived else { continue };
            let queued = step.count(MatchQueued);
            prop_assert!(step.drawn.len() <= most && queued <= step.drawn.len());
            prop_assert_eq!(step.count(MatchArriving), queued.min(1));
            // All candidates of the flow, and no other packet.
            let same = step.drawn.iter().filter(|handle| flows[*handle] == arrived.meta.flow).count();
            prop_assert_eq!(queued, same);
            for (packet, cause) in &step.dropped {
                prop_assert_eq!(packet.meta.flow, arrived.meta.flow);
                prop_assert_eq!(packet.handle == arrived.handle, *cause != MatchQueued);
            }
            let arrivals_dropped = step.dropped.len() - queued;
            prop_assert!(arrivals_dropped <= 1);
            let after = link.waiting().len() + usize::from(step.departed.is_some());
            prop_assert_eq!(after, before + 1 - arrivals_dropped - queued);
        }
    }

    /// Section 3: basic CHOKe drops pairs.
    #[test]
    fn basic_choke_drops_pairs(red in red_params(), trace in events(3), seed in any::<u64>()) {
        let steps = run(AnyParams::Choke(basic(red)), &trace, seed);
        for step in steps {
            prop_assert_eq!(step.count(MatchArriving), step.count(MatchQueued));
            prop_assert!(step.drawn.len() <= 1);
        }
    }

    /// Section 3: a flow alone meets itself whenever it is compared.
    #[test]
    fn a_lone_flow_always_matches(params in choke_params(), trace in events(1), seed in any::<u64>()) {
        let params = ChokeParams { candidates: Candidates::Fixed(1), order: Order::MatchFirst, ..params };
        let mut link = mixed(AnyParams::Choke(params.clone()), seed);
        for event in &trace {
            let before = link.waiting().len();
            let step = link.step(event);
            if step.arrived.is_some() && before > 0 && link.average() >= params.red.min_th {
                prop_assert_eq!(step.causes(), vec![MatchQueued, MatchArriving]);
            }
        }
    }

    /// Section 20.7.
    #[test]
    fn choke_without_candidates_is_red(
        red in red_params(), trace in events(3), seed in any::<u64>(), regions in any::<bool>(),
    ) {
        let candidates =
            if regions { Candidates::Regions(Schedule::custom(&[0, 0]).unwrap()) } else { Candidates::Fixed(0) };
        let choke = ChokeParams { candidates, ..basic(red.clone()) };
        prop_assert_eq!(run(AnyParams::Choke(choke), &trace, seed), run(AnyParams::Red(red), &trace, seed));
    }

    /// Section 3: where no two packets are of one flow, CHOKe is RED on the same random draws.
    #[test]
    fn choke_of_distinct_flows_is_red(params in choke_params(), trace in events(1), seed in any::<u64>()) {
        let distinct: Vec<Event> = trace.into_iter().enumerate().map(|(at, event)| match event {
            Event::Arrive { len, .. } => Event::Arrive { flow: at as u64, len },
            other => other,
        }).collect();
        let params = ChokeParams { average_in: AverageIn::Packets, ..params };
        let red = AnyParams::Red(params.red.clone());
        let (choke, red) = (run(AnyParams::Choke(params), &distinct, seed), run(red, &distinct, seed));
        prop_assert_eq!(decisions(&choke), decisions(&red));
    }

    /// Section 20.7.
    #[test]
    fn choke_without_red_only_matches(params in choke_params(), trace in events(3), seed in any::<u64>()) {
        let red = RedParams { max_p: 0.0, max_th: f64::INFINITY, min_th: 0.0, ..params.red };
        for step in run(AnyParams::Choke(ChokeParams { red, ..params }), &trace, seed) {
            let other = step.count(RedEarly) + step.count(RedForced);
            prop_assert_eq!(other, 0);
        }
    }

    /// Section 5: one region of `odd` is basic CHOKe; equal regions are a fixed number.
    #[test]
    fn one_region_is_a_fixed_number(
        red in red_params(), trace in events(3), seed in any::<u64>(), m in 0_u8..5, k in 1_usize..=16,
    ) {
        let choke = |candidates| AnyParams::Choke(ChokeParams { candidates, ..basic(red.clone()) });
        let odd = run(choke(Candidates::Regions(Schedule::odd(1))), &trace, seed);
        prop_assert_eq!(odd, run(AnyParams::Choke(basic(red.clone())), &trace, seed));
        let equal = Candidates::Regions(Schedule::custom(&vec![m; k]).unwrap());
        prop_assert_eq!(run(choke(equal), &trace, seed), run(choke(Candidates::Fixed(m)), &trace, seed));
    }

    /// Section 20.7: cells of a byte are bytes, and cells as large as any packet are packets, to the same bits. (Several
    /// candidates of a short queue may be found by a walk when they have weights, so one is drawn, or with replacement.)
    #[test]
    fn cells_go_from_bytes_to_packets(
        params in choke_params(), trace in events(3), seed in any::<u64>(), largest in 2000_u32..=65_535,
    ) {
        let sampled = |params: &ChokeParams, sampling| {
            run(AnyParams::Choke(ChokeParams { sampling, ..params.clone() }), &trace, seed)
        };
        prop_assert_eq!(sampled(&params, Sampling::Cell(1)), sampled(&params, Sampling::Byte));
        let simple = if params.replacement { params } else { ChokeParams { candidates: Candidates::Fixed(1), ..params } };
        // Without chopping there are no cells to count.
        let average_in = if simple.average_in == AverageIn::Cells { AverageIn::Packets } else { simple.average_in };
        let whole = ChokeParams { average_in, ..simple.clone() };
        prop_assert_eq!(sampled(&simple, Sampling::Cell(largest)), sampled(&whole, Sampling::Packet));
    }

    /// Section 3: RED first and nothing to drop early is the comparison alone, in either order.
    #[test]
    fn order_matters_to_red_only(params in choke_params(), trace in events(3), seed in any::<u64>()) {
        let red = RedParams { max_p: 0.0, max_th: f64::INFINITY, wait: false, ..params.red.clone() };
        let ordered = |order| run(AnyParams::Choke(ChokeParams { order, red: red.clone(), ..params.clone() }), &trace, seed);
        prop_assert_eq!(decisions(&ordered(Order::MatchFirst)), decisions(&ordered(Order::RedFirst)));
    }

    /// ECN: a capable packet is lost to a match or a full buffer only; others as without ECN.
    #[test]
    fn capable_packets_are_marked_instead(params in choke_params(), trace in events(3), seed in any::<u64>()) {
        let params = ChokeParams { red: RedParams { ecn: true, ..params.red }, ..params };
        for step in run(AnyParams::Choke(params), &trace, seed) {
            for (packet, cause) in step.dropped {
                let by_red = matches!(cause, RedEarly | RedForced);
                prop_assert!(!by_red || packet.meta.ecn == Ecn::NotCapable);
            }
        }
    }
}

/// An overloaded queue of six flows with unequal rates. Sums, over all comparisons, whether there was a match less its
/// probability; returns the sum in standard deviations, and by comparison. `no_match` takes the flow's packets, all
/// packets and m.
fn match_deviation(m: u8, replacement: bool, no_match: fn(f64, f64, u32) -> f64) -> (f64, f64) {
    let red = RedParams {
        limit: 60,
        min_th: 30.0,
        max_th: 200.0,
        max_p: 0.05,
        w_q: 0.05,
        mean_packet_time: Time::from_ns(1000),
        ..RedParams::default()
    };
    let params = ChokeParams { red, candidates: Candidates::Fixed(m), replacement, ..ChokeParams::default() };
    let mut link = mixed(AnyParams::Choke(params), 2000);
    let (mut difference, mut variance, mut comparisons) = (0.0, 0.0, 0.0);
    let mut traffic = Philox::new(2000, 1, 0);
    for _ in 0..300_000 {
        let flow = [0, 0, 0, 0, 1, 1, 2, 3, 4, 5][(traffic.next_u64() % 10) as usize];
        let n = link.waiting().len() as f64;
        let n_i = waiting_of(&link, |packet| packet.meta.flow == flow).0 as f64;
        let step = link.arrive(flow);
        if !step.drawn.is_empty() {
            let p = 1.0 - no_match(n_i, n, u32::from(m));
            difference += step.count(MatchArriving) as f64 - p;
            variance += p * (1.0 - p);
            comparisons += 1.0;
        }
        if traffic.next_u64().is_multiple_of(4) {
            link.finish();
        }
    }
    assert!(comparisons > 50_000.0 && variance > 5_000.0, "{comparisons} comparisons, variance {variance}");
    (difference / variance.sqrt(), difference / comparisons)
}

/// `(1 - n_i / n)^m`
fn with_replacement(n_i: f64, n: f64, m: u32) -> f64 {
    (1.0 - n_i / n).powi(m as i32)
}

/// `C(n - n_i, m) / C(n, m)`, with m limited to n.
fn without_replacement(n_i: f64, n: f64, m: u32) -> f64 {
    let drawn = (0..m).map(f64::from).filter(|&k| k < n);
    drawn.map(|k| ((n - n_i - k) / (n - k)).max(0.0)).product()
}

/// Sections 3 and 4: given the queue, an arrival matches with exactly the stated probability. The differences form a
/// martingale, so their sum is normal with the summed variance; the seed is fixed.
#[test]
fn match_probability_is_exact() {
    for (m, replacement) in [(1, false), (1, true), (2, false), (2, true), (3, false), (5, true), (8, false)]
    {
        let formula = if replacement { with_replacement } else { without_replacement };
        let (deviations, bias) = match_deviation(m, replacement, formula);
        assert!(deviations.abs() < 4.0, "m = {m}, replacement {replacement}: {deviations} ({bias})");
    }
    // The test distinguishes the two forms.
    let (deviations, _) = match_deviation(3, false, with_replacement);
    assert!(deviations.abs() > 6.0, "{deviations}");
}
