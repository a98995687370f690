//! When the Linux kernel acknowledges (`__tcp_ack_snd_check`, `tcp_event_data_recv`, `tcp_send_delayed_ack`): every second
//! segment, after a delay that follows the gaps between segments, and in phases of quick ACKs each segment; what it
//! echoes of timestamps (RFC 7323, section 4), and copies that have arrived (RFC 2883).

use super::receiver::{Blocks, Receiver};
use super::tcp::TcpConfig;
use fairdrop::Time;

/// Most ACKs of a quick phase (`TCP_MAX_QUICKACKS`).
const MOST_QUICK: u32 = 16;
/// The least delay of an ACK (`TCP_ATO_MIN`, `TCP_DELACK_MIN`).
const LEAST: Time = Time::from_ms(40);
/// The largest (`tcp_delack_max`).
const MOST: Time = Time::from_ms(200);

/// What it remembers beside what all receivers do.
#[derive(Clone, Debug)]
pub struct LinuxReceiver {
    /// What the last ACK expects next (`rcv_wup`).
    acked: u32,
    /// When the segment was sent whose timestamp the next ACK echoes (`ts_recent`).
    echoed: Option<Time>,
    /// ACKs that are left of a quick phase.
    quick: u32,
    /// How long an ACK is delayed (`ato`); 0 before the first segment.
    delay: Time,
    /// When the last segment came in order.
    last: Time,
    /// When the SYN was answered.
    answered: Time,
    /// The round trip that followed, which is all that a receiver measures.
    round_trip: Time,
    /// A copy of what had come before, to be reported.
    copy: Option<u32>,
}

impl LinuxReceiver {
    fn new(answered: Time) -> Self {
        let (acked, quick, copy) = (0, 0, None);
        let (delay, last, round_trip) = (Time::ZERO, Time::ZERO, Time::ZERO);
        Self { acked, echoed: None, quick, delay, last, answered, round_trip, copy }
    }

    /// The timeout of the receiver's own connection (`tcp_set_rto` after one measurement).
    fn timeout(&self, config: &TcpConfig) -> Time {
        if self.round_trip == Time::ZERO {
            return config.initial_rto;
        }
        self.round_trip.after(config.min_rto.max(self.round_trip.after(self.round_trip)))
    }

    /// The next ACKs are not delayed (`tcp_incr_quickack`).
    fn be_quick(&mut self, config: &TcpConfig) {
        if config.linux.is_some_and(|linux| linux.quick_ack) {
            let window = (config.max_window as u32 / 2).clamp(2, MOST_QUICK);
            self.quick = self.quick.max(window);
        }
    }

    /// A segment comes in order (`tcp_event_data_recv`).
    fn note_arrival(&mut self, now: Time, config: &TcpConfig) {
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

    /// How long to wait with an ACK (`tcp_send_delayed_ack`).
    fn wait(&self) -> Time {
        let most = if self.round_trip == Time::ZERO { MOST } else { self.round_trip.max(LEAST) };
        self.delay.min(most).min(MOST)
    }
}

impl Receiver {
    /// The SYN is answered at `now`.
    pub fn answer_as_linux(&mut self, now: Time) {
        self.linux = Some(Box::new(LinuxReceiver::new(now)));
    }

    /// Takes `segment`, which was sent at `sent`. Returns whether it is new, and how long the ACK waits; `None`: not at all.
    pub fn take_as_linux(
        &mut self,
        now: Time,
        segment: u32,
        sent: Option<Time>,
        config: &TcpConfig,
    ) -> (bool, Option<Time>) {
        let mut linux = self.linux.take().unwrap_or_else(|| Box::new(LinuxReceiver::new(Time::ZERO)));
        if segment <= linux.acked {
            linux.echoed = sent;
        }
        let in_order = segment == self.next;
        let had_gap = self.has_gap();
        let (is_new, _) = self.take(segment, false);
        if in_order {
            linux.note_arrival(now, config);
        }
        if !is_new {
            linux.copy = Some(segment);
            linux.be_quick(config);
        }
        let at_once =
            !in_order || had_gap || self.next - linux.acked > 1 || linux.quick > 0 || !config.delayed_ack;
        let wait = (!at_once).then(|| linux.wait());
        self.linux = Some(linux);
        if wait.is_some() {
            self.ack_pending = true;
        } else {
            self.note_ack();
        }
        (is_new, wait)
    }

    /// An ACK is sent.
    pub fn note_ack(&mut self) {
        let next = self.next;
        self.ack_pending = false;
        if let Some(linux) = &mut self.linux {
            linux.acked = next;
            if linux.quick > 0 {
                linux.quick -= 1;
                if linux.quick == 0 {
                    linux.delay = LEAST;
                }
            }
        }
    }

    /// The delay of an ACK has passed, and no second segment has come: the next one waits longer (`tcp_delack_timer`).
    pub fn note_late_ack(&mut self, config: &TcpConfig) {
        if let Some(linux) = &mut self.linux {
            linux.delay = linux.delay.after(linux.delay).min(linux.timeout(config));
        }
        self.note_ack();
    }

    /// When the segment was sent whose timestamp an ACK sent now echoes.
    pub fn echoed(&self) -> Option<Time> {
        self.linux.as_ref().and_then(|linux| linux.echoed)
    }

    /// What an ACK sent now reports: a copy first, if one has come (RFC 2883, section 4).
    pub fn blocks_as_linux(&mut self, most: u8) -> Option<Blocks> {
        let copy = self.linux.as_mut().and_then(|linux| linux.copy.take());
        if copy.is_none() && !self.has_gap() {
            return None;
        }
        let Some(copy) = copy else { return Some(self.blocks(most)) };
        let mut blocks = self.blocks(most);
        blocks.insert(0, (copy, copy + 1), most.into());
        Some(blocks)
    }
}
