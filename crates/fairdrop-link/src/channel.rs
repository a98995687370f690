//! From the transmitter to the other end: propagation delay, loss and impairments.

use crate::impairments::{Impaired, Impairments, Loss};
use crate::outcome::{Fate, Outcome};
use alloc::collections::VecDeque;
use fairdrop::Time;

/// Treatment of packets between the transmitter and the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Channel {
    /// Propagation delay.
    pub delay: Time,
    /// Probability with which a packet is lost, independently of others.
    pub loss: f64,
    /// All other impairments.
    pub impairments: Impairments,
}

/// Copies of a packet that reach the other end.
pub(crate) enum Copies {
    None,
    One,
    Two,
}

/// Packets on their way through a channel.
#[derive(Debug)]
pub(crate) struct Flight {
    channel: Channel,
    /// It delivers packets at once.
    is_ideal: bool,
    loss: Loss,
    impaired: Impaired,
    /// Packets that will arrive at the other end, by time of arrival, then in the order of sending.
    coming: VecDeque<Outcome>,
}

impl Flight {
    pub fn new(channel: Channel, seed: u64, number: u32, room: usize) -> Self {
        Self {
            channel,
            is_ideal: channel == Channel::default(),
            loss: Loss::new(channel.loss, seed, number),
            impaired: Impaired::new(channel.impairments, seed, number),
            coming: VecDeque::with_capacity(room),
        }
    }

    /// Another channel for packets that enter from now on.
    pub fn set(&mut self, channel: Channel) {
        self.channel = channel;
        self.is_ideal = channel == Channel::default();
        self.loss.set(channel.loss);
        self.impaired.set(channel.impairments);
    }

    /// Whether a packet that leaves the transmitter at `now` is at the other end at once.
    #[inline]
    pub fn is_clear(&self, now: Time) -> bool {
        self.is_ideal && self.coming.is_empty() && self.impaired.last() <= now
    }

    /// A packet has left the transmitter, which an ideal channel would deliver as `sent`.
    pub fn enter(&mut self, sent: Outcome) -> Copies {
        let in_bad_phase = self.impaired.loses();
        if self.loss.loses() || in_bad_phase {
            return Copies::None;
        }
        let at = sent.at.after(self.channel.delay);
        let is_copied = self.impaired.duplicates();
        let there = self.impaired.arrival(at);
        if !is_copied {
            self.insert(Outcome { at: there, ..sent });
            return Copies::One;
        }
        let other = self.impaired.arrival(at);
        self.insert(Outcome { at: there.min(other), fate: Fate::Duplicated, ..sent });
        self.insert(Outcome { at: there.max(other), ..sent });
        Copies::Two
    }

    #[inline]
    fn insert(&mut self, outcome: Outcome) {
        if self.coming.back().is_none_or(|before| before.at <= outcome.at) {
            return self.coming.push_back(outcome);
        }
        let place = self.coming.partition_point(|other| other.at <= outcome.at);
        self.coming.insert(place, outcome);
    }

    /// Time of the next arrival.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.coming.front().map(|outcome| outcome.at)
    }

    /// The packet that arrives next.
    pub fn arrived(&mut self) -> Option<Outcome> {
        self.coming.pop_front()
    }

    /// Removes and returns the packets in flight.
    pub fn drain(&mut self) -> impl Iterator<Item = Outcome> {
        self.coming.drain(..)
    }
}
