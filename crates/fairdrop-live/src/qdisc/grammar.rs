//! The words of `fairdropd qdisc`, which are those of `tc qdisc` where `tc` has them.

use super::options::{Options, lookup};
use super::settings::Kind;

/// What to do with the qdisc at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Put one where none was asked for before.
    Add,
    /// Alter its settings; packets stay.
    Change,
    /// Put another one in the place of whatever is there.
    Replace,
}

/// A place for a qdisc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the interface.
    pub dev: String,
    /// Parent, major and minor; none for the root.
    pub parent: Option<(u16, u16)>,
    /// Major number of the handle; 0 for one of the kernel's choice.
    pub handle: u16,
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Add, change or replace.
    Put {
        /// Which.
        action: Action,
        /// Where.
        place: Place,
        /// The discipline.
        kind: Kind,
        /// Words behind its name.
        options: Options,
    },
    /// Delete the qdisc at a place.
    Delete(Place),
    /// List those of one interface, or of all.
    Show {
        /// The interface.
        dev: Option<String>,
        /// With counters.
        statistics: bool,
        /// In JSON.
        json: bool,
    },
}

const ACTIONS: &str = "add, change, replace, del or show";

impl Request {
    /// The request in these words.
    ///
    /// # Errors
    /// The problem, and the valid values.
    pub fn parse(words: &[String]) -> Result<Self, String> {
        let mut flags: Vec<&str> =
            words.iter().map(String::as_str).filter(|word| word.starts_with('-')).collect();
        flags.sort_unstable();
        let mut words = words.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
        let action = words.next().unwrap_or("show");
        let words: Vec<&str> = words.collect();
        match action {
            "show" | "list" | "ls" => return show(&flags, &words),
            _ if !flags.is_empty() => return Err(format!("{}: it is an option of show alone", flags[0])),
            "del" | "delete" => {
                let (place, rest) = place(&words)?;
                // As with tc, the name of the discipline may stand there.
                return match rest {
                    [] => Ok(Self::Delete(place)),
                    [name] if Kind::named(name).is_some() => Ok(Self::Delete(place)),
                    [word, ..] => {
                        Err(format!("{word}: nothing stands behind the place of a qdisc to delete"))
                    }
                };
            }
            _ => {}
        }
        let action = match action {
            "add" => Action::Add,
            "change" | "chg" => Action::Change,
            "replace" | "repl" => Action::Replace,
            other => return Err(format!("{other} is no action; valid: {ACTIONS}")),
        };
        let (place, rest) = place(&words)?;
        let Some((name, rest)) = rest.split_first() else {
            return Err(format!("no discipline is named; valid: {}", disciplines()));
        };
        let kind = Kind::named(name)
            .ok_or_else(|| format!("{name} is no discipline for the kernel; valid: {}", disciplines()))?;
        Ok(Self::Put { action, place, kind, options: lookup(kind, rest)? })
    }
}

fn disciplines() -> String {
    Kind::ALL.map(Kind::name).join(", ")
}

fn show(flags: &[&str], words: &[&str]) -> Result<Request, String> {
    let (mut statistics, mut json) = (false, false);
    for flag in flags {
        match *flag {
            "-s" | "-statistics" | "--statistics" => statistics = true,
            "-j" | "-json" | "--json" => json = true,
            other => return Err(format!("{other} is no option of show; valid: -s, -j")),
        }
    }
    let dev = match words {
        [] => None,
        ["dev", name] => Some((*name).to_owned()),
        [word, ..] => return Err(format!("{word} is not valid here; valid: show [-s] [-j] [dev NAME]")),
    };
    Ok(Request::Show { dev, statistics, json })
}

/// A number in hexadecimal, as `tc` writes handles.
fn hexadecimal(text: &str) -> Option<u16> {
    u16::from_str_radix(text, 16).ok()
}

/// `dev NAME`, `root` or `parent A:B`, `handle A:`, in any order, and what follows.
fn place<'a>(words: &'a [&'a str]) -> Result<(Place, &'a [&'a str]), String> {
    let (mut dev, mut parent, mut handle, mut rest) = (None, None, 0, words);
    loop {
        match rest {
            ["dev", name, tail @ ..] => (dev, rest) = (Some((*name).to_owned()), tail),
            ["root", tail @ ..] => (parent, rest) = (Some(None), tail),
            ["parent", id, tail @ ..] => {
                let found = id
                    .split_once(':')
                    .and_then(|(major, minor)| Some((hexadecimal(major)?, hexadecimal(minor)?)));
                let found =
                    found.ok_or_else(|| format!("parent {id} is not valid; valid: a class such as 1:1"))?;
                (parent, rest) = (Some(Some(found)), tail);
            }
            ["handle", id, tail @ ..] => {
                let found = hexadecimal(id.trim_end_matches(':')).filter(|&major| major > 0);
                handle = found.ok_or_else(|| format!("handle {id} is not valid; valid: 1: to ffff:"))?;
                rest = tail;
            }
            [word @ ("dev" | "parent" | "handle")] => return Err(format!("{word} needs a value")),
            _ => break,
        }
    }
    let dev = dev.ok_or("no interface is named; valid: dev NAME")?;
    let parent = parent.ok_or("no place is named; valid: root, or parent MAJOR:MINOR of a class of mq")?;
    Ok((Place { dev, parent, handle }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request, String> {
        Request::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn places_are_those_of_tc() {
        let Ok(Request::Put { action, place, kind, .. }) =
            parse("add dev eth0 root handle 1a: choke limit 300")
        else {
            panic!("not understood");
        };
        assert_eq!((action, kind), (Action::Add, Kind::Choke));
        assert_eq!(place, Place { dev: "eth0".into(), parent: None, handle: 0x1a });
        let Ok(Request::Delete(place)) = parse("del dev eth0 parent 8001:a") else {
            panic!("not understood")
        };
        assert_eq!(place.parent, Some((0x8001, 10)));
        assert!(matches!(parse("del root dev eth0 choke"), Ok(Request::Delete(_))));
        let show = Request::Show { dev: Some("eth0".into()), statistics: true, json: true };
        assert_eq!(parse("-s show -j dev eth0"), Ok(show));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, expected) in [
            ("put dev eth0 root choke", "put is no action; valid: add, change, replace, del or show"),
            ("add root choke limit 300", "no interface is named; valid: dev NAME"),
            ("add dev eth0 choke limit 300", "no place is named; valid: root"),
            ("add dev eth0 root", "no discipline is named; valid: red, choke, chokew, ward"),
            ("add dev eth0 root codel", "codel is no discipline for the kernel; valid: red, choke"),
            ("add dev eth0 parent 1 red", "parent 1 is not valid; valid: a class such as 1:1"),
            ("add dev eth0 root handle 0: red", "handle 0: is not valid; valid: 1: to ffff:"),
            ("add dev eth0 parent", "parent needs a value"),
            ("del dev eth0 root now", "now: nothing stands behind"),
            ("show eth0", "eth0 is not valid here; valid: show [-s] [-j] [dev NAME]"),
            ("show -x", "-x is no option of show; valid: -s, -j"),
            ("add -s dev eth0 root red", "-s: it is an option of show alone"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.starts_with(expected), "{line}: {error}");
        }
    }
}
