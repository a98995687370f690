//! A sender as the Linux kernel's of today (6.18), `era = "linux"`: loss recovery, timers, and how the window is used. What
//! is described in RFCs and how the kernel does it go side by side in the comments; names of kernel functions are those
//! of `net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_timer.c` and `tcp_recovery.c`.
//!
//! The window is in whole segments, and congestion control is asked through the contract that all controls have: what a
//! kernel's module is given as the window, a control gets as what is in flight.
//!
//! Not modelled: the granularity of the kernel's timers (jiffies, and the wheel's slots of an eighth of a long timeout), the
//! merging of ACKs that are less than a millisecond apart, segmentation offload, pacing (the kernel has none without the
//! queue discipline `fq`), and the window's restart after idle time.

mod acknowledged;
mod config;
mod events;
mod outstanding;
mod prr;
mod rack;
mod recovery;
mod round_trip;
mod timers;
mod undo;
mod window;

pub use config::LinuxConfig;
pub use events::{on_ack, on_supply, on_syn_ack, on_timer};

use super::config::TcpConfig;
use super::connection::Sender;
use super::messages::Send;
use fairdrop::Time;
use outstanding::Outstanding;
use prr::Prr;
use rack::Rack;
use round_trip::RoundTrip;
use timers::{Probe, Timer};
use undo::Undo;
use window::Usage;

/// Segments reported above one that mean that it is lost, unless segments were seen out of order (`tcp_reordering`).
const REORDERING: u32 = 3;

/// What is going on (`icsk_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing.
    #[default]
    Open,
    /// Something is reported out of order.
    Disorder,
    /// The window is being reduced for an echo of congestion.
    Reducing,
    /// Fast recovery.
    Recovery,
    /// The retransmission timer ran out.
    Loss,
}

/// What a sender of this kind remembers beside what all have.
#[derive(Debug)]
pub struct Linux {
    state: State,
    /// `high` when that state began: it ends when this is acknowledged.
    recover: u32,
    outstanding: Outstanding,
    rack: Rack,
    round_trip: RoundTrip,
    /// The least round trip so far.
    min_rtt: Time,
    /// Which timer runs.
    timer: Timer,
    /// Timeouts since something new was acknowledged.
    timeouts: u32,
    /// The tail loss probe that was not answered yet.
    probe: Option<Probe>,
    /// New data decides whether the timeout was spurious.
    frto: bool,
    /// Segments reported above one that mean that it is lost.
    reordering: u32,
    prr: Prr,
    undo: Undo,
    usage: Usage,
    /// When the last SYN was sent.
    syn_sent: Time,
}

impl Default for Linux {
    fn default() -> Self {
        Self {
            state: State::Open,
            recover: 0,
            outstanding: Outstanding::default(),
            rack: Rack::default(),
            round_trip: RoundTrip::default(),
            min_rtt: Time::NEVER,
            timer: Timer::Retransmission,
            timeouts: 0,
            probe: None,
            frto: false,
            reordering: REORDERING,
            prr: Prr::default(),
            undo: Undo::default(),
            usage: Usage::default(),
            syn_sent: Time::ZERO,
        }
    }
}

#[cfg(test)]
impl Linux {
    /// What holds after every event.
    pub fn check(&self, tcp: &Sender) {
        self.outstanding.check();
        assert_eq!(self.outstanding.len(), tcp.high - tcp.una, "{tcp:?}");
        assert!(tcp.next == tcp.high && tcp.window.cwnd.fract() == 0.0, "{tcp:?}");
        assert_eq!(tcp.window.ssthresh.fract(), 0.0, "{tcp:?}");
        // A probe and the first retransmission are beyond the window, and it may be reduced later than what is in flight.
        let is_calm = self.state == State::Open && self.probe.is_none();
        assert!(!is_calm || self.outstanding.lost() == 0 || !self.undo.is_possible(), "{self:?}");
    }
}

/// Something happens to a sender at `now`.
struct Event<'e> {
    tcp: &'e mut Sender,
    now: Time,
    config: &'e TcpConfig,
    switches: LinuxConfig,
    out: &'e mut Vec<Send>,
}

impl Event<'_> {
    /// The window in whole segments.
    fn cwnd(&self) -> u32 {
        self.tcp.window.cwnd as u32
    }

    /// The slow start threshold in whole segments.
    fn ssthresh(&self) -> u32 {
        self.tcp.window.ssthresh as u32
    }

    fn set_cwnd(&mut self, segments: u32) {
        self.tcp.window.cwnd = f64::from(segments.max(1)).min(self.config.max_window);
    }

    /// Whether there is new data, and the receiver's window has room for it.
    fn may_send_new(&self) -> bool {
        let most = self.tcp.una.saturating_add(self.config.max_window as u32);
        self.tcp.high < self.tcp.supply.min(most)
    }
}
