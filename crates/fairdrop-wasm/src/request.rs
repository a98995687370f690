//! What the page asks.

use serde::Deserialize;

/// A request, JSON text.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Request {
    /// Disciplines and transports with their parameters, as `fairdrop list --json` prints them.
    Catalogue,
    /// The result document of a scenario, as `fairdrop compare --json` prints it, or `fairdrop run --json`.
    Run(Asked),
}

/// What is to be run.
#[derive(Debug, Deserialize)]
pub struct Asked {
    /// What messages call the scenario.
    pub file: String,
    /// Its TOML text.
    pub text: String,
    /// `path=value` each, applied before reading.
    pub settings: Vec<String>,
    /// Disciplines to compare; `None`: the scenario's own alone.
    pub disciplines: Option<Vec<String>>,
    /// Number of seeds, from the scenario's own on.
    pub seeds: u32,
}
