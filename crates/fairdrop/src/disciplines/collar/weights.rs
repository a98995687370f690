//! Weights of classes: a byte of a class of weight w counts 1/w wherever bytes are counted.
//!
//! So `s` is the sum of the squared shares of the output, each divided by its weight, and the limit applies per unit of
//! weight; the controller drops packets with a smaller count less often.
//!
//! Weights by class: S. Wen, Y. Fang, H. Sun, "CHOKeW: bandwidth differentiation and TCP protection in core networks",
//! MILCOM 2005, section II.

use super::estimate::SMOOTH;
use crate::disciplines::chokew::{MAX_CLASSES, Weights};

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
    pub(super) size: f64,
}

impl ByClass {
    /// One over the unit of counts, per counted byte.
    pub(super) const PER_BYTE: f64 = 1.0 / WHOLE as f64;

    /// Packets that count by these weights.
    pub(super) fn new(weights: &Weights) -> Self {
        let lowest = weights.as_slice().iter().copied().fold(f64::INFINITY, f64::min);
        let mut parts = [WHOLE; MAX_CLASSES];
        for (part, weight) in parts.iter_mut().zip(weights.as_slice()) {
            *part = (f64::from(WHOLE) * (lowest / weight) + 0.5) as u32;
        }
        Self { parts, passed: 0, size: 0.0 }
    }

    /// The count of `len` bytes of `class`.
    #[inline]
    pub(super) fn count(&self, len: u32, class: u8) -> i64 {
        let part = self.parts.get(usize::from(class)).copied().unwrap_or(WHOLE);
        i64::from(len) * i64::from(part)
    }

    /// The same in bytes.
    #[inline]
    pub(super) fn bytes(&self, len: u32, class: u8) -> f64 {
        self.count(len, class) as f64 * Self::PER_BYTE
    }

    /// The distance to the next sample, converted from bytes.
    pub(super) fn distance(bytes: f64) -> i64 {
        ((bytes as i64) as f64 * f64::from(WHOLE)).min(FARTHEST) as i64
    }

    /// A packet of `len` bytes leaves.
    #[inline(always)]
    pub(super) fn leaves(&mut self, len: u32) {
        self.passed += u64::from(len);
    }

    /// A packet is a sample: bytes that have left since the last.
    pub(super) fn sampled(&mut self, len: u32, class: u8) -> f64 {
        let counted = self.bytes(len, class);
        self.size += (counted - self.size) * if self.size > 0.0 { SMOOTH } else { 1.0 };
        core::mem::take(&mut self.passed) as f64
    }
}
