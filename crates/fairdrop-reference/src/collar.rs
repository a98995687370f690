//! COLLAR as slowly and obviously as it can be written, from the pseudo-code of its page: lists, every count made smaller at
//! every sample, every update made one by one, every remembered id compared one by one.

use fairdrop::{AnyDiscipline, CollarParams, DropCause, Ecn, MOST_UPDATES, Packet, Stream};

use crate::compare::{close, unit};
use crate::host::{Queue, Step};
use crate::slow::{Departure, Drops, Random, Slow};

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
    /// What makes the base probability fall by what a flow sends: it falls on all alike.
    ByShare,
    /// How the limit is loosened where little is dropped.
    Slack,
    /// The window in packets of a fair flow in which the table forgets: `span` is left.
    Window,
    /// That the output is remembered and compared: the last arrival takes a departure's place, dropped or not.
    Output,
    /// The controller's bounds of its target: a packet of each flow, and half the buffer.
    Bounds,
    /// That packets are spared which find fewer than two waiting.
    Spared,
}

impl Part {
    /// All, as one reads of them.
    pub const ALL: [(&str, Self); 9] = [
        ("table", Self::Table),
        ("limit", Self::Limit),
        ("base", Self::Base),
        ("by-share", Self::ByShare),
        ("slack", Self::Slack),
        ("window", Self::Window),
        ("output", Self::Output),
        ("bounds", Self::Bounds),
        ("spared", Self::Spared),
    ];
}

#[derive(Clone, Debug)]
struct Suspect {
    id: u32,
    bytes: f64,
}

pub struct CollarModel {
    params: CollarParams,
    missing: Option<Part>,
    last_arrival: u32,
    queue: Vec<Packet<u32>>,
    /// Every departure ever remembered; the memory is the last `ids` of them.
    remembered: Vec<u32>,
    /// By set, place by place.
    suspects: Vec<Vec<Option<Suspect>>>,
    root: f64,
    delay: f64,
    old_delay: f64,
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
    /// Bytes that left since the last sample, and how many make the next one.
    passed: f64,
    distance: f64,
    last_sample: u64,
    /// Means over samples.
    mean_passed: f64,
    mean_turns: f64,
}

impl CollarModel {
    pub fn new(params: CollarParams) -> Self {
        Self::without(params, None)
    }

    /// COLLAR without one of its parts.
    pub fn without(params: CollarParams, missing: Option<Part>) -> Self {
        Self {
            missing,
            last_arrival: 0,
            queue: Vec::new(),
            remembered: Vec::new(),
            suspects: vec![vec![None; 8]; params.sets as usize],
            root: 0.0,
            delay: 0.0,
            old_delay: 0.0,
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

    fn has(&self, part: Part) -> bool {
        self.missing != Some(part)
    }

    fn updates(&mut self, now: u64) {
        let period = T_UPDATE;
        while self.next_update <= now {
            if (now - self.next_update) / period < MOST_UPDATES {
                let mut target = self.params.target.seconds();
                let service = self.service / 1e9;
                if service > 0.0 && self.has(Part::Bounds) {
                    target = f64::min(target, service * f64::from(self.params.limit) / 2.0);
                }
                let least = if self.has(Part::Bounds) { service / self.s } else { 0.0 };
                let aim = f64::max(target, least);
                let g = f64::min((0.1 + self.params.target.seconds()) / (0.1 + aim), 1.0);
                self.root += 0.16 * g * g * (self.delay - aim) + 3.2 * g * (self.delay - self.old_delay);
                self.root = self.root.clamp(0.0, if self.has(Part::Base) { 0.5 } else { 0.0 });
                self.old_delay = self.delay;
            }
            if now - self.last_sample > period {
                self.distance = self.passed;
            }
            self.next_update += period;
        }
    }

    /// The ids of a group of `blocks` blocks that `bits` choose. The n-th id ever remembered lies in block n modulo their
    /// number.
    fn looked_at(&self, blocks: usize, bits: u64) -> Vec<u32> {
        let all = self.params.ids as usize / 32;
        let group = ((u128::from(bits >> 32) * (all / blocks) as u128) >> 32) as usize;
        let chosen: Vec<usize> = (group * blocks..(group + 1) * blocks).collect();
        let first = self.remembered.len().saturating_sub(self.params.ids as usize);
        let kept = (first..self.remembered.len()).filter(|n| chosen.contains(&(n % all)));
        kept.map(|n| self.remembered[n]).collect()
    }

    fn phi(&self) -> f64 {
        if !self.has(Part::Slack) {
            1.0
        } else if self.root > 0.0 {
            f64::min(1.0 + 0.003 / self.root, 1.4)
        } else {
            1.4
        }
    }

    fn set_of(&mut self, id: u32) -> &mut Vec<Option<Suspect>> {
        &mut self.suspects[((u64::from(id) * u64::from(self.params.sets)) >> 32) as usize]
    }

    /// How much of its limit the flow has sent; `None` where it is no suspect.
    fn charge(&mut self, id: u32, len: u32) -> Option<f64> {
        let limit = self.params.share * self.s * self.sent;
        let suspect = self.set_of(id).iter_mut().flatten().find(|e| e.id == id)?;
        suspect.bytes += f64::from(len);
        Some(suspect.bytes / limit)
    }

    /// Makes the flow a suspect where there is room.
    fn suspect(&mut self, id: u32) {
        let assumed = 0.5 * self.s * self.sent;
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

    /// What a departure tells that chance has chosen.
    fn sample(&mut self, id: u32, len: f64, now: u64, bits: u64) {
        let gap = (now - self.last_sample) as f64;
        self.last_sample = now;
        self.size += if self.size > 0.0 { (len - self.size) / 16.0 } else { len };
        if self.busy && self.passed > 0.0 {
            let service = gap * self.size / self.passed;
            self.service += if self.service > 0.0 { (service - self.service) / 16.0 } else { service };
        }
        // What could have left: a link that was idle had room for more.
        let span = self.params.span.ns() as f64;
        let mut room = self.passed;
        if !self.busy && self.service > 0.0 {
            room = f64::max(room, f64::min(gap, span) * self.size / self.service);
        }
        self.busy = true;
        let elapsed = f64::min(gap / span, 1.0);

        let windows = room * self.s / (32.0 * self.size);
        let faded = 1.0 + if self.has(Part::Window) { f64::min(windows, elapsed) } else { elapsed };
        for suspect in self.suspects.iter_mut().flatten().flatten() {
            suspect.bytes /= faded;
        }
        self.sent = f64::max(self.sent / faded + room, 1.0);

        let seen = self.looked_at(4, bits);
        let hits = seen.iter().filter(|&&other| other == id).count() as f64;
        self.matches = (self.matches + hits).min(2032.0);
        for (s, matches) in self.averages.iter_mut().zip([f64::min(self.matches, 496.0), self.matches]) {
            let change = (hits - seen.len() as f64 * *s) / (16.0 + matches);
            *s = (*s + *s * change.max(-0.5)).clamp(1.0 / 16_384.0, 1.0);
        }
        self.s = f64::min(self.averages[0], self.averages[1]);
        if hits > 0.0 && self.has(Part::Table) {
            self.suspect(id);
        }
        self.remembered.push(id);

        let turns = elapsed * f64::from(self.params.ids);
        self.mean_passed += (self.passed - self.mean_passed) / 16.0;
        self.mean_turns += (turns - self.mean_turns) / 16.0;
        let wanted = if self.mean_turns > 0.0 { self.mean_passed / self.mean_turns } else { 0.0 };
        let mean = f64::max(wanted, 2.0 * self.size);
        self.distance = (f64::from(bits as u32) / 4_294_967_296.0 * 2.0 * mean).floor();
        self.passed = 0.0;
    }

    /// Why the packet is dropped or marked, and whether it is marked; nothing where it is queued as it came.
    fn judge(
        &self,
        id: u32,
        over: Option<f64>,
        len: u32,
        capable: bool,
        random: Random,
    ) -> Option<(DropCause, bool)> {
        let mut marked = None;
        if let Some(over) = over {
            let u = over / self.phi();
            let knee = 2.0 - self.s * self.s;
            let excess = if u <= 1.0 || !self.has(Part::Limit) {
                0.0
            } else if u < knee {
                (u - 1.0) * (u - 1.0) / (knee * (knee - 1.0))
            } else {
                1.0 - 1.0 / u
            };
            if coin(excess, Stream::FilterCoin, random) {
                if !(capable && excess < 0.08) {
                    return Some((DropCause::Filter, false));
                }
                marked = Some((DropCause::Filter, true));
            }
        }
        let p0 = self.root * self.root;
        let part = if self.size > 0.0 { f64::min(f64::from(len) / self.size, 1.0) } else { 1.0 };
        match self.base(id, over, p0 * part, random) {
            Some(cause) => Some((cause, capable && p0 < 0.25)),
            None => marked,
        }
    }

    /// Why the packet is dropped or marked at the base, and whether at all.
    fn base(&self, id: u32, over: Option<f64>, p: f64, random: Random) -> Option<DropCause> {
        let by_share = if self.has(Part::ByShare) { f64::min(p, 64.0 * self.s) } else { 0.0 };
        let rest = p - by_share;
        if let Some(over) = over {
            let over = over.min(self.phi());
            return coin(by_share * over * over + rest, Stream::PieCoin, random).then_some(DropCause::Pie);
        }
        if self.root == 0.0 {
            return None;
        }
        let m = by_share / self.s;
        let seen = self.looked_at(1, random(Stream::Candidate));
        let hits = seen.iter().filter(|&&other| other == id).count();
        if hits > 0 && coin(m * hits as f64 / seen.len() as f64, Stream::FilterCoin, random) {
            return Some(DropCause::Memory);
        }
        coin(rest, Stream::PieCoin, random).then_some(DropCause::Pie)
    }
}

fn coin(probability: f64, stream: Stream, random: Random) -> bool {
    probability > 0.0 && unit(random(stream)) < probability
}

/// The suspects of the library.
fn listed(fast: &Queue) -> Vec<(u32, f64)> {
    let AnyDiscipline::Collar(fast) = fast else { return Vec::new() };
    fast.decision().suspects().collect()
}

/// The library's id of a flow.
fn id_of(flow: u64, fast: &Queue) -> u32 {
    let AnyDiscipline::Collar(fast) = fast else { return 0 };
    fast.decision().id_of(flow)
}

impl Slow for CollarModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn arrive(
        &mut self,
        mut packet: Packet<u32>,
        now: u64,
        _: &Step,
        fast: &Queue,
        random: Random,
    ) -> Result<Drops, String> {
        self.updates(now);
        let id = id_of(packet.meta.flow, fast);
        let capable = self.params.ecn && packet.meta.ecn != Ecn::NotCapable;
        let over = self.charge(id, packet.meta.len);
        let mut marked = false;
        self.last_arrival = id;
        if self.queue.len() >= 2 || !self.has(Part::Spared) {
            match self.judge(id, over, packet.meta.len, capable, random) {
                Some((cause, false)) => return Ok(vec![(packet, cause)]),
                verdict => marked = verdict.is_some(),
            }
        }
        if self.queue.len() == self.params.limit as usize {
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        if marked {
            packet.meta.ecn = Ecn::Ce;
        }
        self.queue.push(packet);
        Ok(Vec::new())
    }

    fn dequeue(&mut self, now: u64, fast: &Queue, random: Random) -> Departure {
        if self.queue.is_empty() {
            return Ok((Vec::new(), None));
        }
        self.updates(now);
        let packet = self.queue.remove(0);
        self.passed += f64::from(packet.meta.len);
        if self.passed >= self.distance {
            let bits = random(Stream::Candidate);
            let id = if self.has(Part::Output) { id_of(packet.meta.flow, fast) } else { self.last_arrival };
            self.sample(id, f64::from(packet.meta.len), now, bits);
            self.delay = (now - packet.enqueued.ns()) as f64 / 1e9;
        }
        if self.queue.is_empty() {
            (self.delay, self.busy) = (0.0, false);
        }
        Ok((Vec::new(), Some(packet)))
    }

    /// What is computed in another order is within rounding of the library's, and goes on from that.
    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let theirs = listed(fast);
        let AnyDiscipline::Collar(fast) = fast else { return Err("this is not COLLAR".into()) };
        let fast = fast.decision();
        close("root", fast.root(), self.root, 1e-12)?;
        close("s", fast.s(), self.s, 1e-12)?;
        close("sent", fast.sent(), self.sent, 1e-9 * self.sent)?;
        (self.root, self.s, self.sent) = (fast.root(), fast.s(), fast.sent());
        let ours: Vec<_> = self.suspects.iter().flatten().flatten().collect();
        if theirs.iter().map(|e| e.0).ne(ours.iter().map(|e| e.id)) {
            return Err(format!("suspects {theirs:?}, should be {ours:?}"));
        }
        for (theirs, ours) in theirs.iter().zip(&ours) {
            close("bytes of a suspect", theirs.1, ours.bytes, 1e-9 * ours.bytes)?;
        }
        for (suspect, theirs) in self.suspects.iter_mut().flatten().flatten().zip(theirs) {
            suspect.bytes = theirs.1;
        }
        let mut ours = self.looked_at(self.params.ids as usize / 32, 0);
        let mut theirs: Vec<u32> = fast.memory().iter().copied().filter(|&id| id != 0).collect();
        ours.sort_unstable();
        theirs.sort_unstable();
        if ours == theirs { Ok(()) } else { Err("another memory".into()) }
    }
}

pub fn reference(params: CollarParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(CollarModel::new(params)))
}
