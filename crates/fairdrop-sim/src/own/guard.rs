//! Watches a queue of somebody's own: packets are neither lost, nor made, nor changed.

use super::fault::{Fault, Place, Wrong};
use super::queue::OwnQueue;
use fairdrop::{Backlog, Discipline, DisciplineInfo, DropCause, Env, Hosts, Packet, Stats, Stream, Time};
use fairdrop_capture::count;
use std::fmt;

/// The packets that wait, by handle.
#[derive(Debug, Default)]
struct Waiting {
    packets: Vec<Option<Packet<u32>>>,
    backlog: Backlog,
    /// What was wrong with a packet that was dropped during this call.
    wrong: Option<Box<Wrong>>,
}

impl Waiting {
    #[inline]
    fn add(&mut self, packet: Packet<u32>) {
        let place = packet.handle as usize;
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.meta.len);
        match self.packets.get_mut(place) {
            Some(slot) => *slot = Some(packet),
            None => self.add_beyond(place, packet),
        }
    }

    #[cold]
    fn add_beyond(&mut self, place: usize, packet: Packet<u32>) {
        self.packets.resize((place + 1).next_power_of_two(), None);
        self.packets[place] = Some(packet);
    }

    /// Takes out a packet that leaves the queue as `packet`; says what is wrong with it.
    fn take(&mut self, packet: &Packet<u32>) -> Result<(), String> {
        let place = self.packets.get_mut(packet.handle as usize);
        let Some(known) = place.and_then(Option::take) else {
            return Err("it gave a packet that does not wait in it".into());
        };
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(known.meta.len);
        let same =
            |packet: &Packet<u32>| (packet.meta.flow, packet.meta.len, packet.meta.class, packet.enqueued);
        if same(&known) == same(packet) {
            return Ok(());
        }
        Err(format!(
            "it changed a packet: flow, length, class and time of arrival were {:?} and are {:?}",
            same(&known),
            same(packet)
        ))
    }
}

/// The host's environment, for one call, with an eye on what is dropped.
struct Watched<'a, E> {
    env: &'a mut E,
    waiting: &'a mut Waiting,
}

impl<E: Env<u32>> Env<u32> for Watched<'_, E> {
    fn now(&self) -> Time {
        self.env.now()
    }

    fn random(&mut self, stream: Stream) -> u64 {
        self.env.random(stream)
    }

    fn flow_key(&self) -> [u64; 2] {
        self.env.flow_key()
    }

    fn hosts(&self, packet: &Packet<u32>) -> Hosts {
        self.env.hosts(packet)
    }

    fn dropped(&mut self, packet: Packet<u32>, cause: DropCause) {
        match self.waiting.take(&packet) {
            Ok(()) => self.env.dropped(packet, cause),
            Err(wrong) => {
                let wrong = format!("dropping for {}, {wrong}", cause.name());
                self.waiting.wrong = Some(Box::new(wrong.into()));
            }
        }
    }

    fn drawn(&mut self, candidate: &Packet<u32>) {
        self.env.drawn(candidate);
    }
}

/// A queue that is watched. After a fault it does nothing any more but drop what arrives.
pub struct Guarded {
    name: &'static str,
    timed: bool,
    queue: Box<dyn OwnQueue>,
    waiting: Waiting,
    offered: u64,
    fault: Option<Box<Fault>>,
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(self.name).field(&self.waiting.backlog).finish()
    }
}

impl Guarded {
    /// An empty `queue` of what `info` says.
    pub fn new(info: &'static DisciplineInfo, queue: Box<dyn OwnQueue>) -> Self {
        let DisciplineInfo { name, timed, .. } = *info;
        Self { name, timed, queue, waiting: Waiting::default(), offered: 0, fault: None }
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
        self.waiting.packets.iter().flatten().for_each(visit);
    }

    /// One call of the queue, and what it did to the packets. `None` when it was at fault.
    fn call<E: Env<u32>, R>(
        &mut self,
        call: &'static str,
        env: &mut E,
        work: impl FnOnce(&mut dyn OwnQueue, &mut dyn Env<u32>) -> Result<R, Box<Wrong>>,
    ) -> Option<R> {
        let at = env.now();
        let done = work(&mut *self.queue, &mut Watched { env, waiting: &mut self.waiting });
        match (done, self.waiting.wrong.take()) {
            (Ok(done), None) => Some(done),
            (Err(wrong), _) | (Ok(_), Some(wrong)) => self.set_fault(call, at, *wrong),
        }
    }

    #[cold]
    fn set_fault<R>(&mut self, call: &'static str, at: Time, wrong: impl Into<Wrong>) -> Option<R> {
        let fault = Fault::new(self.name, wrong.into(), call, at, Place::Packet(self.offered));
        self.fault.get_or_insert_with(|| Box::new(fault));
        None
    }

    /// Compares what it says that waits with what waits.
    #[inline]
    fn check(&mut self, call: &'static str, at: Time) {
        if let Some(said) = self.queue.backlog()
            && said != self.waiting.backlog
        {
            self.miscounted(call, at, said);
        }
    }

    #[cold]
    fn miscounted(&mut self, call: &'static str, at: Time, said: Backlog) {
        let waits = self.waiting.backlog;
        let what = format!(
            "it says that {} of {} wait, where {} of {} should: it has lost some, or counts them wrongly",
            count(u64::from(said.packets), "packet"),
            count(said.bytes, "byte"),
            waits.packets,
            waits.bytes
        );
        let _: Option<()> = self.set_fault(call, at, what);
    }
}

impl Discipline<u32> for Guarded {
    #[inline(never)]
    fn enqueue<E: Env<u32>>(&mut self, packet: Packet<u32>, env: &mut E) {
        self.offered += 1;
        if self.fault.is_some() {
            return env.dropped(packet, DropCause::Overflow);
        }
        self.waiting.add(packet.clone());
        self.call("enqueue", env, |queue, env| queue.enqueue(packet, env));
        self.check("enqueue", env.now());
    }

    #[inline(never)]
    fn dequeue<E: Env<u32>>(&mut self, env: &mut E) -> Option<Packet<u32>> {
        if self.fault.is_some() {
            return None;
        }
        let packet = self.call("dequeue", env, |queue, env| queue.dequeue(env))??;
        if let Err(what) = self.waiting.take(&packet) {
            return self.set_fault("dequeue", env.now(), what);
        }
        self.check("dequeue", env.now());
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog
    }

    fn stats(&self) -> &Stats {
        self.queue.stats()
    }

    fn average_packets(&self) -> Option<f64> {
        self.queue.average_packets()
    }

    #[inline(never)]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        self.queue.internals(&mut see);
    }

    fn departures_change_internals(&self) -> bool {
        self.queue.departures_change_internals()
    }

    fn deadline(&self) -> Option<Time> {
        self.queue.deadline().filter(|_| self.fault.is_none())
    }

    fn tick<E: Env<u32>>(&mut self, env: &mut E) {
        if self.fault.is_none() {
            self.call("tick", env, |queue, env| queue.tick(env));
            self.check("tick", env.now());
            if let Some(at) = Discipline::deadline(self).filter(|&at| at <= env.now()) {
                let what = format!("its next deadline, {} s, is not after now", at.seconds());
                let _: Option<()> = self.set_fault("tick", env.now(), what);
            }
        }
    }
}
