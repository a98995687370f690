//! Packets that wait in somebody else's ring, for a decision without a queue.

use crate::contract::decision::{Candidate, Waiting};
use crate::contract::env::{Env, Stream};
use crate::contract::stats::DropCause;
use crate::storage::draws::{draw_slot, draw_slot_by_weight};

/// Most waiting packets that are dropped for one arrival.
pub const MOST_VICTIMS: usize = 32;

/// A waiting packet that is to be dropped. Laid out as in C, where lists of them are lent.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Its slot.
    pub slot: u32,
    /// The cause that it is counted under.
    pub cause: DropCause,
}

/// The waiting packets of a queue that the caller keeps, for one arrival.
///
/// The decision reads waiting packets through `packet` and lists those that are to be dropped; the caller drops them. A ring
/// whose packets cannot be taken from the middle marks their slots as empty: `packet` then gives `None` for them, and a draw
/// that meets one is made again.
///
/// ```
/// use fairdrop::{Action, ChokeDecision, ChokeParams, DropCause, Meta, Philox, Ring, RingEnv, Time, Victim};
///
/// let mut params = ChokeParams::default();
/// (params.red.limit, params.red.min_th, params.red.max_th) = (100, 0.0, 50.0);
/// let mut choke = ChokeDecision::new(params)?;
/// let mut random = Philox::new(1, 0, 0);
/// // One packet of flow 7 waits in slot 0, and another comes.
/// let waiting = [(7, 1000)];
/// let mut ring = Ring::new(1, 1, 1000, |slot| waiting.get(slot as usize).copied());
/// let mut env = RingEnv::new(Time::ZERO, |_| random.next_u64());
/// let action = choke.arrival(&Meta::of_flow(7, 1000), &mut ring, &mut env);
/// assert_eq!(action, Action::Drop(DropCause::MatchArriving));
/// assert_eq!(ring.victims(), [Victim { slot: 0, cause: DropCause::MatchQueued }]);
/// # Ok::<(), fairdrop::ParamError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ring<F> {
    slots: u32,
    packets: u32,
    bytes: u64,
    packet: F,
    victims: [Victim; MOST_VICTIMS],
    dropped: usize,
}

impl<F: Fn(u32) -> Option<(u64, u32)>> Ring<F> {
    /// A queue of `packets` packets with `bytes` bytes in `slots` slots, numbered from 0 at the head. `packet` reads the flow
    /// and the length in bytes of the packet in a slot, `None` where it is empty.
    pub const fn new(slots: u32, packets: u32, bytes: u64, packet: F) -> Self {
        let none = Victim { slot: u32::MAX, cause: DropCause::Overflow };
        Self { slots, packets, bytes, packet, victims: [none; MOST_VICTIMS], dropped: 0 }
    }

    /// The waiting packets that are to be dropped, in the order of the decision.
    pub fn victims(&self) -> &[Victim] {
        self.victims.get(..self.dropped).unwrap_or(&[])
    }

    fn read(&self, slot: u32) -> Option<(u64, u32)> {
        let is_dropped = self.victims().iter().any(|victim| victim.slot == slot);
        (slot < self.slots && !is_dropped).then(|| (self.packet)(slot)).flatten()
    }
}

impl<F: Fn(u32) -> Option<(u64, u32)>, H> Waiting<H> for Ring<F> {
    type Place = u32;

    fn packets(&self) -> u32 {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn has_room(&mut self, limit: u32) -> bool {
        self.packets < limit
    }

    fn draw<E: Env<H>>(&mut self, env: &mut E) -> Option<u32> {
        if self.packets == 0 {
            return None;
        }
        let is_live = |slot| self.read(slot as u32).is_some();
        draw_slot(self.slots as usize, is_live, || env.random(Stream::Candidate)).map(|slot| slot as u32)
    }

    fn draw_weighted<E: Env<H>>(
        &mut self,
        most: u32,
        weight: impl Fn(u32, u32) -> u32,
        env: &mut E,
    ) -> Option<u32> {
        let weight_at = |slot| self.read(slot as u32).map_or(0, |(_, len)| weight(slot as u32, len));
        let random = || env.random(Stream::Candidate);
        draw_slot_by_weight(self.slots as usize, most, weight_at, random).map(|slot| slot as u32)
    }

    fn at_rank(&mut self, rank: u32) -> Option<u32> {
        Waiting::<H>::places(self).nth(rank as usize)
    }

    fn places(&self) -> impl DoubleEndedIterator<Item = u32> {
        (0..self.slots).filter(|&slot| self.read(slot).is_some())
    }

    fn candidate<E: Env<H>>(&self, place: u32, _env: &mut E) -> Option<Candidate<u32>> {
        self.read(place).map(|(flow, len)| Candidate { place, flow, len })
    }

    fn discard<E: Env<H>>(&mut self, place: u32, cause: DropCause, _env: &mut E) -> Option<u32> {
        let (_, len) = self.read(place)?;
        *self.victims.get_mut(self.dropped)? = Victim { slot: place, cause };
        self.dropped += 1;
        self.packets = self.packets.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(u64::from(len));
        Some(len)
    }
}
