//! COLLAR with weights: classes of traffic whose fair share is a multiple of that of others.
//!
//! A byte of a class of weight w counts 1/w wherever [COLLAR](super::collar) counts bytes: in the distance of samples, in the
//! bytes of a suspect, in the output. So `s` is the sum of the squared shares of the output, each divided by its weight, and
//! the limit applies per unit of weight; the controller drops packets with a smaller count less often.
//!
//! Source: this project, `docs/background/collar.md`. Weights by class: S. Wen, Y. Fang, H. Sun, "CHOKeW: bandwidth
//! differentiation and TCP protection in core networks", MILCOM 2005, section II.

use super::chokew::{MAX_CLASSES, Weights};
use super::collar::{Collar, CollarDecision, CollarParams, Counting, SMOOTH, SuspectSet};
use super::droptail::fifo_in;
use crate::contract::{DisciplineInfo, Family, Meta, ParamError};
use crate::declare::{ParamTable, Registered, Ring, facts, params, ring, take};
use crate::storage::{LeakyFifo, Memory, Slot, Storage};

params! {
    /// Parameters of [`CollarW`].
    pub struct CollarWParams {
        /// Parameters that COLLAR has without weights.
        base collar: CollarParams;
        /// Weights of the priority classes 0, 1, ...: fair shares of their flows are in proportion. A class that is not
        /// listed has the lowest weight.
        weights: Weights = [1, 2], Numbers(MAX_CLASSES, 1.0, 1_000_000.0), "Wen, Fang, Sun 2005, II and III";
    }
}

impl Registered for CollarWParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "collarw",
        title: "COLLAR with weights",
        label: "COLLAR with weights",
        doc: "COLLAR with a fair share in proportion to the weight of a flow's class.",
        report: "Remembers whose packets left recently. Senders found there often are held to a fair share in proportion \
                 to the weight of their class; the waiting time is held near a target.",
        family: Family::Flow,
        form_of: Some("collar"),
        source: "this project",
        ..facts::<Self>()
    };

    type Queue<H, M: Memory> = CollarW<H, Ring<H, M>, M::Of<u32>, M::Of<SuspectSet>>;

    fn build<H, M: Memory>(self, memory: &mut M) -> Result<Self::Queue<H, M>, ParamError> {
        let limit = self.limit();
        let ids = take(memory, self.collar.ids as usize, limit)?;
        let suspects = take(memory, self.collar.sets as usize, limit)?;
        let ring = ring(memory, limit)?;
        CollarW::weighted(self, ring, ids, suspects)
    }

    fn fifo<H, M: Memory>(queue: &Self::Queue<H, M>) -> Option<&LeakyFifo<H, Ring<H, M>>> {
        Some(queue.fifo())
    }
}

/// Parts of a byte.
const WHOLE: u32 = 1 << 30;
/// The longest distance of two samples, in them.
const FARTHEST: f64 = (1_u64 << 60) as f64;

/// The count of packets by the weight of their class: their whole length in the class of the lowest weight.
#[derive(Clone, Debug)]
pub struct ByClass {
    /// The count of a byte, by class.
    parts: [u32; MAX_CLASSES],
    /// Bytes that have left since the last sample.
    passed: u64,
    /// Mean counted length of a sample; 0 until there is one.
    size: f64,
}

impl ByClass {
    /// Packets that count by these weights.
    pub fn new(weights: &Weights) -> Self {
        let lowest = weights.as_slice().iter().copied().fold(f64::INFINITY, f64::min);
        let mut parts = [WHOLE; MAX_CLASSES];
        for (part, weight) in parts.iter_mut().zip(weights.as_slice()) {
            *part = (f64::from(WHOLE) * (lowest / weight) + 0.5) as u32;
        }
        Self { parts, passed: 0, size: 0.0 }
    }

    /// The count of a byte of `class`.
    #[inline]
    fn part(&self, class: u8) -> u32 {
        self.parts.get(usize::from(class)).copied().unwrap_or(WHOLE)
    }
}

impl Counting for ByClass {
    type Class = u8;
    const BYTE: f64 = WHOLE as f64;

    #[inline(always)]
    fn class_of(meta: &Meta) -> u8 {
        meta.class
    }

    #[inline]
    fn count(&self, len: u32, class: u8) -> i64 {
        i64::from(len) * i64::from(self.part(class))
    }

    fn distance(bytes: f64) -> i64 {
        ((bytes as i64) as f64 * Self::BYTE).min(FARTHEST) as i64
    }

    #[inline(always)]
    fn leaves(&mut self, len: u32) {
        self.passed += u64::from(len);
    }

    fn sampled(&mut self, len: u32, class: u8, _: f64) -> f64 {
        let counted = self.count(len, class) as f64 * (1.0 / Self::BYTE);
        self.size += (counted - self.size) * if self.size > 0.0 { SMOOTH } else { 1.0 };
        core::mem::take(&mut self.passed) as f64
    }

    fn size(&self, _: f64) -> f64 {
        self.size
    }

    fn counted(bytes: f64, passed: f64, counted: f64) -> f64 {
        if passed > 0.0 { bytes * (counted / passed) } else { bytes }
    }
}

/// COLLAR whose packets count by the weight of their class.
pub type CollarW<H, S, I, T> = Collar<H, S, I, T, ByClass>;

impl<H, S: Storage<Slot<H>>, I: Storage<u32>, T: Storage<SuspectSet>> CollarW<H, S, I, T> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with its memory in `ids` and its table in `suspects`.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage.
    pub fn weighted(params: CollarWParams, slots: S, ids: I, suspects: T) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit())?;
        let counting = ByClass::new(&params.weights);
        Ok(Self::over(fifo, CollarDecision::counting(params.collar, counting, ids, suspects)?))
    }
}
