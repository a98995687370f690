//! The result document: the scenario, then the results of each run.
//!
//! ```
//! use fairdrop_sim::document::{SCHEMA, head, render};
//!
//! let text = render(&head("simulation", "two", "Two flows", true, None), &[])?;
//! assert!(text.starts_with(&format!("{{\"schema\":\"{SCHEMA}\"")) && text.ends_with("\"runs\":[]}\n"));
//! # Ok::<(), serde_json::Error>(())
//! ```

use crate::result::RunResult;
use crate::scenario::Scenario;
use serde_json::{Map, Value as Json, json};

/// Version of the document's format.
pub const SCHEMA: &str = "fairdrop/result/1";

/// The fields that every document begins with. `complete`: all runs were finished. `command`: the command line, if there was one.
pub fn head(
    kind: &str,
    name: &str,
    title: &str,
    complete: bool,
    command: Option<&[String]>,
) -> Map<String, Json> {
    let pairs = [
        ("schema", json!(SCHEMA)),
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("kind", json!(kind)),
        ("name", json!(name)),
        ("title", json!(title)),
        ("complete", json!(complete)),
        ("command", json!(command)),
    ];
    pairs.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()
}

/// Of a scenario whose runs were those of `compared`, the fields behind the head: its text, and what a reader should know
/// before believing results.
pub fn add_source(head: &mut Map<String, Json>, scenario: &Scenario, compared: &[Scenario]) {
    let of_queues = compared.iter().filter_map(|one| one.queue.warning());
    let mut extensions: Vec<_> = compared.iter().flat_map(Scenario::extensions).collect();
    extensions.sort_unstable();
    let of_extensions = scenario.queue.disciplines.warnings(&extensions).cloned();
    let warnings: Vec<_> = scenario.remarks.iter().cloned().chain(of_queues).chain(of_extensions).collect();
    head.insert("scenario_source".into(), json!(scenario.source));
    head.insert("warnings".into(), json!(warnings));
}

/// The document as JSON text, ending in a newline.
///
/// # Errors
/// None that is known: what is rendered has texts as keys and finite numbers.
pub fn render(head: &Map<String, Json>, runs: &[RunResult]) -> serde_json::Result<String> {
    // The head is small; runs are appended as text, so that they are not built as a tree first.
    let mut text = serde_json::to_string(head)?;
    text.pop();
    text.push_str(",\"runs\":");
    text.push_str(&serde_json::to_string(runs)?);
    text.push_str("}\n");
    Ok(text)
}
