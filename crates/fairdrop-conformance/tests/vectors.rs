//! The committed vectors are what the library does: made anew they are the same bytes, and played from their files they
//! give the same decisions.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fairdrop::CATALOGUE;
use fairdrop_conformance::{Vector, cases, record, replay};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/vectors")
}

/// Every committed vector with its path below the folder.
fn files() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for discipline in fs::read_dir(folder()).expect("the vectors are there") {
        for file in fs::read_dir(discipline.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            files.push((path.strip_prefix(folder()).unwrap().to_path_buf(), text));
        }
    }
    files.sort();
    files
}

#[test]
fn made_anew_they_are_the_same_bytes() {
    let committed = files();
    let mut made: Vec<(PathBuf, String)> = cases::all()
        .iter()
        .map(|case| {
            let path = Path::new(case.discipline).join(format!("{}.jsonl", case.name));
            (path, record(case).unwrap().to_string())
        })
        .collect();
    made.sort();
    let names = |files: &[(PathBuf, String)]| files.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    assert_eq!(names(&committed), names(&made));
    for ((path, committed), (_, made)) in committed.iter().zip(&made) {
        let differs = committed.lines().zip(made.lines()).position(|(a, b)| a != b);
        assert!(committed == made, "{}: line {differs:?}; `make conformance`?", path.display());
    }
}

#[test]
fn played_from_their_files_they_give_the_same_decisions() {
    for (path, text) in files() {
        let result = Vector::parse(&text).and_then(|vector| replay(&vector));
        assert_eq!(result, Ok(()), "{}", path.display());
    }
}

#[test]
fn every_discipline_has_vectors_and_they_are_small() {
    let (mut disciplines, mut total) = (BTreeSet::new(), 0);
    for (path, text) in files() {
        let vector = Vector::parse(&text).unwrap();
        assert_eq!(path, Path::new(&vector.header.discipline).join(vector.header.case + ".jsonl"));
        disciplines.insert(vector.header.discipline);
        total += text.len();
        assert!(text.len() < 1_000_000 && vector.events.len() >= 80, "{}", path.display());
    }
    let all: BTreeSet<_> = CATALOGUE.iter().map(|info| info.name.to_string()).collect();
    assert_eq!(disciplines, all);
    assert!(total < 250_000 * all.len(), "{total} bytes");
}

/// A test that cannot fail is worth nothing.
#[test]
fn a_changed_vector_is_noticed() {
    let text = fs::read_to_string(folder().join("choke/basic.jsonl")).unwrap();
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
