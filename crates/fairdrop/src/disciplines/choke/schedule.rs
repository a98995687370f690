//! Number of candidates that an arrival of CHOKe is compared with: constant, or increasing with the average queue.

use super::super::red::RedParams;
use crate::contract::params::MAX_COUNTS;
use crate::contract::{ParamError, ParamValue, require};

/// Most candidates drawn for one arrival.
pub const MAX_CANDIDATES: usize = 32;
/// Most regions between `min_th` and `max_th`.
pub const MAX_REGIONS: usize = MAX_COUNTS;

/// Number of candidates in each of up to [`MAX_REGIONS`] equal regions between `min_th` and `max_th`, never falling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    candidates: [u8; MAX_REGIONS],
    regions: u8,
    rule: Rule,
}

/// Source of the numbers of a schedule.
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

    /// Candidates at average `avg`; at or above `max_th` those of the last region (Pan et al. 2000, footnote 7).
    #[inline]
    fn at(&self, avg: f64, red: &RedParams) -> u8 {
        let last = self.regions.saturating_sub(1);
        // Regions are half-open upward. With max_th infinite the quotient is 0: always the first region.
        let share = (avg - red.min_th) / (red.max_th - red.min_th);
        let region = ((f64::from(self.regions) * share) as u8).min(last);
        self.candidates.get(usize::from(region)).copied().unwrap_or(0)
    }
}

/// Number of candidates that an arrival is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidates {
    /// The same number at every average; 0 makes CHOKe RED.
    Fixed(u8),
    /// More candidates the higher the average (self-adjusting CHOKe).
    Regions(Schedule),
}

impl Candidates {
    /// The number at average `avg`.
    #[inline]
    pub(crate) fn at(&self, avg: f64, red: &RedParams) -> usize {
        usize::from(match self {
            Self::Fixed(count) => *count,
            Self::Regions(schedule) => schedule.at(avg, red),
        })
    }

    /// Sets `candidates`, `schedule` or `regions`, which finds the schedule whose regions it counts; returns whether the
    /// parameter is one of them and of that kind.
    pub(crate) fn set(&mut self, name: &str, value: ParamValue<'_>) -> bool {
        match (name, value) {
            ("candidates", ParamValue::Number(count)) => *self = Self::Fixed(count as u8),
            ("regions", ParamValue::Number(regions)) => {
                if let Self::Regions(schedule) = self {
                    *schedule = schedule.with_regions(regions as u8);
                }
            }
            ("schedule", ParamValue::Word("fixed")) => {}
            ("schedule", ParamValue::Word("two")) => *self = Self::Regions(Schedule::two()),
            ("schedule", ParamValue::Word("odd")) => *self = Self::Regions(Schedule::odd(3)),
            ("schedule", ParamValue::Word("even")) => *self = Self::Regions(Schedule::even(3)),
            ("schedule", ParamValue::Counts(counts)) => match Schedule::custom(counts) {
                Ok(schedule) => *self = Self::Regions(schedule),
                Err(_) => return false,
            },
            _ => return false,
        }
        true
    }

    /// Refuses numbers of candidates that are out of range.
    pub(crate) fn check(&self) -> Result<(), ParamError> {
        match self {
            Self::Fixed(count) => {
                require(usize::from(*count) <= MAX_CANDIDATES, "candidates", f64::from(*count), "0 to 32")
            }
            Self::Regions(schedule) => Schedule::custom(schedule.as_slice()).map(|_| ()),
        }
    }
}
