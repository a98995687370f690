//! Parameters of a vector: every one of the discipline with its value, defaults filled in; without those that are left out.

use fairdrop::notation::{Written, read};
use fairdrop::{AnyParams, DisciplineInfo, Kind, LIMIT, ParamSpec, ParamValue, info};
use serde_json::{Value, json};

use crate::{Header, Param};

/// The specs of a discipline in the order in which they are set, each with the discipline that it belongs to: first
/// those of the discipline that it builds on.
fn specs(discipline: &DisciplineInfo) -> impl Iterator<Item = (&'static str, &'static ParamSpec)> {
    let base = discipline.also_uses.and_then(info);
    let base = base.into_iter().flat_map(|base| base.shared().map(|spec| (base.name, spec)));
    let own = discipline.params.iter().map(|spec| (discipline.name, spec));
    // The limit is a field of the header, and a parameter has one name there.
    base.chain(own).filter(|(_, spec)| spec.name != LIMIT.name && spec.alias.is_none())
}

/// All parameters of a discipline, those of `settings` (`owner.name`, value as in a scenario; the last
/// one of a name counts) in place of defaults.
///
/// # Errors
/// A setting is of no parameter, or a value is not of its kind.
pub fn resolved(discipline: &DisciplineInfo, settings: &[(&str, &str)]) -> Result<Vec<Param>, String> {
    let known: Vec<_> = specs(discipline).collect();
    for (path, _) in settings {
        if !known.iter().any(|(owner, spec)| *path == format!("{owner}.{}", spec.name)) {
            return Err(format!("{} has no parameter {path}", discipline.name));
        }
    }
    let param = |(owner, spec): &(&'static str, &'static ParamSpec)| {
        let path = format!("{owner}.{}", spec.name);
        let set = settings.iter().rev().find(|(name, _)| *name == path);
        let text = set.map_or(spec.default, |(_, text)| text);
        if text.is_empty() {
            return None;
        }
        let value = value_of(spec.kind, text).ok_or_else(|| format!("{path}: {text} is not {}", spec.kind));
        let (owner, name, unit) = ((*owner).into(), spec.name.into(), spec.unit.into());
        Some(value.map(|value| Param { owner, name, value, unit }))
    };
    known.iter().filter_map(param).collect()
}

/// The value that `text` stands for, in the unit of its parameter.
pub fn value_of(kind: Kind, text: &str) -> Option<Value> {
    Some(match read(kind, text)? {
        Written::Number(number) if matches!(kind, Kind::Integer(..) | Kind::Bytes(..)) => {
            let whole = number as i64;
            (whole as f64 == number).then(|| json!(whole))?
        }
        Written::Number(number) => json!(number),
        Written::Key(key) => json!(key),
        Written::Switch(on) => json!(on),
        Written::Word(word) => kind.accepts(ParamValue::Word(word)).then(|| json!(word))?,
        // Whole numbers stay whole.
        Written::List(list) => serde_json::from_str(&format!("[{list}]")).ok()?,
    })
}

/// The parameters that a header gives.
///
/// # Errors
/// Names what the library does not take.
pub fn apply(header: &Header) -> Result<AnyParams, String> {
    let mut params = AnyParams::of(&header.discipline)
        .ok_or_else(|| format!("there is no discipline {}", header.discipline))?;
    for param in &header.params {
        if !set(&mut params, param) {
            return Err(format!("{}.{} = {} is not taken", param.owner, param.name, param.value));
        }
    }
    params.set_link(header.limit, header.link_rate_bps);
    params.validate().map_err(|error| error.to_string())?;
    Ok(params)
}

fn set(params: &mut AnyParams, Param { owner, name, value, .. }: &Param) -> bool {
    match value {
        Value::Bool(on) => params.set(owner, name, ParamValue::Switch(*on)),
        Value::String(word) => params.set(owner, name, ParamValue::Word(word)),
        Value::Array(items) => {
            let numbers: Vec<f64> = items.iter().filter_map(Value::as_f64).collect();
            let counts: Vec<u8> = numbers.iter().map(|&number| number as u8).collect();
            params.set(owner, name, ParamValue::Counts(&counts))
                || params.set(owner, name, ParamValue::Numbers(&numbers))
        }
        _ => value.as_f64().is_some_and(|number| params.set(owner, name, ParamValue::Number(number))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairdrop::CATALOGUE;

    #[test]
    fn what_the_specs_say_are_the_defaults() {
        for discipline in CATALOGUE {
            let params = resolved(discipline, &[]).unwrap();
            let mut set_one_by_one = AnyParams::of(discipline.name).unwrap();
            for param in &params {
                assert!(set(&mut set_one_by_one, param), "{} {}", discipline.name, param.name);
            }
            assert_eq!(Some(set_one_by_one), AnyParams::of(discipline.name));
        }
    }

    #[test]
    fn values_are_read_in_the_units_of_their_parameters() {
        let seconds = Kind::Seconds(0.0, 1000.0);
        for (kind, text, value) in [
            (seconds, "6.25ms", json!(0.00625)),
            (seconds, "800us", json!(0.0008)),
            (seconds, "2s", json!(2.0)),
            (Kind::Bytes(1, 65_535), "2kB", json!(2000)),
            (Kind::Packets(0.0, 9.0), "2.5p", json!(2.5)),
            (Kind::Choice(&["a"]), "\"a\"", json!("a")),
            (Kind::Schedule(&["a"], 0, 9), "[1, 2]", json!([1, 2])),
        ] {
            assert_eq!(value_of(kind, text), Some(value), "{text}");
        }
        assert_eq!(value_of(Kind::Choice(&["a"]), "b"), None);
        assert!(resolved(info("red").unwrap(), &[("red.nothing", "1")]).is_err());
        let refused = resolved(info("choke").unwrap(), &[("choke.drops", "3")]);
        assert_eq!(refused.unwrap_err(), "choke has no parameter choke.drops", "one name in files");
    }
}
