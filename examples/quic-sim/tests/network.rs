//! The node by itself, and QUIC connections through it.

use fairdrop::{AnyParams, ParamValue};
use quic_sim::bottleneck::{Bottleneck, Datagram, HEADER_BYTES, Output};
use quic_sim::{Outcome, Setup, run};
use quinn_proto::EcnCodepoint;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

fn queue(name: &str, rate_bps: u64, set: &[(&str, ParamValue)]) -> AnyParams {
    let mut params = AnyParams::of(name).expect("a discipline of the catalogue");
    params.set_link(300, rate_bps);
    for &(parameter, value) in set {
        assert!(params.set(name, parameter, value), "{name} has no {parameter}");
    }
    params
}

fn setup(name: &str, set: &[(&str, ParamValue)]) -> Setup {
    Setup {
        queue: queue(name, 10_000_000, set),
        rate_bps: 10_000_000,
        rtt: Duration::from_millis(40),
        clients: 4,
        udp_bps: 10_000_000,
        duration: Duration::from_secs(15),
    }
}

fn outcome(setup: &Setup) -> Outcome {
    let outcome = run(setup).expect("the parameters are valid");
    assert!(outcome.bottleneck.reconcile());
    outcome
}

fn datagram(from: u16, payload: usize) -> Datagram {
    let address = |port| SocketAddr::from(([10, 0, 0, 1], port));
    Datagram { from: address(from), to: address(1), ecn: None, payload: vec![0; payload] }
}

/// A link of 1 Gbit/s with packets waiting is never idle, although its owner calls only when a datagram comes or at the time that
/// the node names.
#[test]
fn a_link_with_packets_waiting_is_never_idle() {
    let begun = Instant::now();
    let params = queue("droptail", 1_000_000_000, &[]);
    let mut node = Bottleneck::new(params, 1_000_000_000, Duration::from_millis(1), begun).expect("valid");
    let payload = 1250 - HEADER_BYTES as usize;
    let (mut arrived, mut last) = (0, begun);
    // 200 packets at once, each of which takes 10 us.
    for flow in 0..200 {
        assert!(!matches!(node.process(Some(datagram(flow, payload)), begun), Output::Datagram(_)));
    }
    let mut now = begun;
    loop {
        match node.process(None, now) {
            Output::Datagram(_) => (arrived, last) = (arrived + 1, now),
            Output::Callback(next) => now = next,
            Output::Idle => break,
        }
    }
    assert_eq!((arrived, last - begun), (200, Duration::from_millis(1) + 200 * Duration::from_micros(10)));
}

/// The payload arrives as it was sent, and a datagram that is not ECN-capable is never marked.
#[test]
fn a_datagram_is_delivered_as_it_was_sent() {
    let begun = Instant::now();
    let mut node = Bottleneck::new(queue("choke", 8_000, &[]), 8_000, Duration::ZERO, begun).expect("valid");
    let sent = Datagram { payload: b"payload".to_vec(), ecn: Some(EcnCodepoint::Ect0), ..datagram(7, 0) };
    let Output::Callback(next) = node.process(Some(sent), begun) else { panic!("it takes time to send") };
    // 7 + 42 bytes at 1 byte per ms.
    assert_eq!(next - begun, Duration::from_millis(49));
    let Output::Datagram(got) = node.process(None, next) else { panic!("it has arrived") };
    assert_eq!(
        (got.payload.as_slice(), got.ecn, got.from.port()),
        (&b"payload"[..], Some(EcnCodepoint::Ect0), 7)
    );
    assert!(matches!(node.process(None, next), Output::Idle));
}

#[test]
fn choke_protects_downloads_from_a_flow_that_does_not_slow_down() {
    let [red, choke] = ["red", "choke"].map(|name| outcome(&setup(name, &[])));
    let received = |outcome: &Outcome| outcome.received.iter().sum::<u64>();
    assert!(received(&choke) > 2 * received(&red), "{} and {}", received(&choke), received(&red));
    assert!(choke.udp_received < red.udp_received);
    assert!(choke.received.iter().all(|&bytes| bytes > 0));
}

/// Keys and connection ids are random, sizes and times are not.
#[test]
fn two_runs_are_equal() {
    let setup = setup("choke", &[]);
    assert_eq!(outcome(&setup), outcome(&setup));
}

/// With marks in place of drops, the downloads slow down and lose no packet.
#[test]
fn marks_reach_the_senders() {
    let quiet = |set| Setup { udp_bps: 0, ..setup("red", set) };
    let thresholds = [("min_th", ParamValue::Number(5.0)), ("max_th", ParamValue::Number(100.0))];
    let marking = [thresholds[0], thresholds[1], ("ecn", ParamValue::Switch(true))];
    let (marked, dropped) = (outcome(&quiet(&marking)), outcome(&quiet(&thresholds)));
    assert!(marked.bottleneck.marked.packets > 0 && dropped.bottleneck.marked.packets == 0);
    // Senders that did not see the marks would fill the buffer and lose packets there.
    assert_eq!(marked.bottleneck.dropped_in_all().packets, 0);
    assert!(dropped.bottleneck.dropped_in_all().packets > 0);
    assert!(marked.received.iter().sum::<u64>() > 10_000_000 / 8 * 12);
}
