//! Code common to the agents of ns-2 (`tcp/tcp.cc`).

use super::config::Ns2Config;
use super::reno::half_window;
use crate::config::Config;
use crate::congestion::{Control, MIN_SSTHRESH};
use crate::connection::Connection;
use crate::messages::Send;
use crate::timer::MaybeSegment;
use fairdrop::Time;

/// State of an agent (`TcpAgent`). `una`, `next` and `high` are ns-2's `highest_ack_`, `t_seqno_` (the same) and `maxseq_`, each
/// one more.
#[derive(Debug)]
pub struct State {
    pub tcp: Connection,
    pub duplicate_acks: u32,
    /// `high` when the last loss was noticed.
    pub recover: u32,
}

impl State {
    pub fn new(config: &Config<Ns2Config>, boot: f64, control: Control) -> Self {
        Self { tcp: Connection::new(config, boot, control), duplicate_acks: 0, recover: 0 }
    }
}

/// An event of an agent at `now`.
pub struct Agent<'e> {
    pub state: &'e mut State,
    pub now: Time,
    pub config: &'e Config<Ns2Config>,
    pub out: &'e mut Vec<Send>,
}

impl Agent<'_> {
    /// `TcpAgent::window`.
    pub fn window(&self) -> u32 {
        self.state.tcp.window.cwnd.min(self.config.max_window) as u32
    }

    /// The receiver's window.
    pub fn largest_window(&self) -> u32 {
        self.config.max_window as u32
    }

    /// `TcpAgent::slowdown`: sets `ssthresh`; returns half of the window.
    pub fn slow_down(&mut self) -> f64 {
        let half = half_window(&self.state.tcp, self.state.duplicate_acks, self.config);
        self.state.tcp.window.ssthresh = half.floor().max(MIN_SSTHRESH);
        self.state.tcp.cwr = true;
        half
    }

    /// Opens the connection.
    pub fn send_syn(&mut self) {
        self.state.tcp.send_syn(self.now, self.out);
        self.restart_timer();
    }

    /// `TcpAgent::set_rtx_timer`.
    pub fn restart_timer(&mut self) {
        let wait = self.state.tcp.timer.rto.current(self.config.family.law(), self.config);
        self.state.tcp.deadline = self.now.after(wait);
    }

    /// `TcpAgent::newtimer`, for an ACK that expects `next`.
    pub fn restart_or_cancel_timer(&mut self, next: u32) {
        if self.state.tcp.next >= next || next < self.state.tcp.high || self.state.tcp.window.cwnd < 1.0 {
            self.restart_timer();
        } else {
            self.state.tcp.deadline = Time::NEVER;
        }
    }

    /// `TcpAgent::newack`, for an ACK that expects `next`.
    pub fn acknowledge(&mut self, next: u32) {
        if !self.config.family.timerfix {
            self.restart_or_cancel_timer(next);
        }
        self.state.duplicate_acks = 0;
        self.state.tcp.una = next;
        self.state.tcp.next = self.state.tcp.next.max(next);
        self.state.tcp.timer.measure(self.now, next, self.config.family.law(), self.config);
        if self.config.family.timerfix {
            self.restart_or_cancel_timer(next);
        }
    }

    /// `TcpAgent::output`; `force` restarts the timer where nothing was outstanding.
    pub fn output(&mut self, segment: u32, force: bool) {
        let nothing_outstanding = self.state.tcp.una == self.state.tcp.high;
        if segment < self.state.tcp.high {
            self.state.tcp.counted.retransmissions += 1;
            self.out.push(Send::Again(segment));
        } else {
            self.state.tcp.high = segment + 1;
            self.state.tcp.timer.note_new(segment, self.now);
            let data = self.state.tcp.new_data(segment, self.config);
            self.out.push(data);
        }
        if self.state.tcp.deadline == Time::NEVER || (force && nothing_outstanding) {
            self.restart_timer();
        }
    }

    /// `TcpAgent::reset_rtx_timer`.
    pub fn reset_timer(&mut self, back_off: bool) {
        if back_off {
            self.state.tcp.timer.rto.back_off(self.config.family.law(), self.config);
        }
        self.restart_timer();
        self.state.tcp.timer.timed = MaybeSegment::NONE;
    }
}
