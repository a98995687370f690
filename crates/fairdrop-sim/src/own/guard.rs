//! Watches a queue of somebody's own: packets are neither lost, nor made, nor changed.

use super::desk::Desk;
use super::fault::{Fault, Place, Wrong};
use super::queue::OwnQueue;
use fairdrop::{Backlog, Discipline, DisciplineInfo, DropCause, Env, Packet, Stats, Time};
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
        let DisciplineInfo { name, timed, .. } = *info;
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

    /// A call has ended: looks at what it did to the packets. `None` when it was at fault.
    #[inline]
    fn judge<R>(&mut self, call: &'static str, done: Result<R, Box<Wrong>>) -> Option<R> {
        match done {
            Ok(done) if self.desk.is_in_order() => Some(done),
            Ok(_) => self.set_fault(call, None),
            Err(wrong) => self.set_fault(call, Some(wrong)),
        }
    }

    #[cold]
    fn set_fault<R>(&mut self, call: &'static str, wrong: Option<Box<Wrong>>) -> Option<R> {
        let wrong = wrong.or(self.desk.take_wrong());
        let wrong = wrong.map_or_else(|| self.miscounted().into(), |wrong| *wrong);
        let fault = Fault::new(self.name, wrong, call, self.desk.now(), Place::Packet(self.offered));
        self.fault.get_or_insert_with(|| Box::new(fault));
        None
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
}

impl Discipline<u32> for Guarded {
    #[inline(never)]
    fn enqueue<E: Env<u32>>(&mut self, packet: Packet<u32>, env: &mut E) {
        self.offered += 1;
        if self.fault.is_some() {
            return env.dropped(packet, DropCause::Overflow);
        }
        self.desk.begin(env.now());
        self.desk.offer(&packet);
        let done = self.queue.enqueue(packet, &mut self.desk);
        self.desk.hand_over(env);
        self.judge("enqueue", done);
    }

    #[inline(never)]
    fn dequeue<E: Env<u32>>(&mut self, env: &mut E) -> Option<Packet<u32>> {
        if self.fault.is_some() {
            return None;
        }
        self.desk.begin(env.now());
        let done = self.queue.dequeue(&mut self.desk);
        self.desk.hand_over(env);
        if let Ok(Some(packet)) = &done {
            self.desk.send(packet);
        }
        self.judge("dequeue", done)?
    }

    fn backlog(&self) -> Backlog {
        self.desk.waiting().backlog
    }

    fn stats(&self) -> &Stats {
        self.queue.stats().unwrap_or(self.desk.stats())
    }

    fn average_packets(&self) -> Option<f64> {
        let shown = || self.desk.values.iter().find(|(name, _)| *name == "avg").map(|(_, value)| *value);
        self.queue.average_packets().or_else(shown)
    }

    #[inline(never)]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        self.desk.values.iter().for_each(|(name, value)| see(name, *value));
    }

    fn departures_change_internals(&self) -> bool {
        self.queue.departures_change_internals()
    }

    fn deadline(&self) -> Option<Time> {
        self.queue.deadline().filter(|_| self.fault.is_none())
    }

    fn tick<E: Env<u32>>(&mut self, env: &mut E) {
        if self.fault.is_some() {
            return;
        }
        self.desk.begin(env.now());
        let done = self.queue.tick(&mut self.desk);
        self.desk.hand_over(env);
        if let Some(at) = self.queue.deadline().filter(|&at| at <= env.now()) {
            self.desk.fail(format!("its next deadline, {} s, is not after now", at.seconds()));
        }
        self.judge("tick", done);
    }
}
