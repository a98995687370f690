//! Many FIFOs that share one buffer, for the disciplines with a queue per flow.
//!
//! Packets lie in a slab with links to their neighbours; free slots are chained the same way. A queue is a record with
//! the ends of its chain, its length, and what its discipline keeps for it. Each queue is in at most one
//! [`QueueList`], through a link in its record: idle queues, or the rounds of a scheduler. Everything is O(1) but
//! [`QueuePool::regroup`].

use core::marker::PhantomData;

use crate::contract::packet::Packet;
use crate::contract::params::{ParamError, require};
use crate::contract::stats::Backlog;
use crate::storage::memory::Storage;

/// No slot, or no queue.
const NONE: u32 = u32::MAX;

/// A place for one packet, and for its discipline's note about it.
#[derive(Clone, Debug)]
pub struct PacketSlot<H, T = ()> {
    packet: Option<Packet<H>>,
    note: T,
    /// The packet behind, or the next free slot.
    next: u32,
    /// The packet before.
    previous: u32,
}

impl<H, T: Default> Default for PacketSlot<H, T> {
    fn default() -> Self {
        Self { packet: None, note: T::default(), next: NONE, previous: NONE }
    }
}

/// One queue, and its discipline's state.
#[derive(Clone, Debug)]
pub struct QueueSlot<Q> {
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u64,
    /// The queue behind in its list.
    next: u32,
    state: Q,
}

impl<Q: Default> Default for QueueSlot<Q> {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, packets: 0, bytes: 0, next: NONE, state: Q::default() }
    }
}

/// A list of queues, first in, first out. A queue must not be in two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueList {
    head: u32,
    tail: u32,
}

impl QueueList {
    pub(crate) const EMPTY: Self = Self { head: NONE, tail: NONE };

    /// The first queue.
    #[inline]
    pub(crate) fn first(self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }
}

/// FIFOs in borrowed storage: `packets` of [`PacketSlot`]s, `queues` of [`QueueSlot`]s. Queues are called by number.
#[derive(Clone, Debug)]
pub(crate) struct QueuePool<H, T, Q, P, S> {
    slots: P,
    queues: S,
    free: u32,
    backlog: Backlog,
    _kinds: PhantomData<(H, T, Q)>,
}

impl<H, T, Q, P, S> QueuePool<H, T, Q, P, S>
where
    T: Copy + Default,
    Q: Default,
    P: Storage<PacketSlot<H, T>>,
    S: Storage<QueueSlot<Q>>,
{
    /// Empty queues; anything in the storage is lost.
    ///
    /// # Errors
    /// There are fewer than `packets` slots or `queues` queues, or more than can be numbered.
    pub(crate) fn new(
        mut slots: P,
        mut queues: S,
        packets: usize,
        queue_count: usize,
    ) -> Result<Self, ParamError> {
        let (slot_room, queue_room) = (slots.as_ref().len(), queues.as_ref().len());
        let numbers = |least: usize, room: usize| least <= room && room < NONE as usize;
        require(numbers(packets, slot_room), "slots", slot_room as f64, "enough packet slots for limit")?;
        require(numbers(queue_count, queue_room), "queues", queue_room as f64, "enough queue slots")?;
        for (index, slot) in slots.as_mut().iter_mut().enumerate() {
            *slot = PacketSlot { next: index as u32 + 1, ..PacketSlot::default() };
        }
        if let Some(last) = slots.as_mut().last_mut() {
            last.next = NONE;
        }
        queues.as_mut().fill_with(QueueSlot::default);
        let free = if slot_room == 0 { NONE } else { 0 };
        Ok(Self { slots, queues, free, backlog: Backlog::default(), _kinds: PhantomData })
    }

    /// Packets that the pool holds.
    pub(crate) fn slot_count(&self) -> usize {
        self.slots.as_ref().len()
    }

    /// The backlog of all queues.
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Queues there are.
    #[inline]
    pub(crate) fn queue_count(&self) -> u32 {
        self.queues.as_ref().len() as u32
    }

    #[inline]
    fn queue(&self, queue: u32) -> Option<&QueueSlot<Q>> {
        self.queues.as_ref().get(queue as usize)
    }

    #[inline]
    fn queue_mut(&mut self, queue: u32) -> Option<&mut QueueSlot<Q>> {
        self.queues.as_mut().get_mut(queue as usize)
    }

    #[inline]
    fn slot(&self, slot: u32) -> Option<&PacketSlot<H, T>> {
        self.slots.as_ref().get(slot as usize)
    }

    #[inline]
    fn slot_mut(&mut self, slot: u32) -> Option<&mut PacketSlot<H, T>> {
        self.slots.as_mut().get_mut(slot as usize)
    }

    /// Packets in `queue`.
    #[inline]
    pub(crate) fn packets(&self, queue: u32) -> u32 {
        self.queue(queue).map_or(0, |queue| queue.packets)
    }

    /// Bytes in `queue`.
    #[inline]
    pub(crate) fn bytes(&self, queue: u32) -> u64 {
        self.queue(queue).map_or(0, |queue| queue.bytes)
    }

    /// The discipline's state of `queue`.
    #[inline]
    pub(crate) fn state(&self, queue: u32) -> Option<&Q> {
        self.queue(queue).map(|queue| &queue.state)
    }

    /// The discipline's state of `queue`, to change.
    #[inline]
    pub(crate) fn state_mut(&mut self, queue: u32) -> Option<&mut Q> {
        self.queue_mut(queue).map(|queue| &mut queue.state)
    }

    /// The oldest packet of `queue`, and its note.
    #[inline]
    pub(crate) fn head(&self, queue: u32) -> Option<(&Packet<H>, T)> {
        let slot = self.slot(self.queue(queue)?.head)?;
        Some((slot.packet.as_ref()?, slot.note))
    }

    /// The newest packet of `queue`, and its note.
    #[inline]
    pub(crate) fn tail(&self, queue: u32) -> Option<(&Packet<H>, T)> {
        let slot = self.slot(self.queue(queue)?.tail)?;
        Some((slot.packet.as_ref()?, slot.note))
    }

    /// Appends to `queue`; gives the packet back when no slot is free.
    #[inline]
    pub(crate) fn push(&mut self, queue: u32, packet: Packet<H>, note: T) -> Option<Packet<H>> {
        let at = self.free;
        let Some(tail) = self.queue(queue).map(|queue| queue.tail) else { return Some(packet) };
        let len = u64::from(packet.meta.len);
        let Some(slot) = self.slot_mut(at) else { return Some(packet) };
        let free = core::mem::replace(&mut slot.next, NONE);
        (slot.packet, slot.note, slot.previous) = (Some(packet), note, tail);
        self.free = free;
        if let Some(before) = self.slot_mut(tail) {
            before.next = at;
        }
        if let Some(queue) = self.queue_mut(queue) {
            if tail == NONE {
                queue.head = at;
            }
            queue.tail = at;
            queue.packets += 1;
            queue.bytes += len;
        }
        self.backlog.packets += 1;
        self.backlog.bytes += len;
        None
    }

    /// Takes the oldest packet of `queue`.
    #[inline]
    pub(crate) fn pop(&mut self, queue: u32) -> Option<Packet<H>> {
        let at = self.queue(queue)?.head;
        let next = self.slot(at)?.next;
        if let Some(after) = self.slot_mut(next) {
            after.previous = NONE;
        }
        let ends = self.queue_mut(queue)?;
        ends.head = next;
        if next == NONE {
            ends.tail = NONE;
        }
        self.release(queue, at)
    }

    /// Takes the newest packet of `queue`.
    #[inline]
    pub(crate) fn pop_tail(&mut self, queue: u32) -> Option<Packet<H>> {
        let at = self.queue(queue)?.tail;
        let previous = self.slot(at)?.previous;
        if let Some(before) = self.slot_mut(previous) {
            before.next = NONE;
        }
        let ends = self.queue_mut(queue)?;
        ends.tail = previous;
        if previous == NONE {
            ends.head = NONE;
        }
        self.release(queue, at)
    }

    /// Empties the slot `at`, which `queue` no longer links to.
    #[inline]
    fn release(&mut self, queue: u32, at: u32) -> Option<Packet<H>> {
        let free = core::mem::replace(&mut self.free, at);
        let slot = self.slot_mut(at)?;
        slot.next = free;
        let packet = slot.packet.take()?;
        let len = u64::from(packet.meta.len);
        let queue = self.queue_mut(queue)?;
        queue.packets -= 1;
        queue.bytes -= len;
        self.backlog.packets -= 1;
        self.backlog.bytes -= len;
        Some(packet)
    }

    /// Packets of `queue` from head to tail.
    pub(crate) fn iter(&self, queue: u32) -> impl Iterator<Item = &Packet<H>> {
        let head = self.queue(queue).map_or(NONE, |queue| queue.head);
        let slots = core::iter::successors(self.slot(head), |slot| self.slot(slot.next));
        slots.filter_map(|slot| slot.packet.as_ref())
    }

    /// Queues of `list` from the first.
    pub(crate) fn list_iter(&self, list: QueueList) -> impl Iterator<Item = u32> {
        core::iter::successors(list.first(), |&queue| {
            self.queue(queue).map(|record| record.next).filter(|&next| next != NONE)
        })
    }

    /// Changes the discipline's state of each queue of `list`.
    pub(crate) fn list_for_each(&mut self, list: QueueList, mut change: impl FnMut(&mut Q)) {
        let mut at = list.head;
        while let Some(queue) = self.queue_mut(at) {
            change(&mut queue.state);
            at = queue.next;
        }
    }

    /// Appends `queue` to `list`.
    #[inline]
    pub(crate) fn list_push(&mut self, list: &mut QueueList, queue: u32) {
        if let Some(record) = self.queue_mut(queue) {
            record.next = NONE;
        }
        match self.queue_mut(list.tail) {
            Some(before) => before.next = queue,
            None => list.head = queue,
        }
        list.tail = queue;
    }

    /// Takes the first queue of `list`.
    #[inline]
    pub(crate) fn list_pop(&mut self, list: &mut QueueList) -> Option<u32> {
        let first = list.first()?;
        list.head = self.queue(first)?.next;
        if list.head == NONE {
            list.tail = NONE;
        }
        Some(first)
    }

    /// Redistributes the packets of the queues of `list`, queue by queue in the order of the list and each from its
    /// head, so that packets that shared a queue keep their order. `place` gives the queue of each, and the list then
    /// holds the queues that have packets, in the order of their first. The list must hold every queue that has
    /// packets. O(packets and queues of the list).
    pub(crate) fn regroup(&mut self, list: &mut QueueList, mut place: impl FnMut(&Packet<H>) -> u32) {
        let mut chain = NONE;
        let mut end = NONE;
        while let Some(queue) = self.list_pop(list) {
            let Some(record) = self.queue_mut(queue) else { return };
            let (head, tail) = (record.head, record.tail);
            *record = QueueSlot::default();
            match self.slot_mut(end) {
                Some(before) => before.next = head,
                None => chain = head,
            }
            end = if tail == NONE { end } else { tail };
        }
        self.backlog = Backlog::default();
        let mut free = self.free;
        while let Some(slot) = self.slot_mut(chain) {
            let (taken, note, at) = (slot.packet.take(), slot.note, chain);
            chain = core::mem::replace(&mut slot.next, free);
            self.free = at;
            let Some(packet) = taken else { return };
            let queue = place(&packet);
            if self.packets(queue) == 0 {
                self.list_push(list, queue);
            }
            // The slot that was just freed has room for it.
            let rejected = self.push(queue, packet, note);
            debug_assert!(rejected.is_none());
            free = self.free;
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::contract::packet::Meta;
    use crate::contract::time::Time;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::vec::Vec;

    type Pool = QueuePool<u32, u32, u8, Vec<PacketSlot<u32, u32>>, Vec<QueueSlot<u8>>>;

    fn pool(packets: usize, queues: usize) -> Pool {
        let slots: Vec<PacketSlot<u32, u32>> = std::vec![PacketSlot::default(); packets];
        let records: Vec<QueueSlot<u8>> = std::vec![QueueSlot::default(); queues];
        QueuePool::new(slots, records, packets, queues).unwrap()
    }

    fn packet(handle: u32) -> Packet<u32> {
        Packet::new(Meta::of_flow(u64::from(handle), handle + 1), Time::ZERO, handle)
    }

    #[test]
    fn refuses_too_little_storage() {
        let slots: Vec<PacketSlot<u32>> = std::vec![PacketSlot::default(); 3];
        let queues: Vec<QueueSlot<()>> = std::vec![QueueSlot::default(); 2];
        let name = |packets, count| {
            QueuePool::new(slots.clone(), queues.clone(), packets, count).err().map(|e| e.name)
        };
        assert_eq!(name(4, 2), Some("slots"));
        assert_eq!(name(3, 3), Some("queues"));
        assert_eq!(name(3, 2), None);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push(u32),
        Pop(u32),
        PopTail(u32),
        Regroup(u32),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            12 => (0_u32..5).prop_map(Step::Push),
            4 => (0_u32..5).prop_map(Step::Pop),
            3 => (0_u32..5).prop_map(Step::PopTail),
            1 => (1_u32..9).prop_map(Step::Regroup),
        ];
        prop::collection::vec(step, 0..150)
    }

    proptest! {
        #![proptest_config(fairdrop_reference::cases())]

        /// Against lists of the standard library.
        #[test]
        fn is_many_lists(steps in steps(), room in 1_usize..30) {
            let mut pool = pool(room, 5);
            let mut lists: Vec<VecDeque<u32>> = std::vec![VecDeque::new(); 5];
            for (handle, step) in steps.into_iter().enumerate() {
                let handle = handle as u32;
                match step {
                    Step::Push(queue) => {
                        let full = lists.iter().map(VecDeque::len).sum::<usize>() == room;
                        prop_assert_eq!(pool.push(queue, packet(handle), handle * 2).is_some(), full);
                        if !full {
                            lists[queue as usize].push_back(handle);
                        }
                    }
                    Step::Pop(queue) => {
                        prop_assert_eq!(pool.pop(queue).map(|p| p.handle), lists[queue as usize].pop_front());
                    }
                    Step::PopTail(queue) => {
                        prop_assert_eq!(pool.pop_tail(queue).map(|p| p.handle), lists[queue as usize].pop_back());
                    }
                    Step::Regroup(divisor) => {
                        let mut list = QueueList::EMPTY;
                        (0..5).for_each(|queue| pool.list_push(&mut list, queue));
                        pool.regroup(&mut list, |packet| packet.handle / divisor % 5);
                        let all: Vec<u32> = lists.iter_mut().flat_map(std::mem::take).collect();
                        let mut order = Vec::new();
                        for handle in all {
                            let queue = handle / divisor % 5;
                            lists[queue as usize].push_back(handle);
                            if !order.contains(&queue) {
                                order.push(queue);
                            }
                        }
                        let listed: Vec<u32> = std::iter::from_fn(|| pool.list_pop(&mut list)).collect();
                        prop_assert_eq!(listed, order);
                    }
                }
                let mut total = Backlog::default();
                for (queue, list) in (0..).zip(&lists) {
                    prop_assert!(pool.iter(queue).map(|p| p.handle).eq(list.iter().copied()));
                    let bytes = list.iter().map(|&handle| u64::from(handle) + 1).sum::<u64>();
                    prop_assert_eq!((pool.packets(queue) as usize, pool.bytes(queue)), (list.len(), bytes));
                    prop_assert_eq!(pool.head(queue).map(|(p, note)| (p.handle, note)), list.front().map(|&h| (h, h * 2)));
                    prop_assert_eq!(pool.tail(queue).map(|(p, note)| (p.handle, note)), list.back().map(|&h| (h, h * 2)));
                    total.packets += list.len() as u32;
                    total.bytes += bytes;
                }
                prop_assert_eq!(pool.backlog(), total);
            }
        }
    }
}
