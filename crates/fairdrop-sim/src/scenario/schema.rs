//! What the field tables say, as documents: the JSON Schema of a scenario, the lists of disciplines and transports,
//! and a scenario itself after defaults.

use super::fields::{CHAIN, DUMBBELL, GROUP, LINK, MARK_EXCESS, SCENARIO};
use super::{Extensions, Group, Link, LinkQueue, Scenario, Ties};
use crate::meter::End;
use crate::transport;
use fairdrop::{CATALOGUE, DisciplineInfo, Kind, LIMIT, Time};
use fairdrop_config::{
    Disciplines, FieldKind, FieldSpec, IMPAIRMENTS, MAX_NAME, QUEUE, fields_of, impairments_json, valid,
};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// Texts that `input::is_plain` takes, as a regular expression of ECMA-262.
const PLAIN: &str = r"^[^\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]*$";

/// JSON Schema (draft 2020-12) of a scenario file.
pub fn json_schema() -> Json {
    let mut group_fields: Vec<FieldSpec> = GROUP.to_vec();
    for field in transport::infos().flat_map(|info| info.fields()) {
        // What one transport requires is not required of all.
        if group_fields.iter().all(|known| known.name != field.name) {
            group_fields.push(FieldSpec { default: field.default.or(Some("")), ..*field });
        }
    }
    let mut properties = properties(SCENARIO);
    let doc = "What the direction with the queue does to packets beside losing them one by one.";
    let impairments = Map::from_iter([("impairments".to_owned(), object(doc, IMPAIRMENTS, Map::new()))]);
    let dumbbell = object("One congested link, short form.", DUMBBELL, impairments.clone());
    properties.insert("dumbbell".into(), dumbbell);
    properties.insert("chain".into(), object("Links in a row, short form.", CHAIN, Map::new()));
    properties.insert("queue".into(), queue_schema());
    properties.insert("links".into(), list("Any graph.", &object("A link.", LINK, impairments)));
    let doc = "Edge meter: a token bucket for each flow gives what exceeds it another class.";
    let tables = Map::from_iter([("mark_excess".to_owned(), object(doc, MARK_EXCESS, Map::new()))]);
    properties.insert("groups".into(), list("Groups of flows.", &object("A group.", &group_fields, tables)));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fairdrop scenario",
        "type": "object",
        "properties": properties,
        "required": ["groups"],
        "additionalProperties": false,
    })
}

fn queue_schema() -> Json {
    let fields: Vec<_> = QUEUE.iter().copied().chain([FieldSpec::from(&LIMIT)]).collect();
    let tables = CATALOGUE
        .iter()
        .filter(|info| !info.params.is_empty())
        .map(|info| (info.name.to_owned(), discipline_schema(info)));
    object("The discipline under study.", &fields, tables.collect())
}

fn discipline_schema(info: &DisciplineInfo) -> Json {
    let mut schema = object(info.doc, &fields_of(info), Map::new());
    let aliases = info.params.iter().filter_map(|spec| Some((spec.name, spec.alias?.of)));
    let one_name: Vec<_> = aliases.map(|names| json!({ "not": { "required": names } })).collect();
    if let Some(object) = schema.as_object_mut().filter(|_| !one_name.is_empty()) {
        object.insert("allOf".into(), one_name.into());
    }
    schema
}

fn list(doc: &str, items: &Json) -> Json {
    json!({ "type": "array", "description": doc, "items": items, "minItems": 1 })
}

fn object(doc: &str, fields: &[FieldSpec], tables: Map<String, Json>) -> Json {
    let required: Vec<_> =
        fields.iter().filter(|field| field.default.is_none()).map(|field| field.name).collect();
    let mut properties = properties(fields);
    properties.extend(tables);
    json!({
        "type": "object", "description": doc, "properties": properties, "required": required,
        "additionalProperties": false,
    })
}

fn properties(fields: &[FieldSpec]) -> Map<String, Json> {
    fields.iter().map(|field| (field.name.to_owned(), property(field))).collect()
}

fn property(field: &FieldSpec) -> Json {
    let mut schema = match field.kind {
        FieldKind::Text => json!({ "type": "string", "pattern": PLAIN }),
        FieldKind::Name => {
            json!({ "type": "string", "pattern": PLAIN, "minLength": 1, "maxLength": MAX_NAME })
        }
        FieldKind::Names => json!({ "type": "array", "items": { "type": "string" } }),
        FieldKind::List(of) => json!({ "type": "array", "minItems": 1, "items": item(*of) }),
        FieldKind::RateSteps => json!({ "type": "array", "minItems": 1, "items": {
            "type": "array", "minItems": 2, "maxItems": 2,
            "prefixItems": [quantity(0.0, 1e7), quantity(1.0, 1e13)],
        } }),
        FieldKind::SwitchOrTable => json!({ "anyOf": [{ "type": "boolean" }, queue_schema()] }),
        FieldKind::Rate(low, high) | FieldKind::Seconds(low, high) => quantity(low, high),
        FieldKind::Param(kind) => match kind {
            Kind::Integer(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
            Kind::Number(low, high) => json!({ "type": "number", "minimum": low, "maximum": finite(high) }),
            Kind::NumberAbove(low, high) => {
                json!({ "type": "number", "exclusiveMinimum": low, "maximum": finite(high) })
            }
            Kind::Packets(low, high) | Kind::Seconds(low, high) | Kind::Rate(low, high) => {
                quantity(low, high)
            }
            Kind::Bytes(low, high) => quantity(low as f64, high as f64),
            Kind::Key => json!({ "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": u64::MAX },
                { "type": "string", "pattern": "^(0x[0-9a-fA-F]{1,16}|[0-9]{1,20})$" },
            ] }),
            Kind::Switch => json!({ "type": "boolean" }),
            Kind::Choice(words) => json!({ "enum": words }),
            Kind::Numbers(most, low, high) => json!({
                "type": "array", "minItems": 1, "maxItems": most,
                "items": { "type": "number", "minimum": low, "maximum": finite(high) },
            }),
            Kind::Schedule(words, low, high) => json!({ "anyOf": [
                { "enum": words },
                { "type": "array", "items": { "type": "integer", "minimum": low, "maximum": high } },
            ] }),
        },
    };
    if let Some(object) = schema.as_object_mut() {
        object.retain(|_, value| !value.is_null());
        object.insert("description".into(), json!(format!("{} Valid: {}.", field.doc, valid(field.kind))));
        if let Some(default) = field.default.filter(|default| !default.is_empty()) {
            object.insert("default".into(), default_value(default));
        }
    }
    schema
}

/// An entry of a list.
fn item(kind: FieldKind) -> Json {
    match kind {
        FieldKind::Rate(low, high) | FieldKind::Seconds(low, high) => quantity(low, high),
        _ => json!({}),
    }
}

/// A number in the base unit, or a text with a unit.
fn quantity(low: f64, high: f64) -> Json {
    json!({ "anyOf": [{ "type": "number", "minimum": low, "maximum": finite(high) }, { "type": "string" }] })
}

fn finite(number: f64) -> Json {
    if number.is_finite() { json!(number) } else { json!(f64::MAX) }
}

fn default_value(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

/// Every discipline, `parts` included, and transport with its parameters, as `fairdrop list --json` prints it.
pub fn catalogue(extensions: &Extensions) -> Json {
    let disciplines: Vec<_> = CATALOGUE
        .iter()
        .chain(extensions.infos())
        .map(|info| {
            let limit = [FieldSpec::from(&LIMIT)];
            let params = limit.into_iter().chain(fields_of(info));
            json!({
                "name": info.name, "title": info.title, "doc": info.doc, "source": info.source,
                "also_uses": info.also_uses, "form_of": info.form_of, "label": info.label, "report": info.report,
                "family": info.family.title(), "departures": info.departures.name(), "timed": info.timed,
                "parameters": params.map(|field| described(&field)).collect::<Vec<_>>(),
            })
        })
        .collect();
    let transports: Vec<_> = transport::infos()
        .chain(extensions.transports())
        .map(|info| {
            json!({
                "name": info.name, "title": info.title, "doc": info.doc, "source": info.source,
                "backs_off": info.backs_off,
                "parameters": info.fields().map(described).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({ "schema": "fairdrop/list/1", "disciplines": disciplines, "transports": transports })
}

fn described(field: &FieldSpec) -> Json {
    let default = field.default.filter(|text| !text.is_empty()).map(default_value);
    json!({
        "name": field.name, "unit": field.unit, "default": default, "required": field.default.is_none(), "valid": valid(field.kind),
        "doc": field.doc, "source": field.source,
    })
}

impl Scenario {
    /// The scenario after defaults and settings, SI units.
    pub fn to_json(&self) -> Json {
        self.json_with(&self.queue.to_json())
    }

    /// Everything that decides its runs beside the seed and the contents of [`Scenario::files`]: [`Scenario::to_json`]
    /// without names, and without the parameters of disciplines that it does not run.
    pub fn deciding_json(&self) -> Json {
        let mut json = self.json_with(&self.queue.read_to_json());
        if let Json::Object(fields) = &mut json {
            fields.retain(|name, _| !["name", "title", "seed"].contains(&name.as_str()));
        }
        json
    }

    /// Files that its groups and links read, as the scenario names them, relative to its own folder.
    pub fn files(&self) -> Vec<String> {
        let traces = self.links.iter().filter_map(|link| link.trace.as_ref()).map(|trace| trace.file.clone());
        let mut found: Vec<_> = traces.collect();
        for group in &self.groups {
            add_files(&group.transport.to_json(), &mut found);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn json_with(&self, queue: &Json) -> Json {
        let mut json = json!({
            "name": self.name,
            "title": self.title,
            "duration_s": self.duration.seconds(),
            "warm_up_s": self.warm_up.seconds(),
            "seed": self.seed,
            "sample_s": self.sample.map(Time::seconds),
            "positions_s": self.positions.map(Time::seconds),
            "windows": self.windows.iter().map(|&group| &self.groups[group].name).collect::<Vec<_>>(),
            "queue": queue,
            "links": self.links.iter().map(link_json).collect::<Vec<_>>(),
            "groups": self.groups.iter().map(|group| self.group_json(group)).collect::<Vec<_>>(),
        });
        if self.positions_from != End::default() {
            json["positions_from"] = json!(self.positions_from);
        }
        if self.ties != Ties::default() {
            json["ties"] = json!(self.ties);
        }
        let of_links = self.links.iter().filter_map(|link| self.queue_of(link));
        let extensions: BTreeMap<_, _> = [&self.queue]
            .into_iter()
            .chain(of_links)
            .flat_map(|queue| queue.disciplines.identities())
            .collect();
        if !extensions.is_empty() {
            json["parts"] = json!(extensions);
        }
        json
    }

    fn group_json(&self, group: &Group) -> Json {
        let names =
            |route: &[usize]| route.iter().map(|&link| self.links[link].name.clone()).collect::<Vec<_>>();
        let mut json = json!({
            "name": group.name,
            "transport": group.transport.name(),
            "settings": group.transport.to_json(),
            "count": group.count,
            "packet_size_bytes": group.packet_size,
            "header_bytes": group.header,
            "start_s": group.start.seconds(),
            "start_spread_s": group.start_spread.seconds(),
            "stop_s": (group.stop != Time::NEVER).then(|| group.stop.seconds()),
            "class": group.class,
            "mark_excess": group.mark_excess,
            "access_rate_bps": group.access_rate_bps,
            "access_delay_s": group.access_delay.seconds(),
            "forward": names(&group.forward),
            "backward": names(&group.backward),
        });
        // Where there is none, documents stay as they were before there was this field.
        if let Some(victim) = group.seen_as {
            json["seen_as"] = json!(self.groups[victim].name);
        }
        for (field, host) in ["source_host", "destination_host"].into_iter().zip(&group.hosts) {
            if let Some(host) = host {
                json[field] = json!(host);
            }
        }
        json
    }
}

/// The fields `file` of the settings of a transport, at any depth.
fn add_files(settings: &Json, found: &mut Vec<String>) {
    for (name, value) in settings.as_object().into_iter().flatten() {
        match value {
            Json::String(file) if name == "file" => found.push(file.clone()),
            inner => add_files(inner, found),
        }
    }
}

fn link_json(link: &Link) -> Json {
    let queue = match &link.queue {
        LinkQueue::Plain => json!("plain"),
        LinkQueue::Study => json!("study"),
        LinkQueue::Own(own) => own.to_json(),
    };
    let mut json = json!({
        "name": link.name, "from": link.from, "to": link.to, "rate_bps": link.rate_bps,
        "delay_s": link.delay.seconds(), "loss": link.loss, "queue": queue,
        "rate_schedule":
            link.rate_schedule.iter().map(|(at, bps)| json!([at.seconds(), bps])).collect::<Vec<_>>(),
    });
    if let Some(trace) = &link.trace {
        json["trace"] = json!(trace.file);
    }
    if let Some(bucket) = link.token_bucket {
        json["token_bucket"] = json!(bucket);
    }
    if let Some(impairments) = &link.impairments {
        json["impairments"] = impairments_json(impairments);
    }
    json
}
