//! UDP that plays a list of arrivals.

use super::datagram::Datagram;
use crate::input::{FieldKind, FieldSpec, field};
use crate::transport::info::TransportInfo;
use fairdrop::{Ecn, Time};
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
    /// Of packets of which the list says none.
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
