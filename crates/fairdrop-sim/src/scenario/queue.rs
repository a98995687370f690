//! `[queue]`: a discipline by name, with the parameters of all, so that one scenario compares many.

use super::fields::{FieldSpec, QUEUE};
use super::problem::{Origin, Problem, Problems};
use super::read::{Report, Section};
use super::tree::{self, Node};
use crate::units;
use fairdrop::{
    AnyParams, CATALOGUE, Candidates, ChokeParams, DrawFrom, DropTailParams, LIMIT, RedParams, Schedule, Time,
};
use serde_json::{Value as Json, json};

/// A discipline and the parameters of every discipline that a comparison may put in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig {
    /// Name, as in `fairdrop list`.
    pub discipline: &'static str,
    /// Packets that may wait.
    pub limit: u32,
    /// `[queue.red]`.
    pub red: RedParams,
    /// `[queue.choke]`; its RED part is `red`.
    pub choke: ChokeParams,
}

impl Default for QueueConfig {
    fn default() -> Self {
        let red = RedParams::default();
        Self { discipline: "choke", limit: red.limit, red, choke: ChokeParams::default() }
    }
}

/// The names of all disciplines, for messages.
pub fn known_disciplines() -> String {
    let names: Vec<_> = CATALOGUE.iter().map(|info| info.name).collect();
    format!("one of {}", names.join(", "))
}

/// Parameters of one discipline as fields.
pub fn fields_of(discipline: &str) -> Vec<FieldSpec> {
    fairdrop::info(discipline).map_or_else(Vec::new, |info| info.params.iter().map(FieldSpec::from).collect())
}

impl QueueConfig {
    /// Reads `[queue]` and its sub-tables.
    pub fn read(node: Option<&Node>, path: &str, report: &mut Report) -> Self {
        let with_params: Vec<_> =
            CATALOGUE.iter().filter(|info| !info.params.is_empty()).map(|info| info.name).collect();
        let fields: Vec<_> = QUEUE.iter().copied().chain([FieldSpec::from(&LIMIT)]).collect();
        let section = Section::read(node, path, &fields, &with_params, report);
        let discipline = section.text("discipline").unwrap_or("choke");
        let info = fairdrop::info(discipline);
        if info.is_none() {
            report.add(
                section.origin("discipline"),
                &section.path("discipline"),
                &format!("{discipline:?}"),
                &known_disciplines(),
            );
        }
        let table = |name: &str, report: &mut Report| {
            let node = node.and_then(|node| node.get(name));
            Section::read(node, &format!("{path}.{name}"), &fields_of(name), &[], report)
        };
        let limit = section.number("limit").unwrap_or(300.0) as u32;
        let red = red(&table("red", report), limit, report);
        let choke = choke(&table("choke", report), &red);
        Self { discipline: info.map_or("choke", |info| info.name), limit, red, choke }
    }

    /// Reads the `[queue]` of a scenario text and nothing else of it, for hosts that have no network. Returns the
    /// text as well, settings applied.
    ///
    /// # Errors
    /// Everything that is wrong, each with its line, field, value and what would be valid.
    pub fn parse(text: &str, file: &str, settings: &[String]) -> Result<(Self, String), Problems> {
        let (root, source) = tree::read(text, file, settings).map_err(Problems)?;
        let mut report = Report::new(file);
        let queue = Self::read(root.get("queue"), "queue", &mut report);
        if report.problems.is_empty() { Ok((queue, source)) } else { Err(Problems(report.problems)) }
    }

    /// The same with another discipline.
    ///
    /// # Errors
    /// No discipline has that name.
    pub fn with_discipline(&self, name: &str) -> Result<Self, Problems> {
        let info = fairdrop::info(name).ok_or_else(|| {
            let what = format!("there is no discipline {name:?}");
            Problems(vec![Problem::new("", Origin::Command, "", &what, &known_disciplines())])
        })?;
        Ok(Self { discipline: info.name, ..self.clone() })
    }

    /// The parameters of the chosen discipline on a link of `rate_bps`.
    pub fn params(&self, rate_bps: u64) -> AnyParams {
        let red = RedParams {
            limit: self.limit,
            mean_packet_time: packet_time(self.red.mean_packet_size, rate_bps),
            ..self.red.clone()
        };
        match self.discipline {
            "droptail" => AnyParams::DropTail(DropTailParams { limit: self.limit }),
            "red" => AnyParams::Red(red),
            _ => AnyParams::Choke(ChokeParams { red, ..self.choke.clone() }),
        }
    }

    /// The configuration for documents, SI units.
    pub fn to_json(&self) -> Json {
        let max_th = if self.red.max_th.is_finite() { json!(self.red.max_th) } else { Json::Null };
        let candidates = match &self.choke.candidates {
            Candidates::Fixed(count) => json!({ "fixed": count }),
            Candidates::Regions(schedule) => json!({ "by_region": schedule.as_slice() }),
        };
        json!({
            "discipline": self.discipline,
            "limit": self.limit,
            "red": {
                "min_th": self.red.min_th, "max_th": max_th, "max_p": self.red.max_p, "w_q": self.red.w_q,
                "mean_packet_size": self.red.mean_packet_size, "gentle": self.red.gentle, "wait": self.red.wait,
                "independent": self.red.independent, "ns2_compat": self.red.ns2_compat,
                "byte_mode": self.red.byte_mode,
            },
            "choke": {
                "candidates": candidates,
                "draw": match self.choke.draw { DrawFrom::Uniform => "uniform", DrawFrom::Head => "head" },
                "replacement": self.choke.replacement,
            },
        })
    }
}

/// Time that `bytes` take at `rate_bps`, at least a nanosecond.
fn packet_time(bytes: u32, rate_bps: u64) -> Time {
    Time::from_ns(units::time(f64::from(bytes) * 8.0 / rate_bps as f64).ns().max(1))
}

fn red(section: &Section, limit: u32, report: &mut Report) -> RedParams {
    let defaults = RedParams::default();
    let number = |name, default| section.number(name).unwrap_or(default);
    let switch = |name| section.switch(name).unwrap_or(false);
    let red = RedParams {
        limit,
        min_th: number("min_th", defaults.min_th),
        max_th: number("max_th", defaults.max_th),
        max_p: number("max_p", defaults.max_p),
        w_q: number("w_q", defaults.w_q),
        mean_packet_time: defaults.mean_packet_time,
        mean_packet_size: number("mean_packet_size", f64::from(defaults.mean_packet_size)) as u32,
        gentle: switch("gentle"),
        wait: switch("wait"),
        independent: switch("independent"),
        ns2_compat: switch("ns2_compat"),
        byte_mode: switch("byte_mode"),
    };
    let asked_for = section.is_set("min_th") || section.is_set("max_th");
    if red.min_th >= red.max_th {
        let valid = format!("packets above min_th ({})", red.min_th);
        report.add(section.origin("max_th"), &section.path("max_th"), &red.max_th.to_string(), &valid);
    } else if red.max_th > f64::from(limit) && asked_for {
        let valid = format!("packets up to the limit of the queue ({limit}), which the average cannot pass");
        report.add(section.origin("max_th"), &section.path("max_th"), &red.max_th.to_string(), &valid);
    }
    if red.wait && red.independent {
        report.add(
            section.origin("independent"),
            &section.path("independent"),
            "true",
            "false when wait is true",
        );
    }
    red
}

fn choke(section: &Section, red: &RedParams) -> ChokeParams {
    let regions = section.integer("regions") as u8;
    let candidates = match (section.text("schedule"), section.counts("schedule")) {
        (_, Some(counts)) => Schedule::custom(counts).map_or(Candidates::Fixed(1), Candidates::Regions),
        (Some("two"), _) => Candidates::Regions(Schedule::two()),
        (Some("odd"), _) => Candidates::Regions(Schedule::odd(regions)),
        (Some("even"), _) => Candidates::Regions(Schedule::even(regions)),
        _ => Candidates::Fixed(section.integer("candidates") as u8),
    };
    let draw = if section.text("draw") == Some("head") { DrawFrom::Head } else { DrawFrom::Uniform };
    let replacement = section.switch("replacement").unwrap_or(false);
    ChokeParams { red: red.clone(), candidates, draw, replacement }
}
