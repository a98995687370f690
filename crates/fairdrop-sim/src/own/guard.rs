//! Watches a queue of somebody's own: packets are neither lost, nor made, nor changed.

use super::desk::{Desk, Host};
use super::fault::{Fault, Place, Wrong};
use super::hosted::Queue;
use super::queue::OwnQueue;
use crate::meter::Shows;
use fairdrop::{Backlog, Count, DisciplineInfo, DropCause, Env, Packet, Time};
use fairdrop_capture::count;
use std::fmt;

/// A queue that is watched. After a fault it does nothing any more but drop what arrives.
pub struct Guarded {
    name: &'static str,
    timed: bool,
    queue: Box<dyn OwnQueue>,
    desk: Desk,
    offered: u64,
    fault: Option<Box<Fault>>,
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(self.name).field(&self.desk.waiting().backlog).finish()
    }
}

impl Guarded {
    /// An empty `queue` of what `info` says, which was made with `desk`.
    pub fn new(info: &'static DisciplineInfo, queue: Box<dyn OwnQueue>, desk: Desk) -> Self {
        let name = info.name;
        let timed = info.timed || queue.holds_back();
        Self { name, timed, queue, desk, offered: 0, fault: None }
    }

    /// Whether it wants to be called at its deadlines.
    pub fn is_timed(&self) -> bool {
        self.timed
    }

    /// What ended it.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_deref()
    }

    /// Visits every waiting packet, in no order.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<u32>)) {
        self.desk.waiting().iter().for_each(visit);
    }

    /// A call has ended: was it in order?
    #[inline]
    fn judge(&mut self, call: &'static str, done: Result<(), Box<Wrong>>) {
        if done.is_err() || !self.desk.is_in_order() {
            self.set_fault(call, done.err());
        }
    }

    #[cold]
    #[inline(never)]
    fn set_fault(&mut self, call: &'static str, wrong: Option<Box<Wrong>>) {
        let wrong = wrong.or(self.desk.take_wrong());
        let wrong = wrong.map_or_else(|| self.miscounted().into(), |wrong| *wrong);
        let fault = Fault::new(self.name, wrong, call, self.desk.now(), Place::Packet(self.offered));
        self.fault.get_or_insert_with(|| Box::new(fault));
    }

    /// What it says that waits is not what waits.
    fn miscounted(&self) -> String {
        let (said, waits) = (self.desk.backlog, self.desk.waiting().backlog);
        format!(
            "it says that {} of {} wait, where {} of {} should: it has lost some, or counts them wrongly",
            count(u64::from(said.packets), "packet"),
            count(said.bytes, "byte"),
            waits.packets,
            waits.bytes
        )
    }

    /// When `tick` wants to be called.
    pub fn deadline(&self) -> Option<Time> {
        self.queue.deadline().filter(|_| self.fault.is_none())
    }

    /// What it has marked, by cause.
    pub fn marked(&self) -> &[Count; DropCause::COUNT] {
        self.queue.marked().unwrap_or(self.desk.marks())
    }

    /// The average queue in packets that it decides by.
    pub fn average_packets(&self) -> Option<f64> {
        let shown = || self.desk.names.iter().position(|name| *name == "avg").map(|at| self.desk.values[at]);
        self.queue.average_packets().or_else(shown)
    }
}

impl Shows for Guarded {
    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        let name = |at: usize| self.desk.names.get(at).copied().unwrap_or_default();
        self.desk.values.iter().enumerate().for_each(|(at, value)| see(name(at), *value));
    }

    fn departures_change_internals(&self) -> bool {
        self.queue.departures_change_internals()
    }
}

impl Queue for Guarded {
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet<u32>, host: &mut impl Host) {
        self.offered += 1;
        if self.fault.is_some() {
            return host.dropped(packet, DropCause::Overflow);
        }
        self.desk.offer(&packet, host);
        let done = self.queue.enqueue(&packet, &mut self.desk);
        self.desk.settle(&packet, host);
        self.judge("enqueue", done);
    }

    #[inline(always)]
    fn dequeue(&mut self, host: &mut impl Host) -> Option<Packet<u32>> {
        if self.fault.is_some() {
            return None;
        }
        self.desk.begin(host.now());
        let (packet, done) = match self.queue.dequeue(&mut self.desk) {
            Ok(packet) => (packet, Ok(())),
            Err(wrong) => (None, Err(wrong)),
        };
        self.desk.hand_over(host);
        let packet = packet.filter(|packet| self.desk.send(packet));
        self.judge("dequeue", done);
        packet
    }

    fn tick(&mut self, host: &mut impl Host) {
        if self.fault.is_some() {
            return;
        }
        self.desk.begin(host.now());
        let done = self.queue.tick(&mut self.desk);
        self.desk.hand_over(host);
        if let Some(at) = self.queue.deadline().filter(|&at| at <= host.now()) {
            self.desk.fail(format!("its next deadline, {} s, is not after now", at.seconds()));
        }
        self.judge("tick", done);
    }

    fn backlog(&self) -> Backlog {
        self.desk.waiting().backlog
    }
}
