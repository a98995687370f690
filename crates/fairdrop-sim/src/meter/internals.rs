//! The values that a discipline decides by, as it names them: mean over time, maximum, and samples on a grid.

use fairdrop::Time;
use fairdrop_link::Shows;

/// One value.
#[derive(Clone, Debug)]
pub struct Internal {
    /// As the discipline's publication calls it.
    pub name: &'static str,
    /// Sum over time of the value, times ns.
    sum: f64,
    max: f64,
    /// On the grid of the series.
    pub samples: Vec<f64>,
}

/// All values of one discipline.
#[derive(Clone, Debug, Default)]
pub struct Internals {
    values: Vec<Internal>,
    since: Time,
    opened: Time,
    /// Departures change none of them.
    rest_at_departures: bool,
}

impl Internals {
    /// For `discipline`, whose names do not change.
    pub fn of(discipline: &impl Shows) -> Self {
        let mut values = Vec::new();
        discipline.internals(|name, value| {
            values.push(Internal { name, sum: 0.0, max: value, samples: Vec::new() });
        });
        let rest_at_departures = values.is_empty() || !discipline.departures_change_internals();
        Self { values, since: Time::ZERO, opened: Time::ZERO, rest_at_departures }
    }

    /// As `hold`, before a departure.
    #[inline(always)]
    pub fn hold_at_departure(&mut self, now: Time, discipline: &impl Shows) {
        if !self.rest_at_departures {
            self.hold(now, discipline);
        }
    }

    /// The values have been what they are since the last call, and may change at `now`.
    #[inline(always)]
    pub fn hold(&mut self, now: Time, discipline: &impl Shows) {
        // Signed, which one instruction converts.
        let span = now.since(self.since).ns() as i64 as f64;
        self.since = now;
        let mut values = self.values.iter_mut();
        discipline.internals(|_, value| {
            if let Some(internal) = values.next() {
                internal.sum += value * span;
                if value > internal.max {
                    internal.max = value;
                }
            }
        });
    }

    /// Adds a point to the samples.
    pub fn sample(&mut self, discipline: &impl Shows) {
        let mut values = self.values.iter_mut();
        discipline.internals(|_, value| values.next().into_iter().for_each(|v| v.samples.push(value)));
    }

    /// Means and maxima begin again.
    pub fn open(&mut self, now: Time, discipline: &impl Shows) {
        self.hold(now, discipline);
        self.opened = now;
        let mut values = self.values.iter_mut();
        discipline.internals(|_, value| {
            if let Some(internal) = values.next() {
                (internal.sum, internal.max) = (0.0, value);
            }
        });
    }

    /// Name, mean over time, maximum and samples of each value.
    pub fn results(&self) -> impl Iterator<Item = (&'static str, f64, f64, &[f64])> {
        let window = self.since.since(self.opened).ns() as f64;
        self.values.iter().map(move |value| {
            let mean = if window > 0.0 { value.sum / window } else { 0.0 };
            (value.name, mean, value.max, value.samples.as_slice())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It shows one value, and twice that.
    struct Shown(f64);

    impl Shows for Shown {
        fn departures_change_internals(&self) -> bool {
            false
        }
        fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
            see("p", self.0);
            see("twice", 2.0 * self.0);
        }
    }

    /// 1 for 3 s before the window, 5 for 1 s, 2 for 3 s: mean 11 / 4 over the window.
    #[test]
    fn means_are_over_time_within_the_window() {
        let mut discipline = Shown(1.0);
        let mut internals = Internals::of(&discipline);
        internals.open(Time::from_ms(3000), &discipline);
        internals.hold(Time::from_ms(3000), &discipline);
        discipline.0 = 5.0;
        internals.sample(&discipline);
        // It says that no departure changes a value, so none is looked at.
        internals.hold_at_departure(Time::from_ms(3500), &discipline);
        assert_eq!(internals.since, Time::from_ms(3000));
        internals.hold(Time::from_ms(4000), &discipline);
        discipline.0 = 2.0;
        internals.hold(Time::from_ms(6000), &discipline);
        internals.sample(&discipline);
        internals.hold(Time::from_ms(7000), &discipline);
        let found: Vec<_> = internals.results().collect();
        assert_eq!(found[0], ("p", 2.75, 5.0, &[5.0, 2.0][..]));
        assert_eq!(found[1], ("twice", 5.5, 10.0, &[10.0, 4.0][..]));
    }
}
