//! The host's side of a user-defined queue: the clock, random numbers, and a place for dropped packets.
//!
//! It is the same for all of them and is nobody else's during a call, so a discipline is compiled with it, and no call of it goes
//! through a pointer. The host looks after each call of the queue at what was drawn and dropped.

use crate::setup::Setup;
use crate::waiting::{Fixed, Waiting, fixed};
use fairdrop::{
    Backlog, Count, DropCause, Env, Hosts, LeakyFifo, Packet, Philox, Position, Slot, Stream, Time, slots_for,
};
use fairdrop_link::Host;
use fairdrop_tcp::congestion::Wrong;

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
    "count_down",
];

/// What a user-defined queue drops a packet for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// What disciplines of the library drop packets for.
    Known(DropCause),
    /// What only this one does, by its name in results.
    Named(&'static str),
}

impl Cause {
    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Known(cause) => cause.name(),
            Self::Named(name) => name,
        }
    }
}

impl From<DropCause> for Cause {
    fn from(cause: DropCause) -> Self {
        Self::Known(cause)
    }
}

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
///
/// The next number is made when the one before is taken, so that nobody waits for it.
#[derive(Clone, Debug)]
pub struct Dice {
    stream: Philox,
    next: u64,
}

impl From<Philox> for Dice {
    fn from(mut stream: Philox) -> Self {
        let next = stream.next_u64();
        Self { stream, next }
    }
}

impl Dice {
    /// The stream called `name` of the queue that `setup` is for.
    pub fn new(setup: &Setup, name: &str) -> Self {
        let known = STREAMS.iter().position(|known| *known == name);
        let purpose = known.map_or_else(|| hash(name.bytes()) | OTHER, |number| number as u32);
        Philox::new(setup.seed, setup.queue, purpose).into()
    }

    /// The stream called `name` of a flow: no queue has one with its numbers.
    pub fn of_flow(seed: u64, flow: u32, name: &str) -> Self {
        // No name of a queue's stream begins with a byte that UTF-8 does not have.
        Philox::new(seed, flow, hash(std::iter::once(0xff).chain(name.bytes())) | OTHER).into()
    }

    /// The streams that disciplines of the catalogue draw from, by [`Stream`] number, for the queue that `setup` is for.
    pub fn of_catalogue(setup: &Setup) -> [Self; Stream::COUNT] {
        STREAMS.map(|name| Self::new(setup, name))
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        std::mem::replace(&mut self.next, self.stream.next_u64())
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

/// Where packets wait in one FIFO.
pub type Fifo = LeakyFifo<u32, Box<[Slot<u32>]>>;

/// What one queue has of its host.
#[derive(Debug)]
pub struct Desk {
    now: Time,
    dice: [Dice; Stream::COUNT],
    marked: [Count; DropCause::COUNT],
    /// The packets that the queue has: those that wait, or, of a gate, those that it has taken out of the FIFO.
    waiting: Waiting,
    /// For queues in other languages to let packets wait in; of a gate, where all wait.
    fifo: Fifo,
    limit: u32,
    /// Where the packet waits that was shown last.
    shown: Option<Position>,
    /// Whether the queue is a [`super::Gate`]: what it has, it has taken out of the FIFO.
    is_gate: bool,
    /// Handle of the packet that this call offers, until it is dropped: it waits after the call. Otherwise [`NONE`].
    arriving: u32,
    /// Its hosts, where its flow does not have both to itself.
    hosts: Option<Hosts>,
    /// What it was dropped for, and how many others before it.
    refused: Option<(Cause, usize)>,
    /// The other packets that were dropped in this call, as they arrived, and what for.
    dropped: Vec<(Packet<u32>, Cause)>,
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
            fifo: LeakyFifo::new(Box::default()),
            limit: setup.limit,
            shown: None,
            is_gate: false,
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

    /// The queue is a gate.
    pub(super) fn open_gate(&mut self) {
        self.is_gate = true;
        self.make_fifo();
    }

    /// There is a FIFO for as many packets as may wait.
    pub fn make_fifo(&mut self) {
        self.fifo = LeakyFifo::new((0..slots_for(self.limit)).map(|_| None).collect());
    }

    /// Where packets may wait.
    #[inline]
    pub fn fifo(&self) -> &Fifo {
        &self.fifo
    }

    /// Adds a packet at the tail of the FIFO. False when it holds as many as may wait, or, of a gate, where it has not taken
    /// that packet out.
    pub fn push(&mut self, packet: Packet<u32>) -> bool {
        if self.fifo.len() >= self.limit {
            return false;
        }
        if self.is_gate && self.waiting.take(&packet).is_none() {
            self.fail(self.waiting.why_not(packet.handle, fixed(&packet)));
            return false;
        }
        // A push may move the others.
        self.shown = None;
        self.fifo.push(packet).is_none()
    }

    /// The packet at the head of the FIFO is sent.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Packet<u32>> {
        self.fifo.pop()
    }

    /// Takes the packet at the head of the FIFO.
    pub fn pop(&mut self) -> Option<Packet<u32>> {
        let packet = self.fifo.pop()?;
        Some(self.take_out(packet))
    }

    /// Takes the packet with this handle out of the FIFO. False when it is not there.
    pub fn remove(&mut self, handle: u32) -> bool {
        let is_it = |place: &Position| self.fifo.get(*place).is_some_and(|packet| packet.handle == handle);
        let place = self.shown.filter(is_it).or_else(|| self.fifo.positions().find(is_it));
        let packet = place.and_then(|place| self.fifo.remove(place));
        packet.map(|packet| self.take_out(packet)).is_some()
    }

    /// Drops the packet of the FIFO that was shown last. False when it is not there any more.
    #[inline]
    pub fn drop_shown(&mut self, cause: DropCause) -> bool {
        let Some(packet) = self.shown.take().and_then(|place| self.fifo.remove(place)) else { return false };
        if self.is_gate {
            self.dropped.push((packet, cause.into()));
        } else {
            self.drop(&packet, cause);
        }
        true
    }

    #[inline]
    fn take_out(&mut self, packet: Packet<u32>) -> Packet<u32> {
        if self.is_gate {
            self.waiting.add(&packet);
        }
        packet
    }

    /// A packet of the FIFO, each with the same probability, by the stream of candidates; it stays.
    #[inline]
    pub fn draw(&mut self) -> Option<&Packet<u32>> {
        let (place, packet) = self.fifo.draw_packet(&mut self.dice[Stream::Candidate as usize])?;
        self.drawn += 1;
        self.shown = Some(place);
        Some(packet)
    }

    /// The packet at the head of the FIFO.
    pub fn head(&mut self) -> Option<&Packet<u32>> {
        self.shown = self.fifo.front();
        self.fifo.get(self.shown?)
    }

    /// The packet at the tail of the FIFO.
    pub fn tail(&mut self) -> Option<&Packet<u32>> {
        self.shown = self.fifo.back();
        self.fifo.get(self.shown?)
    }

    /// The next 64 bits of the stream with this number; 0 when there is none.
    #[inline]
    pub fn bits(&mut self, stream: u8) -> u64 {
        self.dice.get_mut(usize::from(stream)).map_or(0, Dice::bits)
    }

    /// A packet is dropped.
    #[inline]
    pub fn drop(&mut self, packet: &Packet<u32>, cause: impl Into<Cause>) {
        let cause = cause.into();
        if self.refuse(packet.handle, cause) {
            return;
        }
        match self.waiting.take(packet) {
            Some(known) => self.dropped.push((known.clone(), cause)),
            None => self.cannot_drop(packet.handle, fixed(packet), cause),
        }
    }

    /// The packet with this handle is dropped, if it is the one that this call offers. Says whether it is.
    #[inline]
    pub fn refuse(&mut self, handle: u32, cause: impl Into<Cause>) -> bool {
        let arrives = handle == self.arriving && handle != NONE;
        if arrives {
            self.arriving = NONE;
            self.refused = Some((cause.into(), self.dropped.len()));
        }
        arrives
    }

    #[cold]
    #[inline(never)]
    fn cannot_drop(&mut self, handle: u32, packet: Fixed, cause: Cause) {
        let why = self.waiting.why_not(handle, packet);
        self.fail(format!("dropping for {}, {why}", cause.name()));
    }

    /// A packet of `len` bytes was marked in place of a drop.
    #[inline]
    pub fn marked(&mut self, len: u32, cause: DropCause) {
        self.marked[cause as usize].add(len);
    }

    /// Reports an error of this call, which ends the run. The first report counts.
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
        (self.now, self.shown) = (now, None);
    }

    /// A call begins, which offers `packet`.
    #[inline]
    pub(super) fn offer(&mut self, packet: &Packet<u32>, now: Time) {
        self.begin(now);
        self.arriving = packet.handle;
    }

    /// Gives the queue the hosts of `packet`, which is offered.
    #[inline]
    pub(super) fn introduce(&mut self, packet: &Packet<u32>, host: &impl Host) {
        if let Some(hosts) = host.shared_hosts(packet) {
            self.hosts = Some(hosts);
        }
    }

    /// A packet is sent. False, and the call is wrong, if it does not wait.
    #[inline]
    pub(super) fn send(&mut self, packet: &Packet<u32>) -> bool {
        self.waiting.take(packet).is_some() || self.cannot_send(packet.handle, fixed(packet))
    }

    #[cold]
    #[inline(never)]
    fn cannot_send(&mut self, handle: u32, packet: Fixed) -> bool {
        self.fail(self.waiting.why_not(handle, packet));
        false
    }

    /// The call that offered `packet` to a gate has ended, which lets it in or drops it for `verdict`: does that, and shows the
    /// host what the call did.
    #[inline]
    pub(super) fn carry_out(
        &mut self,
        verdict: Option<DropCause>,
        packet: &Packet<u32>,
        host: &mut impl Host,
    ) {
        if self.arriving == NONE {
            return self.show_own_refusal(verdict, packet, host);
        }
        self.arriving = NONE;
        let overflow = || (self.fifo.len() >= self.limit).then_some(DropCause::Overflow);
        let Some(cause) = verdict.or_else(overflow) else {
            self.hand_over(host);
            self.fifo.push(packet.clone());
            return;
        };
        if !self.dropped.is_empty() {
            self.hand_over_dropped(host);
        }
        host.dropped(packet.clone(), cause);
        host.drew(std::mem::take(&mut self.drawn));
    }

    /// The same where the gate has dropped the packet itself.
    #[cold]
    #[inline(never)]
    fn show_own_refusal(&mut self, verdict: Option<DropCause>, packet: &Packet<u32>, host: &mut impl Host) {
        if verdict.is_none() {
            self.fail("it has dropped a packet, and let it in".to_owned());
        }
        self.show_refusal(packet, host);
    }

    /// The call that offered `packet` has ended: shows the host what it did, in the same order.
    #[inline]
    pub(super) fn settle(&mut self, packet: &Packet<u32>, host: &mut impl Host) {
        if self.arriving == NONE {
            return self.show_refusal(packet, host);
        }
        self.arriving = NONE;
        self.hand_over(host);
        self.waiting.add(packet);
    }

    /// The same where `packet` was dropped.
    #[inline]
    fn show_refusal(&mut self, packet: &Packet<u32>, host: &mut impl Host) {
        let Some((cause, before)) = self.refused.take() else { return };
        let (first, rest) = self.dropped.split_at(before);
        for (dropped, cause) in first {
            give_up(dropped, *cause, host);
        }
        give_up(packet, cause, host);
        for (dropped, cause) in rest {
            give_up(dropped, *cause, host);
        }
        self.dropped.clear();
        host.drew(std::mem::take(&mut self.drawn));
    }

    /// A call has ended: shows the host what it did.
    #[inline]
    pub(super) fn hand_over(&mut self, host: &mut impl Host) {
        host.drew(std::mem::take(&mut self.drawn));
        if !self.dropped.is_empty() {
            self.hand_over_dropped(host);
        }
    }

    #[inline(never)]
    fn hand_over_dropped(&mut self, host: &mut impl Host) {
        self.dropped.iter().for_each(|(packet, cause)| give_up(packet, *cause, host));
        self.dropped.clear();
    }

    /// Whether the call that ends was in order, as far as the desk knows.
    #[inline]
    pub(super) fn is_in_order(&self) -> bool {
        self.wrong.is_none() && self.backlog == self.waiting.backlog && self.unshowable().is_none()
    }

    /// One of the values that it decides by which is no number that results can show.
    #[inline]
    pub(super) fn unshowable(&self) -> Option<(&'static str, f64)> {
        let at = self.values.iter().position(|value| !value.is_finite())?;
        Some((self.names[at], self.values[at]))
    }

    /// The same of a gate, which has put back or dropped what it has taken out of the FIFO.
    #[inline]
    pub(super) fn has_nothing_in_hand(&self) -> bool {
        self.wrong.is_none() && self.waiting.backlog.packets == 0 && self.unshowable().is_none()
    }
}

/// Shows the host that a packet was dropped.
#[inline]
fn give_up(packet: &Packet<u32>, cause: Cause, host: &mut impl Host) {
    match cause {
        Cause::Known(cause) => host.dropped(packet.clone(), cause),
        Cause::Named(name) => host.dropped_for(packet.clone(), name),
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
    use super::*;
    use crate::values::Values;

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
        let mut of_queue = fairdrop_link::queue_streams(7, 3);
        for (number, name) in STREAMS.into_iter().enumerate() {
            let expected: [u64; 4] = std::array::from_fn(|_| of_queue[number].next_u64());
            assert_eq!(numbers(name, 3), expected, "{name}");
        }
    }

    #[test]
    fn every_name_and_queue_has_numbers_of_its_own() {
        let all: Vec<_> = ["drop", "drops", "early_drop"]
            .into_iter()
            .flat_map(|name| [numbers(name, 0), numbers(name, 1)])
            .collect();
        assert!(all.iter().enumerate().all(|(i, one)| !all[..i].contains(one)));
        assert_eq!(numbers("drop", 0), numbers("drop", 0));
        let of_flow = |flow| Dice::of_flow(7, flow, "drop").bits();
        assert!(of_flow(0) != of_flow(1) && of_flow(0) == of_flow(0));
        assert_ne!(of_flow(0), numbers("drop", 0)[0], "a flow and a queue of the same number");
    }
}
