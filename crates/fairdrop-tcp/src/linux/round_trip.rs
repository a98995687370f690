//! The retransmission timeout of the kernel (`tcp_rtt_estimator`, `tcp_set_rto`): the smoothed round trip and four times
//! its deviation, which counts as at least 200 ms. RFC 6298 has a least timeout instead.

use crate::config::Common;
use fairdrop::Time;

/// `TCP_TIMEOUT_FALLBACK`.
const TIMEOUT_FALLBACK: Time = Time::from_ms(3000);

/// In microseconds, the smoothed round trip times 8 and the deviations times 4, as in Jacobson 1988.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTrip {
    srtt: i64,
    mdev: i64,
    /// The largest deviation of this round trip, and at least the smallest that counts.
    mdev_max: i64,
    rttvar: i64,
    /// This round trip ends when this segment is acknowledged.
    ends: u32,
    /// The timeout, backed off or not; 0 before the first measurement.
    timeout: Time,
}

impl RoundTrip {
    /// Takes a measurement when `una` is the first unacknowledged segment, and `next` the next to send.
    pub fn measure(&mut self, sample: Time, una: u32, next: u32, config: &Common) {
        let sample = ((sample.ns() / 1000) as i64).max(1);
        let least = (config.min_rto.ns() / 1000) as i64;
        if self.srtt == 0 {
            self.srtt = sample << 3;
            self.mdev = sample << 1;
            self.rttvar = self.mdev.max(least);
            self.mdev_max = self.rttvar;
            self.ends = next;
        } else {
            let error = sample - (self.srtt >> 3);
            self.srtt = (self.srtt + error).max(1);
            let more = error.abs() - (self.mdev >> 2);
            // A round trip that is shorter than before, by more than usual, counts for an eighth of that.
            self.mdev += if error < 0 && more > 0 { more >> 3 } else { more };
            if self.mdev > self.mdev_max {
                self.mdev_max = self.mdev;
                self.rttvar = self.rttvar.max(self.mdev_max);
            }
            if una > self.ends {
                self.rttvar -= (self.rttvar - self.mdev_max).max(0) >> 2;
                self.ends = next;
                self.mdev_max = least;
            }
        }
        let timeout = Time::from_ns(((self.srtt >> 3) + self.rttvar) as u64 * 1000);
        self.timeout = timeout.min(config.max_rto);
    }

    /// The connection has opened without a measurement (`tcp_init_metrics`; RFC 6298, section 5.7).
    pub fn open_unmeasured(&mut self, config: &Common) {
        self.timeout = config.initial_rto.max(TIMEOUT_FALLBACK).min(config.max_rto);
    }

    /// The timer ran out.
    pub fn back_off(&mut self, config: &Common) {
        let timeout = self.timeout(config).ns();
        self.timeout = Time::from_ns(timeout.saturating_mul(2)).min(config.max_rto);
    }

    pub fn timeout(&self, config: &Common) -> Time {
        if self.timeout == Time::ZERO { config.initial_rto.min(config.max_rto) } else { self.timeout }
    }

    /// The smoothed round trip; `None` before the first measurement.
    pub fn smoothed(&self) -> Option<Time> {
        (self.srtt > 0).then(|| Time::from_ns((self.srtt >> 3) as u64 * 1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::config_of;

    fn timeouts(settings: &str, samples_ms: &[(u64, u32, u32)]) -> Vec<u64> {
        let config = config_of("reno", &format!("era=linux {settings}"));
        let mut round_trip = RoundTrip::default();
        let mut found = vec![round_trip.timeout(&config).ns() / 1_000_000];
        for &(ms, una, next) in samples_ms {
            round_trip.measure(Time::from_ms(ms), una, next, &config);
            found.push(round_trip.timeout(&config).ns() / 1_000_000);
        }
        found
    }

    /// By hand: 100 + max(2 x 100, 200); the deviation of equal round trips falls, and what counts stays 200 ms.
    #[test]
    fn the_least_is_added_to_the_round_trip() {
        let steady = [(100, 1, 10), (100, 11, 20), (100, 21, 30), (100, 31, 40)];
        assert_eq!(timeouts("", &steady), [1000, 300, 300, 300, 300]);
        assert_eq!(timeouts("min_rto=1s", &steady), [1000, 1100, 1100, 1100, 1100]);
    }

    /// 400 ms: 400 + 800. Then a shorter round trip: the mean falls by an eighth of 300 to 362.5; the deviation, 200 (times
    /// 4: 800), grows by an eighth of (300 - 200) only: to 812.5.
    #[test]
    fn shorter_round_trips_hardly_count_as_deviation() {
        assert_eq!(timeouts("", &[(400, 1, 10), (100, 2, 10)]), [1000, 1200, 1175]);
        // A longer one counts in full: 400 + 300 / 8, and 800 + (300 - 200).
        assert_eq!(timeouts("", &[(400, 1, 10), (700, 2, 10)]), [1000, 1200, 437 + 900]);
    }

    #[test]
    fn it_doubles_up_to_the_largest() {
        let config = config_of("reno", "era=linux max_rto=1s");
        let mut round_trip = RoundTrip::default();
        round_trip.measure(Time::from_ms(100), 1, 10, &config);
        let doubled = [(); 3].map(|()| {
            round_trip.back_off(&config);
            round_trip.timeout(&config)
        });
        assert_eq!(doubled, [600, 1000, 1000].map(Time::from_ms));
        // A measurement ends that.
        round_trip.measure(Time::from_ms(100), 11, 20, &config);
        assert_eq!(round_trip.timeout(&config), Time::from_ms(300));
    }
}
