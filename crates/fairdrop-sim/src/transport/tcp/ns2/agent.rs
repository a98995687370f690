//! What the agents of ns-2 have in common (`tcp/tcp.cc`).

use super::super::config::TcpConfig;
use super::super::connection::{MaybeSegment, Sender};
use super::super::messages::Send;
use crate::transport::congestion::MIN_SSTHRESH;
use fairdrop::Time;

/// Something happens to a sender at `now`. `una`, `next` and `high` are ns-2's `highest_ack_`, `t_seqno_` (the same) and
/// `maxseq_`, each one more.
pub struct Agent<'e> {
    pub tcp: &'e mut Sender,
    pub now: Time,
    pub config: &'e TcpConfig,
    pub out: &'e mut Vec<Send>,
}

impl Agent<'_> {
    /// `TcpAgent::window`.
    pub fn window(&self) -> u32 {
        self.tcp.window.cwnd.min(self.config.max_window) as u32
    }

    /// The receiver's window.
    pub fn largest_window(&self) -> u32 {
        self.config.max_window as u32
    }

    /// `TcpAgent::slowdown`: sets `ssthresh`; returns half of the window.
    pub fn slow_down(&mut self) -> f64 {
        let half = self.tcp.half_window(self.config);
        self.tcp.window.ssthresh = half.floor().max(MIN_SSTHRESH);
        self.tcp.cwr = true;
        half
    }

    /// `TcpAgent::set_rtx_timer`.
    pub fn restart_timer(&mut self) {
        self.tcp.restart_timer(self.now, self.config);
    }

    /// `TcpAgent::newtimer`, for an ACK that expects `next`.
    pub fn restart_or_cancel_timer(&mut self, next: u32) {
        if self.tcp.next >= next || next < self.tcp.high || self.tcp.window.cwnd < 1.0 {
            self.restart_timer();
        } else {
            self.tcp.deadline = Time::NEVER;
        }
    }

    /// `TcpAgent::newack`, for an ACK that expects `next`.
    pub fn acknowledge(&mut self, next: u32) {
        if !self.config.ns2.timerfix {
            self.restart_or_cancel_timer(next);
        }
        self.tcp.duplicate_acks = 0;
        self.tcp.una = next;
        self.tcp.next = self.tcp.next.max(next);
        if self.tcp.timed.get().is_some_and(|segment| next > segment) {
            self.tcp.rto.measure(self.tcp.timed_at, self.now, self.config);
            self.tcp.timed = MaybeSegment::NONE;
        }
        if self.config.ns2.timerfix {
            self.restart_or_cancel_timer(next);
        }
    }

    /// `TcpAgent::output`; `force` restarts the timer where nothing was outstanding.
    pub fn output(&mut self, segment: u32, force: bool) {
        let nothing_outstanding = self.tcp.una == self.tcp.high;
        if segment < self.tcp.high {
            self.tcp.counted.retransmissions += 1;
            self.out.push(Send::Again(segment));
        } else {
            self.tcp.high = segment + 1;
            if self.tcp.timed.get().is_none() {
                (self.tcp.timed, self.tcp.timed_at) = (MaybeSegment::some(segment), self.now);
            }
            let data = self.tcp.new_data(segment, self.config);
            self.out.push(data);
        }
        if self.tcp.deadline == Time::NEVER || (force && nothing_outstanding) {
            self.restart_timer();
        }
    }

    /// `TcpAgent::reset_rtx_timer`.
    pub fn reset_timer(&mut self, back_off: bool) {
        if back_off {
            self.tcp.rto.back_off(self.config);
        }
        self.restart_timer();
        self.tcp.timed = MaybeSegment::NONE;
    }
}
