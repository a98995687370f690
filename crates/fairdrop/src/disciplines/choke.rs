//! `CHOKe`: drop an arrival together with a packet of its own flow met by chance in the queue.
//!
//! RED's average gates it: below `min_th` packets are queued as they come. From `min_th` on, an arrival is first
//! compared with candidates drawn from the queue. Where any has its flow, all of those and the arrival are dropped;
//! otherwise the candidates stay where they are and RED decides. A flow that holds a large part of the queue meets
//! itself often, so it pays most, although no state is kept for any flow.
//!
//! Source: R. Pan, B. Prabhakar, K. Psounis, "CHOKe, a stateless active queue management scheme for approximating
//! fair bandwidth allocation", INFOCOM 2000: basic form and m candidates in II.A, self-adjusting form in II.A and
//! III.C, Front CHOKe in IV.A. The number of candidates by region follows the authors' article in IEEE Micro 21(3),
//! 2001 ("up to five samples" in three regions), which is also what their figure 10 drops: 2i packets in region i
//! are 2i - 1 candidates and the arrival.

use super::red::{RedParams, RedQueue};
use crate::params::require;
use crate::{
    Backlog, Discipline, DropCause, Env, Kind, LeakyFifo, Packet, ParamError, ParamSpec, ParamValue,
    Position, Slot, Stats,
};

/// Most candidates drawn for one arrival.
pub const MAX_CANDIDATES: usize = 32;
/// Most regions between `min_th` and `max_th`.
pub const MAX_REGIONS: usize = 16;

/// Where candidates come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DrawFrom {
    /// Anywhere, each waiting packet with the same probability.
    #[default]
    Uniform,
    /// The packets nearest the head ("Front CHOKe").
    Head,
    /// The packets nearest the tail ("Back CHOKe" as a pair, with one candidate).
    Tail,
}

/// Number of candidates in each of up to [`MAX_REGIONS`] equal regions between `min_th` and `max_th`, never falling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    candidates: [u8; MAX_REGIONS],
    regions: u8,
    rule: Rule,
}

/// Where the numbers of a schedule come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Given one by one.
    Custom,
    /// `slope * i + offset` in region i, counted from 1, for any number of regions.
    Linear { slope: i16, offset: i16 },
}

impl Schedule {
    /// `candidates` by region, lowest average first.
    ///
    /// # Errors
    /// No region or too many, more than [`MAX_CANDIDATES`] in one, or a number that falls.
    pub fn custom(candidates: &[u8]) -> Result<Self, ParamError> {
        let regions = candidates.len();
        require((1..=MAX_REGIONS).contains(&regions), "schedule", regions as f64, "1 to 16 regions")?;
        let most = f64::from(candidates.iter().copied().max().unwrap_or(0));
        require(most as usize <= MAX_CANDIDATES, "schedule", most, "at most 32 candidates")?;
        require(candidates.is_sorted(), "schedule", most, "numbers that never fall")?;
        let mut padded = [0; MAX_REGIONS];
        padded[..regions].copy_from_slice(candidates);
        Ok(Self { candidates: padded, regions: regions as u8, rule: Rule::Custom })
    }

    /// One candidate in the lower half, two in the upper (Pan et al. 2000, II.A).
    pub const fn two() -> Self {
        Self { rule: Rule::Custom, ..Self::from_rule(2, 1, 0) }
    }

    /// 2i - 1 candidates in region i of `regions`: 1, 3, 5, ...; at most 16 regions.
    pub const fn odd(regions: u8) -> Self {
        Self::from_rule(regions, 2, -1)
    }

    /// 2i candidates in region i of `regions`: 2, 4, 6, ...; at most 16 regions.
    pub const fn even(regions: u8) -> Self {
        Self::from_rule(regions, 2, 0)
    }

    /// `slope * i + offset` candidates in region i, counted from 1.
    const fn from_rule(regions: u8, slope: i16, offset: i16) -> Self {
        let regions = if regions as usize > MAX_REGIONS { MAX_REGIONS as u8 } else { regions };
        let mut candidates = [0; MAX_REGIONS];
        let mut i = 0;
        while i < regions as usize {
            candidates[i] = (slope * (i as i16 + 1) + offset) as u8;
            i += 1;
        }
        Self { candidates, regions, rule: Rule::Linear { slope, offset } }
    }

    /// The same rule over another number of regions; schedules that are not by rule stay as they are.
    #[must_use]
    pub const fn with_regions(self, regions: u8) -> Self {
        match self.rule {
            Rule::Custom => self,
            Rule::Linear { slope, offset } => Self::from_rule(regions, slope, offset),
        }
    }

    /// Candidates by region.
    pub fn as_slice(&self) -> &[u8] {
        self.candidates.get(..usize::from(self.regions)).unwrap_or(&[])
    }

    /// Candidates at average `avg`; from `max_th` on the last region's (Pan et al. 2000, footnote 7).
    #[inline]
    fn at(&self, avg: f64, red: &RedParams) -> u8 {
        let last = self.regions.saturating_sub(1);
        // Regions are half-open upward. With max_th infinite the quotient is 0: always the first region.
        let share = (avg - red.min_th) / (red.max_th - red.min_th);
        let region = ((f64::from(self.regions) * share) as u8).min(last);
        self.candidates.get(usize::from(region)).copied().unwrap_or(0)
    }
}

/// How many candidates an arrival is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidates {
    /// The same number at every average; 0 makes CHOKe RED.
    Fixed(u8),
    /// More candidates the higher the average (self-adjusting CHOKe).
    Regions(Schedule),
}

/// Parameters of [`Choke`].
#[derive(Clone, Debug, PartialEq)]
pub struct ChokeParams {
    /// The average, its thresholds and what unmatched arrivals meet.
    pub red: RedParams,
    /// Candidates for each arrival.
    pub candidates: Candidates,
    /// Where they are drawn from.
    pub draw: DrawFrom,
    /// Draw with replacement: a packet may be drawn twice, and counts once.
    pub replacement: bool,
}

impl Default for ChokeParams {
    fn default() -> Self {
        Self {
            red: RedParams::default(),
            candidates: Candidates::Fixed(1),
            draw: DrawFrom::Uniform,
            replacement: false,
        }
    }
}

/// Parameters as a scenario writes them, beside those of RED.
pub const SPECS: &[ParamSpec] = &[
    ParamSpec {
        name: "candidates",
        unit: "packets",
        kind: Kind::Integer(0, MAX_CANDIDATES as i64),
        default: "1",
        doc: "Packets drawn and compared for each arrival (m); \"drop m+1\" in the paper's naming. \
              Not used when schedule is set.",
        source: "Pan, Prabhakar, Psounis 2000, II.A",
    },
    ParamSpec {
        name: "schedule",
        unit: "packets",
        kind: Kind::Schedule(&["fixed", "two", "odd", "even"], 0, MAX_CANDIDATES as i64),
        default: "\"fixed\"",
        doc: "Candidates by region of the average (self-adjusting CHOKe): fixed uses candidates; two is 1, 2; \
              odd is 1, 3, 5, ...; even is 2, 4, 6, ...; a list gives them one by one.",
        source: "Pan, Prabhakar, Psounis 2000, II.A and III.C; IEEE Micro 2001",
    },
    ParamSpec {
        name: "regions",
        unit: "",
        kind: Kind::Integer(1, MAX_REGIONS as i64),
        default: "3",
        doc: "Equal regions between min_th and max_th, for the schedules odd and even.",
        source: "IEEE Micro 2001",
    },
    ParamSpec {
        name: "draw",
        unit: "",
        kind: Kind::Choice(&["uniform", "head", "tail"]),
        default: "\"uniform\"",
        doc: "Where candidates come from: anywhere in the queue, nearest its head (Front CHOKe), or nearest its tail \
              (Back CHOKe, pair form).",
        source: "Pan, Prabhakar, Psounis 2000, IV",
    },
    ParamSpec {
        name: "replacement",
        unit: "",
        kind: Kind::Switch,
        default: "false",
        doc: "Draw with replacement: a packet may be drawn twice, and counts once.",
        source: "IEEE Micro 2001, implementation",
    },
];

impl ChokeParams {
    /// Checks ranges.
    ///
    /// # Errors
    /// Names the first parameter that is out of range.
    pub fn validate(&self) -> Result<(), ParamError> {
        self.red.validate()?;
        match self.candidates {
            Candidates::Fixed(count) => {
                require(usize::from(count) <= MAX_CANDIDATES, "candidates", f64::from(count), "0 to 32")
            }
            Candidates::Regions(schedule) => Schedule::custom(schedule.as_slice()).map(|_| ()),
        }
    }

    /// Sets the parameter called `name` (see [`SPECS`]); returns whether there is one of that kind. In the order of
    /// [`SPECS`], so that `regions` finds the schedule whose regions it counts.
    pub fn set(&mut self, name: &str, value: ParamValue<'_>) -> bool {
        match (name, value) {
            ("candidates", ParamValue::Number(count)) => self.candidates = Candidates::Fixed(count as u8),
            ("regions", ParamValue::Number(regions)) => {
                if let Candidates::Regions(schedule) = &mut self.candidates {
                    *schedule = schedule.with_regions(regions as u8);
                }
            }
            ("schedule", ParamValue::Word("fixed")) => {}
            ("schedule", ParamValue::Word("two")) => self.candidates = Candidates::Regions(Schedule::two()),
            ("schedule", ParamValue::Word("odd")) => self.candidates = Candidates::Regions(Schedule::odd(3)),
            ("schedule", ParamValue::Word("even")) => {
                self.candidates = Candidates::Regions(Schedule::even(3));
            }
            ("schedule", ParamValue::Counts(counts)) => match Schedule::custom(counts) {
                Ok(schedule) => self.candidates = Candidates::Regions(schedule),
                Err(_) => return false,
            },
            ("draw", ParamValue::Word("uniform")) => self.draw = DrawFrom::Uniform,
            ("draw", ParamValue::Word("head")) => self.draw = DrawFrom::Head,
            ("draw", ParamValue::Word("tail")) => self.draw = DrawFrom::Tail,
            ("replacement", _) => return value.switch(&mut self.replacement),
            _ => return false,
        }
        true
    }

    #[inline]
    fn candidates_at(&self, avg: f64) -> usize {
        usize::from(match self.candidates {
            Candidates::Fixed(count) => count,
            Candidates::Regions(schedule) => schedule.at(avg, &self.red),
        })
    }
}

/// CHOKe over a leaky FIFO.
#[derive(Clone, Debug)]
pub struct Choke<H, S> {
    params: ChokeParams,
    queue: RedQueue<H, S>,
}

/// Candidates of one arrival, each packet once.
struct Drawn {
    positions: [Option<Position>; MAX_CANDIDATES],
    count: usize,
}

impl Drawn {
    fn contains(&self, position: Position) -> bool {
        self.positions.iter().take(self.count).any(|&at| at == Some(position))
    }

    fn add(&mut self, position: Position) {
        if let Some(free) = self.positions.get_mut(self.count) {
            *free = Some(position);
            self.count += 1;
        }
    }
}

impl<H, S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>> Choke<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: ChokeParams, slots: S) -> Result<Self, ParamError> {
        params.validate()?;
        let queue = RedQueue::new(&params.red, slots)?;
        Ok(Self { params, queue })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.queue.fifo
    }

    /// Draws and compares `wanted` candidates for an arrival of `flow`; drops those that match. Returns whether any
    /// did.
    #[inline]
    fn drop_matches<E: Env<H>>(&mut self, wanted: usize, flow: u64, env: &mut E) -> bool {
        if wanted == 1 && self.params.draw == DrawFrom::Uniform {
            return self.queue.fifo.draw(env).is_some_and(|position| self.compare(position, flow, env));
        }
        let drawn = self.draw_many(wanted, env);
        let mut matched = false;
        for position in drawn.positions.into_iter().take(drawn.count).flatten() {
            matched |= self.compare(position, flow, env);
        }
        matched
    }

    fn draw_many<E: Env<H>>(&mut self, wanted: usize, env: &mut E) -> Drawn {
        let mut drawn = Drawn { positions: [None; MAX_CANDIDATES], count: 0 };
        let wanted = wanted.min(MAX_CANDIDATES);
        // Drawing every packet needs no draw.
        let all = self.queue.fifo.len() as usize <= wanted && !self.params.replacement;
        if self.params.draw == DrawFrom::Tail {
            self.queue.fifo.positions().rev().take(wanted).for_each(|position| drawn.add(position));
            return drawn;
        }
        if all || self.params.draw == DrawFrom::Head {
            self.queue.fifo.positions().take(wanted).for_each(|position| drawn.add(position));
            return drawn;
        }
        let mut tries = 0;
        while tries < wanted {
            let Some(position) = self.queue.fifo.draw(env) else { break };
            let again = drawn.contains(position);
            if !again {
                drawn.add(position);
            }
            tries += usize::from(self.params.replacement || !again);
        }
        drawn
    }

    /// Compares one candidate; drops it when it has `flow`.
    #[inline]
    fn compare<E: Env<H>>(&mut self, position: Position, flow: u64, env: &mut E) -> bool {
        let Some(candidate) = self.queue.fifo.get(position) else { return false };
        self.queue.stats.drawn += 1;
        env.drawn(candidate);
        if candidate.meta.flow != flow {
            return false;
        }
        self.queue.drop_queued(position, DropCause::MatchQueued, env);
        true
    }
}

impl<H, S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>> Discipline<H> for Choke<H, S> {
    #[inline]
    fn admit<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.queue.stats.arrived.add(packet.meta.len);
        let waiting = self.queue.fifo.len();
        // The average counts a matched arrival too, and sees the queue before its removal.
        self.queue.state.update(&self.params.red, waiting, env.now());
        if !self.queue.state.below_min_th(&self.params.red) {
            let wanted = self.params.candidates_at(self.queue.state.avg);
            if wanted > 0 && waiting > 0 && self.drop_matches(wanted, packet.meta.flow, env) {
                // A matched arrival never reaches RED: its count stays.
                self.queue.drop(packet, DropCause::MatchArriving, env);
                return;
            }
        }
        self.queue.admit_by_red(&self.params.red, packet, env);
    }

    #[inline]
    fn next<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        self.queue.next(env)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.queue.stats
    }

    fn average_packets(&self) -> Option<f64> {
        Some(self.queue.state.avg)
    }

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("avg", self.queue.state.avg);
    }
}
