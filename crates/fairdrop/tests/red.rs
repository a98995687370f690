//! RED: every corner that the papers leave open and this project has decided, one test each; agreement with the slow
//! reference, event by event; what it is in special cases.

use fairdrop::DropCause::{Overflow, RedEarly, RedForced};
use fairdrop::{
    AnyParams, ChokeParams, Discipline, DropTailParams, Linux, Meta, Packet, ParamValue, Philox, Red,
    RedDecision, RedParams, Slot, Stream, Time, slots_for,
};
use fairdrop_reference::arbitrary::{events, red_params, red_params_of_linux, timed_events};
use fairdrop_reference::compare::compare;
use fairdrop_reference::eighths::{
    assert_close, basic, bias, bias_for, early_bits, eighths, filled, lagging, red,
};
use fairdrop_reference::host::{Bits, Bottleneck, DROP, KEEP, World, mixed, run};
use fairdrop_reference::properties;
use fairdrop_reference::red::{Reference, Scheme};
use proptest::prelude::*;

/// Five standard deviations of the chi-squared statistic, either way.
fn assert_uniform(counts: &[u64]) {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let chi_squared: f64 = counts.iter().map(|&n| (n as f64 - expected).powi(2) / expected).sum();
    let freedom = (counts.len() - 1) as f64;
    let deviations = (chi_squared - freedom) / (2.0 * freedom).sqrt();
    assert!(deviations.abs() < 5.0, "{counts:?}: {deviations} standard deviations");
}

// Thresholds, A-5.

#[test]
fn average_at_min_th_is_between_the_thresholds() {
    let mut at = filled(red(eighths()), 10);
    at.arrive(1);
    assert_eq!((at.average(), at.world.used[Stream::EarlyDrop as usize]), (10.0, 1));
    let mut below = filled(red(eighths()), 9);
    below.arrive(1);
    assert_eq!((below.average(), below.world.used[Stream::EarlyDrop as usize]), (9.0, 0));
    assert_eq!(filled(basic(eighths()), 10).arrive(1).drawn.len(), 1);
    assert_eq!(filled(basic(eighths()), 9).arrive(1).drawn.len(), 0);
}

#[test]
fn average_at_max_th_is_above() {
    // With max_p 0 nothing is dropped before max_th.
    let params = RedParams { max_p: 0.0, ..eighths() };
    let mut link = filled(red(params), 18);
    *early_bits(&mut link) = KEEP;
    assert_eq!(link.arrive(1).causes(), [RedForced]);
    link.finish();
    *early_bits(&mut link) = DROP;
    assert_eq!(link.arrive(1).causes(), [], "at 17 the probability is max_p (17 - 10) / 8 = 0");
}

#[test]
fn max_th_infinite_never_forces() {
    let params = RedParams { max_th: f64::INFINITY, ..eighths() };
    let mut link = filled(red(params), 99);
    *early_bits(&mut link) = DROP;
    assert_eq!(link.arrive(1).causes(), []);
    assert_eq!(link.arrive(1).causes(), [Overflow]);
}

#[test]
fn gentle_region_starts_at_max_p_and_ends_at_twice_max_th() {
    let params =
        RedParams { min_th: 5.0, max_th: 6.0, max_p: 0.25, gentle: true, independent: true, ..eighths() };
    for n in 6..12 {
        let expected = 0.25 + 0.75 * (n - 6) as f64 / 6.0;
        assert_close(bias(&filled(red(params.clone()), n)), expected);
    }
    assert_eq!(filled(red(params), 12).arrive(1).causes(), [RedForced]);
}

// The count of packets since the last early drop.

#[test]
fn first_packet_of_an_excursion_has_the_unspaced_probability() {
    let params = RedParams { min_th: 9.5, max_th: 13.5, max_p: 1.0, ..eighths() };
    let mut link = filled(red(params), 10);
    assert_eq!(bias(&link), 0.125, "count 0");
    // Below min_th and over it again: a new excursion.
    assert_eq!(link.arrive(1).causes(), []);
    link.finish();
    link.finish();
    link.arrive(1);
    assert_eq!((link.average(), bias(&link)), (9.0, 0.125));
}

/// A queue held at 11 packets, `p_b` = 1/8, whose next packet has count `count`.
fn at_eleven(params: &RedParams, count: u32) -> Bottleneck {
    let mut link = filled(red(params.clone()), 11);
    // The arrival that found 10 packets had count 0.
    for _ in 1..count {
        assert_eq!(link.arrive(1).causes(), []);
        link.finish();
    }
    link
}

#[test]
fn probability_grows_with_packets_since_the_last_drop() {
    for count in 1..8 {
        let c = f64::from(count);
        assert_close(bias(&at_eleven(&eighths(), count)), (0.125 / (1.0 - c * 0.125)).min(1.0));
    }
    let wait = RedParams { wait: true, ..eighths() };
    for count in 1..16 {
        let progress = 0.125 * f64::from(count);
        let expected = if progress < 1.0 { 0.0 } else { 0.125 / (2.0 - progress) };
        assert_close(bias(&at_eleven(&wait, count)), expected);
    }
    let independent = RedParams { independent: true, ..eighths() };
    for count in 1..30 {
        assert_eq!(bias(&at_eleven(&independent, count)), 0.125);
    }
}

#[test]
fn early_drop_resets_the_count() {
    let mut link = at_eleven(&eighths(), 5);
    *early_bits(&mut link) = DROP;
    assert_eq!(link.arrive(1).causes(), [RedEarly]);
    assert_close(bias(&link), 0.125 / (1.0 - 0.125));
}

#[test]
fn forced_drop_resets_the_count() {
    let params = RedParams { max_th: 12.0, max_p: 0.25, ..eighths() };
    let mut link = at_eleven(&params, 5);
    *early_bits(&mut link) = KEEP;
    assert_eq!(link.arrive(1).causes(), []);
    assert_eq!(link.arrive(1).causes(), [RedForced]);
    link.finish();
    assert_close(bias(&link), 0.125 / (1.0 - 0.125));
}

#[test]
fn overflow_resets_the_count() {
    let mut link = filled(red(RedParams { limit: 11, ..eighths() }), 11);
    for _ in 0..5 {
        assert_close(bias(&link), 0.125 / (1.0 - 0.125));
        assert_eq!(link.arrive(1).causes(), [Overflow]);
    }
}

#[test]
fn full_buffer_below_min_th_overflows_and_starts_no_excursion() {
    // A-7; and the packet that next finds the average over min_th is still the first of its excursion.
    let params = RedParams { limit: 4, min_th: 2.0, max_th: 3.0, w_q: 0.25, max_p: 0.5, ..eighths() };
    for ns2_compat in [false, true] {
        let params = RedParams { ns2_compat, ..params.clone() };
        for any in [red(params.clone()), basic(params.clone())] {
            let mut link = filled(any, 4);
            let step = link.arrive(1);
            assert_eq!((step.causes(), step.drawn.len()), (vec![Overflow], 0));
            let next = 0.75 * link.average() + 0.25 * 4.0;
            assert!(link.average() < 2.0 && next > 2.0 && next < 3.0);
            let p_b = 0.5 * (next - 2.0);
            assert_close(bias(&link), if ns2_compat { 0.0 } else { p_b });
        }
    }
}

/// Gaps between early drops with the queue, and so the average, held at 11 packets (`p_b` = 1/8).
fn gaps(params: RedParams, drops: usize) -> Vec<u64> {
    let mut link = filled(red(params), 11);
    *early_bits(&mut link) = Bits::Stream(Philox::new(11, 0, 1));
    let mut gaps = Vec::new();
    let mut gap = 0;
    while gaps.len() < drops {
        gap += 1;
        if link.arrive(1).causes() == [RedEarly] {
            gaps.push(std::mem::take(&mut gap));
        } else {
            link.finish();
        }
        assert_eq!(link.average(), 11.0);
    }
    // The first gap started with the packets that filled the queue.
    gaps.split_off(1)
}

fn histogram(gaps: &[u64], from: u64, to: u64) -> Vec<u64> {
    assert!(gaps.iter().all(|gap| (from..=to).contains(gap)));
    (from..=to).map(|gap| gaps.iter().filter(|&&g| g == gap).count() as u64).collect()
}

#[test]
fn plain_gaps_are_uniform_up_to_one_less_than_the_inverse() {
    // Floyd, Jacobson 1993, pseudo-code: count goes to 0 at a drop and up before use, so 1 .. 1/p - 1.
    assert_uniform(&histogram(&gaps(eighths(), 70_000), 1, 7));
}

#[test]
fn wait_gaps_are_uniform_from_the_inverse_to_twice_it() {
    assert_uniform(&histogram(&gaps(RedParams { wait: true, ..eighths() }, 80_000), 8, 15));
}

#[test]
fn independent_gaps_are_geometric() {
    let gaps = gaps(RedParams { independent: true, ..eighths() }, 80_000);
    for k in 1..20 {
        let p = 0.125 * 0.875_f64.powi(k - 1);
        let n = gaps.len() as f64;
        let seen = gaps.iter().filter(|&&gap| gap == k as u64).count() as f64;
        assert!((seen - n * p).abs() < 5.0 * (n * p * (1.0 - p)).sqrt(), "gap {k}: {seen} of {n}, p = {p}");
    }
}

#[test]
fn byte_mode_scales_the_probability_with_size() {
    let params = RedParams { byte_mode: true, independent: true, ..eighths() };
    let link = filled(red(params), 11);
    for (len, expected) in [(1000, 0.125), (500, 0.0625), (1500, 0.1875), (0, 0.0), (9000, 1.0)] {
        assert_close(bias_for(&link, len), expected);
    }
    assert_eq!(bias_for(&filled(red(RedParams { independent: true, ..eighths() }), 11), 500), 0.125);
}

// The form of ns-2.

#[test]
fn ns2_form_spares_the_first_packet_over_min_th() {
    let params = RedParams { min_th: 9.5, max_th: 13.5, ns2_compat: true, ..eighths() };
    let mut link = filled(red(params), 10);
    assert_eq!(bias(&link), 0.0);
    *early_bits(&mut link) = KEEP;
    link.arrive(1);
    // The spared packet set count to 1, so the next has 2; p_b is 3/8 at 11.
    assert_eq!(link.world.used[Stream::EarlyDrop as usize], 0);
    assert_close(bias(&link), 1.0);
    link.finish();
    assert_close(bias(&link), 0.125 / (1.0 - 2.0 * 0.125));
}

#[test]
fn ns2_form_drops_nothing_while_at_most_one_packet_waits() {
    // ns-2.35 red.cc: both kinds of drop ask for a queue above 1.
    for (ns2_compat, alone) in [(true, vec![]), (false, vec![RedForced])] {
        let params = RedParams { min_th: 2.0, max_th: 8.0, max_p: 0.01, w_q: 0.1, ns2_compat, ..eighths() };
        let mut link = Bottleneck::blocked(red(params));
        *early_bits(&mut link) = KEEP;
        (0..100).for_each(|_| drop(link.arrive(1)));
        while link.waiting().len() > 1 {
            link.finish();
        }
        assert_eq!(link.arrive(1).causes(), alone);
        assert!(link.average() > 8.0);
        if ns2_compat {
            assert_eq!(link.arrive(1).causes(), [RedForced], "two packets wait");
        }
    }
}

#[test]
fn ns2_form_keeps_its_pass_through_forced_drops() {
    // ns-2.35 red.cc: `old`, 0 once at most one packet has waited, becomes 1 for the packet that passes, and not in the branch
    // of forced drops before it.
    let params = RedParams { min_th: 2.0, max_th: 4.0, max_p: 1.0, w_q: 0.25, ns2_compat: true, ..eighths() };
    let mut link = Bottleneck::blocked(red(params));
    *early_bits(&mut link) = KEEP;
    (0..100).for_each(|_| drop(link.arrive(1)));
    while link.waiting().len() > 1 {
        link.finish();
    }
    assert_eq!(link.arrive(1).causes(), []);
    while link.average() > 5.0 {
        assert_eq!(link.arrive(1).causes(), [RedForced]);
    }
    *early_bits(&mut link) = DROP;
    while link.average() >= 4.0 {
        drop(link.arrive(1));
    }
    assert_eq!(link.waiting().len(), 3, "the first below max_th passes without a random draw");
    assert_eq!(link.arrive(1).causes(), [RedEarly]);
}

// The average.

#[test]
fn average_sees_the_queue_before_insertion_and_every_arrival() {
    let mut link =
        Bottleneck::blocked(red(RedParams { limit: 2, w_q: 0.5, min_th: 50.0, max_th: 60.0, ..eighths() }));
    let mut expected = 0.0;
    for n in [0.0, 1.0, 2.0, 2.0, 2.0] {
        link.arrive(1);
        expected = 0.5 * expected + 0.5 * n;
        assert_eq!(link.average(), expected);
    }
}

#[test]
fn weight_one_follows_the_queue() {
    let mut link = Bottleneck::blocked(red(RedParams { min_th: 50.0, max_th: 60.0, ..eighths() }));
    for n in 0..40 {
        link.arrive(1);
        assert_eq!(link.average(), f64::from(n));
    }
    link.finish();
    link.wait(1 << 40);
    link.arrive(1);
    assert_eq!(link.average(), 39.0);
}

/// An empty queue whose transmitter has just gone idle, and its average.
fn just_idle(params: &RedParams) -> (Bottleneck, f64) {
    let mut link = lagging(params, 0);
    assert!(link.busy);
    let average = link.average();
    assert!(average > 10.0);
    let step = link.finish();
    assert_eq!((step.asked, step.departed), (true, None));
    (link, average)
}

#[test]
fn idle_time_counts_as_packets_of_mean_size() {
    // m whole packet times and the arrival itself: m + 1 steps towards 0.
    for (ns, steps) in [(0, 1), (999, 1), (1000, 2), (2999, 3), (7000, 8), (1_000_000_000_000, 1_000_000_001)]
    {
        let (mut link, average) = just_idle(&eighths());
        link.wait(ns);
        link.arrive(1);
        assert_eq!(link.average(), average * 0.5_f64.powi(steps), "{ns} ns");
    }
}

#[test]
fn idle_time_alone_decays_the_average_as_in_the_paper() {
    let params = RedParams { idle_decay_only: true, ..eighths() };
    for (ns, packets) in [(0, 0), (999, 0), (1000, 1), (7000, 7)] {
        let (mut link, average) = just_idle(&params);
        link.wait(ns);
        link.arrive(1);
        assert_eq!(link.average(), average * 0.5_f64.powi(packets), "{ns} ns");
        // The next arrival is an ordinary one.
        link.arrive(2);
        assert_eq!(link.average(), average * 0.5_f64.powi(packets + 1), "{ns} ns");
    }
}

#[test]
fn empty_queue_before_a_busy_transmitter_is_not_idle() {
    for idle_decay_only in [false, true] {
        let mut link = lagging(&RedParams { idle_decay_only, ..eighths() }, 0);
        let average = link.average();
        link.wait(1_000_000);
        link.arrive(1);
        assert_eq!(link.average(), 0.5 * average);
    }
}

#[test]
fn idle_period_goes_on_when_its_arrival_is_dropped() {
    let (mut link, average) = just_idle(&RedParams { min_th: 1.0, ..eighths() });
    *early_bits(&mut link) = DROP;
    link.wait(1000);
    let step = link.arrive(1);
    assert_eq!((step.causes(), step.asked, step.departed), (vec![RedEarly], true, None));
    assert_eq!(link.average(), average / 4.0);
    link.wait(1000);
    link.arrive(1);
    assert_eq!(link.average(), average / 16.0);
}

#[test]
fn an_idle_period_is_counted_once() {
    let (mut link, average) = just_idle(&RedParams { min_th: 50.0, ..eighths() });
    link.wait(3000);
    assert!(link.arrive(1).departed.is_some());
    link.wait(3000);
    link.arrive(1);
    assert_eq!(link.average(), average / 32.0);
}

#[test]
fn repeated_requests_do_not_restart_the_idle_period() {
    let (mut link, average) = just_idle(&eighths());
    for _ in 0..5 {
        link.wait(600);
        assert!(link.queue.dequeue(&mut link.world).is_none());
    }
    link.arrive(1);
    assert_eq!(link.average(), average / 16.0);
}

// Parameters.

#[test]
fn errors_name_the_parameter() {
    type Change = fn(&mut RedParams);
    let cases: [(&str, Change); 23] = [
        ("limit", |p| p.limit = 0),
        ("limit", |p| p.limit = u32::MAX),
        ("limit", |p| p.limit = 1_073_741_817),
        ("min_th", |p| p.min_th = -0.001),
        ("min_th", |p| p.min_th = f64::NAN),
        ("min_th", |p| p.min_th = f64::INFINITY),
        ("max_th", |p| p.max_th = p.min_th),
        ("max_th", |p| p.max_th = p.min_th - 1.0),
        ("max_th", |p| p.max_th = f64::NAN),
        ("max_th", |p| p.max_th = f64::NEG_INFINITY),
        ("max_p", |p| p.max_p = -1e-9),
        ("max_p", |p| p.max_p = 1.000_001),
        ("max_p", |p| p.max_p = f64::NAN),
        ("max_p", |p| p.max_p = f64::INFINITY),
        ("w_q", |p| p.w_q = 0.0),
        ("w_q", |p| p.w_q = -0.5),
        ("w_q", |p| p.w_q = 1.000_001),
        ("w_q", |p| p.w_q = f64::NAN),
        ("mean_packet_size", |p| p.mean_packet_size = 0),
        ("mean_packet_time", |p| p.mean_packet_time = Time::ZERO),
        ("independent", |p| (p.wait, p.independent) = (true, true)),
        // The first that is wrong.
        ("limit", |p| (p.limit, p.w_q) = (0, 0.0)),
        ("min_th", |p| (p.min_th, p.max_p) = (f64::NAN, 2.0)),
    ];
    for (name, change) in cases {
        let mut params = eighths();
        change(&mut params);
        assert_eq!(params.validate().unwrap_err().name, name);
        assert_eq!(basic(params.clone()).validate().unwrap_err().name, name);
        let slots: Vec<Slot<u32>> = Vec::new();
        assert_eq!(Red::new(params, slots).unwrap_err().name, name);
    }
    let edges = RedParams { limit: 1, min_th: 0.0, max_th: f64::MIN_POSITIVE, max_p: 0.0, ..eighths() };
    assert_eq!(edges.validate(), Ok(()));
    assert_eq!(RedParams { limit: 1_073_741_816, max_th: f64::INFINITY, ..eighths() }.validate(), Ok(()));
}

/// Those that the kernel's rules are for.
fn as_linux() -> RedParams {
    RedParams { linux: Linux::V6_12, w_q: 0.5, ..eighths() }
}

#[test]
fn errors_name_what_linux_does_not_have() {
    type Change = fn(&mut RedParams);
    assert_eq!(as_linux().validate(), Ok(()));
    let cases: [(&str, Change); 14] = [
        ("gentle", |p| p.gentle = true),
        ("wait", |p| p.wait = true),
        ("independent", |p| p.independent = true),
        ("ns2_compat", |p| p.ns2_compat = true),
        ("byte_mode", |p| p.byte_mode = true),
        ("idle_decay_only", |p| p.idle_decay_only = true),
        ("w_q", |p| p.w_q = 1.0),
        ("w_q", |p| p.w_q = 0.002),
        ("w_q", |p| p.w_q = 0.5_f64.powi(31)),
        ("max_p", |p| p.max_p = 0.0),
        ("max_p", |p| p.max_p = 0.5_f64.powi(32).next_down()),
        ("max_th", |p| p.max_th = f64::INFINITY),
        // 2^30 halves of a byte.
        ("max_th", |p| (p.max_th, p.mean_packet_size) = (1_048_576.0, 1024)),
        ("w_q", |p| {
            (p.min_th, p.max_th, p.mean_packet_size, p.w_q, p.mean_packet_time) =
                (0.0, 1.0, 1, 0.5_f64.powi(30), Time::from_ms(1000));
        }),
    ];
    for (name, change) in cases {
        let mut params = as_linux();
        change(&mut params);
        assert_eq!(params.validate().unwrap_err().name, name);
    }
    let edges = RedParams {
        max_th: 1_048_576.0_f64.next_down(),
        mean_packet_size: 1024,
        max_p: 0.5_f64.powi(32),
        ..as_linux()
    };
    assert_eq!(edges.validate(), Ok(()));
    assert_eq!(RedParams { ecn: true, max_p: 1.0, ..as_linux() }.validate(), Ok(()));
}

/// What is built on RED keeps to the paper's: the parameter is not one of theirs, and a structure that has it is refused.
#[test]
fn linux_is_of_red_alone() {
    let mut params = AnyParams::of("choke").unwrap();
    assert!(!params.set("red", "linux", ParamValue::Word("6.12")));
    assert!(params.set("red", "gentle", ParamValue::Switch(true)));
    let built_on = ChokeParams { red: as_linux(), ..ChokeParams::default() };
    assert_eq!(built_on.validate().unwrap_err().name, "linux");
    assert!(fairdrop::info("choke").unwrap().params.iter().all(|spec| spec.name != "linux"));
    let red = fairdrop::info("red").unwrap();
    assert!(
        red.params.iter().any(|spec| spec.name == "linux") && red.shared().all(|spec| spec.name != "linux")
    );
    assert_eq!(red.shared().count() + 1, red.params.len());
}

/// Its average is of bytes, and a burst gives the number of packets alone.
#[test]
fn a_decision_without_a_queue_refuses_linux() {
    assert_eq!(RedDecision::new(as_linux()).unwrap_err().name, "linux");
}

/// Other parameters while packets wait: the average begins anew, as the kernel's does; without `linux` it is kept.
#[test]
fn a_change_under_linux_starts_the_average_anew() {
    for (from, to, kept) in
        [(as_linux(), as_linux(), false), (eighths(), as_linux(), false), (eighths(), eighths(), true)]
    {
        let mut queue = Red::<u32, _>::new(from, vec![None; slots_for(100)]).unwrap();
        let mut world = World::new(1);
        for handle in 0..8 {
            queue.enqueue(Packet::new(Meta::of_flow(1, 1000), world.now, handle), &mut world);
        }
        assert!(queue.average_packets().unwrap() > 4.0);
        queue.change(to).unwrap();
        assert_eq!(queue.average_packets().unwrap() > 0.0, kept);
    }
}

properties! {
    #[test]
    fn red_agrees(red in red_params(), trace in events(5), seed in any::<u64>()) {
        let result = compare(mixed(AnyParams::Red(red.clone()), seed), &mut Reference::new(Scheme::Red(red)), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn linux_agrees(red in red_params_of_linux(), trace in timed_events(300), seed in any::<u64>()) {
        let red = RedParams { linux: Linux::V6_12, ..red };
        let result = compare(mixed(AnyParams::Red(red.clone()), seed), &mut Reference::new(Scheme::Red(red)), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// Section 20.7.
    #[test]
    fn red_that_never_drops_is_droptail(red in red_params(), trace in events(3), seed in any::<u64>()) {
        let red = RedParams { max_p: 0.0, max_th: f64::INFINITY, wait: false, ..red };
        let droptail = DropTailParams { limit: red.limit };
        prop_assert_eq!(run(AnyParams::Red(red), &trace, seed), run(AnyParams::DropTail(droptail), &trace, seed));
    }

    /// Section 20.7: certain early drop in the gentle region is the hard edge, whatever the cause is called.
    #[test]
    fn gentle_with_certain_drop_is_hard(red in red_params(), trace in events(3), seed in any::<u64>()) {
        // No early drop between the thresholds, so that the two differ above max_th only.
        let hard = RedParams { min_th: red.max_th.min(1e9).next_down(), max_th: red.max_th.min(1e9), ..red };
        let hard = RedParams { max_p: 1.0, byte_mode: false, ns2_compat: false, wait: false, ..hard };
        let fates = |gentle| {
            let steps = run(AnyParams::Red(RedParams { gentle, ..hard.clone() }), &trace, seed);
            steps.into_iter().map(|step| (step.dropped.len(), step.departed)).collect::<Vec<_>>()
        };
        prop_assert_eq!(fates(false), fates(true));
    }
}
