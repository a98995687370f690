//! The CHOKe family: CHOKe with its variants, in hardware, gCHOKe, MLC(l), CHOKeW, WARD.

use super::red::{BURSTS, EXACT, QUICK, SPACED};
use super::{CLASSES, DOZEN, EVERY_ECN, GREEDY, GREEDY_CLASSES, LENGTHS, MS, case};
use crate::script::Phase::{self, Drain, Load, Silence, Stall};
use crate::{Case, Numbers};

const PAN: &str = "Pan, Prabhakar, Psounis 2000, II.A";
const MICRO: &str = "Pan, Prabhakar, Psounis, IEEE Micro 21(3), 2001";

/// A long stretch of overload, so that removals leave many holes.
const OVERLOAD: &[Phase] = &[
    Load { arrivals: 95, percent: 200 },
    Stall { arrivals: 15 },
    Drain,
    Load { arrivals: 25, percent: 150 },
];

pub(super) fn cases() -> Vec<Case> {
    [
        choke(),
        bursts(),
        numbers_of_candidates(),
        places(),
        weighted(),
        hardware(),
        hardware_cells(),
        hardware_forms(),
        service(),
        classes(),
        gchoke(),
        mlc(),
        chokew(),
        ward(),
    ]
    .concat()
}

fn choke() -> Vec<Case> {
    let of = |name, source, text| case("choke", name, source, text);
    vec![
        of(
            "basic",
            PAN,
            "One candidate: dropped with the arrival when both are of one flow, left in its place otherwise. Nothing is \
             compared below min_th; a matched arrival leaves count as it is.",
        )
        .set(QUICK),
        of("thresholds", PAN, "An average of exactly min_th compares; comparison goes on at and above max_th.")
            .set(EXACT)
            .numbers(Numbers::Eighths)
            .phases(OVERLOAD),
        of(
            "draw-again",
            "D. Lemire, ACM TOMACS 29(1), 2019, algorithm 5",
            "Random numbers at the ends of their range: some are not used, so that every place is equally likely.",
        )
        .set(QUICK)
        .numbers(Numbers::Ends)
        .phases(OVERLOAD),
        of(
            "holes",
            "docs/decisions/leaky-fifo.md",
            "Many matches in a long queue: draws that meet a hole are made again, and the ring is closed up.",
        )
        .set(&[("red.min_th", "20p"), ("red.max_th", "200p"), ("red.w_q", "0.0625"), ("red.max_p", "0")])
        .set(&[("choke.candidates", "6")])
        .limit(60)
        .flows(&[(1, 1, 0), (2, 1, 0), (3, 1, 0), (4, 3, 0), (5, 1, 0), (6, 3, 0), (7, 1, 0), (8, 1, 0), (9, 1, 0)])
        .phases(&[Stall { arrivals: 170 }, Load { arrivals: 60, percent: 300 }, Drain]),
        of("ecn", "RFC 3168", "RED marks, but a matched pair is dropped whatever its ECN field.")
            .set(QUICK)
            .set(&[("red.ecn", "true"), ("red.max_p", "0.5"), ("red.max_th", "7p")])
            .flows(DOZEN)
            .ecn(EVERY_ECN)
            .phases(OVERLOAD),
        of(
            "red-first",
            "Tang, Wang, Low 2004, approximation 1",
            "RED decides first; packets that it keeps are compared. A mark waits for the outcome.",
        )
        .set(QUICK)
        .set(&[("choke.order", "red_first"), ("red.ecn", "true"), ("red.max_p", "0.3")])
        .ecn(EVERY_ECN)
        .phases(OVERLOAD),
        of("count-on-match", PAN, "A matched arrival advances count.")
            .set(QUICK)
            .set(&[("choke.count_on_match", "true"), ("red.max_p", "0.4")]),
        of(
            "count-on-match-ns2",
            "ns-2 red.cc",
            "The first unmatched arrival of an excursion over min_th is kept, though matched ones came before it and were \
             counted.",
        )
        .set(QUICK)
        .set(&[("choke.count_on_match", "true"), ("red.ns2_compat", "true"), ("red.max_p", "1")])
        .phases(OVERLOAD),
    ]
}

fn bursts() -> Vec<Case> {
    let source = "docs/reference/disciplines/choke.md";
    let of = |name, text| case("choke", name, source, text).set(SPACED).phases(BURSTS);
    vec![
        of("burst-average-once", "Whether a burst is compared at all goes by the average at its first packet.")
            .bursts(&["average_once"]),
        of(
            "burst-snapshot",
            "Candidates are packets that waited as the burst began and still wait; without any, nothing is drawn.",
        )
        .set(&[("red.min_th", "1p")])
        .bursts(&["snapshot"]),
        of("burst-count-down", "A matched arrival takes nothing from the gap.").bursts(&["count_down"]),
        of("burst-modes", "All three modes, with numbers that are refused in draws of candidates.")
            .numbers(Numbers::Ends)
            .flows(DOZEN)
            .bursts(&["average_once", "snapshot", "count_down"]),
    ]
}

fn numbers_of_candidates() -> Vec<Case> {
    let of = |name, source, text| case("choke", name, source, text).set(QUICK).phases(OVERLOAD);
    vec![
        of("candidates-0", PAN, "No candidates: RED.").set(&[("choke.candidates", "0")]),
        of(
            "candidates-3",
            PAN,
            "Three different candidates, all drawn before any is dropped; all that match are. A queue of three or fewer \
             is compared whole, without a random number.",
        )
        .set(&[("choke.candidates", "3"), ("red.min_th", "0p")]),
        of("replacement", MICRO, "Four candidates with replacement: a packet drawn twice counts once.")
            .set(&[("choke.candidates", "4"), ("choke.replacement", "true"), ("red.min_th", "0p")]),
        of("schedule-two", PAN, "One candidate in the lower half, two in the upper half; regions are half-open upward.")
            .set(&[("choke.schedule", "two")]),
        of("schedule-odd", "Pan, Prabhakar, Psounis 2000, III.C", "1, 3, 5, 7 candidates in four regions, 7 above max_th.")
            .set(&[("choke.schedule", "odd"), ("choke.regions", "4"), ("red.w_q", "0.5")]),
        of("schedule-even", MICRO, "2, 4, 6 candidates in three regions, 6 above max_th.")
            .set(&[("choke.schedule", "even")]),
        of("schedule-list", MICRO, "A list of candidates by region that begins with none.")
            .set(&[("choke.schedule", "[0, 1, 1, 6]"), ("red.w_q", "1"), ("red.min_th", "4p")]),
    ]
}

fn places() -> Vec<Case> {
    let of = |name, source, text| case("choke", name, source, text).set(QUICK).phases(OVERLOAD);
    let front = "Pan, Prabhakar, Psounis 2000, IV.A";
    vec![
        of("front", front, "The candidate is the head; no random number.").set(&[("choke.draw", "head")]),
        of("front-3", MICRO, "The three packets nearest the head.")
            .set(&[("choke.draw", "head"), ("choke.candidates", "3")]),
        of("back", "Pan, Prabhakar, Psounis 2000, IV.B", "The candidate is the tail.")
            .set(&[("choke.draw", "tail")]),
        of(
            "spread",
            MICRO,
            "Three candidates evenly spread from the head: those with floor(t n / 3) packets before them.",
        )
        .set(&[("choke.draw", "spread"), ("choke.candidates", "3"), ("red.min_th", "0p")]),
    ]
}

fn weighted() -> Vec<Case> {
    let of = |name, text| case("choke", name, MICRO, text).set(QUICK).lengths(LENGTHS).phases(OVERLOAD);
    vec![
        of("byte", "A packet is drawn with a probability proportional to its bytes.")
            .set(&[("choke.sampling", "byte")]),
        of("byte-3", "Three different candidates by bytes: what is drawn already weighs nothing.").set(&[
            ("choke.sampling", "byte"),
            ("choke.candidates", "3"),
            ("red.min_th", "1p"),
        ]),
        of("cell", "A packet weighs as many cells of 400 bytes as it fills, rounded up.").set(&[
            ("choke.sampling", "cell"),
            ("choke.cell_size", "400B"),
            ("choke.candidates", "2"),
        ]),
        of("average-in-cells", "The average and its thresholds count cells.")
            .set(&[("choke.sampling", "cell"), ("choke.cell_size", "100B"), ("choke.average_in", "cells")])
            .set(&[("red.min_th", "20p"), ("red.max_th", "90p")]),
        of(
            "average-in-bytes",
            "The average counts bytes, in packets of mean size, and draws are by packets.",
        )
        .set(&[("choke.average_in", "bytes"), ("red.mean_packet_size", "500B")]),
    ]
}

fn hardware() -> Vec<Case> {
    let source = "docs/reference/disciplines/choke-hardware.md";
    let of = |name, text| case("choke_hardware", name, source, text).set(QUICK).phases(OVERLOAD);
    vec![
        of(
            "basic",
            "Candidates are addresses of a list memory; a match sets a flag, and the head discards it.",
        ),
        of("live", "Addresses of waiting packets only.").set(&[("choke_hardware.addresses", "live")]),
        of("memory", "Any address of the memory; one that is free is drawn again.")
            .set(&[("choke_hardware.addresses", "memory"), ("choke_hardware.list_limit", "40")]),
        of("memory-misses", "Any address of the memory; one that is free is a miss.")
            .set(&[("choke_hardware.addresses", "memory"), ("choke_hardware.list_limit", "40")])
            .set(&[("choke_hardware.unoccupied_misses", "true")]),
        of("linux", "A place between head and tail, as the ring of Linux has them, with a bound on tries.")
            .set(&[("choke_hardware.addresses", "linux"), ("choke_hardware.max_tries", "3")]),
        of("marked-miss", "A marked address is a miss.").set(&[("choke_hardware.marked", "miss")]),
        of("marked-blind", "A marked address still matches: the arrival is dropped alone.")
            .set(&[("choke_hardware.marked", "blind")]),
        of("banks", "Three candidates from two banks of the memory, in turn.")
            .set(&[("choke_hardware.banks", "2"), ("choke_hardware.candidates", "3")]),
        of("count-on-match", "A matched arrival advances count.")
            .set(&[("choke_hardware.count_on_match", "true"), ("red.max_p", "0.4")]),
        of("physical-length", "The average counts marked packets as well.")
            .set(&[("choke_hardware.physical_length", "true")]),
    ]
}

fn hardware_cells() -> Vec<Case> {
    let source = "docs/reference/disciplines/choke-hardware.md";
    let of = |name, text| case("choke_hardware", name, source, text).set(QUICK).phases(OVERLOAD);
    vec![
        of("cells", "Packets of several cells: any of them may be drawn, and all are marked.")
            .set(&[("choke_hardware.cell_size", "400B"), ("choke_hardware.candidates", "2")])
            .lengths(LENGTHS),
        of("mark-one-cell", "The flag of the drawn cell alone is set.")
            .set(&[("choke_hardware.cell_size", "400B"), ("choke_hardware.mark_one_cell", "true")])
            .lengths(LENGTHS),
        of(
            "fifos",
            "Three FIFOs share a memory, served in turn; each has an average and a quota of entries.",
        )
        .set(&[("choke_hardware.fifos", "3"), ("choke_hardware.quota", "9"), ("red.max_th", "7p")])
        .flows(CLASSES),
    ]
}

fn hardware_forms() -> Vec<Case> {
    let source = "docs/reference/disciplines/choke-hardware.md";
    let of = |name, text| case("choke_hardware", name, source, text).set(QUICK).phases(OVERLOAD);
    vec![
        of("head", "The two packets nearest the head; marked ones are passed over.")
            .set(&[("choke_hardware.addresses", "head"), ("choke_hardware.candidates", "2")]),
        of("tail", "The two packets nearest the tail; a marked one is a candidate in vain.")
            .set(&[("choke_hardware.addresses", "tail"), ("choke_hardware.candidates", "2")])
            .set(&[("choke_hardware.marked", "miss")]),
        of("schedule", "One, three and five candidates in three regions.")
            .set(&[("choke_hardware.schedule", "odd")]),
        of("linux-holes", "The ring of today's kernels: holes at its tail are drawn as well.")
            .set(&[("choke_hardware.addresses", "linux_holes")]),
        of("linux-red", "As Linux 6.12: its ring, and RED with a whole average and a number drawn in advance.")
            .set(&[("choke_hardware.addresses", "linux_6.12"), ("red.ecn", "true"), ("red.max_p", "0.4")])
            .ecn(EVERY_ECN),
        of(
            "packet-bit",
            "The packet has the mark bit: it stays until its turn, counts, and is compared again.",
        )
        .set(&[("choke_hardware.mark_bit", "packet")]),
        of(
            "distinct",
            "Four different candidates: a packet drawn for this arrival is drawn again, and a queue of fewer is compared whole.",
        )
        .set(&[("choke_hardware.candidates", "4"), ("choke_hardware.replacement", "false"), ("red.min_th", "0p")]),
        of(
            "distinct-marked",
            "Three different candidates of the packets that wait, marked ones included: a miss is not drawn twice either.",
        )
        .set(&[("choke_hardware.candidates", "3"), ("choke_hardware.replacement", "false")])
        .set(&[("choke_hardware.marked", "miss"), ("choke_hardware.addresses", "memory")])
        .set(&[("choke_hardware.list_limit", "40"), ("choke_hardware.cell_size", "400B")])
        .lengths(LENGTHS),
        of("short-ids", "Ids of three bits: flows 2 and 4 share one, and 3, 5 and 6 another; the greedy flow has its own.")
            .set(&[("choke_hardware.id_bits", "3")]),
        of(
            "short-ids-salt",
            "Ids of two bits under another key: the greedy flow shares its id with flow 2, also where marked entries match.",
        )
        .set(&[("choke_hardware.id_bits", "2"), ("choke_hardware.salt", "4")])
        .set(&[("choke_hardware.marked", "blind"), ("choke_hardware.candidates", "2")]),
        of("long-list", "Draws from all of a list memory of more than 1,024 entries.")
            .set(&[("choke_hardware.addresses", "memory"), ("choke_hardware.list_limit", "1500")])
            .set(&[("choke_hardware.cell_size", "100B")]),
    ]
}

fn service() -> Vec<Case> {
    let of = |name, source, text| case("choke_service", name, source, text).set(QUICK).phases(OVERLOAD);
    let random = "Pan, Prabhakar, Psounis 2000, IV.A";
    let back = "Pan, Prabhakar, Psounis 2000, IV.B";
    vec![
        of(
            "random",
            random,
            "The candidate is any packet, and so is the one that leaves next, by numbers of a stream of its own.",
        ),
        of("random-draw-again", random, "Random numbers at the ends of their range: some are not used.")
            .numbers(Numbers::Ends),
        of("stack", back, "Candidate and next departure are the newest packet; no random number.")
            .set(&[("choke_service.draw", "tail"), ("choke_service.serve", "tail")]),
    ]
}

fn classes() -> Vec<Case> {
    let source = "Pan, Prabhakar, Psounis 2000, footnote 2";
    let of = |name, text| {
        case("class_choke", name, source, text)
            .set(QUICK)
            .flows(GREEDY_CLASSES)
            .lengths(LENGTHS)
            .phases(OVERLOAD)
    };
    vec![
        of(
            "weights",
            "Weights 1, 2 and 1.5: turns by deficit. Each class has an average and candidates of its own.",
        )
        .set(&[("class_choke.weights", "[1, 2, 1.5]")]),
        of("small-quantum", "Packets longer than the quantum wait for several turns.")
            .set(&[("class_choke.weights", "[1, 3]"), ("class_choke.quantum", "200B")]),
        of("candidates-3", "Three different candidates, all of the arrival's class.").set(&[
            ("class_choke.weights", "[1, 1]"),
            ("class_choke.candidates", "3"),
            ("red.min_th", "0p"),
        ]),
        of("limit-5", "Two classes share room for five packets: three and two.")
            .set(&[("class_choke.weights", "[1, 1]"), ("red.min_th", "0p")])
            .limit(5),
        of("ecn", "RED marks by the average of the class.")
            .set(&[("class_choke.weights", "[2, 1]"), ("red.ecn", "true"), ("red.max_p", "0.5")])
            .ecn(EVERY_ECN),
    ]
}

fn gchoke() -> Vec<Case> {
    let of = |name, text| {
        case("gchoke", name, "Eshete, Jiang 2012", text).set(QUICK).flows(GREEDY).phases(OVERLOAD)
    };
    vec![
        of(
            "basic",
            "After a match one more candidate, until one is of another flow; all that matched are dropped.",
        ),
        of("max-draws", "At most two candidates.").set(&[("gchoke.max_draws", "2")]),
        of("whole-queue", "Of one flow and a rare other: the draws end with the queue.")
            .set(&[("gchoke.max_draws", "100"), ("red.min_th", "1p")])
            .flows(&[(1, 12, 0), (2, 1, 0)]),
        of("draw-again", "Random numbers at the ends of their range: some are not used.")
            .numbers(Numbers::Ends),
        of("ecn", "RED marks; matched packets are dropped whatever their ECN field.")
            .set(&[("red.ecn", "true"), ("red.max_p", "0.5")])
            .ecn(EVERY_ECN),
    ]
}

fn mlc() -> Vec<Case> {
    let quick = &[("mlc.t_update", "5ms"), ("mlc.step", "0.25")];
    let of = |name, text| {
        case("mlc", name, "Stanojevic, Shorten 2007", text).set(quick).flows(GREEDY).phases(OVERLOAD)
    };
    vec![
        of(
            "basic",
            "Two packets of a trial must match; trials rise while more than half of the buffer waits.",
        ),
        of("level-1", "One packet a trial.").set(&[("mlc.level", "1")]),
        of("level-3", "Three packets a trial.").set(&[("mlc.level", "3")]),
        of("bounds", "At most two trials, at least one in two arrivals.").set(&[
            ("mlc.max_trials", "2"),
            ("mlc.step", "1"),
            ("mlc.target", "0.2"),
        ]),
        of("coins", "Draws often equal the fraction, which makes no further trial.")
            .numbers(Numbers::Eighths),
        of("silence", "Updates that are due after a silence are made by the queue that was left.").phases(&[
            Load { arrivals: 70, percent: 250 },
            Drain,
            Silence { ns: 90 * MS },
            Stall { arrivals: 40 },
            Drain,
        ]),
    ]
}

fn chokew() -> Vec<Case> {
    let source = "CHOKeW, MILCOM 2005";
    let quick = &[
        ("chokew.l_th", "4p"),
        ("chokew.l_minus", "8p"),
        ("chokew.l_plus", "12p"),
        ("chokew.p_plus", "0.125"),
        ("chokew.p_minus", "0.0625"),
    ];
    let of = |name, text| case("chokew", name, source, text).set(quick).flows(CLASSES).phases(OVERLOAD);
    vec![
        of(
            "basic",
            "The drawing factor moves with the queue that an arrival finds; its fraction is the probability of one more draw.",
        ),
        of("fractions", "Random numbers often equal the fraction, which makes no further draw.")
            .numbers(Numbers::Eighths),
        of(
            "many-draws",
            "A factor of several draws, with replacement, until one matches or the queue was drawn through.",
        )
        .set(&[("chokew.p_plus", "1.5"), ("chokew.weights", "[1, 1.5, 4]")]),
        of("max-draws", "At most two draws.").set(&[("chokew.p_plus", "1.5"), ("chokew.max_draws", "2")]),
        of("uncapped", "As in figure 1: more draws than packets wait, some of them of packets drawn before.")
            .set(&[("chokew.p_plus", "6"), ("chokew.p_minus", "2"), ("chokew.uncapped", "true")])
            .flows(DOZEN),
        of("with-red", "RED decides about what no draw matched.")
            .set(QUICK)
            .set(&[("chokew.with_red", "true")]),
    ]
}

fn ward() -> Vec<Case> {
    let source = "A TCP-friendly stateless AQM scheme (WARD), sections 3.1 and 3.2";
    let of = |name, text| case("ward", name, source, text).phases(OVERLOAD);
    vec![
        of("basic", "The weight of the position is the probability that two packets are drawn; four cases.")
            .limit(20),
        of(
            "limit-7",
            "Weights are the tenths of position / limit, cut off; positions 1 and 7 need no random number.",
        )
        .limit(7),
        of("pairs", "Pairs of one flow that is not the arrival's (case 3), with a full buffer.")
            .limit(6)
            .flows(DOZEN)
            .phases(&[Load { arrivals: 130, percent: 500 }, Drain]),
        of("full-case-3-drops", "Case 3 with a full buffer drops the arrival as well.")
            .limit(6)
            .set(&[("ward.full_case3", "drop")])
            .flows(DOZEN)
            .phases(&[Load { arrivals: 130, percent: 500 }, Drain]),
    ]
}
