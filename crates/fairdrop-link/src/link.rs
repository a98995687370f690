//! A link in logical time.

use crate::channel::{Channel, Copies, Flight};
use crate::counters::{Cause, Counters, HostCause};
use crate::environment::Environment;
use crate::outcome::{Fate, Outcome};
use crate::pace::{Pace, Pacer};
use crate::queue::{Dropped, Host, Observer, Queue, Shows};
use crate::transmitter::Transmitter;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use fairdrop::{AnyDiscipline, Backlog, Discipline, Heap, Hosts, Meta, Packet, Time};

/// Configuration of a link, beside its queue.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Pace of departures.
    pub pace: Pace,
    /// Delay, loss and impairments on the path to the other end.
    pub channel: Channel,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Names the random streams beside the seed: links of one host have different ones.
    pub number: u32,
    /// Key of the tables by flow; secret, from the operating system, unless all senders are trusted.
    pub flow_key: [u64; 2],
    /// Largest number of packets anywhere in the link, for which room is reserved.
    pub frames: u32,
}

/// One direction of a link in logical time.
///
/// Departures are computed from arrivals and the pace. The owner reports arrivals ([`Link::arrive`]), advances the time
/// ([`Link::advance`]) to [`Link::next_event`] or beyond, and takes the results from [`Link::outcomes`]; it may do so late,
/// and the times stay the same.
#[derive(Debug)]
pub struct Link {
    queue: Exchangeable,
    transmitter: Transmitter<Ledger>,
    /// Time at which the packet in transmission left the queue, and end of its transmission.
    taken: Time,
    done: Time,
    flight: Flight,
    clock: Time,
    /// Time of the next event without further arrivals; [`Time::NEVER`] if there is none.
    due: Time,
    /// The packets that the discipline still lists have been dropped.
    shut_down: bool,
}

/// A discipline, behind packets that waited when it took over.
#[derive(Debug)]
struct Exchangeable {
    discipline: AnyDiscipline<u32, Heap>,
    /// They leave first.
    carried: VecDeque<Packet<u32>>,
    carried_bytes: u64,
}

impl Exchangeable {
    fn for_each(&self, mut visit: impl FnMut(&Packet<u32>)) {
        self.carried.iter().for_each(&mut visit);
        self.discipline.for_each_waiting(visit);
    }
}

impl Shows for Exchangeable {
    fn internals(&self, see: impl FnMut(&'static str, f64)) {
        Shows::internals(&self.discipline, see);
    }

    fn departures_change_internals(&self) -> bool {
        Shows::departures_change_internals(&self.discipline)
    }
}

impl Queue for Exchangeable {
    #[inline]
    fn enqueue(&mut self, packet: Packet<u32>, host: &mut impl Host) {
        Discipline::enqueue(&mut self.discipline, packet, host);
    }

    #[inline]
    fn dequeue(&mut self, host: &mut impl Host) -> Option<Packet<u32>> {
        match self.carried.pop_front() {
            Some(packet) => {
                self.carried_bytes -= u64::from(packet.meta.len);
                Some(packet)
            }
            None => Discipline::dequeue(&mut self.discipline, host),
        }
    }

    fn tick(&mut self, host: &mut impl Host) {
        Discipline::tick(&mut self.discipline, host);
    }

    fn backlog(&self) -> Backlog {
        let Backlog { packets, bytes } = Discipline::backlog(&self.discipline);
        Backlog { packets: packets + self.carried.len() as u32, bytes: bytes + self.carried_bytes }
    }
}

/// Counters, and outcomes of packets.
#[derive(Debug)]
struct Ledger {
    counters: Counters,
    outcomes: Vec<Outcome>,
}

impl Ledger {
    fn deliver(&mut self, outcome: Outcome) {
        self.counters.deliver(outcome.meta.len);
        self.outcomes.push(outcome);
    }

    fn drop(&mut self, at: Time, packet: &Packet<u32>, cause: Cause) {
        self.counters.drop(packet.meta.len, cause);
        self.outcomes.push(Outcome::of(packet, at, Fate::Dropped(cause)));
    }
}

impl Observer for Ledger {
    type Arrival = ();
    type Lost = ();

    #[inline]
    fn dropped(&mut self, now: Time, packet: &Packet<u32>, Dropped { cause, .. }: Dropped, (): &mut ()) {
        self.drop(now, packet, Cause::Queue(cause));
    }
}

impl Link {
    /// A link with an empty `discipline`, whose time begins at `now`.
    pub fn new(discipline: AnyDiscipline<u32, Heap>, config: LinkConfig, now: Time) -> Self {
        let LinkConfig { pace, channel, seed, number, flow_key, frames } = config;
        let room = frames as usize;
        let ledger = Ledger { counters: Counters::default(), outcomes: Vec::with_capacity(room) };
        let environment = Environment::new(seed, number, flow_key);
        Self {
            queue: Exchangeable { discipline, carried: VecDeque::new(), carried_bytes: 0 },
            transmitter: Transmitter::new(environment, Pacer::new(pace, now), ledger),
            taken: now,
            done: now,
            flight: Flight::new(channel, seed, number, room),
            clock: now,
            due: Time::NEVER,
            shut_down: false,
        }
    }

    /// A packet arrives at `now`, or at the time up to which the link has been advanced if that is later. `hosts` looks up the
    /// hosts at its ends, `None` where its flow has both to itself; only disciplines that share among hosts ask.
    #[inline]
    pub fn arrive(&mut self, now: Time, meta: Meta, handle: u32, hosts: impl Fn() -> Option<Hosts>) {
        let now = now.max(self.clock);
        self.advance(now);
        self.transmitter.observer_mut().counters.arrive(meta.len);
        let packet = Packet::new(meta, now, handle);
        let was_free = self.transmitter.sending().is_none();
        let done = self.transmitter.arrive(&mut self.queue, now, packet, (), |_, _| hosts(), &mut ());
        if was_free {
            self.started(now, done);
            self.look_ahead();
        }
    }

    /// Time of the next event without further arrivals; `None`: never.
    pub fn next_event(&self) -> Option<Time> {
        (self.due != Time::NEVER).then_some(self.due)
    }

    /// Advances the time up to and including `until`.
    #[inline]
    pub fn advance(&mut self, until: Time) {
        if self.due <= until {
            self.catch_up(until);
        }
        self.clock = self.clock.max(until);
    }

    /// Outcomes of packets, in order; the owner clears the list.
    pub fn outcomes(&mut self) -> &mut Vec<Outcome> {
        &mut self.transmitter.observer_mut().outcomes
    }

    fn catch_up(&mut self, until: Time) {
        while let Some(next) = self.next_event().filter(|&next| next <= until) {
            if self.next_at_queue() == Some(next) {
                self.go_on(next);
            } else if let Some(outcome) = self.flight.arrived() {
                self.transmitter.observer_mut().deliver(outcome);
            }
            self.look_ahead();
        }
    }

    /// Recomputes the next event after a change.
    fn look_ahead(&mut self) {
        let [queue, there] = [self.next_at_queue(), self.flight.next()].map(|at| at.unwrap_or(Time::NEVER));
        self.due = queue.min(there);
    }

    /// Time at which the transmitter is done, or may take a held packet.
    fn next_at_queue(&self) -> Option<Time> {
        let discipline = &self.queue.discipline;
        match self.transmitter.sending() {
            Some(_) => Some(self.done),
            None if discipline.holds_back() && !self.shut_down => discipline.deadline(),
            None => None,
        }
    }

    /// The transmitter has sent the last bit of a packet, or packets that were held back may leave.
    fn go_on(&mut self, now: Time) {
        let done = match self.transmitter.sending() {
            Some(_) => self.pass_on(now),
            None => self.transmitter.tick(&mut self.queue, now, &mut ()),
        };
        self.started(now, done);
    }

    /// The packet in transmission leaves, and the next one goes into transmission: returns the end of that transmission.
    fn pass_on(&mut self, now: Time) -> Option<Time> {
        let taken = self.taken;
        let outcome = |packet: &Packet<u32>| Outcome::of(packet, now, Fate::Delivered { taken, sent: now });
        if self.flight.is_clear(now) {
            let (sent, done) = self.transmitter.sent(&mut self.queue, now, &mut ());
            if let Some(packet) = &sent {
                self.transmitter.observer_mut().deliver(outcome(packet));
            }
            return done;
        }
        if let Some(sent) = self.transmitter.sending().map(outcome) {
            let copies = self.flight.enter(sent);
            let ledger = self.transmitter.observer_mut();
            match copies {
                Copies::One => {}
                Copies::Two => ledger.counters.duplicate(sent.meta.len),
                Copies::None => ledger.drop(now, &sent.packet(), Cause::Host(HostCause::LinkLoss)),
            }
        }
        self.transmitter.sent(&mut self.queue, now, &mut ()).1
    }

    /// A packet has gone into transmission at `now`, and its last bit leaves at `done`. On an ideal path, a packet that takes
    /// no time to send is at the other end at once, and the next one follows.
    fn started(&mut self, now: Time, mut done: Option<Time>) {
        while let Some(at) = done {
            (self.taken, self.done) = (now, at);
            if at > now || !self.flight.is_clear(now) {
                return;
            }
            done = self.pass_on(now);
        }
    }

    /// A packet of `len` bytes arrived that the host could not store.
    pub fn refuse(&mut self, len: u32, cause: HostCause) {
        let counters = &mut self.transmitter.observer_mut().counters;
        counters.arrive(len);
        counters.drop(len, Cause::Host(cause));
    }

    /// A packet was reported as delivered, but the port could not accept it.
    pub fn undeliver(&mut self, len: u32) {
        self.transmitter.observer_mut().counters.undeliver(len);
    }

    /// The link marked a packet of `len` bytes.
    pub fn marked(&mut self, len: u32) {
        self.transmitter.observer_mut().counters.marked.add(len);
    }

    /// Sets another pace from `now` on; the packet in transmission keeps its time.
    pub fn set_pace(&mut self, pace: Pace, now: Time) {
        self.transmitter.set_pace(pace, now.max(self.clock));
    }

    /// Sets another channel for packets that leave from now on; those in flight keep their times, and none overtakes another
    /// unless the impairments say so.
    pub fn set_channel(&mut self, channel: Channel) {
        self.flight.set(channel);
    }

    /// Exchanges the discipline for an empty one with fresh state. Packets that wait stay and leave first, in the order in
    /// which the old discipline lists them; those beyond `limit` are dropped from the tail.
    pub fn set_queue(&mut self, discipline: AnyDiscipline<u32, Heap>, limit: u32, now: Time) {
        let now = now.max(self.clock);
        self.advance(now);
        let Exchangeable { discipline: old, carried, carried_bytes } = &mut self.queue;
        old.for_each_waiting(|packet| carried.push_back(packet.clone()));
        while carried.len() > limit as usize {
            if let Some(packet) = carried.pop_back() {
                let cause = Cause::Host(HostCause::Reconfigured);
                self.transmitter.observer_mut().drop(now, &packet, cause);
            }
        }
        *carried_bytes = carried.iter().map(|packet| u64::from(packet.meta.len)).sum();
        *old = discipline;
        // Packets that the old discipline held back.
        if self.transmitter.sending().is_none() && !self.queue.carried.is_empty() {
            let done = self.transmitter.start(&mut self.queue, now, &mut ());
            self.started(now, done);
        }
        self.look_ahead();
    }

    /// Drops all packets in the link, finally.
    pub fn shut_down(&mut self, now: Time) {
        let now = now.max(self.clock);
        self.advance(now);
        let sending = self.transmitter.abort();
        let mut left: Vec<_> = self.queue.carried.drain(..).chain(sending).collect();
        for outcome in self.flight.drain() {
            if outcome.fate == Fate::Duplicated {
                // The other copy is the last of it.
                let ledger = self.transmitter.observer_mut();
                ledger.counters.drop(outcome.meta.len, Cause::Host(HostCause::Shutdown));
            } else {
                left.push(outcome.packet());
            }
        }
        self.queue.discipline.for_each_waiting(|packet| left.push(packet.clone()));
        self.queue.carried_bytes = 0;
        self.shut_down = true;
        self.look_ahead();
        for packet in left {
            self.transmitter.observer_mut().drop(now, &packet, Cause::Host(HostCause::Shutdown));
        }
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.transmitter.observer().counters
    }

    /// Packets and bytes that wait in the queue now, without the packet in transmission and those in flight.
    pub fn backlog(&self) -> Backlog {
        if self.shut_down { Backlog::default() } else { self.queue.backlog() }
    }

    /// Visits each packet that waits in the queue, with its owner's reference.
    pub fn for_each_queued(&self, mut visit: impl FnMut(&Meta, u32)) {
        if !self.shut_down {
            self.queue.for_each(|packet| visit(&packet.meta, packet.handle));
        }
    }

    /// The discipline.
    pub fn discipline(&self) -> &AnyDiscipline<u32, Heap> {
        &self.queue.discipline
    }
}
