//! What few transports have in a packet, kept apart from all packets. Timestamps: when a data packet was sent, and, on the
//! ACK, how long it took to the receiver (RFC 6817, section 2.2) or, echoed, when a data packet was sent (RFC 7323); hosts'
//! clocks agree. And what an ACK says of marks by accurate ECN (RFC 9768).

use crate::scenario::Scenario;
use fairdrop::Time;
use fairdrop_tcp::accurate_ecn::Feedback;

/// Options under way, and timestamps that a receiver has taken.
#[derive(Debug)]
pub struct Options {
    /// Whether any flow has some.
    pub used: bool,
    /// Timestamps by packet handle: of data when it was sent, of an ACK what it reports.
    stamps: Vec<Time>,
    /// By flow: the one-way delay of the last segment that came.
    delays: Vec<Time>,
    /// By the handle of an ACK.
    feedback: Vec<Feedback>,
}

fn put<T: Copy + Default>(values: &mut Vec<T>, at: u32, value: T) {
    let at = at as usize;
    if values.len() <= at {
        values.resize(at + 1, T::default());
    }
    values[at] = value;
}

fn get<T: Copy + Default>(values: &[T], at: u32) -> T {
    values.get(at as usize).copied().unwrap_or_default()
}

impl Options {
    pub fn new(scenario: &Scenario) -> Self {
        let mut tcp = scenario.groups.iter().filter_map(|group| group.transport.tcp());
        let used = tcp.any(|tcp| tcp.has_options());
        Self { used, stamps: Vec::new(), delays: Vec::new(), feedback: Vec::new() }
    }

    /// Data packet `handle` is sent at `now`.
    pub fn send(&mut self, handle: u32, now: Time) {
        put(&mut self.stamps, handle, now);
    }

    /// Data packet `handle` of `flow` reaches its receiver at `at`.
    pub fn receive(&mut self, handle: u32, flow: u32, at: Time) {
        let delay = at.since(get(&self.stamps, handle));
        put(&mut self.delays, flow, delay);
    }

    /// ACK `handle` of `flow` reports the delay of the last segment that came.
    pub fn report(&mut self, handle: u32, flow: u32) {
        let delay = get(&self.delays, flow);
        put(&mut self.stamps, handle, delay);
    }

    /// ACK `handle` echoes the timestamp of data that was sent at `sent`.
    pub fn echo(&mut self, handle: u32, sent: Time) {
        put(&mut self.stamps, handle, sent);
    }

    /// When data packet `handle` was sent, or what the timestamp of ACK `handle` reports.
    pub fn stamp(&self, handle: u32) -> Time {
        get(&self.stamps, handle)
    }

    /// ACK `handle` says this of marks.
    pub fn feed_back(&mut self, handle: u32, feedback: Feedback) {
        put(&mut self.feedback, handle, feedback);
    }

    /// What ACK `handle` says of marks.
    pub fn feedback(&self, handle: u32) -> Feedback {
        get(&self.feedback, handle)
    }

    /// Packet `copy` carries what `handle` does.
    pub fn copy(&mut self, handle: u32, copy: u32) {
        let (stamp, feedback) = (self.stamp(handle), self.feedback(handle));
        put(&mut self.stamps, copy, stamp);
        put(&mut self.feedback, copy, feedback);
    }
}
