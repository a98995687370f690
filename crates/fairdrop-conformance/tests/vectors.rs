//! The committed vectors are what the library does: made anew they are the same text, and played from their files they
//! give the same decisions.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fairdrop::{CATALOGUE, MAX_LEN};
use fairdrop_conformance::manifest::{self, Manifest};
use fairdrop_conformance::{Action, Vector, cases, files, record, replay};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/vectors")
}

/// Every committed vector: path below the folder, and text.
fn committed() -> Vec<(PathBuf, String)> {
    let paths = files::list(&folder()).expect("the vectors are there");
    paths.into_iter().map(|path| (path.clone(), files::read(&folder().join(path)).unwrap())).collect()
}

#[test]
fn made_anew_they_are_the_same_text() {
    let committed = committed();
    let mut made: Vec<(PathBuf, String)> = cases::all()
        .iter()
        .map(|case| (files::path_of(case.discipline, case.name), record(case).unwrap().to_string()))
        .collect();
    made.sort();
    let names = |files: &[(PathBuf, String)]| files.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    assert_eq!(names(&committed), names(&made));
    for ((path, committed), (_, made)) in committed.iter().zip(&made) {
        let differs = committed.lines().zip(made.lines()).position(|(a, b)| a != b);
        assert!(committed == made, "{}: line {differs:?}; `make conformance`?", path.display());
    }
}

/// A vector that changes or comes changes the version of all (`make conformance`).
#[test]
fn the_manifest_names_the_vectors_and_their_version() {
    let text = std::fs::read_to_string(folder().join(manifest::FILE)).unwrap();
    let written: Manifest = serde_json::from_str(&text).unwrap();
    let named = |(path, text): (PathBuf, String)| {
        (path.to_string_lossy().trim_end_matches(".jsonl.gz").replace('\\', "/"), text)
    };
    let made = Manifest::of(committed().into_iter().map(named), Some(&written));
    assert_eq!(written, made);
}

/// The same text gives the same bytes, and a file that holds the text already stays as it is.
#[test]
fn files_follow_from_their_text() {
    let folder = std::env::temp_dir().join(format!("fairdrop-conformance-{}", std::process::id()));
    let written = |name, text| {
        let path = folder.join(files::path_of("red", name));
        files::write(&path, text).unwrap();
        assert_eq!(files::read(&path).unwrap(), text);
        path
    };
    let bytes = |path: &Path| std::fs::read(path).unwrap();
    let (first, second) = (written("first", "a line\n"), written("second", "a line\n"));
    assert_eq!(bytes(&first), bytes(&second));
    assert_eq!(bytes(&first)[4..8], [0; 4], "no time of modification");
    assert_eq!(
        files::list(&folder).unwrap(),
        ["red/first.jsonl.gz", "red/second.jsonl.gz"].map(PathBuf::from)
    );
    let stored = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1, 0, 0, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0];
    std::fs::write(&first, stored).unwrap();
    written("first", "");
    assert_eq!(bytes(&first), stored, "the same text in other bytes");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn played_from_their_files_they_give_the_same_decisions() {
    for (path, text) in committed() {
        let result = Vector::parse(&text).and_then(|vector| replay(&vector));
        assert_eq!(result, Ok(()), "{}", path.display());
    }
}

#[test]
fn every_discipline_has_vectors_and_they_are_small() {
    let (mut disciplines, mut total) = (BTreeSet::new(), 0);
    for (path, text) in committed() {
        let vector = Vector::parse(&text).unwrap();
        assert_eq!(path, files::path_of(&vector.header.discipline, &vector.header.case));
        disciplines.insert(vector.header.discipline);
        total += text.len();
        assert!(text.len() < 200_000 && vector.events.len() >= 7, "{}", path.display());
        // The interface to C takes no longer packets.
        let too_long = |action: &Action| matches!(action, Action::Enqueue { len, .. } if *len > MAX_LEN);
        assert!(!vector.events.iter().any(|event| too_long(&event.action)), "{}", path.display());
    }
    let all: BTreeSet<_> = CATALOGUE.iter().map(|info| info.name.to_string()).collect();
    assert_eq!(disciplines, all);
    assert!(total < 420_000 * all.len(), "{total} bytes");
}

/// A test that cannot fail is worth nothing.
#[test]
fn a_changed_vector_is_noticed() {
    let text = files::read(&folder().join(files::path_of("choke", "basic"))).unwrap();
    let vector = Vector::parse(&text).unwrap();
    let with_numbers = vector.events.iter().position(|event| event.random.len() == 2).unwrap();
    let fails = |change: &dyn Fn(&mut Vector), part: &str| {
        let mut changed = vector.clone();
        change(&mut changed);
        let error = replay(&changed).unwrap_err();
        assert!(error.contains(part), "{error}");
    };
    let at = format!("event {with_numbers}: ");
    fails(&|v| v.events[with_numbers].outcome.backlog.0 += 1, &at);
    fails(&|v| v.events[with_numbers].picks.push(0), &at);
    fails(&|v| v.events[with_numbers].random.clear(), "asks for another random number of");
    let more = |v: &mut Vector| v.events[with_numbers].random.get_mut("early_drop").unwrap().push("0".into());
    fails(&more, "leaves a random number of early_drop unread");
    let average = vector.events[with_numbers].outcome.internals["avg"].as_f64().unwrap();
    let next = serde_json::json!(f64::from_bits(average.to_bits() + 1));
    fails(&|v| v.events[with_numbers].outcome.internals["avg"] = next.clone(), &at);
    fails(&|v| v.header.params[0].value = serde_json::json!(2.0), "event ");
}
