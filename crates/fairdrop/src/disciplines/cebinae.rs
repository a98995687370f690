//! Cebinae: the largest flows of a full link are taxed, and share a reduced rate; all others share the rest.
//!
//! Time is cut into rounds of `dt`, and each of two FIFOs is served before the other in every second round. An arrival waits
//! in the FIFO of this round while its group of flows has bytes left in the round, otherwise in that of the next round, and
//! is dropped if both are used up. As long as the link is not full, all flows are one group that may send at the
//! link's rate. Every `p` rounds the flows of a full link are compared: those that sent almost as much as the largest form
//! the top group from then on, at `1 - tau` of their previous rate, so that others can grow.
//!
//! No timer is needed: rounds that are over are closed, one by one, at the beginning of a call; between calls no packet
//! arrives or leaves.
//!
//! Source: L. Yu, J. Sonchack, V. Liu, "Cebinae: scalable in-network fairness augmentation", ACM SIGCOMM 2022; after the
//! authors' program for ns-3 (`eniac/Cebinae`, `cebinae-queue-disc.cc`) and its configurations.

use super::outcome::drop_packet;
use crate::contract::flow_key::siphash;
use crate::contract::{
    Backlog, Departures, Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats, Time,
    require,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{Memory, PacketSlot, QueuePool, QueueSlot, Storage};

/// Hash functions of the cache of flows: a flow is counted where the first finds room, or the second.
const STAGES: u32 = 2;
/// Packet size for rounds as long as the transmission of a full buffer, in bytes.
const LONG_PACKET: u64 = 1500;
/// Longest round derived in this way: 2^40 ns.
const LONGEST_ROUND: u64 = 1 << 40;
const NS_BITS_PER_BYTE: u128 = 8_000_000_000;

const AUTHORS: &str = "Yu, Sonchack, Liu 2022: the authors' program for ns-3";
const CONFIGURED: &str = "Yu, Sonchack, Liu 2022: the authors' configurations";

params! {
    /// Parameters of [`Cebinae`].
    pub struct CebinaeParams {
        limit;
        /// Length of a round (dT); 0 for the least power of two in nanoseconds that sends a full buffer of 1500-byte packets.
        dt: Time = 0 s, Seconds(0.0, 1000.0), CONFIGURED;
        /// Rounds between two measurements of the link and its flows (P).
        p: u32 = 1, Integer(1, 100) => "rounds", CONFIGURED;
        /// Fraction of its rate that the top group loses (tau).
        tau: f64 = 0.01, Number(0.0, 1.0), CONFIGURED;
        /// Fraction of the link that may be idle while it counts as full.
        delta_port: f64 = 0.01, Number(0.0, 1.0), CONFIGURED;
        /// Margin of the top group: flows that sent at least 1 minus this, times the largest, belong to it.
        delta_flow: f64 = 0.01, Number(0.0, 1.0), CONFIGURED;
        /// Slots of the flow cache, per hash function (of two).
        slots: u32 = 2048, Integer(1, 1_048_576), AUTHORS;
        fields {
            /// Rate of the link, bit/s.
            rate_bps: u64 = 1_000_000;
        }
    }
}

impl Registered for CebinaeParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "cebinae",
        title: "Cebinae",
        label: "Cebinae",
        doc: "Taxes the largest flows of a full link, so that others can grow. Two FIFOs take turns; in each, the \
              taxed flows and the rest have a byte budget.",
        report: "Looks from time to time which flows have most of a full link, and leaves them a little less than they \
                 had, until others have as much.",
        family: Family::Queues,
        departures: Departures::AnyOrder,
        source: "Yu, Sonchack, Liu 2022",
        ..facts::<Self>()
    };

    in_storage!(Cebinae, |params|
        slots: PacketSlot<H> = params.limit as usize,
        records: QueueSlot<()> = 2,
        cache: CebinaeSlot = (STAGES * params.slots) as usize,
    );

    fn for_each_waiting<H, M: Memory>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
        queue.for_each_waiting(visit);
    }

    fn check(&self) -> Result<(), ParamError> {
        require(self.rate_bps > 0, "rate_bps", self.rate_bps as f64, "above 0")
    }

    fn set_link_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps;
    }
}

impl CebinaeParams {
    /// The length of a round in nanoseconds.
    fn round_ns(&self) -> u64 {
        if self.dt > Time::ZERO {
            return self.dt.ns();
        }
        let bytes = u128::from(self.limit) * u128::from(LONG_PACKET);
        let ns = bytes * NS_BITS_PER_BYTE / u128::from(self.rate_bps.max(1));
        u64::try_from(ns).unwrap_or(LONGEST_ROUND).clamp(1, LONGEST_ROUND).next_power_of_two()
    }
}

/// A place of the cache of flows.
#[derive(Clone, Copy, Debug, Default)]
pub struct CebinaeSlot {
    /// Flow in this place since the last comparison, and the bytes it sent.
    flow: Option<u64>,
    bytes: u64,
    /// Flow in this place before that, if it is in the top group.
    top: Option<u64>,
}

/// Rates and budget of a group of flows.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Rate in the rounds of each FIFO, bit/s.
    rates: [u64; 2],
    /// Its rate from the next rounds on.
    next: u64,
    /// Bytes that have arrived up to now, less those of the rounds that have ended; at least the part of this round that its
    /// rate has already passed.
    bytes: u64,
}

/// Bytes that leave at `rate` in a number of nanoseconds.
fn bytes_in(ns: u64, rate: u64) -> u64 {
    u64::try_from(u128::from(ns) * u128::from(rate) / NS_BITS_PER_BYTE).unwrap_or(u64::MAX)
}

impl Group {
    fn new(rate: u64) -> Self {
        Self { rates: [rate; 2], next: rate, bytes: 0 }
    }

    /// The FIFO that a packet of `len` bytes waits in, `elapsed` after the beginning of the round of FIFO `head`; `None` for
    /// neither. Dropped packets count as well.
    #[inline]
    fn admit(&mut self, len: u32, head: usize, elapsed: u64, round: u64) -> Option<usize> {
        let [now, then] = [head, 1 - head].map(|queue| self.rates.get(queue).copied().unwrap_or(0));
        let (first, both) =
            (bytes_in(round, now), bytes_in(round, now).saturating_add(bytes_in(round, then)));
        let place = match self.bytes {
            bytes if bytes <= first => Some(head),
            bytes if bytes <= both => Some(1 - head),
            _ => None,
        };
        self.bytes = self.bytes.max(bytes_in(elapsed, now)).saturating_add(u64::from(len));
        place
    }

    /// The round of FIFO `head` is over, and its next one is at another rate.
    fn end_round(&mut self, head: usize, round: u64) {
        if let Some(rate) = self.rates.get_mut(head) {
            self.bytes = self.bytes.saturating_sub(bytes_in(round, *rate));
            *rate = self.next;
        }
    }

    /// More rounds have passed, in which both FIFOs keep the same rate.
    fn end_rounds(&mut self, count: u64, round: u64) {
        self.bytes = self.bytes.saturating_sub(bytes_in(round, self.next).saturating_mul(count));
    }
}

/// Cebinae over two FIFOs. `C` holds the cache of flows, place after place of the first hash function, then of the second.
#[derive(Clone, Debug)]
pub struct Cebinae<H, P, Q, C> {
    params: CebinaeParams,
    pool: QueuePool<H, (), (), P, Q>,
    cache: C,
    /// Key of the hash, after the host has given it.
    key: Option<[u64; 2]>,
    round_ns: u64,
    round_began: Time,
    /// Rounds since the last comparison.
    rounds: u32,
    /// The FIFO of the current round.
    head: usize,
    top: Group,
    others: Group,
    /// Bytes that left since the last comparison.
    sent: u64,
    stats: Stats,
}

impl<H, P: Storage<PacketSlot<H>>, Q: Storage<QueueSlot<()>>, C: Storage<CebinaeSlot>> Cebinae<H, P, Q, C> {
    /// An empty queue. `slots` has `limit` elements or more, `records` two, `cache` twice the parameter `slots`.
    /// Rounds begin at time 0.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: CebinaeParams, slots: P, records: Q, mut cache: C) -> Result<Self, ParamError> {
        params.validate()?;
        let pool = QueuePool::new(slots, records, params.limit as usize, 2)?;
        let places = cache.as_ref().len();
        require(places >= (STAGES * params.slots) as usize, "slots", places as f64, "two places for each")?;
        cache.as_mut().fill(CebinaeSlot::default());
        Ok(Self {
            pool,
            cache,
            key: None,
            round_ns: params.round_ns(),
            round_began: Time::ZERO,
            rounds: 0,
            head: 0,
            top: Group::new(0),
            others: Group::new(params.rate_bps),
            sent: 0,
            stats: Stats::default(),
            params,
        })
    }

    /// Rate of the top group from the next rounds on, in bit/s; 0 where the link was not full.
    pub fn top_rate(&self) -> u64 {
        self.top.next
    }

    /// Whether `flow` is in the top group, as of the last call.
    pub fn is_top(&self, flow: u64) -> bool {
        self.places(flow)
            .iter()
            .any(|&at| self.cache.as_ref().get(at).is_some_and(|slot| slot.top == Some(flow)))
    }

    /// Visits every waiting packet, FIFO by FIFO.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        (0..2).flat_map(|queue| self.pool.iter(queue)).for_each(visit);
    }

    /// Where a flow may be in the cache.
    #[inline]
    fn places(&self, flow: u64) -> [usize; STAGES as usize] {
        let hash = siphash(self.key.unwrap_or_default(), &flow.to_le_bytes());
        let slots = u64::from(self.params.slots);
        let place = |part: u64| ((part * slots) >> 32) as usize;
        [place(hash & 0xFFFF_FFFF), slots as usize + place(hash >> 32)]
    }

    /// Counts a departing packet: in its flow's place, or in the first free one.
    #[inline]
    fn count(&mut self, flow: u64, len: u32) {
        self.sent = self.sent.saturating_add(u64::from(len));
        for at in self.places(flow) {
            let Some(slot) = self.cache.as_mut().get_mut(at) else { return };
            if *slot.flow.get_or_insert(flow) == flow {
                slot.bytes = slot.bytes.saturating_add(u64::from(len));
                return;
            }
        }
    }

    /// Closes the rounds that are over at `now`.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now.since(self.round_began).ns() >= self.round_ns {
            self.end_rounds(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn end_rounds(&mut self, now: Time) {
        let round = self.round_ns.max(1);
        let over = now.since(self.round_began).ns() / round;
        self.round_began = self.round_began.after(Time::from_ns(over.saturating_mul(round)));
        // Nothing left meanwhile: two looks later the link counts as idle, and two rounds after that all rates are the last.
        let singly = over.min(u64::from(2 * self.params.p + 2));
        (0..singly).for_each(|_| self.end_round());
        let rest = over - singly;
        self.top.end_rounds(rest, round);
        self.others.end_rounds(rest, round);
        self.head = if rest.is_multiple_of(2) { self.head } else { 1 - self.head };
        self.rounds = ((u64::from(self.rounds) + rest) % u64::from(self.params.p.max(1))) as u32;
    }

    fn end_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= self.params.p {
            self.rounds = 0;
            self.look();
        }
        self.top.end_round(self.head, self.round_ns);
        self.others.end_round(self.head, self.round_ns);
        self.head = 1 - self.head;
    }

    /// Determines the largest flows of a full link, and the rates of both groups from now on.
    fn look(&mut self) {
        let (link, ns) = (self.params.rate_bps, self.round_ns.saturating_mul(u64::from(self.params.p)));
        let full = link as f64 * ns as f64 / 8e9 * (1.0 - self.params.delta_port);
        let is_full = self.sent as f64 > full;
        let most = self.cache.as_ref().iter().map(|slot| slot.bytes).max().unwrap_or(0) as f64;
        let least = most * (1.0 - self.params.delta_flow);
        let mut bytes = 0_u64;
        for slot in self.cache.as_mut() {
            let is_top = is_full && slot.bytes as f64 > least;
            bytes = bytes.saturating_add(if is_top { slot.bytes } else { 0 });
            *slot = CebinaeSlot { flow: None, bytes: 0, top: slot.flow.filter(|_| is_top) };
        }
        let kept = 1.0 - self.params.tau;
        let taxed = (bytes as f64 * kept) * 8e9 / ns as f64;
        self.top.next = taxed.min(link as f64 * kept) as u64;
        self.others.next = link - self.top.next;
        self.sent = 0;
    }
}

impl<H, P, Q, C> Discipline<H> for Cebinae<H, P, Q, C>
where
    P: Storage<PacketSlot<H>>,
    Q: Storage<QueueSlot<()>>,
    C: Storage<CebinaeSlot>,
{
    #[inline(never)]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        let now = env.now();
        self.catch_up(now);
        self.stats.arrived.add(packet.meta.len);
        self.key.get_or_insert_with(|| env.flow_key());
        let is_top = self.is_top(packet.meta.flow);
        let group = if is_top { &mut self.top } else { &mut self.others };
        let elapsed = now.since(self.round_began).ns();
        let Some(queue) = group.admit(packet.meta.len, self.head, elapsed, self.round_ns) else {
            return drop_packet(&mut self.stats, env, packet, DropCause::Filter);
        };
        if self.pool.backlog().packets >= self.params.limit {
            drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
        } else if let Some(packet) = self.pool.push(queue as u32, packet, ()) {
            drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        self.catch_up(env.now());
        let head = self.head as u32;
        let packet = self.pool.pop(head).or_else(|| self.pool.pop(1 - head))?;
        self.count(packet.meta.flow, packet.meta.len);
        self.stats.departed.add(packet.meta.len);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}
