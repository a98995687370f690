//! Vectors that a search has found: each notices wrong forms of its reference that no other vector of the discipline does
//! (docs/reference/mutation-testing.md). They put settings and traffic of other vectors together anew, with a few values and
//! random numbers of other kinds.

use fairdrop::info;

use crate::{Case, Numbers};

const NOTICES: &str =
    "Found by a search: it notices wrong forms of the reference that the other vectors do not.";

/// A vector in terms of others, by discipline and case.
struct Found {
    discipline: &'static str,
    name: &'static str,
    settings: &'static [(&'static str, &'static str)],
    /// The vector that has these stretches of time, and the one that has these flows, lengths and fields.
    phases: (&'static str, &'static str),
    mix: (&'static str, &'static str),
    numbers: Numbers,
    limit: u32,
    rate_bps: u64,
    ticks: bool,
}

/// The vectors that were found, made of those of `known`.
pub(super) fn cases(known: &[Case]) -> Vec<Case> {
    let of = |(discipline, name)| {
        known
            .iter()
            .find(|case| (case.discipline, case.name) == (discipline, name))
            .expect("a vector of the others")
    };
    let made = |found: &Found| {
        let (phases, mix) = (of(found.phases), of(found.mix));
        Case {
            discipline: found.discipline,
            name: found.name,
            description: NOTICES,
            source: info(found.discipline).expect("it is in the catalogue").source,
            limit: found.limit,
            link_rate_bps: found.rate_bps,
            settings: found.settings.into(),
            numbers: found.numbers,
            hosts: mix.hosts.clone(),
            mix: mix.mix.clone(),
            phases: phases.phases.clone(),
            ticks: found.ticks,
        }
    };
    FOUND.iter().map(made).collect()
}

const FOUND: &[Found] = &[
    Found {
        discipline: "red",
        name: "survivor-1",
        settings: &[
            ("red.min_th", "1p"),
            ("red.max_th", "6p"),
            ("red.w_q", "0.25"),
            ("red.max_p", "0.5"),
            ("red.ns2_compat", "true"),
        ],
        phases: ("choke_hardware", "marked-blind"),
        mix: ("red", "ecn"),
        numbers: Numbers::Uniform,
        limit: 13,
        rate_bps: 8000000,
        ticks: false,
    },
    Found {
        discipline: "red",
        name: "survivor-2",
        settings: &[
            ("red.wait", "true"),
            ("red.w_q", "0.125"),
            ("red.max_p", "0.1"),
            ("red.gentle", "true"),
            ("red.min_th", "0p"),
            ("red.max_th", "1p"),
        ],
        phases: ("fq_codel", "ecn"),
        mix: ("choke_hardware", "banks"),
        numbers: Numbers::Ends,
        limit: 30,
        rate_bps: 1000000,
        ticks: false,
    },
    Found {
        discipline: "choke",
        name: "survivor-3",
        settings: &[
            ("red.w_q", "0.125"),
            ("red.max_p", "0.1"),
            ("choke.cell_size", "100B"),
            ("choke.average_in", "cells"),
            ("red.min_th", "20p"),
            ("red.max_th", "90p"),
            ("choke.sampling", "byte"),
        ],
        phases: ("mlc", "bounds"),
        mix: ("cake", "dual-dsthost"),
        numbers: Numbers::Ends,
        limit: 5,
        rate_bps: 8000000,
        ticks: false,
    },
    Found {
        discipline: "choke",
        name: "survivor-5",
        settings: &[
            ("red.max_th", "12p"),
            ("red.w_q", "0.125"),
            ("red.max_p", "0.1"),
            ("choke.draw", "spread"),
            ("choke.candidates", "3"),
            ("red.min_th", "0p"),
        ],
        phases: ("afd", "idle"),
        mix: ("red", "ecn"),
        numbers: Numbers::Uniform,
        limit: 60,
        rate_bps: 8000000,
        ticks: false,
    },
    Found {
        discipline: "chokew",
        name: "survivor-2",
        settings: &[
            ("chokew.weights", "[1, 1.5, 4]"),
            ("chokew.l_th", "4p"),
            ("chokew.l_minus", "8p"),
            ("chokew.l_plus", "12p"),
            ("chokew.p_plus", "0.125"),
            ("chokew.p_minus", "0.0625"),
            ("red.max_p", "0.01"),
            ("chokew.max_draws", "1"),
            ("red.idle_decay_only", "true"),
        ],
        phases: ("pie", "low-delay"),
        mix: ("sfq", "perturb"),
        numbers: Numbers::Uniform,
        limit: 30,
        rate_bps: 8000000,
        ticks: false,
    },
    Found {
        discipline: "codel",
        name: "survivor-1",
        settings: &[
            ("codel.ecn", "false"),
            ("codel.mtu", "0B"),
            ("codel.target", "1ms"),
            ("codel.interval", "0.5ms"),
        ],
        phases: ("fq_pie", "limit-1"),
        mix: ("codel", "ecn"),
        numbers: Numbers::Uniform,
        limit: 8,
        rate_bps: 8000000,
        ticks: false,
    },
    Found {
        discipline: "codel",
        name: "survivor-3",
        settings: &[("codel.interval", "400ms"), ("codel.target", "5ms"), ("codel.ecn", "true")],
        phases: ("red", "first-packet"),
        mix: ("drr", "basic"),
        numbers: Numbers::Uniform,
        limit: 8,
        rate_bps: 8000000,
        ticks: false,
    },
    Found {
        discipline: "pie",
        name: "survivor-1",
        settings: &[
            ("pie.target", "3ms"),
            ("pie.t_update", "1ms"),
            ("pie.max_burst", "0s"),
            ("pie.beta", "10"),
            ("pie.derandomise", "true"),
            ("pie.steep", "true"),
            ("pie.alpha", "0.25"),
        ],
        phases: ("choke", "holes"),
        mix: ("cobalt", "fall"),
        numbers: Numbers::Ends,
        limit: 5,
        rate_bps: 1000000,
        ticks: false,
    },
    Found {
        discipline: "pie",
        name: "survivor-2",
        settings: &[
            ("pie.target", "3ms"),
            ("pie.t_update", "1ms"),
            ("pie.max_burst", "0s"),
            ("pie.alpha", "1"),
            ("pie.beta", "10"),
        ],
        phases: ("afd", "idle"),
        mix: ("dualpi2", "no-ecn"),
        numbers: Numbers::High,
        limit: 5,
        rate_bps: 8000000,
        ticks: false,
    },
    Found {
        discipline: "pie",
        name: "survivor-3",
        settings: &[
            ("pie.target", "3ms"),
            ("pie.alpha", "1"),
            ("pie.beta", "10"),
            ("pie.derandomise", "true"),
            ("pie.t_update", "1ms"),
            ("pie.max_burst", "10ms"),
        ],
        phases: ("droptail", "bytes"),
        mix: ("choke", "byte"),
        numbers: Numbers::Uniform,
        limit: 8,
        rate_bps: 8000000,
        ticks: false,
    },
    Found {
        discipline: "pie",
        name: "survivor-4",
        settings: &[
            ("pie.cap", "false"),
            ("pie.target", "3ms"),
            ("pie.t_update", "1ms"),
            ("pie.max_burst", "0s"),
            ("pie.beta", "10"),
            ("pie.derandomise", "true"),
            ("pie.alpha", "20"),
            ("pie.steep", "true"),
            ("pie.mean_packet_size", "300B"),
        ],
        phases: ("dualpi2", "basic"),
        mix: ("sfb", "all-bins"),
        numbers: Numbers::Uniform,
        limit: 13,
        rate_bps: 8000000,
        ticks: false,
    },
    Found {
        discipline: "pie",
        name: "survivor-5",
        settings: &[
            ("pie.target", "3ms"),
            ("pie.t_update", "1ms"),
            ("pie.max_burst", "0s"),
            ("pie.beta", "6"),
            ("pie.steep", "true"),
            ("pie.alpha", "0.01"),
        ],
        phases: ("gchoke", "basic"),
        mix: ("care", "overflow"),
        numbers: Numbers::Eighths,
        limit: 60,
        rate_bps: 1000000,
        ticks: false,
    },
    Found {
        discipline: "fq_codel",
        name: "survivor-1",
        settings: &[
            ("codel.target", "2ms"),
            ("codel.interval", "10ms"),
            ("fq_codel.queues", "4"),
            ("fq_codel.mtu_backlog", "all"),
            ("codel.ecn", "false"),
            ("fq_codel.quantum", "1500B"),
            ("codel.mtu", "300B"),
        ],
        phases: ("drr", "basic"),
        mix: ("sred", "basic"),
        numbers: Numbers::High,
        limit: 3,
        rate_bps: 1000000,
        ticks: false,
    },
    Found {
        discipline: "fq_codel",
        name: "survivor-3",
        settings: &[
            ("codel.target", "2ms"),
            ("codel.interval", "10ms"),
            ("fq_codel.queues", "4"),
            ("fq_codel.drop_batch", "4"),
            ("codel.ecn", "false"),
            ("fq_codel.quantum", "1B"),
        ],
        phases: ("choke_hardware", "mark-one-cell"),
        mix: ("choke", "front-3"),
        numbers: Numbers::Eighths,
        limit: 20,
        rate_bps: 8000000,
        ticks: false,
    },
];
