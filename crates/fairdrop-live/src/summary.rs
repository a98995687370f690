//! The summary at the end of a run, and whether the run counts.

use crate::host::Report;
use serde::Serialize;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A run is not valid when the hypervisor gave away more of the processors' time.
pub const MOST_STOLEN: f64 = 0.05;

/// What a run may do wrong and still count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// 99th percentile of the lateness, s.
    pub lateness_s: f64,
    /// Packets that the host's devices lost in each direction, before they could be read or behind the link.
    pub lost: u64,
}

/// A run.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Whether the host's own error stayed within the limits.
    pub valid: bool,
    /// Where it did not.
    pub invalid_because: Vec<String>,
    /// Part of the processors' time that the hypervisor gave to others, where it is reported.
    pub stolen: Option<f64>,
    /// Towards the outside.
    pub up: Report,
    /// From the outside.
    pub down: Report,
}

impl Summary {
    /// Of both directions.
    pub fn new(up: Report, down: Report, stolen: Option<f64>, limits: Limits) -> Self {
        let mut invalid_because = Vec::new();
        for (name, report) in [("up", &up), ("down", &down)] {
            let late = report.lateness.p99_s;
            if report.lateness.packets > 0 && late > limits.lateness_s {
                invalid_because.push(format!(
                    "{name}: 99th percentile of lateness {} > {}",
                    milliseconds(late),
                    milliseconds(limits.lateness_s)
                ));
            }
            let lost =
                [(report.lost_before, "before they were read"), (report.lost_behind, "behind the link")];
            for (packets, place) in lost {
                if packets > limits.lost {
                    invalid_because.push(format!("{name}: {packets} packets lost {place} > {}", limits.lost));
                }
            }
        }
        if let Some(stolen) = stolen.filter(|&stolen| stolen > MOST_STOLEN) {
            invalid_because.push(format!(
                "the hypervisor gave {:.1} % of the processors' time to others > {:.1} %",
                stolen * 100.0,
                MOST_STOLEN * 100.0
            ));
        }
        Self { valid: invalid_because.is_empty(), invalid_because, stolen, up, down }
    }

    /// In words, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            [("up", &self.up), ("down", &self.down)].map(|(name, report)| line(name, report)).into();
        if !self.valid {
            lines.push(format!("INVALID: {}", self.invalid_because.join("; ")));
        }
        lines
    }

    /// Logs the lines on standard error, and writes the whole to a file if one is named.
    ///
    /// # Errors
    /// The file cannot be written; it is written whole or not at all.
    pub fn write(&self, file: Option<&Path>) -> Result<(), String> {
        self.lines().iter().for_each(|line| crate::say!("fairdropd: {line}"));
        let Some(path) = file else { return Ok(()) };
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())? + "\n";
        let unfinished = path.with_extension("unfinished");
        let written = fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, path));
        written.map_err(|error| {
            format!("--report {}: {error}; valid: a file in a folder that can be written", path.display())
        })
    }
}

fn line(name: &str, report: &Report) -> String {
    let mut line =
        format!("{name}: {} packets ({} bytes) delivered", report.delivered.packets, report.delivered.bytes);
    if report.lost_behind > 0 {
        let _ = write!(line, ", {} of them lost by the device", report.lost_behind);
    }
    let drops: Vec<String> =
        report.dropped.iter().map(|(cause, amount)| format!("{} {cause}", amount.packets)).collect();
    if !drops.is_empty() {
        let _ = write!(line, ", dropped: {}", drops.join(", "));
    }
    if report.marked.packets > 0 {
        let _ = write!(line, ", {} marked", report.marked.packets);
    }
    let _ = write!(
        line,
        "; wait {} (99 %: {}), late by at most {} (99 %)",
        milliseconds(report.wait_p50_s),
        milliseconds(report.wait_p99_s),
        milliseconds(report.lateness.p99_s)
    );
    line
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TwoWay;
    use crate::host::{Direction, Ports, Received, mailbox};
    use fairdrop::Time;
    use fairdrop_capture::LinkType;
    use std::io;
    use std::sync::Arc;

    /// Nothing comes.
    struct Ended;

    impl Ports for Ended {
        fn now(&self) -> Time {
            Time::ZERO
        }

        fn receive(&mut self, _: &mut [u8]) -> io::Result<Option<Received>> {
            Err(io::ErrorKind::UnexpectedEof.into())
        }

        fn deliver(&mut self, _: &[u8]) -> io::Result<bool> {
            Ok(true)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn wait(&mut self, _: Option<Time>) -> io::Result<()> {
            Ok(())
        }
    }

    fn report() -> Report {
        let link = TwoWay::parse("", "test", &[]).unwrap();
        let config = link.up.direction(1, 0, [1, 2], LinkType(101), 2048);
        Direction::new(config, mailbox(Arc::new(())).1, (), Time::ZERO).unwrap().run(&mut Ended).unwrap()
    }

    #[test]
    fn what_makes_a_run_invalid() {
        let limits = Limits { lateness_s: 0.001, lost: 2 };
        assert!(Summary::new(report(), report(), Some(MOST_STOLEN), limits).valid);
        let mut down = Report { lost_before: 2, lost_behind: 3, ..report() };
        (down.lateness.packets, down.lateness.p99_s) = (1, 0.0015);
        let summary = Summary::new(report(), down, Some(0.071), limits);
        let because = [
            "down: 99th percentile of lateness 1.500 ms > 1.000 ms",
            "down: 3 packets lost behind the link > 2",
            "the hypervisor gave 7.1 % of the processors' time to others > 5.0 %",
        ];
        assert_eq!(summary.invalid_because, because);
        assert_eq!(summary.lines()[2], format!("INVALID: {}", because.join("; ")));
    }
}
