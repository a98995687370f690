//! The retransmission timer of RFC 6298, with the granularity of the clocks that older stacks had.

use crate::scenario::TcpConfig;
use fairdrop::Time;

/// The least timeout before the first measurement, once a SYN was lost (section 5.7).
const AFTER_LOST_SYN: Time = Time::from_ms(3000);

/// Smoothed round-trip time and the timeout that follows from it.
#[derive(Clone, Copy, Debug)]
pub struct RetransmissionTimeout {
    srtt_ns: f64,
    rttvar_ns: f64,
    measured: bool,
    /// The connection opened only after a SYN was lost.
    syn_lost: bool,
    /// Timeouts since the last valid measurement: each doubles the timeout.
    backoff: u32,
}

impl RetransmissionTimeout {
    pub const fn new() -> Self {
        Self { srtt_ns: 0.0, rttvar_ns: 0.0, measured: false, syn_lost: false, backoff: 0 }
    }

    /// A round trip was measured on a segment that was sent once (Karn's algorithm, section 3).
    pub fn measure(&mut self, round_trip: Time, config: &TcpConfig) {
        let tick = config.tick.ns();
        // Measured in whole ticks, at least one.
        let ticks = ((round_trip.ns() + tick / 2) / tick).max(1);
        let sample = (ticks * tick) as f64;
        if self.measured {
            // Section 2.3: alpha = 1/8, beta = 1/4.
            self.rttvar_ns += ((self.srtt_ns - sample).abs() - self.rttvar_ns) / 4.0;
            self.srtt_ns += (sample - self.srtt_ns) / 8.0;
        } else {
            // Section 2.2.
            self.srtt_ns = sample;
            self.rttvar_ns = sample / 2.0;
            self.measured = true;
        }
        self.backoff = 0;
    }

    /// The connection has opened, and its SYN had to be sent again (section 5.7).
    pub fn after_lost_syn(&mut self, config: &TcpConfig) {
        if config.initial_rto < AFTER_LOST_SYN {
            self.syn_lost = true;
            self.backoff = 0;
        }
    }

    /// Smoothed round-trip time; 0 before the first measurement.
    pub fn smoothed(&self) -> Time {
        Time::from_ns(self.srtt_ns as u64)
    }

    /// The timer ran out (section 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
    }

    /// The smoothed round-trip time in seconds; `None` before the first measurement.
    pub fn srtt_s(&self) -> Option<f64> {
        self.measured.then_some(self.srtt_ns / 1e9)
    }

    /// The timeout to wait now, in whole ticks.
    pub fn current(&self, config: &TcpConfig) -> Time {
        let base = if self.measured {
            let tick = config.tick.ns() as f64;
            let sum = self.srtt_ns + (4.0 * self.rttvar_ns).max(tick);
            (((sum / tick).ceil() * tick) as u64).max(config.min_rto.ns())
        } else if self.syn_lost {
            AFTER_LOST_SYN.ns()
        } else {
            config.initial_rto.ns()
        };
        let backed_off = base.saturating_mul(1 << self.backoff);
        Time::from_ns(backed_off.min(config.max_rto.ns()).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn config(settings: &[&str]) -> TcpConfig {
        let settings: Vec<_> = settings.iter().map(|set| format!("groups.tcp.{set}")).collect();
        let text = "[[groups]]\nname = \"tcp\"\ntransport = \"reno\"\n";
        Scenario::parse(text, "test", &settings).unwrap().groups[0].transport.tcp().unwrap().clone()
    }

    #[test]
    fn first_measurement_and_smoothing_follow_rfc_6298() {
        let config = config(&["tick=1ms", "min_rto=0s"]);
        let mut rto = RetransmissionTimeout::new();
        assert_eq!(rto.current(&config), Time::from_ms(1000));
        rto.measure(Time::from_ms(100), &config);
        assert_eq!(rto.current(&config), Time::from_ms(300));
        // rttvar = 50 + (|100 - 180| - 50) / 4 = 57.5; srtt = 100 + 80 / 8 = 110; rto = 110 + 230.
        rto.measure(Time::from_ms(180), &config);
        assert_eq!(rto.current(&config), Time::from_ms(340));
    }

    #[test]
    fn coarse_ticks_floor_and_backoff() {
        let config = config(&["era=ns2-1998"]);
        let mut rto = RetransmissionTimeout::new();
        assert_eq!(rto.current(&config), Time::from_ms(6000));
        rto.measure(Time::from_ms(6), &config);
        // One tick of 100 ms: srtt 100, rttvar 50, rto 300.
        assert_eq!(rto.current(&config), Time::from_ms(300));
        rto.back_off();
        rto.back_off();
        assert_eq!(rto.current(&config), Time::from_ms(1200));
        for _ in 0..10 {
            rto.back_off();
        }
        assert_eq!(rto.current(&config), Time::from_ms(64_000));
        for _ in 0..100 {
            rto.measure(Time::from_ms(6), &config);
        }
        assert_eq!(rto.current(&config), Time::from_ms(200));
    }
}
