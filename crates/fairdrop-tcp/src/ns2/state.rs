//! State of the agents between events.

use super::super::scoreboard::Reported;
use fairdrop::Time;

/// State of `Sack1`, beside that of all agents.
#[derive(Clone, Debug, Default)]
pub struct Sack1 {
    pub(super) reported: Reported,
    /// One past the highest segment sent again in this recovery (`h_seqno_`).
    pub(super) retransmitted: u32,
    /// The first segment that the scoreboard is about (`sack_min`).
    pub(super) first: u32,
    /// Estimate of the segments in flight (`pipe_`).
    pub(super) pipe: i64,
    /// As `una`, but partial ACKs leave it (`last_ack_`).
    pub(super) last: u32,
    /// Nothing new is acknowledged since the timer ran out (`timeout_`).
    pub(super) after_timeout: bool,
}

/// State of `Vegas`, beside that of all agents. Times are in seconds since the first segment was sent.
#[derive(Clone, Debug)]
pub struct Vegas {
    /// alpha, beta, gamma.
    pub(super) thresholds: (f64, f64, f64),
    /// When segment 0 was last sent.
    pub(super) began: Time,
    /// By number modulo the largest window, when a segment was last sent, and how often: -1 and 0 once it is acknowledged.
    pub(super) sent: Vec<(f64, u32)>,
    /// Least round-trip time; `None` before the first ACK.
    pub(super) base: Option<f64>,
    /// Eight times the smoothed round-trip time, and four times its deviation.
    pub(super) smoothed: (f64, f64),
    pub(super) timeout: f64,
    pub(super) worried: u32,
    /// The round trip ends when this segment is acknowledged.
    pub(super) end: u32,
    pub(super) round_began: f64,
    /// Sum and number of its samples.
    pub(super) samples: (f64, u32),
    pub(super) increment: f64,
    pub(super) grows: bool,
    /// The window after the last loss, without inflation (`v_newcwnd_`).
    pub(super) reduced: f64,
    /// When that was.
    pub(super) reduced_at: f64,
    /// The timer caused the last reduction of the window.
    pub(super) after_timeout: bool,
}

impl Vegas {
    pub fn new(thresholds: (f64, f64, f64), largest_window: u32) -> Self {
        Self {
            thresholds,
            began: Time::ZERO,
            sent: vec![(-1.0, 0); largest_window.max(1) as usize],
            base: None,
            smoothed: (0.0, 0.0),
            timeout: 1000.0,
            worried: 0,
            end: 0,
            round_began: 0.0,
            samples: (0.0, 0),
            increment: 0.0,
            grows: true,
            reduced: 0.0,
            reduced_at: 0.0,
            after_timeout: false,
        }
    }
}
