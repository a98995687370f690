//! COLLAR as slowly and obviously as it can be written, from the pseudo-code of its page: lists, exponentials of the standard
//! library, every update made one by one, every remembered id compared one by one.

use fairdrop::{AnyDiscipline, CollarParams, DropCause, Ecn, MOST_UPDATES, Packet, Stream};

use crate::compare::{close, unit};
use crate::host::{Queue, Step};
use crate::slow::{Departure, Drops, Random, Slow};

/// 16 ms.
const T_UPDATE: u64 = 16_000_000;

#[derive(Clone, Debug)]
struct Suspect {
    id: u32,
    bytes: f64,
    /// In whole ticks of 1/1024.
    seen: u64,
}

pub struct CollarModel {
    params: CollarParams,
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
    matches: f64,
    clock: f64,
    sent: f64,
    size: f64,
    service: f64,
    last_departure: u64,
    busy: bool,
}

impl CollarModel {
    pub fn new(params: CollarParams) -> Self {
        Self {
            queue: Vec::new(),
            remembered: Vec::new(),
            suspects: vec![vec![None; 8]; params.sets as usize],
            root: 0.0,
            delay: 0.0,
            old_delay: 0.0,
            next_update: T_UPDATE,
            s: 1.0,
            matches: 0.0,
            clock: 0.0,
            sent: 1.0,
            size: 0.0,
            service: 0.0,
            last_departure: 0,
            busy: false,
            params,
        }
    }

    fn updates(&mut self, now: u64) {
        let period = T_UPDATE;
        while self.next_update <= now {
            if (now - self.next_update) / period < MOST_UPDATES {
                let target = self.params.target.seconds();
                let aim = f64::max(target, self.service * 1e-9 / self.s);
                let g = target / aim;
                self.root += 0.16 * g * g * (self.delay - aim) + 3.2 * g * (self.delay - self.old_delay);
                self.root = self.root.clamp(0.0, 1.0);
                self.old_delay = self.delay;
            }
            self.next_update += period;
        }
    }

    fn ticks(&self) -> u64 {
        (self.clock * 1024.0).floor() as u64
    }

    fn faded(suspect: &Suspect, now: u64) -> f64 {
        (suspect.bytes * (-((now - suspect.seen) as f64) / 1024.0).exp()).round()
    }

    /// The ids of a group of `blocks` blocks that `bits` choose. The n-th id ever remembered lies in block n modulo their
    /// number.
    fn looked_at(&self, blocks: usize, bits: u64) -> Vec<u32> {
        let all = self.params.ids as usize / 8;
        let group = (u128::from(bits >> 32) * (all / blocks) as u128 >> 32) as usize;
        let chosen: Vec<usize> = (group * blocks..(group + 1) * blocks).collect();
        let first = self.remembered.len().saturating_sub(self.params.ids as usize);
        let kept = (first..self.remembered.len()).filter(|n| chosen.contains(&(n % all)));
        kept.map(|n| self.remembered[n]).collect()
    }

    fn phi(&self) -> f64 {
        if self.root > 0.0 { 1.0 + f64::min(1.0, 0.003 / self.root) } else { 2.0 }
    }

    /// How much of its limit the flow has sent; `None` where it is no suspect, or no longer.
    fn charge(&mut self, id: u32, len: u32, fast: &Queue) -> Option<f64> {
        let (now, limit) = (self.ticks(), self.params.share * self.s * self.sent);
        let set = (u64::from(id) * u64::from(self.params.sets) >> 32) as usize;
        let place = self.suspects[set].iter_mut().find(|place| place.as_ref().is_some_and(|e| e.id == id))?;
        let suspect = place.as_mut().expect("it was found");
        suspect.bytes = (Self::faded(suspect, now) + f64::from(len)).min(f64::from(u32::MAX));
        suspect.seen = now;
        // The library may round a byte otherwise.
        if let Some(theirs) = listed(fast).into_iter().find(|theirs| theirs.0 == id)
            && (f64::from(theirs.1) - suspect.bytes).abs() <= 1.0
        {
            suspect.bytes = f64::from(theirs.1);
        }
        let over = suspect.bytes / limit;
        if over < 0.2 {
            *place = None;
            return None;
        }
        Some(over)
    }

    /// Makes the flow a suspect; `false` where there is no room.
    fn enter(&mut self, id: u32) -> bool {
        let now = self.ticks();
        let assumed = (0.5 * self.s * self.sent).floor();
        let set = &mut self.suspects[(u64::from(id) * u64::from(self.params.sets) >> 32) as usize];
        let place = match set.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                let held: Vec<f64> = set.iter().flatten().map(|e| Self::faded(e, now)).collect();
                let least = held.iter().copied().fold(f64::INFINITY, f64::min);
                if least >= assumed {
                    return false;
                }
                held.iter().position(|&bytes| bytes == least).expect("it is one of them")
            }
        };
        set[place] = Some(Suspect { id, bytes: assumed, seen: now });
        true
    }

    /// Why the packet is dropped or marked at the base, and whether at all.
    fn base(&mut self, id: u32, over: Option<f64>, p: f64, random: Random) -> Option<DropCause> {
        let m = (p / self.s).min(64.0);
        let rest = p - m * self.s;
        if let Some(over) = over {
            let over = over.min(self.phi());
            return coin(m * self.s * over * over + rest, Stream::PieCoin, random).then_some(DropCause::Pie);
        }
        let blocks = if m <= 8.0 { 1 } else { self.params.ids as usize / 8 };
        let seen = self.looked_at(blocks, random(Stream::Candidate));
        let hits = seen.iter().filter(|&&other| other == id).count();
        if hits > 0 && !self.enter(id) {
            let hit = coin(m * hits as f64 / seen.len() as f64, Stream::FilterCoin, random);
            if hit {
                return Some(DropCause::Memory);
            }
        }
        coin(rest, Stream::PieCoin, random).then_some(DropCause::Pie)
    }
}

fn coin(probability: f64, stream: Stream, random: Random) -> bool {
    probability > 0.0 && unit(random(stream)) < probability
}

/// The suspects of the library.
fn listed(fast: &Queue) -> Vec<(u32, u32, u32)> {
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
        let waits = self.queue.len() >= 2;
        let capable = self.params.ecn && packet.meta.ecn != Ecn::NotCapable;
        let over = self.charge(id, packet.meta.len, fast);
        let mut marked = false;
        if let Some(over) = over.filter(|_| waits) {
            let u = over / self.phi();
            let excess = if u <= 1.0 {
                0.0
            } else if u < 2.0 {
                (u - 1.0) * (u - 1.0) / 2.0
            } else {
                1.0 - 1.0 / u
            };
            if coin(excess, Stream::FilterCoin, random) {
                if !(capable && excess < 0.2) {
                    return Ok(vec![(packet, DropCause::Filter)]);
                }
                marked = true;
            }
        }
        let p0 = self.root * self.root;
        let part = if self.size > 0.0 { f64::min(f64::from(packet.meta.len) / self.size, 1.0) } else { 1.0 };
        if let Some(cause) = self.base(id, over, p0 * part, random).filter(|_| waits) {
            if !(capable && p0 < 0.25) {
                return Ok(vec![(packet, cause)]);
            }
            marked = true;
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
        self.delay = (now - packet.enqueued.ns()) as f64 / 1e9;
        if self.queue.is_empty() {
            self.delay = 0.0;
        }
        let gap = (now - self.last_departure) as f64;
        if self.busy {
            self.service += if self.service > 0.0 { (gap - self.service) / 64.0 } else { gap };
        }
        self.last_departure = now;
        self.busy = !self.queue.is_empty();
        let len = f64::from(packet.meta.len);
        self.size += if self.size > 0.0 { (len - self.size) / 64.0 } else { len };
        let part = if self.size > 0.0 { len / self.size } else { 1.0 };

        let span = self.params.span.ns() as f64;
        let step = (part * self.s / 32.0).min(gap / span).min(1.0);
        self.clock += step;
        self.sent = f64::max(self.sent * (-step).exp() + len, 1.0);

        let bits = random(Stream::Candidate);
        let id = id_of(packet.meta.flow, fast);
        let seen = self.looked_at(4, bits);
        let hits = seen.iter().filter(|&&other| other == id).count() as f64;
        self.matches = (self.matches + hits).min(496.0);
        let change = (hits - seen.len() as f64 * self.s) * part.min(4.0) / (16.0 + self.matches);
        self.s = (self.s + self.s * change.max(-0.5)).clamp(1.0 / 16_384.0, 1.0);

        let ids = f64::from(self.params.ids);
        let chance = f64::min(gap * ids / span, 0.5);
        if f64::from(bits as u32) < chance * 4_294_967_296.0 {
            self.remembered.push(id);
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
        close("clock", fast.clock(), self.clock, 1e-12 * self.clock)?;
        // The library takes the first terms of the exponential for small steps.
        close("sent", fast.sent(), self.sent, 1e-4 * self.sent)?;
        (self.root, self.s, self.clock, self.sent) = (fast.root(), fast.s(), fast.clock(), fast.sent());
        let ours = self.suspects.iter().flatten().flatten();
        let ours: Vec<_> = ours.map(|e| (e.id, e.bytes as u32, e.seen as u32)).collect();
        if theirs.len() != ours.len() {
            return Err(format!("suspects {theirs:?}, should be {ours:?}"));
        }
        for (theirs, ours) in theirs.iter().zip(&ours) {
            if (theirs.0, theirs.2) != (ours.0, ours.2) || theirs.1.abs_diff(ours.1) > 1 {
                return Err(format!("suspect {theirs:?}, should be {ours:?}"));
            }
        }
        for suspect in self.suspects.iter_mut().flatten().flatten() {
            let same = theirs.iter().find(|theirs| theirs.0 == suspect.id).expect("they are the same");
            suspect.bytes = f64::from(same.1);
        }
        let mut ours = self.looked_at(self.params.ids as usize / 8, 0);
        let mut theirs: Vec<u32> =
            fast.memory().iter().flat_map(|block| block.0).filter(|&id| id != 0).collect();
        ours.sort_unstable();
        theirs.sort_unstable();
        if ours != theirs { Err("another memory".into()) } else { Ok(()) }
    }
}

pub fn reference(params: CollarParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(CollarModel::new(params)))
}
