//! Watches a user-defined queue: packets are neither lost, nor made, nor changed.

use crate::desk::{Desk, Fifo};
use crate::fault::{Fault, Place};
use crate::queue::{ExtensionQueue, Gate};
use fairdrop::{Backlog, Count, DisciplineInfo, DropCause, Env, Packet, Time};
use fairdrop_capture::count;
use fairdrop_link::{Host, Queue, Shows};
use fairdrop_tcp::congestion::Wrong;
use std::fmt;

/// Calls of a timer after which is looked whether time goes on.
const MANY_TICKS: u32 = 1 << 16;
/// Simulated time between calls of a timer, on average, below which it does not go on: less than a byte takes on most links.
const LEAST_BETWEEN: Time = Time::from_ns(100);
/// Calls of a timer per packet that arrives, up to which a crowd of packets explains them.
const MOST_PER_PACKET: u64 = 16;

/// What is watched.
pub enum Watched {
    /// A queue that keeps its packets.
    Queue(Box<dyn ExtensionQueue>),
    /// One whose packets wait at the desk.
    Gate(Box<dyn Gate>),
}

/// The same expression on whichever it is.
macro_rules! each {
    ($queue:expr, $name:ident => $call:expr) => {
        match $queue {
            Watched::Queue($name) => $call,
            Watched::Gate($name) => $call,
        }
    };
}

/// A queue that is watched. After a fault it does nothing any more but drop what arrives.
pub struct Guarded {
    name: &'static str,
    timed: bool,
    queue: Watched,
    desk: Desk,
    offered: u64,
    /// Whether it has given a packet to send.
    has_given: bool,
    ticks: Ticks,
    fault: Option<Box<Fault>>,
}

/// Calls of the timer, and when and at which packet they were counted from.
#[derive(Debug, Default)]
struct Ticks {
    count: u32,
    since: Time,
    offered: u64,
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(self.name).field(&self.backlog()).finish()
    }
}

impl Guarded {
    /// An empty `queue` of what `info` says, which was made with `desk`.
    pub fn new(info: &'static DisciplineInfo, queue: Watched, mut desk: Desk) -> Self {
        if let Watched::Gate(_) = queue {
            desk.open_gate();
        }
        let name = info.name;
        let timed = info.timed || matches!(&queue, Watched::Queue(queue) if queue.holds_back());
        let ticks = Ticks::default();
        Self { name, timed, queue, desk, offered: 0, has_given: false, ticks, fault: None }
    }

    /// Whether it wants to be called at its deadlines.
    pub fn is_timed(&self) -> bool {
        self.timed
    }

    /// What ended it.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_deref()
    }

    /// The waiting packets, where they wait in the FIFO at the desk.
    #[inline]
    pub fn fifo(&self) -> Option<&Fifo> {
        matches!(self.queue, Watched::Gate(_)).then(|| self.desk.fifo())
    }

    /// Visits every waiting packet, in no order.
    pub fn for_each_waiting(&self, mut visit: impl FnMut(&Packet<u32>)) {
        self.desk.waiting().iter().for_each(&mut visit);
        if let Watched::Gate(_) = self.queue {
            self.desk.fifo().iter().for_each(visit);
        }
    }

    /// The head of the FIFO at the desk.
    #[inline]
    fn dequeue_behind_gate(&mut self, host: &mut impl Host) -> Option<Packet<u32>> {
        let packet = self.desk.next();
        if packet.is_none() {
            self.fall_idle(host);
        }
        packet
    }

    #[cold]
    #[inline(never)]
    fn fall_idle(&mut self, host: &mut impl Host) {
        self.desk.begin(host.now());
        if let Watched::Gate(gate) = &mut self.queue {
            gate.idle(&mut self.desk);
        }
        self.desk.hand_over(host);
        self.judge_gate("dequeue");
    }

    /// A call of the gate has ended: was it in order?
    #[inline]
    fn judge_gate(&mut self, call: &'static str) {
        if !self.desk.has_nothing_in_hand() {
            self.set_fault(call, None);
        }
    }

    /// A call of the queue has ended: was it in order?
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
        let wrong = wrong.map_or_else(|| self.out_of_order().into(), |wrong| *wrong);
        let fault = Fault::new(self.name, wrong, call, self.desk.now(), Place::Packet(self.offered));
        self.fault.get_or_insert_with(|| Box::new(fault));
    }

    /// It was asked for a packet, and gave none: the link is idle. Without a deadline nobody asks again before a packet arrives.
    fn judge_idle(&mut self) {
        if self.waiting_packets() > 0 && self.deadline().is_none() {
            let packets = self.stranded();
            self.desk.fail(format!(
                "it gave no packet to send, though {packets} and no timer is set: the link stays idle; valid: to give one of \
                 them, or to set a timer for when it will"
            ));
            self.set_fault("dequeue", None);
        }
    }

    /// The run has ended at `now`: whether anything ever left.
    pub fn end(&mut self, now: Time) {
        // A gate gives what is at the head.
        let gives = self.has_given || matches!(self.queue, Watched::Gate(_));
        if self.fault.is_none() && !gives && self.waiting_packets() > 0 {
            let packets = self.stranded();
            self.desk.begin(now);
            self.desk.fail(format!("it has given no packet to send to the end of the run, though {packets}"));
            self.set_fault("dequeue", None);
        }
    }

    fn waiting_packets(&self) -> u32 {
        let fifo = if let Watched::Gate(_) = self.queue { self.desk.fifo().len() } else { 0 };
        self.desk.waiting().backlog.packets + fifo
    }

    fn stranded(&self) -> String {
        let packets = self.waiting_packets();
        format!("{} wait{}", count(u64::from(packets), "packet"), if packets == 1 { "s" } else { "" })
    }

    /// The timer is called: does time go on from call to call?
    fn count_tick(&mut self, now: Time) {
        self.ticks.count += 1;
        if self.ticks.count < MANY_TICKS {
            return;
        }
        let Ticks { count: ticks, since, offered } = self.ticks;
        self.ticks = Ticks { count: 0, since: now, offered: self.offered };
        let (span, packets) = (now.since(since), self.offered - offered);
        let is_stuck = span.ns() < u64::from(ticks) * LEAST_BETWEEN.ns();
        if is_stuck && u64::from(ticks) > packets * MOST_PER_PACKET {
            self.desk.fail(format!(
                "its timer was called {ticks} times within {} s, while {} arrived: simulated time does not go on; valid: a \
                 timer for when something is due",
                span.seconds(),
                count(packets, "packet")
            ));
        }
    }

    /// A value that it decides by is no number, or its count of waiting packets is wrong.
    fn out_of_order(&self) -> String {
        if let Some((name, value)) = self.desk.unshowable() {
            return format!("{name} = {value} is not valid among its internals; valid: a finite number");
        }
        let (counted, waits) = (self.desk.backlog, self.desk.waiting().backlog);
        if let Watched::Gate(_) = self.queue {
            return format!(
                "it has taken {} out of the FIFO, and neither dropped nor put back",
                count(u64::from(waits.packets), "packet")
            );
        }
        format!(
            "it says that {} of {} wait, where {} of {} should: it has lost some, or counts them wrongly",
            count(u64::from(counted.packets), "packet"),
            count(counted.bytes, "byte"),
            waits.packets,
            waits.bytes
        )
    }

    /// When `tick` wants to be called.
    pub fn deadline(&self) -> Option<Time> {
        if !self.timed {
            return None;
        }
        each!(&self.queue, queue => queue.deadline()).filter(|_| self.fault.is_none())
    }

    /// What it has marked, by cause.
    pub fn marked(&self) -> &[Count; DropCause::COUNT] {
        let own = if let Watched::Queue(queue) = &self.queue { queue.marked() } else { None };
        own.unwrap_or(self.desk.marks())
    }

    /// The average queue in packets that it decides by.
    pub fn average_packets(&self) -> Option<f64> {
        let shown = || self.desk.names.iter().position(|name| *name == "avg").map(|at| self.desk.values[at]);
        let own = if let Watched::Queue(queue) = &self.queue { queue.average_packets() } else { None };
        own.or_else(shown)
    }
}

impl Shows for Guarded {
    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        let name = |at: usize| self.desk.names.get(at).copied().unwrap_or_default();
        self.desk.values.iter().enumerate().for_each(|(at, value)| see(name(at), *value));
    }

    fn departures_change_internals(&self) -> bool {
        each!(&self.queue, queue => queue.departures_change_internals())
    }
}

impl Queue for Guarded {
    #[inline(always)]
    fn enqueue(&mut self, mut packet: Packet<u32>, host: &mut impl Host) {
        host.shows(self);
        self.offered += 1;
        if self.fault.is_some() {
            return host.dropped(packet, DropCause::Overflow);
        }
        self.desk.offer(&packet, host.now());
        let done = match &mut self.queue {
            Watched::Queue(queue) => {
                self.desk.introduce(&packet, host);
                let done = queue.enqueue(&packet, &mut self.desk);
                self.desk.settle(&packet, host);
                done
            }
            Watched::Gate(gate) => {
                let verdict = gate.admit(&mut packet, &mut self.desk);
                self.desk.carry_out(verdict, &packet, host);
                return self.judge_gate("enqueue");
            }
        };
        self.judge("enqueue", done);
    }

    #[inline(always)]
    fn dequeue(&mut self, host: &mut impl Host) -> Option<Packet<u32>> {
        if self.fault.is_some() {
            return None;
        }
        let queue = match &mut self.queue {
            Watched::Queue(queue) => queue,
            Watched::Gate(_) => return self.dequeue_behind_gate(host),
        };
        self.desk.begin(host.now());
        let (packet, done) = match queue.dequeue(&mut self.desk) {
            Ok(packet) => (packet, Ok(())),
            Err(wrong) => (None, Err(wrong)),
        };
        self.desk.hand_over(host);
        let packet = packet.filter(|packet| self.desk.send(packet));
        self.judge("dequeue", done);
        if packet.is_some() {
            self.has_given = true;
        } else if self.fault.is_none() {
            self.judge_idle();
        }
        packet
    }

    fn tick(&mut self, host: &mut impl Host) {
        if self.fault.is_some() {
            return;
        }
        self.desk.begin(host.now());
        let done = match &mut self.queue {
            Watched::Queue(queue) => queue.tick(&mut self.desk),
            Watched::Gate(gate) => {
                gate.tick(&mut self.desk);
                Ok(())
            }
        };
        self.desk.hand_over(host);
        if let Some(at) = each!(&self.queue, queue => queue.deadline()).filter(|&at| at <= host.now()) {
            self.desk.fail(format!("its next deadline, {} s, is not after now", at.seconds()));
        }
        self.count_tick(host.now());
        self.judge("tick", done);
    }

    fn backlog(&self) -> Backlog {
        let Backlog { packets, bytes } = self.desk.waiting().backlog;
        match self.queue {
            Watched::Queue(_) => Backlog { packets, bytes },
            Watched::Gate(_) => {
                let fifo = self.desk.fifo();
                Backlog { packets: packets + fifo.len(), bytes: bytes + fifo.bytes() }
            }
        }
    }
}
