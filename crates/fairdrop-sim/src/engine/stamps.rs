//! Timestamps: when a data packet was sent, and, on the ACK, how long it took to the receiver (RFC 6817, section 2.2)
//! or, echoed, when a data packet was sent (RFC 7323). Hosts' clocks agree. Kept apart from the packets, because few
//! transports have some.

use crate::scenario::Scenario;
use crate::transport::tcp::TcpConfig;
use fairdrop::Time;

/// Timestamps under way, and those that a receiver has taken.
#[derive(Debug)]
pub struct Stamps {
    /// Whether any flow has some.
    pub used: bool,
    /// By packet handle: of data when it was sent, of an ACK what it reports.
    by_packet: Vec<Time>,
    /// By flow: the one-way delay of the last segment that came.
    by_flow: Vec<Time>,
}

fn put(times: &mut Vec<Time>, at: u32, time: Time) {
    let at = at as usize;
    if times.len() <= at {
        times.resize(at + 1, Time::ZERO);
    }
    times[at] = time;
}

fn get(times: &[Time], at: u32) -> Time {
    times.get(at as usize).copied().unwrap_or(Time::ZERO)
}

impl Stamps {
    pub fn new(scenario: &Scenario) -> Self {
        let mut tcp = scenario.groups.iter().filter_map(|group| group.transport.tcp());
        let used = tcp.any(TcpConfig::has_stamps);
        Self { used, by_packet: Vec::new(), by_flow: Vec::new() }
    }

    /// Data packet `handle` is sent at `now`.
    pub fn send(&mut self, handle: u32, now: Time) {
        put(&mut self.by_packet, handle, now);
    }

    /// Data packet `handle` of `flow` reaches its receiver at `at`.
    pub fn receive(&mut self, handle: u32, flow: u32, at: Time) {
        let delay = at.since(get(&self.by_packet, handle));
        put(&mut self.by_flow, flow, delay);
    }

    /// ACK `handle` of `flow` reports the delay of the last segment that came.
    pub fn report(&mut self, handle: u32, flow: u32) {
        let delay = get(&self.by_flow, flow);
        put(&mut self.by_packet, handle, delay);
    }

    /// ACK `handle` echoes the timestamp of data that was sent at `sent`.
    pub fn echo(&mut self, handle: u32, sent: Time) {
        put(&mut self.by_packet, handle, sent);
    }

    /// When data packet `handle` was sent, or what ACK `handle` reports.
    pub fn of(&self, handle: u32) -> Time {
        get(&self.by_packet, handle)
    }
}
