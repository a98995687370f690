//! A sender as that of Linux 6.18, `era = "linux"`: loss recovery, timers, and how the window is used. What is described in
//! RFCs and how the kernel does it go side by side in the comments; names of kernel functions are those of
//! `net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_timer.c` and `tcp_recovery.c`.
//!
//! The window is in whole segments, and congestion control is asked through the contract that all controls have: what a
//! kernel's module is given as the window, a control gets as what is in flight.
//!
//! The ticks and slots of the kernel's timer wheel are a switch, `timer_wheel` ([`wheel`]); without it timers fire to the
//! nanosecond.
//!
//! Not modelled: the merging of ACKs that are less than a millisecond apart, segmentation offload, and the window's restart
//! after idle time. Paced are the controls that ask for it; with Reno and CUBIC the kernel paces only with the queue
//! discipline `fq`.

mod acknowledged;
mod config;
mod events;
mod outstanding;
mod paced;
mod pacing;
mod played;
mod prr;
mod rack;
mod rates;
mod recovery;
mod round_trip;
mod state;
mod timers;
mod undo;
mod wheel;
mod window;

pub use config::LinuxConfig;
pub use events::{on_ack, on_open, on_supply, on_syn_ack, on_timer};
pub use played::beside_kernel;
pub use state::Linux;
pub use wheel::timer_end;

use super::config::TcpConfig;
use super::connection::Sender;
use super::messages::Send;
use fairdrop::Time;
#[cfg(test)]
use state::State;

#[cfg(test)]
impl Linux {
    pub fn rate_sample(&self) -> Option<crate::transport::congestion::RateSample> {
        self.paced.as_ref().map(|paced| paced.sample)
    }

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
