//! The text format of Prometheus (version 0.0.4), in base units.

use crate::host::Amount;
use crate::host::{Report, Spread};
use fairdrop_link::Cause;
use std::fmt::{Display, Write};

/// Content type of [`render`]'s answer.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What of an amount is meant.
type Unit = fn(&Amount) -> u64;

/// One direction of a link.
pub struct Direction<'a> {
    pub name: &'a str,
    pub report: &'a Report,
}

struct Page<'a> {
    lines: String,
    link: &'a str,
    directions: &'a [Direction<'a>],
}

/// Labels take any text but these characters as they are.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl Page<'_> {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.lines, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, direction: &Direction<'_>, more: &str, value: impl Display) {
        let link = escaped(self.link);
        let (way, discipline) = (direction.name, direction.report.discipline);
        let _ = writeln!(
            self.lines,
            "{name}{{link=\"{link}\",direction=\"{way}\",discipline=\"{discipline}\"{more}}} {value}"
        );
    }

    fn each<V: Display>(&mut self, name: &str, kind: &str, help: &str, value: impl Fn(&Report) -> V) {
        self.head(name, kind, help);
        for direction in self.directions {
            self.line(name, direction, "", value(direction.report));
        }
    }

    /// A counter of packets and one of bytes.
    fn amounts(&mut self, name: &str, help: &str, of: impl Fn(&Report) -> Amount) {
        let [packets, bytes] = ["packets", "bytes"].map(|unit| format!("fairdrop_{name}_{unit}_total"));
        self.each(&packets, "counter", &format!("Packets {help}."), |report| of(report).packets);
        self.each(&bytes, "counter", &format!("Bytes of packets {help}."), |report| of(report).bytes);
    }

    /// Every cause has its line from the beginning, so that the first drop is an increase.
    fn drops(&mut self) {
        let units: [(&str, &str, Unit); 2] = [
            ("fairdrop_dropped_packets_total", "Packets dropped, by cause.", |amount| amount.packets),
            ("fairdrop_dropped_bytes_total", "Bytes of packets dropped, by cause.", |amount| amount.bytes),
        ];
        for (name, help, count) in units {
            self.head(name, "counter", help);
            for direction in self.directions {
                for cause in Cause::all() {
                    let dropped = direction.report.dropped.get(cause.name()).map_or(0, count);
                    self.line(name, direction, &format!(",cause=\"{}\"", cause.name()), dropped);
                }
            }
        }
    }

    fn histogram(&mut self, name: &str, help: &str, of: impl Fn(&Report) -> &Spread) {
        self.head(name, "histogram", help);
        for direction in self.directions {
            let spread = of(direction.report);
            for (bound, below) in spread.bounds_s.iter().zip(&spread.below) {
                self.line(&format!("{name}_bucket"), direction, &format!(",le=\"{bound}\""), below);
            }
            self.line(&format!("{name}_bucket"), direction, ",le=\"+Inf\"", spread.packets);
            self.line(&format!("{name}_sum"), direction, "", spread.sum_s);
            self.line(&format!("{name}_count"), direction, "", spread.packets);
        }
    }

    /// Each has its own name, which the discipline chooses.
    fn internals(&mut self) {
        let all = self.directions.iter().flat_map(|direction| &direction.report.internals);
        let mut names: Vec<&str> = all.map(|&(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        for internal in names {
            let name = format!("fairdrop_internal_{internal}");
            self.head(&name, "gauge", "A value that the discipline decides by.");
            for direction in self.directions {
                for &(_, value) in direction.report.internals.iter().filter(|(of, _)| *of == internal) {
                    self.line(&name, direction, "", value);
                }
            }
        }
    }
}

/// All of a link.
pub fn render(link: &str, directions: &[Direction<'_>]) -> String {
    let mut page = Page { lines: String::new(), link, directions };
    page.each("fairdrop_uptime_seconds", "gauge", "Time since the start.", |report| report.uptime_s);
    page.each("fairdrop_rate_bytes_per_second", "gauge", "Rate of the link; +Inf without one.", |report| {
        report.rate_bps.map_or("+Inf".into(), |bps| (bps as f64 / 8.0).to_string())
    });
    page.each("fairdrop_queue_limit_packets", "gauge", "Packets that may wait.", |report| report.limit);
    page.amounts("arrived", "that came", |report| report.arrived);
    page.amounts("delivered", "handed on", |report| report.delivered);
    page.amounts("marked", "that left with a mark they did not come with", |report| report.marked);
    page.drops();
    page.each("fairdrop_queue_packets", "gauge", "Packets in the queue.", |report| report.queued.packets);
    page.each("fairdrop_queue_bytes", "gauge", "Bytes in the queue.", |report| report.queued.bytes);
    page.each(
        "fairdrop_waiting_packets",
        "gauge",
        "Packets in the queue, on the wire, or on their way.",
        |report| report.waiting.packets,
    );
    page.histogram("fairdrop_wait_seconds", "How long packets waited in the queue.", |report| &report.wait);
    page.each(
        "fairdrop_lost_before_packets_total",
        "counter",
        "Packets lost before they could be read.",
        |report| report.lost_before,
    );
    page.each(
        "fairdrop_lost_behind_packets_total",
        "counter",
        "Packets handed on and lost by the device behind.",
        |report| report.lost_behind,
    );
    page.each(
        "fairdrop_lateness_median_seconds",
        "gauge",
        "How much too late packets were handed on, median.",
        |report| report.lateness.p50_s,
    );
    page.each("fairdrop_lateness_p99_seconds", "gauge", "The same, 99th percentile.", |report| {
        report.lateness.p99_s
    });
    page.each("fairdrop_lateness_max_seconds", "gauge", "The same, largest.", |report| report.lateness.max_s);
    page.histogram("fairdrop_lateness_seconds", "How much too late packets were handed on.", |report| {
        &report.late
    });
    page.each("fairdrop_buffers", "gauge", "Frame buffers.", |report| report.buffers);
    page.each("fairdrop_buffers_free", "gauge", "Frame buffers that are free.", |report| report.buffers_free);
    if directions.iter().any(|direction| direction.report.recording.is_some()) {
        let of = |report: &Report| report.recording.unwrap_or_default();
        page.each("fairdrop_records_total", "counter", "Records of the recording.", |report| {
            of(report).records
        });
        page.each("fairdrop_records_lost_total", "counter", "Records left out of the recording.", |report| {
            of(report).lost
        });
    }
    page.internals();
    page.lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
