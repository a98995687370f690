//! Packets that wait in somebody else's ring, by an array of 32-bit ids beside it: for decisions on whole bursts.

use crate::contract::decision::{Candidate, Waiting};
use crate::contract::env::{Env, Stream};
use crate::contract::packet::{Ecn, Meta};
use crate::contract::stats::DropCause;
use crate::storage::draws::{draw_slot, draw_slot_by_weight};
use crate::storage::ring::Victim;

/// Id of a slot whose packet was dropped in its place. A packet with this id is taken for one of the next lower id.
pub const NO_ID: u32 = u32::MAX;

/// The id under which a packet with `id` is compared.
#[inline(always)]
pub(crate) const fn id_of(id: u32) -> u32 {
    id - (id == NO_ID) as u32
}

/// A burst of arrivals, as the owner of a ring knows them: an id and a length for each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrivals<'a> {
    /// Ids of their flows, compared for equality only.
    pub ids: &'a [u32],
    /// Their lengths in bytes; there are as many arrivals as both have.
    pub lens: &'a [u32],
    /// Their ECN fields; those that are missing are not ECN-capable.
    pub ecn: &'a [Ecn],
}

impl Arrivals<'_> {
    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.ids.len().min(self.lens.len())
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those from `at` on.
    #[inline(always)]
    pub(crate) fn from(&self, at: usize) -> Self {
        Self {
            ids: self.ids.get(at..).unwrap_or(&[]),
            lens: self.lens.get(at..).unwrap_or(&[]),
            ecn: self.ecn.get(at..).unwrap_or(&[]),
        }
    }

    /// The first `most`.
    #[inline(always)]
    pub(crate) fn first(&self, most: usize) -> Self {
        let most = most.min(self.len());
        Self {
            ids: self.ids.get(..most).unwrap_or(&[]),
            lens: self.lens.get(..most).unwrap_or(&[]),
            ecn: self.ecn,
        }
    }

    /// The first one.
    #[inline]
    pub(crate) fn next(&self) -> Option<Meta> {
        let flow = u64::from(id_of(*self.ids.first()?));
        let ecn = self.ecn.first().copied().unwrap_or_default();
        Some(Meta { ecn, ..Meta::of_flow(flow, *self.lens.first()?) })
    }

    /// Bytes of the first `most`.
    #[inline(always)]
    pub(crate) fn bytes(&self, most: usize) -> u64 {
        self.lens.iter().take(most).map(|&len| u64::from(len)).sum()
    }
}

/// The part of a ring that packets wait in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupied {
    /// Sequence number of the oldest slot; the slot itself is this modulo the slots of the ring.
    pub head: u32,
    /// Sequence number after the newest slot.
    pub tail: u32,
    /// Packets waiting: slots between the two, less those with [`NO_ID`].
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
}

/// The waiting packets of a queue that the caller keeps, for a burst of arrivals: for each slot of the ring an id, [`NO_ID`] where
/// a packet was dropped in its place, and a length in bytes.
///
/// A decision writes those of arrivals that are to be queued behind `tail`, and [`NO_ID`] over the ids of waiting packets that are
/// to be dropped, which it lists. The caller then puts the arrivals into their slots, in order, and drops the victims, among
/// which arrivals of the same burst may be. It moves `head` past empty slots when it likes: a draw that meets one is made again.
#[derive(Debug)]
pub struct IdRing<'a> {
    ids: &'a mut [u32],
    lens: &'a mut [u32],
    occupied: Occupied,
    victims: &'a mut [Victim],
    dropped: usize,
}

/// The packets that wait in a ring at one time, before newer ones come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Older {
    tail: u32,
    packets: u32,
    dropped: usize,
}

impl<'a> IdRing<'a> {
    /// A ring with the ids and lengths of its slots, and the part of it that packets wait in. `victims` has room for every candidate
    /// of the burst; without room a packet that was to be dropped stays. `None` when the slots are no power of two, ids and lengths
    /// are not equally many, or fewer than are occupied, or than packets wait.
    pub fn new(
        ids: &'a mut [u32],
        lens: &'a mut [u32],
        occupied: Occupied,
        victims: &'a mut [Victim],
    ) -> Option<Self> {
        let span = occupied.tail.wrapping_sub(occupied.head);
        let is_ring = ids.len().is_power_of_two() && ids.len() == lens.len() && ids.len() <= 1 << 31;
        let fits = span as usize <= ids.len() && occupied.packets <= span;
        (is_ring && fits).then_some(Self { ids, lens, occupied, victims, dropped: 0 })
    }

    /// What is occupied now, with the arrivals that are to be queued and without the victims.
    pub fn occupied(&self) -> Occupied {
        self.occupied
    }

    /// The slots of waiting packets that are to be dropped, in the order of the decisions.
    pub fn victims(&self) -> &[Victim] {
        self.victims.get(..self.dropped).unwrap_or(&[])
    }

    /// Those that wait now.
    #[inline]
    pub(crate) fn older(&self) -> Older {
        let Occupied { tail, packets, .. } = self.occupied;
        Older { tail, packets, dropped: self.dropped }
    }

    /// The ring with candidates drawn from `older` alone, or, without it, from all.
    #[inline]
    pub(crate) fn drawn_from<'r>(&'r mut self, older: Option<Older>) -> DrawnFrom<'r, 'a> {
        DrawnFrom { ring: self, older }
    }

    /// Queues an arrival; does nothing where no slot is free.
    #[inline]
    pub(crate) fn push(&mut self, meta: &Meta) {
        let index = self.index(self.span());
        if self.span() < self.ids.len()
            && let (Some(id), Some(len)) = (self.ids.get_mut(index), self.lens.get_mut(index))
        {
            (*id, *len) = (id_of(meta.flow as u32), meta.len);
            self.advance(1, u64::from(meta.len));
        }
    }

    /// Slots from the oldest to the newest, empty ones included.
    #[inline(always)]
    pub(crate) fn span(&self) -> usize {
        self.occupied.tail.wrapping_sub(self.occupied.head) as usize
    }

    /// Slots that are free.
    #[inline(always)]
    pub(crate) fn free(&self) -> usize {
        self.ids.len() - self.span()
    }

    /// The slot at an offset from the oldest.
    #[inline(always)]
    fn index(&self, offset: usize) -> usize {
        (self.occupied.head as usize).wrapping_add(offset) & self.ids.len().wrapping_sub(1)
    }

    /// Takes `packets` with `bytes` behind the tail, whose ids and lengths are written, as queued.
    #[inline(always)]
    pub(crate) fn advance(&mut self, packets: u32, bytes: u64) {
        self.occupied.tail = self.occupied.tail.wrapping_add(packets);
        self.occupied.packets += packets;
        self.occupied.bytes += bytes;
    }

    /// Writes a run of arrivals behind the tail, which counts none of them yet. `None` where fewer slots are free.
    #[inline(always)]
    pub(crate) fn write_ahead(&mut self, run: &Arrivals<'_>) -> Option<RunSlots<'_>> {
        self.write_ahead_of(run, self.span())
    }

    #[inline(always)]
    fn write_ahead_of(&mut self, run: &Arrivals<'_>, span: usize) -> Option<RunSlots<'_>> {
        if self.free() < run.len() {
            return None;
        }
        let head = u64::from(self.occupied.head);
        let from = self.index(self.span());
        write_round(self.ids, from, run.ids)?;
        write_round(self.lens, from, run.lens)?;
        let has_none = run.ids.iter().fold(0, |any, &id| any | u32::from(id == NO_ID).wrapping_neg()) != 0;
        let named = if has_none { run.ids.iter().position(|&id| id == NO_ID)? } else { run.len() };
        let mask = self.ids.len().wrapping_sub(1);
        // Cut once, so that no index below has to be checked.
        let ids = self.ids.get(..=mask)?;
        Some(RunSlots { ids, mask, head, span: span as u64, named })
    }

    fn len_at(&self, slot: u32) -> Option<u32> {
        let id = *self.ids.get(slot as usize)?;
        self.lens.get(slot as usize).copied().filter(|_| id != NO_ID)
    }

    /// The slot at an offset from the oldest, as a place.
    fn place(&self, offset: usize) -> u32 {
        self.index(offset) as u32
    }

    /// A live slot of the oldest `span`, each with the same probability.
    #[inline]
    fn draw_below<H, E: Env<H>>(&self, span: usize, env: &mut E) -> Option<u32> {
        let is_live = |offset| self.len_at(self.place(offset)).is_some();
        draw_slot(span, is_live, || env.random(Stream::Candidate)).map(|offset| self.place(offset))
    }

    /// The same, with a probability proportional to `weight`, at most `most`.
    #[inline]
    fn draw_weighted_below<H, E: Env<H>>(
        &self,
        span: usize,
        most: u32,
        weight: impl Fn(u32, u32) -> u32,
        env: &mut E,
    ) -> Option<u32> {
        let weight_at = |offset| {
            let place = self.place(offset);
            self.len_at(place).map_or(0, |len| weight(place, len))
        };
        let random = || env.random(Stream::Candidate);
        draw_slot_by_weight(span, most, weight_at, random).map(|offset| self.place(offset))
    }

    /// The live slots of the oldest `span`.
    fn places_below(&self, span: usize) -> impl DoubleEndedIterator<Item = u32> {
        (0..span).map(|offset| self.place(offset)).filter(|&place| self.len_at(place).is_some())
    }
}

/// Writes to a ring from `from` on, around its end.
#[inline(always)]
fn write_round(to: &mut [u32], from: usize, values: &[u32]) -> Option<()> {
    let straight = values.len().min(to.len().checked_sub(from)?);
    let (first, second) = values.split_at_checked(straight)?;
    to.get_mut(from..from + straight)?.copy_from_slice(first);
    to.get_mut(..second.len())?.copy_from_slice(second);
    Some(())
}

/// The slots of a ring during a run of arrivals that are all queued, whose ids lie behind the tail.
pub(crate) struct RunSlots<'a> {
    ids: &'a [u32],
    mask: usize,
    head: u64,
    span: u64,
    /// Arrivals up to the first with [`NO_ID`].
    pub(crate) named: usize,
}

impl RunSlots<'_> {
    /// Draws for arrivals with `ids`, the first of which finds `queued` others of the run among the slots and each later one
    /// `step` more. Returns how many come before the first that [may match](Self::may_match), and the number that this one drew.
    ///
    /// Out of line: among all that surrounds it half of its values would not be in registers.
    #[inline(never)]
    pub(crate) fn draw_for<H, E: Env<H>>(
        &self,
        ids: &[u32],
        queued: usize,
        step: usize,
        env: &mut E,
    ) -> Option<(usize, u64)> {
        let &Self { ids: slots, mask, head, span, named } = self;
        // Cut once more, since this is another function.
        let slots = RunSlots { ids: slots.get(..=mask)?, mask, head, span, named };
        let mut queued = queued;
        for (at, &id) in ids.iter().enumerate() {
            let number = env.random(Stream::Candidate);
            if slots.may_match(number, queued, id) {
                return Some((at, number));
            }
            queued += step;
        }
        None
    }

    /// Whether a draw with `number`, once `queued` arrivals of the run are, may end with a packet of `id`, or with none at once.
    #[inline(always)]
    pub(crate) fn may_match(&self, number: u64, queued: usize, id: u32) -> bool {
        let span = self.span + queued as u64;
        let wide = u128::from(number) * u128::from(span);
        let index = self.head.wrapping_add((wide >> 64) as u64) as usize & self.mask;
        let candidate = self.ids.get(index).copied().unwrap_or(NO_ID);
        // From the span on no number is refused (`uniform_below`).
        candidate == id || candidate == NO_ID || (wide as u64) < span
    }
}

impl<H> Waiting<H> for IdRing<'_> {
    type Place = u32;

    fn packets(&self) -> u32 {
        self.occupied.packets
    }

    fn bytes(&self) -> u64 {
        self.occupied.bytes
    }

    fn has_room(&mut self, limit: u32) -> bool {
        self.occupied.packets < limit && self.free() > 0
    }

    fn draw<E: Env<H>>(&mut self, env: &mut E) -> Option<u32> {
        if self.occupied.packets == 0 {
            return None;
        }
        self.draw_below(self.span(), env)
    }

    fn draw_weighted<E: Env<H>>(
        &mut self,
        most: u32,
        weight: impl Fn(u32, u32) -> u32,
        env: &mut E,
    ) -> Option<u32> {
        self.draw_weighted_below(self.span(), most, weight, env)
    }

    fn at_rank(&mut self, rank: u32) -> Option<u32> {
        Waiting::<H>::places(self).nth(rank as usize)
    }

    fn places(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.places_below(self.span())
    }

    fn candidate<E: Env<H>>(&self, place: u32, _env: &mut E) -> Option<Candidate<u32>> {
        let flow = u64::from(*self.ids.get(place as usize)?);
        self.len_at(place).map(|len| Candidate { place, flow, len })
    }

    fn discard<E: Env<H>>(&mut self, place: u32, cause: DropCause, _env: &mut E) -> Option<u32> {
        let len = self.len_at(place)?;
        *self.victims.get_mut(self.dropped)? = Victim { slot: place, cause };
        *self.ids.get_mut(place as usize)? = NO_ID;
        self.dropped += 1;
        self.occupied.packets -= 1;
        self.occupied.bytes = self.occupied.bytes.saturating_sub(u64::from(len));
        Some(len)
    }
}

/// A ring whose candidates are drawn from its older packets alone. All that are dropped are older.
#[derive(Debug)]
pub(crate) struct DrawnFrom<'r, 'a> {
    ring: &'r mut IdRing<'a>,
    older: Option<Older>,
}

impl DrawnFrom<'_, '_> {
    /// Packets that a draw may end with.
    #[inline(always)]
    pub(crate) fn packets(&self) -> u32 {
        let dropped_since = |older: Older| (self.ring.dropped - older.dropped) as u32;
        self.older.map_or(self.ring.occupied.packets, |older| older.packets - dropped_since(older))
    }

    /// Slots from the oldest to the newest that is drawn from.
    #[inline(always)]
    fn span(&self) -> usize {
        let tail = self.older.map_or(self.ring.occupied.tail, |older| older.tail);
        tail.wrapping_sub(self.ring.occupied.head) as usize
    }

    /// [`IdRing::write_ahead`], with draws from these slots alone.
    #[inline(always)]
    pub(crate) fn write_ahead(&mut self, run: &Arrivals<'_>) -> Option<RunSlots<'_>> {
        self.ring.write_ahead_of(run, self.span())
    }
}

impl<H> Waiting<H> for DrawnFrom<'_, '_> {
    type Place = u32;

    fn packets(&self) -> u32 {
        Waiting::<H>::packets(self.ring)
    }

    fn drawable(&self) -> u32 {
        self.packets()
    }

    fn bytes(&self) -> u64 {
        Waiting::<H>::bytes(self.ring)
    }

    fn has_room(&mut self, limit: u32) -> bool {
        Waiting::<H>::has_room(self.ring, limit)
    }

    fn draw<E: Env<H>>(&mut self, env: &mut E) -> Option<u32> {
        if self.packets() == 0 { None } else { self.ring.draw_below(self.span(), env) }
    }

    fn draw_weighted<E: Env<H>>(
        &mut self,
        most: u32,
        weight: impl Fn(u32, u32) -> u32,
        env: &mut E,
    ) -> Option<u32> {
        self.ring.draw_weighted_below(self.span(), most, weight, env)
    }

    fn at_rank(&mut self, rank: u32) -> Option<u32> {
        Waiting::<H>::places(self).nth(rank as usize)
    }

    fn places(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.ring.places_below(self.span())
    }

    fn candidate<E: Env<H>>(&self, place: u32, env: &mut E) -> Option<Candidate<u32>> {
        Waiting::<H>::candidate(self.ring, place, env)
    }

    fn discard<E: Env<H>>(&mut self, place: u32, cause: DropCause, env: &mut E) -> Option<u32> {
        self.ring.discard(place, cause, env)
    }
}
