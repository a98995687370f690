//! A sender modelled on Linux 6.18, `era = "linux"`: loss recovery, timers, and the use of the window. Comments cite both
//! the RFCs and the kernel; names of kernel functions are those of `net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_timer.c`
//! and `tcp_recovery.c`.
//!
//! The window is in whole segments, and congestion control is called through the contract of all controls: the value that a
//! kernel's module receives as the window, a control receives as the flight size.
//!
//! With the switch `timer_wheel` timers fire at the slots of the kernel's timer wheel ([`wheel`]); without it, to the
//! nanosecond. Controls that set a pacing rate are paced; the kernel paces Reno and CUBIC only under the queue discipline `fq`,
//! and here they are not.
//!
//! Not modelled: the merging of ACKs less than a millisecond apart, segmentation offload, and the window's restart after idle
//! time.

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

pub use config::LinuxConfig as Settings;
pub use played::beside_kernel;

use super::config::Config;
use super::congestion::Control;
use super::connection::Connection;
use super::messages::{Ack, Send};
use super::sender::TcpSender;
use super::timer::Law;
use config::LinuxConfig;
use fairdrop::Time;
use state::Linux;
#[cfg(test)]
use state::State;

/// A sender modelled on Linux 6.18.
#[derive(Debug)]
pub struct Sender(Box<Parts>);

/// Its parts.
#[derive(Debug)]
struct Parts {
    tcp: Connection,
    linux: Linux,
}

impl TcpSender<LinuxConfig> for Sender {
    fn new(config: &Config<LinuxConfig>, boot: f64, control: Control) -> Self {
        Self(Box::new(Parts { tcp: Connection::new(config, boot, control), linux: Linux::new(config) }))
    }

    #[inline]
    fn connection(&self) -> &Connection {
        &self.0.tcp
    }

    #[inline]
    fn connection_mut(&mut self) -> &mut Connection {
        &mut self.0.tcp
    }

    fn start(&mut self, now: Time, config: &Config<LinuxConfig>, out: &mut Vec<Send>) {
        self.on(now, config, out, Linux::start);
    }

    fn on_supply(&mut self, now: Time, config: &Config<LinuxConfig>, out: &mut Vec<Send>) {
        self.0.tcp.add_supply();
        self.on(now, config, out, Linux::on_supply);
    }

    fn on_syn_ack(
        &mut self,
        now: Time,
        stamp: Option<Time>,
        config: &Config<LinuxConfig>,
        out: &mut Vec<Send>,
    ) {
        self.on(now, config, out, |linux, event| linux.on_syn_ack(event, stamp));
    }

    #[inline(never)]
    fn on_ack(&mut self, now: Time, ack: Ack<'_>, config: &Config<LinuxConfig>, out: &mut Vec<Send>) {
        self.on(now, config, out, |linux, event| linux.on_ack(event, ack));
    }

    #[inline(never)]
    fn on_timeout(&mut self, now: Time, config: &Config<LinuxConfig>, out: &mut Vec<Send>) {
        self.on(now, config, out, Linux::on_deadline);
    }
}

impl Sender {
    /// Calls `each` for an event at `now`.
    fn on(
        &mut self,
        now: Time,
        config: &Config<LinuxConfig>,
        out: &mut Vec<Send>,
        each: impl FnOnce(&mut Linux, &mut Event<'_>),
    ) {
        let Parts { tcp, linux } = &mut *self.0;
        linux.begin_event(tcp);
        each(linux, &mut Event { tcp, now, config, out });
        linux.end_event(tcp);
    }
}

#[cfg(test)]
impl Sender {
    pub fn rate_sample(&self) -> Option<super::congestion::RateSample> {
        self.0.linux.paced.as_ref().map(|paced| paced.sample)
    }

    /// What holds after every event.
    pub fn check(&self) {
        let Parts { tcp, linux, .. } = &*self.0;
        linux.outstanding.check();
        assert_eq!(linux.outstanding.len(), tcp.high - tcp.una, "{tcp:?}");
        assert!(tcp.next == tcp.high && tcp.window.cwnd.fract() == 0.0, "{tcp:?}");
        assert_eq!(tcp.window.ssthresh.fract(), 0.0, "{tcp:?}");
        // A probe and the first retransmission are beyond the window, and it may be reduced later than what is in flight.
        let is_calm = linux.state == State::Open && linux.probe.is_none();
        assert!(!is_calm || linux.outstanding.lost() == 0 || !linux.undo.is_possible(), "{linux:?}");
    }
}

/// An event at `now`.
struct Event<'e> {
    tcp: &'e mut Connection,
    now: Time,
    config: &'e Config<LinuxConfig>,
    out: &'e mut Vec<Send>,
}

impl Event<'_> {
    /// Restarts the timer of the handshake.
    fn restart_syn_timer(&mut self) {
        let wait = self.tcp.timer.rto.current(Law::Rfc6298, self.config);
        self.tcp.deadline = wheel::timer_end(self.now, wait, self.config.family);
    }

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
