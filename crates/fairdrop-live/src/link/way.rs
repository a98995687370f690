//! From the transmitter to the other end: delay, jitter and random loss. Order is kept.

use std::collections::VecDeque;

use fairdrop::{Packet, Philox, Time, unit_interval};

use super::packet::{Outcome, Sending};

/// What happens to packets on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impairments {
    /// Propagation delay.
    pub delay: Time,
    /// Added to it, uniform from 0 to this; no packet overtakes another.
    pub jitter: Time,
    /// Probability with which a packet is lost.
    pub loss: f64,
}

/// What random numbers are drawn for, beside those of the queue.
#[repr(u32)]
enum Purpose {
    /// As in the simulator.
    Loss = 0x107,
    Jitter = 0x200,
}

#[derive(Debug)]
pub(super) struct Way {
    impairments: Impairments,
    /// They do nothing.
    none: bool,
    loss: Philox,
    jitter: Philox,
    /// By the time of their arrival at the other end.
    coming: VecDeque<(Sending, Time)>,
    last: Time,
}

impl Way {
    pub fn new(impairments: Impairments, seed: u64, number: u32, room: usize) -> Self {
        Self {
            impairments,
            none: impairments == Impairments::default(),
            loss: Philox::new(seed, number, Purpose::Loss as u32),
            jitter: Philox::new(seed, number, Purpose::Jitter as u32),
            coming: VecDeque::with_capacity(room),
            last: Time::ZERO,
        }
    }

    pub fn set(&mut self, impairments: Impairments) {
        self.impairments = impairments;
        self.none = impairments == Impairments::default();
    }

    /// Whether a packet that leaves the transmitter at `now` is at the other end at once.
    #[inline]
    pub fn is_clear(&self, now: Time) -> bool {
        self.none && self.coming.is_empty() && self.last <= now
    }

    /// A packet has left the transmitter.
    ///
    /// # Errors
    /// It is lost.
    pub fn enter(&mut self, sending: Sending) -> Result<(), Packet<u32>> {
        let Impairments { delay, jitter, loss } = self.impairments;
        if loss > 0.0 && unit_interval(self.loss.next_u64()) < loss {
            return Err(sending.packet);
        }
        let mut at = sending.done.after(delay);
        if jitter > Time::ZERO {
            at = at.after(Time::from_ns((unit_interval(self.jitter.next_u64()) * jitter.ns() as f64) as u64));
        }
        self.last = at.max(self.last);
        self.coming.push_back((sending, self.last));
        Ok(())
    }

    /// When the next packet arrives.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.coming.front().map(|&(_, at)| at)
    }

    /// The packet that arrives next.
    pub fn arrived(&mut self) -> Option<Outcome> {
        let (sending, at) = self.coming.pop_front()?;
        Some(sending.arrived(at))
    }

    /// The packets that are under way, which are no longer.
    pub fn drain(&mut self) -> impl Iterator<Item = Packet<u32>> {
        self.coming.drain(..).map(|(sending, _)| sending.packet)
    }
}
