//! A transmitter and the queue that feeds it, driven event by event: its owner calls it when a packet arrives, when the
//! last bit of one has left, and at the queue's deadlines.

use crate::environment::Environment;
use crate::pace::{Pace, Pacer};
use crate::queue::{Dropped, Host, NAMED, Observer, Queue, Shows};
use fairdrop::{Discipline, DropCause, Env, Hosts, Packet, Stream, Time, Viewer};

/// A transmitter, beside the queue that each call names: an owner of several kinds of queue calls each with its type, and each is
/// compiled by itself.
#[derive(Clone, Debug)]
pub struct Transmitter<O> {
    observer: O,
    environment: Environment,
    pacer: Pacer,
    /// In a shaper it is over, and has the handle [`NONE`].
    sending: Option<Packet<u32>>,
    /// Size of the token bucket in bytes, where a shaper takes the place of the transmitter.
    bucket: Option<u32>,
    /// The packet that the shaper has handed on.
    passed: Option<Packet<u32>>,
}

/// A handle that no packet has: there are never that many packets.
const NONE: u32 = u32::MAX;

/// Environment of a queue during one call.
struct Call<'a, O: Observer, H> {
    now: Time,
    observer: &'a mut O,
    environment: &'a mut Environment,
    /// Handle of the packet that is offered, which does not wait yet; [`NONE`] when there is none.
    offered: u32,
    /// Cause of that packet's drop, if it was dropped.
    refused: Option<DropCause>,
    hosts: H,
    lost: &'a mut O::Lost,
}

impl<O: Observer, H: Fn(&O, &Packet<u32>) -> Option<Hosts>> Call<'_, O, H> {
    #[inline(always)]
    fn give_back(&mut self, packet: &Packet<u32>, cause: DropCause, name: Option<&'static str>) {
        let on_arrival = self.offered == packet.handle;
        if on_arrival {
            self.refused = Some(cause);
        }
        self.observer.dropped(self.now, packet, Dropped { cause, name, on_arrival }, self.lost);
    }
}

impl<O: Observer, H: Fn(&O, &Packet<u32>) -> Option<Hosts>> Env<u32> for Call<'_, O, H> {
    #[inline]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn flow_key(&self) -> [u64; 2] {
        self.environment.flow_key()
    }

    #[inline]
    fn hosts(&self, packet: &Packet<u32>) -> Hosts {
        self.shared_hosts(packet).unwrap_or(Hosts::of_flow(packet.meta.flow))
    }

    #[inline]
    fn random(&mut self, stream: Stream) -> u64 {
        self.environment.random(stream)
    }

    #[inline(always)]
    fn dropped(&mut self, packet: Packet<u32>, cause: DropCause) {
        self.give_back(&packet, cause, None);
    }

    #[inline]
    fn drawn(&mut self, _candidate: &Packet<u32>) {
        self.drew(1);
    }
}

impl<O: Observer, H: Fn(&O, &Packet<u32>) -> Option<Hosts>> Viewer<u32> for Call<'_, O, H> {
    #[inline(always)]
    fn shown(&mut self, discipline: &impl Discipline<u32>) {
        self.shows(discipline);
    }
}

impl<O: Observer, H: Fn(&O, &Packet<u32>) -> Option<Hosts>> Host for Call<'_, O, H> {
    fn dropped_for(&mut self, packet: Packet<u32>, name: &'static str) {
        self.give_back(&packet, NAMED, Some(name));
    }

    #[inline]
    fn drew(&mut self, count: u32) {
        self.observer.drew(count);
    }

    #[inline(always)]
    fn shows(&mut self, queue: &impl Shows) {
        self.observer.shown(self.now, queue);
    }

    #[inline]
    fn shared_hosts(&self, packet: &Packet<u32>) -> Option<Hosts> {
        (self.hosts)(self.observer, packet)
    }
}

/// How the hosts at the ends of a packet are found.
type HostsOf<O> = fn(&O, &Packet<u32>) -> Option<Hosts>;

impl<O: Observer> Transmitter<O> {
    /// A free transmitter.
    pub fn new(environment: Environment, pacer: Pacer, observer: O) -> Self {
        Self { observer, environment, pacer, sending: None, bucket: None, passed: None }
    }

    /// A shaper with a token bucket of `bucket` bytes in its place, as Linux's HTB: a packet leaves in the moment in which it is
    /// taken, and the next one when its tokens are there. An empty queue is not asked for a packet.
    #[must_use]
    pub fn shaped(self, bucket: u32) -> Self {
        Self { bucket: Some(bucket), ..self }
    }

    /// The packet that a shaper has handed on since the last call.
    pub fn passed(&mut self) -> Option<Packet<u32>> {
        self.passed.take()
    }

    /// A packet arrives at `queue`; packets that the queue drops are added to `lost`. `hosts` looks up the hosts at the
    /// ends of the packet, for queues that share among hosts; `None`: its flow has both to itself.
    ///
    /// Returns when the transmitter will be done, if it was free and has started.
    #[inline(always)]
    #[allow(clippy::needless_pass_by_value, reason = "callers have no more use for it")]
    pub fn arrive(
        &mut self,
        queue: &mut impl Queue,
        now: Time,
        packet: Packet<u32>,
        arrival: O::Arrival,
        hosts: impl Fn(&O, &Packet<u32>) -> Option<Hosts>,
        lost: &mut O::Lost,
    ) -> Option<Time> {
        let flow = packet.meta.flow;
        self.observer.offered(now, &packet);
        let Self { observer, environment, .. } = self;
        let mut call =
            Call { now, observer, environment, offered: packet.handle, refused: None, hosts, lost };
        queue.enqueue(packet.clone(), &mut call);
        match call.refused {
            Some(cause) => self.observer.refused(&packet, cause),
            None => self.observer.joined(now, &packet, arrival),
        }
        let done = if self.sending.is_none() { self.start(queue, now, lost) } else { None };
        self.settle(queue, flow);
        done
    }

    /// The last bit of a packet has left: returns that packet, and the end of the next transmission, if any. Of a shaper: the tokens
    /// of the last packet are there; returns the one that leaves now, and when the tokens of that will be.
    #[inline(always)]
    pub fn sent(
        &mut self,
        queue: &mut impl Queue,
        now: Time,
        lost: &mut O::Lost,
    ) -> (Option<Packet<u32>>, Option<Time>) {
        let sent = self.sending.take();
        if self.bucket.is_some() {
            let ready = self.start(queue, now, lost);
            return (self.passed(), ready);
        }
        self.observer.sent(now, sent.as_ref(), queue);
        let done = self.start(queue, now, lost);
        if let Some(packet) = &sent {
            self.settle(queue, packet.meta.flow);
        }
        (sent, done)
    }

    /// The deadline of `queue` has come. Returns when the transmitter will be done, if it was free and has started.
    pub fn tick(&mut self, queue: &mut impl Queue, now: Time, lost: &mut O::Lost) -> Option<Time> {
        self.observer.ticks(now, queue);
        queue.tick(&mut self.call(now, lost));
        if self.sending.is_none() { self.start(queue, now, lost) } else { None }
    }

    /// Takes the next packet into transmission: returns the end of its transmission. The queue is called even when it is
    /// empty, which shows it that the link is idle.
    #[inline(always)]
    pub fn start(&mut self, queue: &mut impl Queue, now: Time, lost: &mut O::Lost) -> Option<Time> {
        if let Some(bucket) = self.bucket {
            return self.hand_on(queue, now, bucket, lost);
        }
        let packet = queue.dequeue(&mut self.call(now, lost))?;
        self.observer.taken(now, &packet);
        let len = packet.meta.len;
        self.sending = Some(packet);
        Some(self.pacer.send(now, len))
    }

    /// Takes the next packet and hands it on: returns when its tokens are there.
    #[inline(never)]
    fn hand_on(
        &mut self,
        queue: &mut impl Queue,
        now: Time,
        bucket: u32,
        lost: &mut O::Lost,
    ) -> Option<Time> {
        if queue.backlog().packets == 0 {
            return None;
        }
        let packet = queue.dequeue(&mut self.call(now, lost))?;
        self.observer.taken(now, &packet);
        self.observer.sent(now, Some(&packet), queue);
        self.settle(queue, packet.meta.flow);
        let ready = self.pacer.shape(now, packet.meta.len, bucket);
        self.sending = Some(Packet { handle: NONE, ..packet.clone() });
        self.passed = Some(packet);
        Some(ready)
    }

    #[inline(always)]
    fn call<'a>(&'a mut self, now: Time, lost: &'a mut O::Lost) -> Call<'a, O, HostsOf<O>> {
        let Self { observer, environment, .. } = self;
        Call { now, observer, environment, offered: NONE, refused: None, hosts: |_, _| None, lost }
    }

    #[inline]
    fn settle(&mut self, queue: &impl Queue, flow: u64) {
        if cfg!(debug_assertions) {
            self.observer.settled(flow, queue.backlog());
        }
    }

    /// The packet in transmission.
    #[inline]
    pub fn sending(&self) -> Option<&Packet<u32>> {
        self.sending.as_ref().filter(|packet| packet.handle != NONE)
    }

    /// Takes the packet in transmission off the link.
    pub fn abort(&mut self) -> Option<Packet<u32>> {
        self.sending.take()
    }

    /// Sets another pace from `now` on; the packet in transmission keeps its time.
    pub fn set_pace(&mut self, pace: Pace, now: Time) {
        self.pacer.change(pace, now);
    }

    /// The clock of the transmitter.
    pub fn pacer(&self) -> &Pacer {
        &self.pacer
    }

    /// Random streams and flow key.
    #[inline]
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// What watches.
    #[inline]
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// What watches.
    #[inline]
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// What watched.
    pub fn into_observer(self) -> O {
        self.observer
    }
}
