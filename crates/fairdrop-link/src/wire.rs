//! The time it takes to put packets on a wire.

use fairdrop::Time;

/// A link rate, with the times of the two packet sizes that are sent most.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    bps: u64,
    known: [(u32, TransmissionTime); 2],
}

/// Whole nanoseconds, and the remainder in units of 1 / rate ns.
#[derive(Clone, Copy, Debug, Default)]
struct TransmissionTime {
    ns: u64,
    rest: u64,
}

impl Rate {
    /// `bps` bit/s (above 0); `sizes` in bytes are looked up instead of divided.
    pub fn new(bps: u64, sizes: [u32; 2]) -> Self {
        Self { bps, known: sizes.map(|bytes| (bytes, divide(bytes, bps))) }
    }

    /// Another rate, with the same sizes.
    pub(crate) fn with_bps(&self, bps: u64) -> Self {
        Self::new(bps, self.known.map(|(bytes, _)| bytes))
    }

    #[inline]
    fn time(&self, bytes: u32) -> TransmissionTime {
        if bytes == self.known[0].0 {
            self.known[0].1
        } else if bytes == self.known[1].0 {
            self.known[1].1
        } else {
            divide(bytes, self.bps)
        }
    }

    /// Time for `bytes`, rounded down to whole nanoseconds.
    #[inline]
    pub fn time_of(&self, bytes: u32) -> Time {
        Time::from_ns(self.time(bytes).ns)
    }
}

/// Sizes are below 2 GB: the product stays below 2^64.
#[inline]
fn divide(bytes: u32, bps: u64) -> TransmissionTime {
    let units = u64::from(bytes) * 8_000_000_000;
    TransmissionTime { ns: units / bps, rest: units % bps }
}

/// The clock of one transmitter: when it is free, with the rest of each division carried over, so that back-to-back
/// packets keep the exact rate over any length of time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wire {
    free_at: Time,
    /// Part of a nanosecond not yet accounted for, in units of 1 / rate ns.
    rest: u64,
}

impl Wire {
    /// Sends `bytes` at `rate`, not before `ready`; returns when the last bit has left.
    #[inline]
    pub fn send(&mut self, ready: Time, bytes: u32, rate: &Rate) -> Time {
        if ready > self.free_at {
            self.free_at = ready;
            self.rest = 0;
        }
        self.free_at = self.free_at.after(self.time_of(bytes, rate));
        self.free_at
    }

    /// The time that `bytes` take at `rate` behind others, in whole nanoseconds; the rest is carried over.
    #[inline]
    pub fn time_of(&mut self, bytes: u32, rate: &Rate) -> Time {
        let TransmissionTime { mut ns, rest } = rate.time(bytes);
        self.rest += rest;
        if self.rest >= rate.bps {
            self.rest -= rate.bps;
            ns += 1;
        }
        Time::from_ns(ns)
    }

    /// The rate changes from `old` to `new` after the packet in transmission.
    pub fn change_rate(&mut self, old: &Rate, new: &Rate) {
        self.rest = (u128::from(self.rest) * u128::from(new.bps) / u128::from(old.bps)) as u64;
    }

    /// When the transmitter is free.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 bit/s do not divide a second into whole nanoseconds; 3 million back-to-back bytes must still take 8e6 s.
    #[test]
    fn rates_are_exact_over_any_length_of_time() {
        let (mut wire, rate) = (Wire::default(), Rate::new(3, [1000, 40]));
        for _ in 0..3_000_000 {
            wire.send(Time::ZERO, 1, &rate);
        }
        assert_eq!(wire.free_at(), Time::from_ns(8_000_000_000_000_000));
    }

    /// A third of a nanosecond is kept as one, whatever the rate calls it.
    #[test]
    fn a_change_of_rate_keeps_the_part_of_a_nanosecond() {
        let [slow, fast] = [3, 6_000_000_000].map(|bps| Rate::new(bps, [0, 0]));
        let mut wire = Wire::default();
        // 8 bits at 3 bit/s: 2666666666 and two thirds.
        assert_eq!(wire.send(Time::ZERO, 1, &slow), Time::from_ns(2_666_666_666));
        wire.change_rate(&slow, &fast);
        // 8 bits at 6 Gbit/s are one and a third: two nanoseconds with the two thirds.
        assert_eq!(wire.send(Time::ZERO, 1, &fast), Time::from_ns(2_666_666_668));
    }

    #[test]
    fn an_idle_wire_starts_when_the_packet_is_ready() {
        let (mut wire, rate) = (Wire::default(), Rate::new(1_000_000, [1000, 40]));
        assert_eq!(wire.send(Time::from_ms(5), 1000, &rate), Time::from_ms(13));
        assert_eq!(wire.send(Time::from_ms(5), 1000, &rate), Time::from_ms(21));
        assert_eq!(wire.send(Time::from_ms(30), 500, &rate), Time::from_ms(34));
    }
}
