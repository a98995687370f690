//! `fairdropd qdisc`: RED, `CHOKe`, `CHOKeW` and WARD as queue disciplines of the kernel, which are programs in BPF (`bpf/`).
//!
//! Each qdisc has a program of its own, with its maps, under an identifier that the kernel knows it by. Programs outlive this
//! process: the kernel keeps them by names in its file system for BPF, and a later call forgets those that no qdisc uses.

mod counters;
mod grammar;
mod kernel;
mod libbpf;
mod loaded;
mod maps;
mod network;
mod options;
mod settings;
mod units;

use counters::Counters;
use grammar::{Action, Place, Request};
use loaded::{Loaded, Store};
use network::{Network, Qdisc, described};
use options::{Options, words};
use serde_json::{Map, Value, json};
use settings::Kind;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Where object files are looked for.
const FOLDERS: [&str; 3] = ["/usr/lib/fairdrop/bpf", "/usr/local/lib/fairdrop/bpf", "build/bpf"];

/// Carries out the words; returns the text to print.
///
/// # Errors
/// The problem of the words, or the kernel's error.
pub fn run(words: &[String], objects: Option<&Path>, is_loud: bool) -> Result<String, String> {
    match Request::parse(words)? {
        Request::Put { action, place, kind, options } => {
            put(action, &place, kind, &options, objects, is_loud)?;
            Ok(String::new())
        }
        Request::Delete(place) => delete(&place).map(|()| String::new()),
        Request::Show { dev, statistics, json } => {
            let found = shown(dev.as_deref())?;
            Ok(if json { in_json(&found) } else { in_text(&found, statistics) })
        }
    }
}

fn put(
    action: Action,
    place: &Place,
    kind: Kind,
    options: &Options,
    objects: Option<&Path>,
    is_loud: bool,
) -> Result<(), String> {
    // Values are checked before anything else is looked at, those of a change against its settings below.
    let (settings, remarks) = options.settings(kind, None).or_else(|error| match action {
        Action::Change => Ok((options::default(kind), Vec::new())),
        _ => Err(error),
    })?;
    if action == Action::Change {
        // A kernel that has the qdisc lacks nothing: its types, some megabytes, need not be read.
        kernel::check_rights()?;
        return change(&Network::open()?, place, kind, options);
    }
    kernel::check()?;
    let (store, network) = (Store::open()?, Network::open()?);
    for remark in &remarks {
        crate::say!("{remark}");
    }
    if action == Action::Add && network.at(place)?.is_some() {
        return Err(format!("{}: there is a qdisc already; valid: replace, or del first", described(place)));
    }
    let loaded = store.load(&object_of(kind, objects)?, &settings, is_loud)?;
    let done = network.put(place, &loaded.identifier, action == Action::Replace);
    // The one that was replaced, or the one that could not be put there.
    store.sweep();
    done
}

fn change(network: &Network, place: &Place, kind: Kind, options: &Options) -> Result<(), String> {
    let found = network.at(place)?.and_then(|qdisc| Loaded::named(&qdisc.kind));
    let Some(loaded) = found.filter(|loaded| loaded.kind() == kind) else {
        return Err(format!("{}: there is no {} of fairdrop; valid: replace", described(place), kind.name()));
    };
    let (settings, remarks) = options.settings(kind, Some(&loaded.settings()?))?;
    loaded.change(&settings)?;
    for remark in &remarks {
        crate::say!("{remark}");
    }
    Ok(())
}

fn delete(place: &Place) -> Result<(), String> {
    kernel::check_rights()?;
    let (store, network) = (Store::open()?, Network::open()?);
    if network.at(place)?.is_none_or(|qdisc| loaded::kind_of(&qdisc.kind).is_none()) {
        return Err(format!("{}: there is no qdisc of fairdrop; valid: tc deletes others", described(place)));
    }
    network.delete(place)?;
    store.sweep();
    Ok(())
}

/// The object file of a discipline.
fn object_of(kind: Kind, folder: Option<&Path>) -> Result<PathBuf, String> {
    let name = format!("fairdrop-{}.bpf.o", kind.name());
    let folders: Vec<&Path> =
        folder.map_or_else(|| FOLDERS.iter().map(Path::new).collect(), |folder| vec![folder]);
    let found = folders.iter().map(|folder| folder.join(&name)).find(|path| path.is_file());
    found.ok_or_else(|| {
        let places = folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ");
        format!("there is no {name} in {places}; valid: --objects DIR, where make bpf has built it")
    })
}

/// A qdisc of ours.
struct Shown {
    qdisc: Qdisc,
    kind: Kind,
    /// None where somebody else has written settings that are none.
    words: Option<String>,
    counters: Counters,
}

fn shown(dev: Option<&str>) -> Result<Vec<Shown>, String> {
    let ours = Network::open()?
        .list(dev)?
        .into_iter()
        .filter_map(|qdisc| Some((Loaded::named(&qdisc.kind)?, qdisc)));
    ours.map(|(loaded, qdisc)| {
        let words = loaded.settings().ok().map(|settings| words(&settings));
        let counters = loaded.counters()?;
        Ok(Shown { qdisc, kind: loaded.kind(), words, counters })
    })
    .collect()
}

fn parent_of(qdisc: &Qdisc) -> Option<String> {
    qdisc.parent.map(|(major, minor)| format!("{major:x}:{minor:x}"))
}

fn in_text(found: &[Shown], statistics: bool) -> String {
    let mut text = String::new();
    for Shown { qdisc, kind, words, counters } in found {
        let parent = parent_of(qdisc).map_or_else(|| "root".to_owned(), |parent| format!("parent {parent}"));
        let (name, handle, dev) = (kind.name(), qdisc.handle, &qdisc.dev);
        let words = words.as_deref().unwrap_or("(settings out of range: a plain FIFO)");
        let _ = writeln!(text, "qdisc {name} {handle:x}: dev {dev} {parent} {words}");
        if statistics {
            let rows = [
                ("arrived", counters.arrived),
                ("departed", counters.departed),
                ("waiting", counters.waiting()),
                ("flushed", counters.flushed),
            ];
            for (name, amount) in rows.into_iter().chain(counters.drops()) {
                let _ = writeln!(text, " {name} {} bytes {} pkt", amount.bytes, amount.packets);
            }
            let Counters { compared, stuck_draws, unchecked, .. } = counters;
            let _ = writeln!(text, " compared {compared} stuck_draws {stuck_draws} unchecked {unchecked}");
        }
    }
    text
}

fn in_json(found: &[Shown]) -> String {
    let one = |shown: &Shown| {
        let Shown { qdisc, kind, words, counters } = shown;
        json!({
            "kind": kind.name(),
            "handle": format!("{:x}:", qdisc.handle),
            "dev": qdisc.dev,
            "root": qdisc.parent.is_none(),
            "parent": parent_of(qdisc),
            "options": words.as_deref().map(options_of),
            "waiting": counters.waiting(),
            "counters": counters,
        })
    };
    format!("{}\n", Value::Array(found.iter().map(one).collect()))
}

/// Options by name, each as the word that sets it.
fn options_of(words: &str) -> Map<String, Value> {
    let mut options = Map::new();
    let mut words = words.split(' ').peekable();
    while let Some(name) = words.next() {
        let value = if options::is_switch(name) {
            Value::Bool(true)
        } else {
            words.next().unwrap_or_default().into()
        };
        options.insert(name.to_owned(), value);
    }
    options
}
