//! What COLLAR counts, and among whom it shares: every byte alike and among flows, unless a form of it says otherwise.

use crate::contract::Meta;

/// The weight of packets: samples are a number of weighted bytes apart, and suspects are held to a fair share of them.
pub trait Counting {
    /// Distinction between packets of one length.
    type Class: Copy;
    /// The unit of counts, per counted byte.
    const BYTE: f64;

    /// The class of a packet.
    fn class_of(meta: &Meta) -> Self::Class;

    /// The count of a packet of `len` bytes.
    fn count(&self, len: u32, class: Self::Class) -> i64;

    /// The distance to the next sample, converted from bytes.
    fn distance(bytes: f64) -> i64;

    /// A packet of `len` bytes leaves.
    fn leaves(&mut self, len: u32);

    /// A packet of `len` bytes is a sample, at which `counted` bytes have left since the last: bytes that have left.
    fn sampled(&mut self, len: u32, class: Self::Class, counted: f64) -> f64;

    /// Mean counted length of a sample, where `size` is its mean length.
    fn size(&self, size: f64) -> f64;

    /// The count of `bytes`, where `passed` counted `counted`.
    fn counted(bytes: f64, passed: f64, counted: f64) -> f64;
}

/// Every byte counts the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlainBytes;

impl Counting for PlainBytes {
    type Class = ();
    const BYTE: f64 = 1.0;

    #[inline(always)]
    fn class_of(_: &Meta) {}

    #[inline(always)]
    fn count(&self, len: u32, (): ()) -> i64 {
        i64::from(len)
    }

    #[inline(always)]
    fn distance(bytes: f64) -> i64 {
        bytes as i64
    }

    #[inline(always)]
    fn leaves(&mut self, _: u32) {}

    #[inline(always)]
    fn sampled(&mut self, _: u32, (): (), counted: f64) -> f64 {
        counted
    }

    #[inline(always)]
    fn size(&self, size: f64) -> f64 {
        size
    }

    #[inline(always)]
    fn counted(bytes: f64, _: f64, _: f64) -> f64 {
        bytes
    }
}

/// A flow's limit, relative to the fair share of all flows.
#[derive(Clone, Copy, Debug)]
pub struct Part<P> {
    /// As a multiple of it.
    pub times: f64,
    /// Its inverse.
    pub per: f64,
    /// The group that it is a part of.
    pub group: P,
}

impl Part<()> {
    /// A fair share.
    pub(in super::super) const FAIR: Self = Self { times: 1.0, per: 1.0, group: () };
}

/// The sharing rule of the link: each flow's part, and what groups of flows share.
pub trait Sharing {
    /// Distinction between the packets of one flow and another, beside the flow itself.
    type Key: Copy;
    /// A group of flows.
    type Group: Copy;

    /// The part of flows of this key.
    fn part(&self, key: Self::Key) -> Part<Self::Group>;

    /// A packet counts for its group: one of a suspect that is admitted, or one of a flow without a place.
    fn counts(&mut self, group: Self::Group, counted: f64, is_suspect: bool);

    /// Bytes sent by flows of the group without a place, relative to the part of its limit that the suspects leave to them:
    /// `phi` times it, where `per_limit` is one over the limit of a flow. 0 where flows share alone.
    fn over(&self, group: Self::Group, per_limit: f64, phi: f64) -> f64;

    /// A departure was compared.
    fn compared(&mut self, key: Self::Key, sample: &Compared);

    /// A departure takes this place of the memory.
    fn remember(&mut self, at: usize, key: Self::Key);

    /// All counts are made smaller by this factor.
    fn rescale(&mut self, factor: f64);
}

/// Result of comparing a sampled departure with the memory.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// The places: the first, and their number.
    pub(in super::super) from: usize,
    pub(in super::super) size: usize,
    /// Ids in them, and the number of the flow's ids among these.
    pub(in super::super) ids: u32,
    pub(in super::super) hits: u32,
    /// The sum of the squared shares of flows.
    pub(in super::super) s: f64,
    /// Bytes that left until now, weighted by their counts.
    pub(in super::super) sent: f64,
}

/// Equal limits for all flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AmongFlows;

impl Sharing for AmongFlows {
    type Key = ();
    type Group = ();

    #[inline(always)]
    fn part(&self, (): ()) -> Part<()> {
        Part::FAIR
    }

    #[inline(always)]
    fn counts(&mut self, (): (), _: f64, _: bool) {}

    #[inline(always)]
    fn over(&self, (): (), _: f64, _: f64) -> f64 {
        0.0
    }

    #[inline(always)]
    fn compared(&mut self, (): (), _: &Compared) {}

    #[inline(always)]
    fn remember(&mut self, _: usize, (): ()) {}

    #[inline(always)]
    fn rescale(&mut self, _: f64) {}
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug)]
pub struct Leaving<C, K> {
    /// Its flow.
    pub flow: u64,
    /// Its bytes.
    pub len: u32,
    /// Distinction between packets of one length ([`Counting`]).
    pub class: C,
    /// Distinction between flows ([`Sharing`]).
    pub key: K,
}
