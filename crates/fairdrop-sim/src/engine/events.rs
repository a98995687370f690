//! Pending events: a four-ary heap of 16-byte keys, ordered by time and then by the order they were scheduled in,
//! and lanes before it.
//!
//! Packets on one link, or on the alike links of a group's hosts, arrive in the order in which they were sent. Such
//! events wait in a lane, a ring of which only the first is in the heap, so that the heap stays small however many
//! packets are under way. An event that would break the order of its lane goes to the heap itself.

use std::collections::VecDeque;

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
    /// A packet reaches the host at the end of its way. Entity: packet.
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
}

const KINDS: [Kind; 13] = [
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
];

const ENTITY_BITS: u32 = 28;
const KIND_BITS: u32 = 4;
const LANE_BITS: u32 = 12;
const ORDER_BITS: u32 = 28;
const LOW_BITS: u32 = ENTITY_BITS + KIND_BITS;
const ORDER_SHIFT: u32 = LOW_BITS + LANE_BITS;
const TIME_SHIFT: u32 = ORDER_SHIFT + ORDER_BITS;
/// Entities that an event can name: 2^28.
const MAX_ENTITIES: u32 = 1 << ENTITY_BITS;
/// Lanes that a key can name, beside none.
const MAX_LANES: u32 = (1 << LANE_BITS) - 1;

/// A kind of events that mostly come in order; any number will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane(pub u32);

/// Events of one lane behind its first, which is in the heap.
#[derive(Debug, Default)]
struct Waiting {
    ring: VecDeque<u128>,
    /// The key that was added last.
    last: u128,
    /// Whether the first of the lane is in the heap.
    started: bool,
}

/// Events to come. Key: time (56 bits, 2.2 years of nanoseconds), order (28; it decides between events at the same
/// nanosecond only), lane (12, 0 for none), kind (4), entity (28).
#[derive(Debug, Default)]
pub struct Events {
    heap: Vec<u128>,
    lanes: Vec<Waiting>,
    order: u64,
    /// The root was taken and not yet replaced: most events schedule another, which then takes its place.
    root_taken: bool,
}

impl Events {
    /// Schedules `kind` for `entity` at `at`; events at one time happen in the order they were scheduled.
    #[inline]
    pub fn push(&mut self, at: Time, kind: Kind, entity: u32) {
        let key = self.key(at, kind, entity);
        self.insert(key);
    }

    /// The same, for an event that is mostly later than the one scheduled before it in its lane.
    #[inline]
    pub fn push_in(&mut self, Lane(lane): Lane, at: Time, kind: Kind, entity: u32) {
        let key = self.key(at, kind, entity);
        let number = lane % MAX_LANES;
        if number as usize >= self.lanes.len() {
            self.lanes.resize_with(number as usize + 1, Waiting::default);
        }
        let waiting = &mut self.lanes[number as usize];
        let laned = key | u128::from(number + 1) << LOW_BITS;
        if !waiting.started {
            waiting.started = true;
            waiting.last = laned;
            self.insert(laned);
        } else if laned > waiting.last {
            waiting.last = laned;
            waiting.ring.push_back(laned);
        } else {
            self.insert(key);
        }
    }

    #[inline]
    fn key(&mut self, at: Time, kind: Kind, entity: u32) -> u128 {
        debug_assert!(entity < MAX_ENTITIES);
        let order = self.order & ((1 << ORDER_BITS) - 1);
        self.order += 1;
        u128::from(at.ns()) << TIME_SHIFT
            | u128::from(order) << ORDER_SHIFT
            | u128::from((kind as u32) << ENTITY_BITS | entity)
    }

    #[inline]
    fn insert(&mut self, key: u128) {
        if self.root_taken {
            self.root_taken = false;
            self.sift_down(key);
        } else {
            self.heap.push(key);
            self.sift_up(self.heap.len() - 1);
        }
    }

    /// The next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, Kind, u32)> {
        if self.root_taken {
            let last = self.heap.pop()?;
            if self.heap.is_empty() {
                self.root_taken = false;
                return None;
            }
            self.sift_down(last);
        }
        let key = *self.heap.first()?;
        self.root_taken = true;
        let lane = (key >> LOW_BITS) as u32 & MAX_LANES;
        if lane > 0 {
            let waiting = &mut self.lanes[lane as usize - 1];
            if let Some(next) = waiting.ring.pop_front() {
                self.root_taken = false;
                self.sift_down(next);
            } else {
                waiting.started = false;
            }
        }
        let low = key as u32;
        let kind = KINDS[(low >> ENTITY_BITS) as usize % KINDS.len()];
        Some((Time::from_ns((key >> TIME_SHIFT) as u64), kind, low & (MAX_ENTITIES - 1)))
    }

    #[inline]
    fn sift_up(&mut self, mut at: usize) {
        let heap = self.heap.as_mut_slice();
        let key = heap[at];
        while at > 0 {
            let parent = (at - 1) / 4;
            if heap[parent] <= key {
                break;
            }
            heap[at] = heap[parent];
            at = parent;
        }
        heap[at] = key;
    }

    /// Puts `key` where the root was.
    #[inline]
    fn sift_down(&mut self, key: u128) {
        let heap = self.heap.as_mut_slice();
        let mut at = 0;
        loop {
            let first = 4 * at + 1;
            let least = match heap.get(first..first + 4) {
                // All four: a tournament, which compiles to conditional moves.
                Some(&[a, b, c, d]) => {
                    let (low, low_at) = if b < a { (b, 1) } else { (a, 0) };
                    let (high, high_at) = if d < c { (d, 3) } else { (c, 2) };
                    first + if high < low { high_at } else { low_at }
                }
                _ => match (first..heap.len()).min_by_key(|&child| heap[child]) {
                    Some(child) => child,
                    None => break,
                },
            };
            if heap[least] >= key {
                break;
            }
            heap[at] = heap[least];
            at = least;
        }
        heap[at] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever goes through which lane, in order or not.
        #[test]
        fn pops_by_time_then_by_order(
            times in prop::collection::vec((0_u64..50, 0_u32..4), 1..300),
            pop_after in prop::collection::vec(any::<bool>(), 300),
        ) {
            let mut events = Events::default();
            let mut expected: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            for (entity, &(time, lane)) in times.iter().enumerate() {
                let at = Time::from_ns(now + time);
                match lane {
                    0 => events.push(at, Kind::Arrive, entity as u32),
                    _ => events.push_in(Lane(lane), at, Kind::Arrive, entity as u32),
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
}
