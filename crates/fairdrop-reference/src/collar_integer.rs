//! COLLAR in integers as slowly and obviously as it can be written, from the pseudo-code of its page: lists, numbers of 128
//! bits, every update made by itself.

use fairdrop::{AnyDiscipline, CollarIntegerParams, DropCause, Ecn, Meta, Packet, Stream};

use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

const T_UPDATE: u64 = 16_000_000;

/// `a b / 2^shift`, rounded down.
fn product(a: i128, b: i128, shift: u32) -> i128 {
    (a * b).div_euclid(1 << shift)
}

/// `a / b` in parts of 2^-16, rounded toward zero, at most 16.
fn ratio(a: i128, b: i128) -> i128 {
    (a * 65_536 / b).clamp(-(16 << 16), 16 << 16)
}

/// How often a number must be halved until it has this many bits.
#[allow(clippy::maybe_infinite_iter, reason = "every number becomes 0")]
fn halvings(number: i128, bits: u32) -> u32 {
    (0..).find(|&n| number >> n < 1 << bits).expect("every number becomes 0")
}

/// A place of the table: 24 bits of an id, and a count.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    id: u32,
    count: i128,
}

pub struct CollarIntegerModel {
    params: CollarIntegerParams,
    queue: Vec<Packet<u32>>,
    /// Every departure ever remembered; the memory is the last `ids` of them.
    remembered: Vec<u32>,
    /// By set.
    suspects: Vec<Vec<Place>>,
    target: i128,
    share: i128,
    span: i128,
    root: i128,
    old_delay: i128,
    delay: i128,
    widened: i128,
    pressed: bool,
    next_update: u64,
    /// s is the lesser.
    quick: i128,
    steady: i128,
    matches: i128,
    weight: i128,
    sent: i128,
    /// Sixteen times the means; none before the first sample that has one.
    size: i128,
    pace: i128,
    passed: i128,
    turns: i128,
    per_size: i128,
    busy: bool,
    /// Bytes since the last sample, and how many make the next one.
    bytes: i128,
    distance: i128,
    last_sample: u64,
    /// As of the last update.
    slack: i128,
    loosened: i128,
    base: i128,
    spared: i128,
}

impl CollarIntegerModel {
    pub fn new(params: CollarIntegerParams) -> Self {
        Self {
            queue: Vec::new(),
            remembered: Vec::new(),
            suspects: vec![vec![Place { id: 0, count: 0 }; 8]; params.collar.sets as usize],
            target: i128::from(params.collar.target.ns()),
            share: (params.collar.share * 65_536.0).floor() as i128,
            span: i128::from(params.collar.span.ns()),
            root: 0,
            old_delay: 0,
            delay: 0,
            widened: 1 << 16,
            pressed: false,
            next_update: T_UPDATE,
            quick: 1 << 47,
            steady: 1 << 47,
            matches: 0,
            weight: 1 << 31,
            sent: 16,
            size: 0,
            pace: 0,
            passed: 0,
            turns: 0,
            per_size: 0,
            busy: false,
            bytes: 0,
            distance: 0,
            last_sample: 0,
            slack: 91_750,
            loosened: 1 << 16,
            base: 0,
            spared: 0,
            params,
        }
    }

    /// In parts of 2^-31.
    fn s(&self) -> i128 {
        self.quick.min(self.steady) >> 16
    }

    fn service(&self) -> i128 {
        product(self.pace >> 4, self.size >> 4, 16).min(u32::MAX.into())
    }

    fn aim(&self) -> i128 {
        let service = self.service();
        if service == 0 {
            return self.target;
        }
        let each = (service << 31) / self.s();
        let half = i128::from(self.params.collar.limit) * service / 2;
        self.target.max(each).min(half).min(u32::MAX.into())
    }

    fn updates(&mut self, now: u64) {
        if self.next_update > now {
            return;
        }
        let aim = self.aim();
        // Narrowing may be late, by more than its most updates in a call.
        let (mut first, mut narrowed, mut moved) = (true, 0, 0);
        while self.next_update <= now {
            let change = self.delay - self.old_delay;
            let narrows = self.widened > 1 << 16;
            if first || (narrows && narrowed < 16) {
                narrowed += u32::from(!first);
                self.update(aim, change);
            } else if !narrows && moved < 65_535 {
                moved += 1;
                self.update(aim, change);
            }
            first = false;
            self.next_update += T_UPDATE;
        }
        if now - self.last_sample > T_UPDATE {
            self.distance = self.bytes;
        }
        self.slack =
            if self.root == 0 { 91_750 } else { (65_536 + 216_172_782_113_784 / self.root).min(91_750) };
        self.loosened = self.widened;
        self.base = product(self.root >> 20, self.root >> 20, 8);
        let service = self.service();
        self.spared = if service == 0 { 0 } else { aim / (8 * service) };
    }

    fn update(&mut self, aim: i128, change: i128) {
        if self.widened == 1 << 16 {
            let gain = (((100_000_000 + self.target) << 16) / (100_000_000 + aim)).min(1 << 16);
            let by_distance = product(product(gain, gain, 16) * 176, self.delay - aim, 16);
            let by_change = product(gain * 3518, change, 16);
            self.root = (self.root + by_distance + by_change).clamp(0, 1 << 39);
        }
        if self.root == 0 {
            self.widen(aim, change);
        }
        (self.old_delay, self.pressed) = (self.delay, false);
    }

    fn widen(&mut self, aim: i128, change: i128) {
        let wait = ratio(self.delay, aim);
        let inner = 1966 * (65_536 - wait - wait / 4) - 6554 * ratio(change, aim);
        let part = ratio(aim, self.target).min(1 << 16);
        let step = product(product(inner, part, 16), part, 16).max(-(1 << 31));
        let loosest = product(self.share, 91_750, 16);
        let whole = ((1 << 63) / (loosest * self.s())).min(64 << 16);
        let most = if self.pressed { whole } else { whole.min(self.widened) };
        self.widened = (self.widened + product(self.widened, step, 32)).min(most).max(1 << 16);
    }

    /// A fair share of the output.
    fn fair(&self) -> i128 {
        product(self.sent, self.s() >> 7, 24)
    }

    fn limit(&self) -> i128 {
        product(self.fair(), self.share, 16).max(1)
    }

    /// With slack and widened.
    fn allowed(&self) -> i128 {
        product(self.limit(), product(self.slack, self.loosened, 16), 16)
    }

    fn counted(&self, bytes: i128) -> i128 {
        product(bytes, self.weight >> 15, 12)
    }

    fn set(&mut self, id: u32) -> &mut Vec<Place> {
        let sets = self.suspects.len() as u64;
        &mut self.suspects[((u64::from(id) * sets) >> 32) as usize]
    }

    fn suspect(&mut self, id: u32) -> Option<&mut Place> {
        self.set(id).iter_mut().find(|place| place.id == id & 0xff_ffff && place.count > 0)
    }

    /// The ids of a group of `blocks` blocks that `bits` choose. The n-th id ever remembered lies in block n modulo their
    /// number.
    fn looked_at(&self, blocks: usize, bits: u64) -> Vec<u32> {
        let all = self.params.collar.ids as usize / 32;
        let group = ((u128::from(bits >> 32) * (all / blocks) as u128) >> 32) as usize;
        let chosen: Vec<usize> = (group * blocks..(group + 1) * blocks).collect();
        let first = self.remembered.len().saturating_sub(self.params.collar.ids as usize);
        let kept = (first..self.remembered.len()).filter(|n| chosen.contains(&(n % all)));
        kept.map(|n| self.remembered[n]).collect()
    }

    fn sample(&mut self, id: u32, len: i128, wait: u64, now: u64, bits: u64) {
        let seen = self.looked_at(4, bits);
        let hits = seen.iter().filter(|&&other| other == id).count() as i128;
        let gap = i128::from(now - self.last_sample).min((1 << 40) - 1);
        mean(&mut self.size, len);
        if self.busy && self.bytes > 0 {
            mean(&mut self.pace, ((gap << 16) / self.bytes).min((1 << 36) - 1));
        }
        let within = gap.min(self.span);
        let elapsed = product(within, (1 << 63) / self.span, 32);
        let idle = !self.busy && self.pace >= 16;
        let room = if idle { self.bytes.max((within << 16) / (self.pace >> 4)) } else { self.bytes };
        let room = room.min((1 << 31) - 1);
        (self.busy, self.last_sample, self.delay) = (true, now, wait.min(u32::MAX.into()).into());
        self.per_size = (1 << 36) / self.size.max(16);

        let packets = product(room, self.per_size, 16).min(u32::MAX.into());
        let fades = product(packets, self.s(), 21).min(elapsed);
        self.weight += product(self.weight, fades, 31);
        if self.weight >= 1 << 32 {
            (self.weight, self.sent) = (self.weight / 2, self.sent / 2);
            self.suspects.iter_mut().flatten().for_each(|place| place.count /= 2);
        }
        self.sent = (self.sent + self.counted(room)).min((1 << 39) - 1);

        self.matches = (self.matches + hits).min(2032);
        for (average, matches) in [(&mut self.quick, self.matches.min(496)), (&mut self.steady, self.matches)]
        {
            let s = *average >> 16;
            let error = (hits << 28) - (seen.len() as i128 * s).div_euclid(8);
            // By the largest power of two that is not above 16 + matches. No average exceeds 1 or more than halves at once: one that
            // is large has matched often.
            let change = error.div_euclid(1 << halvings(16 + matches, 1));
            *average = (*average + product(s, change, 12)).max(1 << 33);
        }

        self.passed += self.bytes - self.passed / 16;
        self.turns += product(elapsed, self.params.collar.ids.into(), 15) - self.turns / 16;
        let wanted = if self.turns == 0 { 0 } else { (self.passed << 16) / self.turns };
        let distance = wanted.max(self.size / 8).min(1 << 30);
        self.distance = product((bits & 0xffff_ffff).into(), distance, 31);
        self.bytes = 0;
        if hits > 0 && self.suspect(id).is_none() {
            let assumed = (self.fair() / 2).max(1);
            let set = self.set(id);
            let least = set.iter().map(|place| place.count).min().expect("a set has places");
            let at = set.iter().position(|place| place.count == least).expect("it is one of them");
            if least < assumed {
                set[at] = Place { id: id & 0xff_ffff, count: assumed };
            }
        }
        self.remembered.push(id);
    }

    /// Why the packet is dropped or marked, and whether it is marked.
    fn judge(&mut self, id: u32, count: Option<i128>, meta: &Meta, waiting: usize, random: Random) -> Fate {
        let capable = self.params.collar.ecn && meta.ecn != Ecn::NotCapable;
        let drawn = |stream, marks: bool, random: Random| {
            let drawn = i128::from(random(stream) >> 32);
            if marks && meta.ecn == Ecn::Ect1 { (drawn * drawn) >> 34 } else { drawn }
        };
        let marks = capable && self.base < 1 << 30;
        let size = product(i128::from(meta.len).min(65_535), self.per_size, 16).min(1 << 16);
        let all = product(self.base, size, 16);
        let by_share = all.min(self.s() << 7);
        let rest = all - by_share;
        let (allowed, limit) = (self.allowed(), self.limit());
        let mut marked = None;
        let Some(count) = count else {
            if self.base == 0 {
                return None;
            }
            let seen = self.looked_at(1, random(Stream::Candidate));
            let met = by_share * seen.iter().filter(|&&other| other == id).count() as i128;
            let met_before = |u: i128| product(u, self.s(), 31) * (seen.len() as i128) < met;
            if met > 0 && met_before(drawn(Stream::FilterCoin, marks, random)) {
                return Some((DropCause::Memory, marks));
            }
            let hit = rest > 0 && drawn(Stream::PieCoin, marks, random) < rest;
            return hit.then_some((DropCause::Pie, marks));
        };
        if count > allowed {
            self.pressed = true;
            if waiting as i128 >= self.spared {
                let (below, of) = self.excess(count);
                let marks = capable && below << 16 < of * 5243;
                if product(drawn(Stream::FilterCoin, marks, random), of, 32) < below {
                    if !marks {
                        return Some((DropCause::Filter, false));
                    }
                    marked = Some((DropCause::Filter, true));
                }
            }
        }
        if all == 0 {
            return marked;
        }
        let shift = halvings(limit, 16);
        let (limit, count) = (limit >> shift, count.min(allowed) >> shift);
        let u = drawn(Stream::PieCoin, marks, random);
        // Below the rest the left side is negative.
        let hit = (u - rest) * limit * limit < by_share * count * count;
        if hit { Some((DropCause::Pie, marks)) } else { marked }
    }

    /// The dropped fraction of a suspect above what it may have.
    fn excess(&self, count: i128) -> (i128, i128) {
        let knee = (2 << 16) - product(self.s(), self.s(), 46);
        let shift = halvings(self.allowed(), 16);
        let (allowed, over) = (self.allowed() >> shift, count >> shift);
        if over << 16 < allowed * knee {
            let above = over - allowed;
            let of = product(allowed * allowed, product(knee, knee - (1 << 16), 16), 18);
            return ((above * above) >> 2, of);
        }
        let shift = halvings(count, 32);
        let kept = product(self.limit(), self.loosened, 16) >> shift;
        ((count >> shift) - kept, count >> shift)
    }
}

/// Cause, and whether it is a mark.
type Fate = Option<(DropCause, bool)>;

/// Sixteen times a mean, whose first value is the first sample.
fn mean(sum: &mut i128, sample: i128) {
    *sum = if *sum == 0 { 16 * sample } else { *sum - *sum / 16 + sample };
}

impl Slow for CollarIntegerModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn arrive(&mut self, Arrival { mut packet, now, fast, .. }: Arrival, random: Random) -> Decided {
        self.updates(now);
        let id = id_of(packet.meta.flow, fast);
        let counted = self.counted(i128::from(packet.meta.len).min(65_535));
        let count = self.suspect(id).map(|place| {
            place.count = (place.count + counted).min((1 << 40) - 1);
            place.count
        });
        let waiting = self.queue.len();
        let fate = if waiting < 2 { None } else { self.judge(id, count, &packet.meta, waiting, random) };
        if let Some((cause, false)) = fate {
            return Ok(vec![(packet, cause)]);
        }
        if waiting == self.params.collar.limit as usize {
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        if fate.is_some() {
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
        let len = i128::from(packet.meta.len).min(65_535);
        self.bytes += len;
        if self.bytes >= self.distance {
            let (id, bits) = (id_of(packet.meta.flow, fast), random(Stream::Candidate));
            self.sample(id, len, now - packet.enqueued.ns(), now, bits);
        }
        if self.queue.is_empty() {
            (self.delay, self.busy) = (0, false);
        }
        Ok((Vec::new(), Some(packet)))
    }

    /// Every number is the same, not only nearly.
    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::CollarInteger(queue) = fast else {
            return Err("this is not COLLAR in integers".into());
        };
        let theirs = queue.decision();
        let (weight, sent) = theirs.sent();
        let numbers = [theirs.root_q40(), theirs.widened_q16(), theirs.s_q31(), weight, sent].map(i128::from);
        let ours = [self.root, self.widened, self.s(), self.weight, self.sent];
        if numbers != ours {
            return Err(format!("root, widened, s, weight, sent are {numbers:?}, should be {ours:?}"));
        }
        let suspects: Vec<Place> =
            theirs.suspects().map(|(id, count)| Place { id, count: count.into() }).collect();
        let taken = self.suspects.iter().flatten().filter(|place| place.count > 0);
        if taken.ne(&suspects) {
            return Err(format!("suspects {suspects:?}, should be {:?}", self.suspects));
        }
        let known = theirs.memory().iter().copied().filter(|&id| id != 0);
        let (mut known, mut ours): (Vec<u32>, _) =
            (known.collect(), self.looked_at(self.params.collar.ids as usize / 32, 0));
        known.sort_unstable();
        ours.sort_unstable();
        if known == ours { Ok(()) } else { Err("another memory".into()) }
    }
}

/// The library's id of a flow.
fn id_of(flow: u64, fast: &Queue) -> u32 {
    let AnyDiscipline::CollarInteger(queue) = fast else { panic!("this is not COLLAR in integers") };
    queue.decision().id_of(flow)
}

pub fn reference(params: CollarIntegerParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(CollarIntegerModel::new(params)))
}
