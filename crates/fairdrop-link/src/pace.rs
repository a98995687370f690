//! When packets may leave: at a rate, at the delivery chances of a trace, or at once.

use crate::chances::{Chances, TraceWire};
use crate::wire::{Rate, Wire};
use alloc::sync::Arc;
use fairdrop::Time;

/// Pace of a link.
#[derive(Clone, Debug)]
pub enum Pace {
    /// A packet leaves when it comes.
    Unlimited,
    /// Packets leave at a rate in bit/s.
    Rate(u64),
    /// Packets leave at the delivery chances of a trace.
    Trace(Arc<Chances>),
}

impl Pace {
    /// Mean rate, bit/s; `None` when there is no limit.
    pub fn mean_bps(&self) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::Rate(bps) => Some(*bps),
            Self::Trace(chances) => Some(chances.mean_bps() as u64),
        }
    }
}

/// The clock of one transmitter.
#[derive(Clone, Debug)]
pub enum Pacer {
    /// A packet leaves when it comes.
    Unlimited,
    /// Packets leave at a rate.
    Rate {
        /// The rate.
        rate: Rate,
        /// When the transmitter is free.
        wire: Wire,
    },
    /// Packets leave at the delivery chances of a trace.
    Trace(TraceWire),
}

/// Sizes of packets that are sent most: a full frame and a bare acknowledgement.
const COMMON_BYTES: [u32; 2] = [1500, 52];

impl Pacer {
    /// A free transmitter; a trace begins at `begun`.
    pub fn new(pace: Pace, begun: Time) -> Self {
        Self::for_sizes(pace, COMMON_BYTES, begun)
    }

    /// The same where most packets are of one of `sizes`.
    pub fn for_sizes(pace: Pace, sizes: [u32; 2], begun: Time) -> Self {
        match pace {
            Pace::Unlimited => Self::Unlimited,
            Pace::Rate(bps) => Self::Rate { rate: Rate::new(bps, sizes), wire: Wire::default() },
            Pace::Trace(chances) => Self::Trace(TraceWire::new(chances, begun)),
        }
    }

    /// Departure time of the last bit of a packet of `bytes` that goes into transmission at `ready`.
    #[inline]
    pub fn send(&mut self, ready: Time, bytes: u32) -> Time {
        match self {
            Self::Unlimited => ready,
            Self::Rate { rate, wire } => wire.send(ready, bytes, rate),
            Self::Trace(wire) => wire.send(ready, bytes),
        }
    }

    /// Time at which tokens for `bytes` that leave at `now` are there, behind a bucket of `bucket` bytes: the next packet leaves then.
    pub fn shape(&mut self, now: Time, bytes: u32, bucket: u32) -> Time {
        let saved = match self {
            Self::Rate { rate, .. } => rate.time_of(bucket),
            Self::Unlimited | Self::Trace(_) => Time::ZERO,
        };
        self.send(now.since(saved), bytes).max(now)
    }

    /// Another pace from `now` on; the packet in transmission keeps its time.
    pub fn change(&mut self, pace: Pace, now: Time) {
        match (&mut *self, pace) {
            (Self::Rate { rate, wire }, Pace::Rate(bps)) => {
                let new = rate.with_bps(bps);
                wire.change_rate(rate, &new);
                *rate = new;
            }
            (_, pace) => *self = Self::new(pace, now),
        }
    }
}
