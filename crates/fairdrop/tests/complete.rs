//! What every discipline must have. A failure says which file to add.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fairdrop::{AnyParams, CATALOGUE};
use fairdrop_reference::reference_of;

#[test]
fn every_discipline_has_its_four_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut missing = Vec::new();
    for info in CATALOGUE {
        let name = info.name;
        let page = name.replace('_', "-");
        // A preset has the code and the reference of its discipline.
        let code = AnyParams::of(name).expect("it is in the catalogue").of_discipline().name();
        for (what, path) in [
            (
                "its code: the file is called as INFO.name says",
                format!("crates/fairdrop/src/disciplines/{code}.rs"),
            ),
            ("its reference, with `pub fn reference`", format!("crates/fairdrop-reference/src/{code}.rs")),
            ("its test", format!("crates/fairdrop/tests/{name}.rs")),
            ("its page", format!("docs/reference/disciplines/{page}.md")),
        ] {
            if !root.join(&path).is_file() {
                missing.push(format!("{name} lacks {what}: add {path}"));
            }
        }
        let text = fs::read_to_string(root.join(format!("docs/reference/disciplines/{page}.md")))
            .unwrap_or_default();
        if !text.contains(&format!("<!-- generated: discipline.{name} -->")) {
            missing.push(format!(
                "the page of {name} lacks its table: add `<!-- generated: discipline.{name} -->` and `<!-- end -->`, \
                 then `make generate`"
            ));
        }
        if reference_of(&AnyParams::of(name).expect("it is in the catalogue")).is_none() {
            missing.push(format!(
                "{name} has no reference: `pub fn reference(params: …Params)` in crates/fairdrop-reference/src/{name}.rs \
                 must give one for the defaults"
            ));
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

#[test]
fn every_discipline_says_what_lists_and_reports_show() {
    let (mut labels, mut reports) = (BTreeSet::new(), BTreeSet::new());
    for info in CATALOGUE {
        let name = info.name;
        assert!(
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'),
            "{name}"
        );
        for (field, text) in [("title", info.title), ("label", info.label), ("source", info.source)] {
            assert!(!text.is_empty(), "{name}: write INFO.{field}");
        }
        for (field, text) in [("doc", info.doc), ("report", info.report)] {
            assert!(
                text.ends_with('.') && !text.contains('\n'),
                "{name}: INFO.{field} is a sentence or more"
            );
        }
        assert!(labels.insert(info.label), "{name}: another discipline has the label {}", info.label);
        assert!(reports.insert(info.report), "{name}: another discipline has this report");
        for spec in info.params {
            assert!(
                spec.doc.ends_with('.') && !spec.source.is_empty(),
                "{name}.{}: a sentence and a source",
                spec.name
            );
        }
    }
}

/// A form stands below the discipline that it is a form of, whose parameters it uses.
#[test]
fn forms_stand_below_their_discipline() {
    let forms = CATALOGUE.iter().enumerate().filter_map(|(at, info)| Some((at, info, info.form_of?)));
    let mut count = 0;
    for (at, info, of) in forms {
        count += 1;
        let above = CATALOGUE[..at].iter().rev().find(|other| other.form_of.is_none());
        assert_eq!(
            above.map(|other| other.name),
            Some(of),
            "{} is listed below another discipline",
            info.name
        );
        assert_eq!(info.also_uses, Some(of), "{} uses other parameters", info.name);
    }
    assert!(count > 0, "COLLAR has forms");
}

/// Lists are by family, then by name.
#[test]
fn the_catalogue_is_in_order() {
    assert!(CATALOGUE.is_sorted_by_key(|info| (info.family, info.name)));
}
