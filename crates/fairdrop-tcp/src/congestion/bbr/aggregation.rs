//! Excess of arrivals over the bandwidth (`bbr_update_ack_aggregation`).

use fairdrop::Time;

/// `bbr_extra_acked_win_rtts`.
const WINDOW_ROUNDS: u32 = 5;
/// `bbr_ack_epoch_acked_reset_thresh`, segments.
const RESET: f64 = 1_048_576.0;
/// `bbr_extra_acked_max_us`, seconds.
const MOST_S: f64 = 0.1;

/// The most of the last five to ten round trips.
#[derive(Clone, Debug, Default)]
pub struct Aggregation {
    extra: [f64; 2],
    place: usize,
    rounds: u32,
    epoch: Time,
    acked: f64,
}

impl Aggregation {
    /// An epoch begins.
    pub fn restart(&mut self, now: Time) {
        (self.epoch, self.acked) = (now, 0.0);
    }

    pub fn update(&mut self, now: Time, newly_acked: u32, bw: f64, cwnd: f64, round_start: bool) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                self.rounds = 0;
                self.place = 1 - self.place;
                self.extra[self.place] = 0.0;
            }
        }
        let mut expected = (bw * now.since(self.epoch).seconds()).floor();
        if self.acked <= expected || self.acked + f64::from(newly_acked) >= RESET {
            self.restart(now);
            expected = 0.0;
        }
        self.acked += f64::from(newly_acked);
        let extra = (self.acked - expected).min(cwnd);
        self.extra[self.place] = self.extra[self.place].max(extra);
    }

    /// Growth of the window (`bbr_ack_aggregation_cwnd`).
    pub fn cwnd(&self, bw: f64) -> f64 {
        self.extra[0].max(self.extra[1]).min((bw * MOST_S).floor())
    }
}
