//! Edge meters: a token bucket separates the packets of a flow that are within its rate from the excess.

use crate::scenario::MarkExcess;
use fairdrop::{Time, TokenBucket};

/// Tokens are counted in bits times 10^9, so that a nanosecond brings a whole number of them at any rate.
const PER_BYTE: u128 = 8_000_000_000;

/// The token bucket of one flow, exact to the nanosecond.
#[derive(Clone, Copy, Debug)]
pub struct EdgeMeter(TokenBucket<u128>);

impl EdgeMeter {
    /// A full bucket.
    pub fn new(meter: &MarkExcess) -> Self {
        Self(TokenBucket::full(Self::burst(meter)))
    }

    fn burst(meter: &MarkExcess) -> u128 {
        u128::from(meter.burst_bytes) * PER_BYTE
    }

    /// Whether a packet is within the rate: it then takes its tokens. Excess takes none.
    #[inline]
    pub fn conforms(&mut self, now: Time, bytes: u32, meter: &MarkExcess) -> bool {
        let needed = u128::from(bytes) * PER_BYTE;
        let brings = |elapsed: Time| u128::from(elapsed.ns()) * u128::from(meter.rate_bps);
        self.0.take(needed, Self::burst(meter), now, brings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const METER: MarkExcess = MarkExcess { rate_bps: 1_000_000, burst_bytes: 3000, class: 0 };

    /// 1 Mb/s: 1000 B in 8 ms. A full bucket of 3000 B lets three packets through at once.
    #[test]
    fn exact_times() {
        let mut bucket = EdgeMeter::new(&METER);
        let mut take = |ns| bucket.conforms(Time::from_ns(ns), 1000, &METER);
        assert_eq!([take(0), take(0), take(0), take(0)], [true, true, true, false]);
        assert!(!take(7_999_999));
        assert!(take(8_000_000));
        assert!(!take(15_999_999));
        assert!(take(16_000_000));
        // Idle for long: no more than the bucket holds.
        assert_eq!([take(1 << 50), take(1 << 50), take(1 << 50), take(1 << 50)], [true, true, true, false]);
    }

    proptest! {
        /// In any interval what conforms is at most rate x length + burst.
        #[test]
        fn what_conforms_is_bounded(gaps in prop::collection::vec((0_u64..20_000_000, 40_u32..1500), 1..200)) {
            let (mut bucket, mut now) = (EdgeMeter::new(&METER), Time::ZERO);
            let mut passed: Vec<(Time, u64)> = Vec::new();
            for (gap, bytes) in gaps {
                now = now.after(Time::from_ns(gap));
                if bucket.conforms(now, bytes, &METER) {
                    passed.push((now, u64::from(bytes)));
                }
            }
            for first in 0..passed.len() {
                let mut sum = 0;
                for &(at, bytes) in &passed[first..] {
                    sum += bytes;
                    let span = at.since(passed[first].0).ns();
                    prop_assert!(u128::from(sum) * PER_BYTE
                        <= u128::from(span) * u128::from(METER.rate_bps) + 3000 * PER_BYTE);
                }
            }
        }
    }
}
