//! Disciplines with a queue per flow, or per round: SFQ, DRR, FQ, FQ-CoDel, CAKE, AFQ, A2FQ, Cebinae.

use super::{CLASSES, DOZEN, EVERY_ECN, LENGTHS, MS, case};
use crate::Case;
use crate::script::Phase::{Burst, Drain, Events, Flow, Load, Silence, Stall};

pub(super) fn cases() -> Vec<Case> {
    [sfq(), drr(), fq(), fq_codel(), cake(), afq(), a2fq(), cebinae()].concat()
}

fn sfq() -> Vec<Case> {
    let of = |name, text| case("sfq", name, "McKenney 1990", text).lengths(LENGTHS).limit(16);
    vec![
        of("basic", "Six flows in four queues by the hash; the longest queue makes room.")
            .set(&[("sfq.queues", "4"), ("sfq.perturb", "0s")]),
        of("perturb", "The hash changes, and waiting packets are dealt out anew.").set(&[
            ("sfq.queues", "4"),
            ("sfq.perturb", "20ms"),
            ("sfq.salt", "7"),
        ]),
        of("ticks", "As perturb, and the host calls at each change.")
            .set(&[("sfq.queues", "4"), ("sfq.perturb", "20ms"), ("sfq.salt", "7")])
            .ticks(),
    ]
}

fn drr() -> Vec<Case> {
    let of = |name, text| case("drr", name, "Shreedhar, Varghese 1995", text).lengths(LENGTHS).limit(16);
    vec![
        of("basic", "Deficits and packets of many lengths; the longest queue makes room."),
        of("small-quantum", "Packets longer than the quantum wait for several turns.")
            .set(&[("drr.quantum", "300B")]),
    ]
}

fn fq() -> Vec<Case> {
    let of = |name, text| case("fq", name, "Demers, Keshav, Shenker 1989", text).lengths(LENGTHS).limit(16);
    vec![
        of("basic", "Packets leave in the order of finishing times in the fluid round robin."),
        of("weights", "Classes with weights 1, 2 and 4; others have the least.")
            .set(&[("fq.weights", "[1, 2, 4]")])
            .flows(CLASSES),
    ]
}

fn fq_codel() -> Vec<Case> {
    let quick = &[("codel.target", "2ms"), ("codel.interval", "10ms"), ("fq_codel.queues", "4")];
    let of = |name, text| case("fq_codel", name, "RFC 8290", text).set(quick).lengths(LENGTHS).limit(40);
    vec![
        of("basic", "New queues before old ones; each with a CoDel of its own.")
            .set(&[("codel.ecn", "false")])
            .phases(&[
                Load { arrivals: 120, percent: 150 },
                Drain,
                Silence { ns: 20 * MS },
                Load { arrivals: 40, percent: 150 },
                Drain,
            ]),
        of("ecn", "Capable packets are marked instead.").ecn(EVERY_ECN),
        of("overload", "A full buffer drops up to half of the fattest queue from its head.")
            .limit(20)
            .set(&[("fq_codel.drop_batch", "4"), ("codel.ecn", "false")])
            .phases(&[Burst { arrivals: 60 }, Load { arrivals: 60, percent: 300 }, Drain]),
        of("mtu-backlog", "As Linux: mtu is compared with the bytes of all queues.")
            .set(&[("fq_codel.mtu_backlog", "all"), ("codel.ecn", "false")])
            .phases(&[Load { arrivals: 160, percent: 150 }, Drain]),
        of("linux", "As Linux 6.12: a full buffer takes half of the fattest queue's bytes, and its count rises; an empty new queue leaves its list where no old one waits.")
            .set(&[("codel.linux", "6.12"), ("codel.ecn", "true"), ("fq_codel.drop_batch", "8")])
            .ecn(EVERY_ECN)
            .phases(&[
                Load { arrivals: 30, percent: 80 },
                Burst { arrivals: 50 },
                Load { arrivals: 120, percent: 250 },
                Drain,
            ]),
        of("empty", "mtu is compared with the bytes of all queues; a queue that is found empty begins its interval anew.")
            .set(&[("fq_codel.mtu_backlog", "all"), ("codel.ecn", "false")])
            .phases(&[
                Load { arrivals: 40, percent: 150 },
                Stall { arrivals: 15 },
                Silence { ns: 20 * MS },
                Stall { arrivals: 15 },
                Silence { ns: 20 * MS },
                Stall { arrivals: 15 },
                Silence { ns: 20 * MS },
                Stall { arrivals: 15 },
                Drain,
            ]),
        of("linux-found-empty", "As Linux before March 2026: a queue that is found empty keeps the time at which its interval ends.")
            .set(&[("codel.linux", "6.17"), ("codel.ecn", "false")])
            .phases(&[
                Load { arrivals: 40, percent: 150 },
                Stall { arrivals: 15 },
                Silence { ns: 20 * MS },
                Stall { arrivals: 15 },
                Silence { ns: 20 * MS },
                Stall { arrivals: 15 },
                Silence { ns: 20 * MS },
                Stall { arrivals: 15 },
                Drain,
            ]),
    ]
}

fn cake() -> Vec<Case> {
    let source = "Hoeiland-Joergensen, Taht, Morton 2018";
    let quick =
        &[("cobalt.target", "2ms"), ("cobalt.interval", "10ms"), ("cake.queues", "16"), ("cake.ways", "4")];
    let of = |name, text| case("cake", name, source, text).set(quick).lengths(LENGTHS).limit(40);
    let phases = &[
        Load { arrivals: 120, percent: 150 },
        Drain,
        Silence { ns: 20 * MS },
        Load { arrivals: 60, percent: 150 },
        Load { arrivals: 40, percent: 60 },
        Drain,
    ];
    // Flows 1 to 3 come from one host, and flows 3 to 6 go to another.
    let hosts = &[(1, 1, 10), (2, 1, 20), (3, 1, 30), (4, 2, 30), (5, 3, 30), (6, 4, 30)];
    vec![
        of("basic", "Sparse queues before bulk ones, each with a COBALT of its own; empty ones decay.").phases(phases),
        of("triple-isolate", "Hosts at both ends share before their flows do.").hosts(hosts).phases(phases),
        of("dual-srchost", "Source hosts share before their flows do.")
            .set(&[("cake.isolation", "dual-srchost")])
            .hosts(hosts)
            .phases(phases),
        of("dual-dsthost", "Destination hosts share before their flows do.")
            .set(&[("cake.isolation", "dual-dsthost")])
            .hosts(hosts)
            .phases(phases),
        of("hosts", "A queue for each pair of hosts.")
            .set(&[("cake.isolation", "hosts")])
            .hosts(&[(1, 1, 10), (2, 1, 10), (3, 1, 20), (4, 1, 20), (5, 2, 20), (6, 2, 10)])
            .phases(phases),
        of("collisions", "Twelve flows for four queues of two ways: the last to come takes a queue over, and its hosts with it.")
            .set(&[("cake.queues", "4"), ("cake.ways", "2")])
            .flows(DOZEN)
            .hosts(hosts)
            .phases(phases),
        of("ecn", "Capable packets are marked instead.").ecn(EVERY_ECN).phases(phases),
        of("overhead", "Packets count more than they have, at turns of 500 bytes.")
            .set(&[("cake.quantum", "500B"), ("cake.overhead", "22B"), ("cake.mpu", "64B")])
            .phases(phases),
        of("shaper", "Packets wait while the link is free, until those before them have had their time at 3/4 of its rate.")
            .set(&[("cake.rate", "6mbit"), ("cake.overhead", "18B"), ("cake.mpu", "64B")])
            .hosts(hosts)
            .phases(phases),
        of("shaper-atm", "As shaper, in cells of 53 bytes, 48 of them the packet's.")
            .set(&[("cake.rate", "7.2mbit"), ("cake.framing", "atm")])
            .phases(&[Burst { arrivals: 30 }, Load { arrivals: 60, percent: 120 }, Silence { ns: 20 * MS }, Load { arrivals: 30, percent: 60 }, Drain]),
        of("shaper-ptm", "A byte more for each 64 or part of them, and a link that is slower than the shaper.")
            .set(&[("cake.rate", "9.6mbit"), ("cake.framing", "ptm")])
            .phases(&[Load { arrivals: 60, percent: 120 }, Drain, Load { arrivals: 30, percent: 60 }, Drain]),
        of("overload", "A full buffer drops the head of the fattest queue, and raises its drop probability.")
            .limit(12)
            .set(&[("cobalt.p_inc", "0.125"), ("cobalt.p_dec", "0.0625")])
            .ecn(EVERY_ECN)
            .phases(&[Burst { arrivals: 60 }, Load { arrivals: 90, percent: 300 }, Drain]),
        of("linux", "As the kernel: turns rounded at random, roots of one step, a heap of queues that goes wrong.")
            .limit(12)
            .set(&[("cake.linux", "6.12"), ("cobalt.p_inc", "0.125"), ("cobalt.p_dec", "0.0625")])
            .flows(DOZEN)
            .ecn(EVERY_ECN)
            .hosts(hosts)
            .phases(&[Burst { arrivals: 60 }, Load { arrivals: 150, percent: 300 }, Load { arrivals: 90, percent: 80 }, Drain]),
    ]
}

fn afq() -> Vec<Case> {
    let of = |name, text| {
        case("afq", name, "Sharma, Liu, Atreya, Krishnamurthy 2018", text)
            .set(&[("afq.queues", "6"), ("afq.bytes_per_round", "1500B")])
            .lengths(LENGTHS)
            .limit(16)
    };
    vec![
        of("basic", "A flow's packets are spread over the rounds; those too far ahead are dropped."),
        of("shared-counters", "Five counters in a row: flows that share all of theirs share a bid.")
            .set(&[("afq.columns", "5")])
            .flows(DOZEN),
        of("wide-rounds", "Each round takes several packets of a flow, so that the buffer overflows.")
            .set(&[("afq.bytes_per_round", "4000B")]),
    ]
}

fn a2fq() -> Vec<Case> {
    let source = "IEEE TNSE 11(4), 2024, from the authors' program";
    let of = |name, text| {
        case("a2fq", name, source, text)
            .set(&[("a2fq.queues", "6"), ("a2fq.bytes_per_round", "1500B")])
            .set(&[("a2fq.buffer", "16kB"), ("a2fq.margin", "3kB")])
            .lengths(LENGTHS)
    };
    // Lengths whose sums meet thresholds exactly.
    let round = |name, text| {
        case("a2fq", name, source, text)
            .set(&[("a2fq.bytes_per_round", "1000B"), ("a2fq.buffer", "10kB")])
            .lengths(&[(1000, 3), (500, 1), (400, 1), (100, 1), (1, 1)])
            .flows(DOZEN)
    };
    let exact = |name, text, words| {
        round(name, text).set(&[("a2fq.queues", "8"), ("a2fq.margin", "3000B")]).phases(&[Events(words)])
    };
    vec![
        of(
            "basic",
            "A flow's packets are spread over the rounds, whose number adapts; FIFOs have thresholds.",
        ),
        of("shared-counters", "Five counters in a row: flows that share all of theirs share a bid.")
            .set(&[("a2fq.columns", "5")])
            .flows(DOZEN),
        round("few-rounds", "Flows may be two rounds ahead, or three.")
            .set(&[("a2fq.queues", "3"), ("a2fq.margin", "6000B")]),
        round("half", "A FIFO may hold half of what is free, and an eighth of that is little.").set(&[
            ("a2fq.queues", "4"),
            ("a2fq.alpha", "0.5"),
            ("a2fq.part", "8"),
            ("a2fq.margin", "1000B"),
            ("a2fq.buffer", "9999B"),
        ]),
        round("full", "The buffer is full by packets, and by bytes.")
            .set(&[("a2fq.queues", "3"), ("a2fq.alpha", "8"), ("a2fq.buffer", "6000B")])
            .limit(6),
        exact(
            "high",
            "The next FIFO holds what leaves the margin, and more; flows are one round less ahead once in a round.",
            "+1:1000 +2:1000 +3:1000 +4:1000 +5:1000 +6:1000 +7:1000 +7:1000 - - +8:1000 +9:1000 +10:1000 - +11:1000 - - - - - - -",
        ),
        exact(
            "low",
            "The next FIFO holds little, and there are as many rounds as FIFOs again.",
            "+1:1000 +2:1000 +3:1000 +4:1000 +5:1000 +6:1000 +7:1000 [ - ]*6 +20:400 +20:400 +20:400 +21:400 +22:400 +23:400 [ - ]*6",
        ),
        exact(
            "bytes",
            "A packet is a byte longer than what is free of the buffer, and one takes all of it.",
            "+1:1000 +2:1000 +3:1000 +4:1000 +5:1000 +6:1001 +7:1000 +8:1 [ - ]*6",
        )
        .set(&[("a2fq.alpha", "8"), ("a2fq.buffer", "6000B")]),
        exact(
            "sixteenth",
            "The next FIFO holds exactly a sixteenth of its threshold.",
            "+1:400 +1:1 - +1:1 +1:400 +1:1 +2:500 +1:1000 - - - +2:1 - +2:500 +1:500 +1:500 - +1:100 - +1:100 +2:100 +1:1000 +2:500",
        )
        .set(&[("a2fq.queues", "3"), ("a2fq.margin", "6000B")]),
        of("column-edges", "16 bits of a hash are a column's first, and share it with another flow.")
            .set(&[("a2fq.columns", "3"), ("a2fq.queues", "2"), ("a2fq.buffer", "200kB")])
            .lengths(&[(1000, 1)])
            .phases(&[
                Flow { flow: 166, step: 0, len: 1000, arrivals: 4, gap_ns: 0 },
                Flow { flow: 2918, step: 0, len: 1000, arrivals: 3, gap_ns: 0 },
                Drain,
                Silence { ns: MS },
                Flow { flow: 142, step: 0, len: 1000, arrivals: 4, gap_ns: 0 },
                Flow { flow: 6403, step: 0, len: 1000, arrivals: 3, gap_ns: 0 },
                Drain,
            ]),
    ]
}

fn cebinae() -> Vec<Case> {
    let of = |name, text| {
        case("cebinae", name, "Yu, Sonchack, Liu 2022", text)
            .set(&[("cebinae.dt", "8ms"), ("cebinae.tau", "0.1"), ("cebinae.delta_flow", "0.2")])
            .phases(&[
                Load { arrivals: 120, percent: 150 },
                Drain,
                Silence { ns: 50 * MS },
                Load { arrivals: 60, percent: 200 },
                Drain,
            ])
    };
    vec![
        of("basic", "Flows that have most of a full link are taxed, round by round."),
        of(
            "derived-round",
            "A round is the least power of two of nanoseconds in which a full buffer leaves.",
        )
        .set(&[("cebinae.dt", "0s")])
        .limit(4),
        of("few-slots", "Three places for each hash, looks every two rounds: some flows are not counted.")
            .set(&[("cebinae.slots", "3"), ("cebinae.p", "2")])
            .flows(DOZEN)
            .lengths(LENGTHS),
        of("overflow", "A small buffer: what overflows counts as well.").limit(3),
    ]
}
