//! The rate of a policer, from intervals with heavy loss and similar rates of delivery (`bbr_lt_bw_sampling`).

use crate::congestion::rate::{RateSample, known};
use fairdrop::Time;

/// `bbr_lt_intvl_min_rtts`; an interval lasts four times as long at most.
const MIN_ROUNDS: u32 = 4;
/// `bbr_lt_loss_thresh`: about a fifth.
const LOSS_THRESH: f64 = 50.0 / 256.0;
/// `bbr_lt_bw_ratio`.
const RATIO: f64 = 1.0 / 8.0;
/// `bbr_lt_bw_diff`: 4 kb/s, in segments of 1448 bytes.
const DIFFERENCE: f64 = 4000.0 / 8.0 / 1448.0;
/// `bbr_lt_bw_max_rtts`.
const MAX_ROUNDS: u32 = 48;
const MS: Time = Time::from_ms(1);

/// Detector of a policer.
#[derive(Clone, Debug, Default)]
pub struct Policer {
    is_sampling: bool,
    is_in_use: bool,
    /// Segments per second; 0: none seen.
    bw: f64,
    rounds: u32,
    /// Time of the beginning of the interval, and the volumes delivered and lost until then.
    stamp: Time,
    delivered: u64,
    lost: u64,
    total_lost: u64,
}

impl Policer {
    pub const fn is_in_use(&self) -> bool {
        self.is_in_use
    }

    /// Its rate, once the detection is confirmed.
    pub fn bw(&self) -> Option<f64> {
        self.is_in_use.then_some(self.bw)
    }

    fn begin_interval(&mut self, now: Time, delivered: u64) {
        (self.stamp, self.delivered, self.lost, self.rounds) = (now, delivered, self.total_lost, 0);
    }

    /// `bbr_reset_lt_bw_sampling`.
    pub fn reset(&mut self, now: Time, delivered: u64) {
        (self.bw, self.is_in_use, self.is_sampling) = (0.0, false, false);
        self.begin_interval(now, delivered);
    }

    /// Takes a sample. Returns whether the rate has been used for long enough, so that probing begins again.
    pub fn update(&mut self, now: Time, sample: &RateSample, round_start: bool, is_probing: bool) -> bool {
        self.total_lost = sample.total_lost;
        if self.is_in_use {
            self.rounds += u32::from(is_probing && round_start);
            let is_over = self.rounds >= MAX_ROUNDS;
            if is_over {
                self.reset(now, sample.total_delivered);
            }
            return is_over;
        }
        if !self.is_sampling {
            if sample.newly_lost == 0 {
                return false;
            }
            self.begin_interval(now, sample.total_delivered);
            self.is_sampling = true;
        }
        if sample.is_app_limited {
            self.reset(now, sample.total_delivered);
            return false;
        }
        self.rounds += u32::from(round_start);
        if self.rounds > 4 * MIN_ROUNDS {
            self.reset(now, sample.total_delivered);
        } else if self.rounds >= MIN_ROUNDS && sample.newly_lost > 0 {
            self.end_interval(now, sample);
        }
        false
    }

    /// `bbr_lt_bw_interval_done`, if enough was lost.
    fn end_interval(&mut self, now: Time, sample: &RateSample) {
        let lost = (self.total_lost - self.lost) as f64;
        let delivered = (sample.total_delivered - self.delivered) as f64;
        let time = now.since(self.stamp);
        if delivered == 0.0 || lost < LOSS_THRESH * delivered || time < MS {
            return;
        }
        let bw = known(delivered / time.seconds());
        let difference = (bw - self.bw).abs();
        if self.bw > 0.0 && (difference <= RATIO * self.bw || difference <= DIFFERENCE) {
            self.bw = f64::midpoint(bw, self.bw);
            (self.is_in_use, self.rounds) = (true, 0);
            return;
        }
        self.bw = bw;
        self.begin_interval(now, sample.total_delivered);
    }
}
