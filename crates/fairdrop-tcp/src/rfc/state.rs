//! State of a sender, and the steps of its events that no rule changes.

use crate::connection::{Connection, Phase};
use crate::messages::Send;
use crate::scoreboard::Scoreboard;
use crate::timer::MaybeSegment;
use fairdrop::Time;

/// One connection's sending side. Fields that every ACK needs come first.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    pub tcp: Connection,
    pub duplicate_acks: u32,
    /// `high` when the last loss was noticed.
    pub recover: u32,
    /// New segments that limited transmit has sent beyond the window since `una` last moved.
    pub limited: u32,
    /// `high` when the window was last reduced for an echo of congestion.
    pub echoed: u32,
    /// Selective acknowledgements, while there are holes.
    pub board: Option<Box<Scoreboard>>,
}

impl Sender {
    #[inline]
    pub fn is_open(&self) -> bool {
        self.tcp.phase == Phase::Open
    }

    #[inline]
    pub fn is_recovering(&self) -> bool {
        self.tcp.phase == Phase::Recovery
    }

    /// Back from recovery to the window and its growth.
    pub fn leave_recovery(&mut self) {
        self.tcp.phase = Phase::Open;
        self.duplicate_acks = 0;
    }

    /// Segments in flight, without those of limited transmit (RFC 5681, section 3.2, step 2).
    pub fn flight_at_loss(&self) -> f64 {
        self.tcp.in_flight() - f64::from(self.limited)
    }

    /// Whether the window was reduced for an echo of congestion, and the ACK of the segments sent then has not arrived.
    pub fn echoed_in_this_window(&self) -> bool {
        self.echoed != 0 && self.tcp.una <= self.echoed
    }

    /// Stores the highest segment sent.
    pub fn note_loss(&mut self) {
        self.recover = self.tcp.high;
        self.tcp.timer.timed = MaybeSegment::NONE;
        self.tcp.cwr = true;
    }

    /// Sends `segment` again, out of the order of `next`.
    pub fn retransmit(&mut self, now: Time, segment: u32, out: &mut Vec<Send>) {
        // Karn: an ACK no longer shows which copy it answers.
        self.tcp.timer.timed = MaybeSegment::NONE;
        self.tcp.send_again(now, segment, out);
    }
}
