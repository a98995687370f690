//! Whatever is lost, the connection makes progress and everything arrives.

use super::super::{Sender, infos};
use super::pipe::{Packet, Pipe};
use fairdrop::{Philox, Time, unit_interval};
use proptest::prelude::*;

/// A pipe that loses segments and SYNs with probability `data`, ACKs with `acks`, among its first `lossy` packets.
fn lose(seed: u64, data: f64, acks: f64, lossy: u32) -> impl FnMut(Packet, u32) -> bool {
    let mut stream = Philox::new(seed, 0, 0);
    let mut packets = 0;
    move |packet, _| {
        packets += 1;
        let backward = matches!(packet, Packet::Ack(_) | Packet::SynAck);
        unit_interval(stream.next_u64()) < if backward { acks } else { data } && packets <= lossy
    }
}

/// Those that are as the kernel's only, and set their windows themselves.
const BY_MODEL: [&str; 3] = ["bbr", "bbr3", "prague"];

/// Every TCP, with settings.
fn tcps() -> impl Strategy<Value = (&'static str, String)> {
    let by_model = as_linux().prop_map(|settings| settings.replace("prr=", "handshake="));
    prop_oneof![
        3 => (transports(), settings()),
        1 => (prop::sample::select(vec!["reno", "cubic"]), as_linux()),
        1 => (prop::sample::select(BY_MODEL.to_vec()), by_model),
    ]
}

fn transports() -> impl Strategy<Value = &'static str> {
    let names = infos().map(|info| info.name).filter(|name| !BY_MODEL.contains(name));
    prop::sample::select(names.collect::<Vec<_>>())
}

fn settings() -> impl Strategy<Value = String> {
    let switches = (any::<bool>(), any::<bool>(), any::<bool>());
    let eras = prop_oneof![Just("modern"), Just("ns2-1998"), Just("ns2-2005")];
    (1_u32..40, 1_u32..12, switches, eras).prop_map(|(max, initial, (handshake, limited, delayed), era)| {
        format!(
            "era={era} max_window={max}p initial_window={initial}p handshake={handshake} \
             limited_transmit={limited} delayed_ack={delayed}"
        )
    })
}

fn as_linux() -> impl Strategy<Value = String> {
    const SWITCHES: [&str; 9] =
        ["handshake", "delayed_ack", "rack", "tlp", "prr", "frto", "timestamps", "quick_ack", "retrans_leak"];
    let switches = prop::array::uniform9(prop::bool::weighted(0.7));
    (1_u32..40, 1_u32..12, switches).prop_map(|(max, initial, on)| {
        let switches = SWITCHES.iter().zip(on).map(|(name, on)| format!("{name}={on}"));
        let switches = switches.collect::<Vec<_>>().join(" ");
        format!("era=linux max_window={max}p initial_window={initial}p {switches}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Each step checks the bounds on una, next, high, windows and timer (`check_invariants`). The window never
    /// passes `max_window`, not even by limited transmit or in recovery.
    #[test]
    fn everything_arrives(
        (transport, settings) in tcps(), seed: u64, data in 0.0..0.5, acks in 0.0..0.5,
    ) {
        const SEGMENTS: u32 = 200;
        let mut pipe = Pipe::new(transport, &settings, lose(seed, data, acks, 600));
        // While packets are lost, silence lasts no longer than the largest timeout.
        let mut acked = 0;
        let mut steps = 0_u32;
        while pipe.sender.una < SEGMENTS {
            let before = pipe.now;
            pipe.step();
            prop_assert!(pipe.now.since(before) <= pipe.config.max_rto, "{:?}", pipe.sender);
            prop_assert!(pipe.sender.una >= acked);
            acked = pipe.sender.una;
            steps += 1;
            prop_assert!(steps < 20_000, "no progress: {:?}", pipe.sender);
        }
        prop_assert!(pipe.delivered >= SEGMENTS);
        // Every segment that was acknowledged was sent, and what was sent twice was counted.
        let copies = pipe.log.iter().filter(|(_, packet)| matches!(packet, Packet::Segment(_) | Packet::Syn));
        let syn = u64::from(pipe.config.handshake);
        prop_assert_eq!(copies.count() as u64, u64::from(pipe.sender.high) + syn + pipe.sender.count().retransmissions);
    }

    /// When losses end, a connection in any state recovers within one backed-off timeout and some round trips.
    #[test]
    fn recovery_after_losses_end(
        (transport, settings) in tcps(), seed: u64, data in 0.0..0.9, lossy in 1_u32..200,
    ) {
        let mut pipe = Pipe::new(transport, &settings, lose(seed, data, data, lossy));
        while pipe.log.len() < lossy as usize {
            pipe.step();
        }
        let (since, una, outstanding) = (pipe.now, pipe.sender.una, pipe.sender.high - pipe.sender.una);
        // Before the timeout of the kernel's sender there may be a probe.
        let more = if pipe.config.acknowledges_as_linux() { pipe.config.max_rto } else { Time::ZERO };
        let silence = pipe.sender.deadline.since(since).after(Time::from_ms(1000)).after(more);
        while pipe.sender.una == una {
            pipe.step();
        }
        prop_assert!(pipe.now.since(since) <= silence, "{:?}", pipe.sender);
        let high = pipe.sender.high;
        pipe.run_until_acked(high + 50);
        // Two timeouts more at most: go-back-N fills every hole that one leaves.
        let longest = pipe.config.max_rto.after(pipe.config.max_rto).after(pipe.config.max_rto);
        let longest = longest.after(more).after(more);
        // With a round trip that ended only when ACKs came through again, RACK finds a segment lost at its own timeout, and a
        // model that looks for the least round trip has room for four in flight.
        let by_time = pipe.config.to_json()["rack"] == true && !pipe.config.traits.timestamps;
        let each = if by_time && BY_MODEL.contains(&transport) { outstanding } else { 0 };
        let longest = (0..each).fold(longest, |sum, _| sum.after(pipe.config.max_rto));
        prop_assert!(pipe.now.since(since) <= longest.after(Time::from_ms(200 * 100)), "{:?}", pipe.sender);
    }
}

/// A model does not take an outage for the path: what was measured in it, one segment in a timeout, paces nothing later.
#[test]
fn an_outage_is_no_rate() {
    const SWITCHES: &str =
        "era=linux max_window=9p initial_window=7p handshake=false rack=false timestamps=false";
    for transport in BY_MODEL {
        let took = (0..200).map(|seed| {
            let mut pipe = Pipe::new(transport, SWITCHES, lose(seed, 0.8, 0.8, 60));
            while pipe.log.len() < 60 {
                pipe.step();
            }
            let una = pipe.sender.una;
            while pipe.sender.una == una {
                pipe.step();
            }
            let since = pipe.now;
            let high = pipe.sender.high;
            pipe.run_until_acked(high + 50);
            pipe.now.since(since)
        });
        // Two timeouts, backed off, and 50 segments of which two arrive in a round trip.
        let most = took.max().expect("there are some");
        assert!(most <= Time::from_ms(2 * 120_000 + 25 * 100), "{transport}: {} s", most.seconds());
    }
}

/// The bound on what is in flight is reached, so it is not vacuous.
#[test]
fn the_window_fills_up_to_its_limit() {
    let mut pipe = Pipe::new("newreno", "max_window=20p", lose(1, 0.02, 0.0, 600));
    let in_flight = |sender: &Sender| sender.high - sender.una;
    let mut most = 0;
    while pipe.sender.una < 600 {
        pipe.step();
        most = most.max(in_flight(&pipe.sender));
    }
    assert_eq!(most, 20);
    assert!(pipe.sender.count().fast_retransmits > 0);
}
