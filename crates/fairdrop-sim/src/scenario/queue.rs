//! `[queue]`: a discipline by name, with the parameters of all, so that one scenario compares many.

use super::fields::QUEUE;
use crate::control::Control;
use crate::input::{self, FieldSpec, Node, Origin, Problem, Problems, Report, Section, Value};
use fairdrop::{AnyParams, CATALOGUE, DisciplineInfo, LIMIT, ParamSpec, ParamValue, Warning};
use fairdrop_capture::count;
use serde_json::{Map, Value as Json, json};

/// A discipline, and the parameters of every discipline that a comparison may put in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig {
    /// Name, as in `fairdrop list`.
    pub discipline: &'static str,
    /// Packets that may wait.
    pub limit: u32,
    /// Parameters of each discipline that has some, in the order of its specs.
    tables: Vec<Table>,
}

/// The parameters of one discipline.
#[derive(Clone, Debug, PartialEq)]
struct Table {
    owner: &'static str,
    values: Vec<(&'static str, Value)>,
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

/// Disciplines that have a table of parameters.
fn with_tables() -> impl Iterator<Item = &'static DisciplineInfo> {
    CATALOGUE.iter().filter(|info| !info.params.is_empty())
}

impl QueueConfig {
    /// Reads `[queue]` and its sub-tables.
    pub fn read(node: Option<&Node>, path: &str, report: &mut Report<'_>) -> Self {
        let names: Vec<_> = with_tables().map(|info| info.name).collect();
        let fields: Vec<_> = QUEUE.iter().copied().chain([FieldSpec::from(&LIMIT)]).collect();
        let section = Section::read(node, path, &fields, &names, report);
        let discipline = section.text("discipline").unwrap_or("choke");
        let info = fairdrop::info(discipline);
        if info.is_none() {
            let field = section.path("discipline");
            report.add(
                section.origin("discipline"),
                &field,
                &format!("{discipline:?}"),
                &known_disciplines(),
            );
        }
        let limit = section.number("limit").unwrap_or(300.0) as u32;
        let sections: Vec<_> = with_tables()
            .map(|info| {
                let node = node.and_then(|node| node.get(info.name));
                (
                    info,
                    Section::read(node, &format!("{path}.{}", info.name), &fields_of(info.name), &[], report),
                )
            })
            .collect();
        let tables = sections.iter().map(|(info, section)| {
            let own = info.params.iter().filter(|spec| spec.alias.is_none());
            let values = own.filter_map(|spec| Some((spec.name, value_of(spec, info, section)?)));
            Table { owner: info.name, values: values.collect() }
        });
        let config =
            Self { discipline: info.map_or("choke", |info| info.name), limit, tables: tables.collect() };
        for (info, section) in &sections {
            config.check(info, section, report);
        }
        config
    }

    /// What ranges alone do not say: how the parameters of a discipline fit together, and with the limit.
    fn check(&self, info: &DisciplineInfo, section: &Section, report: &mut Report<'_>) {
        for (name, alias) in info.params.iter().filter_map(|spec| Some((spec.name, spec.alias?))) {
            if section.is_set(name) && section.is_set(alias.of) {
                let (value, other) = (section.number_or_zero(name).to_string(), section.path(alias.of));
                let valid =
                    format!("one of the two: {other} is set as well, which is the same in another naming");
                report.add(section.origin(name), &section.path(name), &value, &valid);
            }
        }
        let params = Self { discipline: info.name, ..self.clone() }.params(1_000_000);
        if let Err(error) = params.validate()
            && info.params.iter().any(|spec| spec.name == error.name)
        {
            let value = error.value.to_string();
            let valid = error.valid.to_string();
            report.add(section.origin(error.name), &section.path(error.name), &value, &valid);
            return;
        }
        for name in info.params.iter().filter(|spec| spec.kind.is_threshold()).map(|spec| spec.name) {
            // An infinite threshold is how it is switched off.
            let threshold = section.number(name).filter(|_| section.is_set(name)).unwrap_or(0.0);
            if threshold > f64::from(self.limit) && threshold.is_finite() {
                let valid = format!(
                    "packets up to the limit of the queue ({}), which neither it nor its average can pass",
                    self.limit
                );
                report.add(section.origin(name), &section.path(name), &threshold.to_string(), &valid);
            }
        }
    }

    /// Reads the `[queue]` of a scenario text and nothing else of it, for hosts that have no network. Returns the
    /// text as well, settings applied.
    ///
    /// # Errors
    /// Everything that is wrong, each with its line, field, value and what would be valid.
    pub fn parse(text: &str, file: &str, settings: &[String]) -> Result<(Self, String), Problems> {
        let (root, source) = input::read(text, file, settings).map_err(Problems)?;
        let control = Control::default();
        let mut report = Report::new(file, &control);
        for setting in settings.iter().filter(|setting| !setting.trim_start().starts_with("queue.")) {
            let valid = "paths that begin with queue., since there is no network here";
            report.add(&Origin::Setting(setting.clone()), "", "this field has no effect", valid);
        }
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
    ///
    /// # Panics
    /// Never: the discipline's name comes from the catalogue.
    pub fn params(&self, rate_bps: u64) -> AnyParams {
        let mut params = AnyParams::of(self.discipline).expect("names come from the catalogue");
        for table in &self.tables {
            for (name, value) in &table.values {
                // Tables of other disciplines are not for this one.
                params.set(table.owner, name, as_param(value));
            }
        }
        params.set_link(self.limit, rate_bps);
        params
    }

    /// What a reader should know of the chosen discipline before believing results.
    pub fn warning(&self) -> Option<String> {
        let Warning { never, value, effect } = self.params(1_000_000).warning()?;
        let (name, limit) = (self.discipline, self.limit);
        Some(format!(
            "under {name} {never} ({}), because the limit is {}: {effect}",
            count(value, "packet"),
            count(limit, "packet")
        ))
    }

    /// The configuration for documents, SI units.
    pub fn to_json(&self) -> Json {
        let mut object = Map::new();
        object.insert("discipline".into(), json!(self.discipline));
        object.insert("limit".into(), json!(self.limit));
        for table in &self.tables {
            let values = table.values.iter().map(|(name, value)| ((*name).to_owned(), value.to_json()));
            object.insert(table.owner.into(), Json::Object(values.collect()));
        }
        Json::Object(object)
    }
}

/// The value of a parameter, under whichever of its names it was written.
fn value_of(spec: &ParamSpec, info: &DisciplineInfo, section: &Section) -> Option<Value> {
    let aliases = info.params.iter().filter_map(|other| Some((other.name, other.alias?)));
    let mut written = aliases.filter(|(name, alias)| alias.of == spec.name && section.is_set(name));
    match written.next() {
        // Only whole numbers have another name.
        Some((name, alias)) => Some(Value::Integer(alias.value_of(section.number_or_zero(name)) as i64)),
        None => section.value(spec.name).cloned(),
    }
}

fn as_param(value: &Value) -> ParamValue<'_> {
    match value {
        Value::Number(number) => ParamValue::Number(*number),
        Value::Integer(number) => ParamValue::Number(*number as f64),
        Value::Switch(on) => ParamValue::Switch(*on),
        Value::Text(word) => ParamValue::Word(word),
        Value::Counts(counts) => ParamValue::Counts(counts),
        Value::Numbers(numbers) => ParamValue::Numbers(numbers),
        Value::Names(_) | Value::RateSteps(_) | Value::Table => {
            unreachable!("no discipline has such a parameter")
        }
    }
}
