//! CAKE with one tin: queues of flows are served in turn, hosts share the link before their flows do, and each queue is a
//! [COBALT](super::cobalt).
//!
//! Flows find their queues through a hash with eight ways each, so that two share a queue only where all eight are
//! taken. A queue that becomes backlogged is sparse, and is served before the bulk ones until it has sent its share of a
//! quantum. That share is the quantum over the bulk queues of its source or of its destination, whichever has more
//! (triple isolation). A queue that is found empty decays: it stays in a list until its COBALT is at rest, then other flows
//! may take it. When the buffer is full, the head of the queue with the most bytes is dropped, and that queue's COBALT
//! is notified.
//!
//! With a `rate` it is a shaper as well: packets leave spaced by their transmission times at that rate, on a faster link that
//! then has no queue. Without one, the quantum and COBALT's target follow the rate of the link.
//!
//! With `linux` turns, roots and the choice among equally long queues are the kernel's, decision by decision.
//!
//! Not implemented: tins by DSCP; ingress mode; the filter of ACKs.
//!
//! Source: T. Hoeiland-Joergensen, D. Taht, J. Morton, "Piece of CAKE: a comprehensive queue management solution for home
//! gateways", IEEE LANMAN 2018, III; Linux, `net/sched/sch_cake.c`.

use core::cmp::Reverse;
use core::num::NonZeroU64;

use super::cobalt::{CobaltParams, CobaltState};
use super::drr::MOST_QUANTUM;
use super::fq_codel::{Fattest, slots_for};
use super::outcome::drop_packet;
use super::sfq::{MOST_QUEUES, salted};
use crate::arithmetic::virtual_clock::VirtualClock;
use crate::contract::flow_key::{reduced, siphash};
use crate::contract::{
    Backlog, Departures, Discipline, DisciplineInfo, DropCause, Env, Family, Hosts, Packet, ParamError,
    Stats, Stream, Time, require,
};
use crate::declare::{Linux, ParamTable, Registered, facts, in_storage, params, words};
use crate::storage::{HeapPlace, IndexedHeap, Memory, PacketSlot, QueuePool, QueueSlot, Storage};

/// Tins of the kernel's heap, of which one is used (`CAKE_MAX_TINS`).
const TINS: u32 = 8;
/// Departures after an overflow for which the kernel keeps its heap in order (`cake_drop`).
const KEPT_IN_ORDER: u16 = u16::MAX;

/// Source of these values.
const LINUX: &str = "Linux, net/sched/sch_cake.c";
/// Binary places of a deficit behind the byte.
const PLACES: u32 = 16;
/// The lowest rate of a shaper, bit/s: 64 bytes a second (`cake_set_rate`).
const LEAST_RATE: f64 = 512.0;
/// A quantum is the bytes that the link sends in one second divided by this (`cake_set_rate`).
const QUANTA_A_SECOND: u64 = 4096;
/// Smallest quantum derived from a rate, bytes (`cake_set_rate`).
const LEAST_QUANTUM: u32 = 300;

words! {
    /// Unit that has a queue of its own, and the hosts that share the link first.
    pub enum Isolation {
        /// Each flow has a queue.
        Flows = "flows",
        /// Each source host has a queue.
        Source = "srchost",
        /// Each destination host has a queue.
        Destination = "dsthost",
        /// Each pair of hosts has a queue.
        Pair = "hosts",
        /// Each flow has a queue; source hosts share the link first.
        DualSource = "dual-srchost",
        /// Each flow has a queue; destination hosts share the link first.
        DualDestination = "dual-dsthost",
        /// Each flow has a queue; hosts share the link first, at whichever end a host has more bulk flows.
        Triple = "triple-isolate",
    }
}

words! {
    /// Framing of packets on the link.
    pub enum Framing {
        /// None.
        None = "none",
        /// Cells of 53 bytes with 48 of the packet's, the last one filled up (ATM).
        Atm = "atm",
        /// One more byte for each 64 bytes or part of them (PTM, 64B/65B).
        Ptm = "ptm",
    }
}

impl Isolation {
    /// The ends at which hosts share before flows do.
    fn ends(self) -> &'static [End] {
        match self {
            Self::Flows | Self::Source | Self::Destination | Self::Pair => &[],
            Self::DualSource => &[End::Source],
            Self::DualDestination => &[End::Destination],
            Self::Triple => &[End::Source, End::Destination],
        }
    }
}

/// An end of a packet's path.
#[derive(Clone, Copy, Debug)]
enum End {
    Source,
    Destination,
}

params! {
    /// Parameters of [`Cake`].
    pub struct CakeParams {
        /// Parameters of every queue; `limit` holds for all of them together.
        base cobalt: CobaltParams;
        /// Queues, a multiple of `ways`; also places for hosts at either end.
        queues: u32 = 1024, Integer(1, MOST_QUEUES as i64), LINUX;
        /// Adjacent queues that a flow may take (set associativity). It shares one only when all are taken.
        ways: u32 = 8, Integer(1, 64), LINUX;
        /// Unit that has a queue of its own, and the hosts that share the link before flows do.
        isolation: Isolation = "triple-isolate", Choice(Isolation::WORDS), LINUX;
        /// Rate of the shaper, counting bytes as `overhead`, `mpu` and `framing` define; 0 for no shaper. The link must
        /// be faster.
        rate: f64 = 0, Rate(0.0, 1e12), LINUX;
        /// Bytes added to a queue's allowance per turn when its host has no other queue; an upper bound with `follow_rate`.
        quantum: u32 = 1514 B, Bytes(1, MOST_QUANTUM as u64), LINUX;
        /// Derive the quantum from the rate: the bytes that `rate`, or else the link, sends in 1/4096 s, from 300 up to
        /// `quantum`. `target` is at least 1.5 packets of `mtu` at that rate, and `interval` grows by as much.
        /// Otherwise neither they nor the least wait of COBALT depend on a rate.
        follow_rate: bool = true, Switch, LINUX;
        /// Extra bytes of a packet on the link, counted at the turns and for `rate`.
        overhead: u32 = 0 B, Bytes(0, 256), LINUX;
        /// Least bytes of a packet on the link, `overhead` included.
        mpu: u32 = 0 B, Bytes(0, 256), LINUX;
        /// Framing of the link, counted in a packet's bytes.
        framing: Framing = "none", Choice(Framing::WORDS), LINUX;
        /// Rules of the source, or of a kernel without a rate: `rate` is 0, and `follow_rate` has no effect. Bytes of a turn
        /// are rounded at random, roots and the choice of the longest queue are the kernel's.
        linux: Linux = "none", Choice(Linux::WORDS), "Linux 6.12, net/sched/sch_cake.c";
        /// Hash key, combined with that of the host; it determines which flows share a queue.
        salt: u64 = 0, Key, "McKenney 1990";
        fields {
            /// Rate of the link, bit/s.
            rate_bps: u64 = 1_000_000_000;
        }
    }
}

impl CakeParams {
    /// Rate of the shaper in whole bit/s, if there is one.
    fn shaped_bps(&self) -> Option<u64> {
        (self.rate > 0.0).then_some(((self.rate + 0.5) as u64).max(1))
    }

    /// Bytes that a packet of `len` takes on the link (`cake_calc_overhead`).
    #[inline]
    fn on_link(&self, len: u32) -> u32 {
        let len = len.saturating_add(self.overhead).max(self.mpu);
        match self.framing {
            Framing::None => len,
            Framing::Atm => len.div_ceil(48).saturating_mul(53),
            Framing::Ptm => len.saturating_add(len.div_ceil(64)),
        }
    }

    fn follows_rate(&self) -> bool {
        self.follow_rate && !self.linux.is_set()
    }

    /// Entries of the heap.
    fn heap_places(&self) -> u32 {
        if self.linux.is_set() { self.queues * TINS } else { self.queues }
    }

    /// Parameters of each queue, adjusted to the rate.
    fn of_queue(&self) -> CobaltParams {
        let mut cobalt = self.cobalt.clone();
        cobalt.kernel_roots = self.linux.is_set();
        if let Some(bps) = self.shaped_bps() {
            cobalt.set_link_rate(bps);
        }
        if !self.follows_rate() {
            cobalt.mtu_time = Time::ZERO;
        }
        let (target, mtu_time) = (self.cobalt.target, cobalt.mtu_time);
        cobalt.target = target.max(mtu_time.after(Time::from_ns(mtu_time.ns() / 2)));
        let longer = self.cobalt.interval.after(cobalt.target.since(target));
        cobalt.interval = longer.max(cobalt.target.after(cobalt.target));
        cobalt
    }

    /// Bytes of a turn, adjusted to the rate.
    fn quantum_of_rate(&self) -> u32 {
        if !self.follows_rate() {
            return self.quantum;
        }
        let sent = self.shaped_bps().unwrap_or(self.rate_bps) / 8 / QUANTA_A_SECOND;
        let least = self.quantum.min(LEAST_QUANTUM);
        u32::try_from(sent).map_or(self.quantum, |sent| sent.max(least).min(self.quantum))
    }
}

impl Registered for CakeParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "cake",
        title: "CAKE",
        label: "CAKE",
        doc: "Flow queues served in turn, sparse flows first, each with COBALT; the link is shared among hosts, then \
              among their flows.",
        report: "Sorts flows into separate queues, each kept short by COBALT, and shares the link among hosts before \
                 it shares it among their flows.",
        family: Family::Queues,
        departures: Departures::AnyOrder,
        source: "Hoeiland-Joergensen, Taht, Morton 2018",
        ..facts::<Self>()
    };

    in_storage!(Cake, |params|
        slots: PacketSlot<H> = slots_for(params.limit()),
        records: QueueSlot<CakeQueue> = params.queues as usize,
        places: HeapPlace<Fattest> = params.heap_places() as usize,
        heap: CakeHost = params.queues as usize,
    );

    fn for_each_waiting<H, M: Memory>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
        queue.for_each_waiting(visit);
    }

    fn check(&self) -> Result<(), ParamError> {
        let whole = self.queues.checked_rem(self.ways) == Some(0);
        require(whole, "queues", f64::from(self.queues), "a multiple of ways")?;
        let shapes = self.rate == 0.0 || self.rate >= LEAST_RATE;
        require(shapes, "rate", self.rate, "0 for no shaper, or 512 bit/s and more")?;
        require(self.rate == 0.0 || !self.linux.is_set(), "rate", self.rate, "0 with linux")
    }

    fn set_link_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps;
    }
}

/// State of a queue, which is also the list that holds it (`CAKE_SET_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Set {
    /// In none.
    #[default]
    Free,
    /// Among the new ones, which go first.
    Sparse,
    /// It was empty when it had used up its credit: among the old ones, without counting as bulk.
    SparseWait,
    /// Among the old ones.
    Bulk,
    /// Empty, until its COBALT is at rest.
    Decaying,
}

/// CAKE's state of a queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct CakeQueue {
    control: CobaltState,
    /// Bytes that it may still send at this turn, in units of 2^-16: shares of a quantum are seldom whole.
    deficit: i64,
    set: Set,
    /// Hash of the flow that it is reserved for.
    tag: u64,
    /// Places of the flow's hosts.
    source: u32,
    destination: u32,
    /// Neighbours in its list.
    next: Option<u32>,
    previous: Option<u32>,
}

impl CakeQueue {
    fn host(&self, end: End) -> u32 {
        match end {
            End::Source => self.source,
            End::Destination => self.destination,
        }
    }

    fn host_mut(&mut self, end: End) -> &mut u32 {
        match end {
            End::Source => &mut self.source,
            End::Destination => &mut self.destination,
        }
    }
}

/// A place for a source host, and one for a destination host.
#[derive(Clone, Copy, Debug, Default)]
pub struct CakeHost {
    source: Share,
    destination: Share,
}

impl CakeHost {
    fn end(&self, end: End) -> &Share {
        match end {
            End::Source => &self.source,
            End::Destination => &self.destination,
        }
    }

    fn end_mut(&mut self, end: End) -> &mut Share {
        match end {
            End::Source => &mut self.source,
            End::Destination => &mut self.destination,
        }
    }
}

/// A host at one end.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    /// Hash of the host that the place is reserved for.
    tag: u64,
    /// Its bulk queues.
    bulk: u32,
}

/// Queues one after the other, linked in their records.
#[derive(Clone, Copy, Debug, Default)]
struct List {
    first: Option<u32>,
    last: Option<u32>,
}

/// Flow queues with COBALT each, and hosts that share.
#[derive(Clone, Debug)]
pub struct Cake<H, P, Q, L, T> {
    params: CakeParams,
    /// Parameters of every queue.
    cobalt: CobaltParams,
    /// A quantum, in 2^-16 bytes.
    quantum: i64,
    pool: QueuePool<H, (), CakeQueue, P, Q>,
    fattest: IndexedHeap<L>,
    /// With `linux`, departures for which the heap is still kept in order.
    in_order: u16,
    hosts: T,
    new: List,
    old: List,
    decaying: List,
    shaper: Option<VirtualClock>,
    /// Time at which held packets may leave, set by a `dequeue` that returned none.
    held: Option<Time>,
    /// Key of the hash: `salt`, and that of the host once known.
    key: [u64; 2],
    keyed: bool,
    stats: Stats,
}

/// The places among `count` that `hash` may take with `ways` ways, its own first.
#[inline]
fn places(hash: u64, count: u32, ways: u32) -> impl Iterator<Item = u32> + Clone {
    let (own, ways) = (reduced(hash, count), ways.max(1));
    let inner = own % ways;
    (0..ways).map(move |step| own - inner + (inner + step) % ways)
}

impl<H, P, Q, L, T> Cake<H, P, Q, L, T>
where
    P: Storage<PacketSlot<H>>,
    Q: Storage<QueueSlot<CakeQueue>>,
    L: Storage<HeapPlace<Fattest>>,
    T: Storage<CakeHost>,
{
    /// An empty queue. `slots` has one more element than `limit` or more, `records` and `hosts` have `queues`, and so have
    /// `places`, or with `linux` eight times as many.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(
        params: CakeParams,
        slots: P,
        records: Q,
        places: L,
        mut hosts: T,
    ) -> Result<Self, ParamError> {
        params.validate()?;
        let queues = params.queues as usize;
        let pool = QueuePool::new(slots, records, slots_for(params.cobalt.limit), queues)?;
        let mut fattest = IndexedHeap::new(places, params.heap_places() as usize)?;
        if params.linux.is_set() {
            fattest.lay_out::<Fattest>();
        }
        let room = hosts.as_ref().len();
        require(room >= queues, "hosts", room as f64, "one for each queue")?;
        hosts.as_mut().fill(CakeHost::default());
        let (cobalt, quantum) = (params.of_queue(), i64::from(params.quantum_of_rate()) << PLACES);
        let (new, old, decaying, key) = (List::default(), List::default(), List::default(), [params.salt, 0]);
        let (keyed, stats, held) = (false, Stats::default(), None);
        let shaper = params.shaped_bps().and_then(NonZeroU64::new).map(VirtualClock::new);
        Ok(Self {
            params,
            cobalt,
            quantum,
            pool,
            fattest,
            in_order: 0,
            hosts,
            new,
            old,
            decaying,
            shaper,
            held,
            key,
            keyed,
            stats,
        })
    }

    /// The parameters of COBALT and the bytes of a quantum, adjusted to the rate.
    pub fn at_this_rate(&self) -> (&CobaltParams, u32) {
        (&self.cobalt, self.params.quantum_of_rate())
    }

    /// The queue that packets of `flow` between these hosts are in, if there is one.
    pub fn queue_of(&self, flow: u64, hosts: Hosts) -> Option<u32> {
        let tag = self.tag_of(flow, || hosts);
        let mut ways = places(tag, self.params.queues, self.params.ways);
        ways.find(|&queue| {
            self.pool.state(queue).is_some_and(|state| state.tag == tag && state.set != Set::Free)
        })
    }

    /// The bulk queues that a queue shares its host's part of the link with, itself included: the number that a quantum is
    /// divided by.
    pub fn load(&self, queue: u32) -> u32 {
        let Some(state) = self.pool.state(queue) else { return 1 };
        let ends = self.params.isolation.ends().iter();
        let loads = ends.map(|&end| self.host(state.host(end)).map_or(0, |host| host.end(end).bulk));
        loads.max().unwrap_or(1).max(1)
    }

    /// The count of a queue's control law, and its drop probability.
    pub fn control(&self, queue: u32) -> (u32, f64) {
        self.pool.state(queue).map_or((0, 0.0), |state| (state.control.count(), state.control.probability()))
    }

    /// With `linux`, departures for which the heap of queues is still kept in order (`overflow_timeout`).
    pub fn overflow_timeout(&self) -> u16 {
        self.in_order
    }

    /// Visits every waiting packet, queue by queue: first the sparse queues, then the bulk ones, each in the order of turns.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        let queues = self.iter(self.new).chain(self.iter(self.old));
        queues.flat_map(|queue| self.pool.iter(queue)).for_each(visit);
    }

    fn iter(&self, list: List) -> impl Iterator<Item = u32> {
        core::iter::successors(list.first, |&queue| self.pool.state(queue).and_then(|state| state.next))
    }

    #[inline]
    fn host(&self, place: u32) -> Option<&CakeHost> {
        self.hosts.as_ref().get(place as usize)
    }

    /// Hash of a flow (`kind` 0), of a source (1) or of a destination (2).
    #[inline]
    fn hash(&self, kind: u64, of: u64) -> u64 {
        siphash([self.key[0], self.key[1] ^ kind], &of.to_le_bytes())
    }

    /// Hash of a host.
    #[inline]
    fn hash_of_host(&self, end: End, hosts: Hosts) -> u64 {
        match end {
            End::Source => self.hash(1, hosts.source),
            End::Destination => self.hash(2, hosts.destination),
        }
    }

    /// Hash of the unit that has its own queue.
    #[inline]
    fn tag_of(&self, flow: u64, hosts: impl Fn() -> Hosts) -> u64 {
        match self.params.isolation {
            Isolation::Source => self.hash_of_host(End::Source, hosts()),
            Isolation::Destination => self.hash_of_host(End::Destination, hosts()),
            Isolation::Pair => {
                self.hash_of_host(End::Source, hosts()) ^ self.hash_of_host(End::Destination, hosts())
            }
            _ => self.hash(0, flow),
        }
    }

    /// The queue of an arrival: the one reserved for its flow, else one that is free, else its own, which it then takes over
    /// (`cake_hash`).
    #[inline]
    fn reserve(&mut self, flow: u64, hosts: impl Fn() -> Hosts) -> Option<u32> {
        let tag = self.tag_of(flow, &hosts);
        let mut ways = places(tag, self.params.queues, self.params.ways);
        let own = ways.clone().next()?;
        let state = |queue: u32| self.pool.state(queue);
        let reserved = ways.clone().find(|&queue| state(queue).is_some_and(|state| state.tag == tag));
        let is_free = |queue: &u32| state(*queue).is_some_and(|state| state.set == Set::Free);
        let queue = reserved.or_else(|| ways.find(is_free)).unwrap_or(own);
        if reserved.is_none() || is_free(&queue) {
            self.take_over(queue, tag, &hosts);
        }
        Some(queue)
    }

    /// Reserves a queue for another flow.
    fn take_over(&mut self, queue: u32, tag: u64, hosts: impl Fn() -> Hosts) {
        let ends = self.params.isolation.ends();
        let is_bulk = self.pool.state(queue).is_some_and(|state| state.set == Set::Bulk);
        if is_bulk {
            self.leave_bulk(queue);
        }
        for &end in ends {
            let hash = self.hash_of_host(end, hosts());
            let place = self.place_of_host(end, hash);
            if let Some(host) = self.hosts.as_mut().get_mut(place as usize) {
                host.end_mut(end).tag = hash;
            }
            if let Some(state) = self.pool.state_mut(queue) {
                *state.host_mut(end) = place;
            }
        }
        if let Some(state) = self.pool.state_mut(queue) {
            state.tag = tag;
        }
        if is_bulk {
            self.join_bulk(queue);
        }
    }

    /// The place of a host: the one reserved for it, else one without bulk queues, else its own.
    fn place_of_host(&self, end: End, hash: u64) -> u32 {
        let mut ways = places(hash, self.params.queues, self.params.ways);
        let share = |place: u32| self.host(place).map(|host| host.end(end));
        let reserved = ways.clone().find(|&place| share(place).is_some_and(|share| share.tag == hash));
        let idle = |place: &u32| share(*place).is_some_and(|share| share.bulk == 0);
        let own = reduced(hash, self.params.queues);
        reserved.or_else(|| ways.find(idle)).unwrap_or(own)
    }

    /// A queue counts among the bulk ones of its hosts.
    fn join_bulk(&mut self, queue: u32) {
        self.count_bulk(queue, true);
    }

    /// A queue no longer counts among them.
    fn leave_bulk(&mut self, queue: u32) {
        self.count_bulk(queue, false);
    }

    #[inline(never)]
    fn count_bulk(&mut self, queue: u32, joins: bool) {
        let Some(state) = self.pool.state(queue).copied() else { return };
        for &end in self.params.isolation.ends() {
            if let Some(host) = self.hosts.as_mut().get_mut(state.host(end) as usize) {
                let share = host.end_mut(end);
                share.bulk = if joins { share.bulk.saturating_add(1) } else { share.bulk.saturating_sub(1) };
            }
        }
    }

    /// The part of `whole` that each of the bulk queues has that a queue shares with.
    #[inline(never)]
    fn part_of(&self, whole: i64, queue: u32) -> i64 {
        whole.checked_div(i64::from(self.load(queue))).unwrap_or(1).max(1)
    }

    /// Bytes added to a queue's credit at each turn, in units of 2^-16.
    #[inline]
    fn share(&self, queue: u32) -> i64 {
        self.part_of(self.quantum, queue)
    }

    /// [`Self::share`], or with `linux` that of the kernel (`cake_get_flow_quantum`): whole bytes, of which its quantum of 1514 has no
    /// less than 1.
    #[inline]
    fn share_of_turn<E: Env<H>>(&self, queue: u32, env: &mut E) -> i64 {
        if !self.params.linux.is_set() {
            return self.share(queue);
        }
        let random = (env.random(Stream::Service) >> 48) as i64;
        let bytes = ((self.quantum >> PLACES) * self.part_of(i64::from(u16::MAX), queue) + random) >> PLACES;
        bytes.max(1) << PLACES
    }

    /// Bytes wait in a queue or have left it; `joined`: more than before.
    #[inline(never)]
    fn weigh(&mut self, queue: u32, joined: bool) {
        let bytes = Reverse(self.pool.bytes(queue));
        if self.params.linux.is_set() {
            self.fattest.reweigh(queue * TINS, bytes, self.in_order > 0, joined);
        } else if bytes.0 > 0 {
            self.fattest.set(queue, bytes);
        } else {
            self.fattest.remove(queue);
        }
    }

    /// The list of queues that are in `set`.
    #[inline]
    fn list_mut(&mut self, set: Set) -> Option<&mut List> {
        match set {
            Set::Free => None,
            Set::Sparse => Some(&mut self.new),
            Set::SparseWait | Set::Bulk => Some(&mut self.old),
            Set::Decaying => Some(&mut self.decaying),
        }
    }

    /// Takes a queue out of its list, if it is in one, and makes it the last of that of `set`.
    fn move_to(&mut self, queue: u32, set: Set) {
        let Some(state) = self.pool.state_mut(queue) else { return };
        let CakeQueue { set: was, next, previous, .. } =
            core::mem::replace(state, CakeQueue { set, next: None, previous: None, ..*state });
        if let Some(state) = next.and_then(|next| self.pool.state_mut(next)) {
            state.previous = previous;
        }
        if let Some(state) = previous.and_then(|previous| self.pool.state_mut(previous)) {
            state.next = next;
        }
        if let Some(list) = self.list_mut(was) {
            list.first = if previous.is_none() { next } else { list.first };
            list.last = if next.is_none() { previous } else { list.last };
        }
        let Some(list) = self.list_mut(set) else { return };
        let before = list.last.replace(queue);
        list.first = list.first.or(Some(queue));
        if let Some(state) = before.and_then(|before| self.pool.state_mut(before)) {
            state.next = Some(queue);
        }
        if let Some(state) = self.pool.state_mut(queue) {
            state.previous = before;
        }
    }

    /// A packet has arrived at a queue.
    #[inline]
    fn join<E: Env<H>>(&mut self, queue: u32, env: &mut E) {
        match self.pool.state(queue).map(|state| state.set) {
            Some(Set::Free | Set::Decaying) => {
                self.move_to(queue, Set::Sparse);
                let share = self.share_of_turn(queue, env);
                if let Some(state) = self.pool.state_mut(queue) {
                    state.deficit = share;
                }
            }
            Some(Set::SparseWait) => {
                if let Some(state) = self.pool.state_mut(queue) {
                    state.set = Set::Bulk;
                }
                self.join_bulk(queue);
            }
            _ => {}
        }
    }

    /// A queue has used up its credit: it gets another share, and becomes the last of the old ones. Returns whether it may
    /// still not send.
    #[inline]
    fn another_turn<E: Env<H>>(&mut self, queue: u32, env: &mut E) -> bool {
        let waits = self.pool.packets(queue) > 0;
        let mut set = self.pool.state(queue).map_or(Set::Bulk, |state| state.set);
        if set == Set::Sparse && waits {
            self.join_bulk(queue);
            set = Set::Bulk;
        } else if set == Set::Sparse {
            set = Set::SparseWait;
        }
        self.move_to(queue, set);
        let share = self.share_of_turn(queue, env);
        let Some(state) = self.pool.state_mut(queue) else { return false };
        state.deficit += share;
        state.deficit <= 0
    }

    /// Makes all rounds of the old queues at once in which none of them may send: the sharing of hosts does not change in
    /// those. O(old queues).
    #[cold]
    #[inline(never)]
    fn skip_rounds(&mut self) {
        let rounds_until = |queue: u32| {
            let short = 1 - self.pool.state(queue).map_or(1, |state| state.deficit);
            let share = self.share(queue);
            short.max(0).saturating_add(share - 1).checked_div(share).unwrap_or(0)
        };
        let Some(rounds) = self.iter(self.old).map(rounds_until).min() else { return };
        let mut at = self.old.first;
        while let Some(queue) = at {
            let more = rounds.saturating_mul(self.share(queue));
            let Some(state) = self.pool.state_mut(queue) else { return };
            state.deficit = state.deficit.saturating_add(more);
            at = state.next;
        }
    }

    /// The queue in turn was empty: it decays, or is freed.
    fn found_empty(&mut self, queue: u32, now: Time) {
        let Some(state) = self.pool.state_mut(queue) else { return };
        state.control.found_empty(&self.cobalt, now);
        let next = if state.control.is_at_rest(now) { Set::Free } else { Set::Decaying };
        if state.set == Set::Bulk {
            self.leave_bulk(queue);
        }
        self.move_to(queue, next);
    }

    /// Removes the oldest packet of a queue.
    #[inline]
    fn pop(&mut self, queue: u32) -> Option<Packet<H>> {
        let packet = self.pool.pop(queue)?;
        self.weigh(queue, false);
        Some(packet)
    }

    /// The first packet of a queue that its COBALT does not drop.
    #[inline]
    fn serve<E: Env<H>>(&mut self, queue: u32, env: &mut E) -> Option<Packet<H>> {
        while let Some(packet) = self.pop(queue) {
            let is_last = self.pool.packets(queue) == 0;
            let Some(state) = self.pool.state_mut(queue) else { return Some(packet) };
            let sent = state.control.settle(&self.cobalt, packet, is_last, &mut self.stats, env);
            if let Some(packet) = sent {
                let len = self.params.on_link(packet.meta.len);
                state.deficit -= i64::from(len) << PLACES;
                if let Some(shaper) = &mut self.shaper {
                    shaper.charge(len);
                }
                self.stats.departed.add(packet.meta.len);
                return Some(packet);
            }
        }
        None
    }

    /// The queue with the most bytes.
    fn longest(&mut self) -> Option<u32> {
        if !self.params.linux.is_set() {
            return self.fattest.first::<Fattest>().map(|(queue, _)| queue);
        }
        let top = |heap: &IndexedHeap<L>| heap.top::<Fattest>().map(|entry| entry / TINS);
        // The heap goes wrong; one that was just put in order has the longest queue on top.
        let is_empty = top(&self.fattest).is_none_or(|queue| self.pool.packets(queue) == 0);
        if self.in_order == 0 || is_empty {
            self.fattest.put_in_order::<Fattest>();
        }
        self.in_order = KEPT_IN_ORDER;
        top(&self.fattest)
    }

    /// Drops the head of the fattest queue (`cake_drop`). `own` is the queue of the arrival, its newest packet.
    #[cold]
    fn shed<E: Env<H>>(&mut self, own: u32, env: &mut E) {
        let Some(queue) = self.longest() else { return };
        let is_arrival = queue == own && self.pool.packets(queue) == 1;
        let cause = if is_arrival { DropCause::Overflow } else { DropCause::LongestQueue };
        let Some(packet) = self.pop(queue) else { return };
        if let Some(state) = self.pool.state_mut(queue) {
            state.control.found_full(&self.cobalt, env.now());
        }
        drop_packet(&mut self.stats, env, packet, cause);
    }
}

impl<H, P, Q, L, T> Discipline<H> for Cake<H, P, Q, L, T>
where
    P: Storage<PacketSlot<H>>,
    Q: Storage<QueueSlot<CakeQueue>>,
    L: Storage<HeapPlace<Fattest>>,
    T: Storage<CakeHost>,
{
    #[inline(never)]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        if !self.keyed {
            self.key = salted(self.params.salt, env);
            self.keyed = true;
        }
        if let Some(shaper) = self.shaper.as_mut().filter(|_| self.pool.backlog().packets == 0) {
            shaper.begin(env.now());
        }
        let queue = self.reserve(packet.meta.flow, || env.hosts(&packet)).unwrap_or(0);
        if let Some(packet) = self.pool.push(queue, packet, ()) {
            drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
            return;
        }
        self.weigh(queue, true);
        self.join(queue, env);
        if self.pool.backlog().packets > self.params.cobalt.limit {
            self.shed(queue, env);
        }
    }

    /// `cake_dequeue`: when the shaper releases a packet, one decaying queue is visited first, then the sparse ones, then the
    /// bulk ones.
    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        if let Some(shaper) = &self.shaper {
            let next = shaper.next();
            self.held = (next > env.now() && self.pool.backlog().packets > 0).then_some(next);
            if self.held.is_some() {
                return None;
            }
        }
        let mut decaying = self.decaying.first;
        let mut first_short = None;
        while self.pool.backlog().packets > 0 {
            let first = decaying.take().or(self.new.first);
            // A whole round without a packet: with small shares or long packets many others would follow.
            if first.is_none() && first_short.is_some() && self.old.first == first_short {
                first_short = None;
                self.skip_rounds();
            }
            let queue = first.or(self.old.first)?;
            if self.pool.state(queue)?.deficit <= 0 {
                // The kernel draws a number for each turn.
                if self.another_turn(queue, env) && !self.params.linux.is_set() {
                    first_short = first_short.or(Some(queue));
                }
            } else if let Some(packet) = self.serve(queue, env) {
                self.in_order = self.in_order.saturating_sub(1);
                return Some(packet);
            } else {
                self.found_empty(queue, env.now());
            }
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        if self.params.linux.is_set() {
            see("overflow_timeout", f64::from(self.overflow_timeout()));
        }
    }

    fn holds_back(&self) -> bool {
        self.shaper.is_some()
    }

    fn deadline(&self) -> Option<Time> {
        self.held
    }

    fn tick<E: Env<H>>(&mut self, env: &mut E) {
        self.held = self.held.filter(|&at| at > env.now());
    }
}
