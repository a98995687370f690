//! `DropTail`, RED and `CHOKe` as slowly and obviously as they can be written: a plain list, packets removed at
//! once, products in loops.
//!
//! Two things come from the implementation under test. Which packets it drew: a draw by place in the ring and a draw
//! by rank take different ways from the same random bits, so its candidates are checked against the rules and then
//! used. And, after an idle period only, its average once that is within rounding of the one computed here, so that
//! rounding does not add up.

use std::collections::HashSet;

use fairdrop::{
    AnyDiscipline, AverageIn, Discipline, DrawFrom, DropCause, Ecn, Linux, Order, Packet, RedParams,
    Sampling, Stream, Time,
};

use crate::broken::Broken;
use crate::compare::{bytes, is_mistaken, unit};
use crate::host::Queue;
use crate::red_linux::Vars;
use crate::slow::{Arrival, Decided, Departure, Drops, Random, Slow};

/// Candidates by region of the average.
#[derive(Clone, Debug)]
pub enum Plan {
    Fixed(u8),
    Two,
    Odd(u8),
    Even(u8),
    Custom(Vec<u8>),
}

impl Plan {
    fn by_region(&self) -> Vec<u8> {
        match self {
            Self::Fixed(m) => vec![*m],
            Self::Two => vec![1, 2],
            Self::Odd(k) => (1..=*k).map(|i| 2 * i - 1).collect(),
            Self::Even(k) => (1..=*k).map(|i| 2 * i).collect(),
            Self::Custom(list) => list.clone(),
        }
    }

    /// Region i = 1 + floor(k (avg - `min_th`) / (`max_th` - `min_th`)), the last one from `max_th` on.
    pub fn candidates(&self, avg: f64, min_th: f64, max_th: f64) -> usize {
        let regions = self.by_region();
        let k = regions.len();
        let mut i = k;
        if avg < max_th {
            i = 1 + (k as f64 * (avg - min_th) / (max_th - min_th)).floor() as usize;
        }
        usize::from(regions[i.min(k) - 1])
    }
}

#[derive(Clone, Debug)]
pub struct ChokeScheme {
    pub plan: Plan,
    pub draw: DrawFrom,
    pub replacement: bool,
    pub sampling: Sampling,
    pub average_in: AverageIn,
    pub order: Order,
    pub count_on_match: bool,
}

impl ChokeScheme {
    /// A number of candidates, and no variant beside their places.
    pub fn plain(candidates: u8, draw: DrawFrom) -> Self {
        Self {
            plan: Plan::Fixed(candidates),
            draw,
            replacement: false,
            sampling: Sampling::Packet,
            average_in: AverageIn::Packets,
            order: Order::MatchFirst,
            count_on_match: false,
        }
    }
}

#[derive(Clone, Debug)]
pub enum Scheme {
    DropTail { limit: u32 },
    Red(RedParams),
    Choke(RedParams, ChokeScheme),
}

/// What the implementation under test hands over for one arrival.
pub struct Handed<'a> {
    pub drawn: &'a [u32],
    pub average: Option<f64>,
}

pub struct Reference {
    scheme: Scheme,
    pub queue: Vec<Packet<u32>>,
    pub average: f64,
    count: i64,
    /// Whether RED has kept or drawn for an arrival since the average was last below `min_th`.
    started: bool,
    pub idle_since: Option<Time>,
    /// Packets marked, by cause.
    pub marked: [u64; DropCause::COUNT],
    broken: Option<Broken>,
    /// With `linux`, what decides.
    kernel: Option<Vars>,
}

impl Reference {
    pub fn new(scheme: Scheme) -> Self {
        let marked = [0; DropCause::COUNT];
        let idle_since = Some(Time::ZERO);
        let queue = Vec::new();
        let kernel = match &scheme {
            Scheme::Red(red) if red.linux != Linux::None => Some(Vars::of_red(red)),
            _ => None,
        };
        Self {
            scheme,
            queue,
            average: 0.0,
            count: -1,
            started: false,
            idle_since,
            marked,
            broken: None,
            kernel,
        }
    }

    /// The same with a mistake.
    #[must_use]
    pub fn broken(self, form: Broken) -> Self {
        Self { broken: Some(form), ..self }
    }

    /// The transmitter is free and asks for a packet.
    pub fn dequeue(&mut self, now: Time) -> Option<Packet<u32>> {
        if self.queue.is_empty() {
            if let Some(kernel) = &mut self.kernel {
                kernel.idle(now.ns());
            }
            if self.idle_since.is_none() || self.broken == Some(Broken::RedRestartsIdleClock) {
                self.idle_since = Some(now);
            }
            return None;
        }
        Some(self.queue.remove(0))
    }

    /// A packet arrives; `draw` yields the next 64 bits of RED's stream.
    pub fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: Time,
        handed: &Handed,
        draw: &mut dyn FnMut() -> u64,
    ) -> Decided {
        match self.scheme.clone() {
            Scheme::DropTail { limit } => {
                none_drawn(handed.drawn)?;
                Ok(self.append(packet, limit))
            }
            Scheme::Red(red) => {
                none_drawn(handed.drawn)?;
                if let Some(kernel) = self.kernel.take() {
                    return self.arrive_in_kernel(kernel, &red, packet, now, handed, draw);
                }
                self.update_average(&red, self.queue.len() as f64, now, handed.average)?;
                Ok(self.judge(&red, packet, draw))
            }
            Scheme::Choke(red, choke) => {
                self.update_average(&red, self.length(&red, &choke), now, handed.average)?;
                let mut decision = None;
                if choke.order == Order::RedFirst {
                    decision = self.red_decision(&red, &packet, Some(draw));
                    if decision.is_some() && !marks(&red, &packet) {
                        none_drawn(handed.drawn)?;
                        return Ok(self.carry_out(&red, packet, decision));
                    }
                }
                let matched = self.matches(&red, &choke, packet.meta.flow, handed.drawn)?;
                if !matched.is_empty() {
                    self.count_matched(choke.count_on_match);
                    return Ok(matched.into_iter().chain([(packet, DropCause::MatchArriving)]).collect());
                }
                if choke.order == Order::MatchFirst {
                    decision = self.red_decision(&red, &packet, Some(draw));
                }
                Ok(self.carry_out(&red, packet, decision))
            }
        }
    }

    /// The same by the rules of `sch_red.c`.
    fn arrive_in_kernel(
        &mut self,
        mut kernel: Vars,
        red: &RedParams,
        mut packet: Packet<u32>,
        now: Time,
        handed: &Handed,
        draw: &mut dyn FnMut() -> u64,
    ) -> Decided {
        kernel.update(bytes(&self.queue), now.ns());
        self.average = kernel.average();
        let decision = kernel.action(draw);
        self.count = kernel.qcount as i64;
        self.kernel = Some(kernel);
        self.go_on_with(handed.average, 0.0)?;
        if let Some(cause) = decision.filter(|_| !marks(red, &packet)) {
            return Ok(vec![(packet, cause)]);
        }
        if let Some(cause) = decision.filter(|_| self.queue.len() < red.limit as usize) {
            packet.meta.ecn = Ecn::Ce;
            self.marked[cause as usize] += 1;
        }
        Ok(self.append(packet, red.limit))
    }

    /// The candidates of `flow`, taken out.
    fn matches(&mut self, red: &RedParams, choke: &ChokeScheme, flow: u64, drawn: &[u32]) -> Decided {
        let mut candidates = 0;
        if self.average >= red.min_th {
            candidates = choke.plan.candidates(self.average, red.min_th, red.max_th);
        }
        self.check_draw(choke, candidates, drawn)?;
        let mut drops = Vec::new();
        for handle in drawn {
            let at = self.queue.iter().position(|p| p.handle == *handle).expect("checked above");
            if self.queue[at].meta.flow == flow {
                drops.push((self.queue.remove(at), DropCause::MatchQueued));
            }
        }
        Ok(drops)
    }

    /// The queue in packets, in cells, at least one for each packet, or in bytes.
    fn length(&self, red: &RedParams, choke: &ChokeScheme) -> f64 {
        let cells = |packet: &Packet<u32>| match choke.sampling {
            Sampling::Packet => 1,
            Sampling::Byte => packet.meta.len.max(1) as usize,
            Sampling::Cell(size) => (f64::from(packet.meta.len) / f64::from(size)).ceil().max(1.0) as usize,
        };
        match choke.average_in {
            AverageIn::Packets => self.queue.len() as f64,
            AverageIn::Cells => self.queue.iter().map(cells).sum::<usize>() as f64,
            AverageIn::Bytes => bytes(&self.queue) as f64 / f64::from(red.mean_packet_size),
        }
    }

    pub fn update_average(
        &mut self,
        red: &RedParams,
        length: f64,
        now: Time,
        theirs: Option<f64>,
    ) -> Result<(), String> {
        let rounding = self.decay_or_follow(red, length, now);
        self.go_on_with(theirs, rounding)
    }

    /// Decays the average after an idle time and moves it a step towards `length`; the paper only decays it.
    pub fn decay_or_follow(&mut self, red: &RedParams, length: f64, now: Time) -> f64 {
        let only_decays = red.idle_decay_only && self.is_idle();
        let rounding = self.decay_if_idle(red, now);
        if !only_decays {
            self.follow(red, length);
        }
        rounding
    }

    /// Whether link and queue are idle.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.idle_since.is_some()
    }

    /// Makes up for the arrivals that an idle link missed; returns what that may have cost in precision.
    pub fn decay_if_idle(&mut self, red: &RedParams, now: Time) -> f64 {
        if !self.queue.is_empty() {
            return 0.0;
        }
        let Some(since) = self.idle_since.take() else { return 0.0 };
        let missed = (now.ns() - since.ns()) / red.mean_packet_time.ns();
        self.average *= repeated_product(1.0 - red.w_q, missed);
        if missed == 0 {
            return 0.0;
        }
        // Each product rounds by half an epsilon, in another order than the implementation's squaring.
        self.average * missed as f64 * f64::EPSILON + f64::MIN_POSITIVE
    }

    /// One step of the average towards a queue of this length.
    pub fn sample(&mut self, red: &RedParams, length: usize) {
        self.follow(red, length as f64);
    }

    /// The same, towards a length in whatever the thresholds count.
    fn follow(&mut self, red: &RedParams, length: f64) {
        self.average = (1.0 - red.w_q) * self.average + red.w_q * length;
    }

    /// Takes over their average if it is the same to the `rounding`.
    pub fn go_on_with(&mut self, theirs: Option<f64>, rounding: f64) -> Result<(), String> {
        let theirs = theirs.ok_or("no average")?;
        // An average that is not a number differs by less than nothing, and the rounding of one without bounds has none.
        if !self.average.is_finite() || (theirs - self.average).abs() > rounding {
            if is_mistaken() {
                return Ok(());
            }
            return Err(format!("average {theirs:e}, should be {:e} to {rounding:e}", self.average));
        }
        self.average = theirs;
        Ok(())
    }

    fn check_draw(&self, choke: &ChokeScheme, candidates: usize, drawn: &[u32]) -> Result<(), String> {
        let waiting: Vec<u32> = self.queue.iter().map(|p| p.handle).collect();
        let most = candidates.min(waiting.len());
        let rule = || format!("drew {drawn:?} of {waiting:?} for {candidates} candidates under {choke:?}");
        let distinct: HashSet<_> = drawn.iter().collect();
        let from_queue = drawn.iter().all(|handle| waiting.contains(handle));
        // Evenly spread: as many pointers as candidates, those that fall together counted once.
        let pointers = (0..candidates).map(|t| t * waiting.len() / candidates);
        let mut spread: Vec<u32> = pointers.filter_map(|rank| waiting.get(rank).copied()).collect();
        spread.dedup();
        let number = if choke.replacement && choke.draw == DrawFrom::Uniform {
            (most.min(1)..=most).contains(&drawn.len())
        } else {
            drawn.len() == most
        };
        let place = match choke.draw {
            DrawFrom::Uniform => true,
            DrawFrom::Head => drawn.iter().eq(waiting.iter().take(most)),
            DrawFrom::Spread => drawn == spread,
            DrawFrom::Tail => drawn.iter().eq(waiting.iter().rev().take(most)),
        };
        if distinct.len() == drawn.len() && from_queue && number && place { Ok(()) } else { Err(rule()) }
    }

    /// What RED does with a packet that nothing else has dropped, once the average has moved.
    pub fn judge(&mut self, red: &RedParams, packet: Packet<u32>, draw: &mut dyn FnMut() -> u64) -> Drops {
        let decision = self.red_decision(red, &packet, Some(draw));
        self.carry_out(red, packet, decision)
    }

    /// What RED has decided, for a packet that nothing else has dropped.
    fn carry_out(&mut self, red: &RedParams, mut packet: Packet<u32>, decision: Option<DropCause>) -> Drops {
        if let Some(cause) = decision {
            if !marks(red, &packet) {
                return vec![(packet, cause)];
            }
            if self.queue.len() < red.limit as usize {
                packet.meta.ecn = Ecn::Ce;
                self.marked[cause as usize] += 1;
            }
        }
        let drops = self.append(packet, red.limit);
        if !drops.is_empty() {
            self.overflowed();
        }
        drops
    }

    /// A packet was dropped before RED saw it.
    pub fn count_matched(&mut self, on_match: bool) {
        self.count += i64::from(on_match);
    }

    /// A packet that RED kept did not fit.
    pub fn overflowed(&mut self) {
        // Without an early-drop test since the average rose over `min_th`, the next one is still the first.
        self.count = self.count.min(0);
    }

    /// Whether RED drops a packet, which it counts; without a `draw` not early.
    pub fn red_decision(
        &mut self,
        red: &RedParams,
        packet: &Packet<u32>,
        draw: Option<&mut dyn FnMut() -> u64>,
    ) -> Option<DropCause> {
        let avg = self.average;
        if avg < red.min_th || (red.ns2_compat && self.queue.len() <= 1) {
            (self.count, self.started) = (-1, false);
            return None;
        }
        let is_first = !self.started;
        let mut p_b;
        if avg < red.max_th {
            p_b = red.max_p * (avg - red.min_th) / (red.max_th - red.min_th);
        } else if red.gentle && avg < 2.0 * red.max_th {
            p_b = red.max_p + (1.0 - red.max_p) * (avg - red.max_th) / red.max_th;
        } else {
            self.started |= self.broken == Some(Broken::RedForcedUsesFreePass);
            let stays = red.ns2_compat && !self.started;
            self.count = if stays || self.broken == Some(Broken::RedForgetsCountWhenForced) { -1 } else { 0 };
            return Some(DropCause::RedForced);
        }
        self.started = true;
        if red.ns2_compat && is_first {
            self.count = 1;
            return None;
        }
        self.count += 1;
        if red.byte_mode {
            p_b *= f64::from(packet.meta.len) / f64::from(red.mean_packet_size);
        }
        let c = self.count as f64;
        let p_a = match (red.independent, red.wait) {
            (true, _) => p_b,
            (false, false) if c * p_b < 1.0 => p_b / (1.0 - c * p_b),
            (false, true) if c * p_b < 1.0 => 0.0,
            (false, true) if c * p_b < 2.0 => p_b / (2.0 - c * p_b),
            (false, _) => 1.0,
        };
        let u = unit(draw?());
        if u < p_a {
            self.count = 0;
            return Some(DropCause::RedEarly);
        }
        None
    }

    pub fn append(&mut self, packet: Packet<u32>, limit: u32) -> Drops {
        if self.queue.len() >= limit as usize {
            return vec![(packet, DropCause::Overflow)];
        }
        self.queue.push(packet);
        Vec::new()
    }
}

fn marks(red: &RedParams, packet: &Packet<u32>) -> bool {
    red.ecn && packet.meta.ecn != Ecn::NotCapable
}

fn none_drawn(drawn: &[u32]) -> Result<(), String> {
    if drawn.is_empty() { Ok(()) } else { Err(format!("drew {drawn:?} without being CHOKe")) }
}

/// `base` times itself; through the logarithm where a loop would take too long.
fn repeated_product(base: f64, times: u64) -> f64 {
    if times > 10_000 {
        return (base.ln() * times as f64).exp();
    }
    (0..times).fold(1.0, |product, _| product * base)
}

/// An arrival at RED behind a filter that kept it.
pub fn behind(
    red: &mut Reference,
    packet: Packet<u32>,
    now: u64,
    theirs: &Queue,
    draw: &mut dyn FnMut(Stream) -> u64,
) -> Decided {
    let handed = Handed { drawn: &[], average: theirs.average_packets() };
    red.arrive(packet, Time::from_ns(now), &handed, &mut || draw(Stream::EarlyDrop))
}

pub fn reference(params: RedParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(Reference::new(Scheme::Red(params))))
}

impl Slow for Reference {
    fn arrive(&mut self, Arrival { packet, now, step, fast }: Arrival, random: Random) -> Decided {
        let handed = Handed { drawn: &step.drawn, average: fast.average_packets() };
        Reference::arrive(self, packet, Time::from_ns(now), &handed, &mut || random(Stream::EarlyDrop))
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        Ok((Vec::new(), Reference::dequeue(self, Time::from_ns(now))))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let marked = fast.stats().marked.map(|count| count.packets);
        if marked != self.marked {
            return Err(format!("marked {marked:?}, should be {:?}", self.marked));
        }
        match fast {
            AnyDiscipline::Red(red) if red.decision().count() != self.count => {
                Err(format!("count {}, should be {}", red.decision().count(), self.count))
            }
            _ => Ok(()),
        }
    }
}
