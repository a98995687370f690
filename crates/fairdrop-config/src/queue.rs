//! `[queue]`: a discipline by name, with the parameters of all, so that one scenario compares many.

use crate::disciplines::{CatalogueOnly, Disciplines};
use crate::field::{FieldKind, FieldSpec, field};
use crate::problem::{Origin, Problem, Problems};
use crate::read::{Report, Section, Value};
use crate::spelling::{is_same_name, nearest};
use crate::tree::{self, Data, Node};
use fairdrop::{AnyParams, CATALOGUE, DisciplineInfo, LIMIT, ParamSpec, ParamValue, Warning};
use fairdrop_capture::count;
use serde_json::{Map, Value as Json, json};

/// `[queue]`.
pub const QUEUE: &[FieldSpec] =
    &[field("discipline", "", FieldKind::Text, Some("\"choke\""), "Queue discipline; see `fairdrop list`.")];

/// A discipline, and the parameters of every discipline that a comparison may put in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig<D = CatalogueOnly> {
    /// Name, as in `fairdrop list`.
    pub discipline: &'static str,
    /// Packets that may wait.
    pub limit: u32,
    /// Parameters of each discipline that has some, in the order of its specs.
    tables: Vec<Table>,
    /// The disciplines that are not of the catalogue.
    pub disciplines: D,
}

/// The parameters of one discipline.
#[derive(Clone, Debug, PartialEq)]
struct Table {
    owner: &'static str,
    values: Vec<(&'static str, Value)>,
}

/// The names of all disciplines, for messages.
fn known_disciplines(disciplines: &impl Disciplines) -> String {
    let names: Vec<_> = all(disciplines).map(|info| info.name).collect();
    format!("one of {}", names.join(", "))
}

/// Whether `discipline` is a file rather than a name.
fn is_file(discipline: &str) -> bool {
    discipline.contains(['/', '.'])
}

/// Parameters of one discipline as fields.
pub fn fields_of(info: &DisciplineInfo) -> Vec<FieldSpec> {
    info.params.iter().map(FieldSpec::from).collect()
}

/// Every discipline, of the catalogue and user-defined.
fn all(disciplines: &impl Disciplines) -> impl Iterator<Item = &'static DisciplineInfo> {
    CATALOGUE.iter().chain(disciplines.infos())
}

/// Disciplines that have a table of parameters.
fn with_tables(disciplines: &impl Disciplines) -> impl Iterator<Item = &'static DisciplineInfo> {
    all(disciplines).filter(|info| !info.params.is_empty())
}

/// The description of the discipline called `name`, in either case, with hyphens or underscores.
fn info(disciplines: &impl Disciplines, name: &str) -> Option<&'static DisciplineInfo> {
    all(disciplines)
        .find(|info| info.name == name)
        .or_else(|| all(disciplines).find(|info| is_same_name(info.name, name)))
}

/// The discipline that was probably meant by another name.
fn meant(disciplines: &impl Disciplines, name: &str) -> Option<&'static str> {
    nearest(name, all(disciplines).map(|info| info.name))
}

/// The name under which results and lists have a discipline.
///
/// # Errors
/// No discipline has that name.
fn discipline_name(disciplines: &impl Disciplines, name: &str) -> Result<&'static str, Problem> {
    info(disciplines, name).map(|info| info.name).ok_or_else(|| {
        let what = format!("there is no discipline {name:?}");
        Problem::new("", Origin::Command, "", &what, &known_disciplines(disciplines))
            .meant(meant(disciplines, name))
    })
}

impl<D: Disciplines> QueueConfig<D> {
    /// Reads `[queue]` and its sub-tables.
    pub fn read(node: Option<&Node>, path: &str, disciplines: &D, report: &mut Report) -> Self {
        let disciplines = &Self::with_named_file(node, path, disciplines, report);
        let names: Vec<_> = with_tables(disciplines).map(|info| info.name).collect();
        let fields: Vec<_> = QUEUE.iter().copied().chain([FieldSpec::from(&LIMIT)]).collect();
        let section = Section::read(node, path, &fields, &names, report);
        let discipline = section.text("discipline").unwrap_or("choke");
        // Problems of a named file have been reported already.
        let discipline = disciplines.of_file(discipline).unwrap_or(discipline);
        let info = info(disciplines, discipline);
        if info.is_none() && !is_file(discipline) {
            let field = section.path("discipline");
            let (value, valid) = (format!("{discipline:?}"), known_disciplines(disciplines));
            let meant = meant(disciplines, discipline).map(|name| format!("{name:?}"));
            report.add_meant(section.origin("discipline"), &field, &value, &valid, meant.as_deref());
        }
        let limit = section.number("limit").unwrap_or(300.0) as u32;
        let sections: Vec<_> = with_tables(disciplines)
            .map(|info| {
                let node = node.and_then(|node| node.get(info.name));
                (info, Section::read(node, &format!("{path}.{}", info.name), &fields_of(info), &[], report))
            })
            .collect();
        let tables = sections.iter().map(|(info, section)| {
            let own = info.params.iter().filter(|spec| spec.alias.is_none());
            let values = own.filter_map(|spec| Some((spec.name, value_of(spec, info, section)?)));
            Table { owner: info.name, values: values.collect() }
        });
        let discipline = info.map_or("choke", |info| info.name);
        let config = Self { discipline, limit, tables: tables.collect(), disciplines: disciplines.clone() };
        for (info, section) in &sections {
            config.check(info, section, report);
        }
        if let Some(info) = info {
            check_shared(info, &sections, report);
        }
        config
    }

    /// `disciplines`, with that of the file that the field `discipline` names.
    fn with_named_file(node: Option<&Node>, path: &str, disciplines: &D, report: &mut Report) -> D {
        let mut disciplines = disciplines.clone();
        let named = node.and_then(|node| node.get("discipline"));
        if let Some(Node { data: Data::Text(name), origin, .. }) = named
            && is_file(name)
            && let Err(why) = disciplines.load_as(name, &report.beside(name))
        {
            let what = format!("{path}.discipline: {name}: {why}");
            report.add(origin, "", &what, "a file beside the scenario with a discipline");
        }
        disciplines
    }

    /// Checks beyond ranges: consistency of a discipline's parameters with each other and with the limit.
    fn check(&self, info: &DisciplineInfo, section: &Section, report: &mut Report) {
        for (name, alias) in info.params.iter().filter_map(|spec| Some((spec.name, spec.alias?))) {
            if section.is_set(name) && section.is_set(alias.of) {
                let (value, other) = (section.number_or_zero(name).to_string(), section.path(alias.of));
                let valid =
                    format!("one of the two: {other} is set as well, which is the same in another naming");
                report.add(section.origin(name), &section.path(name), &value, &valid);
            }
        }
        let params = self.params_of(info.name, 1_000_000);
        if let Some(Err(error)) = params.map(|params| params.validate())
            && info.params.iter().any(|spec| spec.name == error.name)
        {
            let word = section.text(error.name).map(|word| format!("{word:?}"));
            let value = word.unwrap_or_else(|| error.value.to_string());
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

    /// Reads only the `[queue]` of a scenario text, for hosts that have no network. Returns the text as well, settings
    /// applied.
    ///
    /// # Errors
    /// All problems, each with its line, field, value and valid values.
    pub fn parse(text: &str, file: &str, settings: &[String]) -> Result<(Self, String), Problems> {
        Self::parse_with(text, file, settings, &D::default())
    }

    /// The same, with user-defined `disciplines` to name.
    ///
    /// # Errors
    /// As those of [`QueueConfig::parse`].
    pub fn parse_with(
        text: &str,
        file: &str,
        settings: &[String],
        disciplines: &D,
    ) -> Result<(Self, String), Problems> {
        let read = |settings: &[String]| Self::read_alone(text, file, settings, disciplines);
        let blamed = |problems| {
            crate::blame::blamed(problems, settings, |settings| read(settings).err().unwrap_or_default())
        };
        read(settings).map_err(|problems| Problems(blamed(problems)))
    }

    fn read_alone(
        text: &str,
        file: &str,
        settings: &[String],
        disciplines: &D,
    ) -> Result<(Self, String), Vec<Problem>> {
        let (root, source) = tree::read(text, file, settings)?;
        let mut report = Report::new(file);
        for setting in settings.iter().filter(|setting| !setting.trim_start().starts_with("queue.")) {
            let valid = "paths that begin with queue., since there is no network here";
            report.add(&Origin::Setting(setting.clone()), "", "this field has no effect", valid);
        }
        let queue = Self::read(root.get("queue"), "queue", disciplines, &mut report);
        if report.problems.is_empty() { Ok((queue, source)) } else { Err(report.problems) }
    }

    /// The names of all disciplines that may be put in place of the chosen one, for messages.
    pub fn known(&self) -> String {
        known_disciplines(&self.disciplines)
    }

    /// The discipline that was probably meant by a name that none has.
    pub fn meant(&self, name: &str) -> Option<&'static str> {
        meant(&self.disciplines, name)
    }

    /// The same with another discipline.
    ///
    /// # Errors
    /// No discipline has that name.
    pub fn with_discipline(&self, name: &str) -> Result<Self, Problems> {
        let name = self.disciplines.of_file(name).unwrap_or(name);
        let discipline =
            discipline_name(&self.disciplines, name).map_err(|problem| Problems(vec![problem]))?;
        Ok(Self { discipline, ..self.clone() })
    }

    /// The parameters of the chosen discipline on a link of `rate_bps`; `None` when it is not of the catalogue.
    pub fn params(&self, rate_bps: u64) -> Option<AnyParams> {
        self.params_of(self.discipline, rate_bps)
    }

    fn params_of(&self, discipline: &str, rate_bps: u64) -> Option<AnyParams> {
        let mut params = AnyParams::of(discipline)?;
        let read = self.tables_of(params.info());
        for table in self.tables.iter().filter(|table| read.contains(&table.owner)) {
            for (name, value) in &table.values {
                params.set(table.owner, name, as_param(value));
            }
        }
        params.set_link(self.limit, rate_bps);
        Some(params)
    }

    /// The tables that a discipline reads: its own, and those of the disciplines it builds on.
    fn tables_of(&self, info: &'static DisciplineInfo) -> Vec<&'static str> {
        let base = |one: &&DisciplineInfo| {
            one.also_uses.and_then(|name| all(&self.disciplines).find(|other| other.name == name))
        };
        std::iter::successors(Some(info), base).map(|info| info.name).collect()
    }

    /// The parameters of the discipline called `name`, with their values in SI units.
    pub fn values_of(&self, name: &str) -> impl Iterator<Item = (&'static str, Value)> {
        let tables = self.tables.iter().filter(move |table| table.owner == name);
        tables.flat_map(|table| table.values.iter().cloned())
    }

    /// Warning to readers of results about the chosen discipline, if any.
    pub fn warning(&self) -> Option<String> {
        let Warning { never, value, effect } = self.params(1_000_000)?.warning()?;
        let (name, limit) = (self.discipline, self.limit);
        Some(format!(
            "under {name} {never} ({}), because the limit is {}: {effect}",
            count(value, "packet"),
            count(limit, "packet")
        ))
    }

    /// The configuration for documents, SI units.
    pub fn to_json(&self) -> Json {
        self.json_with(|_| true)
    }

    /// The same without the tables that the chosen discipline does not read.
    pub fn read_to_json(&self) -> Json {
        let read =
            info(&self.disciplines, self.discipline).map_or_else(Vec::new, |info| self.tables_of(info));
        self.json_with(|owner| read.contains(&owner))
    }

    fn json_with(&self, is_wanted: impl Fn(&'static str) -> bool) -> Json {
        let mut object = Map::new();
        object.insert("discipline".into(), json!(self.discipline));
        object.insert("limit".into(), json!(self.limit));
        for table in self.tables.iter().filter(|table| is_wanted(table.owner)) {
            let values = table.values.iter().map(|(name, value)| ((*name).to_owned(), value.to_json()));
            object.insert(table.owner.into(), Json::Object(values.collect()));
        }
        Json::Object(object)
    }
}

/// Refuses what the chosen discipline, which uses the parameters of another, leaves to that one alone.
fn check_shared(info: &DisciplineInfo, sections: &[(&'static DisciplineInfo, Section)], report: &mut Report) {
    for (table, section) in sections.iter().filter(|(table, _)| info.also_uses == Some(table.name)) {
        for spec in table.params.iter().filter(|spec| table.alone.contains(&spec.name)) {
            let default = FieldSpec::from(spec).default_value();
            let Some(value) = section.value(spec.name).filter(|value| Some(*value) != default.as_ref())
            else {
                continue;
            };
            // A default is as a scenario writes it.
            let default = default.map_or_else(|| "nothing".into(), |default| default.to_json().to_string());
            let valid =
                format!("{default} with the discipline {}: only {} itself has it", info.name, table.name);
            let path = section.path(spec.name);
            report.add(section.origin(spec.name), &path, &value.to_json().to_string(), &valid);
        }
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
