//! Processing of ACKs: arrived segments, and their round trips (`tcp_sacktag_write_queue`,
//! `tcp_clean_rtx_queue`, `tcp_ack_update_rtt`).

use super::Event;
use super::outstanding::Arrived;
use super::state::{Linux, State};
use crate::congestion::AckEvent;
use crate::messages::Ack;
use fairdrop::Time;

/// The largest assumed degree of reordering (`tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

/// New information in an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct News {
    /// Segments acknowledged.
    pub acked: u32,
    /// Segments that have arrived, in order or not.
    pub delivered: u32,
    /// A segment is newly reported out of order.
    pub reported: bool,
    /// A segment has arrived that was sent before the present state began, and never retransmitted.
    pub original: bool,
    /// It is known that a retransmission was lost.
    pub lost_again: bool,
    /// A duplicate of an earlier segment has arrived (RFC 2883).
    pub copy: Option<u32>,
    /// Congestion was experienced.
    pub echo: bool,
    /// Segments that were marked.
    pub marked: u32,
    /// The timer is restarted.
    pub moves_timer: bool,
    /// Sending time of the segment whose timestamp is echoed.
    pub echoed: Option<Time>,
    /// The round trip of the segment last sent among those that have arrived.
    pub rtt: Option<Time>,
    /// Retransmissions are among the acknowledged segments.
    again: bool,
    /// Sending times of the first and the last of the acknowledged segments that were sent once and not reported before.
    sent: Option<(Time, Time)>,
    /// The same for the reported ones.
    reported_sent: Option<(Time, Time)>,
}

impl News {
    /// Whether it is more than an ACK of new data and nothing else (`tcp_ack_is_dubious`).
    pub fn is_dubious(&self) -> bool {
        self.acked == 0 || self.reported || self.echo || self.copy.is_some()
    }

    /// Whether it has no new information, like a duplicate ACK of old stacks.
    pub fn is_duplicate(&self) -> bool {
        self.acked == 0 && self.copy.is_none()
    }
}

fn widen(range: &mut Option<(Time, Time)>, sent: Time) {
    *range = Some(range.map_or((sent, sent), |(first, last)| (first.min(sent), last.max(sent))));
}

impl Linux {
    /// Takes the information of an ACK.
    pub(super) fn take(&mut self, event: &mut Event<'_>, ack: Ack<'_>) -> News {
        let acked = ack.next - event.tcp.una;
        let echoed = ack.stamp.filter(|_| !event.config.one_way_delays);
        let mut news = News { acked, echo: ack.echo, echoed, ..News::default() };
        self.undo.note_echo(echoed);
        let highest = self.outstanding.reported.end();
        let mut lowest_late = u32::MAX;
        self.take_blocks(event, ack, &mut news, &mut lowest_late);
        if acked > 0 {
            self.timeouts = 0;
            self.take_acked(event, ack, &mut news, &mut lowest_late);
        }
        if let Some(highest) = highest
            && lowest_late < highest
            && (self.state != State::Loss || self.undo.is_possible())
        {
            // A segment that was sent once has come after later ones (`tcp_check_sack_reordering`).
            self.rack.reordered = true;
            self.reordering = self.reordering.max((highest - lowest_late).min(MAX_REORDERING));
        }
        self.measure(event, &mut news);
        self.count_marks(event, ack, &mut news);
        news
    }

    /// Number of marked segments. Accurate feedback on an ACK that reports no arrival may be old (RFC 9768, section 3.2.3.1).
    fn count_marks(&mut self, event: &Event<'_>, ack: Ack<'_>, news: &mut News) {
        match ack.marks {
            None => news.marked = if news.echo { news.delivered } else { 0 },
            Some(_) if news.delivered == 0 => {}
            Some(feedback) => {
                news.marked = self.marks.take(*feedback, news.delivered, event.config.mss);
                news.echo = news.marked > 0;
            }
        }
    }

    fn take_blocks(&mut self, event: &Event<'_>, ack: Ack<'_>, news: &mut News, lowest_late: &mut u32) {
        let Some(blocks) = ack.blocks else { return };
        let blocks = blocks.as_slice();
        // RFC 2883, section 4: the first block lies below the ACK, or within the second.
        if let Some(&(first, end)) = blocks.first()
            && (end <= ack.next || blocks.get(1).is_some_and(|second| second.0 <= first && end <= second.1))
        {
            news.copy = Some(first);
            self.take_copy(event, first);
        }
        let Self { outstanding, rack, min_rtt, recover, paced, .. } = self;
        for &(first, end) in blocks {
            outstanding.report(first.max(ack.next), end, |arrived| {
                if let Some(paced) = paced {
                    paced.rates.on_arrived(event.now, arrived.segment);
                }
                rack.arrived(event.now, arrived, *min_rtt);
                news.reported = true;
                news.delivered += 1;
                if !arrived.ever_again {
                    widen(&mut news.reported_sent, arrived.sent);
                    news.original |= arrived.segment < *recover;
                    *lowest_late = (*lowest_late).min(arrived.segment);
                }
            });
        }
    }

    /// A copy of `segment` has arrived (`tcp_dsack_seen`).
    fn take_copy(&mut self, event: &Event<'_>, segment: u32) {
        let of_probe = self.probe.is_some_and(|probe| probe.again && probe.high == segment + 1);
        if !of_probe {
            self.rack.widen(event.tcp.una, event.tcp.high);
        }
        self.undo.note_copy(segment);
    }

    fn take_acked(&mut self, event: &mut Event<'_>, ack: Ack<'_>, news: &mut News, lowest_late: &mut u32) {
        let Self { outstanding, rack, min_rtt, recover, paced, .. } = self;
        let tick = event.config.tick.ns();
        let echoed = news.echoed;
        outstanding.acknowledge(ack.next, |arrived| {
            let Arrived { segment, sent, ever_again, known } = arrived;
            if ever_again {
                news.again = true;
            } else if !known {
                widen(&mut news.sent, sent);
                news.original |= segment < *recover;
                *lowest_late = (*lowest_late).min(segment);
            }
            if !known {
                if let Some(paced) = paced {
                    paced.rates.on_arrived(event.now, segment);
                }
                news.delivered += 1;
                // By its timestamp it was the original that has come (`tcp_skb_spurious_retrans`).
                let is_spurious =
                    ever_again && echoed.is_some_and(|echoed| echoed.ns() / tick < sent.ns() / tick);
                if !is_spurious {
                    rack.arrived(event.now, arrived, *min_rtt);
                }
            }
        });
        if let Some(paced) = paced {
            paced.rates.on_acked(ack.next);
        }
        event.tcp.una = ack.next;
        news.moves_timer = true;
    }

    /// The round trip: of segments that were sent once (Karn), or by the timestamp of an acknowledged segment.
    fn measure(&mut self, event: &mut Event<'_>, news: &mut News) {
        let now = event.now;
        let acked = news.sent.filter(|_| !news.again);
        let of_ack = acked.map(|(first, _)| now.since(first));
        let of_blocks = news.reported_sent.map(|(first, _)| now.since(first));
        let last = news.reported_sent.or(acked).map(|(_, last)| now.since(last));
        let by_stamp = || {
            let echoed = news.echoed.filter(|_| news.acked > 0)?;
            let tick = event.config.tick.ns();
            Some(Time::from_ns(((now.ns() / tick - echoed.ns() / tick) * tick).max(tick)))
        };
        let Some(sample) = of_ack.or(of_blocks).or_else(by_stamp) else { return };
        let last = last.unwrap_or(sample);
        news.rtt = Some(last);
        self.measured(event, sample, last);
        // An ACK that only reports does not put the timer off by what was sent after the first segment.
        news.moves_timer |= of_blocks.is_some_and(|round_trip| {
            self.outstanding.first_sent().is_some_and(|sent| round_trip > now.since(sent))
        });
    }

    /// A round trip took `sample`; the last segment's `last`.
    pub(super) fn measured(&mut self, event: &mut Event<'_>, sample: Time, last: Time) {
        self.min_rtt = self.min_rtt.min(last.max(Time::from_ns(1000)));
        self.round_trip.measure(sample, event.tcp.una, event.tcp.high, event.config);
        if let Some(smoothed) = self.round_trip.smoothed() {
            event.tcp.timer.rto.set_srtt_s(smoothed.seconds(), event.config);
        }
    }

    /// The report of an ACK to congestion control.
    pub(super) fn event_of(&self, event: &Event<'_>, news: &News, newly_acked: u32) -> AckEvent {
        AckEvent {
            now: event.now,
            newly_acked,
            delivered: news.delivered,
            una: event.tcp.una,
            next: event.tcp.high,
            echo: news.echo,
            marked: news.marked,
            one_way_delay: None,
            srtt: self.round_trip.smoothed().unwrap_or(Time::ZERO),
            rtt: news.rtt,
            rate: self.paced.as_ref().map(|paced| paced.sample),
            max_window: event.config.max_window,
        }
    }

    pub(super) fn notify_control(&mut self, event: &mut Event<'_>, news: &News) {
        let ack_event = self.event_of(event, news, news.acked);
        event.tcp.control.on_ack(|| ack_event);
    }
}
