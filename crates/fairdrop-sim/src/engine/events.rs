//! Pending events: 16-byte keys, ordered by time and then by the order they were scheduled in. The few that come next are
//! kept sorted, the others, if there are any, in a heap; two places before them keep both small.
//!
//! - Packets on one link, or on the alike links of a group's hosts, arrive in the order in which they were sent, or
//!   nearly so. Such events wait in a lane, a ring of which only the first is pending, however many packets are
//!   under way. An event that is far from the order of its lane is pending itself.
//! - Timers, of which there is one for each flow, wait in a calendar until their slot of some milliseconds comes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::prefetch::{BATCH, prefetch, prefetch_behind};
use fairdrop::Time;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A port has finished sending a packet. Entity: port.
    Sent = 0,
    /// A packet reaches its next link. Entity: packet.
    Arrive = 1,
    /// The next packet of an open-loop source reaches its first link. Entity: flow.
    Source = 2,
    /// A packet reaches the host at the end of its path. Entity: packet.
    Deliver = 3,
    /// A retransmission timer may have run out. Entity: flow.
    Timer = 4,
    /// A flow begins. Entity: flow.
    Start = 5,
    /// A delayed ACK may be due. Entity: flow.
    AckDue = 6,
    /// The measuring window opens.
    WarmedUp = 7,
    /// A point of the sampling grid.
    Sample = 8,
    /// A snapshot of the queues is due.
    Snapshot = 9,
    /// An application writes another segment. Entity: flow.
    Supply = 10,
    /// A connection of a population begins. Entity: group.
    Connect = 11,
    /// A link's rate changes. Entity: the change.
    Rate = 12,
    /// An open-loop source goes on looking for the next packet that crosses its own link. Entity: flow.
    Search = 13,
    /// A discipline may want to be called. Entity: link.
    Tick = 14,
    /// A packet comes to the end of an impaired link. Entity: packet.
    Emerge = 15,
}

/// By number.
const KINDS: [Kind; 1 << KIND_BITS] = [
    Kind::Sent,
    Kind::Arrive,
    Kind::Source,
    Kind::Deliver,
    Kind::Timer,
    Kind::Start,
    Kind::AckDue,
    Kind::WarmedUp,
    Kind::Sample,
    Kind::Snapshot,
    Kind::Supply,
    Kind::Connect,
    Kind::Rate,
    Kind::Search,
    Kind::Tick,
    Kind::Emerge,
];

const ENTITY_BITS: u32 = 28;
const KIND_BITS: u32 = 4;
const LANE_BITS: u32 = 12;
const ORDER_BITS: u32 = 28;
const LOW_BITS: u32 = ENTITY_BITS + KIND_BITS;
const ORDER_SHIFT: u32 = LOW_BITS + LANE_BITS;
const TIME_SHIFT: u32 = ORDER_SHIFT + ORDER_BITS;
/// The order of what happens after all else at one time.
const LAST_ORDER: u64 = (1 << ORDER_BITS) - 1;
/// Entities that an event can name: 2^28.
pub const MAX_ENTITIES: u32 = 1 << ENTITY_BITS;
/// Beyond every run; what is later counts as then. (At 1 bit/s the end of a full plain FIFO is 16 years ahead.)
const LATEST: Time = Time::from_ns((1 << (128 - TIME_SHIFT)) - 1);
/// The lane that a key of the calendar's open slot names.
const OPEN_SLOT: u32 = (1 << LANE_BITS) - 1;
/// Lanes that a key can name, beside none and the open slot.
const MAX_LANES: u32 = OPEN_SLOT - 1;
/// Rings of a lane.
const RINGS: u32 = 4;
/// Places from the end of a lane's last ring at which an event is still put into its order.
const NEAR: usize = 16;
/// How many places ahead of an event its key is prefetched; where one will be put, half as many.
const FURTHER: usize = 64;
/// Bytes of a line of the cache.
const LINE: usize = 64;
/// How many events are kept sorted: few enough that to shift them costs less than to sift.
const SOON: usize = 16;
/// Slots of the calendar.
const SLOTS: usize = 1024;
/// A slot of the calendar lasts 2^22 ns, 4.2 ms.
const SLOT_SHIFT: u32 = 22;

/// A kind of events that mostly come in some few orders: of packets sent at once the second follows the first by the
/// time on the wire, the third the second, and others come between them. So a lane has [`RINGS`], and what does not fit
/// behind the last of one goes to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane(u32);

impl Lane {
    /// Any number will do: kinds share a lane when there are too many.
    #[inline]
    pub const fn new(number: u32) -> Self {
        Self(RINGS * (number % (MAX_LANES / RINGS)))
    }
}

/// Keys in their order.
#[derive(Debug, Default)]
struct KeyRing {
    /// As many as a power of two, or none.
    slots: Box<[u128]>,
    /// Keys taken out so far, and keys put in: their places modulo the slots.
    taken: usize,
    put: usize,
}

impl KeyRing {
    fn len(&self) -> usize {
        self.put.wrapping_sub(self.taken)
    }

    #[inline(always)]
    fn place(&self, number: usize) -> usize {
        number & self.slots.len().wrapping_sub(1)
    }

    /// Puts `key` at the end, if there is room.
    #[inline(always)]
    fn push(&mut self, key: u128) -> bool {
        let place = self.place(self.put);
        if self.len() < self.slots.len()
            && let Some(slot) = self.slots.get_mut(place)
        {
            *slot = key;
            prefetch_behind(slot, FURTHER / 2);
            self.put = self.put.wrapping_add(1);
            return true;
        }
        false
    }

    /// Takes the first.
    #[inline(always)]
    fn pop(&mut self) -> Option<u128> {
        if self.taken == self.put {
            return None;
        }
        let first = self.slots.get(self.place(self.taken)).copied();
        self.taken = self.taken.wrapping_add(1);
        first
    }

    fn get(&self, index: usize) -> Option<u128> {
        self.slots.get(self.place(self.taken.wrapping_add(index))).copied()
    }

    /// Puts `key` before the one at `index`.
    fn insert(&mut self, index: usize, key: u128) {
        while !self.push(key) {
            self.grow();
        }
        for at in (index + 1..self.len()).rev() {
            let [before, place] = [at - 1, at].map(|at| self.place(self.taken.wrapping_add(at)));
            self.slots.swap(before, place);
        }
    }

    /// Doubles the slots.
    #[cold]
    fn grow(&mut self) {
        let len = self.len();
        let mut slots: Vec<u128> = (0..len).filter_map(|index| self.get(index)).collect();
        slots.resize((2 * self.slots.len()).max(SOON), 0);
        *self = Self { slots: slots.into(), taken: 0, put: len };
    }

    /// The first of them, up to the end of the storage.
    fn first_piece(&self) -> &[u128] {
        let start = self.place(self.taken);
        let end = self.slots.len().min(start + self.len());
        self.slots.get(start..end).unwrap_or(&[])
    }
}

/// Events of one ring behind its first, which is pending.
#[derive(Debug, Default)]
struct Waiting {
    ring: KeyRing,
    /// The last key.
    last: u128,
    /// Whether the first is pending.
    started: bool,
    /// How many have come.
    taken: u32,
}

impl Waiting {
    /// Puts `key` before some of the last, if it belongs there.
    fn put_near_end(&mut self, key: u128) -> bool {
        let len = self.ring.len();
        let after =
            (0..len.min(NEAR)).find(|after| self.ring.get(len - 1 - after).is_some_and(|other| other < key));
        if let Some(after) = after {
            self.ring.insert(len - after, key);
        }
        after.is_some()
    }
}

/// Keys by the slot of time that they belong to; within a slot they are sorted when it comes.
#[derive(Debug)]
struct Calendar {
    /// The slots of the present year, which lasts [`SLOTS`] of them.
    slots: Box<[Vec<u128>]>,
    /// Which of them hold something, a bit for each.
    occupied: [u64; SLOTS / 64],
    /// Keys of the year after it.
    following: Vec<u128>,
    /// Those of the years after that.
    beyond: BinaryHeap<Reverse<u128>>,
    /// Slot, counted from time 0, up to which everything has been taken out.
    opened: u64,
    /// When the first slot begins that holds something.
    next: Time,
}

impl Default for Calendar {
    fn default() -> Self {
        Self {
            slots: vec![Vec::new(); SLOTS].into(),
            occupied: [0; SLOTS / 64],
            following: Vec::new(),
            beyond: BinaryHeap::new(),
            opened: 0,
            next: Time::NEVER,
        }
    }
}

impl Calendar {
    /// Takes `key`, of an event at `at`, unless its slot has come already.
    #[inline]
    fn take(&mut self, at: Time, key: u128) -> bool {
        let slot = at.ns() >> SLOT_SHIFT;
        if slot <= self.opened {
            return false;
        }
        match slot / SLOTS as u64 - self.opened / SLOTS as u64 {
            0 => self.put(slot, key),
            1 => self.following.push(key),
            _ => self.beyond.push(Reverse(key)),
        }
        self.next = self.next.min(Time::from_ns(slot << SLOT_SHIFT));
        true
    }

    /// Puts `key` into a slot of this year.
    #[inline]
    fn put(&mut self, slot: u64, key: u128) {
        let place = slot as usize % SLOTS;
        self.slots[place].push(key);
        self.occupied[place / 64] |= 1 << (place % 64);
    }

    /// Moves the keys of the next slot into `open`, which is empty, the last of them first.
    fn open(&mut self, open: &mut Vec<u128>) {
        self.opened = self.next.ns() >> SLOT_SHIFT;
        if self.occupied.iter().all(|&bits| bits == 0) {
            self.begin_year();
        }
        let place = self.opened as usize % SLOTS;
        std::mem::swap(open, &mut self.slots[place]);
        self.occupied[place / 64] &= !(1 << (place % 64));
        open.sort_unstable_by(|a, b| b.cmp(a));
        self.next = self.first_slot().map_or_else(|| self.first_of_later_years(), Time::from_ns);
    }

    /// Sorts what belongs to the year of the slot that is opened into slots.
    fn begin_year(&mut self) {
        let year = self.opened / SLOTS as u64;
        // Of the year after the last: of this one, or there are none.
        let mut following = std::mem::take(&mut self.following);
        following.drain(..).for_each(|key| self.put(slot_of(key), key));
        self.following = following;
        while let Some(&Reverse(key)) = self.beyond.peek()
            && slot_of(key) / SLOTS as u64 == year
        {
            self.beyond.pop();
            self.put(slot_of(key), key);
        }
    }

    /// When the first slot begins that holds something, beyond this year.
    fn first_of_later_years(&self) -> Time {
        let beyond = self.beyond.peek().map(|Reverse(key)| key);
        let first = self.following.iter().chain(beyond).min();
        first.map_or(Time::NEVER, |&key| Time::from_ns(slot_of(key) << SLOT_SHIFT))
    }

    /// When the first slot of this year begins that holds something, in ns.
    fn first_slot(&self) -> Option<u64> {
        let word = self.occupied.iter().position(|&bits| bits != 0)?;
        let place = word as u64 * 64 + u64::from(self.occupied[word].trailing_zeros());
        Some((self.opened / SLOTS as u64 * SLOTS as u64 + place) << SLOT_SHIFT)
    }
}

#[inline(always)]
fn key_of(at: Time, order: u64, kind: Kind, entity: u32) -> u128 {
    debug_assert!(entity < MAX_ENTITIES);
    u128::from(at.min(LATEST).ns()) << TIME_SHIFT
        | u128::from(order) << ORDER_SHIFT
        | u128::from((kind as u32) << ENTITY_BITS | entity)
}

/// The event of a key.
#[inline]
fn named(key: u128) -> (Kind, u32) {
    let low = key as u32;
    (KINDS[(low >> ENTITY_BITS) as usize % KINDS.len()], low & (MAX_ENTITIES - 1))
}

/// The slot of a key, counted from time 0.
#[inline]
fn slot_of(key: u128) -> u64 {
    (key >> TIME_SHIFT) as u64 >> SLOT_SHIFT
}

/// Events to come. Key: time (56 bits, 2.2 years of nanoseconds), order (28; it decides between events at the same
/// nanosecond only), lane (12, 0 for none), kind (4), entity (28).
#[derive(Debug, Default)]
pub struct Events {
    /// The first `len` keys come before all others, the last of them first.
    soon: [u128; SOON],
    len: usize,
    later: BinaryHeap<Reverse<u128>>,
    lanes: Vec<Waiting>,
    calendar: Calendar,
    /// The keys of the calendar's open slot behind its first, which is pending; the last first.
    open_slot: Vec<u128>,
    order: u64,
    /// The lane of the last event.
    lane: u32,
}

impl Events {
    /// Schedules `kind` for `entity` at `at`; events at one time happen in the order they were scheduled.
    #[inline(never)]
    pub fn push(&mut self, at: Time, kind: Kind, entity: u32) {
        let key = self.key(at, kind, entity);
        self.insert(key);
    }

    /// The same, for an event that happens before all others at `at`.
    #[inline(never)]
    pub fn push_first(&mut self, at: Time, kind: Kind, entity: u32) {
        self.insert(key_of(at, 0, kind, entity));
    }

    /// The same, for an event that happens after all others at `at`.
    #[inline(never)]
    pub fn push_last(&mut self, at: Time, kind: Kind, entity: u32) {
        self.insert(key_of(at, LAST_ORDER, kind, entity));
    }

    /// The same, for an event of which there is mostly one after another.
    #[inline(always)]
    pub fn push_next(&mut self, at: Time, kind: Kind, entity: u32) {
        let key = self.key(at, kind, entity);
        self.insert(key);
    }

    /// The same, for one of many events that are mostly far ahead.
    #[inline]
    pub fn push_far(&mut self, at: Time, kind: Kind, entity: u32) {
        let at = at.min(LATEST);
        let key = self.key(at, kind, entity);
        if !self.calendar.take(at, key | u128::from(OPEN_SLOT) << LOW_BITS) {
            self.insert(key);
        }
    }

    /// The same, for an event that is mostly later than the one scheduled before it in its lane.
    #[inline(always)]
    pub fn push_in(&mut self, Lane(lane): Lane, at: Time, kind: Kind, entity: u32) {
        let key = self.key(at, kind, entity) | u128::from(lane + 1) << LOW_BITS;
        let Some(waiting) = self.lanes.get_mut(lane as usize) else { return self.open_lane(lane, key) };
        if waiting.started {
            return self.follow(lane, key);
        }
        waiting.started = true;
        waiting.last = key;
        self.insert(key);
    }

    /// The first event of a new lane.
    #[cold]
    fn open_lane(&mut self, lane: u32, key: u128) {
        self.lanes.resize_with((lane + RINGS) as usize, Waiting::default);
        self.lanes[lane as usize] = Waiting { started: true, last: key, ..Waiting::default() };
        self.insert(key);
    }

    /// An event of a lane whose first is pending.
    #[inline(never)]
    fn follow(&mut self, lane: u32, key: u128) {
        // Nearly always behind the last of the first ring, which has room.
        if let Some(waiting) = self.lanes.get_mut(lane as usize)
            && key > waiting.last
            && waiting.ring.push(key)
        {
            waiting.last = key;
            return;
        }
        self.follow_elsewhere(lane, key);
    }

    #[inline(never)]
    fn follow_elsewhere(&mut self, lane: u32, key: u128) {
        let mut key = key;
        for waiting in &mut self.lanes[lane as usize..(lane + RINGS) as usize] {
            if !waiting.started {
                waiting.started = true;
                waiting.last = key;
                return self.insert(key);
            }
            if key > waiting.last {
                waiting.last = key;
                while !waiting.ring.push(key) {
                    waiting.ring.grow();
                }
                return;
            }
            // The number of the ring is in the key.
            key += 1 << LOW_BITS;
        }
        let last = lane + RINGS - 1;
        key -= 1 << LOW_BITS;
        if !self.lanes[last as usize].put_near_end(key) {
            self.insert(key & !(u128::from(OPEN_SLOT) << LOW_BITS));
        }
    }

    #[inline]
    fn key(&mut self, at: Time, kind: Kind, entity: u32) -> u128 {
        let order = self.order & LAST_ORDER;
        self.order += 1;
        key_of(at, order, kind, entity)
    }

    /// The next event.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Time, Kind, u32)> {
        let key = loop {
            let last = self.len.wrapping_sub(1);
            if let Some(&key) = self.soon.get(last)
                && ((key >> TIME_SHIFT) as u64) < self.calendar.next.ns()
            {
                self.len = last;
                break key;
            }
            if !self.look_further() {
                return None;
            }
        };
        let lane = (key >> LOW_BITS) as u32 & OPEN_SLOT;
        self.lane = lane;
        if lane > 0
            && let Some(next) = self.next_of(lane)
        {
            self.insert(next);
        }
        let (kind, entity) = named(key);
        Some((Time::from_ns((key >> TIME_SHIFT) as u64), kind, entity))
    }

    /// No event comes soon, or the calendar's next slot comes before it: takes from the others. Returns whether there are any.
    #[inline(never)]
    fn look_further(&mut self) -> bool {
        if self.len == 0 {
            self.refill();
            if self.len > 0 {
                return true;
            }
        }
        if self.calendar.next == Time::NEVER {
            return false;
        }
        // Whatever was left of the slot before would be first.
        self.calendar.open(&mut self.open_slot);
        if let Some(first) = self.open_slot.pop() {
            self.insert(first);
        }
        true
    }

    /// When the next event is, where none is far: of timers there are none.
    pub fn next_at(&mut self) -> Option<Time> {
        if self.len == 0 {
            self.refill();
        }
        debug_assert!(self.calendar.next == Time::NEVER, "timers would have to be asked too");
        self.len.checked_sub(1).map(|last| Time::from_ns((self.soon[last] >> TIME_SHIFT) as u64))
    }

    /// Whether to look ahead: the last event was one of every [`BATCH`] of its ring, or of its slot of the calendar.
    #[inline(always)]
    pub fn is_time_to_look(&self) -> bool {
        let waiting = self.lanes.get((self.lane as usize).wrapping_sub(1));
        match waiting {
            Some(waiting) => waiting.taken.is_multiple_of(BATCH as u32),
            None => self.lane == OPEN_SLOT && self.open_slot.len().is_multiple_of(BATCH),
        }
    }

    /// The kind of the next event of the last one's ring or slot, and the entities of those that follow it after `places`
    /// others, [`BATCH`] each time, of which most are of that kind: of a slot as many as are left, of a ring none unless all
    /// are there in one piece. Prefetches keys behind them: a long ring is in no cache itself.
    #[inline]
    pub fn coming<const N: usize>(
        &self,
        places: [usize; N],
    ) -> Option<(Kind, [impl Iterator<Item = u32>; N])> {
        let entity = |&key: &u128| key as u32 & (MAX_ENTITIES - 1);
        if self.lane == OPEN_SLOT {
            // Its first is the last.
            let (len, last) = (self.open_slot.len(), self.open_slot.last()?);
            let ends = places.map(|place| len.saturating_sub(place));
            let entities = |end: usize| self.open_slot[end.saturating_sub(BATCH)..end].iter().map(entity);
            return Some((named(*last).0, ends.map(entities)));
        }
        let keys = self.lanes.get((self.lane as usize).wrapping_sub(1))?.ring.first_piece();
        let further = keys.get(FURTHER..FURTHER + BATCH)?;
        further.iter().step_by(LINE / size_of::<u128>()).for_each(prefetch);
        let entities = |place| keys[place..place + BATCH].iter().map(entity);
        Some((named(keys[0]).0, places.map(entities)))
    }

    /// Takes what comes after the first of `lane`.
    #[inline]
    fn next_of(&mut self, lane: u32) -> Option<u128> {
        if lane == OPEN_SLOT {
            return self.open_slot.pop();
        }
        let waiting = &mut self.lanes[lane as usize - 1];
        let next = waiting.ring.pop();
        waiting.taken = waiting.taken.wrapping_add(1);
        waiting.started = next.is_some();
        next
    }

    /// Puts `key` into its place.
    #[inline(always)]
    fn insert(&mut self, key: u128) {
        if self.len < SOON && self.later.is_empty() {
            self.put(key);
        } else {
            self.insert_among_many(key);
        }
    }

    /// Puts `key` among those that come soon, of which there are less than [`SOON`].
    #[inline(always)]
    fn put(&mut self, key: u128) {
        let Some((mut place, before)) = self.soon.get_mut(..=self.len).and_then(<[u128]>::split_last_mut)
        else {
            return;
        };
        self.len += 1;
        for other in before.iter_mut().rev() {
            if *other >= key {
                break;
            }
            *place = *other;
            place = other;
        }
        *place = key;
    }

    #[inline(never)]
    fn insert_among_many(&mut self, key: u128) {
        if self.later.peek().is_some_and(|&Reverse(first)| key > first) {
            return self.later.push(Reverse(key));
        }
        if self.len == SOON {
            // One of them is the first of the others now: the new one, or the latest.
            let latest = self.soon[0];
            self.later.push(Reverse(latest.max(key)));
            if key > latest {
                return;
            }
            self.soon.copy_within(1.., 0);
            self.len -= 1;
        }
        self.put(key);
    }

    /// Nothing comes soon: takes the first of those that come later.
    #[inline(never)]
    fn refill(&mut self) {
        while self.len < SOON / 2
            && let Some(Reverse(key)) = self.later.pop()
        {
            self.put(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever goes through which lane or the calendar, in order or not, near or years ahead.
        #[test]
        fn pops_by_time_then_by_order(
            times in prop::collection::vec((0_u64..50, 0_u32..6, 0_u32..30), 1..300),
            pop_after in prop::collection::vec(prop::bool::weighted(0.3), 300),
        ) {
            let mut events = Events::default();
            let mut expected: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            for (entity, &(time, lane, scale)) in times.iter().enumerate() {
                let at = Time::from_ns(now + (time << if lane < 4 { 0 } else { scale }));
                match lane {
                    4 | 5 => events.push_far(at, Kind::Arrive, entity as u32),
                    0 => events.push(at, Kind::Arrive, entity as u32),
                    _ => events.push_in(Lane::new(lane), at, Kind::Arrive, entity as u32),
                }
                expected.push((at.ns(), entity as u32));
                if pop_after[entity] {
                    let (at, _, first) = events.pop().unwrap();
                    expected.sort_unstable();
                    prop_assert_eq!((at.ns(), first), expected.remove(0));
                    now = at.ns();
                }
            }
            expected.sort_unstable();
            for expected in expected {
                let (at, kind, entity) = events.pop().unwrap();
                prop_assert_eq!((at.ns(), entity, kind), (expected.0, expected.1, Kind::Arrive));
            }
            prop_assert_eq!(events.pop(), None);
        }
    }

    #[test]
    fn first_and_last_of_one_time_do_not_depend_on_when_they_were_scheduled() {
        let (mut events, at) = (Events::default(), Time::from_ns(7));
        events.push_last(at, Kind::Sent, 3);
        events.push(at, Kind::Arrive, 1);
        events.push_in(Lane::new(2), at, Kind::Arrive, 2);
        events.push_first(at, Kind::Sent, 0);
        events.push(Time::from_ns(8), Kind::Arrive, 4);
        let entities: Vec<_> = std::iter::from_fn(|| events.pop()).map(|(.., entity)| entity).collect();
        assert_eq!(entities, [0, 1, 2, 3, 4]);
    }

    /// Years beyond what a key can hold are later than everything within it, by whatever way they come.
    #[test]
    fn what_is_too_far_ahead_comes_last() {
        let mut events = Events::default();
        let far = [1 << 56, (1 << 56) + 7, 1 << 60, u64::MAX];
        for (entity, at) in (10..).zip(far) {
            events.push(Time::from_ns(at), Kind::Sent, entity);
            events.push_far(Time::from_ns(at), Kind::Timer, entity + 10);
            events.push_in(Lane::new(0), Time::from_ns(at), Kind::Arrive, entity + 20);
        }
        events.push(Time::from_ms(10_000_000_000), Kind::Sent, 1);
        assert_eq!(events.pop(), Some((Time::from_ms(10_000_000_000), Kind::Sent, 1)));
        for _ in 0..3 * far.len() {
            assert!(events.pop().is_some_and(|(at, ..)| at == LATEST));
        }
        assert_eq!(events.pop(), None);
    }

    /// Events announced to come after the next one come after it: of a ring, and of a slot of the calendar up to its end.
    #[test]
    fn what_is_coming_comes() {
        let (mut lane, mut slot) = (Events::default(), Events::default());
        for entity in 0..300 {
            lane.push_in(Lane::new(0), Time::from_ns(u64::from(entity)), Kind::Deliver, entity);
            slot.push_far(Time::from_ns((1 << SLOT_SHIFT) + u64::from(entity)), Kind::Timer, entity);
        }
        for (mut events, kind, least) in [(lane, Kind::Deliver, 13), (slot, Kind::Timer, 18)] {
            let mut looks = 0;
            while let Some((_, _, entity)) = events.pop() {
                if !events.is_time_to_look() {
                    continue;
                }
                let Some((coming, [near, far])) = events.coming([2, 2 + BATCH]) else { continue };
                assert_eq!(coming, kind);
                let expected = |place: u32| (entity + 2 + place..300).take(BATCH).collect::<Vec<_>>();
                let in_order = |found: Vec<u32>| {
                    let mut found = found;
                    found.sort_unstable();
                    found
                };
                assert_eq!(in_order(near.collect()), expected(2), "after {entity}");
                assert_eq!(in_order(far.collect()), expected(2 + BATCH as u32), "after {entity}");
                looks += 1;
            }
            assert!(looks >= least, "{looks}");
        }
    }
}
