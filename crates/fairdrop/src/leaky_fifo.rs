//! The queue under the CHOKe family: a FIFO that leaks from the middle.
//!
//! A ring whose removed packets leave holes. Push and pop touch one slot; a draw picks a slot of the occupied span
//! and draws again when it meets a hole, which is exactly uniform over live packets; removal empties one slot. Both
//! ends of the span are always live. When holes outnumber live packets the ring is closed up in place, so a draw
//! takes less than about two tries in expectation and closing costs O(1) per removal, amortised (the longest single
//! step moves every waiting packet once).
//!
//! The alternative, a slab with links and a dense array of live slots, was measured beside it: the ring is ahead
//! at up to one match in ten arrivals, the slab in caches where nearly half match, and the slab has no long step.
//! `docs/decisions/leaky-fifo.md` has the figures and why the ring was kept.

use crate::{Env, Packet, Stream, uniform_below};

/// One place of the storage that a host lends to a queue.
pub type Slot<H> = Option<Packet<H>>;

/// Holes tolerated beyond the number of live packets before the ring is closed up.
const SLACK: usize = 8;

/// Storage to lend to a queue of at most `limit` packets: a power of two with room for as many holes.
pub const fn slots_for(limit: u32) -> usize {
    let wanted = 2 * limit as usize + SLACK;
    wanted.next_power_of_two()
}

/// A slot of the storage. Valid until the next push or draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position(usize);

/// A FIFO with O(1) uniform draws and O(1) removal anywhere, in borrowed storage.
#[derive(Clone, Debug)]
pub struct LeakyFifo<H, S> {
    slots: S,
    /// Sequence number of the oldest slot of the span; the slot itself is this modulo the storage.
    head: usize,
    /// Slots from the oldest to the newest packet, holes included.
    span: usize,
    live: usize,
    bytes: u64,
    _handle: core::marker::PhantomData<H>,
}

impl<H, S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>> LeakyFifo<H, S> {
    /// An empty queue in `slots`, whose length must be a power of two (see [`slots_for`]); anything in them is lost.
    pub fn new(mut slots: S) -> Self {
        slots.as_mut().fill_with(|| None);
        Self { slots, head: 0, span: 0, live: 0, bytes: 0, _handle: core::marker::PhantomData }
    }

    /// Slots of the storage.
    pub fn capacity(&self) -> usize {
        self.slots.as_ref().len()
    }

    /// Packets waiting.
    #[inline]
    pub fn len(&self) -> u32 {
        self.live as u32
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Bytes waiting.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    fn index(&self, offset: usize) -> usize {
        self.head.wrapping_add(offset) & self.capacity().wrapping_sub(1)
    }

    #[inline]
    fn is_live(&self, offset: usize) -> bool {
        matches!(self.slots.as_ref().get(self.index(offset)), Some(Some(_)))
    }

    /// Appends a packet; gives it back when no slot is free.
    #[inline]
    pub fn push(&mut self, packet: Packet<H>) -> Option<Packet<H>> {
        // Only removals make holes and only draws suffer from them: it is enough to close up when the ring is full.
        if self.span >= self.capacity() {
            self.close_up();
            if self.span >= self.capacity() {
                return Some(packet);
            }
        }
        let index = self.index(self.span);
        let Some(slot) = self.slots.as_mut().get_mut(index) else { return Some(packet) };
        self.bytes += u64::from(packet.meta.len);
        *slot = Some(packet);
        self.span += 1;
        self.live += 1;
        None
    }

    /// Takes the oldest packet.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet<H>> {
        let head = self.index(0);
        let taken = self.slots.as_mut().get_mut(head)?.take();
        self.bytes -= u64::from(taken.as_ref()?.meta.len);
        self.live -= 1;
        self.head = self.head.wrapping_add(1);
        self.span -= 1;
        self.trim_head();
        taken
    }

    /// Draws a live packet, each with exactly the same probability; `None` when nothing waits.
    #[inline]
    pub fn draw<E: Env<H>>(&mut self, env: &mut E) -> Option<Position> {
        if self.live == 0 {
            return None;
        }
        self.close_up_if_leaky();
        loop {
            let offset = uniform_below(self.span as u64, || env.random(Stream::Candidate)) as usize;
            if self.is_live(offset) {
                return Some(Position(self.index(offset)));
            }
        }
    }

    /// The packet at `position`; `None` when it is no longer there.
    #[inline]
    pub fn get(&self, position: Position) -> Option<&Packet<H>> {
        self.slots.as_ref().get(position.0)?.as_ref()
    }

    /// Removes the packet at `position`; the others keep their order.
    #[inline]
    pub fn remove(&mut self, position: Position) -> Option<Packet<H>> {
        self.take(position.0)
    }

    /// The oldest packet's position.
    #[inline]
    pub fn front(&self) -> Option<Position> {
        (self.live > 0).then(|| Position(self.index(0)))
    }

    /// Packets from head to tail.
    pub fn iter(&self) -> impl Iterator<Item = &Packet<H>> {
        self.positions().filter_map(|position| self.get(position))
    }

    /// Positions of the waiting packets from head to tail.
    pub fn positions(&self) -> impl DoubleEndedIterator<Item = Position> {
        (0..self.span).filter(|&offset| self.is_live(offset)).map(|offset| Position(self.index(offset)))
    }

    /// Empties a slot; where it was an end of the span, shrinks the span until that end is live again.
    #[inline]
    fn take(&mut self, index: usize) -> Option<Packet<H>> {
        let taken = self.slots.as_mut().get_mut(index)?.take();
        self.bytes -= u64::from(taken.as_ref()?.meta.len);
        self.live -= 1;
        if index == self.index(0) {
            self.trim_head();
        } else if index == self.index(self.span.wrapping_sub(1)) {
            self.trim_tail();
        }
        taken
    }

    #[inline]
    fn trim_head(&mut self) {
        while self.span > 0 && !self.is_live(0) {
            self.head = self.head.wrapping_add(1);
            self.span -= 1;
        }
    }

    #[inline]
    fn trim_tail(&mut self) {
        while self.span > 0 && !self.is_live(self.span - 1) {
            self.span -= 1;
        }
    }

    #[inline]
    fn close_up_if_leaky(&mut self) {
        if self.span > 2 * self.live + SLACK {
            self.close_up();
        }
    }

    /// Moves the packets together towards the head, in order.
    #[cold]
    fn close_up(&mut self) {
        let mut filled = 0;
        for offset in 0..self.span {
            if !self.is_live(offset) {
                continue;
            }
            let (from, to) = (self.index(offset), self.index(filled));
            if from != to {
                self.slots.as_mut().swap(from, to);
            }
            filled += 1;
        }
        self.span = filled;
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{DropCause, Meta, Philox, Time};
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::{vec, vec::Vec};

    struct Dice(Philox);
    impl Env<u32> for Dice {
        fn now(&self) -> Time {
            Time::ZERO
        }
        fn random(&mut self, _: Stream) -> u64 {
            self.0.next_u64()
        }
        fn dropped(&mut self, _: Packet<u32>, _: DropCause) {}
    }

    fn packet(handle: u32) -> Packet<u32> {
        Packet::new(Meta::of_flow(u64::from(handle), handle + 1), Time::ZERO, handle)
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push,
        Pop,
        RemoveDrawn,
        RemoveRank(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            5 => Just(Step::Push),
            2 => Just(Step::Pop),
            2 => Just(Step::RemoveDrawn),
            1 => any::<usize>().prop_map(Step::RemoveRank),
        ];
        prop::collection::vec(step, 1..400)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        /// The ring against a plain list with immediate removal.
        #[test]
        fn behaves_as_a_plain_list(steps in steps(), limit in 1_u32..40) {
            let mut fifo = LeakyFifo::new(vec![None; slots_for(limit)]);
            let mut list: VecDeque<u32> = VecDeque::new();
            let mut dice = Dice(Philox::new(u64::from(limit), 0, 0));
            for (handle, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Push if fifo.len() < limit => {
                        prop_assert_eq!(fifo.push(packet(handle as u32)), None);
                        list.push_back(handle as u32);
                    }
                    Step::Pop => prop_assert_eq!(fifo.pop().map(|p| p.handle), list.pop_front()),
                    Step::RemoveDrawn => {
                        let removed = fifo.draw(&mut dice).and_then(|at| fifo.remove(at)).map(|p| p.handle);
                        prop_assert_eq!(removed.is_none(), list.is_empty());
                        list.retain(|&h| Some(h) != removed);
                    }
                    Step::RemoveRank(rank) if !list.is_empty() => {
                        let rank = rank % list.len();
                        let at = fifo.positions().nth(rank);
                        prop_assert_eq!(at.and_then(|at| fifo.remove(at)).map(|p| p.handle), list.remove(rank));
                    }
                    Step::Push | Step::RemoveRank(_) => {}
                }
                prop_assert!(fifo.iter().map(|p| p.handle).eq(list.iter().copied()));
                prop_assert_eq!(fifo.len() as usize, list.len());
                prop_assert_eq!(fifo.bytes(), list.iter().map(|&h| u64::from(h) + 1).sum::<u64>());
                prop_assert_eq!(fifo.front().and_then(|at| fifo.get(at)).map(|p| p.handle), list.front().copied());
            }
        }
    }

    /// Chi-squared over live packets with holes present. For k cells the statistic has mean k - 1 and variance
    /// 2(k - 1); five standard deviations either way (too even is suspect as well).
    fn assert_uniform(packets: u32, draws_per_packet: u64) {
        let mut fifo = LeakyFifo::new(vec![None; slots_for(packets)]);
        let mut dice = Dice(Philox::new(5, 0, 0));
        for handle in 0..packets {
            assert_eq!(fifo.push(packet(handle)), None);
        }
        for _ in 0..packets * 2 / 5 {
            let at = fifo.draw(&mut dice).unwrap();
            fifo.remove(at);
        }
        assert!(fifo.span > fifo.live, "the test needs holes");
        let live = u64::from(fifo.len());
        let mut seen = vec![0_u64; packets as usize];
        for _ in 0..live * draws_per_packet {
            let at = fifo.draw(&mut dice).unwrap();
            seen[fifo.get(at).unwrap().handle as usize] += 1;
        }
        let chi_squared: f64 = fifo
            .iter()
            .map(|p| {
                (seen[p.handle as usize] as f64 - draws_per_packet as f64).powi(2) / draws_per_packet as f64
            })
            .sum();
        let freedom = (live - 1) as f64;
        let deviations = (chi_squared - freedom) / (2.0 * freedom).sqrt();
        assert!(deviations.abs() < 5.0, "{packets} packets: {deviations} standard deviations");
    }

    #[test]
    fn draws_are_uniform_over_live_packets() {
        assert_uniform(300, 2000);
        assert_uniform(100_000, 50);
    }

    #[test]
    fn full_storage_gives_the_packet_back() {
        let mut fifo = LeakyFifo::new(vec![None; 2]);
        assert_eq!(fifo.push(packet(0)), None);
        assert_eq!(fifo.push(packet(1)), None);
        assert_eq!(fifo.push(packet(2)).map(|p| p.handle), Some(2));
        let mut none: [Slot<u32>; 0] = [];
        assert_eq!(LeakyFifo::new(&mut none[..]).push(packet(3)).map(|p| p.handle), Some(3));
    }

    #[test]
    fn draws_stay_cheap_when_almost_everything_was_removed() {
        let mut fifo = LeakyFifo::new(vec![None; slots_for(1000)]);
        for handle in 0..1000 {
            fifo.push(packet(handle));
        }
        let middle: Vec<_> = fifo.positions().skip(1).take(998).collect();
        for at in middle {
            fifo.remove(at);
        }
        assert_eq!(fifo.span, 1000);
        let mut dice = Dice(Philox::new(1, 0, 0));
        fifo.draw(&mut dice);
        assert_eq!((fifo.span, fifo.live), (2, 2));
    }
}
