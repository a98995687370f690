//! The environment that a transmitter lends to its queue: random streams and the key of flows.

use crate::random::queue_streams;
use fairdrop::{Philox, Stream};

/// Numbers of [`Stream::Candidate`] that are drawn ahead.
const AHEAD: usize = 2;

/// Random streams and flow key of one queue.
#[derive(Clone, Debug)]
pub struct Environment {
    random: [Philox; Stream::COUNT],
    /// The next numbers of [`Stream::Candidate`], the first of them at `candidate`.
    candidates: [u64; AHEAD],
    candidate: usize,
    flow_key: [u64; 2],
}

impl Environment {
    /// Number of candidates before [`Self::last_candidate`].
    pub const BEFORE_LAST_CANDIDATE: usize = AHEAD - 1;

    /// The environment of queue number `number`. `flow_key` is the key of tables by flow: secret, from the operating system's
    /// random source, where others' packets are forwarded; zero in a simulator.
    pub fn new(seed: u64, number: u32, flow_key: [u64; 2]) -> Self {
        let mut random = queue_streams(seed, number);
        let candidates = core::array::from_fn(|_| random[Stream::Candidate as usize].next_u64());
        Self { random, candidates, candidate: 0, flow_key }
    }

    /// The key of tables by flow.
    #[inline]
    pub fn flow_key(&self) -> [u64; 2] {
        self.flow_key
    }

    /// The next number of `stream`.
    #[inline]
    pub fn random(&mut self, stream: Stream) -> u64 {
        let next = self.random[stream as usize].next_u64();
        if stream != Stream::Candidate {
            return next;
        }
        let number = core::mem::replace(&mut self.candidates[self.candidate % AHEAD], next);
        self.candidate += 1;
        number
    }

    /// The furthest number of [`Stream::Candidate`] that is known, for prefetching.
    #[inline]
    pub fn last_candidate(&self) -> u64 {
        self.candidates[(self.candidate + AHEAD - 1) % AHEAD]
    }
}
