//! Vectors whose events are given one by one: times, lengths and random numbers are such that a threshold is met exactly, or a
//! number gets as large or as small as it can.

use fairdrop::info;

use crate::{Case, Phase};

/// A vector a line: discipline, name, what it exercises, limit, settings, and [words](Phase::Events).
const EXACT: &str = include_str!("exact.tsv");

pub(super) fn cases() -> Vec<Case> {
    let lines = EXACT.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| case(line).unwrap_or_else(|| panic!("exact.tsv: {line:?}"))).collect()
}

pub(super) fn case(line: &'static str) -> Option<Case> {
    let fields: Vec<&'static str> = line.split('\t').collect();
    let &[discipline, name, description, limit, settings, words] = fields.as_slice() else { return None };
    let mut case = super::case(discipline, name, info(discipline)?.source, description);
    case.limit = limit.parse().ok()?;
    case.settings = settings.split("; ").filter_map(|setting| setting.split_once(" = ")).collect();
    Some(case.phases(&[Phase::Events(words)]))
}
