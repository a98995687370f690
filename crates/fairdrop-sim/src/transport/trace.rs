//! UDP that plays a list of arrivals.

use crate::scenario::TraceConfig;
use fairdrop::Time;

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
    next: usize,
}

impl Playback {
    /// Plays flow number `flow` of the list from `start`.
    pub fn new(start: Time, config: &TraceConfig, flow: u32) -> Self {
        debug_assert!((flow as usize) < config.flows.len());
        Self { start, flow, next: 0 }
    }

    /// The next packet, at its time of the run; `None` after the last.
    #[inline]
    pub fn take(&mut self, config: &TraceConfig) -> Option<Arrival> {
        let arrival = *config.flows[self.flow as usize].get(self.next)?;
        self.next += 1;
        Some(Arrival { at: self.start.after(arrival.at), ..arrival })
    }
}
