//! A slow and obvious link beside the real one, event by event: a list of pending events that is searched from its beginning,
//! rates as fractions, delivery chances looked at one after another.

use fairdrop::{
    AnyDiscipline, AnyParams, Backlog, Discipline, DropCause, Env, Heap, Meta, Packet, ParamValue, Philox,
    Stream, Time, unit_interval,
};
use fairdrop_link::{Cause, Chances, Channel, Fate, HostCause, Impairments, Link, LinkConfig, Outcome, Pace};
use proptest::prelude::*;
use std::sync::Arc;

const SEED: u64 = 11;
const NUMBER: u32 = 2;
const KEY: [u64; 2] = [5, 6];
const CHANCES_MS: [u64; 5] = [2, 2, 9, 30, 31];

/// The environment of a discipline: a stream for each purpose, and a list of dropped packets.
struct World {
    now: Time,
    random: Vec<Philox>,
    dropped: Vec<(Packet<u32>, DropCause)>,
}

impl Env<u32> for World {
    fn now(&self) -> Time {
        self.now
    }

    fn random(&mut self, stream: Stream) -> u64 {
        self.random[stream as usize].next_u64()
    }

    fn flow_key(&self) -> [u64; 2] {
        KEY
    }

    fn dropped(&mut self, packet: Packet<u32>, cause: DropCause) {
        self.dropped.push((packet, cause));
    }
}

/// The transmitter's clock, by the definition of each pace.
enum Clock {
    Unlimited,
    /// Bytes sent since the transmitter was last idle, and when it began.
    Rate {
        bps: u64,
        begun: u64,
        bytes: u64,
    },
    /// Bytes taken of each chance so far.
    Chances {
        taken: Vec<u32>,
    },
}

impl Clock {
    fn send(&mut self, now: u64, bytes: u32) -> u64 {
        match self {
            Self::Unlimited => now,
            Self::Rate { bps, begun, bytes: sent } => {
                let free = |sent: u64| u128::from(sent) * 8_000_000_000 / u128::from(*bps);
                if u128::from(now) > u128::from(*begun) + free(*sent) {
                    (*begun, *sent) = (now, 0);
                }
                *sent += u64::from(bytes);
                *begun + free(*sent) as u64
            }
            Self::Chances { taken } => {
                let mut left = bytes;
                for chance in 0.. {
                    let period = CHANCES_MS[CHANCES_MS.len() - 1];
                    let round = chance / CHANCES_MS.len();
                    let at = (round as u64 * period + CHANCES_MS[chance % CHANCES_MS.len()]) * 1_000_000;
                    if taken.len() == chance {
                        taken.push(0);
                    }
                    if at < now {
                        // Nothing was in line: the chance has passed.
                        taken[chance] = Chances::BYTES;
                    }
                    let room = Chances::BYTES - taken[chance];
                    if room > 0 && left <= room {
                        taken[chance] += left;
                        return at;
                    }
                    left -= room.min(left);
                    taken[chance] = Chances::BYTES;
                }
                unreachable!("there is always another chance")
            }
        }
    }
}

/// One thing that will happen, by time and then by the order in which it was put down.
enum Event {
    Sent,
    Emerge(Outcome),
}

/// The link.
struct Slow {
    queue: AnyDiscipline<u32, Heap>,
    world: World,
    clock: Clock,
    channel: Channel,
    random: [Philox; 5],
    is_bad: bool,
    last: Time,
    /// The packet in transmission and when it was taken.
    sending: Option<(Packet<u32>, Time)>,
    events: Vec<(Time, Event)>,
    outcomes: Vec<Outcome>,
}

fn outcome(packet: &Packet<u32>, at: Time, fate: Fate) -> Outcome {
    Outcome { handle: packet.handle, meta: packet.meta, arrived: packet.enqueued, at, fate }
}

impl Slow {
    fn new(params: AnyParams, clock: Clock, channel: Channel) -> Self {
        let random = (0..Stream::COUNT).map(|stream| Philox::new(SEED, NUMBER, stream as u32)).collect();
        Self {
            queue: AnyDiscipline::new(params, &mut Heap).unwrap(),
            world: World { now: Time::ZERO, random, dropped: Vec::new() },
            clock,
            channel,
            // Loss, phases, jitter, reordering, duplication.
            random: [0x107, 0x10a, 0x10b, 0x10c, 0x10d].map(|purpose| Philox::new(SEED, NUMBER, purpose)),
            is_bad: false,
            last: Time::ZERO,
            sending: None,
            events: Vec::new(),
            outcomes: Vec::new(),
        }
    }

    fn draw(&mut self, purpose: usize) -> f64 {
        unit_interval(self.random[purpose].next_u64())
    }

    fn note_drops(&mut self, now: Time) {
        for (packet, cause) in std::mem::take(&mut self.world.dropped) {
            self.outcomes.push(outcome(&packet, now, Fate::Dropped(Cause::Queue(cause))));
        }
    }

    /// Everything up to and including `until`. Of events due at once the transmitter's is first, then the oldest.
    fn advance(&mut self, until: Time) {
        loop {
            let held = self.sending.is_none() && self.queue.holds_back();
            let tick = self.queue.deadline().filter(|_| held);
            let rank = |at: &(Time, Event)| (at.0, matches!(at.1, Event::Emerge(_)));
            let first = (0..self.events.len()).min_by_key(|&place| rank(&self.events[place]));
            match (first, tick) {
                (first, Some(at)) if at <= until && first.is_none_or(|place| at <= self.events[place].0) => {
                    self.world.now = at;
                    self.queue.tick(&mut self.world);
                    self.note_drops(at);
                    self.start(at);
                }
                (Some(place), _) if self.events[place].0 <= until => {
                    let (at, event) = self.events.remove(place);
                    match event {
                        Event::Sent => self.sent(at),
                        Event::Emerge(outcome) => self.outcomes.push(outcome),
                    }
                }
                _ => return,
            }
        }
    }

    fn arrive(&mut self, now: Time, meta: Meta, handle: u32) {
        self.advance(now);
        self.world.now = now;
        self.queue.enqueue(Packet::new(meta, now, handle), &mut self.world);
        self.note_drops(now);
        if self.sending.is_none() {
            self.start(now);
        }
    }

    fn start(&mut self, now: Time) {
        self.world.now = now;
        let next = self.queue.dequeue(&mut self.world);
        self.note_drops(now);
        if let Some(packet) = next {
            let done = self.clock.send(now.ns(), packet.meta.len);
            self.sending = Some((packet, now));
            self.events.push((Time::from_ns(done), Event::Sent));
        }
    }

    fn sent(&mut self, now: Time) {
        let (packet, taken) = self.sending.take().unwrap();
        let arrivals = self.carry(now);
        let delivered = outcome(&packet, now, Fate::Delivered { taken, sent: now });
        if arrivals.is_empty() {
            self.outcomes.push(outcome(&packet, now, Fate::Dropped(Cause::Host(HostCause::LinkLoss))));
        }
        for (place, &at) in arrivals.iter().enumerate() {
            let fate = if place + 1 == arrivals.len() { delivered.fate } else { Fate::Duplicated };
            self.events.push((at, Event::Emerge(Outcome { at, fate, ..delivered })));
        }
        self.start(now);
    }

    /// When the copies of a packet that leaves at `now` arrive, in order.
    fn carry(&mut self, now: Time) -> Vec<Time> {
        let Channel { delay, loss, impairments } = self.channel;
        let mut lost = false;
        if impairments.bad_enter > 0.0 {
            let change = if self.is_bad { impairments.bad_leave } else { impairments.bad_enter };
            self.is_bad = self.is_bad != (self.draw(1) < change);
            lost = self.draw(1) < impairments.bad_loss && self.is_bad;
        }
        if loss > 0.0 && self.draw(0) < loss {
            lost = true;
        }
        if lost {
            return Vec::new();
        }
        let copies = if impairments.duplicate > 0.0 && self.draw(4) < impairments.duplicate { 2 } else { 1 };
        let mut arrivals: Vec<_> = (0..copies).map(|_| self.arrival(now.after(delay))).collect();
        arrivals.sort_unstable();
        arrivals
    }

    fn arrival(&mut self, mut at: Time) -> Time {
        let Impairments { jitter, jitter_reorders, reorder, reorder_by, slot, .. } = self.channel.impairments;
        if jitter > Time::ZERO {
            at = at.after(Time::from_ns((self.draw(2) * jitter.ns() as f64) as u64));
        }
        if reorder > 0.0 && self.draw(3) < reorder {
            at = at.after(reorder_by);
        } else if !jitter_reorders {
            at = at.max(self.last);
            self.last = at;
        }
        while slot > Time::ZERO && !at.ns().is_multiple_of(slot.ns()) {
            at = Time::from_ns(at.ns() - at.ns() % slot.ns() + slot.ns());
        }
        at
    }
}

fn params(name: &str) -> AnyParams {
    let mut params = AnyParams::of(name).unwrap();
    params.set_link(15, 1_000_000);
    if name == "cake" {
        assert!(params.set("cake", "rate", ParamValue::Number(6e5)));
    }
    params
}

fn paces() -> Vec<(Pace, fn() -> Clock)> {
    let chances = Arc::new(Chances::parse(&CHANCES_MS.map(|ms| ms.to_string()).join("\n")).unwrap());
    vec![
        (Pace::Unlimited, || Clock::Unlimited),
        // Times of packets are no whole nanoseconds.
        (Pace::Rate(999_983), || Clock::Rate { bps: 999_983, begun: 0, bytes: 0 }),
        (Pace::Trace(chances), || Clock::Chances { taken: Vec::new() }),
    ]
}

fn channels() -> Vec<Channel> {
    let impaired = |impairments| Channel { delay: Time::from_ms(4), loss: 0.1, impairments };
    let none = Impairments::NONE;
    vec![
        Channel::default(),
        impaired(none),
        impaired(Impairments { jitter: Time::from_ms(9), ..none }),
        impaired(Impairments { bad_enter: 0.1, bad_leave: 0.4, bad_loss: 0.7, duplicate: 0.2, ..none }),
        impaired(Impairments { reorder: 0.2, duplicate: 0.3, ..none }),
        impaired(Impairments { jitter: Time::from_ms(9), jitter_reorders: true, ..none }),
        impaired(Impairments { jitter: Time::from_ms(3), slot: Time::from_ms(5), duplicate: 0.1, ..none }),
    ]
}

/// Outcomes at one time are compared in any order: the real link skips the way where nothing happens on it.
fn sorted(mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
    let is_end = |outcome: &Outcome| outcome.fate != Fate::Duplicated;
    outcomes.sort_by_key(|outcome| (outcome.at, outcome.handle, is_end(outcome)));
    outcomes
}

proptest! {
    #[test]
    fn the_link_is_the_slow_one_event_by_event(
        packets in prop::collection::vec((0_u64..15_000_000, 0_u32..1600, 0_u64..4), 1..150),
        name in prop::sample::select(vec!["droptail", "red", "choke", "codel", "fq_codel", "pie", "sfq", "cake"]),
        (pace, clock) in prop::sample::select(paces()),
        channel in prop::sample::select(channels()),
    ) {
        let mut slow = Slow::new(params(name), clock(), channel);
        let config = LinkConfig { pace, channel, seed: SEED, number: NUMBER, flow_key: KEY, frames: 64 };
        let queue = AnyDiscipline::<u32, Heap>::new(params(name), &mut Heap).unwrap();
        let mut link = Link::new(queue, config, Time::ZERO);
        let mut now = Time::ZERO;
        for (handle, (gap, len, flow)) in (0..).zip(packets) {
            now = now.after(Time::from_ns(gap));
            slow.arrive(now, Meta::of_flow(flow, len), handle);
            link.arrive(now, Meta::of_flow(flow, len), handle, crate::no_hosts);
            prop_assert_eq!(link.backlog(), Discipline::backlog(&slow.queue));
            prop_assert!(link.counters().reconcile());
        }
        let end = now.after(Time::from_ms(100_000));
        slow.advance(end);
        link.advance(end);
        prop_assert_eq!(link.backlog(), Backlog::default());
        prop_assert_eq!(sorted(link.outcomes().clone()), sorted(slow.outcomes));
    }
}
