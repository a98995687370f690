//! The largest of the values of a window of time, in three places (K. Nichols; `lib/win_minmax.c`).

/// The largest value, and the largest of those that came after it, and again.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowedMax {
    best: [(u64, f64); 3],
}

impl WindowedMax {
    pub const fn get(&self) -> f64 {
        self.best[0].1
    }

    /// Takes `value` at `time`, and returns the largest of the window of `length` that ends there.
    pub fn update(&mut self, length: u64, time: u64, value: f64) -> f64 {
        let new = (time, value);
        let [first, second, third] = &mut self.best;
        if value >= first.1 || time - third.0 > length {
            self.best = [new; 3];
            return value;
        }
        if value >= second.1 {
            (*second, *third) = (new, new);
        } else if value >= third.1 {
            *third = new;
        }
        self.grow_old(length, new)
    }

    fn grow_old(&mut self, length: u64, new: (u64, f64)) -> f64 {
        let [first, second, third] = &mut self.best;
        let age = new.0 - first.0;
        if age > length {
            // The best has left the window: the others move up.
            (*first, *second, *third) = (*second, *third, new);
            if new.0 - first.0 > length {
                (*first, *second, *third) = (*second, *third, new);
            }
        } else if second.0 == first.0 && age > length / 4 {
            // A quarter of the window has gone by without a second choice.
            (*second, *third) = (new, new);
        } else if third.0 == second.0 && age > length / 2 {
            *third = new;
        }
        first.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairdrop::Philox;

    /// Against all values of the window: never more than their largest, the very largest as long as values fall more
    /// slowly than a quarter of the window goes by, and never less than the newest.
    #[test]
    fn against_a_look_at_every_value() {
        let mut random = Philox::new(7, 0, 0);
        for length in [1, 2, 5, 10] {
            let mut filter = WindowedMax::default();
            let mut all: Vec<(u64, f64)> = Vec::new();
            let mut exact = 0;
            for step in 0..4000_u64 {
                let (time, value) = (step / 4, (random.next_u64() % 1000) as f64);
                all.push((time, value));
                let in_window = all.iter().rev().take_while(|(at, _)| time - at <= length);
                let largest = in_window.map(|&(_, value)| value).fold(0.0, f64::max);
                let found = filter.update(length, time, value);
                assert_eq!(found, filter.get());
                assert!(value <= found && found <= largest, "{found} of {largest} at {time}");
                exact += usize::from(found == largest);
            }
            assert!(exact > 3200, "{exact} of 4000 with a window of {length}");
        }
    }

    /// A value holds for the window, and not a tick longer.
    #[test]
    fn values_leave_with_their_window() {
        let mut filter = WindowedMax::default();
        filter.update(10, 5, 100.0);
        for time in 6..=15 {
            assert_eq!(filter.update(10, time, 50.0), 100.0, "at {time}");
        }
        assert_eq!(filter.update(10, 16, 50.0), 50.0);
    }
}
