//! Two FIFOs: one for sparse flows, which goes first, and one for others.
//!
//! Packets that overtake get at most half of the bytes. Packets of a flow leave in the order of their arrival: a flow changes
//! to the short FIFO once none of its packets waits in the long one, which [`LastInLong`] knows from a constant number of
//! counts, and a packet of the long FIFO goes first only if it is older than all in the short one.

use super::hosts::HostIds;
use crate::contract::{Packet, ParamError, Stats, require};
use crate::disciplines::outcome::depart;
use crate::storage::{LeakyFifo, Slot, Storage};

/// Bytes that may overtake before the long FIFO sends as many: two packets.
const AHEAD_BYTES: i64 = 3000;

/// Counts of [`LastInLong`] for each of two parts of an id: a power of two.
const LAST_IN_LONG: u32 = 1024;
/// All of them.
pub(super) const NUMBERS_OF_LONG: usize = 2 * LAST_IN_LONG as usize;

/// A FIFO with the ids of each packet's hosts beside it, if there is room for them.
#[derive(Clone, Debug)]
pub(super) struct Fifo<H, S, W> {
    pub(super) packets: LeakyFifo<H, S>,
    hosts: W,
    /// The places of the oldest packet's hosts, and of the next arrival's.
    oldest: usize,
    next: usize,
}

impl<H, S: Storage<Slot<H>>, W: Storage<HostIds>> Fifo<H, S, W> {
    pub(super) fn new(packets: LeakyFifo<H, S>, hosts: W) -> Self {
        Self { packets, hosts, oldest: 0, next: 0 }
    }

    /// The place after `at` of the hosts.
    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 < self.hosts.as_ref().len() { at + 1 } else { 0 }
    }

    /// Appends a packet, for which there is room.
    #[inline]
    fn append(&mut self, packet: Packet<H>, hosts: HostIds) {
        self.packets.place(packet);
        if let Some(place) = self.hosts.as_mut().get_mut(self.next) {
            *place = hosts;
        }
        self.next = self.after(self.next);
    }

    /// Takes the head for transmission and counts it.
    #[inline]
    fn depart(&mut self, stats: &mut Stats) -> Option<(Packet<H>, HostIds)> {
        let packet = depart(&mut self.packets, stats)?;
        let hosts = self.hosts.as_ref().get(self.oldest).copied().unwrap_or_default();
        self.oldest = self.after(self.oldest);
        Some((packet, hosts))
    }

    /// The oldest packet.
    #[inline]
    pub(super) fn head(&self) -> Option<&Packet<H>> {
        self.packets.get(self.packets.front()?)
    }
}

/// The last packet put into the long FIFO, by each of two parts of its flow's id: its number, modulo 2^32. Packets leave that
/// FIFO by number, so those that wait are the last ones. Flows that share a part of their ids share its number, which may
/// hide that a flow has left, never that it waits.
#[derive(Clone, Debug)]
pub(super) struct LastInLong<I> {
    numbers: I,
    /// The number of the last packet of all.
    last: u32,
}

impl<I: Storage<u32>> LastInLong<I> {
    /// Nothing has waited; none of the numbers where all packets wait in one FIFO.
    pub(super) fn new(mut numbers: I, needed: usize) -> Result<Self, ParamError> {
        let places = numbers.as_ref().len();
        require(places >= needed, "sparse", places as f64, "room for 2048 numbers of packets")?;
        numbers.as_mut().fill(0);
        Ok(Self { numbers, last: 0 })
    }

    /// The places of an id: by its lowest bits, and by its highest.
    #[inline]
    fn places(id: u32) -> [usize; 2] {
        let (low, high) = (id % LAST_IN_LONG, id >> (u32::BITS - LAST_IN_LONG.trailing_zeros()));
        [low as usize, (LAST_IN_LONG + high) as usize]
    }

    /// A packet of `id` enters the long FIFO.
    fn enters(&mut self, id: u32) {
        self.last = self.last.wrapping_add(1);
        for place in Self::places(id) {
            if let Some(number) = self.numbers.as_mut().get_mut(place) {
                *number = self.last;
            }
        }
    }

    /// Whether a packet of `id` may be among the `waiting` packets of the long FIFO.
    fn may_hold(&self, id: u32, waiting: u32) -> bool {
        let number = |place: usize| self.numbers.as_ref().get(place).copied().unwrap_or_default();
        Self::places(id).into_iter().all(|place| self.last.wrapping_sub(number(place)) < waiting)
    }
}

/// The FIFOs of sparse flows and of others.
#[derive(Clone, Debug)]
pub(super) struct Fifos<H, S, W, I> {
    pub(super) short: Fifo<H, S, W>,
    pub(super) long: Fifo<H, S, W>,
    last_in_long: LastInLong<I>,
    /// Bytes that have overtaken, less those that the long FIFO has sent since.
    ahead: i64,
}

impl<H, S: Storage<Slot<H>>, W: Storage<HostIds>, I: Storage<u32>> Fifos<H, S, W, I> {
    pub(super) fn new(short: Fifo<H, S, W>, long: Fifo<H, S, W>, last_in_long: LastInLong<I>) -> Self {
        Self { short, long, last_in_long, ahead: 0 }
    }

    /// Packets that wait.
    #[inline]
    pub(super) fn packets(&self) -> u32 {
        self.short.packets.len() + self.long.packets.len()
    }

    /// Whether a packet of `id` may be in the long FIFO, so that the next one must not overtake it.
    #[inline]
    pub(super) fn may_hold_in_long(&self, id: u32) -> bool {
        self.last_in_long.may_hold(id, self.long.packets.len())
    }

    /// Appends a packet of `id`, for which there is room.
    #[inline]
    pub(super) fn append(&mut self, goes_first: bool, packet: Packet<H>, id: u32, hosts: HostIds) {
        if goes_first {
            self.short.append(packet, hosts);
        } else {
            self.long.append(packet, hosts);
            self.last_in_long.enters(id);
        }
    }

    /// Takes the packet whose turn it is, and counts it.
    #[inline]
    pub(super) fn depart(&mut self, stats: &mut Stats) -> Option<(Packet<H>, HostIds)> {
        let heads = self.short.head().zip(self.long.head());
        let overtakes = heads.is_some_and(|(short, long)| short.enqueued > long.enqueued);
        let waits = overtakes && self.ahead >= AHEAD_BYTES;
        if waits || self.short.packets.is_empty() {
            let (packet, hosts) = self.long.depart(stats)?;
            self.ahead = (self.ahead - i64::from(packet.meta.len)).max(0);
            return Some((packet, hosts));
        }
        let (packet, hosts) = self.short.depart(stats)?;
        if overtakes {
            self.ahead += i64::from(packet.meta.len);
        }
        Some((packet, hosts))
    }
}
