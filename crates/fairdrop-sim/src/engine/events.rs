//! Pending events: a four-ary heap of 16-byte keys, ordered by time and then by the order they were scheduled in.

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
const ORDER_BITS: u32 = 40;
const LOW_BITS: u32 = ENTITY_BITS + KIND_BITS;
/// Entities that an event can name: 2^28.
const MAX_ENTITIES: u32 = 1 << ENTITY_BITS;

/// Events to come. Key: time (56 bits, 2.2 years of nanoseconds), order (40), kind (4), entity (28).
#[derive(Debug, Default)]
pub struct Events {
    heap: Vec<u128>,
    order: u64,
    /// The root was taken and not yet replaced: most events schedule another, which then takes its place.
    root_taken: bool,
}

impl Events {
    /// Schedules `kind` for `entity` at `at`; events at one time happen in the order they were scheduled.
    #[inline]
    pub fn push(&mut self, at: Time, kind: Kind, entity: u32) {
        debug_assert!(entity < MAX_ENTITIES);
        let key = u128::from(at.ns()) << (ORDER_BITS + LOW_BITS)
            | u128::from(self.order & ((1 << ORDER_BITS) - 1)) << LOW_BITS
            | u128::from((kind as u32) << ENTITY_BITS | entity);
        self.order += 1;
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
        let low = key as u32;
        let kind = KINDS[(low >> ENTITY_BITS) as usize % KINDS.len()];
        Some((Time::from_ns((key >> (ORDER_BITS + LOW_BITS)) as u64), kind, low & (MAX_ENTITIES - 1)))
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
        #[test]
        fn pops_by_time_then_by_order(times in prop::collection::vec(0_u64..50, 1..300), split in 0_usize..300) {
            let mut events = Events::default();
            let mut expected: Vec<(u64, u32)> = Vec::new();
            let mut popped = Vec::new();
            for (entity, &time) in times.iter().enumerate() {
                events.push(Time::from_ns(time), Kind::Arrive, entity as u32);
                expected.push((time, entity as u32));
                if entity == split {
                    let (at, _, first) = events.pop().unwrap();
                    expected.sort_unstable();
                    prop_assert_eq!((at.ns(), first), expected.remove(0));
                }
            }
            while let Some((at, kind, entity)) = events.pop() {
                prop_assert_eq!(kind, Kind::Arrive);
                popped.push((at.ns(), entity));
            }
            expected.sort_unstable();
            prop_assert_eq!(popped, expected);
        }
    }
}
