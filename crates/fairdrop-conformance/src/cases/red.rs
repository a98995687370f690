//! `DropTail`, RED, and what stands on RED alone: FRED, RIO, Back CHOKe with a memory.

use fairdrop::Ecn;

use super::{CLASSES, EVERY_ECN, LENGTHS, MS, case};
use crate::script::Phase;
use crate::script::Phase::{Burst, Bursts, Drain, Load, Poll, Silence, Stall};
use crate::{Case, Numbers};

/// Thresholds that traffic of a few hundred packets crosses again and again.
pub(super) const QUICK: &[(&str, &str)] =
    &[("red.min_th", "3p"), ("red.max_th", "12p"), ("red.w_q", "0.125"), ("red.max_p", "0.1")];
/// The average is the queue itself, and half of the probabilities of a queue of 4 to 8 are multiples of 1/8.
pub(super) const EXACT: &[(&str, &str)] =
    &[("red.min_th", "4p"), ("red.max_th", "8p"), ("red.w_q", "1"), ("red.max_p", "0.5")];

const FLOYD: &str = "Floyd, Jacobson 1993";

pub(super) fn cases() -> Vec<Case> {
    [droptail(), red(), red_idle(), red_switches(), red_bursts(), red_linux(), fred(), rio(), memory()]
        .concat()
}

fn droptail() -> Vec<Case> {
    let name = "droptail";
    let source = "docs/reference/disciplines/droptail.md";
    vec![
        case(name, "basic", source, "A FIFO that drops the arrival when it is full.").limit(10),
        case(name, "limit-1", source, "Room for one packet, the one in transmission not counted.").limit(1),
        case(name, "bytes", source, "The limit counts packets, whatever their length.")
            .limit(5)
            .lengths(LENGTHS)
            .phases(&[Burst { arrivals: 12 }, Load { arrivals: 60, percent: 150 }, Drain]),
    ]
}

fn red() -> Vec<Case> {
    let of = |case_name, source, text| case("red", case_name, source, text);
    vec![
        of("basic", FLOYD, "Light load, overload, an idle link, overload.").set(QUICK),
        of(
            "thresholds",
            FLOYD,
            "The average is exactly min_th (a random draw) and exactly max_th (every packet is dropped); draws often \
             equal the probability, which keeps the packet.",
        )
        .set(EXACT)
        .numbers(Numbers::Eighths)
        .phases(&[Load { arrivals: 100, percent: 190 }, Stall { arrivals: 40 }, Drain, Burst { arrivals: 12 }, Drain]),
        of(
            "count",
            "Floyd, Jacobson 1993, eq. 4",
            "Early drops are spaced: count grows with every packet that is tested, is 0 after a drop for any cause \
             between the thresholds, and -1 below min_th.",
        )
        .set(&[("red.min_th", "2p"), ("red.max_th", "20p"), ("red.w_q", "0.25"), ("red.max_p", "0.6")])
        .phases(&[Load { arrivals: 90, percent: 130 }, Drain, Load { arrivals: 60, percent: 150 }]),
        of(
            "count-after-forced",
            "Floyd, Jacobson 1993, eq. 4",
            "The average falls below max_th after forced drops: count, 0 after the last of them, is 1 at the next packet.",
        )
        .set(&[("red.min_th", "4p"), ("red.max_th", "6p"), ("red.w_q", "0.25"), ("red.max_p", "0.3")])
        .phases(&[Load { arrivals: 150, percent: 220 }, Drain]),
        of(
            "first-packet",
            FLOYD,
            "Defaults of the average (w_q 0.002): a long queue under a low average drops nothing but what does not fit.",
        )
        .set(&[("red.min_th", "5p"), ("red.max_th", "15p")])
        .limit(20)
        .phases(&[Stall { arrivals: 60 }, Load { arrivals: 40, percent: 200 }, Drain]),
        of(
            "hard-limit",
            FLOYD,
            "The buffer is full while the average is between the thresholds: the limit is of the queue and not of the \
             average, and an overflow resets count.",
        )
        .set(&[("red.min_th", "2p"), ("red.max_th", "25p"), ("red.w_q", "0.25"), ("red.max_p", "0.02")])
        .limit(8)
        .phases(&[Load { arrivals: 150, percent: 220 }, Drain]),
    ]
}

fn red_idle() -> Vec<Case> {
    let of = |case_name, source, text| case("red", case_name, source, text);
    vec![
        of(
            "idle",
            "Floyd, Jacobson 1993, section 4",
            "Idle periods of many lengths: the average decays by (1 - w_q)^m, m whole packet times, and then takes one \
             ordinary step.",
        )
        .set(QUICK)
        .phases(&[
            Burst { arrivals: 25 },
            Drain,
            Silence { ns: 400_000 },
            Burst { arrivals: 8 },
            Drain,
            Silence { ns: 600_000 },
            Burst { arrivals: 8 },
            Drain,
            Silence { ns: MS },
            Burst { arrivals: 8 },
            Drain,
            Silence { ns: 3 * MS },
            Burst { arrivals: 20 },
            Drain,
            Silence { ns: 17 * MS + 1 },
            Burst { arrivals: 20 },
            Drain,
            Silence { ns: 5_000 * MS },
            Burst { arrivals: 20 },
            Drain,
        ]),
        of(
            "idle-polls",
            "Floyd, Jacobson 1993, section 4",
            "A link without packets asks again and again: its idle time counts from the first time.",
        )
        .set(QUICK)
        .phases(&[
            Load { arrivals: 40, percent: 200 },
            Drain,
            Poll { times: 10, every_ns: 700_000 },
            Burst { arrivals: 20 },
            Drain,
            Poll { times: 4, every_ns: 1_200_000 },
            Load { arrivals: 40, percent: 200 },
            Drain,
            Poll { times: 10, every_ns: 999_999 },
            Burst { arrivals: 20 },
            Drain,
        ]),
        of(
            "idle-decay-only",
            "Floyd, Jacobson 1993, figure 2",
            "The first arrival after an idle time, however short, only decays the average; one at an empty queue before a \
             busy transmitter takes a step.",
        )
        .set(QUICK)
        .set(&[("red.idle_decay_only", "true"), ("red.w_q", "0.25")])
        .phases(&[
            Burst { arrivals: 25 },
            Drain,
            Silence { ns: 400_000 },
            Load { arrivals: 30, percent: 150 },
            Drain,
            Burst { arrivals: 30 },
            Drain,
            Silence { ns: 2 * MS },
            Burst { arrivals: 30 },
            Drain,
            Silence { ns: 900_000 },
            Burst { arrivals: 30 },
            Drain,
            Load { arrivals: 40, percent: 90 },
            Drain,
        ]),
        of(
            "idle-and-dropped",
            "Floyd, Jacobson 1993, section 4",
            "The first arrival after an idle period is dropped: the link is idle again from then on, and the period before \
             is not counted twice.",
        )
        .set(&[("red.min_th", "1p"), ("red.max_th", "2p"), ("red.w_q", "0.05")])
        .phases(&[
            Burst { arrivals: 30 },
            Stall { arrivals: 40 },
            Drain,
            Load { arrivals: 60, percent: 60 },
            Drain,
            Load { arrivals: 30, percent: 20 },
        ]),
    ]
}

fn red_switches() -> Vec<Case> {
    let of = |case_name, source, text| case("red", case_name, source, text);
    let long = &[
        Load { arrivals: 110, percent: 200 },
        Stall { arrivals: 25 },
        Drain,
        Load { arrivals: 30, percent: 150 },
    ];
    vec![
        of(
            "gentle",
            "Floyd 2000",
            "From max_th to twice max_th the probability rises from max_p to 1; at exactly twice max_th it is a forced drop.",
        )
        .set(EXACT)
        .set(&[("red.gentle", "true"), ("red.ecn", "true"), ("red.independent", "true")])
        .ecn(&[Ecn::NotCapable, Ecn::Ect0, Ecn::Ect1])
        .numbers(Numbers::Eighths)
        .phases(long),
        of("gentle-average", "Floyd 2000", "Gentle RED with an average that lags behind.")
            .set(QUICK)
            .set(&[("red.gentle", "true")])
            .phases(long),
        of("wait", "ns-2 red.cc, wait_", "Early drops are spaced over 1/p to 2/p packets.")
            .set(&[("red.min_th", "2p"), ("red.max_th", "20p"), ("red.w_q", "0.25"), ("red.max_p", "0.6")])
            .set(&[("red.wait", "true")]),
        of("independent", "Tang, Wang, Low 2004", "Early drops are not spaced; the count does not matter.")
            .set(EXACT)
            .set(&[("red.independent", "true")])
            .numbers(Numbers::Eighths),
        of(
            "ns2-compat",
            "ns-2 red.cc",
            "The first packet over min_th is never dropped, nor any while at most one waits.",
        )
        .set(&[("red.min_th", "1p"), ("red.max_th", "6p"), ("red.w_q", "0.25"), ("red.max_p", "0.5")])
        .set(&[("red.ns2_compat", "true")]),
        of(
            "ns2-compat-forced",
            "ns-2 red.cc",
            "The queue runs down to one packet while the average is above max_th. Forced drops do not use up the pass: the first \
             packet after them is kept, without a random number.",
        )
        .set(&[("red.min_th", "2p"), ("red.max_th", "4p"), ("red.w_q", "0.125"), ("red.max_p", "1")])
        .set(&[("red.ns2_compat", "true")])
        .phases(&[
            Burst { arrivals: 40 },
            Drain,
            Burst { arrivals: 20 },
            Load { arrivals: 40, percent: 180 },
            Drain,
            Burst { arrivals: 30 },
            Drain,
            Burst { arrivals: 20 },
            Drain,
        ]),
        of(
            "byte-mode",
            "Floyd, Jacobson 1993, section 4",
            "The probability before spacing is scaled with length / mean_packet_size, for packets longer and shorter.",
        )
        .set(QUICK)
        .set(&[("red.byte_mode", "true"), ("red.mean_packet_size", "500B"), ("red.max_p", "0.2")])
        .lengths(LENGTHS),
        of(
            "ecn",
            "RFC 3168; Floyd 1994",
            "ECN-capable packets are marked where others are dropped, at random and by force; overflows are dropped.",
        )
        .set(QUICK)
        .set(&[("red.ecn", "true"), ("red.max_p", "0.4")])
        .ecn(EVERY_ECN)
        .limit(16)
        .phases(&[Load { arrivals: 90, percent: 250 }, Stall { arrivals: 20 }, Drain, Load { arrivals: 30, percent: 150 }]),
    ]
}

/// Bursts that fill the buffer, cross both thresholds and end in idle times.
pub(super) const BURSTS: &[Phase] = &[
    Bursts { bursts: 12, most: 12, percent: 170 },
    Drain,
    Silence { ns: 7 * MS + 300_000 },
    Bursts { bursts: 4, most: 64, percent: 220 },
    Drain,
    Bursts { bursts: 14, most: 9, percent: 150 },
    Drain,
];

/// The average moves slowly, and half of the spacings are above 16 packets.
pub(super) const SPACED: &[(&str, &str)] =
    &[("red.min_th", "3p"), ("red.max_th", "24p"), ("red.w_q", "0.25"), ("red.max_p", "0.25")];

fn red_bursts() -> Vec<Case> {
    let source = "docs/reference/disciplines/red.md";
    let of = |name, text| case("red", name, source, text).set(SPACED).phases(BURSTS);
    vec![
        of(
            "burst-average-once",
            "The average moves with the first packet of a burst, and holds for all of them, which overflow where the average alone \
             would force drops.",
        )
        .bursts(&["average_once"]),
        of(
            "burst-count-down",
            "Early drops by a count-down: a gap of its own under a bound that is a power of two, which is raised as spacing raises the \
             probability above it.",
        )
        .bursts(&["count_down"]),
        of("burst-modes", "The average once a burst, and a count-down; packets are marked or dropped.")
            .set(&[("red.ecn", "true"), ("red.gentle", "true")])
            .ecn(EVERY_ECN)
            .bursts(&["average_once", "count_down"]),
    ]
}

fn red_linux() -> Vec<Case> {
    let source = "Linux 6.12, include/net/red.h and net/sched/sch_red.c";
    let of = |case_name, text| case("red", case_name, source, text).set(QUICK).set(&[("red.linux", "6.12")]);
    vec![
        of("linux", "As Linux 6.12: an average of whole 2^-3 bytes, a number drawn before the drop that it is for, marks.")
            .set(&[("red.ecn", "true"), ("red.max_p", "0.4")])
            .lengths(LENGTHS)
            .ecn(EVERY_ECN)
            .phases(&[Load { arrivals: 110, percent: 200 }, Drain, Load { arrivals: 60, percent: 220 }, Drain]),
        of("linux-idle", "As Linux 6.12: idle times of many lengths shift the average by the table that tc makes.").phases(&[
            Burst { arrivals: 25 },
            Drain,
            Silence { ns: 50_000 },
            Burst { arrivals: 12 },
            Drain,
            Silence { ns: 2 * MS },
            Burst { arrivals: 16 },
            Drain,
            Silence { ns: 120 * MS },
            Burst { arrivals: 16 },
            Drain,
            Silence { ns: 400 * MS },
            Burst { arrivals: 16 },
            Drain,
            Silence { ns: 5_000 * MS },
            Burst { arrivals: 16 },
            Drain,
        ]),
    ]
}

fn fred() -> Vec<Case> {
    let source = "Lin, Morris 1997";
    let few = &[("fred.min_q", "2")];
    vec![
        case(
            "fred",
            "basic",
            source,
            "A greedy flow is held to the average per active flow, counted at arrivals and departures.",
        )
        .set(QUICK)
        .set(few)
        .set(&[("fred.many_flows", "false")]),
        case(
            "fred",
            "many-flows",
            source,
            "Each flow may have two packets when the average is at max_th or above.",
        )
        .set(QUICK)
        .set(few)
        .flows(&[
            (1, 4, 0),
            (2, 1, 0),
            (3, 1, 0),
            (4, 1, 0),
            (5, 1, 0),
            (6, 1, 0),
            (7, 1, 0),
            (8, 1, 0),
            (9, 1, 0),
        ])
        .phases(&[Load { arrivals: 120, percent: 300 }, Drain, Load { arrivals: 40, percent: 200 }]),
    ]
}

fn rio() -> Vec<Case> {
    let source = "Clark, Fang 1998";
    let inside = &[("rio.min_th_in", "5p"), ("rio.max_th_in", "15p"), ("rio.max_p_in", "0.05")];
    let flows = &[(1, 3, 0), (2, 2, 1), (3, 2, 1), (4, 1, 2)];
    vec![
        case(
            "rio",
            "basic",
            source,
            "Two averages: packets in the profile (class 1) by theirs, others by that of all.",
        )
        .set(QUICK)
        .set(inside)
        .flows(flows),
        case(
            "rio",
            "ns2-compat",
            "ns-2 red.cc",
            "The two draws of ns-2, and no drop while at most one packet waits.",
        )
        .set(QUICK)
        .set(inside)
        .set(&[("rio.ns2_compat", "true")])
        .flows(flows),
    ]
}

fn memory() -> Vec<Case> {
    let source = "Pan, Prabhakar, Psounis 2000, IV.B";
    let of = |name, text| case("back_choke_memory", name, source, text).set(QUICK).flows(CLASSES);
    vec![
        of("basic", "An arrival of the flow that was admitted last is dropped, at and above min_th only."),
        of("memory-3", "The flows of the last three admissions; fewer flows than that find no way in.")
            .set(&[("back_choke_memory.memory", "3")]),
    ]
}
