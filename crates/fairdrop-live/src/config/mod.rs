//! A link as people write it: a file, options of the command line, or both.
//!
//! Options become settings of the file's fields, so that there is one reader, one set of rules and one kind of message.

mod fields;

use std::path::Path;
use std::sync::Arc;

use fairdrop::{AnyParams, Time};
use fairdrop_capture::{KeyKind, LinkType};
use fairdrop_config::{
    CatalogueOnly, Node, Origin, Problem, Problems, QueueConfig, Report, Section, read_chances,
};

use crate::frame::FramePool;
use crate::host::DirectionConfig;
use fairdrop_link::{Chances, Channel, Impairments, LinkConfig, Pace};

pub use fields::{DIRECTION, TOP};

/// Both directions of a link, read and checked.
#[derive(Clone, Debug)]
pub struct TwoWay {
    /// Towards the outside.
    pub up: OneWay,
    /// From the outside.
    pub down: OneWay,
    /// Of all random numbers but those of the flow key.
    pub seed: u64,
    /// The text it was read from, settings applied.
    pub source: String,
    /// What it was read from.
    pub written: Written,
}

/// A link before it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The file's text.
    pub text: String,
    /// The file's name.
    pub file: String,
    /// Settings (`path=value`) that overrule it.
    pub settings: Vec<String>,
}

/// One direction.
#[derive(Clone, Debug)]
pub struct OneWay {
    /// When packets may leave.
    pub pace: Pace,
    /// What happens on the way to the other end.
    pub channel: Channel,
    /// The discipline.
    pub queue: QueueConfig,
    /// What makes a flow.
    pub flow_key: KeyKind,
    /// Priority class by DSCP.
    pub classes: [u8; 64],
    /// Bytes that a packet takes on the emulated link beyond those of its frame.
    pub overhead: u32,
    /// Frame buffers.
    pub buffers: u32,
}

/// Names of the directions, in files and on the command line.
pub const DIRECTIONS: [&str; 2] = ["up", "down"];

/// A rate that links without one are taken to have, where something depends on it: 1 Gb/s.
const RATE_OF_UNLIMITED_BPS: u64 = 1_000_000_000;

/// Mean packet that buffers of packets under way are counted for, bytes.
const MEAN_BYTES: u64 = 500;

/// A LINK of the command line: a rate, or otherwise the path of a trace.
///
/// # Errors
/// It is neither a rate nor a file that exists.
pub fn setting_of(direction: &str, link: &str) -> Result<String, String> {
    if fairdrop_config::argument::rate_bps(link).is_ok() {
        return Ok(format!("{direction}.rate={link:?}"));
    }
    if Path::new(link).is_file() {
        return Ok(format!("{direction}.trace={link:?}"));
    }
    Err(format!(
        "--{direction} {link:?} is neither a rate nor a file; valid: 1 bit/s to 10 Tbit/s, for example 10mbit, or a trace of \
         delivery chances"
    ))
}

impl TwoWay {
    /// Reads a file and settings (`path=value`). Paths of traces begin at the folder of the file.
    ///
    /// # Errors
    /// Everything that is wrong, each with its line or setting, field, value and what would be valid.
    pub fn parse(text: &str, file: &str, settings: &[String]) -> Result<Self, Problems> {
        let read = |settings: &[String]| Self::read(text, file, settings);
        let blamed = |problems| {
            fairdrop_config::blamed(problems, settings, |settings| read(settings).err().unwrap_or_default())
        };
        read(settings).map_err(|problems| Problems(blamed(problems)))
    }

    fn read(text: &str, file: &str, settings: &[String]) -> Result<Self, Vec<Problem>> {
        let (root, source) = fairdrop_config::read(text, file, settings)?;
        let mut report = Report::new(file);
        let top = Section::read(Some(&root), "", TOP, &["queue", "up", "down"], &mut report);
        let common = root.get("queue");
        let [up, down] = DIRECTIONS.map(|name| OneWay::read(root.get(name), name, common, &mut report));
        if !report.problems.is_empty() {
            report.problems.sort_by_key(Problem::line);
            // What both directions share is read for each.
            let mut once: Vec<Problem> = Vec::new();
            for problem in report.problems {
                if !once.contains(&problem) {
                    once.push(problem);
                }
            }
            return Err(once);
        }
        let written = Written { text: text.into(), file: file.into(), settings: settings.to_vec() };
        Ok(Self { up, down, seed: top.integer("seed") as u64, source, written })
    }

    /// A line for each direction, and notes on its queue.
    pub fn in_words(&self) -> Vec<String> {
        let lines = DIRECTIONS.into_iter().zip(self.directions()).flat_map(|(name, way)| {
            let rate =
                way.rate_bps().map_or("without a rate".into(), |bps| format!("{} kbit/s", bps as f64 / 1e3));
            let (discipline, limit) = (way.queue.discipline, way.queue.limit);
            let line = format!(
                "{name}: {rate}, {discipline}, at most {limit} packets, {} frame buffers",
                way.buffers
            );
            std::iter::once(line).chain(way.queue.warning().map(|warning| format!("{name}: note: {warning}")))
        });
        lines.collect()
    }

    /// The directions, in the order of [`DIRECTIONS`].
    pub fn directions(&self) -> [&OneWay; 2] {
        [&self.up, &self.down]
    }
}

impl OneWay {
    fn read(node: Option<&Node>, path: &str, common: Option<&Node>, report: &mut Report) -> Self {
        let section = Section::read(node, path, DIRECTION, &["queue"], report);
        let own = node.and_then(|node| node.get("queue"));
        let queue = match (own, common) {
            (None, Some(common)) => QueueConfig::read(Some(common), "queue", &CatalogueOnly, report),
            (own, _) => QueueConfig::read(own, &format!("{path}.queue"), &CatalogueOnly, report),
        };
        let jitter = section.time("jitter").unwrap_or(Time::ZERO);
        let channel = Channel {
            delay: section.time("delay").unwrap_or(Time::ZERO),
            loss: section.number_or_zero("loss"),
            impairments: Impairments { jitter, ..Impairments::NONE },
        };
        let pace = pace(&section, report);
        let buffers = section.number("buffers").map(|buffers| buffers as u32);
        Self {
            buffers: buffers.unwrap_or_else(|| buffers_for(&pace, &channel, queue.limit)),
            pace,
            channel,
            queue,
            flow_key: section.text("flow_key").and_then(|key| key.parse().ok()).unwrap_or_default(),
            classes: classes(&section),
            overhead: section.number_or_zero("overhead") as u32,
        }
    }

    /// Mean rate of the pace, bit/s; `None` when it has no limit.
    pub fn rate_bps(&self) -> Option<u64> {
        self.pace.mean_bps()
    }

    /// The same, for what depends on a rate whether or not there is one.
    pub fn rate_or_default_bps(&self) -> u64 {
        self.rate_bps().unwrap_or(RATE_OF_UNLIMITED_BPS)
    }

    /// The parameters of its discipline.
    ///
    /// # Panics
    /// Never: no user-defined discipline can be named here.
    pub fn params(&self) -> AnyParams {
        self.queue.params(self.rate_or_default_bps()).expect("the discipline is of the catalogue")
    }

    /// Rate, discipline and limit in words.
    pub fn in_words(&self) -> String {
        let pace = match self.rate_bps() {
            Some(bps) => format!("{} kbit/s", bps as f64 / 1e3),
            None => "without limit".into(),
        };
        format!("{pace}, {}, {} packets", self.queue.discipline, self.queue.limit)
    }

    /// For a direction with frames of `link_type`, `frame_bytes` long at most; `number` distinguishes the directions of a host.
    pub fn direction(
        &self,
        seed: u64,
        number: u32,
        flow_key: [u64; 2],
        link_type: LinkType,
        frame_bytes: usize,
    ) -> DirectionConfig {
        DirectionConfig {
            queue: self.params(),
            link: LinkConfig {
                pace: self.pace.clone(),
                channel: self.channel,
                seed,
                number,
                flow_key,
                frames: self.buffers,
            },
            link_type,
            flow_key: self.flow_key,
            classes: self.classes,
            overhead: self.overhead,
            frame_bytes,
        }
    }

    /// Bytes of its frame buffers.
    pub fn buffer_bytes(&self, frame_bytes: usize) -> usize {
        FramePool::bytes_for(self.buffers, frame_bytes)
    }
}

/// Packets that may wait, those under way, and some that are being read or written.
fn buffers_for(pace: &Pace, channel: &Channel, limit: u32) -> u32 {
    let way_s = channel.delay.after(channel.impairments.jitter).seconds();
    let rate_bps = pace.mean_bps().unwrap_or(RATE_OF_UNLIMITED_BPS);
    let under_way = rate_bps as f64 * way_s / 8.0 / MEAN_BYTES as f64;
    (f64::from(limit) + under_way + 128.0).min(f64::from(fields::MOST_BUFFERS)) as u32
}

fn pace(section: &Section, report: &mut Report) -> Pace {
    let (rate, trace) = (section.number("rate"), section.text("trace"));
    match (rate, trace) {
        (Some(_), Some(_)) => {
            let what = format!("{} and {} exclude each other", section.path("rate"), section.path("trace"));
            report.add(section.origin("trace"), "", &what, "one of the two");
            Pace::Unlimited
        }
        (Some(rate), None) => Pace::Rate(rate as u64),
        (None, Some(trace)) => match read_trace(trace, section.origin("trace"), &report.file) {
            Ok(chances) => Pace::Trace(Arc::new(chances)),
            Err(why) => {
                report.add(section.origin("trace"), &section.path("trace"), &format!("{trace:?}"), &why);
                Pace::Unlimited
            }
        },
        (None, None) => Pace::Unlimited,
    }
}

fn read_trace(path: &str, origin: &Origin, file: &str) -> Result<Chances, String> {
    let from = match origin {
        Origin::Line(_) => Path::new(file).parent().unwrap_or(Path::new("")).join(path),
        Origin::Setting(_) | Origin::Command => path.into(),
    };
    read_chances(&from)
}

/// Pairs of a DSCP and the class that it stands for; all others are of class 0.
fn classes(section: &Section) -> [u8; 64] {
    let mut classes = [0; 64];
    for pair in section.numbers("classes").unwrap_or_default().chunks_exact(2) {
        if let Some(class) = classes.get_mut(pair[0] as usize) {
            *class = pair[1] as u8;
        }
    }
    classes
}

#[cfg(test)]
mod tests;
