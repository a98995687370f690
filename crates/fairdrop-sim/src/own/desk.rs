//! What a queue of one's own has of its host: the clock, random numbers, and a place for what it drops.
//!
//! It is the same for all of them and is nobody else's during a call, so a discipline is compiled with it, and no call of it goes
//! through a pointer. The host looks after each call of the queue at what was drawn and dropped.

use super::fault::Wrong;
use super::setup::Setup;
use super::waiting::{Fixed, Waiting, fixed};
use fairdrop::{Backlog, Count, DropCause, Env, Hosts, Packet, Philox, Stream, Time};
use std::ops::Range;

/// Names of the streams that disciplines of the catalogue draw from, in the order of their numbers.
const STREAMS: [&str; Stream::COUNT] = [
    "candidate",
    "early_drop",
    "drawing_fraction",
    "ward_coin",
    "blue_coin",
    "pie_coin",
    "sred_coin",
    "zombie",
    "zombie_overwrite",
    "csfq_coin",
    "filter_coin",
    "afd_coin",
    "afd_sample",
    "sfb_coin",
    "dualpi2_coin",
    "service",
];

/// No packet's handle: there are never that many.
const NONE: u32 = u32::MAX;

/// Set in the purposes of all other streams.
const OTHER: u32 = 1 << 31;

/// FNV-1a of 32 bits.
fn hash(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The cause of a drop with this name.
///
/// # Errors
/// There is none, and which there are.
pub fn cause_named(name: &str) -> Result<DropCause, String> {
    DropCause::ALL.into_iter().find(|cause| cause.name() == name).ok_or_else(|| {
        let names = DropCause::ALL.map(DropCause::name).join(", ");
        format!("no packet is dropped for {name:?}; valid: one of {names}")
    })
}

/// A named stream of random numbers of one queue. Those that disciplines of the catalogue draw from give the numbers that
/// these would get; others have numbers of their own, by their names.
#[derive(Clone, Debug)]
pub struct Dice(Philox);

impl Dice {
    /// The stream called `name` of the queue that `setup` is for.
    pub fn new(setup: &Setup, name: &str) -> Self {
        let known = STREAMS.iter().position(|known| *known == name);
        let purpose = known.map_or_else(|| hash(name.bytes()) | OTHER, |number| number as u32);
        Self(Philox::new(setup.seed, setup.queue, purpose))
    }

    /// The stream called `name` of a flow: no queue has one with its numbers.
    pub fn of_flow(seed: u64, flow: u32, name: &str) -> Self {
        // No name of a queue's stream begins with a byte that UTF-8 does not have.
        Self(Philox::new(seed, flow, hash(std::iter::once(0xff).chain(name.bytes())) | OTHER))
    }

    /// The streams that disciplines of the catalogue draw from, by [`Stream`] number, for the queue that `setup` is for.
    pub fn of_catalogue(setup: &Setup) -> [Self; Stream::COUNT] {
        STREAMS.map(|name| Self::new(setup, name))
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// Draws from a [`fairdrop::LeakyFifo`] get their numbers here, whatever stream they ask for.
impl<H> Env<H> for Dice {
    fn now(&self) -> Time {
        Time::ZERO
    }

    #[inline]
    fn random(&mut self, _stream: Stream) -> u64 {
        self.bits()
    }

    fn flow_key(&self) -> [u64; 2] {
        [0, 0]
    }

    fn dropped(&mut self, _packet: Packet<H>, _cause: DropCause) {}
}

/// Beyond [`Env`], what the host of a queue of one's own takes after a call.
pub trait Host: Env<u32> {
    /// So many waiting packets were drawn and compared with the one that arrived.
    fn drew(&mut self, count: u32);

    /// The hosts at the ends of a packet that arrives, where its flow does not have both to itself.
    fn shared_hosts(&self, packet: &Packet<u32>) -> Option<Hosts>;
}

/// What one queue has of its host.
#[derive(Debug)]
pub struct Desk {
    now: Time,
    dice: [Dice; Stream::COUNT],
    marked: [Count; DropCause::COUNT],
    waiting: Waiting,
    /// Handle of the packet that this call offers, until it is dropped: it waits after the call. Otherwise [`NONE`].
    arriving: u32,
    /// Its hosts, where its flow does not have both to itself.
    hosts: Option<Hosts>,
    /// What it was dropped for, and how many others before it.
    refused: Option<(DropCause, usize)>,
    /// Handles of the other packets that were dropped in this call, and what for.
    dropped: Vec<(u32, DropCause)>,
    /// Packets drawn in this call.
    drawn: u32,
    /// What was wrong in this call.
    wrong: Option<Box<Wrong>>,
    /// What the queue says that waits, as of its last call.
    pub backlog: Backlog,
    /// Names of the values that it decides by: these stay.
    pub names: Vec<&'static str>,
    /// The values, as of its last call.
    pub values: Vec<f64>,
}

impl Desk {
    /// For an empty queue that `setup` is for.
    pub fn new(setup: &Setup) -> Self {
        Self {
            now: Time::ZERO,
            dice: Dice::of_catalogue(setup),
            marked: [Count::default(); DropCause::COUNT],
            waiting: Waiting::default(),
            arriving: NONE,
            hosts: None,
            refused: None,
            dropped: Vec::new(),
            drawn: 0,
            wrong: None,
            backlog: Backlog::default(),
            names: Vec::new(),
            values: Vec::new(),
        }
    }

    /// The values that the queue decides by have these names.
    pub fn name_values(&mut self, names: impl IntoIterator<Item = &'static str>) {
        self.names = names.into_iter().collect();
        self.values = vec![0.0; self.names.len()];
    }

    /// The next 64 bits of the stream with this number; 0 when there is none.
    #[inline]
    pub fn bits(&mut self, stream: u8) -> u64 {
        self.dice.get_mut(usize::from(stream)).map_or(0, Dice::bits)
    }

    /// A packet is dropped.
    #[inline]
    pub fn drop(&mut self, packet: &Packet<u32>, cause: DropCause) {
        if self.refuse(packet.handle, cause) {
            return;
        }
        if self.waiting.take(packet) {
            self.dropped.push((packet.handle, cause));
        } else {
            self.cannot_drop(packet.handle, fixed(packet), cause);
        }
    }

    /// The packet with this handle is dropped, if it is the one that this call offers. Says whether it is.
    #[inline]
    pub fn refuse(&mut self, handle: u32, cause: DropCause) -> bool {
        let arrives = handle == self.arriving && handle != NONE;
        if arrives {
            self.arriving = NONE;
            self.refused = Some((cause, self.dropped.len()));
        }
        arrives
    }

    #[cold]
    #[inline(never)]
    fn cannot_drop(&mut self, handle: u32, packet: Fixed, cause: DropCause) {
        let why = self.waiting.why_not(handle, packet);
        self.fail(format!("dropping for {}, {why}", cause.name()));
    }

    /// A packet of `len` bytes was marked in place of a drop.
    #[inline]
    pub fn marked(&mut self, len: u32, cause: DropCause) {
        self.marked[cause as usize].add(len);
    }

    /// What happens in this call is wrong, which ends the run. What was said first counts.
    #[cold]
    pub fn fail(&mut self, wrong: impl Into<Wrong>) {
        self.wrong.get_or_insert_with(|| Box::new(wrong.into()));
    }

    /// What was wrong.
    pub fn take_wrong(&mut self) -> Option<Box<Wrong>> {
        self.wrong.take()
    }

    /// What was marked, by cause.
    pub(super) fn marks(&self) -> &[Count; DropCause::COUNT] {
        &self.marked
    }

    /// The packets that wait.
    pub(super) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// A call begins.
    #[inline]
    pub(super) fn begin(&mut self, now: Time) {
        self.now = now;
    }

    /// A call begins, which offers `packet`.
    #[inline]
    pub(super) fn offer(&mut self, packet: &Packet<u32>, host: &impl Host) {
        (self.now, self.arriving) = (host.now(), packet.handle);
        if let Some(hosts) = host.shared_hosts(packet) {
            self.hosts = Some(hosts);
        }
    }

    /// A packet is sent. False, and the call is wrong, if it does not wait.
    #[inline]
    pub(super) fn send(&mut self, packet: &Packet<u32>) -> bool {
        self.waiting.take(packet) || self.cannot_send(packet.handle, fixed(packet))
    }

    #[cold]
    #[inline(never)]
    fn cannot_send(&mut self, handle: u32, packet: Fixed) -> bool {
        self.fail(self.waiting.why_not(handle, packet));
        false
    }

    /// The call that offered `packet` has ended: shows the host what it did, in the same order.
    #[inline]
    pub(super) fn settle(&mut self, packet: &Packet<u32>, host: &mut impl Host) {
        self.arriving = NONE;
        let Some((cause, before)) = self.refused.take() else {
            self.hand_over(host);
            self.waiting.add(packet);
            return;
        };
        if before > 0 {
            self.hand_over_dropped(0..before, host);
        }
        host.dropped(packet.clone(), cause);
        if before < self.dropped.len() {
            self.hand_over_dropped(before..self.dropped.len(), host);
        }
        self.dropped.clear();
        host.drew(std::mem::take(&mut self.drawn));
    }

    /// A call has ended: shows the host what it did.
    #[inline]
    pub(super) fn hand_over(&mut self, host: &mut impl Host) {
        host.drew(std::mem::take(&mut self.drawn));
        if !self.dropped.is_empty() {
            self.hand_over_dropped(0..self.dropped.len(), host);
            self.dropped.clear();
        }
    }

    #[inline(never)]
    fn hand_over_dropped(&mut self, which: Range<usize>, host: &mut impl Host) {
        for &(handle, cause) in &self.dropped[which] {
            self.waiting.known(handle).into_iter().for_each(|packet| host.dropped(packet.clone(), cause));
        }
    }

    /// Whether the call that ends was in order, as far as the desk knows.
    #[inline]
    pub(super) fn is_in_order(&self) -> bool {
        self.wrong.is_none() && self.backlog == self.waiting.backlog
    }
}

impl Env<u32> for Desk {
    #[inline]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn random(&mut self, stream: Stream) -> u64 {
        self.dice[stream as usize].bits()
    }

    fn flow_key(&self) -> [u64; 2] {
        [0, 0]
    }

    fn hosts(&self, packet: &Packet<u32>) -> Hosts {
        self.hosts.unwrap_or(Hosts::of_flow(packet.meta.flow))
    }

    #[inline]
    fn dropped(&mut self, packet: Packet<u32>, cause: DropCause) {
        self.drop(&packet, cause);
    }

    #[inline]
    fn drawn(&mut self, _candidate: &Packet<u32>) {
        self.drawn += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::values::Values;
    use super::*;
    use crate::random;

    fn setup(queue: u32) -> Setup {
        Setup { limit: 10, rate_bps: 1_000_000, seed: 7, queue, values: Values::default() }
    }

    fn numbers(name: &str, queue: u32) -> [u64; 4] {
        let mut dice = Dice::new(&setup(queue), name);
        std::array::from_fn(|_| dice.bits())
    }

    /// The same numbers as a port gives to a discipline of the catalogue.
    #[test]
    fn known_streams_are_those_of_the_catalogue() {
        let mut of_queue = random::of_queue(7, 3);
        for (number, name) in STREAMS.into_iter().enumerate() {
            let expected: [u64; 4] = std::array::from_fn(|_| of_queue[number].next_u64());
            assert_eq!(numbers(name, 3), expected, "{name}");
        }
    }

    #[test]
    fn every_name_and_queue_has_numbers_of_its_own() {
        let all: Vec<_> = ["coin", "coins", "early_drop"]
            .into_iter()
            .flat_map(|name| [numbers(name, 0), numbers(name, 1)])
            .collect();
        assert!(all.iter().enumerate().all(|(i, one)| !all[..i].contains(one)));
        assert_eq!(numbers("coin", 0), numbers("coin", 0));
        let of_flow = |flow| Dice::of_flow(7, flow, "coin").bits();
        assert!(of_flow(0) != of_flow(1) && of_flow(0) == of_flow(0));
        assert_ne!(of_flow(0), numbers("coin", 0)[0], "a flow and a queue of the same number");
    }
}
