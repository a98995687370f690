//! A file as a tree of values that remember where they were written.

use crate::bounds::{Beyond, MAX_DEPTH, check_toml, toml_field};
use crate::problem::{Origin, Problem};
use crate::spelling::nearest;
use std::ops::Range;
use toml_edit::{Document, DocumentMut, Item, Table, Value as TomlValue};

/// One value and where it came from.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its place in the input.
    pub origin: Origin,
    /// Its value.
    pub data: Data,
}

/// A value.
#[derive(Clone, Debug)]
pub enum Data {
    /// A string.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A float.
    Number(f64),
    /// A boolean.
    Switch(bool),
    /// An array.
    List(Vec<Node>),
    /// A table, its entries in order.
    Table(Vec<(String, Node)>),
    /// Dates and times, which no field takes.
    Other(String),
}

impl Node {
    /// The entry called `key`, when this is a table that has one.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.data {
            Data::Table(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, node)| node),
            _ => None,
        }
    }

    /// The value in the notation of a file, for messages.
    pub fn shown(&self) -> String {
        match &self.data {
            Data::Text(text) => format!("{text:?}"),
            Data::Integer(number) => number.to_string(),
            Data::Number(number) => number.to_string(),
            Data::Switch(on) => on.to_string(),
            Data::List(items) => {
                format!("[{}]", items.iter().map(Node::shown).collect::<Vec<_>>().join(", "))
            }
            Data::Table(_) => "a table".into(),
            Data::Other(text) => text.clone(),
        }
    }
}

/// Reads TOML text.
///
/// # Errors
/// The first problem: it violates a bound, or is not TOML.
pub fn parse(text: &str, file: &str) -> Result<Node, Vec<Problem>> {
    check_toml(text).map_err(|beyond| vec![bound_problem(&beyond, text, file)])?;
    let document = Document::parse(text).map_err(|error| vec![syntax_problem(&error, text, file)])?;
    let lines = Lines::of(text);
    Ok(Node { origin: Origin::Line(1), data: table_data(document.as_table(), &lines) })
}

/// Reads TOML text and applies `path=value` settings to it. Returns the tree, and the text with the settings in it.
///
/// # Errors
/// All problems of text and settings.
pub fn read(text: &str, file: &str, settings: &[String]) -> Result<(Node, String), Vec<Problem>> {
    let mut root = parse(text, file)?;
    let mut source: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| vec![syntax_problem(&error, text, file)])?;
    let mut problems = Vec::new();
    for setting in settings {
        if let Err(problem) = apply(&mut root, source.as_item_mut(), setting) {
            problems.push(problem);
        }
    }
    if problems.is_empty() { Ok((root, source.to_string())) } else { Err(problems) }
}

fn syntax_problem(error: &toml_edit::TomlError, text: &str, file: &str) -> Problem {
    let span = error.span().unwrap_or(0..0);
    let origin = Origin::Line(Lines::of(text).line(&span));
    let why = error.message().trim();
    let what = match toml_field(text, span.start) {
        field if field.is_empty() => why.to_owned(),
        field => format!("{field}: {why}"),
    };
    Problem::new(file, origin, "", &what, "TOML text")
}

fn bound_problem(beyond: &Beyond, text: &str, file: &str) -> Problem {
    let origin = Origin::Line(Lines::of(text).line(&(beyond.at..beyond.at)));
    Problem::new(file, origin, "", &format!("{} {}", beyond.field, beyond.what), &beyond.valid)
}

/// Offsets at which lines start.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    fn line(&self, span: &Range<usize>) -> u32 {
        self.0.partition_point(|&start| start <= span.start) as u32
    }

    fn origin(&self, span: Option<Range<usize>>) -> Origin {
        Origin::Line(span.map_or(1, |span| self.line(&span)))
    }
}

fn table_data(table: &Table, lines: &Lines) -> Data {
    let entries = table.iter().map(|(key, item)| {
        let span = table.key(key).and_then(toml_edit::Key::span);
        (key.to_owned(), item_node(item, lines, lines.origin(span.or_else(|| item.span()))))
    });
    Data::Table(entries.collect())
}

fn item_node(item: &Item, lines: &Lines, origin: Origin) -> Node {
    let data = match item {
        Item::None => Data::Table(Vec::new()),
        Item::Value(value) => value_data(value, &origin),
        Item::Table(table) => table_data(table, lines),
        Item::ArrayOfTables(tables) => Data::List(
            tables
                .iter()
                .map(|table| Node { origin: lines.origin(table.span()), data: table_data(table, lines) })
                .collect(),
        ),
    };
    Node { origin, data }
}

fn value_data(value: &TomlValue, origin: &Origin) -> Data {
    match value {
        TomlValue::String(text) => Data::Text(text.value().clone()),
        TomlValue::Integer(number) => Data::Integer(*number.value()),
        TomlValue::Float(number) => Data::Number(*number.value()),
        TomlValue::Boolean(on) => Data::Switch(*on.value()),
        TomlValue::Datetime(when) => Data::Other(when.value().to_string()),
        TomlValue::Array(items) => Data::List(
            items
                .iter()
                .map(|item| Node { origin: origin.clone(), data: value_data(item, origin) })
                .collect(),
        ),
        TomlValue::InlineTable(table) => Data::Table(
            table
                .iter()
                .map(|(key, item)| {
                    (key.to_owned(), Node { origin: origin.clone(), data: value_data(item, origin) })
                })
                .collect(),
        ),
    }
}

/// Applies one `path=value` setting to the tree and to the text.
fn apply(root: &mut Node, source: &mut Item, setting: &str) -> Result<(), Problem> {
    let origin = Origin::Setting(setting.to_owned());
    let refuse = |valid: &str| Problem::new("", origin.clone(), "", setting, valid);
    let (path, text) = setting
        .split_once('=')
        .ok_or_else(|| refuse("path=value, for example queue.red.max_p=0.02 or groups.udp.rate=3mbit"))?;
    let steps: Vec<&str> = path.trim().split('.').collect();
    if steps.len() > MAX_DEPTH {
        return Err(refuse(&format!("a path of at most {MAX_DEPTH} names")));
    }
    if steps.iter().any(|step| step.is_empty()) {
        return Err(refuse("a path of names separated by dots, then =value"));
    }
    // A value that is not TOML by itself is text: rate=3mbit needs no quotes in a shell.
    let value: TomlValue =
        text.trim().parse().unwrap_or_else(|_| TomlValue::from(text.trim().trim_matches('"')));
    let node = Node { origin: origin.clone(), data: value_data(&value, &origin) };
    set_node(root, &steps, node).map_err(|no| refuse(&no.valid).meant(no.meant.as_deref()))?;
    set_item(source, &steps, value);
    Ok(())
}

/// The problem of a path without a target: the valid names, and the one that was probably meant.
struct NoPlace {
    valid: String,
    meant: Option<String>,
}

/// Position of `step` in a list: a number, or the `name` of one of its tables.
fn position<'a>(step: &str, names: impl Iterator<Item = Option<&'a str>>) -> Result<usize, NoPlace> {
    let names: Vec<_> = names.collect();
    let found = names.iter().position(|name| *name == Some(step));
    found.or_else(|| step.parse().ok().filter(|&index: &usize| index < names.len())).ok_or_else(|| {
        let known: Vec<_> = names.iter().flatten().copied().collect();
        let meant = nearest(step, known.iter().copied()).map(str::to_owned);
        let valid =
            format!("in place of {step:?} one of {}, or a number below {}", known.join(", "), names.len());
        NoPlace { valid, meant }
    })
}

fn set_node(node: &mut Node, steps: &[&str], value: Node) -> Result<(), NoPlace> {
    let Some((step, rest)) = steps.split_first() else {
        *node = value;
        return Ok(());
    };
    match &mut node.data {
        Data::Table(entries) => {
            let at = entries.iter().position(|(name, _)| name == step).unwrap_or_else(|| {
                let origin = value.origin.clone();
                entries.push(((*step).to_owned(), Node { origin, data: Data::Table(Vec::new()) }));
                entries.len() - 1
            });
            set_node(&mut entries[at].1, rest, value)
        }
        Data::List(items) => {
            let names = items.iter().map(|item| match item.get("name").map(|name| &name.data) {
                Some(Data::Text(name)) => Some(name.as_str()),
                _ => None,
            });
            let at = position(step, names)?;
            set_node(&mut items[at], rest, value)
        }
        _ => {
            let valid = format!("a path that ends before {step}: the field before it is a single value");
            Err(NoPlace { valid, meant: None })
        }
    }
}

/// The same in the text; the path is known to exist or to be new, so nothing can fail here.
fn set_item(item: &mut Item, steps: &[&str], value: TomlValue) {
    let Some((step, rest)) = steps.split_first() else {
        *item = Item::Value(value);
        return;
    };
    match item {
        Item::ArrayOfTables(tables) => {
            let names = tables.iter().map(|table| table.get("name").and_then(Item::as_str));
            if let Some(table) = position(step, names).ok().and_then(|at| tables.get_mut(at)) {
                set_in_table(table, rest, value);
            }
        }
        Item::Value(TomlValue::InlineTable(table)) => {
            let entry = table.entry(*step).or_insert_with(|| TomlValue::from(false));
            let mut inner = Item::Value(entry.clone());
            set_item(&mut inner, rest, value);
            if let Item::Value(inner) = inner {
                *entry = inner;
            }
        }
        _ => {
            if let Some(table) = item.as_table_mut() {
                set_in_table(table, steps, value);
            }
        }
    }
}

fn set_in_table(table: &mut Table, steps: &[&str], value: TomlValue) {
    if let Some((step, rest)) = steps.split_first() {
        let missing = if rest.is_empty() { Item::None } else { Item::Table(Table::new()) };
        set_item(table.entry(step).or_insert(missing), rest, value);
    }
}
