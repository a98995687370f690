//! Reports to a control: the rate of delivery, and each lost segment (draft-ietf-ccwg-bbr-06, section 4.1;
//! draft-cheng-iccrg-delivery-rate-estimation-02).

use fairdrop::Time;

/// The least rate that counts: 2^-24 segments a microsecond, one segment in 16.8 s (`BW_UNIT` of Linux's `tcp_bbr.c`, versions
/// 1 and 3).
const LEAST_RATE: f64 = 1e6 / (1 << 24) as f64;

/// A rate in segments per second, or 0 where it is below the resolution of kernels' fixed point. A sender that paces at a
/// rate measured in an outage measures its own pacing from then on; at 0 it does not pace, and the window is the only limit.
pub fn known(rate: f64) -> f64 {
    if rate < LEAST_RATE { 0.0 } else { rate }
}

/// State of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repair {
    /// Nothing.
    #[default]
    No,
    /// Fast recovery.
    Fast,
    /// The retransmission timer ran out.
    Timeout,
}

/// A sample of the rate of delivery from an ACK. Volumes are in segments.
///
/// The interval runs from the time at which the newest of the segments that have just arrived was sent, or rather from the
/// last arrival before that, to now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// Segments that have arrived so far (`C.delivered`).
    pub total_delivered: u64,
    /// Segments found lost so far (`C.lost`).
    pub total_lost: u64,
    /// Segments that have arrived over the interval (`RS.delivered`); 0 if none has arrived.
    pub delivered: u64,
    /// `total_delivered` when the interval began (`RS.prior_delivered`); `None` if none has arrived.
    pub prior_delivered: Option<u64>,
    /// Length of the interval (`RS.interval`); zero where it is too short for a sample.
    pub interval: Time,
    /// The application, not the network, limited the rate (`RS.is_app_limited`).
    pub is_app_limited: bool,
    /// The round trip of the newest segment that has arrived (`RS.rtt`).
    pub rtt: Option<Time>,
    /// Segments that this ACK reports (`RS.newly_acked`).
    pub newly_acked: u32,
    /// Segments found lost by this ACK (`RS.newly_lost`).
    pub newly_lost: u32,
    /// Segments in flight just after the newest that has arrived was sent (`RS.tx_in_flight`).
    pub tx_in_flight: u32,
    /// Segments lost since then (`RS.lost`).
    pub lost: u32,
    /// Segments in flight before this ACK.
    pub prior_in_flight: u32,
    /// Segments in flight now (`C.inflight`).
    pub in_flight: u32,
    /// Until pacing lets the next segment leave.
    pub until_departure: Time,
    /// The window was full in the last round trip (`C.is_cwnd_limited`).
    pub is_cwnd_limited: bool,
    /// Present state of loss recovery.
    pub repair: Repair,
}

impl RateSample {
    /// The rate of delivery, segments per second; 0 if unknown (`RS.delivery_rate`).
    pub fn rate(&self) -> f64 {
        if self.interval == Time::ZERO { 0.0 } else { self.delivered as f64 / self.interval.seconds() }
    }
}

/// A segment counts as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentLoss {
    /// Its number.
    pub segment: u32,
    /// Segments that have arrived so far (`C.delivered`).
    pub total_delivered: u64,
    /// Segments in flight just after it was sent (`P.tx_in_flight`).
    pub tx_in_flight: u32,
    /// Segments lost since then, this one included (`C.lost` - `P.lost`).
    pub lost: u32,
    /// The application was the limit when it was sent (`P.is_app_limited`).
    pub is_app_limited: bool,
    /// Previous state of loss recovery.
    pub repair: Repair,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2^24 microseconds a segment are 16.777216 s.
    #[test]
    fn a_rate_below_the_least_is_none() {
        let of = |segments: u64, ns: u64| {
            known(
                RateSample { delivered: segments, interval: Time::from_ns(ns), ..RateSample::default() }
                    .rate(),
            )
        };
        assert!(of(1, 16_777_216_000) > 0.0);
        assert_eq!(of(1, 16_777_217_000), 0.0);
        assert!(of(2, 33_000_000_000) > 0.0);
    }
}
