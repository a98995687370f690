//! Packets of one flow that leave together, until they are handed on as one frame.

use super::Ports;
use crate::frame::{FramePool, Join, Unsummed};
use crate::link::Outcome;
use std::io;

/// Packets that one frame will stand for. They keep their buffers until then.
#[derive(Debug, Default)]
pub(super) struct Train {
    join: Option<Join>,
    left: Option<Unsummed>,
    outcomes: Vec<Outcome>,
    headers: Vec<u8>,
}

impl Train {
    /// Takes a packet whose IP header begins at `ip` and whose checksum is left; whether it is of this train, or begins it.
    pub fn take(&mut self, pool: &FramePool, outcome: &Outcome, ip: usize, left: Unsummed) -> bool {
        let frame = pool.frame(outcome.handle);
        let taken = match (&mut self.join, self.outcomes.first()) {
            (Some(join), Some(first)) => join.take(pool.frame(first.handle), frame, left),
            _ => {
                self.join = Join::new(frame, ip, left);
                self.left = Some(left);
                self.join.is_some()
            }
        };
        if taken {
            self.outcomes.push(*outcome);
        }
        taken
    }

    /// Whether it has none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// Its packets, which are its own no longer.
    pub fn unload(&mut self) -> Vec<Outcome> {
        self.join = None;
        std::mem::take(&mut self.outcomes)
    }

    /// The room of what was unloaded comes back.
    pub fn reuse(&mut self, mut outcomes: Vec<Outcome>) {
        outcomes.clear();
        self.outcomes = outcomes;
    }

    /// Hands all of it on as one frame; whether the port took it.
    pub fn hand_on(&mut self, pool: &FramePool, ports: &mut impl Ports) -> io::Result<bool> {
        let (Some(join), Some(left), Some(first)) = (&self.join, self.left, self.outcomes.first()) else {
            return Ok(true);
        };
        let first = pool.frame(first.handle);
        if self.outcomes.len() == 1 {
            return ports.deliver_left(&left.header(), &[first]);
        }
        let header = join.headers(first, &mut self.headers);
        let mut pieces = [&[][..]; Join::MOST + 1];
        pieces[0] = &self.headers;
        for (piece, outcome) in pieces[1..].iter_mut().zip(&self.outcomes) {
            *piece = &pool.frame(outcome.handle)[join.payload()..];
        }
        ports.deliver_left(&header, &pieces[..=self.outcomes.len()])
    }
}
