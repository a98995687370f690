//! UDP that plays a list of arrivals.

use super::datagram::Datagram;
use fairdrop::{Ecn, Time};
use fairdrop_config::{FieldKind, FieldSpec, field};
use fairdrop_tcp::TransportInfo;
use serde::Serialize;
use std::sync::Arc;

/// What a list of transports says of it.
pub const INFO: TransportInfo = TransportInfo {
    name: "trace",
    title: "UDP, from a list of arrivals",
    doc: "Sends what a CSV file or a capture says, when it says so.",
    source: "Pan, Prabhakar, Psounis 2000, V",
    backs_off: false,
    fields: [FIELDS, &[], &[]],
};

const FIELDS: &[FieldSpec] = &[field(
    "file",
    "",
    FieldKind::Text,
    None,
    "CSV file with the columns time_s, size_bytes and perhaps flow and class, or a pcap or pcapng capture; its path \
     begins where the scenario is.",
)];

/// A list of arrivals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceConfig {
    /// The file, as the scenario names it.
    pub file: String,
    /// Packets of each flow, by time.
    #[serde(skip)]
    pub flows: Arc<[Vec<Arrival>]>,
}

/// Packets in a row whose fastest stretch gives the rate of a list.
const STRETCH: usize = 10;

impl TraceConfig {
    /// The largest rate over ten packets of a flow in a row, bit/s; 0 where no flow has more than ten.
    pub fn peak_bps(&self) -> f64 {
        let rate = |stretch: &[Arrival]| {
            let bits = 8.0 * stretch[1..].iter().map(|arrival| f64::from(arrival.len)).sum::<f64>();
            bits / stretch[STRETCH].at.since(stretch[0].at).seconds()
        };
        let stretches = self.flows.iter().flat_map(|flow| flow.windows(STRETCH + 1));
        stretches.map(rate).fold(0.0, f64::max)
    }
}

/// A packet of a list of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Since the beginning of the list.
    pub at: Time,
    /// Bytes on the wire.
    pub len: u16,
    /// Priority class, where the list says it.
    pub class: Option<u8>,
}

/// One flow of a list, being played.
#[derive(Clone, Debug)]
pub struct Playback {
    start: Time,
    flow: u32,
    /// Of packets whose line names none.
    class: u8,
    next: usize,
}

impl Playback {
    /// Plays flow number `flow` of the list from `start`, in priority class `class` where the list says none.
    pub fn new(start: Time, config: &TraceConfig, flow: u32, class: u8) -> Self {
        debug_assert!((flow as usize) < config.flows.len());
        Self { start, flow, class, next: 0 }
    }

    /// The next packet, and its time of the run; `None` after the last.
    #[inline]
    pub fn take(&mut self, config: &TraceConfig) -> Option<(Time, Datagram)> {
        let Arrival { at, len, class } = *config.flows[self.flow as usize].get(self.next)?;
        self.next += 1;
        Some((
            self.start.after(at),
            Datagram { len, class: class.unwrap_or(self.class), ecn: Ecn::NotCapable },
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peak_bps(flows: &[&[(u64, u16)]]) -> f64 {
        let arrival = |&(ms, len): &(u64, u16)| Arrival { at: Time::from_ms(ms), len, class: None };
        let flows: Vec<Vec<_>> = flows.iter().map(|flow| flow.iter().map(arrival).collect()).collect();
        TraceConfig { file: String::new(), flows: Arc::from(flows) }.peak_bps()
    }

    /// A packet of 1000 B a second, and in the middle one a millisecond: 8 Mb/s.
    #[test]
    fn the_peak_is_that_of_ten_packets_in_a_row() {
        let slow = (0..30).map(|second| (1000 * second, 1000));
        let fast = (0..11).map(|ms| (30_000 + ms, 1000));
        let later = (31..60).map(|second| (1000 * second, 1000));
        let flow: Vec<_> = slow.chain(fast).chain(later).collect();
        assert!((peak_bps(&[&flow[..30], &flow]) - 8e6).abs() < 1e-3);
        assert!((peak_bps(&[&flow[..30]]) - 8e3).abs() < 1e-6);
        assert_eq!(peak_bps(&[&flow[..10]]), 0.0, "no more than ten packets");
        assert_eq!(peak_bps(&[&[(5, 100); 11]]), f64::INFINITY, "all at once");
    }
}
