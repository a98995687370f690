//! Vectors that a search has found: each notices wrong forms of its reference that no other vector of the discipline does
//! (docs/reference/vector-mutation.md). They put settings and traffic of other vectors together anew, with a few values and
//! random numbers of other kinds. Some were written by hand for forms that no search has found.

use fairdrop::info;

use crate::{Case, Numbers, Phase};

/// A vector a line, in terms of others: discipline, name, random numbers, limit, rate of the link, whether the host ticks, the
/// vector that has its stretches of time (or these in words, see [`Phase::of_words`]), the one that has its flows, lengths and fields, the settings, and a
/// description where it was written by hand.
const FOUND: &str = include_str!("found.tsv");

const NOTICES: &str =
    "Found by a search: it notices wrong forms of the reference that the other vectors do not.";

/// The vectors that are `known`, and those that were found, made of them and of each other.
pub(super) fn and_found(mut known: Vec<Case>) -> Vec<Case> {
    for line in FOUND.lines().filter(|line| !line.starts_with('#')) {
        known.push(case(line, &known).unwrap_or_else(|| panic!("found.tsv: {line:?}")));
    }
    known
}

/// The case of a line, in terms of those that are `known`.
pub(super) fn case(line: &'static str, known: &[Case]) -> Option<Case> {
    let fields: Vec<&'static str> = line.split('\t').collect();
    let &[discipline, name, numbers, limit, rate_bps, ticks, phases, mix, settings, ref description @ ..] =
        fields.as_slice()
    else {
        return None;
    };
    let of = |path: &str| {
        let (discipline, name) = path.split_once('/')?;
        known.iter().find(|case| (case.discipline, case.name) == (discipline, name))
    };
    // `red/basic=9000`: packets of the mix of that vector, all of this length.
    let (mix, length) = mix.split_once('=').map_or((mix, None), |(mix, length)| (mix, Some(length)));
    let mut mix = of(mix)?.clone();
    if let Some(length) = length {
        mix.mix.lengths = vec![(length.parse().ok()?, 1)];
    }
    Some(Case {
        discipline,
        name,
        description: description.first().copied().unwrap_or(NOTICES),
        source: info(discipline)?.source,
        limit: limit.parse().ok()?,
        link_rate_bps: rate_bps.parse().ok()?,
        settings: settings.split("; ").filter_map(|setting| setting.split_once(" = ")).collect(),
        numbers: match numbers {
            "uniform" => Numbers::Uniform,
            "eighths" => Numbers::Eighths,
            "ends" => Numbers::Ends,
            "high" => Numbers::High,
            _ => return None,
        },
        hosts: mix.hosts,
        burst_mode: Vec::new(),
        mix: mix.mix,
        phases: match of(phases) {
            Some(other) => other.phases.clone(),
            None => phases.split(' ').map(Phase::of_words).collect::<Option<_>>()?,
        },
        ticks: ticks.parse().ok()?,
    })
}
