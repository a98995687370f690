//! Names that live as long as the program: a catalogue of extensions is static, whether or not the compiler has seen it.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// `text`, kept until the program ends; the same text once.
pub fn kept(text: &str) -> &'static str {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&known) = names.get(text) {
        return known;
    }
    let text: &'static str = Box::leak(text.into());
    names.insert(text);
    text
}
