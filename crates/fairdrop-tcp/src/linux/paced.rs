//! Controls that receive rates of delivery, and may pace: their samples, and the departure times of segments.

use super::Event;
use super::acknowledged::News;
use super::pacing::Paced;
use super::state::{Linux, State};
use crate::congestion::{RateSample, Repair};
use crate::connection::Connection;

impl Linux {
    const fn repair(&self) -> Repair {
        match self.state {
            State::Open | State::Disorder | State::Reducing => Repair::No,
            State::Recovery => Repair::Fast,
            State::Loss => Repair::Timeout,
        }
    }

    /// During an event the deadline is that of loss recovery alone.
    pub(super) fn begin_event(&mut self, tcp: &mut Connection) {
        if let Some(paced) = &mut self.paced
            && let Some(timer) = paced.pacer.held_timer.take()
        {
            tcp.deadline = timer;
        }
    }

    pub(super) fn end_event(&mut self, tcp: &mut Connection) {
        if let Some(paced) = &mut self.paced
            && let Some(next) = paced.pacer.end().filter(|next| *next < tcp.deadline)
        {
            paced.pacer.held_timer = Some(std::mem::replace(&mut tcp.deadline, next));
        }
    }

    /// Whether the timer ran out for pacing, not for loss recovery.
    pub(super) fn only_pacing_waits(&self, event: &Event<'_>) -> bool {
        self.paced.is_some() && event.tcp.deadline > event.now
    }

    /// Held segments may leave (`tcp_tsq_write`).
    pub(super) fn send_paced(&mut self, event: &mut Event<'_>) {
        if let Some(paced) = &mut self.paced {
            paced.pacer.release();
        }
        self.send_lost(event);
        self.send_new(event);
    }

    /// Whether pacing lets a segment leave now.
    pub(super) fn lets_go(&mut self, event: &Event<'_>) -> bool {
        let Some(paced) = &mut self.paced else { return true };
        let control = &event.tcp.control;
        control.pacing_rate().is_none() || paced.pacer.lets_go(event.now, control.send_quantum())
    }

    /// `segment` is sent, new, again, or as a probe, when `before` were in flight.
    pub(super) fn note_paced(&mut self, event: &Event<'_>, segment: u32, before: u32) {
        let Some(paced) = &mut self.paced else { return };
        paced.rates.on_sent(event.now, segment, self.outstanding.in_flight(), before == 0);
        paced.pacer.on_sent(event.now, event.tcp.control.pacing_rate());
    }

    /// A segment is to be sent, when perhaps nothing else `is_outstanding`.
    pub(super) fn note_restart(&mut self, event: &mut Event<'_>, was_empty: bool) {
        if was_empty && self.paced.as_ref().is_some_and(|paced| paced.rates.is_app_limited()) {
            let tcp = &mut *event.tcp;
            tcp.control.on_restart(&mut tcp.window, event.now);
        }
    }

    pub(super) fn notify_established(&self, event: &mut Event<'_>) {
        let tcp = &mut *event.tcp;
        tcp.control.on_established(&mut tcp.window, event.now, self.round_trip.smoothed());
    }

    /// Whether the application has nothing more to send although the window has room (section 4.1.2.4;
    /// `tcp_rate_check_app_limited`).
    pub(super) fn note_application(&mut self, event: &Event<'_>) {
        let is_limited = event.tcp.high >= event.tcp.supply;
        self.note_limit(event, is_limited);
    }

    /// The application has written data after it had none.
    pub(super) fn note_supply(&mut self, event: &Event<'_>) {
        let is_limited = event.tcp.high >= event.tcp.supply.saturating_sub(1);
        self.note_limit(event, is_limited);
    }

    fn note_limit(&mut self, event: &Event<'_>, is_limited: bool) {
        let Some(paced) = &mut self.paced else { return };
        let in_flight = self.outstanding.in_flight();
        let all_sent_again = self.outstanding.lost() <= self.outstanding.again();
        if is_limited && in_flight < event.cwnd() && all_sent_again {
            paced.rates.limit_by_application(in_flight);
        }
    }

    /// Makes a sample from the arrived segments.
    pub(super) fn take_sample(&mut self, news: &News, prior_in_flight: u32) {
        let repair = self.repair();
        let Some(paced) = &mut self.paced else { return };
        paced.lost_before = paced.rates.lost();
        paced.sample = RateSample {
            prior_in_flight,
            in_flight: self.outstanding.in_flight(),
            is_cwnd_limited: self.usage.is_full(),
            repair,
            ..paced.rates.sample(news.rtt, self.min_rtt)
        };
    }

    /// Losses have been found since.
    pub(super) fn complete_sample(&mut self) {
        let repair = self.repair();
        let Some(paced) = &mut self.paced else { return };
        let Paced { rates, sample, lost_before, .. } = &mut **paced;
        rates.add_losses(sample, *lost_before);
        (sample.in_flight, sample.repair) = (self.outstanding.in_flight(), repair);
    }

    /// Reports the segments that were found lost.
    pub(super) fn notify_losses(&mut self, event: &mut Event<'_>) {
        let repair = self.repair();
        let (Some(paced), Some(found)) = (&mut self.paced, &mut self.outstanding.found) else { return };
        let tcp = &mut *event.tcp;
        for segment in found.drain(..) {
            let loss = paced.rates.on_lost(segment, repair);
            tcp.control.on_segment_lost(&mut tcp.window, event.now, &loss);
        }
    }

    /// The control sets the window by its model of the path (`tcp_cong_control`).
    pub(super) fn follow_model(&mut self, event: &mut Event<'_>) {
        let Some(paced) = &mut self.paced else { return };
        let tcp = &mut *event.tcp;
        paced.sample.until_departure = paced.pacer.next().since(event.now);
        let is_limited = tcp.control.on_rate(&mut tcp.window, event.now, &paced.sample);
        if is_limited {
            paced.rates.limit_by_application(self.outstanding.in_flight());
        }
        event.set_cwnd(event.cwnd());
    }
}
