//! Hosts that share the link before their flows do.
//!
//! The memory holds the hosts of each departure beside its flow. The match rate of hosts estimates the fair share of a host, as
//! that of flows estimates the share of a flow. A small table holds, for hosts with several flows, the fraction of these
//! matches that are also matches of the flow. A flow is held to the product: one over the number of hosts, times one over the
//! number of its host's flows, if all send alike.
//!
//! Hosts are those at one end of the link or at both, as in [CAKE](crate::disciplines::cake): with both, the end counts at
//! which the flow's host has more flows: T. Hoeiland-Joergensen, D. Taht, J. Morton, "Piece of CAKE: a comprehensive queue
//! management solution for home gateways", IEEE LANMAN 2018, III.

use super::CollarParams;
use super::estimate::{MatchRate, moved};
use super::memory::matches;
use crate::contract::{Hosts, ParamError, require};
use crate::declare::words;
use crate::storage::Storage;

/// Places of a set of hosts.
const PLACES: usize = 8;
/// Matches over which the part of one flow is averaged.
const AVERAGED_INSIDE: u32 = 128;
/// Count, in fair shares of a host, below which a host in the table may be replaced.
const GIVES_WAY: f64 = 0.5;

words! {
    /// Hosts that share the link before their flows do, in the words of [`crate::Isolation`].
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
    pub(super) const fn ends(self) -> usize {
        match self {
            Self::Source | Self::Destination => 1,
            Self::Both => 2,
        }
    }
}

/// A flow's limit, relative to the fair share of all flows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// As a multiple of it.
    pub(super) times: f64,
    /// Its inverse.
    pub(super) per: f64,
}

impl Part {
    /// A fair share.
    pub(super) const FAIR: Self = Self { times: 1.0, per: 1.0 };
}

/// Result of comparing a sampled departure with the memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    /// The places: the first, and their number.
    pub(super) from: usize,
    pub(super) size: usize,
    /// Ids in them, and the number of the flow's ids among these.
    pub(super) ids: u32,
    pub(super) hits: u32,
    /// The sum of the squared shares of flows.
    pub(super) s: f64,
    /// Bytes that left until now, weighted by their counts.
    pub(super) sent: f64,
}

/// The ids of a packet's hosts at the ends that count; 0 for the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostIds([u32; 2]);

impl HostIds {
    /// The ids of these hosts where those of `sharing` count, `id` being that of a number.
    #[inline]
    pub(super) fn of(sharing: SharingHosts, hosts: Hosts, id: impl Fn(u64) -> u32) -> Self {
        // A host that is at both ends is two.
        let (source, destination) = (|| id(hosts.source), || (!id(hosts.destination)).max(1));
        Self(match sharing {
            SharingHosts::Source => [source(), 0],
            SharingHosts::Destination => [destination(), 0],
            SharingHosts::Both => [source(), destination()],
        })
    }

    /// The ids, 0 where there is none.
    pub fn ids(self) -> [u32; 2] {
        self.0
    }
}

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
pub(super) struct OfHost {
    /// Its set and its place there.
    set: usize,
    at: usize,
    /// The sum of the squared shares of its flows in its rate.
    inside: f64,
}

impl OfHost {
    /// For a host without a place: as for one with a single flow.
    pub(super) const NOTHING: Self = Self { set: usize::MAX, at: 0, inside: 1.0 };
}

impl<I: Storage<u32>, T: Storage<HostSet>> AmongHosts<I, T> {
    /// Shares of the hosts of `sharing`, with their memory in `ids`, as many as of flows for each end, and their table in
    /// `hosts`.
    pub(super) fn new(
        sharing: SharingHosts,
        params: &CollarParams,
        mut ids: I,
        mut hosts: T,
    ) -> Result<Self, ParamError> {
        let (room, sets) = (ids.as_ref().len(), hosts.as_ref().len());
        require(room >= params.ids_of_hosts(), "ids", room as f64, "room for as many of each end")?;
        require(sets >= params.sets_of_hosts(), "hosts", sets as f64, "room for the sets of hosts")?;
        ids.as_mut().fill(0);
        hosts.as_mut().fill(HostSet::default());
        Ok(Self {
            ends: sharing.ends(),
            places: params.ids as usize,
            sets: params.sets_of_hosts(),
            ids,
            hosts,
            matched: MatchRate::FIRST,
            times: 1.0,
            per: 1.0,
        })
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

    /// The part of a flow of these hosts, and the host that it is a part of.
    #[inline]
    pub(super) fn part(&self, hosts: HostIds) -> (Part, OfHost) {
        let (_, known) = self.end_of(hosts);
        (Part { times: self.times * known.inside, per: self.per / known.inside }, known)
    }

    /// A packet counts for its host: one of a suspect that is admitted, or one of a flow without a place.
    #[inline]
    pub(super) fn counts(&mut self, OfHost { set, at, .. }: OfHost, counted: f64, is_suspect: bool) {
        let Some(set) = self.hosts.as_mut().get_mut(set) else { return };
        let bytes = if is_suspect { set.let_in.get_mut(at) } else { set.others.get_mut(at) };
        if let Some(bytes) = bytes {
            *bytes += counted;
        }
    }

    /// Bytes sent by the host's flows without a place, relative to the part of its limit that its suspects leave to them, or
    /// to the limit of one flow: `phi` times it, where `per_limit` is one over the fair share of all flows.
    #[inline]
    pub(super) fn over(&self, OfHost { set, at, inside }: OfHost, per_limit: f64, phi: f64) -> f64 {
        let Some(set) = self.hosts.as_ref().get(set) else { return 0.0 };
        let (Some(let_in), Some(others)) = (set.let_in.get(at), set.others.get(at)) else { return 0.0 };
        let per_limit = per_limit * self.per;
        let left = phi - let_in * per_limit;
        others * per_limit / if left > inside { left } else { inside }
    }

    /// A departure was compared.
    pub(super) fn compared(&mut self, hosts: HostIds, sample: &Compared) {
        let (chosen, _) = self.end_of(hosts);
        let hits = [0, 1].map(|end| if end < self.ends { self.hits(end, hosts, sample) } else { 0 });
        let of_chosen = if chosen == 0 { hits[0] } else { hits[1] };
        self.matched.estimate(f64::from(of_chosen), f64::from(sample.ids));
        for (id, hits) in hosts.0.into_iter().zip(hits).take(self.ends) {
            self.found(id, sample.hits.min(hits), hits, sample);
        }
        (self.times, self.per) = (self.matched.s / sample.s, sample.s / self.matched.s);
    }

    /// A departure takes this place of the memory.
    pub(super) fn remember(&mut self, at: usize, hosts: HostIds) {
        let places = self.places;
        for (end, id) in hosts.0.into_iter().enumerate().take(self.ends) {
            if let Some(place) = self.ids.as_mut().get_mut(end * places + at) {
                *place = id;
            }
        }
    }

    /// All counts are made smaller by this factor.
    pub(super) fn rescale(&mut self, factor: f64) {
        let sets = self.hosts.as_mut().iter_mut();
        let counts = sets.flat_map(|set| set.let_in.iter_mut().chain(&mut set.others));
        counts.for_each(|bytes| *bytes *= factor);
    }

    /// The hosts of the table: id, the sum of the squared shares of its flows in its rate, and bytes: of its admitted
    /// suspects, and of its other flows.
    pub(super) fn table(&self) -> impl Iterator<Item = (u32, f64, [f64; 2])> {
        let sets = self.hosts.as_ref().iter().take(self.sets);
        let all = sets.flat_map(|set| {
            (0..PLACES).map(|at| (set.ids[at], set.inside[at], [set.let_in[at], set.others[at]]))
        });
        all.filter(|(id, ..)| *id != 0)
    }
}
