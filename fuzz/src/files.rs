//! Files that somebody else may have written, as the Python package reads them.

use fairdrop_config::{Data, MAX_DEPTH, Node, Origin, Problems, check_json, parse};
use fairdrop_sim::RunResult;
use serde_json::Value as Json;

/// Reads a study.
pub fn study(data: &[u8]) {
    toml(data, "study.toml");
}

/// Reads a definition of a paper.
pub fn paper(data: &[u8]) {
    toml(data, "paper.toml");
}

/// Values read lie no deeper than the bound, and know their lines; refusals name the file.
fn toml(data: &[u8], file: &str) {
    let Ok(text) = core::str::from_utf8(data) else { return };
    let lines = 1 + text.matches('\n').count() as u32;
    match parse(text, file) {
        // A list of tables is a list more than its header has names.
        Ok(root) => assert!(depth(&root, lines) <= 2 * MAX_DEPTH + 1),
        Err(problems) => {
            assert!(!problems.is_empty());
            let shown = Problems(problems).to_string();
            assert!(
                shown.lines().all(|line| line.starts_with(file) && line.contains("; valid: ")),
                "{shown}"
            );
        }
    }
}

fn depth(node: &Node, lines: u32) -> usize {
    assert!(matches!(node.origin, Origin::Line(line) if (1..=lines).contains(&line)));
    let deepest = match &node.data {
        Data::List(items) => items.iter().map(|item| depth(item, lines)).max(),
        Data::Table(entries) => entries.iter().map(|(_, value)| depth(value, lines)).max(),
        _ => return 0,
    };
    1 + deepest.unwrap_or(0)
}

/// Reads a result document. What passes the check is JSON, and a run in it is read in all its digits or refused.
pub fn result(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else { return };
    if let Err(why) = check_json(text) {
        assert!(!why.is_empty());
        return;
    }
    let document: Json = serde_json::from_str(text).expect("it was checked");
    for run in document.get("runs").and_then(Json::as_array).into_iter().flatten() {
        if let Ok(run) = serde_json::from_str::<RunResult>(&run.to_string()) {
            serde_json::to_string(&run).expect("what was read can be written");
        }
    }
}
