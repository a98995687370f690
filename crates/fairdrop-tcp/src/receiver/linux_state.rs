//! State of a receiver modelled on the Linux kernel, and its delays of ACKs.

use crate::accurate_ecn::Counts;
use crate::config::{Common, Receiving};
use fairdrop::Time;

/// Most ACKs of a quick phase (`TCP_MAX_QUICKACKS`).
const MOST_QUICK: u32 = 16;
/// The least delay of an ACK (`TCP_ATO_MIN`, `TCP_DELACK_MIN`).
pub(super) const LEAST: Time = Time::from_ms(40);
/// The largest (`tcp_delack_max`).
const MOST: Time = Time::from_ms(200);

/// Its state beside that of all receivers.
#[derive(Clone, Debug)]
pub struct LinuxReceiver {
    /// What the last ACK expects next (`rcv_wup`).
    pub(super) acked: u32,
    /// Sending time of the segment whose timestamp the next ACK echoes (`ts_recent`).
    pub(super) echoed: Option<Time>,
    /// ACKs that are left of a quick phase.
    pub(super) quick: u32,
    /// Delay of an ACK (`ato`); 0 before the first segment.
    pub(super) delay: Time,
    /// When the last segment came in order.
    pub(super) last: Time,
    /// When the SYN was answered.
    pub(super) answered: Time,
    /// The following round trip, the only one that a receiver measures.
    pub(super) round_trip: Time,
    /// A duplicate, to be reported.
    pub(super) copy: Option<u32>,
    /// Marks, where feedback is accurate.
    pub(super) marks: Counts,
}

impl LinuxReceiver {
    pub(super) fn new(answered: Time) -> Self {
        let (acked, quick, copy) = (0, 0, None);
        let (delay, last, round_trip) = (Time::ZERO, Time::ZERO, Time::ZERO);
        let marks = Counts::default();
        Self { acked, echoed: None, quick, delay, last, answered, round_trip, copy, marks }
    }

    /// The timeout of the receiver's own connection (`tcp_set_rto` after one measurement).
    pub(super) fn timeout(&self, config: &Common) -> Time {
        if self.round_trip == Time::ZERO {
            return config.initial_rto;
        }
        self.round_trip.after(config.min_rto.max(self.round_trip.after(self.round_trip)))
    }

    /// The next ACKs are not delayed (`tcp_incr_quickack`).
    pub(super) fn be_quick(&mut self, config: &Common) {
        if config.traits.receiving == (Receiving::Linux { quick_ack: true }) {
            let window = (config.max_window as u32 / 2).clamp(2, MOST_QUICK);
            self.quick = self.quick.max(window);
        }
    }

    /// A segment comes in order (`tcp_event_data_recv`).
    pub(super) fn note_arrival(&mut self, now: Time, config: &Common) {
        if self.delay == Time::ZERO {
            if self.answered > Time::ZERO {
                self.round_trip = now.since(self.answered);
            }
            self.be_quick(config);
            self.delay = LEAST;
        } else {
            let gap = now.since(self.last);
            let half = Time::from_ns(self.delay.ns() / 2);
            if gap.ns() <= LEAST.ns() / 2 {
                self.delay = half.after(Time::from_ns(LEAST.ns() / 2));
            } else if gap < self.delay {
                self.delay = half.after(gap).min(self.timeout(config));
            } else if gap > self.timeout(config) {
                // The sender is slow: it needs the ACK.
                self.be_quick(config);
            }
        }
        self.last = now;
    }

    /// Delay of an ACK (`tcp_send_delayed_ack`).
    pub(super) fn wait(&self) -> Time {
        let most = if self.round_trip == Time::ZERO { MOST } else { self.round_trip.max(LEAST) };
        self.delay.min(most).min(MOST)
    }
}
