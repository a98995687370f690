//! The retransmission timer of RFC 6298, with the granularity of the clocks that older stacks had.

use super::config::Common;
use fairdrop::Time;

/// The least timeout before the first measurement, once a SYN was lost (section 5.7).
const AFTER_LOST_SYN: Time = Time::from_ms(3000);
/// Number of timeouts without a measurement after which 4.3BSD discards its measurements.
const CLOBBERED: u8 = 4;

/// Computation of the timeout from round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    Rfc6298,
    /// In whole ticks, as in 4.3BSD.
    Jacobson1988,
}

/// The number of a segment, or none, in four bytes.
#[derive(Clone, Copy, Debug)]
pub struct MaybeSegment(u32);

impl MaybeSegment {
    /// No connection reaches this segment number.
    pub const NONE: Self = Self(u32::MAX);

    pub const fn some(segment: u32) -> Self {
        Self(segment)
    }

    #[inline]
    pub fn get(self) -> Option<u32> {
        (self.0 != Self::NONE.0).then_some(self.0)
    }

    pub fn take(&mut self) -> Option<u32> {
        std::mem::replace(self, Self::NONE).get()
    }

    pub fn replace(&mut self, segment: u32) -> Option<u32> {
        std::mem::replace(self, Self::some(segment)).get()
    }
}

/// The timeout, and the segment whose round trip is being measured.
#[derive(Clone, Copy, Debug)]
pub struct RetransmissionTimer {
    pub rto: RetransmissionTimeout,
    /// The segment being timed, and when it was sent.
    pub timed: MaybeSegment,
    /// The first unacknowledged segment when the timer last ran out.
    pub timed_out: MaybeSegment,
    pub timed_at: Time,
}

impl RetransmissionTimer {
    /// Nothing is measured yet. The clock was `boot` of a tick old at time 0.
    pub const fn new(boot: f64) -> Self {
        Self::with(RetransmissionTimeout::new(boot))
    }

    /// That of another connection of the same host.
    pub const fn renewed(&self) -> Self {
        Self::with(self.rto.renewed())
    }

    const fn with(rto: RetransmissionTimeout) -> Self {
        let (timed, timed_out) = (MaybeSegment::NONE, MaybeSegment::NONE);
        Self { rto, timed, timed_out, timed_at: Time::ZERO }
    }

    /// An ACK expects `next`. Measures the round trip of the timed segment, and returns it, where that is acknowledged.
    #[inline]
    pub fn measure(&mut self, now: Time, next: u32, law: Law, config: &Common) -> Option<Time> {
        self.timed.get().filter(|&segment| next > segment)?;
        self.timed = MaybeSegment::NONE;
        self.rto.measure(self.timed_at, now, law, config);
        Some(now.since(self.timed_at))
    }

    /// `segment` is sent for the first time, and is timed unless another is.
    #[inline]
    pub fn note_new(&mut self, segment: u32, now: Time) {
        if self.timed.get().is_none() {
            (self.timed, self.timed_at) = (MaybeSegment::some(segment), now);
        }
    }
}

/// Smoothed round-trip time and the timeout that follows from it, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct RetransmissionTimeout {
    srtt: f64,
    rttvar: f64,
    /// How far into a tick the sender's clock was at time 0, in parts of 2^32.
    boot: u32,
    measured: bool,
    /// The next measurement counts as the first.
    anew: bool,
    /// The connection opened only after a SYN was lost.
    syn_lost: bool,
    /// Timeouts since the last valid measurement: each doubles the timeout.
    backoff: u8,
}

impl RetransmissionTimeout {
    /// The sender's clock was `boot` (0 to below 1) of a tick old at time 0.
    pub const fn new(boot: f64) -> Self {
        Self::of((boot * 4_294_967_296.0) as u32)
    }

    /// That of another connection of the same host.
    pub const fn renewed(&self) -> Self {
        Self::of(self.boot)
    }

    const fn of(boot: u32) -> Self {
        Self { srtt: 0.0, rttvar: 0.0, boot, measured: false, anew: true, syn_lost: false, backoff: 0 }
    }

    /// A round trip was measured on a segment that was sent once, at `sent` (Karn's algorithm, RFC 6298, section 3).
    pub fn measure(&mut self, sent: Time, now: Time, law: Law, config: &Common) {
        match law {
            Law::Rfc6298 => self.measure_rfc_6298(now.since(sent), config),
            Law::Jacobson1988 => self.measure_jacobson_1988(sent, now, config),
        }
        (self.measured, self.anew, self.backoff) = (true, false, 0);
    }

    /// In whole ticks, at least one.
    fn measure_rfc_6298(&mut self, round_trip: Time, config: &Common) {
        let tick = config.tick.ns();
        let sample = ((round_trip.ns() + tick / 2) / tick).max(1) as f64;
        if self.anew {
            // Section 2.2.
            (self.srtt, self.rttvar) = (sample, sample / 2.0);
        } else {
            // Section 2.3: alpha = 1/8, beta = 1/4.
            self.rttvar += ((self.srtt - sample).abs() - self.rttvar) / 4.0;
            self.srtt += (sample - self.srtt) / 8.0;
        }
    }

    /// Appendix A of Jacobson 1988 (whole numbers of eighths and quarters of ticks), as in 4.3BSD and ns-2. The measure is
    /// the number of ticks of the sender's clock in the meantime.
    fn measure_jacobson_1988(&mut self, sent: Time, now: Time, config: &Common) {
        let tick = config.tick.ns();
        let boot_ns = ((u128::from(self.boot) * u128::from(tick)) >> 32) as u64;
        let sample = ((now.ns() + boot_ns) / tick - (sent.ns() + boot_ns) / tick).max(1) as f64;
        if self.anew {
            (self.srtt, self.rttvar) = (sample, sample / 2.0);
        } else {
            let error = sample - f64::from(self.srtt as u32);
            self.srtt = (self.srtt + error / 8.0).max(1.0 / 8.0);
            self.rttvar = (self.rttvar + (error.abs() - f64::from(self.rttvar as u32)) / 4.0).max(1.0 / 4.0);
        }
    }

    /// The connection has opened, and its SYN had to be sent again (section 5.7).
    pub fn after_lost_syn(&mut self, config: &Common) {
        if config.initial_rto < AFTER_LOST_SYN {
            self.syn_lost = true;
            self.backoff = 0;
        }
    }

    /// Smoothed round-trip time; 0 before the first measurement.
    pub fn smoothed(&self, config: &Common) -> Time {
        Time::from_ns((self.srtt * config.tick.ns() as f64) as u64)
    }

    /// ns-2's `Sack1` ends the backoff without a measurement.
    pub fn end_back_off(&mut self) {
        self.backoff = 0;
    }

    /// The timer ran out (section 5.5).
    pub fn back_off(&mut self, law: Law, config: &Common) {
        self.backoff = (self.backoff + 1).min(config.max_doublings);
        // As 4.3BSD: the path may have become another.
        self.anew |= law == Law::Jacobson1988 && self.backoff >= CLOBBERED;
    }

    /// The smoothed round-trip time in seconds; `None` before the first measurement.
    pub fn srtt_s(&self, config: &Common) -> Option<f64> {
        self.measured.then_some(self.srtt * config.tick.ns() as f64 / 1e9)
    }

    /// Sets a smoothed round-trip time measured elsewhere, in seconds.
    pub fn set_srtt_s(&mut self, srtt_s: f64, config: &Common) {
        (self.measured, self.srtt) = (true, srtt_s * 1e9 / config.tick.ns() as f64);
    }

    /// The timeout to wait now, in whole ticks.
    pub fn current(&self, law: Law, config: &Common) -> Time {
        let base = if self.measured {
            ((self.ticks(law) * config.tick.ns() as f64) as u64).max(config.min_rto.ns())
        } else if self.syn_lost {
            AFTER_LOST_SYN.ns()
        } else {
            config.initial_rto.ns()
        };
        let backed_off = base.saturating_mul(1 << self.backoff);
        Time::from_ns(backed_off.min(config.max_rto.ns()).max(1))
    }

    /// The timeout that the measurements give.
    fn ticks(&self, law: Law) -> f64 {
        match law {
            Law::Rfc6298 => (self.srtt + (4.0 * self.rttvar).max(1.0)).ceil(),
            Law::Jacobson1988 => f64::from((self.srtt + 4.0 * self.rttvar) as u32).max(2.0),
        }
    }
}
