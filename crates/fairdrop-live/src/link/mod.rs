//! One direction of a link in logical time: a discipline, the transmitter that it feeds, and the way to the other end.
//!
//! A departure is computed from arrivals and the pace, never from when somebody looked. The owner tells when packets come
//! ([`Link::arrive`]), lets time pass ([`Link::advance`]), and takes what happened from [`Link::outcomes`]; it may do so late,
//! and the times stay the same. It is the port of the simulator, event by event (`tests/as_simulated.rs`).

mod counters;
mod packet;
mod way;

pub use counters::{Amount, Cause, Counters, HostCause};
pub use fairdrop_link::Pace;
pub use packet::{Fate, Outcome};
pub use way::Impairments;

use std::collections::VecDeque;

use fairdrop::{
    AnyDiscipline, AnyParams, Backlog, Discipline, DropCause, Env, Heap, Hosts, Meta, Packet, ParamError,
    Philox, Stream, Time,
};

use fairdrop_link::Pacer;
use packet::Sending;
use way::Way;

/// What a link is made of.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// When packets may leave.
    pub pace: Pace,
    /// The discipline, its limit and the rate that it knows of set.
    pub queue: AnyParams,
    /// What happens on the way.
    pub impairments: Impairments,
    /// Of all random numbers but the flow key.
    pub seed: u64,
    /// Names the random streams beside the seed: links of one host have different ones.
    pub number: u32,
    /// Of the tables by flow; secret, from the operating system, unless nobody hostile sends.
    pub flow_key: [u64; 2],
    /// Packets that are in it at most, wherever: the room that is reserved.
    pub frames: u32,
}

/// A link.
#[derive(Debug)]
pub struct Link {
    discipline: AnyDiscipline<u32, Heap>,
    /// Packets that waited when the discipline was exchanged, and go first.
    carried: VecDeque<Packet<u32>>,
    carried_bytes: u64,
    world: World,
    pacer: Pacer,
    sending: Option<Sending>,
    way: Way,
    clock: Time,
    /// When something happens next if nothing arrives; `NEVER` when nothing does.
    due: Time,
    /// What the discipline still lists has been dropped.
    shut_down: bool,
}

/// What a discipline borrows.
#[derive(Debug)]
struct World {
    random: [Philox; Stream::COUNT],
    flow_key: [u64; 2],
    counters: Counters,
    outcomes: Vec<Outcome>,
}

/// The same, for one call; `hosts` tells those of the packet that arrives.
struct LinkEnv<'a, F> {
    now: Time,
    world: &'a mut World,
    hosts: F,
}

impl<F: Fn() -> Option<Hosts>> Env<u32> for LinkEnv<'_, F> {
    #[inline]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn random(&mut self, stream: Stream) -> u64 {
        self.world.random[stream as usize].next_u64()
    }

    #[inline]
    fn flow_key(&self) -> [u64; 2] {
        self.world.flow_key
    }

    #[inline]
    fn hosts(&self, packet: &Packet<u32>) -> Hosts {
        (self.hosts)().unwrap_or(Hosts::of_flow(packet.meta.flow))
    }

    #[inline]
    fn dropped(&mut self, packet: Packet<u32>, cause: DropCause) {
        self.world.drop(self.now, &packet, Cause::Queue(cause));
    }
}

impl World {
    /// For a call that no packet arrives with.
    fn at(&mut self, now: Time) -> LinkEnv<'_, fn() -> Option<Hosts>> {
        LinkEnv { now, world: self, hosts: || None }
    }

    fn deliver(&mut self, outcome: Outcome) {
        self.counters.deliver(outcome.meta.len);
        self.outcomes.push(outcome);
    }

    fn drop(&mut self, at: Time, packet: &Packet<u32>, cause: Cause) {
        let Packet { meta, enqueued: arrived, handle } = *packet;
        self.counters.drop(meta.len, cause);
        self.outcomes.push(Outcome { handle, meta, arrived, at, fate: Fate::Dropped(cause) });
    }
}

impl Link {
    /// An empty link, whose time begins at `now`.
    ///
    /// # Errors
    /// The discipline refuses its parameters, or there is no memory for its queue.
    pub fn new(config: LinkConfig, now: Time) -> Result<Self, ParamError> {
        let room = config.frames as usize;
        Ok(Self {
            discipline: AnyDiscipline::new(config.queue, &mut Heap)?,
            carried: VecDeque::new(),
            carried_bytes: 0,
            world: World {
                random: fairdrop_link::queue_streams(config.seed, config.number),
                flow_key: config.flow_key,
                counters: Counters::default(),
                outcomes: Vec::with_capacity(room),
            },
            pacer: Pacer::new(config.pace, now),
            sending: None,
            way: Way::new(config.impairments, config.seed, config.number, room),
            clock: now,
            due: Time::NEVER,
            shut_down: false,
        })
    }

    /// A packet arrives at `now`, or at the time up to which the link has been advanced if that is later. `hosts` tells the
    /// hosts at its ends, `None` where its flow has both to itself; disciplines that do not share among hosts do not ask.
    #[inline]
    pub fn arrive(&mut self, now: Time, meta: Meta, handle: u32, hosts: impl Fn() -> Option<Hosts>) {
        let now = now.max(self.clock);
        self.advance(now);
        self.world.counters.arrive(meta.len);
        let mut env = LinkEnv { now, world: &mut self.world, hosts };
        self.discipline.enqueue(Packet::new(meta, now, handle), &mut env);
        if self.sending.is_none() {
            self.start(now);
            self.look_ahead();
        }
    }

    /// A packet came that the host could not keep.
    pub fn refuse(&mut self, len: u32, cause: HostCause) {
        self.world.counters.arrive(len);
        self.world.counters.drop(len, Cause::Host(cause));
    }

    /// A packet was reported as delivered, and the port could not take it after all.
    pub fn undeliver(&mut self, len: u32) {
        self.world.counters.undeliver(len);
    }

    /// A packet of `len` bytes left with a mark that it did not come with.
    pub fn marked(&mut self, len: u32) {
        self.world.counters.marked.add(len);
    }

    /// When something happens next if nothing arrives; `None`: never.
    pub fn next_event(&self) -> Option<Time> {
        (self.due != Time::NEVER).then_some(self.due)
    }

    /// Something has changed that decides what happens next.
    fn look_ahead(&mut self) {
        let [queue, there] = [self.next_at_queue(), self.way.next()].map(|at| at.unwrap_or(Time::NEVER));
        self.due = queue.min(there);
    }

    /// When the transmitter is done, or gets what is held back.
    fn next_at_queue(&self) -> Option<Time> {
        match &self.sending {
            Some(sending) => Some(sending.done),
            None if self.discipline.holds_back() && !self.shut_down => self.discipline.deadline(),
            None => None,
        }
    }

    /// Lets time pass up to and including `until`.
    #[inline]
    pub fn advance(&mut self, until: Time) {
        if self.due <= until {
            self.catch_up(until);
        }
        self.clock = self.clock.max(until);
    }

    fn catch_up(&mut self, until: Time) {
        while let Some(next) = self.next_event().filter(|&next| next <= until) {
            if self.next_at_queue() == Some(next) {
                self.go_on(next);
            } else if let Some(outcome) = self.way.arrived() {
                self.world.deliver(outcome);
            }
            self.look_ahead();
        }
    }

    /// The transmitter has sent the last bit of a packet, or what was held back may leave.
    fn go_on(&mut self, now: Time) {
        let Some(sending) = self.sending.take() else {
            self.discipline.tick(&mut self.world.at(now));
            return self.start(now);
        };
        if self.way.is_clear(now) {
            return self.start_behind(now, Some(sending.arrived(now)));
        }
        if let Err(lost) = self.way.enter(sending) {
            self.world.drop(now, &lost, Cause::Host(HostCause::LinkLoss));
        }
        self.start(now);
    }

    /// Takes the next packet into transmission.
    fn start(&mut self, now: Time) {
        self.start_behind(now, None);
    }

    /// Takes the next packet into transmission, then tells that the one before it is at the other end. Where nothing happens on
    /// the way, what takes no time to send is there at once, and the one behind it is next.
    fn start_behind(&mut self, now: Time, mut sent: Option<Outcome>) {
        loop {
            let next = self.next_packet(now);
            if let Some(outcome) = sent.take() {
                self.world.deliver(outcome);
            }
            let Some(packet) = next else { return self.sending = None };
            let sending = Sending { done: self.pacer.send(now, packet.meta.len), packet, taken: now };
            if sending.done > now || !self.way.is_clear(now) {
                return self.sending = Some(sending);
            }
            sent = Some(sending.arrived(now));
        }
    }

    /// The discipline is asked even when nothing waits: that is how it learns that the link is idle.
    #[inline]
    fn next_packet(&mut self, now: Time) -> Option<Packet<u32>> {
        match self.carried.pop_front() {
            Some(packet) => {
                self.carried_bytes -= u64::from(packet.meta.len);
                Some(packet)
            }
            None => self.discipline.dequeue(&mut self.world.at(now)),
        }
    }

    /// What became of packets since this was last asked, in order. Its owner clears it.
    pub fn outcomes(&mut self) -> &mut Vec<Outcome> {
        &mut self.world.outcomes
    }

    /// Another pace from `now` on; the packet in transmission keeps its time.
    pub fn set_pace(&mut self, pace: Pace, now: Time) {
        self.pacer.change(pace, now.max(self.clock));
    }

    /// Other impairments for packets that leave from now on; those under way keep their times, and none overtakes another.
    pub fn set_impairments(&mut self, impairments: Impairments) {
        self.way.set(impairments);
    }

    /// Another discipline, or the same with other parameters. Packets that wait stay and leave first, in the order in which the
    /// old discipline lists them; those beyond the new limit are dropped from the tail. The new discipline begins anew.
    ///
    /// # Errors
    /// It refuses its parameters, or there is no memory for its queue; nothing has changed then.
    pub fn set_queue(&mut self, params: AnyParams, now: Time) -> Result<(), ParamError> {
        let now = now.max(self.clock);
        let limit = params.limit();
        let new = AnyDiscipline::new(params, &mut Heap)?;
        self.advance(now);
        let carried = &mut self.carried;
        self.discipline.for_each_waiting(|packet| carried.push_back(packet.clone()));
        while self.carried.len() > limit as usize {
            if let Some(packet) = self.carried.pop_back() {
                self.world.drop(now, &packet, Cause::Host(HostCause::Reconfigured));
            }
        }
        self.carried_bytes = self.carried.iter().map(|packet| u64::from(packet.meta.len)).sum();
        self.discipline = new;
        // What the old one held back.
        if self.sending.is_none() && !self.carried.is_empty() {
            self.start(now);
        }
        self.look_ahead();
        Ok(())
    }

    /// Drops everything that is in it, for good.
    pub fn shut_down(&mut self, now: Time) {
        let now = now.max(self.clock);
        self.advance(now);
        let sending = self.sending.take().map(|sending| sending.packet);
        let mut left: Vec<_> = self.carried.drain(..).chain(sending).chain(self.way.drain()).collect();
        self.discipline.for_each_waiting(|packet| left.push(packet.clone()));
        self.carried_bytes = 0;
        self.shut_down = true;
        self.look_ahead();
        for packet in left {
            self.world.drop(now, &packet, Cause::Host(HostCause::Shutdown));
        }
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.world.counters
    }

    /// What waits in the queue now, the packet in transmission and those on their way not among it.
    pub fn backlog(&self) -> Backlog {
        if self.shut_down {
            return Backlog::default();
        }
        let Backlog { packets, bytes } = self.discipline.backlog();
        Backlog { packets: packets + self.carried.len() as u32, bytes: bytes + self.carried_bytes }
    }

    /// Each packet that waits in the queue, with its owner's reference.
    pub fn for_each_queued(&self, mut visit: impl FnMut(&Meta, u32)) {
        if self.shut_down {
            return;
        }
        self.carried.iter().for_each(|packet| visit(&packet.meta, packet.handle));
        self.discipline.for_each_waiting(|packet| visit(&packet.meta, packet.handle));
    }

    /// The discipline.
    pub fn discipline(&self) -> &AnyDiscipline<u32, Heap> {
        &self.discipline
    }
}

#[cfg(test)]
mod tests;
