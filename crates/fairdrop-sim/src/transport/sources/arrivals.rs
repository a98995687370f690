//! Lists of arrivals: CSV files, and captures.

use super::trace::{Arrival, TraceConfig};
use crate::control::Control;
use fairdrop::Time;
use fairdrop_capture::{Options, count, open_regular};
use fairdrop_config::units;
use fairdrop_config::{Origin, Problem, Report, Section};
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// Largest file: it is held in memory while it is read.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// Largest packet of a run.
const MAX_BYTES: u32 = 65_535;
/// Lines of a list between looks whether to stop, and bytes of a file.
const LINES_BETWEEN_LOOKS: usize = 1 << 14;
const MOST_AT_ONCE: usize = 16 << 20;
/// The problem of a file that was not read to its end.
const STOPPED: &str = "interrupted";
/// Wrong lines of one file that are reported.
const MOST_PROBLEMS: usize = 10;
/// Latest arrival: the longest duration of a run.
const MAX_SECONDS: f64 = 1e7;

type Flows = Vec<Vec<Arrival>>;

/// The list that `file` of a group names; problems with the file are added to `report`.
pub fn config(section: &Section, report: &mut Report, control: &Control) -> Option<TraceConfig> {
    let name = section.text("file")?;
    let path = report.beside(name);
    let shown = path.display().to_string();
    let flows = match bytes_of(&path, control) {
        // A capture begins with a magic number, a list with the name of a column.
        Ok(bytes) if bytes.first().is_some_and(u8::is_ascii_alphabetic) => csv(&bytes, &shown, control),
        Ok(bytes) => capture(&bytes, &shown, control),
        Err(error) => {
            let valid = format!("a list of arrivals or a capture ({shown}: {error})");
            report.add(section.origin("file"), &section.path("file"), &format!("{name:?}"), &valid);
            return None;
        }
    };
    match flows {
        Ok(flows) => Some(TraceConfig { file: name.into(), flows: Arc::from(flows) }),
        Err(problems) => {
            report.problems.extend(problems);
            None
        }
    }
}

/// A stream that fails once somebody has asked to stop.
struct Watched<'a, R> {
    stream: R,
    control: &'a Control,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.control.is_stopped() {
            return Err(io::Error::other(STOPPED));
        }
        let most = buffer.len().min(MOST_AT_ONCE);
        self.stream.read(&mut buffer[..most])
    }
}

fn bytes_of(path: &Path, control: &Control) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let stream = open_regular(path, MAX_FILE_BYTES)?;
    Watched { stream, control }.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn capture(bytes: &[u8], file: &str, control: &Control) -> Result<Flows, Vec<Problem>> {
    let refuse = |what: &str, valid: &str| vec![Problem::new("", Origin::Command, "", what, valid)];
    let stream = Watched { stream: bytes, control };
    let capture = fairdrop_capture::read_from(stream, file, &Options::default())
        .map_err(|error| refuse(&error.to_string(), "a CSV list of arrivals, a pcap or pcapng capture"))?;
    let mut flows = vec![Vec::new(); capture.flows.len()];
    for (number, arrival) in capture.arrivals.iter().enumerate() {
        if arrival.wire_len > MAX_BYTES {
            let what = format!("{file}: packet {} has {}", number + 1, count(arrival.wire_len, "byte"));
            return Err(refuse(&what, &format!("at most {MAX_BYTES}")));
        }
        let (at, len) = (Time::from_ns(arrival.time_ns), arrival.wire_len.max(1) as u16);
        flows[arrival.flow as usize].push(Arrival { at, len, class: None });
    }
    Ok(flows)
}

/// Places of the columns in a line.
struct Columns {
    time: usize,
    size: usize,
    flow: Option<usize>,
    class: Option<usize>,
    count: usize,
}

impl Columns {
    fn read(head: &str) -> Option<Self> {
        let names: Vec<_> = head.split(',').map(str::trim).collect();
        let place = |wanted| names.iter().position(|name| *name == wanted);
        let known = names.iter().all(|name| ["time_s", "size_bytes", "flow", "class"].contains(name));
        known.then_some(())?;
        Some(Self {
            time: place("time_s")?,
            size: place("size_bytes")?,
            flow: place("flow"),
            class: place("class"),
            count: names.len(),
        })
    }
}

fn csv(bytes: &[u8], file: &str, control: &Control) -> Result<Flows, Vec<Problem>> {
    let wrong = |line: usize, field: &str, value: &str, valid: &str| {
        Problem::new(file, Origin::Line(line as u32 + 1), field, value, valid)
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].split(|&byte| byte == b'\n').count() - 1;
        vec![wrong(line, "", "this is not text in UTF-8", "a CSV list of arrivals")]
    })?;
    let mut lines = text.lines().enumerate();
    let head = lines.next().map_or("", |(_, head)| head);
    let Some(columns) = Columns::read(head) else {
        let valid = "the columns time_s,size_bytes and perhaps flow and class";
        return Err(vec![wrong(0, "", &format!("the first line is {head:?}"), valid)]);
    };
    let (mut flows, mut numbers, mut problems) = (Flows::new(), HashMap::new(), Vec::new());
    let mut last = Time::ZERO;
    for (line, text) in lines.filter(|(_, text)| !text.trim().is_empty()) {
        match arrival(text, &columns, last) {
            Ok((flow, arrival)) => {
                last = arrival.at;
                let number = *numbers.entry(flow).or_insert_with(|| {
                    flows.push(Vec::new());
                    flows.len() - 1
                });
                flows[number].push(arrival);
            }
            Err((field, value, valid)) => problems.push(wrong(line, field, &value, &valid)),
        }
        if problems.len() == MOST_PROBLEMS {
            break;
        }
        if line.is_multiple_of(LINES_BETWEEN_LOOKS) && control.is_stopped() {
            let what = format!("{file}: {STOPPED}");
            return Err(vec![Problem::new("", Origin::Command, "", &what, "a list that is read whole")]);
        }
    }
    if flows.is_empty() && problems.is_empty() {
        problems.push(wrong(0, "", "there are no packets", "a line for each packet"));
    }
    if problems.is_empty() { Ok(flows) } else { Err(problems) }
}

/// The flow and packet of a line; or the field that is wrong, its value, and what would be valid.
fn arrival<'a>(
    text: &'a str,
    columns: &Columns,
    last: Time,
) -> Result<(&'a str, Arrival), (&'static str, String, String)> {
    let cells: Vec<_> = text.split(',').map(str::trim).collect();
    if cells.len() != columns.count {
        let what = format!("the line has {}", count(cells.len(), "value"));
        return Err(("", what, format!("{}, as the first line has", columns.count)));
    }
    let refuse = |field, place: usize, valid: String| (field, format!("{:?}", cells[place]), valid);
    let seconds = cells[columns.time].parse().ok().filter(|time| (0.0..=MAX_SECONDS).contains(time));
    let at = seconds.map(units::time).filter(|&at| at >= last).ok_or_else(|| {
        let from = last.seconds();
        refuse("time_s", columns.time, format!("a number from {from}, the line before, to {MAX_SECONDS}"))
    })?;
    let size = cells[columns.size].parse().ok().filter(|size| (1..=MAX_BYTES).contains(size));
    let len = size
        .ok_or_else(|| refuse("size_bytes", columns.size, format!("a whole number from 1 to {MAX_BYTES}")))?
        as u16;
    let class = match columns.class {
        Some(place) => Some(
            cells[place]
                .parse()
                .map_err(|_| refuse("class", place, "a whole number from 0 to 255".into()))?,
        ),
        None => None,
    };
    Ok((columns.flow.map_or("", |place| cells[place]), Arrival { at, len, class }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(bytes: &[u8], file: &str) -> Result<Flows, Vec<Problem>> {
        super::csv(bytes, file, &Control::default())
    }

    /// Each way of reading looks whether to stop, and says so when it does.
    #[test]
    fn long_files_are_left() {
        let text = format!("time_s,size_bytes\n{}", "1,100\n".repeat(2 * LINES_BETWEEN_LOOKS));
        let control = Control::default();
        assert!(super::csv(text.as_bytes(), "list.csv", &control).is_ok());
        assert_eq!(control.looks(), 2);
        control.stop();
        let problems = super::csv(text.as_bytes(), "list.csv", &control).unwrap_err();
        assert!(problems[0].to_string().contains("list.csv: interrupted"), "{}", problems[0]);
        let problems = capture(&[0xD4, 0xC3, 0xB2, 0xA1], "a.pcap", &control).unwrap_err();
        assert!(problems[0].to_string().contains("interrupted"), "{}", problems[0]);
        let path = std::env::current_exe().unwrap();
        assert_eq!(bytes_of(&path, &control).unwrap_err().to_string(), STOPPED);
    }

    #[test]
    fn a_list_is_split_by_flow() {
        let text = "time_s,size_bytes,flow,class\n0,100,a,1\n0.5,200,b,2\n\n0.5,300,a,1\n1.25,65535,a,0\n";
        let flows = csv(text.as_bytes(), "list.csv").unwrap();
        let arrival = |ms, len, class| Arrival { at: Time::from_ms(ms), len, class: Some(class) };
        let expected = [
            vec![arrival(0, 100, 1), arrival(500, 300, 1), arrival(1250, 65_535, 0)],
            vec![arrival(500, 200, 2)],
        ];
        assert_eq!(flows, expected);
        let plain = csv(b"size_bytes,time_s\r\n40,0.001\r\n", "list.csv").unwrap();
        assert_eq!(plain, [vec![Arrival { at: Time::from_ms(1), len: 40, class: None }]]);
    }

    #[test]
    fn wrong_lines_are_named() {
        let text = "time_s,size_bytes,class\n1,100,0\n0.5,100,0\n2,0,0\n2,100,256\n2,100\nnan,1,0\n3,1,0\n";
        let problems: Vec<_> =
            csv(text.as_bytes(), "list.csv").unwrap_err().iter().map(Problem::to_string).collect();
        assert_eq!(
            problems,
            [
                "list.csv:3: time_s = \"0.5\" is not valid; valid: a number from 1, the line before, to 10000000",
                "list.csv:4: size_bytes = \"0\" is not valid; valid: a whole number from 1 to 65535",
                "list.csv:5: class = \"256\" is not valid; valid: a whole number from 0 to 255",
                "list.csv:6: the line has 2 values; valid: 3, as the first line has",
                "list.csv:7: time_s = \"nan\" is not valid; valid: a number from 1, the line before, to 10000000",
            ]
        );
        for (text, line) in
            [("time,size\n", 1), ("time_s,size_bytes\n", 1), ("time_s,size_bytes\n1,\u{e9}\n", 2)]
        {
            let problems = csv(text.as_bytes(), "x").unwrap_err()[0].to_string();
            assert!(problems.starts_with(&format!("x:{line}: ")), "{problems}");
        }
        let many = format!("time_s,size_bytes\n{}", "x,1\n".repeat(100));
        assert_eq!(csv(many.as_bytes(), "x").unwrap_err().len(), MOST_PROBLEMS);
    }
}
