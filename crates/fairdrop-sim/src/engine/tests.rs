//! Whole runs of the engine.

use super::Engine;
use crate::control::Control;
use crate::scenario::Scenario;

/// Hundreds of flows of every kind, one after another in the lanes, the slots of the calendar and the queue: what is
/// prefetched is there, and changes nothing.
#[test]
fn looking_ahead_changes_nothing() {
    let text = "duration = 3\nwarm_up = 1\nsample = 0\n[dumbbell]\nrate = \"40mbit\"\ndelay = \"50ms\"\naccess_delay = \"20ms\"\n[queue]\n\
        discipline = \"choke\"\nlimit = \"400p\"\n[queue.red]\nmin_th = \"50p\"\nmax_th = \"300p\"\n\
        [[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"100kbit\"\ncount = 50\n\
        [[groups]]\nname = \"reno\"\ntransport = \"reno\"\ncount = 400\nstart_spread = \"20ms\"\n\
        [[groups]]\nname = \"sack\"\ntransport = \"sack\"\ncount = 100\ndelayed_ack = true\n\
        [[groups]]\nname = \"web\"\ntransport = \"newreno\"\nconnections = 40\ntransfer = \"10kB\"\n";
    for queue in ["choke", "red", "fq_codel", "csfq"] {
        let scenario = Scenario::parse(text, "test", &[format!("queue.discipline={queue}")]).unwrap();
        let counters = |few_flows| {
            let mut engine = Engine::new(&scenario, 1, &Control::default()).unwrap().unwrap();
            engine.few_flows = few_flows;
            engine.count_flows();
            engine.links.ports_mut().for_each(|port| port.meter_mut().few_flows = few_flows);
            assert!(engine.run(&Control::default()));
            let delivered: Vec<_> =
                (0..engine.flows().len()).map(|flow| engine.flows().delivered(flow).distinct).collect();
            (engine.handled(), format!("{:?} {delivered:?}", engine.port(0).unwrap().meter().flows()))
        };
        let (events, all) = counters(u32::MAX);
        assert!(events > 50_000, "{queue}: {events}");
        assert!(counters(0) == (events, all), "{queue}");
    }
}

/// 8000 connections of up to 100 packets, many under loss: memory is bounded by those open at once, each packet
/// is accounted for, and numbers come back only when nothing of the old connection is under way.
#[test]
fn connections_share_flow_numbers() {
    let text = "duration = 400\nwarm_up = 0\nsample = 0\n[dumbbell]\nrate = \"1mbit\"\n[queue]\n\
        discipline = \"choke\"\nlimit = \"20p\"\n[queue.red]\nmin_th = \"5p\"\nmax_th = \"15p\"\n\
        [[groups]]\nname = \"web\"\ntransport = \"newreno\"\nconnections = 20\ntransfer = \"4kB\"\n\
        sizes = \"pareto\"\nmax_transfer = \"100kB\"\ndelayed_ack = true\nstop = \"350s\"\n\
        mark_excess = { rate = \"1mbit\", burst = \"10kB\", class = 1 }\n";
    let scenario = Scenario::parse(text, "test", &[]).unwrap();
    let mut engine = Engine::new(&scenario, 1, &Control::default()).unwrap().unwrap();
    assert!(engine.run(&Control::default()));
    let meter = engine.flows().transfers(0).unwrap();
    assert!((meter.begun() as f64 - 7000.0).abs() < 5.0 * 7000_f64.sqrt(), "{}", meter.begun());
    let completed: u64 = meter.classes().iter().map(|class| class.completion_ns().len()).sum();
    assert_eq!(completed, meter.begun(), "50 s are enough for the last");
    assert!(engine.flows().len() < 150, "{} flow numbers", engine.flows().len());
    let sent = meter.classes().iter().fold(0.0, |sum, class| sum + class.bytes());
    let arrived: u64 =
        (0..engine.flows().len()).map(|flow| engine.flows().delivered(flow).distinct.bytes).sum();
    assert_eq!(arrived as f64, sent, "all of it arrived, once");
    assert!(engine.port(0).unwrap().meter().flows().iter().any(|flow| flow.dropped.bytes > 0));
    assert!(engine.packets.under_way() == 0 && engine.flows.all_released());
}
