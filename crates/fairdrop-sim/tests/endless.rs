//! What would never end: refused where the clock cannot hold it, and otherwise a bounded number of steps between looks
//! whether to stop.

use fairdrop_capture::{Arrival, Capture, FlowInfo, Format, Notes, Options, Protocol, read_bytes};
use fairdrop_sim::scenario::{QueueConfig, Scenario};
use fairdrop_sim::{Control, ReplayConfig, ReplayError, RunResult, replay, simulate};

/// Packets of 1000 bytes at these times, in ns.
fn capture(times: &[u64]) -> Capture {
    Capture {
        arrivals: times.iter().map(|&time_ns| Arrival { time_ns, wire_len: 1000, flow: 0 }).collect(),
        flows: vec![FlowInfo { name: "only".into(), protocol: Protocol::Udp, ends: [None; 2] }],
        notes: Notes::default(),
        format: Format::Pcap,
        link_types: Vec::new(),
    }
}

fn replayed(times: &[u64], speed: f64, rate_bps: u64) -> Result<RunResult, ReplayError> {
    let (queue, _) =
        QueueConfig::parse("", "queue", &["queue.discipline=droptail".to_owned()]).expect("valid");
    let config = ReplayConfig { rate_bps, speed, queue };
    replay(&capture(times), &config, 1, &Control::default()).map(|result| result.expect("nothing stops it"))
}

#[test]
fn a_speed_that_the_clock_cannot_hold_is_refused() {
    let second = [0, 1_000_000_000];
    for speed in [1e-30, f64::MIN_POSITIVE, 1e-10, 0.0, -1.0, f64::NAN] {
        let error = replayed(&second, speed, 1_000_000).unwrap_err();
        assert!(matches!(error, ReplayError::Span { .. }), "{speed}: {error}");
        let text = error.to_string();
        assert!(text.starts_with(&format!("speed = {speed:?} ")) && text.contains("of 1 s"), "{text}");
    }
    // 2^63 ns are 9.22e9 s.
    assert!((replayed(&second, 1.1e-10, 1_000_000).unwrap().measured_to_s - 9.09e9).abs() < 1e8);
    assert!(replayed(&second, 1e300, 1_000_000).is_ok());
    assert!(replayed(&[5], 1e-30, 1_000_000).is_err(), "the only packet would come too late");
    assert!(replayed(&[0, 0], 1e-30, 1_000_000).is_ok(), "a moment lasts no longer at any speed");
}

#[test]
fn a_span_that_the_clock_cannot_hold_is_refused() {
    for end in [u64::MAX, (1 << 63) + (1 << 12)] {
        let text = replayed(&[0, 7, end], 1.0, 1_000_000).unwrap_err().to_string();
        assert!(text.starts_with("speed = 1.0 is not valid for a capture of "), "{text}");
        assert!(text.contains(&format!("{} s: ", end as f64 / 1e9)), "{text}");
    }
    assert!(replayed(&[0, 7, 1 << 62], 1.0, 1_000_000).is_ok());
    assert!(replayed(&[0, 7, u64::MAX], 4.0, 1_000_000).is_ok(), "four times as fast, it fits");
}

/// 146 years, and then 302 packets of 8000 s each behind one another.
#[test]
fn a_rate_at_which_the_queue_drains_beyond_the_clock_is_refused() {
    let mut times = vec![0];
    times.extend([(1 << 63) - 1000; 400]);
    let error = replayed(&times, 1.0, 1).unwrap_err();
    assert!(matches!(error, ReplayError::Drain { .. }), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("rate = 1 bit/s ") && text.contains("speed = 1.0;"), "{text}");
    // With a speed of 2 there is time.
    let result = replayed(&times, 2.0, 1).unwrap();
    assert_eq!(result.queues[0].departures + result.queues[0].drops.total(), 401);
}

/// A pcapng whose second packet is 2^64 - 1 units of a second after the first.
#[test]
fn a_gap_of_ages_in_a_file_is_refused_unless_it_is_shortened() {
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, body, &length].concat()
    };
    let section = [&0x1A2B_3C4D_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xFF; 8]].concat();
    // Raw IP, and times in whole seconds (if_tsresol 0).
    let interface = [&101_u32.to_le_bytes()[..], &[0; 4], &[9, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    let packet = |time: u32| {
        let words = [0, time, time, 20, 20].map(u32::to_le_bytes).concat();
        block(6, &[&words[..], &[0x45], &[0; 19]].concat())
    };
    let file = [block(0x0A0D_0D0A, &section), block(1, &interface), packet(0), packet(u32::MAX)].concat();
    let (queue, _) = QueueConfig::parse("", "queue", &[]).expect("valid");
    let config = ReplayConfig { rate_bps: 1_000_000, speed: 1.0, queue };
    let replayed = |max_gap_ns| {
        let capture =
            read_bytes(&file, "ages", &Options { max_gap_ns, ..Options::default() }).expect("two packets");
        replay(&capture, &config, 1, &Control::default())
    };
    assert!(matches!(replayed(None), Err(ReplayError::Span { speed: 1.0, .. })));
    let shortened = replayed(Some(60_000_000_000)).expect("valid").expect("nothing stops it");
    assert_eq!(shortened.queues[0].departures, 2);
}

fn scenario(groups: &str) -> Scenario {
    let text = format!("warm_up = 0\nsample = 0\n{groups}\n[queue]\ndiscipline = \"droptail\"\n");
    Scenario::parse(&text, "endless.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn ended(groups: &str) -> (RunResult, u64) {
    let control = Control::default();
    let run = simulate(&scenario(groups), 1, &control).expect("valid");
    (run.expect("nothing stops it"), control.looks())
}

const SHORTEST: &str = "[[groups]]\nname = \"g\"\ntransport = \"on_off\"\npeak_rate = 1\nmean_on = 1e-9\n";

/// 8 10^12 empty periods before the only packet that could come, which are skipped; with off periods of a nanosecond, too.
#[test]
fn empty_periods_end() {
    for off in ["mean_off = 1", "mean_off = 1e-9"] {
        let (run, looks) = ended(&format!("duration = 1e7\n{SHORTEST}{off}"));
        assert!(run.valid && looks < 10, "{looks} looks");
    }
    // A packet each 8000 s on, and as long off.
    let run = ended(&format!("duration = 1e7\n{SHORTEST}mean_off = 1e-9")).0;
    assert!(
        (run.flows[0].measured.arrivals as f64 - 625.0).abs() < 4.0,
        "{}",
        run.flows[0].measured.arrivals
    );
}

/// A link that takes 8 s for a packet has a thousand waiting after 8000 s, and loses nearly all of 625 packets a second from
/// then on: each is looked at, some at a time, and a run that is to stop stops among them.
#[test]
fn what_a_slow_link_of_a_host_has_no_room_for_is_lost_in_steps() {
    const SLOW: &str = "[[groups]]\nname = \"g\"\ntransport = \"on_off\"\npeak_rate = \"10mbit\"\nmean_on = \"1ms\"\n\
        mean_off = \"1ms\"\naccess_rate = 1000";
    let (run, looks) = ended(&format!("duration = 20_000\n{SLOW}"));
    let lost = 625 * 12_000;
    assert!(run.problems[0].contains(&format!(" sends: {},", lost / 1_000_000)), "{:?}", run.problems);
    // 5000 between two packets, in steps of 1024; the last step ends with a packet.
    assert!((lost / 5000 * 4 - 100..lost / 5000 * 5 + 100).contains(&looks), "{looks} looks");
    let control = Control::default().with_looks(100);
    let stopped = simulate(&scenario(&format!("duration = 1e7\n{SLOW}")), 1, &control).expect("valid");
    assert!(stopped.is_none() && control.looks() < 105, "{} looks", control.looks());
}

/// Periods of Pareto's law are drawn one by one, and a run that is to stop stops among them: before its first event, too.
#[test]
fn a_search_among_drawn_periods_stops() {
    let group = SHORTEST.replace("peak_rate = 1\n", "peak_rate = 1\nlaw = \"pareto\"\ncount = 3000\n");
    for most in [1, 2, 50] {
        let control = Control::default().with_looks(most);
        let run = simulate(&scenario(&format!("duration = 1e7\n{group}mean_off = 1e-9")), 1, &control)
            .expect("valid");
        assert!(run.is_none() && control.looks() < most + 5, "{} looks", control.looks());
    }
}

/// Gaps that round to nothing: 10 Tb/s in packets of one byte, and two million million connections a second.
#[test]
fn time_goes_on_where_gaps_are_shorter_than_its_unit() {
    let poisson = "duration = 1e-6\n[dumbbell]\naccess_rate = 1e13\naccess_delay = 0\n[[groups]]\nname = \"g\"\ntransport = \"poisson\"\n\
        rate = 1e13\npacket_size = 1\nstart_spread = 0";
    let run = ended(poisson).0;
    assert!(run.events > 100_000, "{}", run.events);
    let web = "duration = 1e-6\n[[groups]]\nname = \"g\"\ntransport = \"reno\"\ncount = 10_000\nconnections = 1e6\n\
        transfer = 1000";
    let begun = ended(web).0.groups[0].transfers.as_ref().map_or(0, |transfers| transfers.begun);
    assert!((begun as f64 - 1e4).abs() < 500.0, "{begun}");
}

/// Two million flows that start over months: of those that start later, only the next few are looked at.
#[test]
fn starts_far_ahead_cost_nothing() {
    let group = "duration = 1e7\n[[groups]]\nname = \"g\"\ntransport = \"reno\"\ntransfer = 1000\ncount = 200_000\n\
        start_spread = 1e7";
    let (run, _) = ended(group);
    assert!(run.groups[0].transfers.as_ref().is_some_and(|transfers| transfers.completed > 190_000));
}

/// An ACK that comes after the stop finds a timer that ran out before: nothing is sent again, and time goes on.
#[test]
fn a_stopped_source_has_no_timer_in_the_past() {
    let group = "duration = 172\n[dumbbell]\nrate = 523\ndelay = 0.77\n[[groups]]\nname = \"g\"\ntransport = \"sack\"\ncount = 2\n\
        packet_size = 340\nstop = 35\nmax_window = 7000\ntick = \"134ms\"\nmin_rto = 1e-6";
    let (run, _) = ended(group);
    assert!(run.flows.iter().all(|flow| flow.measured.arrivals > 0));
}

/// More than there is room for while it runs: 100 Gb/s on their way for an hour.
#[test]
fn a_run_that_outgrows_its_memory_says_so() {
    let scenario = scenario(
        "duration = 3600\n[chain]\nrates = [1e11, 1e11]\ndelays = [3600]\naccess_rate = 1e11\n[[groups]]\nname = \"g\"\n\
         transport = \"cbr\"\nrate = \"50gbit\"",
    );
    let error = simulate(&scenario, 1, &Control::default().with_memory(50_000_000)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("packets under way") && text.contains("50.0 MB"), "{text}");
}
