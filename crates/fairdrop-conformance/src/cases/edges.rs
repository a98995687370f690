//! Exact ties, ends of ranges, and state that takes effect late: each vector notices wrong forms of its reference that no
//! other does (docs/reference/vector-mutation.md).
//!
//! In many of them the link takes no time, so that counts do not fade and sums stay exact; or every number is 0 in its lower
//! half, with which COLLAR samples every departure.

use fairdrop::{Ecn, info};

use super::{EVERY_ECN, LENGTHS, MS, case};
use crate::script::Phase::{self, Drain, Even, Flow, Load, Silence};
use crate::{Case, Numbers};

/// Every departure is a sample, and nothing that is not certain is dropped.
const SAMPLE_ALL: Numbers = Numbers::Same(0xffff_ffff_0000_0000);
/// Every departure is a sample, and every draw is 0.
const ZEROS: Numbers = Numbers::Same(0);
const HALF: Numbers = Numbers::Same(1 << 63);

/// Packets of less than 1000 bytes take no time on this link, and those of less than a megabyte on the other.
const TERABIT: u64 = 8_000_000_000_000;
const PETABIT: u64 = 8_000_000_000_000_000;

/// Four flows of two classes.
const TWO_CLASSES: &[(u64, u32, u8)] = &[(1, 6, 0), (2, 2, 1), (3, 3, 0), (4, 1, 1)];
const THREE: &[(u64, u32, u8)] = &[(1, 2, 0), (2, 1, 0), (3, 1, 0)];

pub(super) fn cases() -> Vec<Case> {
    [
        sketches(),
        draws(),
        hardware(),
        collar(),
        collar_ties(),
        collar_lengths(),
        collarw(),
        collar_hosts(),
        collar_sparse(),
    ]
    .concat()
}

fn of(discipline: &'static str, name: &'static str, text: &'static str) -> Case {
    case(discipline, name, info(discipline).map_or("", |info| info.source), text)
}

/// `arrivals` packets of a flow, `gap_ns` apart.
const fn one(flow: u64, len: u32, arrivals: u32, gap_ns: u64) -> Phase {
    Flow { flow, step: 0, len, arrivals, gap_ns }
}

/// One packet of each of `arrivals` flows from `flow` on, `gap_ns` apart.
const fn each(flow: u64, len: u32, arrivals: u32, gap_ns: u64) -> Phase {
    Flow { flow, step: 1, len, arrivals, gap_ns }
}

/// Packets of a flow with these lengths, at one instant.
fn lengths(flow: u64, lengths: &[u32]) -> Vec<Phase> {
    lengths.iter().map(|&len| one(flow, len, 1, 0)).collect()
}

/// Of two flows that share their columns one lies at the edge of a column.
fn sketches() -> Vec<Case> {
    let quick =
        &[("ahab.k_flow", "20ms"), ("ahab.k_link", "20ms"), ("ahab.epoch", "3ms"), ("ahab.delta", "1")];
    let ahab = |name, text| of("ahab", name, text).set(quick);
    vec![
        of("afq", "column-edges", "16 bits of a hash are a column's first, and share it with another flow.")
            .set(&[("afq.columns", "3"), ("afq.queues", "2"), ("afq.bytes_per_round", "1500B")])
            .phases(&[
                one(166, 1000, 4, 0),
                one(2918, 1000, 3, 0),
                Drain,
                Silence { ns: MS },
                one(142, 1000, 4, 0),
                one(6403, 1000, 3, 0),
                Drain,
            ]),
        ahab("column-edges", "16 bits of a hash are a column's first, and share it with another flow.")
            .set(&[("ahab.columns", "3")])
            .limit(60)
            .link(4_000_000)
            .phases(&[
                one(17, 1000, 10, 0),
                one(2918, 1000, 3, 0),
                Drain,
                Silence { ns: MS },
                one(9, 1000, 10, 0),
                one(7889, 1000, 3, 0),
                Drain,
            ]),
        ahab("at-below", "A flow's rate is that of the lower threshold: nothing is drawn.")
            .numbers(HALF)
            .link(662_144)
            .phases(&[one(1, 1000, 6, 0), Drain]),
        ahab("high-is-rate", "What the higher threshold lets in is the rate of the link.")
            .numbers(HALF)
            .link(800_000)
            .phases(&[
                each(11, 1000, 4, 0),
                one(20, 1000, 1, 5 * MS),
                Silence { ns: 1_000_000 * MS },
                one(1, 1000, 2, 0),
                one(1, 1000, 2, 5 * MS),
            ]),
        ahab("high-drops", "Without congestion all is let in, and what the higher threshold would let in is the rate of the link.")
            .numbers(Numbers::Same(0x0ccc_cccc_cccc_cccc))
            .link(800_000)
            .phases(&[one(1, 1000, 3, 0), one(1, 1000, 2, 5 * MS)]),
    ]
}

/// Draws that equal a probability, or that fall between two probabilities that are almost the same.
fn draws() -> Vec<Case> {
    vec![
        of("afd", "at-probability", "The draw equals the probability, a half: no drop.")
            .numbers(HALF)
            .limit(60)
            .set(&[("afd.shadow", "8p"), ("afd.q_target", "0p"), ("afd.alpha", "0"), ("afd.beta", "1")])
            .set(&[("afd.sample_every", "1")])
            .phases(&[one(1, 1000, 11, 0), Silence { ns: 7 * MS + 500_000 }, one(1, 1000, 2, 0), Drain]),
        of("csfq", "at-probability", "The draw equals the probability, a half: no drop.")
            .numbers(HALF)
            .link(1 << 23)
            .set(&[
                ("csfq.edge", "false"),
                ("csfq.threshold", "0"),
                ("csfq.k_alpha", "1ms"),
                ("csfq.k_c", "10s"),
            ])
            .flows(&[(1, 1, 0)])
            .labels(&[24 * 1024])
            .phases(&[Even { arrivals: 20, gap_ns: 250_000 }]),
        of(
            "sred",
            "hit",
            "A hit is dropped with the probability and that over the hit frequency: their sum.",
        )
        .numbers(Numbers::Eighths)
        .limit(12)
        .set(&[("sred.zombies", "16"), ("sred.max_p", "0.866")])
        .flows(&(1..=24).map(|flow| (flow, 1, 0)).collect::<Vec<_>>())
        .phases(&[Load { arrivals: 60, percent: 250 }]),
    ]
}

fn hardware() -> Vec<Case> {
    let of = |name, text| of("choke_hardware", name, text);
    let few = &[("red.min_th", "1p"), ("red.max_th", "100p"), ("red.w_q", "0.25"), ("red.max_p", "0.01")];
    let cells = &[("choke_hardware.cell_size", "400B")];
    let full = |name, text| of(name, text).limit(4).set(few).flows(THREE);
    vec![
        of("round-head", "Two FIFOs in one short memory: addresses come round, past the head of one that still waits.")
            .set(&[("red.min_th", "1p"), ("red.max_th", "20p"), ("red.w_q", "0.25"), ("red.max_p", "0.05")])
            .set(&[("choke_hardware.fifos", "2"), ("choke_hardware.list_limit", "8"), ("choke_hardware.addresses", "live")])
            .flows(&[(1, 3, 0), (2, 1, 1), (3, 3, 0), (4, 1, 1), (5, 3, 0)])
            .phases(&[Load { arrivals: 40, percent: 200 }]),
        of("one-bit", "Ids of one bit: any other flow shares one with half of them.")
            .set(super::red::QUICK)
            .set(&[("choke_hardware.id_bits", "1")])
            .phases(&[Load { arrivals: 40, percent: 200 }]),
        of("ns2-compat", "With ns2_compat RED drops nothing while at most one packet waits, and then it does.")
            .set(&[("red.min_th", "1p"), ("red.max_th", "4p"), ("red.w_q", "0.5"), ("red.max_p", "0.5")])
            .set(&[("red.ns2_compat", "true"), ("choke_hardware.candidates", "0")])
            .phases(&[Load { arrivals: 25, percent: 300 }]),
        of("capable", "Without ecn RED drops capable packets as well.")
            .set(super::red::QUICK)
            .set(&[("red.max_p", "1")])
            .ecn(EVERY_ECN)
            .phases(&[Load { arrivals: 50, percent: 200 }]),
        of("at-min-th", "The average, which is the queue itself, equals min_th: an arrival is compared.")
            .set(super::red::QUICK)
            .set(&[("red.w_q", "1")])
            .phases(&[Load { arrivals: 30, percent: 200 }]),
        of("tries", "Three different candidates of two banks, with one try for each: where there is no other it is in vain.")
            .set(&[("red.min_th", "0p"), ("red.max_th", "12p"), ("red.w_q", "0.25"), ("red.max_p", "0.1")])
            .set(&[("choke_hardware.banks", "2"), ("choke_hardware.candidates", "3"), ("choke_hardware.max_tries", "1")])
            .set(&[("choke_hardware.replacement", "false")])
            .phases(&[Load { arrivals: 30, percent: 200 }]),
        of("quota", "A quota of four packets is used up.")
            .set(&[("red.min_th", "2p"), ("red.max_th", "20p"), ("red.w_q", "0.25"), ("red.max_p", "0.05")])
            .set(&[("choke_hardware.fifos", "2"), ("choke_hardware.quota", "4")])
            .flows(TWO_CLASSES)
            .phases(&[Load { arrivals: 40, percent: 250 }]),
        full("one-cell-full", "The data memory is full: what the other cells of marked packets hold counts.")
            .set(cells)
            .set(&[("choke_hardware.mark_one_cell", "true")])
            .lengths(&[(1000, 1), (300, 1)])
            .phases(&[Load { arrivals: 25, percent: 400 }]),
        full("full-cells", "The data memory is full: marked packets hold none of it.")
            .set(cells)
            .lengths(&[(1000, 1), (300, 1)])
            .phases(&[Load { arrivals: 30, percent: 400 }]),
        full("packets-full", "The data memory is full: packets with the mark bit are in it.")
            .limit(6)
            .set(&[("choke_hardware.mark_bit", "packet")])
            .phases(&[Load { arrivals: 20, percent: 300 }]),
        of("overflow", "Overflow sets RED's count to 0, as a forced drop does.")
            .limit(5)
            .set(&[("red.min_th", "1p"), ("red.max_th", "30p"), ("red.w_q", "0.25"), ("red.max_p", "0.3")])
            .set(&[("choke_hardware.candidates", "0")])
            .phases(&[Load { arrivals: 40, percent: 200 }]),
        of("empty-packets", "A packet of no bytes has a cell.")
            .set(&[("red.min_th", "1p"), ("red.max_th", "12p"), ("red.w_q", "0.25")])
            .set(cells)
            .set(&[("choke_hardware.list_limit", "12")])
            .lengths(&[(0, 1), (1000, 2)])
            .phases(&[Load { arrivals: 30, percent: 250 }]),
    ]
}

const QUICK: &[(&str, &str)] = &[("collar.target", "2ms"), ("collar.ids", "128"), ("collar.span", "20ms")];
/// A slow link and a long aim: the base probability rises to its end.
const SLOW: &[(&str, &str)] = &[("collar.target", "20ms"), ("collar.ids", "128"), ("collar.span", "20ms")];

fn collar() -> Vec<Case> {
    let of = |name, text| of("collar", name, text).limit(60).set(QUICK);
    // Waits approach the target from below, so that the root stays above 0 at last.
    let gaps_ns = [
        1_000_000_000,
        700_000_000,
        900_000_000,
        950_000_000,
        970_000_000,
        990_000_000,
        995_000_000,
        996_000_000,
    ];
    let mut steady = vec![one(1, 1, 5, 0)];
    steady.extend(gaps_ns.map(|gap_ns| one(1, 1, 1, gap_ns)));
    steady.extend([one(1, 1100, 1, 998_999_999), one(1, 1, 3, 1_000_000_000), Drain]);
    let mut many =
        vec![each(100, 100_000, 40, 10_000 * MS), Silence { ns: 11_000 * MS }, each(200, 1000, 70, 100 * MS)];
    for first in [300, 320, 340] {
        many.extend([one(1, 1000, 2, 10 * MS), each(first, 1000, 20, 50 * MS)]);
    }
    many.extend([one(1, 1000, 3, 50 * MS), Drain]);
    vec![
        of(
            "most-updates",
            "65,536 updates are made of those that are due, each with a step of a tenth of a nanosecond.",
        )
        .numbers(SAMPLE_ALL)
        .link(8)
        .set(&[("collar.target", "4.5s")])
        .phases(&steady),
        of("many", "More flows than the base probability may follow: a part of it is equal for all.")
            .numbers(Numbers::Same(0x1999_9999_0000_0000))
            .limit(20)
            .link(80_000)
            .set(&[("collar.target", "1s")])
            .phases(&many),
        of("met", "A full table: flows met in the memory several times, capable ones of both kinds.")
            .numbers(Numbers::Ends)
            .link(800_000)
            .set(SLOW)
            .set(&[("collar.sets", "1")])
            .flows(&(1..=14).map(|flow| (flow, if flow < 14 { 3 } else { 1 }, 0)).collect::<Vec<_>>())
            .ecn(&[Ecn::Ect1, Ecn::Ect0, Ecn::NotCapable])
            .phases(&[Load { arrivals: 150, percent: 200 }]),
        of("no-ecn", "Without ecn capable packets are dropped.")
            .link(800_000)
            .set(SLOW)
            .set(&[("collar.ecn", "false")])
            .ecn(EVERY_ECN)
            .phases(&[Load { arrivals: 40, percent: 200 }]),
    ]
}

/// Counts without fading: a limit, a mark, the knee and a place in the table are met exactly.
fn collar_ties() -> Vec<Case> {
    let of = |name, text| of("collar", name, text).limit(60).set(QUICK).link(TERABIT);
    let share = |case: Case, share| case.set(&[("collar.share", share)]);
    let full_set = [
        each(1, 128_511, 9, 0),
        each(1, 128_511, 7, 0),
        each(1, 999_999, 7, 0),
        one(8, 128_511, 1, 0),
        one(8, 15_037, 1, 0),
        one(9, 971_267, 1, 0),
    ];
    vec![
        share(of("at-probability", "The draw equals the excess, a half: no drop."), "0.5")
            .numbers(HALF)
            .phases(&lengths(1, &[511, 512, 1024, 170, 171, 171])),
        share(
            of("at-limit", "A suspect has sent what it may, and no more: the limit does not widen for it."),
            "0.7",
        )
        .numbers(SAMPLE_ALL)
        .phases(
            &[
                lengths(1, &[999, 550, 1000, 1, 1, 722]),
                vec![Drain, Silence { ns: 17 * MS }, one(2, 100, 1, 0)],
            ]
            .concat(),
        ),
        share(of("at-mark", "An excess of 0.08 is dropped, not marked."), "0.51453322552116054")
            .numbers(ZEROS)
            .ecn(&[Ecn::Ect0])
            .phases(&[one(1, 500, 4, 0), one(2, 1000, 1, 0), one(1, 200, 3, 0), Drain]),
        share(of("at-knee", "At the knee the whole excess is dropped."), "0.36714817419295209")
            .numbers(Numbers::Same(0x4ccc_cccc_0000_0000))
            .phases(&[one(1, 500, 2, 0), one(2, 1000, 1, 0), one(1, 200, 2, 0), one(1, 208, 1, 0), Drain]),
        of(
            "least-suspect",
            "The least suspect of a full set has sent what is assumed of a new one: it stays.",
        )
        .numbers(ZEROS)
        .link(PETABIT)
        .set(&[("collar.sets", "1")])
        .phases(&full_set),
        of("nanosecond", "A packet takes a nanosecond: an idle link had room for many.")
            .numbers(SAMPLE_ALL)
            .phases(&[
                one(1, 1000, 4, 0),
                one(1, 500, 1, 0),
                one(1, 1000, 2, 0),
                Drain,
                Silence { ns: 50 },
                one(1, 1000, 2, 0),
                Drain,
            ]),
        share(
            of("spared", "An update while packets take a nanosecond each: three that wait spare a suspect."),
            "0.01",
        )
        .numbers(SAMPLE_ALL)
        .phases(&[
            Silence { ns: 15_999_990 },
            one(1, 1000, 14, 0),
            Silence { ns: 11 },
            one(1, 1000, 1, 0),
            Drain,
        ]),
    ]
}

/// Packets of no byte and of one, and classes that count almost nothing.
fn collar_lengths() -> Vec<Case> {
    let quick = |case: Case| case.limit(60).set(QUICK).numbers(ZEROS);
    vec![
        quick(of("collar", "empty-packets", "Packets of no bytes say nothing of the link.")).phases(&[
            one(1, 1000, 3, 0),
            one(1, 0, 2, 0),
            one(1, 1000, 2, 0),
            Drain,
            one(1, 1000, 2, MS),
            Drain,
            one(1, 1000, 4, 20 * MS),
            Drain,
        ]),
        quick(of("collarw", "one-byte", "Packets of one byte measure the link, and count a quarter of it."))
            .set(&[("collarw.weights", "[1, 4]")])
            .flows(&[(1, 1, 0), (2, 1, 1)])
            .phases(&[one(1, 1, 4, 0), one(2, 1, 3, 0), one(1, 1, 2, 0), Drain, each(1, 1000, 2, MS), Drain]),
        quick(of(
            "collarw",
            "light",
            "A mean packet counts a thousandth of a byte: the next departure is a sample as well.",
        ))
        .numbers(Numbers::Same(0xffff_ffff))
        .link(TERABIT)
        .set(&[("collarw.weights", "[1, 1000000]")])
        .flows(&(1..=6).map(|flow| (flow, 1, 1)).collect::<Vec<_>>())
        .phases(&[each(1, 500, 6, 0), Drain]),
    ]
}

fn collarw() -> Vec<Case> {
    let classes: Vec<(u64, u32, u8)> =
        (1..=12).map(|flow| (flow, if flow < 3 { 8 } else { 2 }, flow as u8 % 4)).collect();
    vec![
        of("collarw", "farthest", "Samples are at most a gigabyte apart, as counted.")
            .limit(60)
            .numbers(Numbers::Same(u64::MAX))
            .link(TERABIT)
            .set(QUICK)
            .set(&[("collarw.weights", "[1]"), ("collar.span", "1000s")])
            .flows(&[(1, 1, 0)])
            .phases(&[each(1, 1 << 24, 72, 20_000), Drain]),
        of("collarw", "overload", "A large base probability for packets of several classes and lengths.")
            .limit(60)
            .link(800_000)
            .set(SLOW)
            .set(&[("collarw.weights", "[1, 1.5, 4]")])
            .flows(&classes)
            .lengths(LENGTHS)
            .phases(&[Load { arrivals: 60, percent: 200 }]),
    ]
}

fn collar_hosts() -> Vec<Case> {
    let of = |name, text| of("collar_hosts", name, text).limit(60).set(QUICK);
    let sources = &[("collar_hosts.isolation", "dual-srchost")];
    let at_once = |name, text| of(name, text).numbers(ZEROS).link(PETABIT).set(sources);
    // As in the vectors of collar_hosts: flows 1 to 8 come from one host, and flows 7 to 10 go to another.
    let flows: Vec<(u64, u32, u8)> = (1..=12).map(|flow| (flow, if flow < 3 { 8 } else { 2 }, 0)).collect();
    let hosts: Vec<(u64, u64, u64)> = (1..=10)
        .map(|flow| (flow, if flow < 9 { 100 } else { flow }, if flow > 6 { 200 } else { flow }))
        .collect();
    let dozen: Vec<(u64, u64, u64)> = (1..=24).map(|flow| (flow, 100 + flow % 12, 1000 + flow)).collect();
    let pairs: Vec<(u64, u64, u64)> = (1..=19).map(|flow| (flow, 100 + flow % 10, 200 + flow)).collect();
    let shared: Vec<(u64, u64, u64)> = (0..8)
        .flat_map(|host| [(100 + host, 5000 + host, 9000 + host), (110 + host, 5000 + host, 8000 + host)])
        .collect();
    vec![
        of("many", "More flows than the base probability may follow, some of hosts with two.")
            .numbers(ZEROS)
            .limit(20)
            .link(80_000)
            .set(sources)
            .set(&[("collar.target", "1s")])
            .hosts(&shared)
            .phases(&[each(100, 1000, 60, 100 * MS), each(200, 1000, 60, 50 * MS)]),
        of(
            "long-memory",
            "A memory of 1,024 ids, whose groups hold different ones, and a long time for each.",
        )
        .set(&[("collar.ids", "1024"), ("collar.span", "3s")])
        .flows(&flows)
        .hosts(&hosts)
        .phases(&[Load { arrivals: 120, percent: 150 }]),
        of("shares", "A large base probability for flows of hosts with few and with many.")
            .link(800_000)
            .set(SLOW)
            .set(&[("collar_hosts.isolation", "dual-dsthost")])
            .flows(&flows)
            .hosts(&hosts)
            .ecn(EVERY_ECN)
            .phases(&[Load { arrivals: 90, percent: 200 }]),
        at_once(
            "matches",
            "More matches than either average is of: the slower one holds back a flow that comes again.",
        )
        .hosts(&[(1, 1000, 2000)])
        .phases(&[one(1, 500, 92, 0), each(100, 500, 12, 0), one(1, 500, 16, 0)]),
        at_once("sets", "Twelve hosts with two flows each, in two sets.")
            .set(&[("collar_hosts.hosts", "2")])
            .hosts(&dozen)
            .phases(&[each(1, 500, 24, 0)]),
        at_once(
            "least-host",
            "The least host of a full set has sent what is assumed of a new one: it stays.",
        )
        .set(&[("collar_hosts.hosts", "1")])
        .hosts(&pairs)
        .phases(&[
            each(1, 128_511, 9, 0),
            each(11, 128_511, 7, 0),
            each(1, 999_999, 7, 0),
            one(18, 128_511, 1, 0),
            one(8, 15_037, 1, 0),
            one(19, 971_267, 1, 0),
        ]),
        at_once(
            "second-flow",
            "A host is found often before its second flow comes: an average at most halves.",
        )
        .hosts(&[(1, 100, 200), (2, 100, 201)])
        .phases(&[one(1, 500, 17, 0), one(2, 500, 1, 0)]),
        at_once("one-byte", "A host enters with less than a byte: an unused place holds none.")
            .hosts(&[(1, 100, 200), (30, 100, 201)])
            .phases(&[each(1, 1, 18, 0), one(30, 1, 2, 0)]),
    ]
}

fn collar_sparse() -> Vec<Case> {
    let of = |name, text| of("collar_sparse", name, text).limit(60).set(QUICK);
    let at_once = |name, text| of(name, text).link(TERABIT);
    vec![
        of("alike", "Flows whose ids have bits of that of a flow which waits in the long FIFO: all, the last or the first.")
            .phases(&[
                one(1, 1000, 12, MS),
                one(1, 1000, 5, 0),
                one(436_724, 1000, 1, 0),
                one(586_053, 1000, 1, 0),
                one(195_875, 1000, 1, 0),
                one(415, 1000, 1, 0),
                Drain,
            ]),
        of("at-once", "Packets that came at one time do not overtake each other.")
            .phases(&[one(1, 1000, 12, MS), one(1, 1000, 5, 0), each(4, 1000, 6, 0), Drain]),
        at_once("at-limit", "A suspect has sent as much as a sparse one may not.")
            .numbers(ZEROS)
            .set(&[("collar.share", "1"), ("collar_sparse.sparse", "1")])
            .phases(&[
                one(1, 511, 1, 0),
                one(1, 512, 1, 0),
                one(1, 1024, 1, 0),
                one(2, 1000, 1, 0),
                one(1, 512, 1, 0),
                one(3, 1000, 1, 0),
                Drain,
            ]),
        at_once("rare-half", "A flow holds half as many ids as one with a fair share, which holds two.")
            .numbers(HALF)
            .set(&[("collar.ids", "256")])
            .phases(&[one(1, 500, 1, 0), one(2, 5000, 1, 0), one(2, 500, 1, 0), one(3, 500, 1, 1), Drain]),
        at_once("rare-all", "A flow that is no suspect holds all ids.")
            .numbers(HALF)
            .set(&[("collar.ids", "256")])
            .phases(&[one(1, 500, 1, 0), one(1, 5000, 1, 0), one(1, 500, 1, 0), one(3, 500, 1, 1), Drain]),
        at_once("ahead", "2,999 bytes have overtaken; packets of no bytes have made the first flow known.")
            .numbers(ZEROS)
            .set(&[("collar_sparse.sparse", "0")])
            .phases(&[
                one(1, 0, 2, 0),
                one(9, 5000, 1, 0),
                one(1, 1000, 1, 0),
                one(10, 2999, 1, 1),
                one(11, 1000, 1, 1),
                Drain,
            ]),
    ]
}
