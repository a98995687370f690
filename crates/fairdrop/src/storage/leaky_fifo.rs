//! The queue under the CHOKe family: a FIFO that leaks from the middle.
//!
//! A ring whose removed packets leave holes. Push and pop touch one slot; a draw picks a slot of the occupied span
//! and draws again when it meets a hole, which is exactly uniform over live packets; removal empties one slot. Both
//! ends of the span are always live. When holes outnumber live packets the ring is compacted in place, so a draw takes fewer
//! than about two tries in expectation and compaction costs O(1) per removal, amortised (the longest single
//! step moves every waiting packet once).
//!
//! The alternative, a slab with links and a dense array of live slots, was measured too: the ring is faster at up to one
//! match in ten arrivals, the slab in caches where nearly half match, and the slab has no long step.
//! `docs/decisions/leaky-fifo.md` has the figures and the reason for the ring.

use crate::contract::decision::{Candidate, Waiting};
use crate::contract::env::{Env, MOST_REDRAWS, Stream};
use crate::contract::packet::Packet;
use crate::contract::stats::{Backlog, DropCause};
use crate::storage::draws::{draw_slot, draw_slot_by_weight};

/// One place of the storage that a host lends to a queue.
pub type Slot<H> = Option<Packet<H>>;

/// Holes tolerated beyond the number of live packets before the ring is compacted.
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
    /// The number of slots less one: the mask from a sequence number to the index of its slot.
    mask: usize,
    /// Sequence number of the oldest slot of the span; the slot itself is this modulo the storage.
    head: usize,
    /// Sequence number after the newest packet's. A push changes this alone, a pop `head` alone.
    tail: usize,
    /// Slots of the span without a packet.
    holes: usize,
    /// From this span on packets wait, and there are not too many holes among them for a draw.
    tight_from: usize,
    bytes: u64,
    _handle: core::marker::PhantomData<H>,
}

impl<H, S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>> LeakyFifo<H, S> {
    /// An empty queue in `slots`, whose length must be a power of two (see [`slots_for`]); anything in them is lost.
    pub fn new(mut slots: S) -> Self {
        slots.as_mut().fill_with(|| None);
        let mask = slots.as_ref().len().wrapping_sub(1);
        Self {
            slots,
            mask,
            head: 0,
            tail: 0,
            holes: 0,
            tight_from: 1,
            bytes: 0,
            _handle: core::marker::PhantomData,
        }
    }

    /// Slots of the storage.
    pub fn capacity(&self) -> usize {
        self.slots.as_ref().len()
    }

    /// Packets waiting.
    #[inline]
    pub fn len(&self) -> u32 {
        (self.span() - self.holes) as u32
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // Both ends of the span are live.
        self.head == self.tail
    }

    /// Bytes waiting.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets and bytes waiting.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.len(), bytes: self.bytes }
    }

    /// Slots from the oldest to the newest packet, holes included.
    #[inline]
    fn span(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// Changes the number of holes: when they exceed packets by more than [`SLACK`], a draw compacts the ring first.
    #[inline]
    fn set_holes(&mut self, holes: usize) {
        self.holes = holes;
        self.tight_from = (2 * holes).saturating_sub(SLACK).max(1);
    }

    /// The slot with this sequence number.
    #[inline]
    fn index(&self, number: usize) -> usize {
        number & self.mask
    }

    /// The slot at an offset from the oldest.
    #[inline]
    fn at(&self, offset: usize) -> Position {
        Position(self.index(self.head.wrapping_add(offset)))
    }

    /// The slot at an offset from that of the oldest packet: a packet, a hole, or, beyond the newest, anything. For hosts
    /// that fetch from memory ahead of need.
    #[inline]
    pub fn slot(&self, offset: usize) -> Option<&Option<Packet<H>>> {
        self.slots.as_ref().get(self.at(offset).0)
    }

    /// Offset from the oldest packet of the first slot read by a draw with this random number, after `pushed` more packets
    /// have arrived.
    #[inline]
    pub fn first_look(&self, number: u64, pushed: usize) -> usize {
        ((u128::from(number) * (self.span() + pushed) as u128) >> 64) as usize
    }

    #[inline]
    fn is_live(&self, position: Position) -> bool {
        matches!(self.slots.as_ref().get(position.0), Some(Some(_)))
    }

    /// Appends a packet; gives it back when no slot is free.
    #[inline]
    pub fn push(&mut self, packet: Packet<H>) -> Option<Packet<H>> {
        // Only removals make holes and only draws suffer from them: it is enough to close up when the ring is full.
        if self.span() >= self.capacity() && !self.make_room() {
            return Some(packet);
        }
        self.place(packet);
        None
    }

    /// Whether fewer than `limit` packets wait, for which there is storage: then there is a slot to [`Self::place`] one.
    #[inline(always)]
    pub(crate) fn has_room(&mut self, limit: u32) -> bool {
        self.span() < limit as usize || self.has_room_among_holes(limit)
    }

    #[inline(never)]
    fn has_room_among_holes(&mut self, limit: u32) -> bool {
        self.len() < limit && (self.span() < self.capacity() || self.make_room())
    }

    /// Appends a packet, when there is room.
    #[inline(always)]
    pub(crate) fn place(&mut self, packet: Packet<H>) {
        let tail = self.tail;
        let index = self.index(tail);
        if let Some(slot) = self.slots.as_mut().get_mut(index) {
            self.bytes += u64::from(packet.meta.len);
            *slot = Some(packet);
            self.tail = tail.wrapping_add(1);
        }
    }

    /// Takes the oldest packet.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet<H>> {
        let packet = self.take_head()?;
        self.trim_head();
        Some(packet)
    }

    /// Draws a live packet, each with exactly the same probability; `None` when nothing waits, or after [`MOST_REDRAWS`]
    /// numbers that led to none.
    #[inline]
    pub fn draw<E: Env<H>>(&mut self, env: &mut E) -> Option<Position> {
        self.draw_packet(env).map(|(position, _)| position)
    }

    /// The draw of [`Self::draw`], with the packet.
    #[inline(always)]
    pub fn draw_packet<E: Env<H>>(&mut self, env: &mut E) -> Option<(Position, &Packet<H>)> {
        if self.span() < self.tight_from {
            if self.is_empty() {
                return None;
            }
            self.close_up();
        }
        // Most draws end with the first random number; the others continue out of line.
        let span = self.span() as u64;
        let wide = u128::from(env.random(Stream::Candidate)) * u128::from(span);
        // From `span` on no number is refused: see `uniform_below`.
        if (wide as u64) < span {
            return self.draw_on(wide, env);
        }
        let position = self.at((wide >> 64) as usize);
        match self.slots.as_ref().get(position.0) {
            Some(Some(packet)) => Some((position, packet)),
            _ => self.draw_on(wide, env),
        }
    }

    /// Continues a draw whose first number, times the span, met no live slot or may have to be refused.
    #[cold]
    #[inline(never)]
    fn draw_on<E: Env<H>>(&self, first: u128, env: &mut E) -> Option<(Position, &Packet<H>)> {
        let span = self.span() as u64;
        let refused_below = span.wrapping_neg() % span.max(1);
        let mut wide = first;
        for _ in 0..=MOST_REDRAWS {
            let position = self.at((wide >> 64) as usize);
            if wide as u64 >= refused_below
                && let Some(packet) = self.get(position)
            {
                return Some((position, packet));
            }
            wide = u128::from(env.random(Stream::Candidate)) * u128::from(span);
        }
        None
    }

    /// Draws as [`Self::draw`] does, with numbers of another stream.
    pub(crate) fn draw_by<E: Env<H>>(&mut self, stream: Stream, env: &mut E) -> Option<Position> {
        if self.is_empty() {
            return None;
        }
        self.close_up_if_leaky();
        let is_live = |offset| self.is_live(self.at(offset));
        draw_slot(self.span(), is_live, || env.random(stream)).map(|offset| self.at(offset))
    }

    /// Reads the slots at which draws with `numbers` will end if a packet is pushed after each: all at once, so that
    /// the waits for memory overlap.
    pub fn read_ahead(&self, numbers: &[u64]) {
        let mut seen = 0;
        for (pushed, &number) in numbers.iter().enumerate() {
            let position = self.at(self.first_look(number, pushed));
            seen ^= self.get(position).map_or(0, |packet| packet.meta.flow);
        }
        core::hint::black_box(seen);
    }

    /// Draws a live packet with a probability exactly proportional to its weight, which is at most `most`; `None`
    /// when no packet weighs anything, or after [`MOST_REDRAWS`] numbers that none can be drawn by.
    pub fn draw_weighted<E: Env<H>>(
        &mut self,
        most: u32,
        weight: impl Fn(Position, &Packet<H>) -> u32,
        env: &mut E,
    ) -> Option<Position> {
        if self.is_empty() {
            return None;
        }
        self.close_up_if_leaky();
        let weight_at = |offset| {
            let position = self.at(offset);
            self.get(position).map_or(0, |packet| weight(position, packet))
        };
        let random = || env.random(Stream::Candidate);
        draw_slot_by_weight(self.span(), most, weight_at, random).map(|offset| self.at(offset))
    }

    /// The packet with `rank` waiting packets before it. Compacts the ring when there are holes, which invalidates other
    /// positions; without holes it takes one step.
    pub fn at_rank(&mut self, rank: u32) -> Option<Position> {
        if self.holes > 0 {
            self.close_up();
        }
        ((rank as usize) < self.span()).then(|| self.at(rank as usize))
    }

    /// The packet at `position`; `None` when it is no longer there.
    #[inline]
    pub fn get(&self, position: Position) -> Option<&Packet<H>> {
        self.slots.as_ref().get(position.0)?.as_ref()
    }

    /// Removes the packet at `position`; the others keep their order.
    #[inline]
    pub fn remove(&mut self, position: Position) -> Option<Packet<H>> {
        self.take(position)
    }

    /// The oldest packet's position.
    #[inline]
    pub fn front(&self) -> Option<Position> {
        (!self.is_empty()).then(|| self.at(0))
    }

    /// The newest packet's position.
    #[inline]
    pub fn back(&self) -> Option<Position> {
        (!self.is_empty()).then(|| self.at(self.span() - 1))
    }

    /// Packets from head to tail.
    pub fn iter(&self) -> impl Iterator<Item = &Packet<H>> {
        self.positions().filter_map(|position| self.get(position))
    }

    /// Positions of the waiting packets from head to tail.
    pub fn positions(&self) -> impl DoubleEndedIterator<Item = Position> {
        (0..self.span()).map(|offset| self.at(offset)).filter(|&position| self.is_live(position))
    }

    /// Empties a slot; where it was an end of the span, shrinks the span until that end is live again.
    #[inline]
    fn take(&mut self, position: Position) -> Option<Packet<H>> {
        let packet = take_from(self.slots.as_mut().get_mut(position.0)?)?;
        self.bytes -= u64::from(packet.meta.len);
        self.set_holes(self.holes + 1);
        if position == self.at(0) {
            self.trim_head();
        } else if position.0 == self.index(self.tail.wrapping_sub(1)) {
            self.trim_tail();
        }
        Some(packet)
    }

    /// The first half of [`Self::pop`]: [`Self::trim_head`] must follow.
    #[inline(always)]
    pub(crate) fn take_head(&mut self) -> Option<Packet<H>> {
        let head = self.head;
        let index = self.index(head);
        let packet = take_from(self.slots.as_mut().get_mut(index)?)?;
        self.bytes -= u64::from(packet.meta.len);
        self.head = head.wrapping_add(1);
        Some(packet)
    }

    /// Moves the head past holes.
    #[inline(always)]
    pub(crate) fn trim_head(&mut self) {
        if self.holes > 0 && !self.is_live(self.at(0)) {
            self.skip_holes();
        }
    }

    #[inline(never)]
    fn skip_holes(&mut self) {
        while self.holes > 0 && !self.is_live(self.at(0)) {
            self.head = self.head.wrapping_add(1);
            self.set_holes(self.holes - 1);
        }
    }

    #[inline]
    fn trim_tail(&mut self) {
        while self.holes > 0 && !self.is_live(Position(self.index(self.tail.wrapping_sub(1)))) {
            self.tail = self.tail.wrapping_sub(1);
            self.set_holes(self.holes - 1);
        }
    }

    /// Compacts the ring when holes exceed packets by more than [`SLACK`].
    #[inline(always)]
    fn close_up_if_leaky(&mut self) {
        if self.span() < self.tight_from {
            self.close_up();
        }
    }

    /// Compacts a full ring; returns whether that freed a slot.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) -> bool {
        self.close_up();
        self.span() < self.capacity()
    }

    /// Moves the packets together towards the head, in order.
    #[cold]
    #[inline(never)]
    fn close_up(&mut self) {
        let mut filled = 0;
        for offset in 0..self.span() {
            let (from, to) = (self.at(offset), self.at(filled));
            let slots = self.slots.as_mut();
            let Some(packet) = slots.get_mut(from.0).and_then(take_from) else { continue };
            if let Some(slot) = slots.get_mut(to.0) {
                *slot = Some(packet);
                filled += 1;
            }
        }
        self.tail = self.head.wrapping_add(filled);
        self.set_holes(0);
    }
}

impl<H, S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>> Waiting<H> for LeakyFifo<H, S> {
    type Place = Position;

    #[inline(always)]
    fn packets(&self) -> u32 {
        self.len()
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        Self::is_empty(self)
    }

    #[inline(always)]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline(always)]
    fn has_room(&mut self, limit: u32) -> bool {
        Self::has_room(self, limit)
    }

    #[inline(always)]
    fn is_plain(&mut self, limit: u32) -> bool {
        self.span() >= self.tight_from && self.span() < limit as usize
    }

    #[inline]
    fn draw<E: Env<H>>(&mut self, env: &mut E) -> Option<Position> {
        Self::draw(self, env)
    }

    fn draw_weighted<E: Env<H>>(
        &mut self,
        most: u32,
        weight: impl Fn(Position, u32) -> u32,
        env: &mut E,
    ) -> Option<Position> {
        Self::draw_weighted(self, most, |position, packet| weight(position, packet.meta.len), env)
    }

    fn at_rank(&mut self, rank: u32) -> Option<Position> {
        Self::at_rank(self, rank)
    }

    fn places(&self) -> impl DoubleEndedIterator<Item = Position> {
        self.positions()
    }

    #[inline]
    fn candidate<E: Env<H>>(&self, place: Position, env: &mut E) -> Option<Candidate<Position>> {
        let packet = self.get(place)?;
        env.drawn(packet);
        Some(Candidate { place, flow: packet.meta.flow, len: packet.meta.len })
    }

    #[inline(always)]
    fn draw_candidate<E: Env<H>>(&mut self, env: &mut E) -> Option<Candidate<Position>> {
        let (place, packet) = self.draw_packet(env)?;
        env.drawn(packet);
        Some(Candidate { place, flow: packet.meta.flow, len: packet.meta.len })
    }

    #[inline]
    fn discard<E: Env<H>>(&mut self, place: Position, cause: DropCause, env: &mut E) -> Option<u32> {
        let packet = self.remove(place)?;
        let len = packet.meta.len;
        env.dropped(packet, cause);
        Some(len)
    }
}

/// Empties a slot; one that is empty is not written to, which spares building what to write.
#[inline(always)]
fn take_from<H>(slot: &mut Slot<H>) -> Option<Packet<H>> {
    if slot.is_none() {
        return None;
    }
    slot.take()
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::arithmetic::philox::Philox;
    use crate::contract::packet::Meta;
    use crate::contract::stats::DropCause;
    use crate::contract::time::Time;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::{vec, vec::Vec};

    struct Dice(Philox);
    impl Env<u32> for Dice {
        fn now(&self) -> Time {
            Time::ZERO
        }
        fn flow_key(&self) -> [u64; 2] {
            [0, 0]
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
        #![proptest_config(fairdrop_reference::cases())]
        /// The ring against a plain list with immediate removal.
        #[test]
        fn behaves_as_a_plain_list(steps in steps(), limit in 1_u32..40) {
            let mut fifo = LeakyFifo::new(vec![None; slots_for(limit)]);
            let mut list: VecDeque<u32> = VecDeque::new();
            let mut dice = Dice(Philox::new(u64::from(limit), 0, 0));
            for (handle, step) in steps.into_iter().enumerate() {
                prop_assert_eq!(fifo.has_room(limit), list.len() < limit as usize);
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
                let ends = [fifo.at(0), Position(fifo.index(fifo.tail.wrapping_sub(1)))];
                prop_assert_eq!(fifo.is_empty(), list.is_empty());
                prop_assert!(list.is_empty() || ends.iter().all(|&at| fifo.is_live(at)), "a hole at an end");
                prop_assert_eq!(fifo.bytes(), list.iter().map(|&h| u64::from(h) + 1).sum::<u64>());
                prop_assert_eq!(fifo.front().and_then(|at| fifo.get(at)).map(|p| p.handle), list.front().copied());
                prop_assert_eq!(fifo.back().and_then(|at| fifo.get(at)).map(|p| p.handle), list.back().copied());
            }
        }
    }

    /// Lengths of `packets` packets, handle by handle.
    type Lengths = fn(u32) -> u32;

    /// Chi-squared over live packets with holes present; each is expected as often as its share of the weight. For k
    /// cells the statistic has mean k - 1 and variance 2(k - 1) and a little more with unequal cells; five standard
    /// deviations either way (too even is suspect as well).
    fn assert_drawn_by_weight(
        packets: u32,
        draws_per_packet: u64,
        length: Lengths,
        mut draw: impl FnMut(&mut LeakyFifo<u32, Vec<Slot<u32>>>, &mut Dice) -> Option<Position>,
    ) {
        let mut fifo = LeakyFifo::new(vec![None; slots_for(packets)]);
        let mut dice = Dice(Philox::new(5, 0, 0));
        let packet = |handle| Packet::new(Meta::of_flow(1, length(handle)), Time::ZERO, handle);
        for handle in 0..packets {
            assert_eq!(fifo.push(packet(handle)), None);
        }
        for _ in 0..packets * 2 / 5 {
            let at = fifo.draw(&mut dice).unwrap();
            fifo.remove(at);
        }
        assert!(fifo.holes > 0, "the test needs holes");
        let live = u64::from(fifo.len());
        let mut seen = vec![0_u64; packets as usize];
        let draws = live * draws_per_packet;
        for _ in 0..draws {
            let at = draw(&mut fifo, &mut dice).unwrap();
            seen[fifo.get(at).unwrap().handle as usize] += 1;
        }
        let chi_squared: f64 = fifo
            .iter()
            .map(|p| {
                let expected = draws as f64 * f64::from(p.meta.len) / fifo.bytes() as f64;
                (seen[p.handle as usize] as f64 - expected).powi(2) / expected
            })
            .sum();
        let freedom = (live - 1) as f64;
        let deviations = (chi_squared - freedom) / (2.0 * freedom).sqrt();
        assert!(deviations.abs() < 5.0, "{packets} packets: {deviations} standard deviations");
    }

    #[test]
    fn draws_are_uniform_over_live_packets() {
        for (packets, draws) in [(300, 2000), (100_000, 50)] {
            assert_drawn_by_weight(packets, draws, |_| 1, LeakyFifo::draw);
            assert_drawn_by_weight(packets, draws, |_| 1, |fifo, dice| fifo.draw_by(Stream::Service, dice));
            assert_drawn_by_weight(packets, draws, |_| 1, |fifo, dice| fifo.draw_weighted(1, |_, _| 1, dice));
        }
    }

    /// Lengths of 40 to 1500 bytes, and the same where a few packets are so large that most draws walk.
    #[test]
    fn weighted_draws_are_proportional_to_the_weight() {
        let mixed: Lengths = |handle| [40, 576, 1500][handle as usize % 3];
        for (packets, draws) in [(300, 2000), (100_000, 50)] {
            assert_drawn_by_weight(packets, draws, mixed, |fifo, dice| {
                fifo.draw_weighted(1500, |_, packet| packet.meta.len, dice)
            });
        }
        let extreme: Lengths = |handle| if handle % 100 == 0 { 65_535 } else { 40 };
        assert_drawn_by_weight(300, 500, extreme, |fifo, dice| {
            fifo.draw_weighted(65_535, |_, packet| packet.meta.len, dice)
        });
        // A bound far above the weights, so that every draw ends in the walk.
        assert_drawn_by_weight(300, 500, mixed, |fifo, dice| {
            fifo.draw_weighted(u32::MAX, |_, packet| packet.meta.len, dice)
        });
    }

    #[test]
    fn nothing_is_drawn_where_nothing_weighs() {
        let mut fifo = LeakyFifo::new(vec![None; slots_for(10)]);
        let mut dice = Dice(Philox::new(1, 0, 0));
        assert_eq!(fifo.draw_weighted(9, |_, _| 9, &mut dice), None);
        for handle in 0..10 {
            fifo.push(packet(handle));
        }
        assert_eq!(fifo.draw_weighted(9, |_, _| 0, &mut dice), None);
        let only = |_, packet: &Packet<u32>| u32::from(packet.handle == 7);
        let at = fifo.draw_weighted(1 << 20, only, &mut dice).unwrap();
        assert_eq!(fifo.get(at).unwrap().handle, 7);
    }

    #[test]
    fn ranks_skip_holes() {
        let mut fifo = LeakyFifo::new(vec![None; slots_for(10)]);
        for handle in 0..10 {
            fifo.push(packet(handle));
        }
        for handle in [2, 3, 7] {
            let at = fifo.positions().find(|&at| fifo.get(at).unwrap().handle == handle).unwrap();
            fifo.remove(at);
        }
        let by_rank: Vec<_> =
            (0..8).map(|rank| fifo.at_rank(rank).map(|at| fifo.get(at).unwrap().handle)).collect();
        assert_eq!(by_rank[..7], [0, 1, 4, 5, 6, 8, 9].map(Some));
        assert_eq!(by_rank[7], None);
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
    fn storage_is_a_power_of_two_with_room_for_as_many_holes() {
        let wanted = [(0, 8), (1, 16), (4, 16), (5, 32), (12, 32), (13, 64), (1000, 2048), (1021, 4096)];
        for &(limit, slots) in &wanted {
            assert_eq!(slots_for(limit), slots, "limit {limit}");
        }
    }

    /// Positions stay what they are while there is a free slot; a full ring is closed up once.
    #[test]
    fn only_a_full_ring_is_closed_up() {
        let mut fifo = LeakyFifo::new(vec![None; 4]);
        (0..3).for_each(|handle| assert_eq!(fifo.push(packet(handle)), None));
        let at = fifo.positions().nth(1).expect("three wait");
        fifo.remove(at);
        assert_eq!(fifo.push(packet(3)), None);
        assert_eq!((fifo.span(), fifo.len()), (4, 3));
        assert_eq!(fifo.push(packet(4)), None);
        assert_eq!((fifo.span(), fifo.len()), (4, 4));
        assert_eq!(fifo.push(packet(5)).map(|p| p.handle), Some(5));
        assert!(fifo.iter().map(|p| p.handle).eq([0, 2, 3, 4]));
    }

    /// Holes are room, which takes closing up only where the ring is full.
    #[test]
    fn room_ends_at_the_limit() {
        let mut fifo = LeakyFifo::new(vec![None; 4]);
        assert_eq!((fifo.has_room(0), fifo.has_room(1)), (false, true));
        (0..4).for_each(|handle| assert_eq!(fifo.push(packet(handle)), None));
        assert!(!fifo.has_room(4));
        let at = fifo.positions().nth(1).expect("four wait");
        fifo.remove(at);
        assert_eq!((fifo.has_room(3), fifo.span()), (false, 4));
        assert_eq!((fifo.has_room(4), fifo.span()), (true, 3));
        let mut wide = LeakyFifo::new(vec![None; 8]);
        (0..4).for_each(|handle| assert_eq!(wide.push(packet(handle)), None));
        let at = wide.positions().nth(1).expect("four wait");
        wide.remove(at);
        assert_eq!((wide.has_room(4), wide.span()), (true, 4));
    }

    /// Where a host fetches from memory is where the draw with that number ends, and the draw after a push.
    #[test]
    fn a_draw_looks_where_it_was_predicted() {
        let mut fifo = LeakyFifo::new(vec![None; 16]);
        (0..11).for_each(|handle| assert_eq!(fifo.push(packet(handle)), None));
        (0..4).for_each(|_| assert!(fifo.pop().is_some()));
        let handle_at = |fifo: &LeakyFifo<u32, Vec<_>>, offset| fifo.slot(offset).cloned().flatten();
        let mut ahead = Dice(Philox::new(7, 0, 0));
        let mut dice = Dice(Philox::new(7, 0, 0));
        for handle in 11..17 {
            let number = ahead.0.next_u64();
            let (now, later) = (fifo.first_look(number, 0), fifo.first_look(number, 1));
            let predicted = handle_at(&fifo, now).map(|packet| packet.handle);
            let drawn = fifo.draw(&mut dice).and_then(|at| fifo.get(at)).map(|packet| packet.handle);
            assert!(drawn.is_some() && drawn == predicted);
            assert_eq!(fifo.push(packet(handle)), None);
            assert_eq!(fifo.first_look(number, 0), later);
        }
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
        assert_eq!(fifo.span(), 1000);
        let mut dice = Dice(Philox::new(1, 0, 0));
        fifo.draw(&mut dice);
        assert_eq!((fifo.span(), fifo.len()), (2, 2));
    }
}
