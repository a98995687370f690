//! COLLAR as slowly and obviously as it can be written, from the pseudo-code of its page: lists, every count made smaller at
//! every sample, every update made one by one, every remembered id compared one by one. Weights, hosts and sparse flows are
//! part of it, each where the parameters set it.

use std::collections::BTreeMap;

use fairdrop::{
    AnyDiscipline, CollarDecision, CollarParams, CollarQueue, DropCause, Ecn, Hosts, MOST_UPDATES, Meta,
    Packet, Sharing, SharingHosts, Storage, Stream, SuspectSet,
};

use crate::compare::{close, unit};
use crate::host::{Queue, hosts_of};
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// 16 ms.
const T_UPDATE: u64 = 16_000_000;

/// A part of COLLAR that may be missing, to see what it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The table: nobody is a suspect.
    Table,
    /// The limit of suspects: the base probability alone drops.
    Limit,
    /// The base probability.
    Base,
    /// The scaling of the base probability by a flow's load: without it all flows have the same.
    ByShare,
    /// How the limit is loosened where little is dropped.
    Slack,
    /// The window in packets of a fair flow in which the table forgets: `span` is left.
    Window,
    /// That the output is remembered and compared: the last arrival takes a departure's place, dropped or not.
    Output,
    /// The controller's bounds of its aim: a packet of each flow, and half the buffer.
    Bounds,
    /// That the limit widens while the queue is short and suspects are at it.
    Widening,
    /// That packets are spared which find fewer than two waiting, and suspects which find less than an eighth of the aim.
    Spared,
}

impl Part {
    /// All, as one reads of them.
    pub const ALL: [(&str, Self); 10] = [
        ("table", Self::Table),
        ("limit", Self::Limit),
        ("base", Self::Base),
        ("by-share", Self::ByShare),
        ("slack", Self::Slack),
        ("window", Self::Window),
        ("output", Self::Output),
        ("bounds", Self::Bounds),
        ("widening", Self::Widening),
        ("spared", Self::Spared),
    ];
}

#[derive(Clone, Debug)]
struct Suspect {
    id: u32,
    bytes: f64,
}

/// A host with several flows.
#[derive(Clone, Debug)]
struct Host {
    id: u32,
    /// The sum of the squared shares of its flows, of what it sends.
    inside: f64,
    /// Matches of one flow that this averages.
    matches: f64,
    /// Bytes of its suspects that were let in, and those that came from its other flows.
    let_in: f64,
    others: f64,
}

/// What is known of hosts.
#[derive(Clone, Debug)]
struct HostShares {
    /// Hosts of every departure ever remembered, by end.
    remembered: Vec<Vec<u32>>,
    s: f64,
    averages: [f64; 2],
    matches: f64,
    /// By set, place by place.
    table: Vec<Vec<Option<Host>>>,
}

impl HostShares {
    fn set_of(&mut self, id: u32) -> &mut Vec<Option<Host>> {
        let sets = self.table.len() as u64;
        &mut self.table[((u64::from(id) * sets) >> 32) as usize]
    }

    fn host(&mut self, id: u32) -> Option<&mut Host> {
        self.set_of(id).iter_mut().flatten().find(|host| host.id == id)
    }

    fn inside(&mut self, id: u32) -> f64 {
        self.host(id).map_or(1.0, |host| host.inside)
    }

    /// The end at which the host has more flows, the first if they are alike.
    fn end(&mut self, hosts: &[u32]) -> usize {
        let insides: Vec<f64> = hosts.iter().map(|&id| self.inside(id)).collect();
        usize::from(insides.len() > 1 && insides[1] < insides[0])
    }

    /// `hits` packets of the host were found, `same` of them of one flow.
    fn found(&mut self, id: u32, same: f64, hits: f64, output: f64) {
        let half = 0.5 * self.s * output;
        if self.host(id).is_none() {
            let set = self.set_of(id);
            let bytes = |place: &Option<Host>| place.as_ref().map_or(0.0, |host| host.let_in + host.others);
            let least = set.iter().map(bytes).fold(f64::INFINITY, f64::min);
            if same == hits || least >= half {
                return;
            }
            let at = set.iter().position(|place| bytes(place) == least).expect("it is one of them");
            set[at] = Some(Host { id, inside: 1.0, matches: 0.0, let_in: half, others: 0.0 });
        }
        let host = self.host(id).expect("it has entered");
        host.matches = f64::min(host.matches + same, 128.0);
        moved(&mut host.inside, same, hits, host.matches);
    }
}

/// An average of matches moves after `hits` of those `compared`. It stays at most 1: `matches` has the hits.
fn moved(s: &mut f64, hits: f64, compared: f64, matches: f64) {
    let change = (hits - compared * *s) / (16.0 + matches);
    *s = (*s + *s * change.max(-0.5)).max(1.0 / 16_384.0);
}

/// A packet that waits, with the ids of its flow and of its hosts.
#[derive(Clone, Debug)]
struct Waiting {
    packet: Packet<u32>,
    id: u32,
    hosts: Vec<u32>,
}

pub struct CollarModel {
    params: CollarParams,
    /// Where hosts share before their flows do.
    hosts: Option<HostShares>,
    hosts_of_flows: BTreeMap<u64, Hosts>,
    missing: Option<Part>,
    last_arrival: u32,
    /// Packets of sparse flows, and of others.
    short: Vec<Waiting>,
    long: Vec<Waiting>,
    /// Bytes that have overtaken, less those that the long list has sent since.
    ahead: u64,
    /// Every departure ever remembered; the memory is the last `ids` of them.
    remembered: Vec<u32>,
    /// By set, place by place.
    suspects: Vec<Vec<Option<Suspect>>>,
    root: f64,
    delay: f64,
    old_delay: f64,
    /// Multiple of the loosest limit that suspects have, whether one has sent more since the last update, and packets that
    /// must wait before one is dropped for that.
    widened: f64,
    pressed: bool,
    spared: u32,
    next_update: u64,
    s: f64,
    /// Averages of 512 and of 2048 matches: s is the lesser.
    averages: [f64; 2],
    matches: f64,
    sent: f64,
    size: f64,
    service: f64,
    /// Whether something was left behind by every departure from the last sample on.
    busy: bool,
    /// Bytes that left since the last sample, what they count, and how many counted ones make the next one.
    bytes: f64,
    passed: f64,
    distance: f64,
    last_sample: u64,
    /// Means over samples.
    mean_passed: f64,
    mean_turns: f64,
    /// Counted bytes of a sampled packet.
    counted_size: f64,
}

impl CollarModel {
    pub fn new(params: CollarParams) -> Self {
        Self::without(params, None)
    }

    /// What a flow of these hosts may have, times a fair share of all flows.
    fn times(&mut self, hosts: &[u32]) -> f64 {
        let Some(shares) = &mut self.hosts else { return 1.0 };
        let end = shares.end(hosts);
        shares.s / self.s * shares.inside(hosts[end])
    }

    /// The host at the end at which that has more flows, if it is known.
    fn host(&mut self, hosts: &[u32]) -> Option<&mut Host> {
        let shares = self.hosts.as_mut()?;
        let end = shares.end(hosts);
        shares.host(hosts[end])
    }

    /// A flow that is no suspect sends a packet: times what may come from all of this host's, which is what its suspects
    /// leave, or what one flow may have.
    fn over_of_others(&mut self, hosts: &[u32], counted: f64) -> f64 {
        let phi = self.phi();
        let Some(shares) = &self.hosts else { return 0.0 };
        let limit = self.params.share * shares.s * self.sent;
        let Some(host) = self.host(hosts) else { return 0.0 };
        host.others += counted;
        let left = phi * limit - host.let_in;
        host.others / f64::max(left, host.inside * limit)
    }

    /// COLLAR without one of its parts.
    pub fn without(params: CollarParams, missing: Option<Part>) -> Self {
        let hosts = params.hosts.map(|sharing| HostShares {
            remembered: vec![Vec::new(); if sharing == SharingHosts::Both { 2 } else { 1 }],
            s: 1.0,
            averages: [1.0; 2],
            matches: 0.0,
            table: vec![vec![None; 8]; params.host_sets as usize],
        });
        Self {
            hosts,
            hosts_of_flows: BTreeMap::new(),
            bytes: 0.0,
            counted_size: 0.0,
            missing,
            last_arrival: 0,
            short: Vec::new(),
            long: Vec::new(),
            ahead: 0,
            remembered: Vec::new(),
            suspects: vec![vec![None; 8]; params.sets as usize],
            root: 0.0,
            delay: 0.0,
            old_delay: 0.0,
            widened: 1.0,
            pressed: false,
            spared: 0,
            next_update: T_UPDATE,
            s: 1.0,
            averages: [1.0; 2],
            matches: 0.0,
            sent: 1.0,
            size: 0.0,
            service: 0.0,
            busy: false,
            passed: 0.0,
            distance: 0.0,
            last_sample: 0,
            mean_passed: 0.0,
            mean_turns: 0.0,
            params,
        }
    }

    /// What a byte of this class counts: one where its weight is the lowest.
    fn part(&self, class: u8) -> f64 {
        let Some(weights) = &self.params.weights else { return 1.0 };
        let lowest = weights.as_slice().iter().copied().fold(f64::INFINITY, f64::min);
        // In whole parts of 2^-30.
        (lowest / weights.of(class) * 1_073_741_824.0).round() / 1_073_741_824.0
    }

    fn has(&self, part: Part) -> bool {
        self.missing != Some(part)
    }

    fn lacks(&self, part: Part) -> bool {
        !self.has(part)
    }

    fn aim(&self) -> f64 {
        let (target, service) = (self.params.target.seconds(), self.service * 1e-9);
        if service == 0.0 || !self.has(Part::Bounds) {
            return target;
        }
        f64::min(f64::max(target, service / self.s), service * f64::from(self.params.limit) / 2.0)
    }

    fn updates(&mut self, now: u64) {
        let period = T_UPDATE;
        while self.next_update <= now {
            let aim = self.aim();
            if (now - self.next_update) / period < MOST_UPDATES {
                self.update(aim);
            }
            if now - self.last_sample > period {
                self.distance = self.passed;
            }
            let eighth = if self.service > 0.0 { aim / 8.0 / (self.service * 1e-9) } else { 0.0 };
            self.spared = eighth as u32;
            self.next_update += period;
        }
    }

    fn update(&mut self, aim: f64) {
        let change = self.delay - self.old_delay;
        if self.widened == 1.0 {
            let g = f64::min((0.1 + self.params.target.seconds()) / (0.1 + aim), 1.0);
            self.root += 0.16 * g * g * (self.delay - aim) + 3.2 * g * change;
            self.root = self.root.clamp(0.0, if self.has(Part::Base) { 0.5 } else { 0.0 });
        }
        if self.root == 0.0 && self.has(Part::Widening) {
            let part = f64::min(aim / self.params.target.seconds(), 1.0);
            let step = part * part * (0.03 * (1.0 - self.delay / (0.8 * aim)) - 0.1 * change / aim);
            let whole = 1.0 / (self.params.share * 1.4 * self.s);
            let most = if self.pressed { whole } else { f64::min(self.widened, whole) };
            self.widened = f64::max(f64::min(self.widened * (1.0 + step), most), 1.0);
        }
        (self.old_delay, self.pressed) = (self.delay, false);
    }

    /// What is kept of a list of all that was remembered.
    fn kept<'a>(&self, remembered: &'a [u32]) -> &'a [u32] {
        &remembered[remembered.len().saturating_sub(self.params.ids as usize)..]
    }

    /// The ids of a group of `blocks` blocks that `bits` choose. The n-th id ever remembered lies in block n modulo their
    /// number.
    fn looked_at(&self, blocks: usize, bits: u64) -> Vec<u32> {
        self.looked_at_in(&self.remembered, blocks, bits)
    }

    /// The same of another list of what was remembered.
    fn looked_at_in(&self, remembered: &[u32], blocks: usize, bits: u64) -> Vec<u32> {
        let all = self.params.ids as usize / 32;
        let group = ((u128::from(bits >> 32) * (all / blocks) as u128) >> 32) as usize;
        let chosen: Vec<usize> = (group * blocks..(group + 1) * blocks).collect();
        let first = remembered.len() - self.kept(remembered).len();
        let looked_at = (first..remembered.len()).filter(|n| chosen.contains(&(n % all)));
        looked_at.map(|n| remembered[n]).collect()
    }

    /// How far the limit is loosened for the loss that flows answer to.
    fn slack(&self) -> f64 {
        if self.lacks(Part::Slack) {
            1.0
        } else if self.root > 0.0 {
            f64::min(1.0 + 0.003 / self.root, 1.4)
        } else {
            1.4
        }
    }

    fn phi(&self) -> f64 {
        self.slack() * self.widened
    }

    fn set_of(&mut self, id: u32) -> &mut Vec<Option<Suspect>> {
        &mut self.suspects[((u64::from(id) * u64::from(self.params.sets)) >> 32) as usize]
    }

    /// How much of its limit the flow has sent; `None` where it is no suspect.
    fn charge(&mut self, id: u32, counted: f64, times: f64) -> Option<f64> {
        let limit = self.params.share * self.s * times * self.sent;
        let suspect = self.set_of(id).iter_mut().flatten().find(|e| e.id == id)?;
        suspect.bytes += counted;
        Some(suspect.bytes / limit)
    }

    /// Makes the flow a suspect where there is room.
    fn suspect(&mut self, id: u32, times: f64) {
        let assumed = 0.5 * self.s * self.sent * times;
        let set = self.set_of(id);
        if set.iter().flatten().any(|e| e.id == id) {
            return;
        }
        let place = match set.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                let held: Vec<f64> = set.iter().flatten().map(|e| e.bytes).collect();
                let least = held.iter().copied().fold(f64::INFINITY, f64::min);
                if least >= assumed {
                    return;
                }
                held.iter().position(|&bytes| bytes == least).expect("it is one of them")
            }
        };
        set[place] = Some(Suspect { id, bytes: assumed });
    }

    /// Estimates from a departure sampled at random.
    fn sample(&mut self, id: u32, hosts: &[u32], len: f64, part: f64, now: u64, bits: u64) {
        let gap = (now - self.last_sample) as f64;
        self.last_sample = now;
        self.size += if self.size > 0.0 { (len - self.size) / 16.0 } else { len };
        let counted = len * part;
        self.counted_size +=
            if self.counted_size > 0.0 { (counted - self.counted_size) / 16.0 } else { counted };
        if self.busy && self.bytes > 0.0 {
            let service = gap * self.size / self.bytes;
            self.service += if self.service > 0.0 { (service - self.service) / 16.0 } else { service };
        }
        // What could have left: a link that was idle had room for more.
        let span = self.params.span.ns() as f64;
        let mut room = self.bytes;
        if !self.busy && self.service > 0.0 {
            room = f64::max(room, f64::min(gap, span) * self.size / self.service);
        }
        self.busy = true;
        let elapsed = f64::min(gap / span, 1.0);

        if self.bytes > 0.0 {
            room *= self.passed / self.bytes;
        }
        let windows = room * self.s / (32.0 * self.counted_size);
        let faded = 1.0 + if self.lacks(Part::Window) { elapsed } else { f64::min(windows, elapsed) };
        for suspect in self.suspects.iter_mut().flatten().flatten() {
            suspect.bytes /= faded;
        }
        for host in self.hosts.iter_mut().flat_map(|shares| &mut shares.table).flatten().flatten() {
            host.let_in /= faded;
            host.others /= faded;
        }
        self.sent = f64::max(self.sent / faded + room, 1.0);

        let seen = self.looked_at(4, bits);
        let hits = seen.iter().filter(|&&other| other == id).count() as f64;
        self.matches = (self.matches + hits).min(2032.0);
        for (s, matches) in self.averages.iter_mut().zip([f64::min(self.matches, 496.0), self.matches]) {
            moved(s, hits, seen.len() as f64, matches);
        }
        self.s = f64::min(self.averages[0], self.averages[1]);
        self.sample_hosts(hosts, hits, bits);
        if hits > 0.0 && self.has(Part::Table) {
            let times = self.times(hosts);
            self.suspect(id, times);
        }
        self.remembered.push(id);

        let turns = elapsed * f64::from(self.params.ids);
        self.mean_passed += (self.passed - self.mean_passed) / 16.0;
        self.mean_turns += (turns - self.mean_turns) / 16.0;
        let wanted = if self.mean_turns > 0.0 { self.mean_passed / self.mean_turns } else { 0.0 };
        let mean = f64::max(wanted, 2.0 * self.counted_size);
        self.distance = (f64::from(bits as u32) / 4_294_967_296.0 * 2.0 * mean).floor();
        if self.params.weights.is_some() {
            self.distance = self.distance.min(1_073_741_824.0);
        }
        (self.passed, self.bytes) = (0.0, 0.0);
    }

    /// Estimates from a sample for its hosts, by the matches of its flow.
    fn sample_hosts(&mut self, hosts: &[u32], of_flow: f64, bits: u64) {
        let Some(mut shares) = self.hosts.take() else { return };
        let seen: Vec<Vec<u32>> =
            shares.remembered.iter().map(|all| self.looked_at_in(all, 4, bits)).collect();
        let found = |end: usize| seen[end].iter().filter(|&&other| other == hosts[end]).count() as f64;
        let end = shares.end(hosts);
        shares.matches = f64::min(shares.matches + found(end), 2032.0);
        let averaged = [f64::min(shares.matches, 496.0), shares.matches];
        for (s, matches) in shares.averages.iter_mut().zip(averaged) {
            moved(s, found(end), seen[end].len() as f64, matches);
        }
        shares.s = f64::min(shares.averages[0], shares.averages[1]);
        for (end, &id) in hosts.iter().enumerate() {
            shares.found(id, f64::min(of_flow, found(end)), found(end), self.sent);
            shares.remembered[end].push(id);
        }
        self.hosts = Some(shares);
    }

    /// An arrival of these hosts that finds `waiting` others: times its limit that its flow has sent if it is a suspect, and why
    /// it is dropped; if it is not, it may be marked.
    fn decide_among(
        &mut self,
        packet: &mut Packet<u32>,
        id: u32,
        hosts: &[u32],
        waiting: usize,
        now: u64,
        random: Random,
    ) -> (Option<f64>, Option<DropCause>) {
        self.updates(now);
        let capable = self.params.ecn && packet.meta.ecn != Ecn::NotCapable;
        let times = self.times(hosts);
        let counted = f64::from(packet.meta.len) * self.part(packet.meta.class);
        let over = self.charge(id, counted, times);
        let over_of_others = if over.is_none() { self.over_of_others(hosts, counted) } else { 0.0 };
        let mut marked = false;
        if self.lacks(Part::Output) {
            self.last_arrival = id;
        }
        if waiting >= 2 || !self.has(Part::Spared) {
            self.pressed |= over.is_some_and(|over| over > self.phi());
            // Where the link is about to be idle nobody is above its limit.
            let spared = waiting < self.spared as usize && self.has(Part::Spared);
            let (over, over_of_others) =
                if spared { (over.map(|over| over.min(self.phi())), 0.0) } else { (over, over_of_others) };
            match self.judge(id, over, over_of_others, times, &packet.meta, capable, random) {
                Some((cause, false)) => return (over, Some(cause)),
                action => marked = action.is_some(),
            }
        }
        if let (Some(_), Some(host)) = (over, self.host(hosts)) {
            host.let_in += counted;
        }
        if waiting == self.params.limit as usize {
            return (over, Some(DropCause::Overflow));
        }
        if marked {
            packet.meta.ecn = Ecn::Ce;
        }
        (over, None)
    }

    /// A departure at `wait`, with `left` packets behind it.
    fn leaves_among(&mut self, leaving: &Waiting, wait: u64, left: usize, now: u64, random: Random) {
        let Waiting { packet, id, hosts } = leaving;
        self.updates(now);
        let (len, part) = (f64::from(packet.meta.len), self.part(packet.meta.class));
        self.bytes += len;
        self.passed += len * part;
        if self.passed >= self.distance {
            let bits = random(Stream::Candidate);
            let id = if self.lacks(Part::Output) { self.last_arrival } else { *id };
            self.sample(id, hosts, len, part, now, bits);
            self.delay = wait as f64 / 1e9;
        }
        if left == 0 {
            (self.delay, self.busy) = (0.0, false);
        }
    }

    /// Whether a flow that is no suspect sends less than half of what it may have, by the memory.
    fn is_rare(&self, id: u32, times: f64) -> bool {
        let seen = self.kept(&self.remembered);
        let hits = seen.iter().filter(|&&other| other == id).count();
        let fair = seen.len() as f64 * self.s * times;
        fair >= 2.0 && hits as f64 <= fair / 2.0
    }

    /// Whether a packet of a flow that has sent `over` times its limit, if it is a suspect, goes to the short list.
    fn goes_first(&mut self, id: u32, hosts: &[u32], over: Option<f64>) -> bool {
        let Some(sparse) = self.params.sparse else { return false };
        let times = self.times(hosts);
        let is_sparse = over.map_or_else(|| self.is_rare(id, times), |over| over < sparse);
        let has_room = self.short.len() < self.params.most_sparse as usize;
        is_sparse && has_room && !self.may_wait_in_long(id)
    }

    /// Whether packets of `long` have the lowest ten bits of this id, and its highest ten: its own have both.
    fn may_wait_in_long(&self, id: u32) -> bool {
        let alike = |part: fn(u32) -> u32| self.long.iter().any(|other| part(other.id) == part(id));
        alike(|id| id & 0x3ff) && alike(|id| id >> 22)
    }

    /// The library's ids of a flow's hosts, at the ends that count.
    fn ids_of_hosts(&self, flow: u64, fast: &Queue) -> Vec<u32> {
        let ends = self.hosts.as_ref().map_or(0, |shares| shares.remembered.len());
        let hosts = hosts_of(&self.hosts_of_flows, flow);
        let ids = match fast {
            AnyDiscipline::Collar(CollarQueue::Full(fast))
            | AnyDiscipline::CollarW(fast)
            | AnyDiscipline::CollarSparse(fast)
            | AnyDiscipline::CollarHosts(fast) => fast.ids_of(hosts).ids(),
            _ => [0; 2],
        };
        ids[..ends].to_vec()
    }

    /// Why the packet is dropped or marked, and whether it is marked; nothing where it is queued as it came.
    #[allow(clippy::too_many_arguments)]
    fn judge(
        &self,
        id: u32,
        over: Option<f64>,
        over_of_others: f64,
        times: f64,
        meta: &Meta,
        capable: bool,
        random: Random,
    ) -> Option<(DropCause, bool)> {
        let mut marked = None;
        match over {
            Some(over) => {
                let excess = self.excess(over / self.phi(), self.slack());
                let may_mark = capable && excess < 0.08;
                let linear = may_mark && meta.ecn == Ecn::Ect1;
                if happens(if linear { coupled(excess) } else { excess }, Stream::FilterCoin, random) {
                    if !may_mark {
                        return Some((DropCause::Filter, false));
                    }
                    marked = Some((DropCause::Filter, true));
                }
            }
            None if happens(self.excess(over_of_others, 1.0), Stream::FilterCoin, random) => {
                return Some((DropCause::Filter, false));
            }
            None => {}
        }
        let p0 = self.root * self.root;
        let counted = f64::from(meta.len) * self.part(meta.class);
        // Where empty packets alone were sampled it is 1 as well.
        let part = f64::min(counted / self.counted_size, 1.0);
        let p = p0 * part * f64::min(1.0 / times, 1.0);
        let may_mark = capable && p0 < 0.25;
        match self.base(id, over, times, p, may_mark && meta.ecn == Ecn::Ect1, random) {
            Some(cause) => Some((cause, may_mark)),
            None => marked,
        }
    }

    /// Fraction dropped of a sender, by the multiple of its limit that it sends. Who sends a multiple has no slack.
    fn excess(&self, u: f64, slack: f64) -> f64 {
        let knee = 2.0 - self.s * self.s;
        if u <= 1.0 || !self.has(Part::Limit) {
            0.0
        } else if u < knee {
            (u - 1.0) * (u - 1.0) / (knee * (knee - 1.0))
        } else {
            1.0 - 1.0 / (u * slack)
        }
    }

    /// Why the packet is dropped or marked at the base, and whether at all.
    fn base(
        &self,
        id: u32,
        over: Option<f64>,
        times: f64,
        p: f64,
        linear: bool,
        random: Random,
    ) -> Option<DropCause> {
        let of = |p: f64| if linear { coupled(p) } else { p };
        let by_share = if self.lacks(Part::ByShare) { 0.0 } else { f64::min(p, 64.0 * self.s * times) };
        let rest = p - by_share;
        if let Some(over) = over {
            let over = over.min(self.phi());
            return happens(of(by_share * over * over + rest), Stream::PieCoin, random)
                .then_some(DropCause::Pie);
        }
        if self.root == 0.0 {
            return None;
        }
        let m = by_share / self.s / times;
        let seen = self.looked_at(1, random(Stream::Candidate));
        let hits = seen.iter().filter(|&&other| other == id).count();
        let met = of(m * hits as f64 / seen.len() as f64);
        if hits > 0 && happens(met, Stream::FilterCoin, random) {
            return Some(DropCause::Memory);
        }
        happens(of(rest), Stream::PieCoin, random).then_some(DropCause::Pie)
    }
}

/// How often an L4S packet is marked where a classic one is with this probability: twice its root (RFC 9332, 2.1).
fn coupled(p: f64) -> f64 {
    f64::min(2.0 * p.sqrt(), 1.0)
}

fn happens(probability: f64, stream: Stream, random: Random) -> bool {
    probability > 0.0 && unit(random(stream)) < probability
}

/// What is seen of the library's.
struct Seen {
    root: f64,
    widened: f64,
    s: f64,
    sent: f64,
    suspects: Vec<(u32, f64)>,
    memory: Vec<u32>,
    hosts: Option<SeenHosts>,
}

/// What is seen of hosts: their share, the table, and the memory of each end.
struct SeenHosts {
    s: f64,
    table: Vec<(u32, f64, [f64; 2])>,
    memory: [Vec<u32>; 2],
}

impl Seen {
    fn of(fast: &Queue) -> Option<Self> {
        match fast {
            AnyDiscipline::Collar(CollarQueue::Plain(fast)) => Some(Self::decision(fast.decision())),
            AnyDiscipline::Collar(CollarQueue::Full(fast))
            | AnyDiscipline::CollarW(fast)
            | AnyDiscipline::CollarSparse(fast)
            | AnyDiscipline::CollarHosts(fast) => Some(Self::decision(fast.decision())),
            _ => None,
        }
    }

    fn decision<I, T, D>(fast: &CollarDecision<I, T, D>) -> Self
    where
        I: Storage<u32>,
        T: Storage<SuspectSet>,
        D: Sharing,
    {
        let hosts = fast.sharing().hosts().map(|shares| SeenHosts {
            s: shares.s(),
            table: fast.hosts().collect(),
            memory: [0, 1].map(|end| known(shares.memory(end))),
        });
        Self {
            root: fast.root(),
            widened: fast.widened(),
            s: fast.s(),
            sent: fast.sent(),
            suspects: fast.suspects().collect(),
            memory: known(fast.memory()),
            hosts,
        }
    }
}

/// Ids in places that are taken, in order.
fn known(memory: &[u32]) -> Vec<u32> {
    let mut ids: Vec<u32> = memory.iter().copied().filter(|&id| id != 0).collect();
    ids.sort_unstable();
    ids
}

/// The library's id of a flow.
fn id_of(flow: u64, fast: &Queue) -> u32 {
    match fast {
        AnyDiscipline::Collar(CollarQueue::Plain(fast)) => fast.decision().id_of(flow),
        AnyDiscipline::Collar(CollarQueue::Full(fast))
        | AnyDiscipline::CollarW(fast)
        | AnyDiscipline::CollarSparse(fast)
        | AnyDiscipline::CollarHosts(fast) => fast.decision().id_of(flow),
        _ => 0,
    }
}

impl Slow for CollarModel {
    fn set_hosts(&mut self, hosts: &BTreeMap<u64, Hosts>) {
        self.hosts_of_flows.clone_from(hosts);
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.short.iter().chain(&self.long).map(|waiting| waiting.packet.clone()).collect()
    }

    fn arrive(&mut self, Arrival { mut packet, now, fast, .. }: Arrival, random: Random) -> Decided {
        let flow = packet.meta.flow;
        let (id, hosts) = (id_of(flow, fast), self.ids_of_hosts(flow, fast));
        let waiting = self.short.len() + self.long.len();
        let (over, dropped) = self.decide_among(&mut packet, id, &hosts, waiting, now, random);
        if let Some(cause) = dropped {
            return Ok(vec![(packet, cause)]);
        }
        let goes_first = self.goes_first(id, &hosts, over);
        let list = if goes_first { &mut self.short } else { &mut self.long };
        list.push(Waiting { packet, id, hosts });
        Ok(Vec::new())
    }

    fn dequeue(&mut self, now: u64, _: &Queue, random: Random) -> Departure {
        let wait = self.long.first().map_or(0, |oldest| now - oldest.packet.enqueued.ns());
        let overtakes = match (self.short.first(), self.long.first()) {
            (Some(short), Some(long)) => short.packet.enqueued > long.packet.enqueued,
            _ => false,
        };
        let waits = overtakes && self.ahead >= 3000;
        let short_goes = !self.short.is_empty() && !waits;
        let from = if short_goes { &mut self.short } else { &mut self.long };
        if from.is_empty() {
            return Ok((Vec::new(), None));
        }
        let leaving = from.remove(0);
        let len = u64::from(leaving.packet.meta.len);
        match (short_goes, overtakes) {
            (true, true) => self.ahead += len,
            (true, false) => {}
            (false, _) => self.ahead = self.ahead.saturating_sub(len),
        }
        self.leaves_among(&leaving, wait, self.short.len() + self.long.len(), now, random);
        Ok((Vec::new(), Some(leaving.packet)))
    }

    /// What is computed in another order is within rounding of the library's, and goes on from that.
    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let theirs = Seen::of(fast).ok_or("this is not COLLAR")?;
        close("root", theirs.root, self.root, 1e-12)?;
        close("widened", theirs.widened, self.widened, 1e-12 * theirs.widened)?;
        close("s", theirs.s, self.s, 1e-12)?;
        close("sent", theirs.sent, self.sent, 1e-9 * theirs.sent)?;
        (self.root, self.widened) = (theirs.root, theirs.widened);
        (self.s, self.sent) = (theirs.s, theirs.sent);
        let ours: Vec<_> = self.suspects.iter().flatten().flatten().collect();
        if theirs.suspects.iter().map(|e| e.0).ne(ours.iter().map(|e| e.id)) {
            return Err(format!("suspects {:?}, should be {ours:?}", theirs.suspects));
        }
        for (theirs, ours) in theirs.suspects.iter().zip(&ours) {
            close("bytes of a suspect", theirs.1, ours.bytes, 1e-9 * theirs.1)?;
        }
        for (suspect, theirs) in self.suspects.iter_mut().flatten().flatten().zip(theirs.suspects) {
            suspect.bytes = theirs.1;
        }
        let mut ours = self.kept(&self.remembered).to_vec();
        ours.sort_unstable();
        if ours != theirs.memory {
            return Err("another memory".into());
        }
        theirs.hosts.map_or(Ok(()), |theirs| self.same_hosts(theirs))
    }
}

impl CollarModel {
    fn same_hosts(&mut self, theirs: SeenHosts) -> Result<(), String> {
        let mut shares = self.hosts.take().ok_or("hosts do not share here")?;
        close("s of hosts", theirs.s, shares.s, 1e-12)?;
        shares.s = theirs.s;
        let ours: Vec<_> = shares.table.iter_mut().flatten().flatten().collect();
        if theirs.table.iter().map(|host| host.0).ne(ours.iter().map(|host| host.id)) {
            return Err(format!("hosts {:?}, should be {ours:?}", theirs.table));
        }
        for (&(_, inside, bytes), host) in theirs.table.iter().zip(ours) {
            close("what flows have of a host", inside, host.inside, 1e-12)?;
            close("bytes of a host's suspects", bytes[0], host.let_in, 1e-9 * bytes[0])?;
            close("bytes of a host's others", bytes[1], host.others, 1e-9 * bytes[1])?;
            (host.inside, [host.let_in, host.others]) = (inside, bytes);
        }
        for (all, theirs) in shares.remembered.iter().zip(&theirs.memory) {
            let mut ours = self.kept(all).to_vec();
            ours.sort_unstable();
            if ours != *theirs {
                return Err("another memory of hosts".into());
            }
        }
        self.hosts = Some(shares);
        Ok(())
    }
}

pub fn reference(params: CollarParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(CollarModel::new(params)))
}
