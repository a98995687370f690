//! Disciplines that remember flows in some form: SRED, SFB, RED-PD, penalty box, flow valve, CSFQ, AFD, BLACK, CARE,
//! `FairDrop`, `FairPolicer`, AHAB, COLLAR and its kin.

use super::red::QUICK;
use super::{EVERY_ECN, LENGTHS, MS, case};
use crate::script::Phase::{self, Burst, Drain, Load, Silence};
use crate::{Case, Numbers};

/// Overload, a pause, and overload again, long enough for counts to be complete.
const LONG: &[Phase] = &[
    Load { arrivals: 120, percent: 200 },
    Drain,
    Silence { ns: 30 * MS },
    Load { arrivals: 80, percent: 250 },
    Drain,
];

pub(super) fn cases() -> Vec<Case> {
    [
        sred(),
        sfb(),
        filters(),
        csfq(),
        afd(),
        black(),
        care(),
        fair_drop(),
        fair_policer(),
        ahab(),
        collar(),
        collarw(),
        collar_sparse(),
        collar_hosts(),
        collar_integer(),
    ]
    .concat()
}

fn fair_policer() -> Vec<Case> {
    let of = |name, text| {
        case("fair_policer", name, "IEEE INFOCOM 2021, from a description", text).lengths(LENGTHS)
    };
    vec![
        of("basic", "Who occupies more tokens than are free gets none; turns set them free.")
            .set(&[("fair_policer.depth", "12ms")]),
        of("alpha", "A quarter of the free tokens, turns longer than packets, and a full buffer.")
            .limit(4)
            .set(&[
                ("fair_policer.depth", "20ms"),
                ("fair_policer.alpha", "0.25"),
                ("fair_policer.turn", "1200B"),
                ("fair_policer.fraction", "1"),
            ]),
        of("few-places", "Three flows may occupy tokens at a time; flows share counters.").set(&[
            ("fair_policer.depth", "40ms"),
            ("fair_policer.flows", "3"),
            ("fair_policer.columns", "4"),
        ]),
    ]
}

fn sred() -> Vec<Case> {
    let source = "Ott, Lakshman, Wong 1999";
    // The probability falls with the square of the hits, so that only few of them leave drops.
    let flows: Vec<(u64, u32, u8)> =
        (1..=120).map(|flow| (flow, if flow == 1 { 25 } else { 1 }, 0)).collect();
    let of = |name, text| {
        case("sred", name, source, text).set(&[("sred.zombies", "16"), ("sred.max_p", "1")]).flows(&flows)
    };
    vec![
        of(
            "basic",
            "Hits among zombies estimate the flows; the probability depends on that, on the buffer, and on the hit.",
        ),
        of("simple", "The probability does not depend on the hit.").set(&[("sred.full", "false")]),
        of("coins", "Draws often equal the probability of overwriting.").numbers(Numbers::Eighths),
    ]
}

fn black() -> Vec<Case> {
    let quick = &[("black.flows", "4"), ("black.samples", "20")];
    let of = |name, text| {
        case("black", name, "Chatranon, Labrador, Banerjee 2003", text).set(QUICK).set(quick).phases(LONG)
    };
    vec![
        of(
            "basic",
            "Draws count flows in a list; of those above the fair share the excess is refused, RED decides about the rest.",
        ),
        of("one-place", "A list of one flow: each other that is met takes its place.")
            .set(&[("black.flows", "1")]),
        of("coins", "Draws often equal the excess.")
            .numbers(Numbers::Eighths)
            .set(&[("black.samples", "16")]),
        of("ecn", "RED marks; what the list refuses is dropped.")
            .set(&[("red.ecn", "true"), ("red.max_p", "0.5")])
            .ecn(EVERY_ECN),
    ]
}

fn care() -> Vec<Case> {
    let quick = &[("care.captures", "20"), ("care.capture", "0.4"), ("care.threshold", "0.2")];
    let of = |name, text| case("care", name, "Chan, Hamdi 2003", text).set(quick).phases(LONG);
    vec![
        of(
            "basic",
            "The jackknife's number of flows and a flow's captures determine its excess over a fair share.",
        ),
        of("two-captures", "The fewest captures there may be: the last term of the estimate is 0.")
            .set(&[("care.captures", "2"), ("care.capture", "1")]),
        of("coins", "Draws often equal the probability of a capture.")
            .numbers(Numbers::Eighths)
            .set(&[("care.capture", "0.5")]),
        of("overflow", "A small buffer that overflows before any test.")
            .limit(4)
            .set(&[("care.threshold", "1")]),
    ]
}

fn fair_drop() -> Vec<Case> {
    let source = "Addanki, Linguaglossa, Roberts, Rossi 2018";
    let of = |name, text| {
        case("fair_drop", name, source, text).set(&[("fair_drop.threshold", "3000B")]).phases(LONG)
    };
    vec![
        of("basic", "A flow with more than the threshold left in the shadow is dropped."),
        of("slower", "The shadow serves at three quarters of the link's rate.")
            .set(&[("fair_drop.theta", "0.75")])
            .lengths(LENGTHS),
        of("few-records", "Flows for which the shadow has no room are not held.")
            .set(&[("fair_drop.max_flows", "2")]),
        of("overflow", "A small buffer: what overflows is not added to the shadow.").limit(4),
    ]
}

fn ahab() -> Vec<Case> {
    let quick =
        &[("ahab.k_flow", "20ms"), ("ahab.k_link", "20ms"), ("ahab.epoch", "3ms"), ("ahab.delta", "1")];
    let of = |name, text| case("ahab", name, "MacDavid, Chen, Rexford 2023", text).set(quick).phases(LONG);
    vec![
        of(
            "basic",
            "Two other thresholds, tried out on the same packets, move the one that flows are held to.",
        ),
        of("shared-filters", "Two filters in a row, which flows share.").set(&[("ahab.columns", "2")]),
        of("bytes", "Rates are of bytes, and so is what thresholds let in.").lengths(LENGTHS),
        of("coins", "Draws often equal the probability.").numbers(Numbers::Eighths),
        of("overflow", "A small buffer: what overflows counts as let in.").limit(4),
    ]
}

/// A memory and a controller that soon take effect.
const QUICK_COLLAR: &[(&str, &str)] =
    &[("collar.target", "2ms"), ("collar.ids", "128"), ("collar.span", "20ms")];
const COLLAR_OVERLOAD: &[Phase] = &[
    Load { arrivals: 150, percent: 200 },
    Drain,
    Silence { ns: 300 * MS },
    Load { arrivals: 60, percent: 180 },
    Drain,
];

fn collar() -> Vec<Case> {
    let of = |name, text| case("collar", name, "this project", text).set(QUICK_COLLAR).limit(60);
    let overload = COLLAR_OVERLOAD;
    let many: Vec<(u64, u32, u8)> = (1..=24).map(|flow| (flow, if flow < 3 { 8 } else { 1 }, 0)).collect();
    let of_hosts: Vec<(u64, u32, u8)> =
        (1..=12).map(|flow| (flow, if flow < 3 { 8 } else { 1 }, flow as u8 % 2)).collect();
    vec![
        of(
            "basic",
            "A greedy flow becomes a suspect and is held to its share; the controller does the rest.",
        )
        .phases(overload),
        of(
            "full-table",
            "More flows than places: who is met in the memory and finds no room is dropped in proportion.",
        )
        .set(&[("collar.sets", "1"), ("collar.target", "500us")])
        .flows(&many)
        .phases(overload),
        of("sizes", "Bytes count: in what is sent, in drops, and in matches.")
            .lengths(LENGTHS)
            .phases(overload),
        of("ecn", "Capable packets are marked while drops are rare, and dropped in overload.")
            .ecn(EVERY_ECN)
            .phases(overload),
        of("overflow", "A full buffer drops the arrival.").limit(4),
        of("together", "Weights, hosts and sparse flows at once.")
            .set(&[
                ("collar.weights", "[1, 2]"),
                ("collar.hosts", "triple-isolate"),
                ("collar.sparse", "0.6"),
            ])
            .flows(&of_hosts)
            .hosts(&FEW_HOSTS)
            .phases(overload),
        of("hosts-sparse", "A flow is sparse by its part of its host's share.")
            .set(&[("collar.hosts", "dual-srchost"), ("collar.sparse", "0.8")])
            .flows(&of_hosts)
            .hosts(&FEW_HOSTS)
            .lengths(LENGTHS)
            .phases(overload),
    ]
}

/// Flows 1 to 8 come from one host, and flows 7 to 10 go to another; others have hosts of their own.
const FEW_HOSTS: [(u64, u64, u64); 10] = [
    (1, 100, 1),
    (2, 100, 2),
    (3, 100, 3),
    (4, 100, 4),
    (5, 100, 5),
    (6, 100, 6),
    (7, 100, 200),
    (8, 100, 200),
    (9, 9, 200),
    (10, 10, 200),
];

fn collarw() -> Vec<Case> {
    let of = |name, text| {
        case("collarw", name, "this project", text).set(QUICK_COLLAR).limit(60).phases(COLLAR_OVERLOAD)
    };
    let classes: Vec<(u64, u32, u8)> =
        (1..=12).map(|flow| (flow, if flow < 3 { 8 } else { 2 }, flow as u8 % 4)).collect();
    vec![
        of("basic", "A byte of the class of greater weight counts half: its flow is let in twice as much."),
        of("classes", "Weights 2, 3 and 8, where thirds are rounded, and a class that is not listed.")
            .set(&[("collarw.weights", "[2, 3, 8]")])
            .flows(&classes),
        of(
            "sizes",
            "What counts is the length over the weight; the time that a packet takes is that of its length.",
        )
        .set(&[("collarw.weights", "[1, 1.5, 4]")])
        .flows(&classes)
        .lengths(LENGTHS),
        of("million", "The largest weight beside the least.")
            .set(&[("collarw.weights", "[1, 1000000]")])
            .flows(&classes),
    ]
}

fn collar_sparse() -> Vec<Case> {
    let of = |name, text| {
        case("collar_sparse", name, "this project", text).set(QUICK_COLLAR).limit(60).phases(COLLAR_OVERLOAD)
    };
    let flows: Vec<(u64, u32, u8)> = (1..=12).map(|flow| (flow, if flow < 6 { 12 } else { 1 }, 0)).collect();
    vec![
        of("basic", "Flows that send less than 0.6 of their limit go first.").flows(&flows),
        of("two", "At most two packets wait apart.").set(&[("collar_sparse.short", "2")]).flows(&flows),
        of("all", "All that is below its limit goes first, for half of the link.")
            .set(&[("collar_sparse.sparse", "1")])
            .flows(&flows)
            .lengths(LENGTHS),
        of("ecn", "Capable packets are marked, and wait where others would.").flows(&flows).ecn(EVERY_ECN),
    ]
}

fn collar_hosts() -> Vec<Case> {
    let of = |name, text| {
        case("collar_hosts", name, "this project", text).set(QUICK_COLLAR).limit(60).phases(COLLAR_OVERLOAD)
    };
    let flows: Vec<(u64, u32, u8)> = (1..=12).map(|flow| (flow, if flow < 3 { 8 } else { 2 }, 0)).collect();
    vec![
        of("basic", "Each flow has its hosts to itself: what COLLAR does.").flows(&flows),
        of("triple-isolate", "Hosts at both ends: a flow is one of the host that has more.").flows(&flows).hosts(&FEW_HOSTS),
        of("dual-srchost", "Hosts at the source share before their flows do.")
            .set(&[("collar_hosts.isolation", "dual-srchost")])
            .flows(&flows)
            .hosts(&FEW_HOSTS)
            .lengths(LENGTHS),
        of("dual-dsthost", "Hosts at the destination do.")
            .set(&[("collar_hosts.isolation", "dual-dsthost")])
            .flows(&flows)
            .hosts(&FEW_HOSTS)
            .ecn(EVERY_ECN),
        of("full", "One set of hosts for three at one end and twenty at the other, and one of suspects: who has no place counts for its host.")
            .set(&[("collar_hosts.hosts", "1"), ("collar.sets", "1")])
            .flows(&(1..=40).map(|flow| (flow, if flow < 3 { 8 } else { 1 }, 0)).collect::<Vec<_>>())
            .hosts(&(1..=40).map(|flow| (flow, 100 + flow / 14, 200 + flow / 2)).collect::<Vec<_>>()),
    ]
}

/// The same loads as COLLAR's in floating point, and more of what integers round.
fn collar_integer() -> Vec<Case> {
    let of = |name, text| {
        case("collar_integer", name, "this project", text).set(QUICK_COLLAR).limit(60).phases(COLLAR_OVERLOAD)
    };
    let many: Vec<(u64, u32, u8)> = (1..=24).map(|flow| (flow, if flow < 3 { 8 } else { 1 }, 0)).collect();
    vec![
        of(
            "basic",
            "A greedy flow becomes a suspect and is held to its share; the controller does the rest.",
        ),
        of(
            "full-table",
            "More flows than places: who is met in the memory and finds no room is dropped in proportion.",
        )
        .set(&[("collar.sets", "1"), ("collar.target", "500us")])
        .flows(&many),
        of("sizes", "Bytes count, in sixteenths; the weight of a byte doubles every few samples.")
            .lengths(LENGTHS),
        of("ecn", "Capable packets are marked while drops are rare, and dropped in overload.").ecn(EVERY_ECN),
        of("overflow", "A full buffer drops the arrival.").limit(4),
        of("pauses", "The controller catches up after pauses of many updates.").phases(&[
            Load { arrivals: 120, percent: 300 },
            Silence { ns: 2000 * MS },
            Load { arrivals: 100, percent: 300 },
            Silence { ns: 90 * MS },
            Load { arrivals: 60, percent: 200 },
            Drain,
        ]),
    ]
}

fn sfb() -> Vec<Case> {
    let source = "Feng, Kandlur, Saha, Shin 2001";
    let quick = &[
        ("sfb.bins", "5"),
        ("sfb.bin_size", "3p"),
        ("sfb.increment", "0.125"),
        ("sfb.decrement", "0.0625"),
        ("sfb.rehash", "0s"),
        ("sfb.warm_up", "0s"),
    ];
    let of = |name, text| case("sfb", name, source, text).set(quick);
    vec![
        of("basic", "Bins of two hash functions; the least probability of a flow's bins decides."),
        of("penalty", "A flow whose bins are all at 1 shares a rate limit.")
            .set(&[("sfb.increment", "0.5"), ("sfb.penalty_rate", "100"), ("sfb.penalty_burst", "2p")])
            .phases(&[Load { arrivals: 150, percent: 300 }, Drain]),
        of("rehash", "Hash functions change, after a second set of bins was warmed up; and after a silence, which was not.")
            .set(&[("sfb.rehash", "20ms"), ("sfb.warm_up", "8ms")])
            .phases(&[
                Load { arrivals: 120, percent: 200 },
                Drain,
                Silence { ns: 70 * MS },
                Load { arrivals: 40, percent: 200 },
            ]),
        of("all-bins", "As Linux: all bins of an arrival have to hold max packets; one of bin_size raises its probability.")
            .set(&[("sfb.full", "all"), ("sfb.max", "5p"), ("sfb.rehash", "20ms"), ("sfb.warm_up", "8ms")])
            .phases(&[Load { arrivals: 150, percent: 300 }, Drain]),
        of("linux", "As Linux 6.12: bins by pieces of one hash, marks up to a half, whole tokens, and hashes that change while bins keep what they hold.")
            .set(&[("sfb.linux", "6.12"), ("sfb.levels", "8"), ("sfb.bins", "16"), ("sfb.max", "12p"), ("sfb.bin_size", "3p")])
            .set(&[("sfb.increment", "0.25"), ("sfb.rehash", "60ms"), ("sfb.warm_up", "20ms"), ("sfb.penalty_rate", "100")])
            .set(&[("sfb.penalty_burst", "3p")])
            .ecn(EVERY_ECN)
            .phases(&[Load { arrivals: 250, percent: 300 }, Drain, Silence { ns: 30 * MS }, Load { arrivals: 60, percent: 300 }]),
    ]
}

fn filters() -> Vec<Case> {
    let overload = &[
        Load { arrivals: 150, percent: 250 },
        Drain,
        Silence { ns: 50 * MS },
        Load { arrivals: 40, percent: 250 },
    ];
    let quick = |case: Case| case.set(QUICK).phases(overload);
    let pd = "Mahajan, Floyd, Wetherall 2001";
    let floyd = "Floyd, Fall 1999, section 4";
    let cho = "Cho 1999; ALTQ";
    vec![
        quick(case(
            "red_pd",
            "basic",
            pd,
            "Flows that appear in enough lists of drops are filtered before RED.",
        ))
        .set(&[
            ("red_pd.target_rtt", "4ms"),
            ("red_pd.appearances", "2"),
            ("red_pd.max_flows", "8"),
        ]),
        quick(case("red_pd", "lists", pd, "Two lists, and one appearance is enough."))
            .set(&[("red_pd.target_rtt", "3ms"), ("red_pd.lists", "2"), ("red_pd.appearances", "1")])
            .set(&[("red_pd.max_flows", "8"), ("red.max_p", "0.3")]),
        quick(case(
            "penalty_box",
            "basic",
            floyd,
            "Flows with a disproportionate share of drops are limited by a bucket.",
        ))
        .set(&[
            ("penalty_box.interval", "20ms"),
            ("penalty_box.min_drops", "5"),
            ("penalty_box.max_flows", "8"),
        ])
        .set(&[("penalty_box.rtt", "100ms"), ("penalty_box.penalty_share", "0.1")]),
        quick(case(
            "penalty_box",
            "unfriendly",
            floyd,
            "The test against the rate of a TCP that sees the same loss.",
        ))
        .set(&[
            ("penalty_box.interval", "20ms"),
            ("penalty_box.min_drops", "5"),
            ("penalty_box.max_flows", "8"),
        ])
        .set(&[("penalty_box.rtt", "20ms"), ("penalty_box.test", "unfriendly")]),
        quick(case(
            "flow_valve",
            "basic",
            cho,
            "Flows that are dropped more often than a TCP would be are shut out, for a while.",
        ))
        .set(&[("flow_valve.back_off", "20ms"), ("flow_valve.forget_after", "60ms"), ("red.max_p", "0.05")])
        .set(&[("flow_valve.max_flows", "4")]),
    ]
}

fn csfq() -> Vec<Case> {
    let source = "Stoica, Shenker, Zhang 1998";
    let quick = &[("csfq.k", "10ms"), ("csfq.k_alpha", "10ms"), ("csfq.k_c", "5ms"), ("csfq.flows", "16")];
    let of = |name, text| case("csfq", name, source, text).set(quick).lengths(LENGTHS);
    vec![
        of(
            "edge",
            "Rates of flows are estimated here, by exponentials of gaps that differ; drops by fair rate / rate.",
        ),
        of("core", "Rates come as labels of 16 bits, one flow has none.")
            .set(&[("csfq.edge", "false")])
            .labels(&[23_300, 21_000, 21_200, 20_000, 0, 19_000]),
        of("overflow", "A small buffer: overflows lower the fair rate.").limit(6),
        of("table-full", "More flows than the table has places for.").set(&[("csfq.flows", "3")]),
    ]
}

fn afd() -> Vec<Case> {
    let source = "Pan, Breslau, Prabhakar, Shenker 2003";
    let quick =
        &[("afd.q_target", "8p"), ("afd.shadow", "40p"), ("afd.sample_every", "2"), ("afd.t_update", "2ms")];
    let of = |name, text| case("afd", name, source, text).set(quick).limit(40);
    vec![
        of(
            "basic",
            "Drops by a flow's packets in the shadow buffer against the fair share, which a controller moves.",
        ),
        of("bytes", "A packet enters the shadow buffer with a probability by its length.").lengths(LENGTHS),
        of("idle", "Very many updates are caught up with at once.").phases(&[
            Load { arrivals: 100, percent: 250 },
            Drain,
            Silence { ns: 100_000 * MS },
            Burst { arrivals: 20 },
            Load { arrivals: 40, percent: 250 },
        ]),
    ]
}
