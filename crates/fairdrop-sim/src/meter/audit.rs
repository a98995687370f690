//! What arrived and what waits, counted by flow beside the meter, whose own counters leave both to follow from others. Kept
//! in builds with debug assertions only, where it is compared at every event.

use super::flow_count::FlowCount;
use fairdrop::Count;

/// One flow.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Since the window opened.
    arrived: Count,
    waiting: Count,
}

/// The second account of one queue.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    seen: Vec<Seen>,
}

impl Audit {
    fn of(&mut self, flow: u32) -> &mut Seen {
        let needed = self.seen.len().max(flow as usize + 1);
        self.seen.resize(needed, Seen::default());
        &mut self.seen[flow as usize]
    }

    #[inline]
    pub fn arrived(&mut self, flow: u32, len: u32) {
        if cfg!(debug_assertions) {
            self.of(flow).arrived.add(len);
        }
    }

    #[inline]
    pub fn joined(&mut self, flow: u32, len: u32) {
        if cfg!(debug_assertions) {
            self.of(flow).waiting.add(len);
        }
    }

    #[inline]
    pub fn left(&mut self, flow: u32, len: u32) {
        if cfg!(debug_assertions) {
            let waiting = &mut self.of(flow).waiting;
            waiting.packets -= 1;
            waiting.bytes -= u64::from(len);
        }
    }

    pub fn open(&mut self) {
        self.seen.iter_mut().for_each(|seen| seen.arrived = Count::default());
    }

    /// Conservation: what arrived since the window opened, or was there then, has left, was dropped, or is here.
    pub fn check_flow(&self, flow: u32, count: &FlowCount, in_transmission: Option<(u32, u32)>) {
        let Seen { arrived, waiting } = self.seen.get(flow as usize).copied().unwrap_or_default();
        let held = with(waiting, flow, in_transmission);
        let FlowCount { sent, dropped, held_at_start: start, .. } = count;
        let came = (start.packets + arrived.packets, start.bytes + arrived.bytes);
        let went = (sent.packets + dropped.packets + held.packets, sent.bytes + dropped.bytes + held.bytes);
        assert_eq!(came, went, "conservation of packets and bytes of flow {flow}");
    }

    /// The same when the window is closed, against what the meter makes of it.
    pub fn check_closed(&self, counts: &[FlowCount], in_transmission: Option<(u32, u32)>) {
        for (flow, (seen, count)) in (0..).zip(self.seen.iter().zip(counts)) {
            assert_eq!(seen.arrived, count.arrived(), "arrivals of flow {flow}");
            assert_eq!(with(seen.waiting, flow, in_transmission), count.held, "what is left of flow {flow}");
        }
    }
}

/// What waits of a flow, and is in transmission.
fn with(waiting: Count, flow: u32, in_transmission: Option<(u32, u32)>) -> Count {
    let mut held = waiting;
    if let Some((_, len)) = in_transmission.filter(|&(sent, _)| sent == flow) {
        held.add(len);
    }
    held
}

// Without debug assertions nothing is kept.
#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;
    use fairdrop::DropCause;

    /// Of three packets one waits, one is in transmission, and one was dropped.
    fn three(audit: &mut Audit) -> FlowCount {
        let mut count = FlowCount::of_group(0);
        (0..3).for_each(|_| audit.arrived(1, 100));
        (0..2).for_each(|_| audit.joined(1, 100));
        audit.left(1, 100);
        count.count_drop(100, DropCause::Overflow);
        count
    }

    #[test]
    fn balanced_accounts() {
        let mut audit = Audit::default();
        let mut count = three(&mut audit);
        audit.check_flow(1, &count, Some((1, 100)));
        count.held = Count { packets: 2, bytes: 200 };
        audit.check_closed(&[FlowCount::of_group(0), count], Some((1, 100)));
    }

    #[test]
    #[should_panic(expected = "conservation of packets and bytes of flow 1")]
    fn a_packet_that_vanished() {
        let mut audit = Audit::default();
        let count = three(&mut audit);
        audit.check_flow(1, &count, None);
    }

    #[test]
    #[should_panic(expected = "what is left of flow 1")]
    fn a_packet_that_was_left_out_at_the_end() {
        let mut audit = Audit::default();
        let mut count = three(&mut audit);
        count.sent.add(100);
        count.held = Count { packets: 1, bytes: 100 };
        audit.check_closed(&[FlowCount::of_group(0), count], Some((1, 100)));
    }
}
