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

/// Every committed vector: discipline and case, and text.
fn committed() -> Vec<(String, String)> {
    files::read_all(&folder()).expect("the vectors are there")
}

#[test]
fn made_anew_they_are_the_same_text() {
    let committed = committed();
    let mut made: Vec<(String, String)> = cases::all()
        .iter()
        .map(|case| (format!("{}/{}", case.discipline, case.name), record(case).unwrap().to_string()))
        .collect();
    made.sort();
    let names = |of: &[(String, String)]| of.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&committed), names(&made));
    for ((name, committed), (_, made)) in committed.iter().zip(&made) {
        let differs = committed.lines().zip(made.lines()).position(|(a, b)| a != b);
        assert!(committed == made, "{name}: line {differs:?}; `make conformance`?");
    }
}

/// A vector that changes or comes changes the version of all (`make conformance`).
#[test]
fn the_manifest_names_the_vectors_and_their_version() {
    let text = std::fs::read_to_string(folder().join(manifest::FILE)).unwrap();
    let written: Manifest = serde_json::from_str(&text).unwrap();
    let made = Manifest::of(committed(), Some(&written));
    assert_eq!(written, made);
}

/// The same text gives the same bytes, and a file that holds the text already stays as it is.
#[test]
fn files_follow_from_their_text() {
    let folder = std::env::temp_dir().join(format!("fairdrop-conformance-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let of_red = |(name, _): &(String, String)| name.starts_with("red/");
    let vectors: Vec<_> = committed().into_iter().filter(of_red).take(2).collect();
    let text: String = vectors.iter().map(|(_, text)| text.as_str()).collect();
    let written = |name: &str, text: &str| {
        let path = folder.join(format!("{name}{}", files::ENDING));
        files::write(&path, text).unwrap();
        path
    };
    let bytes = |path: &Path| std::fs::read(path).unwrap();
    let (first, second) = (written("first", &text), written("second", &text));
    assert_eq!(bytes(&first), bytes(&second));
    assert_eq!(files::read(&first).unwrap(), vectors);
    assert_eq!(files::read_all(&folder).unwrap().len(), 4);
    // The same text in other bytes: behind it comes what no reader asks for.
    let other = [bytes(&first), vec![0]].concat();
    std::fs::write(&first, &other).unwrap();
    written("first", &text);
    assert_eq!(bytes(&first), other);
    written("first", &vectors[0].1);
    assert_eq!(files::read(&first).unwrap(), vectors[..1]);
    // A text that is cut, and bytes that are.
    let cut = written("cut", text.strip_suffix("}\n").unwrap().rsplit_once('\n').unwrap().0);
    assert!(files::read(&cut).is_err());
    std::fs::write(&cut, &bytes(&second)[..100]).unwrap();
    assert!(files::read(&cut).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn played_from_their_files_they_give_the_same_decisions() {
    for (name, text) in committed() {
        let result = Vector::parse(&text).and_then(|vector| replay(&vector));
        assert_eq!(result, Ok(()), "{name}");
    }
}

#[test]
fn every_discipline_has_vectors_and_they_are_small() {
    let (mut disciplines, mut total) = (BTreeSet::new(), 0);
    for (name, text) in committed() {
        let vector = Vector::parse(&text).unwrap();
        disciplines.insert(vector.header.discipline);
        total += text.len();
        assert!(text.len() < 200_000 && vector.events.len() >= 7, "{name}");
        // The interface to C takes no longer packets.
        let too_long = |action: &Action| matches!(action, Action::Enqueue { len, .. } if *len > MAX_LEN);
        assert!(!vector.events.iter().any(|event| too_long(&event.action)), "{name}");
    }
    let all: BTreeSet<_> = CATALOGUE.iter().map(|info| info.name.to_string()).collect();
    assert_eq!(disciplines, all);
    assert!(total < 420_000 * all.len(), "{total} bytes");
}

/// A test that cannot fail is worth nothing.
#[test]
fn a_changed_vector_is_noticed() {
    let choke = files::read(&folder().join(format!("choke{}", files::ENDING))).unwrap();
    let (_, text) = choke.iter().find(|(name, _)| name == "choke/basic").unwrap();
    let vector = Vector::parse(text).unwrap();
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
