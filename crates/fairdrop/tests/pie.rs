//! PIE: boundaries of RFC 8033, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{Overflow, Pie};
use fairdrop::{
    AnyDiscipline, AnyParams, Discipline, DropTailParams, Linux, ParamValue, PieParams, Stream, Time,
};
use fairdrop_reference::arbitrary::{rules, timed_events};
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::host::{Bits, Bottleneck, DROP, Event, KEEP, Queue};
use fairdrop_reference::pie::PieModel;
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const DRAW: usize = Stream::PieCoin as usize;

fn pie(params: PieParams) -> AnyParams {
    AnyParams::Pie(params)
}

/// Probability and burst allowance as of the last call.
fn state(queue: &Queue) -> (f64, Time) {
    match queue {
        AnyDiscipline::Pie(pie) => (pie.probability(), pie.burst_allowance()),
        _ => unreachable!("these tests are about PIE"),
    }
}

fn probability(link: &Bottleneck) -> f64 {
    state(&link.queue).0
}

fn assert_close(left: f64, right: f64) {
    assert!((left - right).abs() < 1e-12 * right.abs().max(1e-6), "{left} is not {right}");
}

/// No burst allowance, so that probabilities can be reached at work at once.
fn plain() -> PieParams {
    PieParams { limit: 10_000, max_burst: Time::ZERO, ..PieParams::default() }
}

/// A queue behind a busy transmitter whose head has just left, having waited for `delay` ns, `n` packets behind it.
/// No update has reached that yet.
fn delayed(params: PieParams, delay: u64, n: u64) -> Bottleneck {
    let mut link = Bottleneck::blocked(pie(params));
    link.world.bits[DRAW] = KEEP;
    (0..=n).for_each(|flow| drop(link.arrive(flow)));
    link.wait(delay);
    link.finish();
    link
}

/// Passes time until just after the next update, and looks.
fn update(link: &mut Bottleneck) -> f64 {
    let due = link.queue.deadline().expect("PIE has updates").ns();
    let wait = due - link.world.now.ns();
    link.wait(wait);
    link.queue.tick(&mut link.world);
    probability(link)
}

fn updates(link: &mut Bottleneck, n: u32) {
    for _ in 0..n {
        update(link);
    }
}

#[test]
fn defaults_are_those_of_the_rfc() {
    let params = PieParams::default();
    assert_eq!((params.target, params.t_update), (Time::from_ms(15), Time::from_ms(15)));
    assert_eq!((params.alpha, params.beta, params.max_burst), (0.125, 1.25, Time::from_ms(150)));
    let zero = Time::ZERO;
    let mut read =
        PieParams { target: zero, t_update: zero, max_burst: zero, alpha: 0.0, beta: 0.0, ..params.clone() };
    (read.mean_packet_size, read.cap, read.steep, read.derandomise) = (0, false, true, true);
    let numbers =
        [("target", 0.015), ("t_update", 0.015), ("alpha", 0.125), ("beta", 1.25), ("max_burst", 0.15)];
    for (name, value) in numbers.into_iter().chain([("mean_packet_size", 1024.0)]) {
        assert!(read.set(name, ParamValue::Number(value)), "{name}");
    }
    for (name, on) in [("cap", true), ("steep", false), ("derandomise", false)] {
        assert!(read.set(name, ParamValue::Switch(on)), "{name}");
    }
    assert!(!read.set("tea", ParamValue::Number(1.0)));
    assert_eq!(read, params);
}

#[test]
fn errors_name_the_parameter() {
    let name = |params: PieParams| params.validate().expect_err("out of range").name;
    assert_eq!(name(PieParams { limit: 0, ..plain() }), "limit");
    assert_eq!(name(PieParams { t_update: Time::ZERO, ..plain() }), "t_update");
    assert_eq!(name(PieParams { alpha: f64::NAN, ..plain() }), "alpha");
    assert_eq!(name(PieParams { beta: -1.0, ..plain() }), "beta");
    assert_eq!(name(PieParams { target: Time::NEVER, ..plain() }), "target");
    assert_eq!(name(PieParams { max_burst: Time::NEVER, ..plain() }), "max_burst");
}

/// 4.2: the first steps of the controller by hand. Delays are in seconds, not in nanoseconds or packets.
#[test]
fn steps_are_alpha_and_beta_times_seconds() {
    let mut link = delayed(plain(), 100 * MS, 100);
    let first = (0.125 * (0.1 - 0.015) + 1.25 * 0.1) / 2048.0;
    assert_close(update(&mut link), first);
    // The delay has not changed: alpha alone, in the range of 1e-5 to 1e-4.
    assert_close(update(&mut link), first + 0.125 * 0.085 / 128.0);
}

/// 4.2: the gain by ranges of the probability, at their edges.
#[test]
fn gain_follows_the_probability() {
    let params = PieParams { beta: 0.0, cap: false, ..plain() };
    let mut link = delayed(params, 115 * MS, 100);
    let (mut p, mut ranges) = (probability(&link), Vec::new());
    assert!(p <= 0.0);
    for _ in 0..400 {
        let range = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1].iter().filter(|&&edge| p >= edge).count();
        let gain = [2048.0, 512.0, 128.0, 32.0, 8.0, 2.0, 1.0][range];
        let next = update(&mut link);
        assert_close(next, (p + 0.0125 / gain).min(1.0));
        ranges.push(range);
        p = next;
    }
    ranges.dedup();
    assert_eq!(ranges, [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(p, 1.0, "bounded above");
}

/// 5.5: from 0.1 on, one step up is at most 0.02; without the cap it is not.
#[test]
fn the_cap_limits_steps_from_a_tenth() {
    for cap in [true, false] {
        let mut link = delayed(PieParams { cap, ..plain() }, 1000 * MS, 100);
        let mut largest = 0.0_f64;
        for _ in 0..100 {
            let before = probability(&link);
            let step = update(&mut link) - before;
            if before >= 0.1 {
                largest = largest.max(step);
            }
        }
        assert_close(largest, if cap { 0.02 } else { 0.125 * (1.0 - 0.015) });
    }
}

/// The additional step above 250 ms, which RFC 8033 does not have.
#[test]
fn steep_adds_a_step_above_a_quarter_of_a_second() {
    for (delay, more) in [(250 * MS, 0.0), (250 * MS + 1, 0.02)] {
        let [plain, steep] =
            [false, true].map(|steep| update(&mut delayed(PieParams { steep, ..plain() }, delay, 100)));
        assert_close(steep - plain + 1.0, more + 1.0);
    }
}

/// 4.2 and appendix A: without congestion the probability decays by 2 % per update on top of the steps, to zero.
#[test]
fn probability_decays_when_congestion_is_gone() {
    let mut link = delayed(PieParams { alpha: 0.0, ..plain() }, 1000 * MS, 100);
    updates(&mut link, 3);
    let high = probability(&link);
    assert!(high > 0.0);
    while link.finish().departed.is_some() {}
    let fallen = update(&mut link);
    assert!(fallen < high, "the delay has fallen to zero");
    let mut link = delayed(PieParams { beta: 0.0, ..plain() }, 1000 * MS, 100);
    updates(&mut link, 200);
    assert_eq!(probability(&link), 1.0);
    while link.finish().departed.is_some() {}
    let once = update(&mut link);
    assert_close(once, 1.0 - 0.125 * 0.015);
    assert_close(update(&mut link), (once - 0.125 * 0.015) * 0.98);
    updates(&mut link, 1000);
    assert_eq!(probability(&link), 0.0);
}

/// 4.1: low delay at the last update and a probability below 0.2 spare the arrival. Half the target is not low.
#[test]
fn low_delay_spares_the_arrival() {
    for (delay, drawn) in [(7_500_000 - 1, 0), (7_500_000, 1)] {
        let mut link = delayed(plain(), delay, 100);
        update(&mut link);
        link.arrive(1);
        assert_eq!(link.world.used[DRAW], drawn, "delay {delay}");
    }
}

/// 4.1: a probability of 0.2 or more is drawn for although the delay is low.
#[test]
fn a_high_probability_is_drawn_for_at_low_delay() {
    let params = PieParams { beta: 0.0, alpha: 1.0, ..plain() };
    let mut link = delayed(params, 1000 * MS, 200);
    while update(&mut link) < 0.5 {}
    (0..300).for_each(|flow| drop(link.arrive(flow)));
    // All of the old ones leave now, and two of those that came now.
    (0..202).for_each(|_| drop(link.finish()));
    let mut drawn_above = 0;
    loop {
        let p = update(&mut link);
        link.world.bits[DRAW] = KEEP;
        let before = link.world.used[DRAW];
        link.arrive(1);
        let drawn = link.world.used[DRAW] - before;
        assert_eq!(drawn, u64::from(p >= 0.2), "probability {p}");
        drawn_above += drawn;
        if p < 0.2 {
            break;
        }
    }
    assert!(drawn_above > 5);
}

/// 4.1: two packets of mean size waiting, in bytes, spare the arrival; one byte more does not.
#[test]
fn two_packets_waiting_spare_the_arrival() {
    for (mean_packet_size, drawn) in [(1000, 0), (999, 1)] {
        let mut link = delayed(PieParams { mean_packet_size, ..plain() }, 100 * MS, 2);
        update(&mut link);
        link.arrive(1);
        assert_eq!(link.world.used[DRAW], drawn, "{mean_packet_size} bytes");
    }
    // Bytes, not packets: forty small packets wait.
    let mut link = Bottleneck::blocked(pie(plain()));
    (0..41).for_each(|flow| drop(link.step(&Event::Arrive { flow, len: 50 })));
    link.wait(100 * MS);
    link.finish();
    update(&mut link);
    link.arrive(1);
    assert_eq!(link.world.used[DRAW], 0);
}

/// 4.4: while the burst allowance lasts nothing is dropped; it lasts for `max_burst`, whole updates.
#[test]
fn burst_allowance_lets_a_burst_through() {
    let params = PieParams { max_burst: Time::from_ms(150), ..plain() };
    let mut link = delayed(params, 100 * MS, 1000);
    link.world.bits[DRAW] = DROP;
    for left in (0..10).rev() {
        assert_eq!(link.arrive(1).causes(), [], "{left} updates left");
        update(&mut link);
        assert_eq!(state(&link.queue).1, Time::from_ms(left * 15));
    }
    assert_eq!(link.arrive(1).causes(), [Pie]);
}

/// 4.4: under sustained overload the allowance stays at zero instead of wrapping, whatever it is a multiple of.
#[test]
fn burst_allowance_does_not_wrap() {
    for max_burst in [Time::ZERO, Time::from_ns(1), Time::from_ms(20), Time::from_ms(150)] {
        let mut link = delayed(PieParams { max_burst, ..plain() }, 500 * MS, 1000);
        updates(&mut link, 12);
        for _ in 0..2000 {
            update(&mut link);
            assert_eq!(state(&link.queue).1, Time::ZERO);
        }
        link.world.bits[DRAW] = DROP;
        assert_eq!(link.arrive(1).causes(), [Pie]);
    }
}

/// 4.4: the allowance is given again only once the probability is zero and the delay has been low twice.
#[test]
fn burst_allowance_returns_after_quiet() {
    let params = PieParams { max_burst: Time::from_ms(30), ..plain() };
    let mut link = delayed(params, 100 * MS, 1000);
    updates(&mut link, 5);
    assert_eq!(state(&link.queue).1, Time::ZERO);
    while link.finish().departed.is_some() {}
    for k in 0..100 {
        let given = update(&mut link) == 0.0 && k > 0;
        assert_eq!(state(&link.queue).1 > Time::ZERO, given, "update {k}");
    }
    assert_eq!(state(&link.queue).1, Time::from_ms(30));
}

/// An update at the very time of an arrival comes before it.
#[test]
fn an_update_precedes_the_arrival_at_its_time() {
    let mut link = delayed(plain(), 100 * MS, 100);
    let wait = link.queue.deadline().expect("PIE has updates").ns() - link.world.now.ns();
    link.wait(wait - 1);
    link.arrive(1);
    assert_eq!(probability(&link), 0.0);
    link.wait(1);
    link.arrive(1);
    assert!(probability(&link) > 0.0);
}

/// Updates keep to the grid of `t_update` however rarely anything calls.
#[test]
fn updates_keep_their_grid() {
    let mut link = Bottleneck::new(pie(plain()), 1);
    for (at, due) in
        [(0, 15 * MS), (15 * MS - 1, 15 * MS), (15 * MS, 30 * MS), (7_000_000 * MS, 7_000_005 * MS)]
    {
        link.world.now = Time::from_ns(at);
        link.arrive(1);
        link.finish();
        assert_eq!(link.queue.deadline(), Some(Time::from_ns(due)));
    }
    link.world.now = Time::NEVER;
    link.arrive(1);
    assert_eq!(link.queue.deadline(), Some(Time::NEVER));
}

/// 4.3: a departure that leaves nothing behind means that there is no delay.
#[test]
fn an_empty_queue_has_no_delay() {
    let mut link = delayed(plain(), 500 * MS, 0);
    assert_eq!(update(&mut link), 0.0);
}

/// 5.4: with probability p nothing is dropped before p adds up to 0.85, and the arrival is from 8.5 on.
#[test]
fn derandomised_drops_are_neither_close_nor_far() {
    let params = PieParams { derandomise: true, beta: 0.0, ..plain() };
    for (bits, from, to) in [(DROP, 0.85, 0.85), (KEEP, 8.5, 8.5)] {
        let mut link = delayed(params.clone(), 1000 * MS, 100);
        while update(&mut link) < 0.1 {}
        let p = probability(&link);
        link.world.bits[DRAW] = bits;
        for _ in 0..3 {
            let mut arrivals = 1;
            while link.arrive(1).causes().is_empty() {
                arrivals += 1;
            }
            let sum = f64::from(arrivals) * p;
            assert!(sum >= from - 1e-9 && sum < to + p, "{arrivals} arrivals at {p}");
        }
    }
}

#[test]
fn full_buffer_overflows_without_a_draw() {
    let mut link = delayed(PieParams { limit: 20, ..plain() }, 100 * MS, 19);
    update(&mut link);
    assert_eq!(link.arrive(1).causes(), []);
    let used = link.world.used[DRAW];
    link.world.bits[DRAW] = Bits::Script([].into());
    assert_eq!(link.arrive(1).causes(), [Overflow]);
    assert_eq!(link.world.used[DRAW], used);
}

/// Linux 6.12: the first update after half a second, the next ones every 16 ms; the probability may be shown for it.
#[test]
fn linux_updates_begin_after_half_a_second() {
    let mut link = delayed(PieParams { linux: Linux::V6_12, ..plain() }, 100 * MS, 100);
    for (wait, is_zero) in [(399 * MS, true), (MS, false)] {
        link.wait(wait);
        link.arrive(1);
        assert_eq!(probability(&link) <= 0.0, is_zero);
    }
    let first = probability(&link);
    for (wait, is_first) in [(15 * MS, true), (MS, false)] {
        link.wait(wait);
        link.arrive(1);
        assert_eq!(probability(&link) <= first, is_first);
    }
}

/// Linux 6.12: two packets' bytes are enough for a drop.
#[test]
fn linux_spares_below_two_packets() {
    for (mean_packet_size, dropped) in [(1000, 1), (1001, 0)] {
        let params = PieParams { linux: Linux::V6_12, mean_packet_size, alpha: 100.0, ..plain() };
        let mut link = delayed(params, 600 * MS, 2);
        link.world.bits[DRAW] = DROP;
        for _ in 0..100 {
            link.wait(16 * MS);
            link.step(&Event::Wait(0));
        }
        assert_eq!(link.arrive(1).causes().len(), dropped, "{mean_packet_size}");
    }
}

fn params() -> impl Strategy<Value = PieParams> {
    let target = prop_oneof![3 => Just(15 * MS), 1 => Just(0_u64), 1 => Just(1), 2 => 0..50 * MS];
    let t_update = prop_oneof![3 => Just(15 * MS), 2 => MS..100 * MS];
    let gain = || prop_oneof![2 => Just(0.125), 2 => Just(1.25), 1 => Just(0.0), 3 => 0.0..100.0];
    let burst = prop_oneof![2 => Just(0_u64), 2 => Just(150 * MS), 3 => 0..300 * MS];
    let size = prop_oneof![Just(0_u32), Just(1024), 0_u32..3000];
    let rest = (size, prop::array::uniform3(any::<bool>()));
    (1_u32..60, target, t_update, gain(), gain(), burst, rest).prop_map(
        |(limit, target, t_update, alpha, beta, burst, (mean_packet_size, [cap, steep, derandomise]))| {
            PieParams {
                limit,
                target: Time::from_ns(target),
                t_update: Time::from_ns(t_update),
                alpha,
                beta,
                max_burst: Time::from_ns(burst),
                mean_packet_size,
                cap,
                steep,
                derandomise,
                linux: Linux::None,
            }
        },
    )
}

properties! {
    #[test]
    fn pie_agrees(params in params(), linux in rules(), trace in timed_events(300), seed in any::<u64>()) {
        let params = PieParams { linux, ..params };
        let mut model = PieModel::new(params.clone());
        let result = compare(Bottleneck::new(pie(params), seed), &mut model, &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        check_conservation(&pie(params), &trace, seed, InOrder::All)?;
    }

    /// The probability stays in its range; nothing is dropped early while a burst is allowed, while the delay at the
    /// last update was low and the probability is below 0.2, or while two mean packets wait. A host that calls `tick`
    /// at every deadline sees the same.
    #[test]
    fn drops_need_a_reason(params in params(), trace in timed_events(300), seed in any::<u64>()) {
        let mut link = Bottleneck::new(pie(params.clone()), seed);
        let mut ticked = link.clone();
        // Delay of the last departure, the same at the last update, and when the next one is.
        let (mut delay, mut old, mut next) = (0, 0, params.t_update.ns());
        for event in &trace {
            let until = link.world.now.ns() + if let Event::Wait(ns) = event { *ns } else { 0 };
            while let Some(due) = ticked.queue.deadline().filter(|due| due.ns() <= until) {
                ticked.world.now = due;
                ticked.queue.tick(&mut ticked.world);
            }
            let waiting = link.queue.backlog().bytes;
            let step = link.step(event);
            if let Event::Wait(_) = event {
                ticked.world.now = link.world.now;
            }
            prop_assert_eq!(&step, &if matches!(event, Event::Wait(_)) { step.clone() } else { ticked.step(event) });
            let now = link.world.now.ns();
            while next <= now {
                (old, next) = (delay, next + params.t_update.ns());
            }
            if step.asked || step.arrived.is_some() {
                let (p, burst) = state(&link.queue);
                prop_assert!((0.0..=1.0).contains(&p));
                prop_assert!(burst <= params.max_burst);
                if step.count(Pie) > 0 {
                    prop_assert_eq!(burst, Time::ZERO);
                    prop_assert!(p >= 0.2 || 2 * old >= params.target.ns());
                    prop_assert!(p > 0.0 && waiting > 2 * u64::from(params.mean_packet_size));
                }
                prop_assert!(step.count(Pie) <= 1);
            }
            if let Some(packet) = &step.departed {
                delay = if link.fifo().is_empty() { 0 } else { now - packet.enqueued.ns() };
            }
        }
    }

    /// With no gain it is a FIFO.
    #[test]
    fn without_gain_it_is_droptail(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        let params = PieParams { alpha: 0.0, beta: 0.0, steep: false, ..params };
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        same_links(Bottleneck::new(pie(params), seed), Bottleneck::new(droptail, seed), &trace)?;
    }
}

/// However long nobody called, a call makes a bounded number of updates: the last ones, which the reference agrees with.
#[test]
fn a_pause_without_end_is_caught_up_with() {
    let params = PieParams { t_update: Time::from_ns(1), beta: 1e-9, ..PieParams::default() };
    let trace = [Event::Arrive { flow: 1, len: 1000 }, Event::Wait(1 << 20), Event::Finish];
    let mut model = PieModel::new(params.clone());
    assert!(compare(Bottleneck::new(pie(params.clone()), 1), &mut model, &trace).is_ok());
    let mut link = Bottleneck::new(pie(params), 1);
    link.world.now = Time::from_ns(u64::MAX - 1);
    link.step(&trace[0]);
    assert_eq!(link.queue.deadline(), Some(Time::NEVER));
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(1000, &(params(), timed_events(300), any::<u64>()), &[Overflow, Pie], |(params, events, seed)| {
        let mut model = PieModel::new(params.clone());
        compare(Bottleneck::new(pie(params), seed), &mut model, &events)
    });
}
