//! Reductions of the window that turn out to be wrong are undone (RFC 3522, RFC 4015, RFC 5682; `tcp_may_undo`).

use super::Event;
use super::state::{Linux, State, Undo};
use fairdrop::Time;

impl Undo {
    /// Recovery begins at `una` (`tcp_init_undo`).
    pub fn begin(&mut self, una: u32, again: u32, probed: bool) {
        let count = again + u32::from(probed);
        self.marker = Some(una);
        self.unanswered = (count > 0).then_some(count);
    }

    pub const fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    pub fn forget(&mut self) {
        (self.marker, self.before) = (None, None);
    }

    /// An ACK has arrived that echoes the timestamp of a segment sent at `echoed`.
    pub fn note_echo(&mut self, echoed: Option<Time>) {
        self.echoed = echoed;
    }

    pub fn forget_stamp(&mut self) {
        self.first = None;
    }

    /// A segment is sent again.
    pub fn note_sent(&mut self, now: Time) {
        self.first.get_or_insert(now);
        self.unanswered = Some(self.unanswered.unwrap_or(0) + 1);
    }

    /// A segment was not sent again after all.
    pub fn take_back(&mut self) {
        self.unanswered = self.unanswered.map(|count| count.saturating_sub(1));
    }

    /// A copy of `segment` has arrived.
    pub fn note_copy(&mut self, segment: u32) {
        if self.marker.is_some_and(|marker| segment >= marker) {
            self.unanswered = self.unanswered.map(|count| count.saturating_sub(1));
        }
    }

    /// All retransmissions were copies of what had arrived.
    fn is_answered(&self) -> bool {
        self.unanswered == Some(0)
    }
}

impl Linux {
    /// The ACK echoes a timestamp from before the first retransmission: the original has arrived (RFC 3522, section 3.2).
    /// Also true if no segment was retransmitted.
    fn is_delayed(&self, event: &Event<'_>) -> bool {
        let Some(first) = self.undo.first else { return true };
        let tick = event.config.tick.ns();
        self.undo.echoed.is_some_and(|echoed| echoed.ns() / tick < first.ns() / tick)
    }

    /// `tcp_may_undo`.
    pub(super) fn is_spurious(&self, event: &Event<'_>) -> bool {
        self.undo.is_possible() && (self.undo.is_answered() || self.is_delayed(event))
    }

    /// The window is as before (RFC 4015, section 3.2; `tcp_undo_cwnd_reduction`).
    pub(super) fn undo_reduction(&mut self, event: &mut Event<'_>, nothing_is_lost: bool) {
        if nothing_is_lost {
            self.outstanding.forget_losses();
        }
        if let Some(before) = self.undo.before {
            let tcp = &mut *event.tcp;
            tcp.control.on_undo(&mut tcp.window, before);
            event.tcp.cwr = false;
        }
        self.undo.marker = None;
        self.rack.advanced = true;
    }

    /// A partial ACK in recovery that the original has caused (`tcp_try_undo_partial`). Returns whether to wait for more.
    pub(super) fn undo_partially(&mut self, event: &mut Event<'_>) -> bool {
        if !self.undo.is_possible() || !self.is_delayed(event) {
            return false;
        }
        self.rack.reordered = true;
        if self.outstanding.again() > 0 {
            return true;
        }
        self.undo.forget_stamp();
        self.undo_reduction(event, true);
        self.keep_open(event);
        false
    }

    /// `tcp_try_undo_dsack`.
    pub(super) fn undo_by_copies(&mut self, event: &mut Event<'_>) -> bool {
        let undo = self.undo.is_possible() && self.undo.is_answered();
        if undo {
            self.undo_reduction(event, false);
        }
        undo
    }

    /// A timeout was spurious, as new data has shown if `by_new_data` (`tcp_try_undo_loss`).
    pub(super) fn undo_timeout(&mut self, event: &mut Event<'_>, by_new_data: bool) -> bool {
        let undo = by_new_data || self.is_spurious(event);
        if undo {
            self.undo_reduction(event, true);
            self.timeouts = 0;
            self.set_state(event, State::Open);
        }
        undo
    }
}
