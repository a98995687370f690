//! AFD, SFB, RED-PD, the penalty box and the flow valve as slowly and obviously as they can be written: plain lists,
//! everything counted anew, one update after the other. For the average, RED of `reference`.

use std::collections::BTreeMap;

use fairdrop::{
    AfdParams, AnyDiscipline, Discipline, DropCause, FlowValveParams, Packet, PenaltyBoxParams, PenaltyTest,
    RedPdParams, SfbParams, Stream, Time, places_for,
};

use crate::host::Queue;
use crate::policed::{Drops, Model, same, unit};
use crate::reference::{Handed, Reference, Scheme};

/// Pan et al. 2003.
pub struct AfdModel {
    params: AfdParams,
    queue: Vec<Packet<u32>>,
    shadow: Vec<u64>,
    m_fair: f64,
    q_old: f64,
    next_update: u64,
    rounding: f64,
}

impl AfdModel {
    pub fn new(params: AfdParams) -> Self {
        let (m_fair, next_update) = (f64::from(params.shadow), params.t_update.ns());
        Self { params, queue: Vec::new(), shadow: Vec::new(), m_fair, q_old: 0.0, next_update, rounding: 0.0 }
    }

    fn updates(&mut self, now: u64) {
        while self.next_update <= now {
            let AfdParams { alpha, beta, q_target, shadow, .. } = self.params;
            let q = self.queue.len() as f64;
            let step = alpha * (self.q_old - q_target) - beta * (q - q_target);
            self.m_fair = (self.m_fair + step).clamp(0.0, f64::from(shadow));
            self.rounding += 1e-15 * (f64::from(shadow) + (alpha + beta) * (q + q_target));
            self.q_old = q;
            self.next_update += self.params.t_update.ns();
        }
    }
}

impl Model for AfdModel {
    fn queue(&self) -> &Vec<Packet<u32>> {
        &self.queue
    }

    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        theirs: &Queue,
        coin: &mut dyn FnMut(Stream) -> u64,
    ) -> Result<Drops, String> {
        self.updates(now);
        let AnyDiscipline::Afd(afd) = theirs else { return Err("this is not AFD".into()) };
        same("fair share", afd.fair_share(), self.m_fair, self.rounding)?;
        (self.m_fair, self.rounding) = (afd.fair_share(), 0.0);
        let flow = packet.meta.flow;
        let m = self.shadow.iter().filter(|&&other| other == flow).count() as f64;
        let len = f64::from(packet.meta.len);
        let mut drops = Vec::new();
        if m > self.m_fair && unit(coin(Stream::AfdCoin)) < 1.0 - self.m_fair / m {
            drops.push((packet, DropCause::Afd));
        } else if self.queue.len() >= self.params.limit as usize {
            drops.push((packet, DropCause::Overflow));
        } else {
            self.queue.push(packet);
        }
        let p = len / f64::from(self.params.mean_packet_size) / self.params.sample_every;
        if unit(coin(Stream::AfdSample)) < p {
            if self.shadow.len() < self.params.shadow as usize {
                self.shadow.push(flow);
            } else {
                let place = u128::from(coin(Stream::AfdSample)) * self.shadow.len() as u128;
                self.shadow[(place >> 64) as usize] = flow;
            }
        }
        let counted = self.shadow.iter().filter(|&&other| other == flow).count();
        if afd.count(flow) as usize != counted {
            return Err(format!("{} samples, should be {counted}", afd.count(flow)));
        }
        Ok(drops)
    }

    fn dequeue(&mut self, now: u64) -> Option<Packet<u32>> {
        self.updates(now);
        if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) }
    }
}

/// One set of hash functions of SFB.
struct HashSet {
    salt: u64,
    /// Handle of the first arrival that is counted.
    first: u32,
    /// Probabilities by level and bin.
    p: BTreeMap<(u32, u64), f64>,
}

impl HashSet {
    fn bin(&self, params: &SfbParams, level: u32, flow: u64) -> (u32, u64) {
        let key = splitmix(self.salt.wrapping_add(u64::from(level)));
        let scaled = u128::from(splitmix(flow ^ key)) * u128::from(params.bins);
        (level, (scaled / (1 << 64)) as u64)
    }
}

fn splitmix(mut z: u64) -> u64 {
    for (shift, factor) in [(30, 0xBF58_476D_1CE4_E5B9_u64), (27, 0x94D0_49BB_1331_11EB)] {
        z = (z ^ (z >> shift)).wrapping_mul(factor);
    }
    z ^ (z >> 31)
}

/// Feng et al. 2001, figure 2, with sets of hash functions by the interval in which they decide.
pub struct SfbModel {
    params: SfbParams,
    queue: Vec<Packet<u32>>,
    sets: BTreeMap<u64, HashSet>,
    tokens: f64,
    filled: u64,
}

impl SfbModel {
    pub fn new(params: SfbParams) -> Self {
        let tokens = params.penalty_burst;
        Self { params, queue: Vec::new(), sets: BTreeMap::new(), tokens, filled: 0 }
    }

    fn begin(&mut self, interval: u64, first: u32, coin: &mut dyn FnMut(Stream) -> u64) {
        self.sets.entry(interval).or_insert_with(|| HashSet {
            salt: coin(Stream::SfbCoin),
            first,
            p: BTreeMap::new(),
        });
    }

    /// The interval whose set decides, once the sets that are due have begun and others are forgotten.
    fn rehash(&mut self, now: u64, first: u32, coin: &mut dyn FnMut(Stream) -> u64) -> u64 {
        let (rehash, warm_up) = (self.params.rehash.ns(), self.params.warm_up.ns());
        if rehash == 0 {
            self.begin(0, first, coin);
            return 0;
        }
        let interval = now / rehash;
        self.sets.retain(|&set, _| set >= interval);
        self.begin(interval, first, coin);
        if (interval + 1) * rehash - now <= warm_up {
            self.begin(interval + 1, first, coin);
        }
        interval
    }

    fn passes_penalty(&mut self, now: u64) -> bool {
        let elapsed = (now - self.filled) as f64 / 1e9;
        self.tokens = self.params.penalty_burst.min(self.tokens + self.params.penalty_rate * elapsed);
        self.filled = now;
        let passes = self.tokens >= 1.0;
        self.tokens -= f64::from(u8::from(passes));
        passes
    }
}

impl Model for SfbModel {
    fn queue(&self) -> &Vec<Packet<u32>> {
        &self.queue
    }

    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        theirs: &Queue,
        coin: &mut dyn FnMut(Stream) -> u64,
    ) -> Result<Drops, String> {
        let deciding = self.rehash(now, packet.handle, coin);
        let (mut drop, mut p_min) = (false, 1.0_f64);
        for (interval, set) in &mut self.sets {
            for level in 0..self.params.levels {
                let bin = set.bin(&self.params, level, packet.meta.flow);
                let waits = |other: &&Packet<u32>| {
                    other.handle >= set.first && set.bin(&self.params, level, other.meta.flow) == bin
                };
                let qlen = self.queue.iter().filter(waits).count();
                let p = set.p.entry(bin).or_default();
                if qlen > self.params.bin_size as usize {
                    *p = (*p + self.params.increment).min(1.0);
                } else if qlen == 0 {
                    *p = (*p - self.params.decrement).max(0.0);
                }
                if *interval == deciding {
                    drop |= qlen > self.params.bin_size as usize;
                    p_min = p_min.min(*p);
                }
            }
        }
        let AnyDiscipline::Sfb(sfb) = theirs else { return Err("this is not SFB".into()) };
        same("probability", sfb.probability(packet.meta.flow), p_min, 0.0)?;
        let cause = if drop {
            Some(DropCause::Sfb)
        } else if p_min == 1.0 {
            if self.passes_penalty(now) { None } else { Some(DropCause::Filter) }
        } else if unit(coin(Stream::SfbCoin)) < p_min {
            Some(DropCause::Sfb)
        } else {
            None
        };
        let cause = cause.or((self.queue.len() >= self.params.limit as usize).then_some(DropCause::Overflow));
        Ok(match cause {
            Some(cause) => vec![(packet, cause)],
            None => {
                self.queue.push(packet);
                Vec::new()
            }
        })
    }

    fn dequeue(&mut self, _now: u64) -> Option<Packet<u32>> {
        if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) }
    }
}

/// RED behind a filter: `Reference` does RED.
fn red(
    red: &mut Reference,
    packet: Packet<u32>,
    now: u64,
    theirs: &Queue,
    coin: &mut dyn FnMut(Stream) -> u64,
) -> Result<Drops, String> {
    let handed = Handed { drawn: &[], average: theirs.average_packets() };
    red.arrive(packet, Time::from_ns(now), &handed, &mut || coin(Stream::EarlyDrop))
}

/// Mahajan et al. 2001 and the scripts for ns-2.
pub struct RedPdModel {
    params: RedPdParams,
    red: Reference,
    /// The list that is written is the last one.
    lists: Vec<BTreeMap<u64, u64>>,
    /// Probability, and the list after which it was changed last.
    monitored: BTreeMap<u64, (f64, u64)>,
    number: u64,
    end: u64,
    arrived: u64,
    dropped: u64,
    average: Option<f64>,
}

impl RedPdModel {
    pub fn new(params: RedPdParams) -> Self {
        let red = Reference::new(Scheme::Red(params.red.clone()));
        let (lists, monitored) = (vec![BTreeMap::new()], BTreeMap::new());
        let end = 10 * params.target_rtt.ns();
        Self { params, red, lists, monitored, number: 0, end, arrived: 0, dropped: 0, average: None }
    }

    fn appearances(&self, flow: u64) -> usize {
        self.lists.iter().filter(|list| list.contains_key(&flow)).count()
    }

    fn total(&self, flow: u64) -> u64 {
        self.lists.iter().filter_map(|list| list.get(&flow)).sum()
    }

    fn known(&self) -> Vec<u64> {
        let mut all: Vec<u64> = self.lists.iter().flat_map(|list| list.keys().copied()).collect();
        all.extend(self.monitored.keys());
        all.sort_unstable();
        all.dedup();
        all
    }

    fn close(&mut self) {
        if self.arrived > 0 {
            let current = self.dropped as f64 / self.arrived as f64;
            let average = self.average.map_or(current, |old| 0.5 * current + 0.5 * old);
            self.average = Some(average);
            if current > 0.001 {
                self.detect(current.min(average));
            }
        }
        self.reward();
        (self.arrived, self.dropped) = (0, 0);
        self.number += 1;
        self.lists.push(BTreeMap::new());
        if self.lists.len() > self.params.lists as usize {
            self.lists.remove(0);
        }
        let mut length = 10.0 * self.params.target_rtt.seconds();
        if let Some(p) = self.average.filter(|&p| p > 0.0) {
            let part = f64::from(self.params.appearances) / f64::from(self.params.lists);
            let rtt = self.params.target_rtt.seconds();
            length = (part * rtt / (1.5 * p).sqrt()).clamp(2.0 * rtt, length);
        }
        self.end += (length * 1e9).round() as u64;
    }

    fn detect(&mut self, usable: f64) {
        let regular: Vec<u64> = self.known();
        let least = self.params.appearances as usize;
        let regular: Vec<u64> = regular.into_iter().filter(|&flow| self.appearances(flow) >= least).collect();
        let average = regular.iter().map(|&flow| self.total(flow)).sum::<u64>() as f64 / regular.len() as f64;
        for flow in regular {
            if !self.lists.last().unwrap().contains_key(&flow) {
                continue;
            }
            let pre = usable * (self.total(flow) as f64 / average);
            let probability = match self.monitored.get(&flow) {
                None => pre.min(2.0 * usable).min(0.5),
                Some((_, changed)) if self.number - changed < 4 => continue,
                Some((old, _)) => {
                    let new = if pre > *old { 2.0 * old } else { old + pre };
                    if new > 1.0 { 1.0 - (1.0 - old) / 2.0 } else { new }
                }
            };
            self.monitored.insert(flow, (probability, self.number));
        }
    }

    fn reward(&mut self) {
        for flow in self.known() {
            let Some(&(old, changed)) = self.monitored.get(&flow) else { continue };
            if self.appearances(flow) > 0 || self.number - changed < 3 {
                continue;
            }
            if old <= 0.005 {
                self.monitored.remove(&flow);
            } else {
                let new = if old > 0.1 { old - 0.05 } else { old / 2.0 };
                self.monitored.insert(flow, (new, self.number));
            }
        }
    }
}

impl Model for RedPdModel {
    fn queue(&self) -> &Vec<Packet<u32>> {
        &self.red.queue
    }

    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        theirs: &Queue,
        coin: &mut dyn FnMut(Stream) -> u64,
    ) -> Result<Drops, String> {
        while self.end <= now {
            self.close();
        }
        let flow = packet.meta.flow;
        let AnyDiscipline::RedPd(pd) = theirs else { return Err("this is not RED-PD".into()) };
        let probability = self.monitored.get(&flow).map_or(0.0, |&(p, _)| p);
        same("probability", pd.probability(flow), probability, 1e-12)?;
        same("loss", pd.loss(), self.average.unwrap_or(0.0), 0.0)?;
        if let Some(state) = self.monitored.get_mut(&flow) {
            state.0 = pd.probability(flow);
            if unit(coin(Stream::FilterCoin)) < state.0 {
                return Ok(vec![(packet, DropCause::Filter)]);
            }
        }
        let drops = red(&mut self.red, packet, now, theirs, coin)?;
        self.arrived += 1;
        if !drops.is_empty() {
            self.dropped += 1;
            let known = self.known();
            if known.contains(&flow) || known.len() < places_for(self.params.max_flows) * 3 / 4 {
                *self.lists.last_mut().unwrap().entry(flow).or_default() += 1;
            }
        }
        Ok(drops)
    }

    fn dequeue(&mut self, now: u64) -> Option<Packet<u32>> {
        self.red.dequeue(Time::from_ns(now))
    }
}

/// Floyd and Fall 1999, section 4, and the project's reading of the box.
pub struct PenaltyModel {
    params: PenaltyBoxParams,
    red: Reference,
    drops: BTreeMap<u64, u64>,
    all_drops: u64,
    arrived: (u64, u64),
    /// Rate when put into the box, and bytes since the interval began.
    boxed: BTreeMap<u64, (f64, u64)>,
    interval: u64,
    tokens: f64,
    filled: u64,
}

impl PenaltyModel {
    pub fn new(params: PenaltyBoxParams) -> Self {
        let red = Reference::new(Scheme::Red(params.red.clone()));
        let tokens = params.penalty_burst * f64::from(params.red.mean_packet_size);
        let (drops, boxed) = (BTreeMap::new(), BTreeMap::new());
        Self { params, red, drops, all_drops: 0, arrived: (0, 0), boxed, interval: 0, tokens, filled: 0 }
    }

    fn close(&mut self) {
        let seconds = self.params.interval.seconds();
        let (packets, bytes) = self.arrived;
        let n = self.drops.len() as f64;
        let p = self.all_drops as f64 / packets as f64;
        let size = f64::from(self.params.red.mean_packet_size);
        let friendly = 1.5 * (2.0_f64 / 3.0).sqrt() * size / (self.params.rtt.seconds() * p.sqrt());
        let mut put: BTreeMap<u64, (f64, u64)> = BTreeMap::new();
        for (flow, drops) in &self.drops {
            let share = *drops as f64 / self.all_drops as f64;
            let rate = share * bytes as f64 / seconds;
            let disproportionate = self.params.test == PenaltyTest::Unfriendly || share > (3.0 * n).ln() / n;
            let enough = self.all_drops >= u64::from(self.params.min_drops);
            if !self.boxed.contains_key(flow) && enough && rate > friendly && disproportionate {
                put.insert(*flow, (rate, 0));
            }
        }
        self.boxed.retain(|_, (rate, bytes)| *bytes as f64 / seconds > *rate / 2.0);
        self.boxed.values_mut().for_each(|(_, bytes)| *bytes = 0);
        self.boxed.extend(put);
        self.drops.clear();
        (self.arrived, self.all_drops) = ((0, 0), 0);
        self.interval += 1;
    }
}

impl Model for PenaltyModel {
    fn queue(&self) -> &Vec<Packet<u32>> {
        &self.red.queue
    }

    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        theirs: &Queue,
        coin: &mut dyn FnMut(Stream) -> u64,
    ) -> Result<Drops, String> {
        while (self.interval + 1) * self.params.interval.ns() <= now {
            self.close();
        }
        let AnyDiscipline::PenaltyBox(pb) = theirs else { return Err("this has no penalty box".into()) };
        let (flow, len) = (packet.meta.flow, packet.meta.len);
        match (pb.boxed_at(flow), self.boxed.get_mut(&flow)) {
            (Some(theirs), Some((rate, _))) => same("rate", theirs, *rate, 0.0)?,
            (None, None) => {}
            (theirs, ours) => return Err(format!("in the box at {theirs:?}, should be {ours:?}")),
        }
        if let Some((_, bytes)) = self.boxed.get_mut(&flow) {
            *bytes += u64::from(len);
            let size = f64::from(self.params.red.mean_packet_size);
            let link = size / self.params.red.mean_packet_time.seconds();
            let elapsed = (now - self.filled) as f64 / 1e9;
            let tokens = self.tokens + self.params.penalty_share * link * elapsed;
            self.tokens = tokens.min(self.params.penalty_burst * size);
            self.filled = now;
            if self.tokens < f64::from(len) {
                return Ok(vec![(packet, DropCause::Filter)]);
            }
            self.tokens -= f64::from(len);
        }
        let drops = red(&mut self.red, packet, now, theirs, coin)?;
        self.arrived = (self.arrived.0 + 1, self.arrived.1 + u64::from(len));
        if !drops.is_empty() {
            self.all_drops += 1;
            let known = self.drops.keys().chain(self.boxed.keys().filter(|f| !self.drops.contains_key(f)));
            let room = known.count() < places_for(self.params.max_flows) * 3 / 4;
            if room || self.drops.contains_key(&flow) || self.boxed.contains_key(&flow) {
                *self.drops.entry(flow).or_default() += 1;
            }
        }
        Ok(drops)
    }

    fn dequeue(&mut self, now: u64) -> Option<Packet<u32>> {
        self.red.dequeue(Time::from_ns(now))
    }
}

/// One flow of the valve's list.
struct Entry {
    flow: u64,
    red: bool,
    p: f64,
    f: f64,
    seq: u64,
    count: u32,
    last_drop: u64,
}

/// Cho 1999 and ALTQ: the list begins with the flow that was dropped last.
pub struct ValveModel {
    params: FlowValveParams,
    red: Reference,
    list: Vec<Entry>,
    arrivals: u64,
}

impl ValveModel {
    pub fn new(params: FlowValveParams) -> Self {
        let red = Reference::new(Scheme::Red(params.red.clone()));
        Self { params, red, list: Vec::new(), arrivals: 0 }
    }

    fn move_to_head(&mut self, at: usize, now: u64) {
        let mut entry = self.list.remove(at);
        entry.last_drop = now;
        self.list.insert(0, entry);
    }

    /// Whether a packet of the flow at `at` is dropped before RED.
    fn check_flow(&mut self, at: usize, now: u64) -> bool {
        let back_off = self.params.back_off.ns();
        let (max_p, room) = (self.params.red.max_p, self.params.red.max_th + 5.0);
        let entry = &mut self.list[at];
        entry.count += 1;
        if entry.count == 10 {
            entry.f = 10.0 / (self.arrivals - entry.seq) as f64 / 32.0 + 31.0 / 32.0 * entry.f;
            (entry.seq, entry.count) = (self.arrivals, 0);
        }
        let p = entry.p;
        let brtt = 1.0
            / ((4.0 * p / 3.0).sqrt() + (3.0 * (p * 6.0 / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p));
        entry.red |= p > max_p && entry.f > brtt / room;
        if entry.red && now - entry.last_drop > back_off {
            (entry.red, entry.p) = (false, 0.0);
        }
        if entry.red {
            self.move_to_head(at, now);
            return true;
        }
        false
    }
}

impl Model for ValveModel {
    fn queue(&self) -> &Vec<Packet<u32>> {
        &self.red.queue
    }

    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        theirs: &Queue,
        coin: &mut dyn FnMut(Stream) -> u64,
    ) -> Result<Drops, String> {
        self.arrivals += 1;
        let AnyDiscipline::FlowValve(valve) = theirs else { return Err("this is no flow valve".into()) };
        let flow = packet.meta.flow;
        let mut at = self.list.iter().position(|entry| entry.flow == flow);
        if let Some(old) = at.filter(|&at| now - self.list[at].last_drop > self.params.forget_after.ns()) {
            self.list.remove(old);
            at = None;
        }
        if at.is_some_and(|at| self.check_flow(at, now)) {
            return Ok(vec![(packet, DropCause::Filter)]);
        }
        let drops = red(&mut self.red, packet, now, theirs, coin)?;
        if let Some(at) = at {
            self.list[at].p *= 127.0 / 128.0;
        }
        if !drops.is_empty() {
            if at.is_none() {
                self.list.truncate(self.params.max_flows as usize - 1);
                let seq = self.arrivals - 1;
                self.list.push(Entry { flow, red: false, p: 0.0, f: 0.0, seq, count: 0, last_drop: now });
            }
            let at = at.unwrap_or(self.list.len() - 1);
            self.list[at].p += 1.0 / 128.0;
            self.move_to_head(at, now);
        }
        let ours = self.list.iter_mut().find(|entry| entry.flow == flow);
        match (valve.loss_and_part(flow), ours) {
            (Some((loss, part)), Some(entry)) => {
                same("loss", loss, entry.p, 1e-14)?;
                same("part", part, entry.f, 1e-14)?;
                (entry.p, entry.f) = (loss, part);
            }
            (None, None) => {}
            (theirs, ours) => return Err(format!("{theirs:?}, should be remembered: {}", ours.is_some())),
        }
        Ok(drops)
    }

    fn dequeue(&mut self, now: u64) -> Option<Packet<u32>> {
        self.red.dequeue(Time::from_ns(now))
    }
}
