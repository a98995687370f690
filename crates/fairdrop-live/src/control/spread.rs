//! What was written of a link, with each direction's own part spelled out, so that one direction can be changed alone.

use crate::config::{DIRECTION, DIRECTIONS, Written};
use toml_edit::{DocumentMut, Item, Table};

/// Fields that are laid down when a link is started.
const FIXED: [&str; 4] = ["overhead", "flow_key", "classes", "buffers"];

/// Fields that exclude each other: who sets one takes back the other.
const RIVALS: [(&str, &str); 2] = [("rate", "trace"), ("trace", "rate")];

/// The direction and the field of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Index of the direction.
    pub direction: usize,
    /// The path behind the direction's name.
    pub field: String,
    /// The value, as written.
    pub value: String,
}

impl Part {
    /// The whole setting.
    pub fn setting(&self) -> String {
        format!("{}.{}={}", DIRECTIONS[self.direction], self.field, self.value)
    }

    /// Whether it belongs to the queue.
    pub fn of_queue(&self) -> bool {
        self.field.starts_with("queue.")
    }
}

/// The settings that `setting` comes to, in both directions or in one of them.
///
/// # Errors
/// It is none, or cannot be changed while the link runs.
pub fn parts(setting: &str, direction: Option<usize>) -> Result<Vec<Part>, String> {
    let no_setting = || format!("{setting:?} is no setting; valid: FIELD=VALUE, for example rate=20mbit");
    let (path, value) = setting.split_once('=').ok_or_else(no_setting)?;
    let (path, value) = (path.trim(), value.trim().to_owned());
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let named = DIRECTIONS.iter().position(|&name| name == first);
    if let (Some(named), Some(asked)) = (named, direction)
        && named != asked
    {
        let asked = DIRECTIONS[asked];
        return Err(format!("{setting:?} is not in direction {asked}; valid: a field of {asked}"));
    }
    let field = match named {
        Some(_) => rest.to_owned(),
        None if path == "queue" || path == "discipline" => "queue.discipline".to_owned(),
        None if first == "queue" || DIRECTION.iter().any(|field| field.name == path) => path.to_owned(),
        None => format!("queue.{path}"),
    };
    let field = if field == "queue" { "queue.discipline".to_owned() } else { field };
    if FIXED.contains(&field.as_str()) || ["seed", "schema"].contains(&path) {
        return Err(format!(
            "{path} cannot be changed while the link runs; valid: rate, trace, delay, jitter, loss, and the fields of queue"
        ));
    }
    let only = named.or(direction);
    let directions = (0..DIRECTIONS.len()).filter(|&at| only.is_none_or(|only| only == at));
    Ok(directions.map(|direction| Part { direction, field: field.clone(), value: value.clone() }).collect())
}

/// The path of a setting.
fn path_of(setting: &str) -> &str {
    setting.split('=').next().unwrap_or_default().trim()
}

/// The same link, with settings common to the queues of both directions written for each.
pub fn spread(written: &Written) -> Written {
    let Ok(mut document) = written.text.parse::<DocumentMut>() else { return written.clone() };
    let common = document.remove("queue");
    let owns = DIRECTIONS.map(|name| {
        let of_own = format!("{name}.queue");
        document.get(name).is_some_and(|item| item.get("queue").is_some())
            || written.settings.iter().any(|setting| setting.trim_start().starts_with(&of_own))
    });
    for (name, own) in DIRECTIONS.into_iter().zip(owns) {
        if let (false, Some(common)) = (own, &common) {
            let section = document.entry(name).or_insert(Item::Table(Table::new()));
            section["queue"] = common.clone();
        }
    }
    let settings = written.settings.iter().flat_map(|setting| {
        let is_common = path_of(setting).starts_with("queue.");
        let of_each = DIRECTIONS.into_iter().zip(owns).filter(|&(_, own)| is_common && !own);
        let spelled = of_each.map(|(name, _)| format!("{name}.{}", setting.trim_start()));
        spelled.chain((!is_common).then(|| setting.clone())).collect::<Vec<_>>()
    });
    Written { settings: settings.collect(), text: document.to_string(), file: written.file.clone() }
}

/// The same link with other values.
pub fn with(written: &Written, parts: &[Part]) -> Written {
    let mut new = written.clone();
    for part in parts {
        let name = DIRECTIONS[part.direction];
        for (_, rival) in RIVALS.into_iter().filter(|(field, _)| *field == part.field) {
            take_back(&mut new, name, rival);
        }
        let path = format!("{name}.{}", part.field);
        new.settings.retain(|setting| path_of(setting) != path);
        new.settings.push(part.setting());
    }
    new
}

fn take_back(written: &mut Written, direction: &str, field: &str) {
    let path = format!("{direction}.{field}");
    written.settings.retain(|setting| path_of(setting) != path);
    if let Ok(mut document) = written.text.parse::<DocumentMut>()
        && let Some(section) = document.get_mut(direction).and_then(Item::as_table_like_mut)
        && section.remove(field).is_some()
    {
        written.text = document.to_string();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TwoWay;

    fn settings(of: &[&str]) -> Vec<String> {
        of.iter().map(|&setting| setting.to_owned()).collect()
    }

    fn all(setting: &str, direction: Option<usize>) -> Vec<String> {
        parts(setting, direction).unwrap().iter().map(Part::setting).collect()
    }

    #[test]
    fn a_setting_is_for_both_directions_or_for_one() {
        assert_eq!(all("rate=20mbit", None), ["up.rate=20mbit", "down.rate=20mbit"]);
        assert_eq!(all("rate=20mbit", Some(1)), ["down.rate=20mbit"]);
        assert_eq!(all("up.delay = 5ms", None), ["up.delay=5ms"]);
        assert_eq!(all("queue=fq_codel", Some(0)), ["up.queue.discipline=fq_codel"]);
        assert_eq!(all("down.queue=red", None), ["down.queue.discipline=red"]);
        for same in ["queue.choke.candidates=3", "choke.candidates=3"] {
            assert_eq!(all(same, Some(0)), ["up.queue.choke.candidates=3"]);
        }
        assert!(parts("up.rate=1mbit", Some(1)).unwrap_err().contains("valid: a field of down"));
        assert!(parts("rate", None).unwrap_err().contains("valid: FIELD=VALUE"));
        for fixed in ["buffers=3p", "up.flow_key=src", "seed=4"] {
            assert!(parts(fixed, None).unwrap_err().contains("cannot be changed while the link runs"));
        }
    }

    #[test]
    fn spelled_out_it_is_the_same_link() {
        let text = "[queue]\ndiscipline = \"red\"\n[queue.red]\nmin_th = \"10p\"\n[up]\nrate = \"1mbit\"\n[down.queue]\nlimit = \"9p\"\n";
        let given = settings(&["queue.limit=77p", "down.queue.discipline=codel", "up.delay=3ms"]);
        let before = TwoWay::parse(text, "x", &given).unwrap();
        let Written { text, file, settings } = spread(&before.written);
        let after = TwoWay::parse(&text, &file, &settings).unwrap();
        for (before, after) in before.directions().into_iter().zip(after.directions()) {
            assert_eq!(before.queue.to_json(), after.queue.to_json());
            assert_eq!(before.channel, after.channel);
        }
        assert_eq!((after.up.queue.discipline, after.up.queue.limit), ("red", 77));
        assert!(!settings.iter().any(|setting| setting.starts_with("queue.")), "{settings:?}");
    }

    #[test]
    fn a_rate_takes_the_place_of_a_trace_and_a_value_that_of_an_older_one() {
        let written = Written { text: "[up]\ntrace = \"t\"\n".into(), ..Written::default() };
        let once = with(&written, &parts("rate=2mbit", Some(0)).unwrap());
        assert_eq!((once.text.as_str(), once.settings.len()), ("[up]\n", 1));
        let again = with(&once, &parts("rate=3mbit", Some(0)).unwrap());
        assert_eq!(again.settings, ["up.rate=3mbit"]);
        assert_eq!(with(&again, &parts("trace=u", Some(0)).unwrap()).settings, ["up.trace=u"]);
    }
}
