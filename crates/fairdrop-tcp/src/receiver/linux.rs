//! Acknowledgements modelled on the Linux kernel (`__tcp_ack_snd_check`, `tcp_event_data_recv`, `tcp_send_delayed_ack`):
//! every second segment, after a delay that follows the gaps between segments, and in phases of quick ACKs each segment;
//! echoes of timestamps (RFC 7323, section 4), and reports of duplicates (RFC 2883).

use super::blocks::Blocks;
use super::linux_state::{LEAST, LinuxReceiver};
use super::received::Receiver;
use crate::accurate_ecn::Feedback;
use crate::config::Common;
use fairdrop::{Ecn, Time};

impl Receiver {
    /// The SYN is answered at `now`.
    pub fn answer_as_linux(&mut self, now: Time) {
        self.linux = Some(Box::new(LinuxReceiver::new(now)));
    }

    fn as_linux(&mut self) -> &mut LinuxReceiver {
        self.linux.get_or_insert_with(|| Box::new(LinuxReceiver::new(Time::ZERO)))
    }

    /// A packet with this ECN field and number of bytes of data has arrived, where feedback is accurate. Returns whether an
    /// ACK is due at once.
    pub fn count_marks(&mut self, ecn: Ecn, bytes: u32) -> bool {
        self.as_linux().marks.take(ecn, bytes)
    }

    /// Feedback of marks in an ACK sent now, perhaps with the option.
    pub fn feed_back(&mut self, with_option: bool) -> Feedback {
        self.as_linux().marks.report(with_option)
    }

    /// Takes `segment`, which was sent at `sent`. Returns whether it is new, and how long the ACK waits; `None`: not at all.
    pub fn take_as_linux(
        &mut self,
        now: Time,
        segment: u32,
        sent: Option<Time>,
        config: &Common,
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
    pub fn note_late_ack(&mut self, config: &Common) {
        if let Some(linux) = &mut self.linux {
            linux.delay = linux.delay.after(linux.delay).min(linux.timeout(config));
        }
        self.note_ack();
    }

    /// Sending time of the segment whose timestamp an ACK sent now echoes.
    pub fn echoed(&self) -> Option<Time> {
        self.linux.as_ref().and_then(|linux| linux.echoed)
    }

    /// Blocks that an ACK sent now reports: a duplicate first, if one has arrived (RFC 2883, section 4).
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
