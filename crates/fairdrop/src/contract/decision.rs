//! Decisions apart from the queue: what becomes of an arrival, and what a decision may do with packets that wait.

use crate::contract::env::Env;
use crate::contract::stats::DropCause;

/// What is to become of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is queued.
    Queue,
    /// It is marked (RFC 3168) and queued.
    Mark(DropCause),
    /// It is dropped.
    Drop(DropCause),
}

/// A packet that a decision compares the arrival with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate<P> {
    /// Where it waits.
    pub place: P,
    /// Its flow.
    pub flow: u64,
    /// Its length in bytes.
    pub len: u32,
}

/// The waiting packets of a queue, whoever owns it, as the decisions of the CHOKe family see them. `H` is the handle of the
/// queue's packets ([`crate::Packet`]).
///
/// [`crate::LeakyFifo`] is one; [`crate::Ring`] is one over packets that the caller keeps in a ring of its own.
pub trait Waiting<H> {
    /// Place of a waiting packet, valid until the next draw.
    type Place: Copy + PartialEq;

    /// Packets waiting.
    fn packets(&self) -> u32;

    /// Whether nothing waits.
    #[inline]
    fn is_empty(&self) -> bool {
        self.packets() == 0
    }

    /// Packets that a draw may end with: all that wait, unless the newest are left out.
    #[inline]
    fn drawable(&self) -> u32 {
        self.packets()
    }

    /// Bytes waiting.
    fn bytes(&self) -> u64;

    /// Whether an arrival fits where at most `limit` packets may wait.
    fn has_room(&mut self, limit: u32) -> bool;

    /// Whether packets wait, an arrival fits, and a draw changes nothing: the plain case, that decisions test for first. May be false
    /// although all of that holds.
    #[inline]
    fn is_plain(&mut self, limit: u32) -> bool {
        !self.is_empty() && self.has_room(limit)
    }

    /// A waiting packet, each with the same probability; `None` when nothing waits, or when the random source is stuck
    /// ([`crate::MOST_REDRAWS`]).
    fn draw<E: Env<H>>(&mut self, env: &mut E) -> Option<Self::Place>;

    /// A waiting packet with a probability proportional to its `weight`, a function of place and length that is at most
    /// `most`; `None` when no packet weighs anything, or when the random source is stuck.
    fn draw_weighted<E: Env<H>>(
        &mut self,
        most: u32,
        weight: impl Fn(Self::Place, u32) -> u32,
        env: &mut E,
    ) -> Option<Self::Place>;

    /// The packet with `rank` waiting packets before it.
    fn at_rank(&mut self, rank: u32) -> Option<Self::Place>;

    /// Places of the waiting packets, from head to tail.
    fn places(&self) -> impl DoubleEndedIterator<Item = Self::Place>;

    /// The packet at `place`, which is about to be compared with the arrival.
    fn candidate<E: Env<H>>(&self, place: Self::Place, env: &mut E) -> Option<Candidate<Self::Place>>;

    /// [`Self::draw`], then [`Self::candidate`].
    #[inline]
    fn draw_candidate<E: Env<H>>(&mut self, env: &mut E) -> Option<Candidate<Self::Place>> {
        let place = self.draw(env)?;
        self.candidate(place, env)
    }

    /// Drops the packet at `place` and returns its length in bytes; `None` when it is no longer there.
    fn discard<E: Env<H>>(&mut self, place: Self::Place, cause: DropCause, env: &mut E) -> Option<u32>;
}
