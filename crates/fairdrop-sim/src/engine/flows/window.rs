//! Congestion windows over time.

use fairdrop::Time;

/// The congestion window over time.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct WindowMeter {
    pub packets: f64,
    pub since: Time,
    /// Sum over time, packets times ns.
    pub sum: f64,
}

impl WindowMeter {
    #[inline]
    pub fn change(&mut self, now: Time, packets: f64) {
        self.sum += self.packets * now.since(self.since).ns() as f64;
        (self.since, self.packets) = (now, packets);
    }

    pub fn open(&mut self, now: Time) {
        self.change(now, self.packets);
        self.sum = 0.0;
    }

    /// Mean over the time from the opening to `end`.
    pub fn mean(mut self, opened: Time, end: Time) -> f64 {
        self.change(end, self.packets);
        let window = end.since(opened).ns() as f64;
        if window > 0.0 { self.sum / window } else { 0.0 }
    }
}

/// Congestion windows on the sampling grid.
#[derive(Debug, Default)]
pub struct WindowSeries {
    pub times: Vec<Time>,
    /// Flow and its windows, packets.
    pub by_flow: Vec<(u32, Vec<f64>)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 packets before the window and for its first 2 s, then 4 for 6 s: 5.5 on average.
    #[test]
    fn mean_windows_are_over_time() {
        let mut window = WindowMeter::default();
        window.change(Time::from_ms(500), 10.0);
        window.open(Time::from_ms(1000));
        window.change(Time::from_ms(3000), 4.0);
        assert_eq!(window.mean(Time::from_ms(1000), Time::from_ms(9000)), 5.5);
    }
}
