//! Scenarios of the points of a study, read many at a time.

use crate::work::watched;
use fairdrop_sim::Control;
use fairdrop_sim::extension::Extensions;
use fairdrop_sim::scenario::Scenario;
use indicatif::ProgressBar;
use pyo3::exceptions::{PyKeyError, PyKeyboardInterrupt};
use pyo3::prelude::*;
use std::collections::HashMap;

/// A scenario with what decides its runs beside the seed.
pub struct Read {
    /// The scenario itself.
    pub scenario: Scenario,
    /// [`Scenario::deciding_json`] as text.
    pub deciding: String,
}

/// The scenario of each point, which is a file of `texts` with settings; or its problems, one per line.
///
/// # Errors
/// `KeyError` for a file that has no text, and `KeyboardInterrupt` after Ctrl-C.
pub fn read(
    py: Python<'_>,
    points: &[(String, Vec<String>)],
    texts: &HashMap<String, String>,
    extensions: &Extensions,
) -> PyResult<Vec<Result<Read, String>>> {
    if let Some((file, _)) = points.iter().find(|(file, _)| !texts.contains_key(file)) {
        return Err(PyKeyError::new_err(file.clone()));
    }
    let control = Control::default();
    let found = watched(py, &control, &ProgressBar::hidden(), |control| {
        let each = points.iter().take_while(|_| !control.is_stopped());
        each.map(|(file, settings)| read_one(&texts[file], file, settings, extensions, control)).collect()
    })?;
    if control.is_stopped() { Err(PyKeyboardInterrupt::new_err(())) } else { Ok(found) }
}

fn read_one(
    text: &str,
    file: &str,
    settings: &[String],
    extensions: &Extensions,
    control: &Control,
) -> Result<Read, String> {
    let scenario = Scenario::parse_with(text, file, settings, extensions, control);
    let scenario = scenario.map_err(|problems| problems.to_string())?;
    let deciding = scenario.deciding_json().to_string();
    Ok(Read { scenario, deciding })
}
