//! Time of the machine's processors that the hypervisor gave to others.

use std::fs::File;
use std::io::{Read, Seek};

/// Time of all processors so far, in ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Ticks {
    all: u64,
    stolen: u64,
}

impl Ticks {
    /// From `/proc/stat`.
    fn parse(stat: &str) -> Option<Self> {
        // user nice system idle iowait irq softirq steal, and guests, who are users already (proc_stat(5)).
        let first = stat.lines().next()?;
        let columns: Vec<u64> = first.split_whitespace().skip(1).take(8).flat_map(str::parse).collect();
        Some(Self { all: columns.iter().sum(), stolen: *columns.get(7)? })
    }

    fn stolen_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all);
        if all == 0 { 0.0 } else { self.stolen.saturating_sub(before.stolen) as f64 / all as f64 }
    }
}

/// What becomes of the processors' time from a moment on.
#[derive(Debug)]
pub struct Processors {
    /// Kept open: who has given up files cannot open it later.
    stat: Option<File>,
    before: Option<Ticks>,
}

impl Processors {
    /// From now on.
    pub fn watch() -> Self {
        let mut watched = Self { stat: File::open("/proc/stat").ok(), before: None };
        watched.before = watched.ticks();
        watched
    }

    /// Part of their time that the hypervisor gave to others; `None` where it is not reported.
    pub fn stolen(&mut self) -> Option<f64> {
        Some(self.ticks()?.stolen_since(self.before?))
    }

    /// The first line has it. The calls are those that a confined process may make.
    fn ticks(&mut self) -> Option<Ticks> {
        let (stat, mut line) = (self.stat.as_mut()?, [0; 256]);
        stat.rewind().ok()?;
        let read = stat.read(&mut line).ok()?;
        Ticks::parse(&String::from_utf8_lossy(&line[..read]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time() {
        let before = Ticks::parse("cpu  10 0 10 70 0 0 0 10 5 0\ncpu0 1").unwrap();
        let after = Ticks::parse("cpu  60 0 10 70 0 0 0 60 5 0\n").unwrap();
        assert!(Ticks::parse("").is_none() && Ticks::parse("cpu  10 0 10").is_none());
        assert_eq!(after.stolen_since(before), 0.5);
        assert_eq!(before.stolen_since(before), 0.0);
    }

    #[test]
    fn the_machine_says_so() {
        let mut processors = Processors::watch();
        assert!(processors.before.unwrap().all > 0);
        assert!((0.0..=1.0).contains(&processors.stolen().unwrap()));
    }
}
