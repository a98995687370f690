//! Reads tables by their field tables, and collects all problems.

use crate::field::{FieldKind, FieldSpec};
use crate::plain::{MAX_NAME, is_plain};
use crate::problem::{Origin, Problem};
use crate::spelling::nearest;
use crate::tree::{Data, Node};
use crate::units::{self, Quantity};
use fairdrop::{Kind, Schedule, Time, read_key};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A value, read and within its range.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text, or a word of a choice.
    Text(String),
    /// A number or quantity, in SI units.
    Number(f64),
    /// A whole number.
    Integer(i64),
    /// On or off.
    Switch(bool),
    /// A list of names.
    Names(Vec<String>),
    /// A list of small whole numbers.
    Counts(Vec<u8>),
    /// A list of numbers or quantities, in SI units.
    Numbers(Vec<f64>),
    /// Times in seconds and rates in bit/s.
    RateSteps(Vec<(f64, f64)>),
    /// A table that other code reads.
    Table,
}

impl Value {
    /// For documents.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Text(text) => json!(text),
            Self::Number(number) if number.is_finite() => json!(number),
            Self::Number(_) | Self::Table => Json::Null,
            Self::Integer(number) => json!(number),
            Self::Switch(on) => json!(on),
            Self::Names(names) => json!(names),
            Self::Counts(counts) => json!(counts),
            Self::Numbers(numbers) => json!(numbers),
            Self::RateSteps(steps) => json!(steps),
        }
    }
}

/// Problems found so far.
#[derive(Debug)]
pub struct Report {
    /// Name of the file in messages.
    pub file: String,
    /// Problems so far.
    pub problems: Vec<Problem>,
}

impl Report {
    /// No problem yet.
    pub fn new(file: &str) -> Self {
        Self { file: file.into(), problems: Vec::new() }
    }

    /// The path of a file that this one names: relative paths begin in its folder.
    pub fn beside(&self, name: &str) -> PathBuf {
        Path::new(&self.file).parent().unwrap_or(Path::new("")).join(name)
    }

    /// Reports a problem of a field.
    pub fn add(&mut self, origin: &Origin, field: &str, value: &str, valid: &str) {
        self.add_meant(origin, field, value, valid, None);
    }

    /// The same; `meant` is the value that was probably meant.
    pub fn add_meant(&mut self, origin: &Origin, field: &str, value: &str, valid: &str, meant: Option<&str>) {
        self.problems.push(Problem::new(&self.file, origin.clone(), field, value, valid).meant(meant));
    }
}

/// One table: the fields that were written, and the defaults of the others.
#[derive(Debug)]
pub struct Section {
    path: String,
    origin: Origin,
    values: BTreeMap<&'static str, (Value, Origin)>,
    defaults: BTreeMap<&'static str, Value>,
    /// Fields that were written wrongly, and reported.
    wrong: Vec<&'static str>,
}

impl Section {
    /// Reads `node` (or an empty table when it is absent). `tables` names the sub-tables that others read.
    pub fn read(
        node: Option<&Node>,
        path: &str,
        specs: &[FieldSpec],
        tables: &[&str],
        report: &mut Report,
    ) -> Self {
        let origin = node.map_or(Origin::Line(1), |node| node.origin.clone());
        let mut section = Self {
            path: path.into(),
            origin: origin.clone(),
            values: BTreeMap::new(),
            defaults: BTreeMap::new(),
            wrong: Vec::new(),
        };
        match node.map(|node| &node.data) {
            None => {}
            Some(Data::Table(entries)) => {
                for (key, node) in entries {
                    section.read_entry(key, node, specs, tables, report);
                }
            }
            Some(_) => report.add(&origin, path, &node.map(Node::shown).unwrap_or_default(), "a table"),
        }
        for spec in specs {
            section.fill_default(spec, report);
        }
        section
    }

    fn read_entry(
        &mut self,
        key: &str,
        node: &Node,
        specs: &[FieldSpec],
        tables: &[&str],
        report: &mut Report,
    ) {
        let path = join(&self.path, key);
        if let Some(spec) = specs.iter().find(|spec| spec.name == key) {
            match parse(spec.kind, &node.data) {
                Some(value) => {
                    self.values.insert(spec.name, (value, node.origin.clone()));
                }
                None => {
                    self.wrong.push(spec.name);
                    let meant = meant(spec.kind, &node.data);
                    let valid = valid_beside(spec.kind, &node.data);
                    report.add_meant(&node.origin, &path, &node.shown(), &valid, meant.as_deref());
                }
            }
        } else if !tables.contains(&key) {
            let known: Vec<_> = specs.iter().map(|spec| spec.name).chain(tables.iter().copied()).collect();
            let fields = if known.is_empty() {
                "no fields".into()
            } else {
                format!("the fields {}", known.join(", "))
            };
            let (what, meant) = (format!("there is no field {path}"), nearest(key, known.iter().copied()));
            report.add_meant(&node.origin, "", &what, &fields, meant);
        }
    }

    fn fill_default(&mut self, spec: &FieldSpec, report: &mut Report) {
        if self.values.contains_key(spec.name) {
            return;
        }
        match spec.default {
            None => self.require(spec.name, std::slice::from_ref(spec), report),
            Some(_) => {
                self.defaults.extend(spec.default_value().map(|value| (spec.name, value)));
            }
        }
    }

    /// The field is needed here, though not everywhere.
    pub fn require(&self, name: &str, specs: &[FieldSpec], report: &mut Report) {
        let spec = specs.iter().find(|spec| spec.name == name);
        if let Some(spec) = spec.filter(|_| !self.is_set(name) && !self.wrong.contains(&name)) {
            report.add(&self.origin, "", &format!("{} is missing", self.path(name)), &valid(spec.kind));
        }
    }

    /// The value of the field, or its default.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name).map(|(value, _)| value).or_else(|| self.defaults.get(name))
    }

    /// Whether the field was written, rather than left to its default.
    pub fn is_set(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Where the field was written; the table itself when it was not.
    pub fn origin(&self, name: &str) -> &Origin {
        self.values.get(name).map_or(&self.origin, |(_, origin)| origin)
    }

    /// Dotted path of a field.
    pub fn path(&self, name: &str) -> String {
        join(&self.path, name)
    }

    /// The same of a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.value(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The same of a number or quantity.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.value(name) {
            Some(Value::Number(number)) => Some(*number),
            Some(Value::Integer(number)) => Some(*number as f64),
            _ => None,
        }
    }

    /// A number whose field has a default; 0 after it was reported as wrong.
    pub fn number_or_zero(&self, name: &str) -> f64 {
        self.number(name).unwrap_or(0.0)
    }

    /// A whole number whose field has a default; 0 after it was reported as wrong.
    pub fn integer(&self, name: &str) -> i64 {
        match self.value(name) {
            Some(Value::Integer(number)) => *number,
            Some(Value::Number(number)) => *number as i64,
            _ => 0,
        }
    }

    /// The value of the switch, or its default.
    pub fn switch(&self, name: &str) -> Option<bool> {
        match self.value(name) {
            Some(Value::Switch(on)) => Some(*on),
            _ => None,
        }
    }

    /// The value of the time, or its default.
    pub fn time(&self, name: &str) -> Option<Time> {
        self.number(name).map(units::time)
    }

    /// The list of numbers, or its default.
    pub fn numbers(&self, name: &str) -> Option<&[f64]> {
        match self.value(name) {
            Some(Value::Numbers(numbers)) => Some(numbers),
            _ => None,
        }
    }

    /// Times and rates in bit/s; none when the field was not written.
    pub fn rate_steps(&self, name: &str) -> Vec<(Time, u64)> {
        match self.value(name) {
            Some(Value::RateSteps(steps)) => {
                steps.iter().map(|&(at, rate)| (units::time(at), rate as u64)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The list of names, or its default.
    pub fn names(&self, name: &str) -> Option<&[String]> {
        match self.value(name) {
            Some(Value::Names(names)) => Some(names),
            _ => None,
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path}.{name}") }
}

/// The valid values of a field, in words.
pub fn valid(kind: FieldKind) -> String {
    match kind {
        FieldKind::Param(kind) => match kind {
            Kind::Packets(..) => format!("{kind}, for example \"300p\""),
            Kind::Bytes(..) => format!("{kind}, for example \"1000B\""),
            Kind::Seconds(..) => format!("{kind}, for example \"20ms\""),
            Kind::Rate(..) => format!("{kind}, for example \"1mbit\""),
            _ => kind.to_string(),
        },
        FieldKind::Text => "a text without control characters".into(),
        FieldKind::Name => format!("a text of 1 to {MAX_NAME} characters, none of them control characters"),
        FieldKind::Rate(low, high) => format!("a rate from {low} to {high:e} bit/s, for example \"1mbit\""),
        FieldKind::Seconds(low, high) => format!("a time from {low} to {high} s, for example \"20ms\""),
        FieldKind::Names => "a list of names".into(),
        FieldKind::SwitchOrTable => "true, false, or a table".into(),
        FieldKind::List(of) => format!("a list, each entry {}", valid(*of)),
        FieldKind::RateSteps => {
            "pairs of a time and a rate, times rising, for example [[\"10s\", \"2mbit\"]]".into()
        }
    }
}

/// The same for a value that is not valid: for a misspelt quantity, the correct spelling is suggested.
fn valid_beside(kind: FieldKind, data: &Data) -> String {
    let quantity = match kind {
        FieldKind::Rate(..) | FieldKind::Param(Kind::Rate(..)) => Some(Quantity::Rate),
        FieldKind::Seconds(..) | FieldKind::Param(Kind::Seconds(..)) => Some(Quantity::Time),
        FieldKind::Param(Kind::Packets(..)) => Some(Quantity::Packets),
        FieldKind::Param(Kind::Bytes(..)) => Some(Quantity::Bytes),
        _ => None,
    };
    match (quantity, data) {
        (Some(quantity), Data::Text(text)) => units::beside(text, quantity, &valid(kind)),
        _ => valid(kind),
    }
}

/// The word of a choice that was probably meant.
fn meant(kind: FieldKind, data: &Data) -> Option<String> {
    match (kind, data) {
        (FieldKind::Param(Kind::Choice(words) | Kind::Schedule(words, ..)), Data::Text(text)) => {
            nearest(text, words.iter().copied()).map(|word| format!("{word:?}"))
        }
        _ => None,
    }
}

/// The value of `data` as `kind`; `None` when it is of another type or out of range.
fn parse(kind: FieldKind, data: &Data) -> Option<Value> {
    let quantity = |unit: fn(&str) -> Option<f64>, low: f64, high: f64| {
        let number = match data {
            Data::Integer(number) => *number as f64,
            Data::Number(number) => *number,
            Data::Text(text) => unit(text)?,
            _ => return None,
        };
        (low..=high).contains(&number).then_some(Value::Number(number))
    };
    match kind {
        FieldKind::Text => match data {
            Data::Text(text) if is_plain(text) => Some(Value::Text(text.clone())),
            _ => None,
        },
        FieldKind::Name => match data {
            Data::Text(text) if is_plain(text) && (1..=MAX_NAME).contains(&text.chars().count()) => {
                Some(Value::Text(text.clone()))
            }
            _ => None,
        },
        FieldKind::Rate(low, high) | FieldKind::Param(Kind::Rate(low, high)) => {
            quantity(units::rate_bps, low, high)
        }
        FieldKind::Seconds(low, high) | FieldKind::Param(Kind::Seconds(low, high)) => {
            quantity(units::seconds, low, high)
        }
        FieldKind::Param(Kind::Packets(low, high)) => quantity(units::packets, low, high),
        FieldKind::Param(Kind::Bytes(low, high)) => quantity(units::bytes, low as f64, high as f64),
        FieldKind::Names => names(data),
        FieldKind::SwitchOrTable => match data {
            Data::Switch(on) => Some(Value::Switch(*on)),
            Data::Table(_) => Some(Value::Table),
            _ => None,
        },
        FieldKind::List(of) => numbers_of(*of, data).map(Value::Numbers),
        FieldKind::RateSteps => rate_steps(data),
        FieldKind::Param(kind) => parse_plain(kind, data),
    }
}

/// One or more quantities of one kind.
fn numbers_of(kind: FieldKind, data: &Data) -> Option<Vec<f64>> {
    let Data::List(items) = data else { return None };
    let numbers = items.iter().map(|item| match parse(kind, &item.data) {
        Some(Value::Number(number)) => Some(number),
        _ => None,
    });
    numbers.collect::<Option<Vec<_>>>().filter(|numbers| !numbers.is_empty())
}

fn rate_steps(data: &Data) -> Option<Value> {
    let Data::List(items) = data else { return None };
    let (time, rate) = (FieldKind::Seconds(0.0, 1e7), FieldKind::Rate(1.0, 1e13));
    let steps = items.iter().map(|item| match &item.data {
        Data::List(pair) => match pair.as_slice() {
            [at, then] => match (parse(time, &at.data)?, parse(rate, &then.data)?) {
                (Value::Number(at), Value::Number(then)) => Some((at, then)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let steps = steps.collect::<Option<Vec<_>>>()?;
    let rising = steps.windows(2).all(|pair| pair[0].0 < pair[1].0);
    (rising && !steps.is_empty()).then_some(Value::RateSteps(steps))
}

fn names(data: &Data) -> Option<Value> {
    let Data::List(items) = data else { return None };
    let texts = items.iter().map(|item| match &item.data {
        Data::Text(text) => Some(text.clone()),
        _ => None,
    });
    texts.collect::<Option<Vec<_>>>().map(Value::Names)
}

impl FieldSpec {
    /// The default, read like a file; `None` where there is none, or it is not valid.
    pub fn default_value(&self) -> Option<Value> {
        let text = self.default.filter(|text| !text.is_empty())?.trim_matches('"');
        let data = match (self.kind, text) {
            (_, "true" | "false") => Data::Switch(text == "true"),
            (FieldKind::Param(Kind::Integer(..) | Kind::Key), _) => {
                text.parse().map_or_else(|_| Data::Text(text.into()), Data::Integer)
            }
            (FieldKind::Param(Kind::Number(..) | Kind::NumberAbove(..)), _) => {
                text.parse().map_or_else(|_| Data::Text(text.into()), Data::Number)
            }
            (FieldKind::Param(Kind::Numbers(..)), _) => numbers_of_default(text),
            _ => Data::Text(text.into()),
        };
        parse(self.kind, &data)
    }
}

/// The default of a list of numbers, as a scenario would have it.
fn numbers_of_default(text: &str) -> Data {
    let items = text.trim_matches(['[', ']']).split(',').filter_map(|item| item.trim().parse().ok());
    Data::List(items.map(|item| Node { origin: Origin::Line(1), data: Data::Number(item) }).collect())
}

/// A key: a number where numbers are exact, digits beyond.
fn key(key: u64) -> Value {
    match i64::try_from(key) {
        Ok(number) if number <= 1 << 53 => Value::Integer(number),
        _ => Value::Text(format!("{key:#x}")),
    }
}

/// Kinds that carry no unit.
fn parse_plain(kind: Kind, data: &Data) -> Option<Value> {
    let number = match data {
        Data::Integer(number) => Some(*number as f64),
        Data::Number(number) => Some(*number),
        _ => None,
    };
    match (kind, data) {
        (Kind::Switch, Data::Switch(on)) => Some(Value::Switch(*on)),
        (Kind::Key, Data::Integer(number)) => u64::try_from(*number).ok().map(key),
        (Kind::Key, Data::Text(digits)) => read_key(digits).map(key),
        (Kind::Integer(low, high), Data::Integer(number)) if (low..=high).contains(number) => {
            Some(Value::Integer(*number))
        }
        (Kind::Number(low, high), _) => number.filter(|n| (low..=high).contains(n)).map(Value::Number),
        (Kind::NumberAbove(low, high), _) => number.filter(|&n| n > low && n <= high).map(Value::Number),
        (Kind::Choice(words) | Kind::Schedule(words, ..), Data::Text(text)) => {
            words.contains(&text.as_str()).then(|| Value::Text(text.clone()))
        }
        (Kind::Numbers(most, low, high), Data::List(items)) => {
            let numbers = items.iter().map(|item| match item.data {
                Data::Integer(number) => Some(number as f64),
                Data::Number(number) => Some(number),
                _ => None,
            });
            let numbers = numbers.collect::<Option<Vec<_>>>()?;
            let fits =
                (1..=most).contains(&numbers.len()) && numbers.iter().all(|n| (low..=high).contains(n));
            fits.then_some(Value::Numbers(numbers))
        }
        (Kind::Schedule(_, low, high), Data::List(items)) => {
            let counts = items.iter().map(|item| match item.data {
                Data::Integer(number) if (low..=high).contains(&number) => u8::try_from(number).ok(),
                _ => None,
            });
            let counts = counts.collect::<Option<Vec<_>>>()?;
            Schedule::custom(&counts).is_ok().then_some(Value::Counts(counts))
        }
        _ => None,
    }
}
