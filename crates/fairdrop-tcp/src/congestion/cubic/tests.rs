//! RFC 9438: the curve of the window between losses, and the region where Reno would be faster.

use super::{Cubic, CubicParams, Kernel, cube_root, hystart};
use crate::TcpConfig;
use crate::congestion::contract::{AckEvent, BuiltIn, CongestionControl, Window};
use crate::receiver::Blocks;
use crate::tests::{check_invariants, config_of};
use crate::{Ack, Phase, Sender};
use fairdrop::Time;

/// A sender that has just left recovery from one loss at window `window`, the time, and how its ACKs come.
struct Paced {
    sender: Sender,
    config: TcpConfig,
    now: Time,
    round_trip: Time,
}

impl Paced {
    fn after_a_loss(window: u32, round_trip: Time, settings: &str) -> Self {
        let settings = format!(
            "tick=1us min_rto=60s initial_rto=60s max_window=10000p initial_window={window}p {settings}"
        );
        let config = config_of("cubic", &settings);
        let mut sender = Sender::new(&config, 0.0);
        let mut out = Vec::new();
        sender.start(Time::ZERO, &config, &mut out);
        let mut blocks = Blocks::default();
        blocks.insert(0, (1, window), Blocks::MOST);
        sender.on_syn_ack(round_trip, None, &config, &mut out);
        let now = round_trip.after(round_trip);
        sender.on_ack(now, Ack { blocks: Some(&blocks), ..Ack::of(0) }, &config, &mut out);
        assert_eq!(sender.phase, Phase::Recovery);
        assert!(
            (sender.window.ssthresh - f64::from(window) * 0.7).abs() < 1e-9,
            "section 4.6: {}",
            sender.window.ssthresh
        );
        let now = now.after(round_trip);
        sender.on_ack(now, Ack::of(sender.high), &config, &mut out);
        assert_eq!((sender.phase, sender.count().timeouts), (Phase::Open, 0));
        Self { sender, config, now, round_trip }
    }

    /// One ACK per segment, a window of them per round trip.
    fn step(&mut self) {
        self.now =
            self.now.after(Time::from_ns((self.round_trip.ns() as f64 / self.sender.window.cwnd) as u64));
        let next = self.sender.una + 1;
        self.sender.on_ack(self.now, Ack::of(next), &self.config, &mut Vec::new());
        check_invariants(&self.sender, &self.config);
    }
}

/// Section 4.2, equations 1 and 2: concave to the plateau at K, then convex.
#[test]
fn the_window_follows_the_cubic_curve() {
    const W: f64 = 400.0;
    let round_trip = Time::from_ms(100);
    let mut paced = Paced::after_a_loss(W as u32, round_trip, "");
    paced.step();
    let (start, cwnd) = (paced.now, paced.sender.window.cwnd);
    assert!((cwnd - 280.0).abs() < 0.1, "{cwnd}");
    let k = ((W - 0.7 * W) / 0.4_f64).cbrt();
    let curve = |t: f64| 0.4 * (t - k).powi(3) + W;
    let mut plateau = 0;
    while paced.now.since(start) < Time::from_ms(12_000) {
        paced.step();
        let t = paced.now.since(start).seconds();
        let cwnd = paced.sender.window.cwnd;
        // It aims a round trip ahead, and takes one to get there.
        assert!(
            cwnd > curve(t - 0.1) - 0.1 && cwnd < curve(t + 0.1) + 0.1,
            "{cwnd} at {t}, not {}",
            curve(t)
        );
        plateau += u32::from((cwnd - W).abs() < 1.0);
    }
    // |0.4 (t - K)^3| < 1 for 2.7 s, 40 windows of 400 in 10 s.
    assert!((9_000..13_000).contains(&plateau), "{plateau} ACKs at the plateau");
}

/// Section 4.3: with short round trips the window grows as Reno's would, 0.529 per round trip up to the old window, 1
/// after it. Without that region it is far smaller.
#[test]
fn reno_sets_the_pace_of_small_windows() {
    let round_trip = Time::from_ms(10);
    for friendly in [true, false] {
        let mut paced = Paced::after_a_loss(20, round_trip, &format!("tcp_friendly={friendly}"));
        paced.step();
        let (start, first) = (paced.now, paced.sender.window.cwnd);
        let mut reached = None;
        while paced.now.since(start) < Time::from_ms(300) {
            paced.step();
            let trips = paced.now.since(start).seconds() / 0.01;
            let cwnd = paced.sender.window.cwnd;
            if cwnd >= 20.0 && reached.is_none() {
                reached = Some(trips);
            }
            if friendly {
                let slow = first + trips * 9.0 / 17.0;
                let expected = reached.map_or(slow, |at| 20.0 + trips - at);
                assert!((cwnd - expected).abs() < 0.5, "{cwnd} after {trips} round trips, not {expected}");
            }
        }
        assert_eq!(reached.is_some(), friendly, "{}", paced.sender.window.cwnd);
    }
}

/// Section 4.8: after a timeout the curve begins at its plateau: convex at once.
#[test]
fn after_a_timeout_the_curve_begins_at_the_plateau() {
    let mut paced = Paced::after_a_loss(40, Time::from_ms(100), "tcp_friendly=false");
    let mut out = Vec::new();
    paced.now = paced.sender.deadline;
    paced.sender.on_timeout(paced.now, &paced.config, &mut out);
    while paced.sender.window.cwnd < paced.sender.window.ssthresh {
        paced.step();
    }
    let (start, first) = (paced.now, paced.sender.window.cwnd);
    while paced.now.since(start) < Time::from_ms(3000) {
        paced.step();
    }
    let curve = first + 0.4 * 27.0;
    assert!((paced.sender.window.cwnd - curve).abs() < 2.0, "{} not {curve}", paced.sender.window.cwnd);
}

#[test]
fn cube_roots_are_right_to_the_last_bits() {
    let mut number = 1e-9;
    while number < 1e12 {
        assert!((cube_root(number) / f64::cbrt(number) - 1.0).abs() < 1e-15, "{number}");
        number *= 1.003;
    }
    assert_eq!((cube_root(0.0), cube_root(27.0)), (0.0, 3.0));
}

/// Section 4.7: a second loss below the first plateau gives way.
#[test]
fn fast_convergence_lowers_the_plateau() {
    for (fast_convergence, w_max) in [(true, 80.0 * 0.85), (false, 80.0)] {
        let mut cubic = Cubic::new(&CubicParams { fast_convergence, tcp_friendly: true, hystart: None });
        let window = |cwnd| Window { cwnd, ssthresh: 0.0 };
        assert_eq!(cubic.ssthresh(window(100.0), 100.0), 70.0);
        assert_eq!(cubic.w_max, 100.0);
        cubic.ssthresh(window(80.0), 80.0);
        assert!((cubic.w_max - w_max).abs() < 1e-12);
    }
}

fn linux_cubic(hystart: hystart::Kind) -> Cubic {
    Cubic::new(&CubicParams { fast_convergence: true, tcp_friendly: true, hystart: Some(hystart) })
}

/// Lets `cubic` take an ACK of one segment at `ms`, with a round trip of `rtt` ms; 20 segments are in flight.
fn take(cubic: &mut Cubic, window: &mut Window, ms: u64, una: u32, rtt: u64) {
    let ack = AckEvent {
        now: Time::from_ms(ms),
        newly_acked: 1,
        delivered: 1,
        una,
        next: una + 20,
        echo: false,
        marked: 0,
        one_way_delay: None,
        srtt: Time::from_ms(rtt),
        rtt: Some(Time::from_ms(rtt)),
        rate: None,
        max_window: 1e3,
    };
    cubic.on_ack(&ack);
    cubic.open_window(window, &ack);
}

/// `bictcp_update`, by hand: after a loss at 3 the window is 2 and the plateau 3. The curve lies less than a segment below
/// it, which counts as there: a segment for every two. At 2, after a second loss, the plateau is (2 x 1.7 / 2), cut to 1.
#[test]
fn the_kernels_curve_is_in_whole_segments() {
    let mut cubic = linux_cubic(hystart::Kind::None);
    let mut window = Window { cwnd: 3.0, ssthresh: 50.0 };
    window.ssthresh = cubic.ssthresh(window, 3.0).floor();
    window.cwnd = window.ssthresh;
    assert_eq!(window.cwnd, 2.0);
    take(&mut cubic, &mut window, 1000, 1, 10);
    assert_eq!(window.cwnd, 2.5);
    window.cwnd = 2.0;
    assert_eq!(cubic.ssthresh(window, 2.0), 2.0);
    take(&mut cubic, &mut window, 2000, 2, 10);
    assert_eq!(window.cwnd, 2.0 + 0.01 / 2.0, "on its plateau, which is the window itself");
}

/// `cubictcp_recalc_ssthresh`: 717 of 1024, cut to whole segments; 0.7 x 90 in binary is less than 63.
#[test]
fn the_kernels_beta_is_717_of_1024() {
    let mut kernel = Kernel::default();
    assert_eq!([90, 50, 3, 2].map(|cwnd| kernel.reduce(cwnd, true)), [63, 35, 2, 2]);
}

/// `bictcp_update`, by hand: without a plateau the curve from 50 is 10 segments higher after 3 s (0.4004 x 27), 11 after 3.028 s.
/// For the same window it is not asked again in seven ticks of 4 ms; for another one in the next tick.
#[test]
fn the_kernel_asks_its_curve_now_and_then() {
    let mut kernel = Kernel::default();
    let mut each = |ms, cwnd| kernel.segments_for_one(Time::from_ms(ms), cwnd, 1, false);
    assert_eq!(each(1000, 50), 20, "a twentieth per round trip before the first loss");
    assert_eq!(each(4000, 50), 5);
    assert_eq!(each(4028, 50), 5);
    assert_eq!(each(4032, 50), 50 / 11);
    assert_eq!(each(4033, 51), 50 / 11, "the same tick");
    assert_eq!(each(4036, 51), 51 / 10);
}

/// `hystart_update`: above 16 segments, the ninth round trip that is 4 ms longer than the least ends slow start.
#[test]
fn longer_round_trips_end_slow_start() {
    let mut cubic = linux_cubic(hystart::Kind::Linux);
    let mut window = Window { cwnd: 10.0, ssthresh: 1000.0 };
    take(&mut cubic, &mut window, 100, 1, 20);
    // Below 16, and then for eight round trips, nothing happens, however long they are.
    let mut una = 21;
    for step in 0..13 {
        una += 1;
        take(&mut cubic, &mut window, 200 + 10 * step, una, 30);
        assert_eq!(window.ssthresh, 1000.0, "{step}");
    }
    assert_eq!(window.cwnd, 24.0);
    take(&mut cubic, &mut window, 400, una + 1, 30);
    assert_eq!(window.ssthresh, 24.0);
    // That ACK opens the window as in congestion avoidance, before the first loss by a twentieth.
    assert_eq!(window.cwnd, 24.0 + 1.0 / 20.0);
}

/// RFC 9406, section 4.2: then the window grows by a quarter for five rounds; a shorter round trip makes that end.
#[test]
fn hystart_plus_plus_goes_on_slowly() {
    let mut cubic = linux_cubic(hystart::Kind::Rfc9406);
    let mut window = Window { cwnd: 20.0, ssthresh: 1000.0 };
    let (mut una, mut now) = (1, 100);
    let mut round = |cubic: &mut Cubic, window: &mut Window, rtt| {
        let before = window.cwnd;
        for _ in 0..20 {
            una += 1;
            now += 5;
            take(cubic, window, now, una, rtt);
        }
        // An ACK beyond the end begins the next.
        una += 1;
        window.cwnd - before
    };
    assert_eq!(round(&mut cubic, &mut window, 20), 20.0);
    assert_eq!(round(&mut cubic, &mut window, 20), 20.0);
    let slower = round(&mut cubic, &mut window, 40);
    assert!((8.0..16.0).contains(&slower), "eight in full, then a quarter: {slower}");
    assert_eq!(round(&mut cubic, &mut window, 40), 5.0);
    assert_eq!(window.ssthresh, 1000.0);
    for _ in 0..5 {
        round(&mut cubic, &mut window, 40);
    }
    assert!(window.ssthresh < 100.0, "after five rounds: {}", window.ssthresh);
}
