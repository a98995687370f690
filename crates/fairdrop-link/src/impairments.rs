//! Impairments of packets on a link: independent loss, bad phases, jitter, reordering, duplication, slots. Each has its own
//! random stream, so that none shifts another.

use crate::random::{Purpose, of_link, uniform};
use fairdrop::{Philox, Time};

/// Impairments of a link beside independent loss, as in `NetEm`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impairments {
    /// Probability with which a packet finds that a good link has become bad.
    pub bad_enter: f64,
    /// Probability with which a packet finds that a bad link has become good.
    pub bad_leave: f64,
    /// Probability with which a bad link loses a packet.
    pub bad_loss: f64,
    /// Largest additional delay; that of each packet is uniform from zero.
    pub jitter: Time,
    /// Packets may pass one another by their jitter.
    pub jitter_reorders: bool,
    /// Probability with which others pass a packet.
    pub reorder: f64,
    /// Additional delay of a packet that others pass.
    pub reorder_by: Time,
    /// Probability with which a packet arrives twice.
    pub duplicate: f64,
    /// Packets arrive at multiples of this; zero: at any time.
    pub slot: Time,
}

impl Impairments {
    /// A link that carries every packet once, in order, without additional delay.
    pub const NONE: Self = Self {
        bad_enter: 0.0,
        bad_leave: 1.0,
        bad_loss: 1.0,
        jitter: Time::ZERO,
        jitter_reorders: false,
        reorder: 0.0,
        reorder_by: Time::from_ms(10),
        duplicate: 0.0,
        slot: Time::ZERO,
    };
}

impl Default for Impairments {
    fn default() -> Self {
        Self::NONE
    }
}

/// Independent random loss (Bernoulli).
#[derive(Clone, Debug)]
pub struct Loss {
    probability: f64,
    random: Philox,
}

impl Loss {
    /// Loss with `probability` on link number `link`.
    pub fn new(probability: f64, seed: u64, link: u32) -> Self {
        Self { probability, random: of_link(seed, link, Purpose::Loss) }
    }

    /// Sets another probability; the random stream continues.
    pub fn set(&mut self, probability: f64) {
        self.probability = probability;
    }

    /// Whether the next packet is lost.
    #[inline]
    pub fn loses(&mut self) -> bool {
        self.probability > 0.0 && uniform(&mut self.random) < self.probability
    }
}

/// A link that impairs packets.
#[derive(Clone, Debug)]
pub struct Impaired {
    settings: Impairments,
    is_bad: bool,
    phases: Philox,
    jitter: Philox,
    reordering: Philox,
    duplication: Philox,
    /// When the last packet arrives that none may pass.
    last: Time,
}

impl Impaired {
    /// Link number `link`.
    pub fn new(settings: Impairments, seed: u64, link: u32) -> Self {
        let stream = |purpose| of_link(seed, link, purpose);
        Self {
            settings,
            is_bad: false,
            phases: stream(Purpose::Phase),
            jitter: stream(Purpose::Jitter),
            reordering: stream(Purpose::Reordering),
            duplication: stream(Purpose::Duplication),
            last: Time::ZERO,
        }
    }

    /// Sets other impairments; phase and random streams continue, and no packet overtakes one in flight.
    pub fn set(&mut self, settings: Impairments) {
        self.settings = settings;
    }

    /// When the last packet arrives that none may pass.
    pub(crate) fn last(&self) -> Time {
        self.last
    }

    /// Whether bad phases lose the next packet (Elliott 1963): first the phase may change, then the packet may be lost.
    pub fn loses(&mut self) -> bool {
        let Impairments { bad_enter, bad_leave, bad_loss, .. } = self.settings;
        if bad_enter <= 0.0 {
            return false;
        }
        let change = if self.is_bad { bad_leave } else { bad_enter };
        self.is_bad ^= uniform(&mut self.phases) < change;
        // Two numbers for each packet, whatever the phase.
        let draw = uniform(&mut self.phases);
        self.is_bad && draw < bad_loss
    }

    /// Whether the next packet arrives twice.
    pub fn duplicates(&mut self) -> bool {
        self.settings.duplicate > 0.0 && uniform(&mut self.duplication) < self.settings.duplicate
    }

    /// Arrival time of a packet that would arrive at `at` without impairments.
    pub fn arrival(&mut self, at: Time) -> Time {
        let Impairments { jitter, jitter_reorders, reorder, reorder_by, slot, .. } = self.settings;
        let mut there = at;
        if jitter > Time::ZERO {
            let part = uniform(&mut self.jitter) * jitter.ns() as f64;
            there = at.after(Time::from_ns(part as u64));
        }
        let is_passed = reorder > 0.0 && uniform(&mut self.reordering) < reorder;
        if is_passed {
            there = there.after(reorder_by);
        } else if !jitter_reorders {
            there = there.max(self.last);
            self.last = there;
        }
        if slot > Time::ZERO {
            there = Time::from_ns(there.ns().div_ceil(slot.ns()).saturating_mul(slot.ns()));
        }
        there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const NONE: Impairments = Impairments::NONE;

    fn link(settings: Impairments) -> Impaired {
        Impaired::new(settings, 3, 0)
    }

    /// Stationary loss: `bad_loss` enter / (enter + leave); a bad phase lasts 1 / leave packets (Gilbert 1960).
    #[test]
    fn losses_and_bursts_have_the_means_of_the_chain() {
        for (enter, leave, loss) in [(0.01, 0.25, 1.0), (0.05, 0.5, 0.5), (1.0, 1.0, 1.0)] {
            let mut link = link(Impairments { bad_enter: enter, bad_leave: leave, bad_loss: loss, ..NONE });
            let (packets, mut lost, mut bursts, mut before) = (400_000, 0, 0, false);
            for _ in 0..packets {
                lost += u32::from(link.loses());
                bursts += u32::from(link.is_bad && !before);
                before = link.is_bad;
            }
            let expected = loss * enter / (enter + leave);
            let rate = f64::from(lost) / f64::from(packets);
            assert!((rate / expected - 1.0).abs() < 0.05, "{rate}, not {expected}");
            let burst = f64::from(lost) / loss / f64::from(bursts);
            assert!((burst * leave - 1.0).abs() < 0.05, "{burst} packets, not {}", 1.0 / leave);
        }
    }

    #[test]
    fn the_bounds_of_probabilities_are_certain() {
        let all = |settings: Impairments| {
            let mut link = link(settings);
            (0..1000).map(|_| (link.loses(), link.duplicates(), link.arrival(Time::ZERO))).collect::<Vec<_>>()
        };
        assert_eq!(all(NONE), [(false, false, Time::ZERO); 1000]);
        let certain = Impairments { bad_enter: 1.0, bad_leave: 0.0, duplicate: 1.0, reorder: 1.0, ..NONE };
        assert_eq!(all(certain), [(true, true, Time::from_ms(10)); 1000]);
        let harmless = Impairments { bad_enter: 1.0, bad_leave: 0.0, bad_loss: 0.0, ..NONE };
        assert_eq!(all(harmless), [(false, false, Time::ZERO); 1000]);
    }

    /// Uniform on [0, 20 ms): the mean is 10 ms; in order, none arrives before the one ahead of it.
    #[test]
    fn jitter_keeps_the_order_unless_it_may_not() {
        for reorders in [true, false] {
            let jitter = Time::from_ms(20);
            let mut link = link(Impairments { jitter, jitter_reorders: reorders, ..NONE });
            let sent = |number: u64| Time::from_ms(number);
            let there: Vec<_> = (0..20_000).map(|number| link.arrival(sent(number))).collect();
            assert_eq!(there.is_sorted(), !reorders);
            let longer: Vec<_> =
                (0..).zip(&there).map(|(number, at)| at.since(sent(number)).seconds()).collect();
            assert!(longer.iter().all(|&by| by < 0.02));
            let mean = longer.iter().sum::<f64>() / 20_000.0;
            assert!(if reorders { (mean - 0.01).abs() < 2e-4 } else { mean > 0.0101 }, "{mean}");
        }
    }

    /// One in ten is passed by those of the next 10 ms; the others keep their times.
    #[test]
    fn reordered_packets_are_passed() {
        let mut link = link(Impairments { reorder: 0.1, ..NONE });
        let by = |number: u64, at: Time| at.since(Time::from_ms(number)).ns() / 1_000_000;
        let longer: Vec<_> =
            (0..10_000).map(|number| by(number, link.arrival(Time::from_ms(number)))).collect();
        assert!(longer.iter().all(|by| [0, 10].contains(by)));
        let count = longer.iter().filter(|&&by| by == 10).count();
        assert!((900..1100).contains(&count), "{count}");
    }

    #[test]
    fn slots_are_multiples() {
        let mut link = link(Impairments { slot: Time::from_ms(5), ..NONE });
        let there =
            [0, 1, 4999, 5000, 5001].map(|us| link.arrival(Time::from_ns(1000 * us)).ns() / 1_000_000);
        assert_eq!(there, [0, 5, 5, 5, 10]);
    }
}
