//! COLLAR among hosts: hosts have fair shares of the link, and the flows of each host have fair shares of its share.
//!
//! The memory of [COLLAR](super::collar) holds the hosts of each departure beside its flow. The match rate of hosts estimates
//! the fair share of a host, as that of flows estimates the share of a flow. A small table holds, for hosts with several
//! flows, the fraction of these matches that are also matches of the flow. A flow is held to the product: one over the number
//! of hosts, times one over the number of its host's flows, if all send alike.
//!
//! Hosts are those at one end of the link or at both, as in [CAKE](super::cake): with both, the end counts at which the
//! flow's host has more flows.
//!
//! Source: this project, `docs/background/collar.md`. Hosts at both ends: T. Hoeiland-Joergensen, D. Taht, J. Morton, "Piece
//! of CAKE: a comprehensive queue management solution for home gateways", IEEE LANMAN 2018, III.

use super::collar::{
    CollarDecision, CollarParams, Compared, Leaving, MatchRate, Part, PlainBytes, Sharing, SuspectSet,
    matches, moved,
};
use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, depart, drop_packet, fifo_calls, mark};
use crate::contract::{
    Action, Discipline, DisciplineInfo, Env, Family, Hosts, Meta, Packet, ParamError, Stats, require,
};
use crate::declare::{ParamTable, Registered, Ring, facts, params, ring, take, words};
use crate::storage::{LeakyFifo, Memory, Slot, Storage};

/// Places of a set of hosts.
const PLACES: usize = 8;
/// Matches over which the part of one flow is averaged.
const AVERAGED_INSIDE: u32 = 128;
/// Count, in fair shares of a host, below which a host in the table may be replaced.
const GIVES_WAY: f64 = 0.5;

const OWN: &str = "chosen here, docs/background/collar.md";

words! {
    /// Hosts that share the link before their flows do, in the words of [`super::cake::Isolation`].
    pub enum SharingHosts {
        /// Source hosts.
        Source = "dual-srchost",
        /// Destination hosts.
        Destination = "dual-dsthost",
        /// Hosts at both ends: for each flow its host at the end where its host has more flows.
        Both = "triple-isolate",
    }
}

impl SharingHosts {
    /// Ends that count.
    const fn ends(self) -> usize {
        match self {
            Self::Source | Self::Destination => 1,
            Self::Both => 2,
        }
    }
}

params! {
    /// Parameters of [`CollarHosts`].
    pub struct CollarHostsParams {
        /// Parameters that COLLAR has among flows.
        base collar: CollarParams;
        /// Hosts that share the link before their flows do.
        isolation: SharingHosts = "triple-isolate", Choice(SharingHosts::WORDS), "Linux, net/sched/sch_cake.c";
        /// Number of sets of the table of hosts with several flows, of 8 places each.
        hosts: u32 = 8, Integer(1, 65_536), OWN;
    }
}

impl Registered for CollarHostsParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "collar_hosts",
        title: "COLLAR among hosts",
        label: "COLLAR among hosts",
        doc: "COLLAR that is fair among hosts, and among the flows of each.",
        report: "Remembers whose packets left recently. Hosts found there often are held to a fair share of the link, and each \
                 of their flows to a fair share of that; the waiting time is held near a target.",
        family: Family::Flow,
        form_of: Some("collar"),
        source: "this project",
        ..facts::<Self>()
    };

    type Queue<H, M: Memory> =
        CollarHosts<H, Ring<H, M>, M::Of<HostIds>, M::Of<u32>, M::Of<SuspectSet>, M::Of<HostSet>>;

    fn build<H, M: Memory>(self, memory: &mut M) -> Result<Self::Queue<H, M>, ParamError> {
        let limit = self.limit();
        let waiting = take(memory, limit as usize, limit)?;
        let flows = take(memory, self.collar.ids as usize, limit)?;
        let ids = take(memory, self.ids_of_hosts(), limit)?;
        let suspects = take(memory, self.collar.sets as usize, limit)?;
        let hosts = take(memory, self.hosts as usize, limit)?;
        let ring = ring(memory, limit)?;
        CollarHosts::new(self, ring, waiting, (flows, suspects), (ids, hosts))
    }

    fn fifo<H, M: Memory>(queue: &Self::Queue<H, M>) -> Option<&LeakyFifo<H, Ring<H, M>>> {
        Some(queue.fifo())
    }
}

impl CollarHostsParams {
    /// Ids of hosts that the memory holds: as many as of flows for each end.
    pub fn ids_of_hosts(&self) -> usize {
        self.collar.ids as usize * self.isolation.ends()
    }
}

/// The ids of a packet's hosts at the ends that count; 0 for the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostIds([u32; 2]);

/// Hosts with several flows whose ids begin alike.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostSet {
    /// 0 where the place is free.
    ids: [u32; PLACES],
    /// Matches with one flow averaged by `inside`, up to the number that count.
    matches: [u16; PLACES],
    /// The sum of the squared shares of the flows in the host's rate.
    inside: [f64; PLACES],
    /// Bytes of their admitted suspects, at the weight of a byte at that time.
    let_in: [f64; PLACES],
    /// Bytes from their flows without a place among the suspects.
    others: [f64; PLACES],
}

impl HostSet {
    #[inline]
    fn place_of(&self, id: u32) -> Option<usize> {
        self.ids.iter().position(|&other| other == id)
    }

    /// Bytes that a host has sent.
    #[inline]
    fn bytes(&self, at: usize) -> f64 {
        self.let_in[at % PLACES] + self.others[at % PLACES]
    }

    /// The place that holds least, the first of several: an unused one if there is one.
    fn least(&self) -> usize {
        (1..PLACES).fold(0, |least, at| if self.bytes(at) < self.bytes(least) { at } else { least })
    }

    /// `hits` packets of the place's host were found, `same` of them of one flow.
    fn found(&mut self, at: usize, same: u32, hits: u32) {
        let at = at % PLACES;
        let known = u32::from(self.matches[at]).saturating_add(same).min(AVERAGED_INSIDE);
        self.matches[at] = known as u16;
        self.inside[at] = moved(self.inside[at], f64::from(same), f64::from(hits), f64::from(known));
    }
}

/// Fair shares for hosts, and for the flows of each host.
///
/// `I` holds the memory of their ids, `T` the table of those with several flows.
#[derive(Clone, Debug)]
pub struct AmongHosts<I, T> {
    ends: usize,
    /// Ids that are remembered of each end, and sets of hosts.
    places: usize,
    sets: usize,
    ids: I,
    hosts: T,
    /// The sum of the squared shares of hosts.
    matched: MatchRate,
    /// That over the same sum of flows, and one over it.
    times: f64,
    per: f64,
}

/// The table's state of a host.
#[derive(Clone, Copy, Debug)]
pub struct OfHost {
    /// Its set and its place there.
    set: usize,
    at: usize,
    /// The sum of the squared shares of its flows in its rate.
    inside: f64,
}

impl OfHost {
    /// For a host without a place: as for one with a single flow.
    const NOTHING: Self = Self { set: usize::MAX, at: 0, inside: 1.0 };
}

impl<I: Storage<u32>, T: Storage<HostSet>> AmongHosts<I, T> {
    fn new(params: &CollarHostsParams, mut ids: I, mut hosts: T) -> Result<Self, ParamError> {
        let (ends, places) = (params.isolation.ends(), params.collar.ids as usize);
        let room = ids.as_ref().len();
        require(room >= params.ids_of_hosts(), "ids", room as f64, "room for as many of each end")?;
        let sets = hosts.as_ref().len();
        require(
            sets >= params.hosts as usize,
            "hosts",
            sets as f64,
            "room for as many as the parameter says",
        )?;
        ids.as_mut().fill(0);
        hosts.as_mut().fill(HostSet::default());
        let matched = MatchRate::FIRST;
        Ok(Self { ends, places, sets: params.hosts as usize, ids, hosts, matched, times: 1.0, per: 1.0 })
    }

    /// The sum of the squared shares of hosts, as estimated: one over their number if all send alike.
    pub fn s(&self) -> f64 {
        self.matched.s
    }

    /// Ids of departures' hosts that are remembered, of the first end or of the second.
    pub fn memory(&self, end: usize) -> &[u32] {
        self.ids.as_ref().get(end * self.places..(end + 1) * self.places).unwrap_or_default()
    }

    #[inline]
    fn set_index(&self, id: u32) -> usize {
        ((u64::from(id) * self.sets as u64) >> 32) as usize
    }

    /// The state of a host.
    #[inline]
    fn known(&self, id: u32) -> OfHost {
        let set = self.set_index(id);
        let found = self.hosts.as_ref().get(set).and_then(|hosts| {
            let at = hosts.place_of(id)?;
            Some(OfHost { set, at, inside: *hosts.inside.get(at)? })
        });
        found.unwrap_or(OfHost::NOTHING)
    }

    /// The end at which a packet's host has more flows, the first if both are equal, and the state of that host.
    #[inline]
    fn end_of(&self, key: HostIds) -> (usize, OfHost) {
        let first = self.known(key.0[0]);
        if self.ends < 2 {
            return (0, first);
        }
        let second = self.known(key.0[1]);
        if second.inside < first.inside { (1, second) } else { (0, first) }
    }

    /// Number of packets of the host at an end among those that a sample was compared with.
    #[inline]
    fn hits(&self, end: usize, key: HostIds, sample: &Compared) -> u32 {
        let from = end * self.places + sample.from;
        let id = key.0.get(end).copied().unwrap_or_default();
        matches(self.ids.as_ref().get(from..from + sample.size).unwrap_or_default(), id)
    }

    /// Result of a comparison for a host: `hits` packets of it, `same` of them of one flow. A host with several flows enters
    /// the table.
    fn found(&mut self, id: u32, same: u32, hits: u32, sample: &Compared) {
        let least_sent = GIVES_WAY * self.matched.s * sample.sent;
        let index = self.set_index(id);
        let Some(set) = self.hosts.as_mut().get_mut(index) else { return };
        let at = match set.place_of(id) {
            Some(at) => at,
            None if same == hits => return,
            None => {
                let at = set.least() % PLACES;
                if set.bytes(at) >= least_sent {
                    return;
                }
                (set.ids[at], set.matches[at], set.inside[at]) = (id, 0, 1.0);
                (set.let_in[at], set.others[at]) = (least_sent, 0.0);
                at
            }
        };
        let at = at % PLACES;
        set.found(at, same, hits);
    }
}

impl<I: Storage<u32>, T: Storage<HostSet>> Sharing for AmongHosts<I, T> {
    type Key = HostIds;
    type Group = OfHost;

    #[inline]
    fn part(&self, key: HostIds) -> Part<OfHost> {
        let (_, known) = self.end_of(key);
        Part { times: self.times * known.inside, per: self.per / known.inside, group: known }
    }

    #[inline]
    fn counts(&mut self, OfHost { set, at, .. }: OfHost, counted: f64, is_suspect: bool) {
        let Some(set) = self.hosts.as_mut().get_mut(set) else { return };
        let bytes = if is_suspect { set.let_in.get_mut(at) } else { set.others.get_mut(at) };
        if let Some(bytes) = bytes {
            *bytes += counted;
        }
    }

    /// Flows without a place share the part of a host's limit that its suspects leave, or the limit of one flow.
    #[inline]
    fn over(&self, OfHost { set, at, inside }: OfHost, per_limit: f64, phi: f64) -> f64 {
        let Some(set) = self.hosts.as_ref().get(set) else { return 0.0 };
        let (Some(let_in), Some(others)) = (set.let_in.get(at), set.others.get(at)) else { return 0.0 };
        let per_limit = per_limit * self.per;
        let left = phi - let_in * per_limit;
        others * per_limit / if left > inside { left } else { inside }
    }

    fn compared(&mut self, key: HostIds, sample: &Compared) {
        let (chosen, _) = self.end_of(key);
        let hits = [0, 1].map(|end| if end < self.ends { self.hits(end, key, sample) } else { 0 });
        let of_chosen = if chosen == 0 { hits[0] } else { hits[1] };
        self.matched.estimate(f64::from(of_chosen), f64::from(sample.ids));
        for (id, hits) in key.0.into_iter().zip(hits).take(self.ends) {
            self.found(id, sample.hits.min(hits), hits, sample);
        }
        (self.times, self.per) = (self.matched.s / sample.s, sample.s / self.matched.s);
    }

    fn remember(&mut self, at: usize, key: HostIds) {
        let places = self.places;
        for (end, id) in key.0.into_iter().enumerate().take(self.ends) {
            if let Some(place) = self.ids.as_mut().get_mut(end * places + at) {
                *place = id;
            }
        }
    }

    fn rescale(&mut self, factor: f64) {
        let sets = self.hosts.as_mut().iter_mut();
        let counts = sets.flat_map(|set| set.let_in.iter_mut().chain(&mut set.others));
        counts.for_each(|bytes| *bytes *= factor);
    }
}

/// The decision before [`CollarHosts`]' FIFO.
pub type HostsDecision<I, T, U> = CollarDecision<I, T, PlainBytes, AmongHosts<I, U>>;

impl<I: Storage<u32>, T: Storage<SuspectSet>, U: Storage<HostSet>> HostsDecision<I, T, U> {
    /// The hosts of the table: id, the sum of the squared shares of its flows in its rate, and bytes, faded: of its admitted
    /// suspects, and of its other flows.
    pub fn hosts(&self) -> impl Iterator<Item = (u32, f64, [f64; 2])> {
        let shares = self.shares();
        let sets = shares.hosts.as_ref().iter().take(shares.sets);
        let all = sets.flat_map(|set| {
            (0..PLACES).map(|at| (set.ids[at], set.inside[at], [set.let_in[at], set.others[at]]))
        });
        let known = all.filter(|(id, ..)| *id != 0);
        known.map(|(id, inside, bytes)| (id, inside, bytes.map(|bytes| self.faded(bytes))))
    }
}

/// COLLAR over a FIFO, fair among hosts and inside them.
#[derive(Clone, Debug)]
pub struct CollarHosts<H, S, W, I, T, U> {
    params: CollarHostsParams,
    decision: HostsDecision<I, T, U>,
    fifo: LeakyFifo<H, S>,
    /// Hosts of the packets that wait, and the places of the oldest and of the next arrival.
    waiting: W,
    oldest: usize,
    next: usize,
    stats: Stats,
}

impl<H, S, W, I, T, U> CollarHosts<H, S, W, I, T, U>
where
    S: Storage<Slot<H>>,
    W: Storage<HostIds>,
    I: Storage<u32>,
    T: Storage<SuspectSet>,
    U: Storage<HostSet>,
{
    /// An empty queue in `slots` (see [`crate::slots_for`]), with the hosts of as many packets as may wait in
    /// `waiting`; with the memory and the table of flows, and with those of hosts
    /// ([`CollarHostsParams::ids_of_hosts`]).
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage.
    pub fn new(
        params: CollarHostsParams,
        slots: S,
        waiting: W,
        (flows, suspects): (I, T),
        (ids, hosts): (I, U),
    ) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit())?;
        let room = waiting.as_ref().len();
        require(
            room >= params.limit() as usize,
            "limit",
            room as f64,
            "room for the hosts of as many packets",
        )?;
        let among = AmongHosts::new(&params, ids, hosts)?;
        let decision = CollarDecision::sharing(params.collar.clone(), PlainBytes, among, flows, suspects)?;
        Ok(Self { params, decision, fifo, waiting, oldest: 0, next: 0, stats: Stats::default() })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// The decision without the packets.
    pub fn decision(&self) -> &HostsDecision<I, T, U> {
        &self.decision
    }

    /// The ids of a packet's hosts, at the ends that count.
    pub fn ids_of(&self, hosts: Hosts) -> HostIds {
        // A host that is at both ends is two.
        let of = |host| self.decision.id_of(host);
        let (source, destination) = (|| of(hosts.source), || (!of(hosts.destination)).max(1));
        HostIds(match self.params.isolation {
            SharingHosts::Source => [source(), 0],
            SharingHosts::Destination => [destination(), 0],
            SharingHosts::Both => [source(), destination()],
        })
    }

    /// The place after `at` of the hosts of waiting packets.
    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 < self.params.limit() as usize { at + 1 } else { 0 }
    }
}

impl HostIds {
    /// The ids, 0 where there is none.
    pub fn ids(self) -> [u32; 2] {
        self.0
    }
}

impl<H, S, W, I, T, U> Discipline<H> for CollarHosts<H, S, W, I, T, U>
where
    S: Storage<Slot<H>>,
    W: Storage<HostIds>,
    I: Storage<u32>,
    T: Storage<SuspectSet>,
    U: Storage<HostSet>,
{
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, mut packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        self.decision.begin(env);
        let key = self.ids_of(env.hosts(&packet));
        match self.decision.arrival_of(&packet.meta, key, self.fifo.len(), env) {
            Action::Drop(cause) => return drop_packet(&mut self.stats, env, packet, cause),
            Action::Mark(cause) if self.fifo.len() < self.params.limit() => {
                mark(&mut self.stats, &mut packet, cause);
            }
            _ => {}
        }
        let limit = self.params.limit();
        if append_or_overflow(&mut self.fifo, limit, &mut self.stats, packet, env)
            && let Some(place) = self.waiting.as_mut().get_mut(self.next)
        {
            *place = key;
            self.next = self.after(self.next);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let packet = depart(&mut self.fifo, &mut self.stats)?;
        let wait = env.now().since(packet.enqueued);
        let key = self.waiting.as_ref().get(self.oldest).copied().unwrap_or_default();
        self.oldest = self.after(self.oldest);
        let Meta { flow, len, .. } = packet.meta;
        let leaving = Leaving { flow, len, class: (), key };
        self.decision.departs(leaving, wait, self.fifo.len(), env);
        Some(packet)
    }

    fifo_calls!();

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("root", self.decision.root());
        see("s", self.decision.s());
        see("widened", self.decision.widened());
        see("s_hosts", self.decision.shares().s());
    }
}
