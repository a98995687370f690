//! Disciplines that control delay or loss without RED's average: CoDel, COBALT, `CodelAF`, PIE, `DualPI2`, BLUE.

use fairdrop::Ecn;

use super::{EVERY_ECN, GREEDY, LENGTHS, MS, case};
use crate::script::Phase::{self, Burst, Drain, Load, Silence, Stall};
use crate::{Case, Numbers};

pub(super) fn cases() -> Vec<Case> {
    [codel(), cobalt(), codel_af(), pie(), pie_bounds(), dualpi2(), blue()].concat()
}

/// Packets that are late for longer than an interval of 10 ms, twice.
const LATE: &[Phase] =
    &[Load { arrivals: 130, percent: 150 }, Drain, Load { arrivals: 40, percent: 130 }, Drain];

/// Bursts, each after a silence in milliseconds.
fn bursts_after(silences: &[u64]) -> Vec<Phase> {
    silences.iter().flat_map(|ms| [Drain, Silence { ns: ms * MS }, Burst { arrivals: 15 }]).collect()
}

fn codel() -> Vec<Case> {
    let source = "RFC 8289, 5";
    let quick = &[("codel.target", "2ms"), ("codel.interval", "10ms"), ("codel.ecn", "false")];
    let of = |name, text| case("codel", name, source, text).set(quick).limit(60);
    vec![
        of("basic", "Above the target for an interval: drops at departure, each interval / sqrt(count) after the last.")
            .phases(LATE),
        of(
            "interval-boundary",
            "Constant gaps put sojourn times at exactly the target and departures at exactly the end of the interval.",
        )
        .set(&[("codel.mtu", "0B"), ("codel.target", "1ms"), ("codel.interval", "4ms")])
        .phases(&[
            Burst { arrivals: 2 },
            Drain,
            Silence { ns: MS },
            Burst { arrivals: 8 },
            Drain,
            Silence { ns: 2 * MS },
            Burst { arrivals: 30 },
            Drain,
            Burst { arrivals: 30 },
            Drain,
        ]),
        of("re-enter", "Dropping begins again soon after it ended: with the count it reached, less the count it began with.")
            .phases(&[
                Burst { arrivals: 45 },
                Drain,
                Burst { arrivals: 45 },
                Drain,
                Silence { ns: 30 * MS },
                Burst { arrivals: 45 },
                Drain,
                Silence { ns: 400 * MS },
                Burst { arrivals: 40 },
                Drain,
            ]),
        of("behind", "A link that stood still while packets were being dropped: several drops are due at one departure.")
            .phases(&[
                Burst { arrivals: 40 },
                Silence { ns: 20 * MS },
                Stall { arrivals: 30 },
                Silence { ns: 8 * MS },
                Stall { arrivals: 15 },
                Drain,
            ]),
        of("memory", "Dropping begins again nearly 16 intervals after the next drop was due, and goes on with the count; then later than that, and begins at 1.")
            .phases(&[
                Burst { arrivals: 45 },
                Drain,
                Silence { ns: 100 * MS },
                Burst { arrivals: 45 },
                Drain,
                Silence { ns: 146 * MS },
                Burst { arrivals: 45 },
                Drain,
                Silence { ns: 150 * MS },
                Burst { arrivals: 45 },
                Drain,
            ]),
        of("empty", "The last packet leaves late and the link then stands still: the interval begins anew with the next late packet.")
            .set(&[("codel.mtu", "0B")])
            .phases(&[
                Burst { arrivals: 9 },
                Silence { ns: 8_500_000 },
                Stall { arrivals: 14 },
                Drain,
                Stall { arrivals: 14 },
                Drain,
                Burst { arrivals: 6 },
                Silence { ns: 5_500_000 },
                Stall { arrivals: 24 },
                Drain,
            ]),
        of("ecn", "Capable packets are marked instead, and leave.")
            .set(&[("codel.ecn", "true")])
            .ecn(EVERY_ECN)
            .phases(&[Load { arrivals: 120, percent: 170 }, Drain]),
        of("mtu", "Nothing is dropped while no more than one packet of the link's size waits.")
            .lengths(&[(300, 3), (1500, 1)])
            .phases(&[Load { arrivals: 100, percent: 110 }, Stall { arrivals: 10 }, Drain]),
        of("overflow", "A full buffer drops the arrival.").limit(8),
        of("linux", "As Linux 6.12: one step of Newton's method spaces the drops, and a root is carried over with its count.")
            .set(&[("codel.linux", "6.12"), ("codel.ecn", "true")])
            .ecn(EVERY_ECN)
            .phases(&[
                Load { arrivals: 130, percent: 150 },
                Drain,
                Silence { ns: 30 * MS },
                Load { arrivals: 60, percent: 170 },
                Drain,
            ]),
    ]
}

fn cobalt() -> Vec<Case> {
    let source = "Hoeiland-Joergensen, Taht, Morton 2018";
    let quick = &[("cobalt.target", "2ms"), ("cobalt.interval", "10ms"), ("cobalt.ecn", "false")];
    let of = |name, text| case("cobalt", name, source, text).set(quick).limit(60);
    vec![
        of("basic", "Late packets for an interval: drops at departure, each interval / sqrt(count) after the last.")
            .phases(LATE),
        of("fall", "The count falls while packets are not late, and a late one after a silence is followed by a drop.")
            .phases(&[
                Burst { arrivals: 45 },
                Drain,
                Load { arrivals: 60, percent: 70 },
                Burst { arrivals: 45 },
                Drain,
                Silence { ns: 400 * MS },
                Burst { arrivals: 40 },
                Drain,
            ]),
        of("coins", "Overflows raise the drop probability, an empty queue lowers it; draws often equal it.")
            .limit(8)
            .set(&[("cobalt.p_inc", "0.125"), ("cobalt.p_dec", "0.125")])
            .numbers(Numbers::Eighths)
            .phases(&[
                Load { arrivals: 90, percent: 300 },
                Drain,
                Silence { ns: 60 * MS },
                Load { arrivals: 60, percent: 200 },
                Drain,
            ]),
        of("ecn", "Capable packets are marked by the control law, and dropped at random.")
            .limit(20)
            .set(&[("cobalt.ecn", "true"), ("cobalt.p_inc", "0.25")])
            .ecn(EVERY_ECN)
            .phases(&[Load { arrivals: 160, percent: 170 }, Drain]),
    ]
}

fn codel_af() -> Vec<Case> {
    let source = "Morton, Heist 2020; the authors' program";
    let quick = &[
        ("codel_af.target", "2ms"),
        ("codel_af.interval", "10ms"),
        ("codel_af.blue_threshold", "60ms"),
        ("codel_af.mtu", "0B"),
        ("codel_af.ecn", "false"),
    ];
    let excessive = &[
        Load { arrivals: 110, percent: 300 },
        Drain,
        Load { arrivals: 60, percent: 70 },
        Silence { ns: 30 * MS },
        Load { arrivals: 60, percent: 200 },
        Drain,
    ];
    let of = |name, text| case("codel_af", name, source, text).set(quick).limit(60);
    vec![
        of("basic", "A flow with more than its part of the backlog is late sooner, and has a schedule of drops of its own.")
            .phases(LATE),
        of("sizes", "Parts of the backlog are in bytes; packets have many lengths, none among them.")
            .lengths(&[(1000, 3), (40, 1), (1500, 1), (0, 1), (577, 1)])
            .phases(LATE),
        of("least-wait", "Four transmission times of 1514 bytes are no late wait.")
            .set(&[("codel_af.mtu", "1514B")])
            .phases(LATE),
        of("fall", "Counts fall while packets are not late, and in idle buckets, one at each departure.")
            .set(&[("codel_af.buckets", "3")])
            .phases(&[
                Burst { arrivals: 45 },
                Drain,
                Load { arrivals: 60, percent: 70 },
                Burst { arrivals: 45 },
                Drain,
                Silence { ns: 400 * MS },
                Burst { arrivals: 40 },
                Drain,
            ]),
        of("coins", "Excessive waits raise the drop probability, departures lower that of idle buckets; draws often equal it.")
            .set(&[("codel_af.p_inc", "0.125"), ("codel_af.p_dec", "0.125")])
            .set(&[("codel_af.blue_threshold", "12ms"), ("codel_af.buckets", "4")])
            .numbers(Numbers::Eighths)
            .phases(excessive),
        of("blue-first", "The threshold of BLUE is below the target: the control law begins with it.")
            .set(&[("codel_af.p_inc", "0.25"), ("codel_af.target", "9ms"), ("codel_af.blue_threshold", "3ms")])
            .set(&[("codel_af.p_dec", "0.125"), ("codel_af.buckets", "2")])
            .numbers(Numbers::Eighths)
            .phases(excessive),
        of("ecn", "Capable packets are marked by the control law, and dropped at random.")
            .set(&[("codel_af.ecn", "true"), ("codel_af.p_inc", "0.25"), ("codel_af.blue_threshold", "20ms")])
            .ecn(EVERY_ECN)
            .phases(&[Load { arrivals: 160, percent: 170 }, Drain]),
        of("one-bucket", "Flows of one bucket have one backlog, one schedule and one probability.")
            .set(&[("codel_af.buckets", "1")])
            .phases(LATE),
        of("overflow", "A full buffer drops the arrival, and changes no bucket.")
            .limit(4)
            .phases(&[Load { arrivals: 90, percent: 300 }, Drain]),
        case("codel_af", "defaults", source, "The defaults, and a wait long enough for them.")
            .limit(300)
            .phases(&[Load { arrivals: 420, percent: 250 }, Drain]),
    ]
}

/// Gains that use the whole range of probabilities.
const HIGH: &[(&str, &str)] = &[("pie.alpha", "1"), ("pie.beta", "10")];

fn quick_pie(name: &'static str, text: &'static str) -> Case {
    let quick = &[("pie.target", "3ms"), ("pie.t_update", "1ms"), ("pie.max_burst", "0s")];
    case("pie", name, "RFC 8033, 4 and 5", text).set(quick).limit(60)
}

fn pie() -> Vec<Case> {
    let of = quick_pie;
    let overload = &[Load { arrivals: 100, percent: 200 }, Drain, Load { arrivals: 30, percent: 150 }, Drain];
    vec![
        of("basic", "Probability by delay, scaled while it is small; updates are caught up with at the next event.")
            .phases(overload),
        of("gain", "Large gains: the whole range of probabilities, the increase of more than 2 % bounded.")
            .set(HIGH)
            .phases(overload),
        of("coins", "Draws that often equal each other and the ends; a small queue is spared.")
            .set(HIGH)
            .numbers(Numbers::Ends)
            .phases(overload),
        of("burst-allowance", "Nothing is dropped early for max_burst of congestion; it stays used up while the probability has not fallen to 0.")
            .set(HIGH)
            .set(&[("pie.max_burst", "25ms")])
            .phases(&[
                Load { arrivals: 60, percent: 250 },
                Drain,
                Silence { ns: 60 * MS },
                Load { arrivals: 60, percent: 250 },
                Drain,
            ]),
        of("idle", "Idle periods of a few, of hundreds and of thousands of updates: the probability decays.")
            .set(HIGH)
            .phases(&[
                Load { arrivals: 60, percent: 250 },
                Drain,
                Silence { ns: 10 * MS },
                Load { arrivals: 25, percent: 200 },
                Drain,
                Silence { ns: 200 * MS },
                Load { arrivals: 25, percent: 200 },
                Drain,
                Silence { ns: 3_000 * MS },
                Load { arrivals: 30, percent: 200 },
            ]),
        of("ticks", "The host calls at each deadline; nothing else differs.").set(HIGH).phases(overload).ticks(),
        of("derandomise", "Random numbers are drawn only where the probabilities since the last drop add up to between 0.85 and 8.5.")
            .set(HIGH)
            .set(&[("pie.derandomise", "true")])
            .phases(overload),
        of("linux", "As Linux 6.12: the first update after half a second, then one every 16 ms; integers throughout.")
            .set(&[("pie.linux", "6.12"), ("pie.target", "1ms"), ("pie.alpha", "1000"), ("pie.beta", "1250")])
            .phases(&[
                Burst { arrivals: 20 },
                Drain,
                Silence { ns: 300 * MS },
                Load { arrivals: 200, percent: 200 },
                Drain,
                Silence { ns: 100 * MS },
                Load { arrivals: 60, percent: 200 },
            ]),
        of("uncapped", "No bound on the increase, and steeper scaling.")
            .set(&[("pie.cap", "false"), ("pie.steep", "true"), ("pie.alpha", "2"), ("pie.beta", "20")])
            .phases(overload),
        of("overload", "A full buffer: overflows, and a probability of 1.")
            .set(HIGH)
            .limit(12)
            .lengths(LENGTHS)
            .phases(&[Load { arrivals: 150, percent: 400 }, Drain]),
    ]
}

pub(super) fn fq_pie() -> Vec<Case> {
    let text = "As Linux 6.12: queues that keep to its PIE, marks that leave the sum of probabilities, and an empty new queue that leaves its list where no old one waits.";
    let linux = &[("pie.linux", "6.12"), ("pie.target", "1ms"), ("pie.alpha", "1000"), ("pie.beta", "1250")];
    let of = case("fq_pie", "linux", "Linux 6.12, net/sched/sch_fq_pie.c", text).set(linux).limit(60);
    vec![
        of.set(&[("fq_pie.queues", "4"), ("fq_pie.ecn", "true"), ("fq_pie.ecn_prob", "1")])
            .ecn(EVERY_ECN)
            .phases(&[
                Load { arrivals: 30, percent: 80 },
                Drain,
                Silence { ns: 300 * MS },
                Load { arrivals: 220, percent: 200 },
                Drain,
            ]),
    ]
}

/// The conditions that spare arrivals, and their ends.
fn pie_bounds() -> Vec<Case> {
    let of = quick_pie;
    // No bound on the step, and a probability of 1 within a few updates.
    let at_once = &[("pie.alpha", "20"), ("pie.beta", "0"), ("pie.cap", "false")];
    vec![
        of("burst-again", "The probability has fallen to 0 and the delay is low: the next congestion has the whole burst allowance, even at a probability of 1.")
            .set(at_once)
            .set(&[("pie.max_burst", "25ms")])
            .phases(&[
                Load { arrivals: 70, percent: 250 },
                Drain,
                Silence { ns: 150 * MS },
                Load { arrivals: 80, percent: 250 },
                Drain,
            ]),
        of("two-packets", "Nothing is dropped early while two mean packets' bytes wait, exactly or in many packets, even at a probability of 1.")
            .set(at_once)
            .set(&[("pie.target", "1ms"), ("pie.mean_packet_size", "1000B")])
            .lengths(&[(1000, 2), (500, 3), (250, 1), (1500, 1)])
            .phases(&[Load { arrivals: 160, percent: 200 }, Drain]),
        of("low-delay", "Low delay spares arrivals at a probability below 0.2, and at no other.")
            .set(at_once)
            .numbers(Numbers::Ends)
            .phases(&[
                vec![Load { arrivals: 40, percent: 250 }],
                bursts_after(&[4, 9, 13, 16]),
                vec![Drain, Silence { ns: 4 * MS }, Load { arrivals: 20, percent: 250 }],
            ].concat()),
        of("derandomise-latest", "Coins that drop nothing: an arrival is dropped when the probabilities since the last drop add up to 8.5. Spared arrivals add nothing.")
            .set(HIGH)
            .set(&[("pie.derandomise", "true")])
            .numbers(Numbers::High)
            .phases(&[
                vec![Load { arrivals: 60, percent: 300 }],
                bursts_after(&[5, 10]),
                vec![Drain, Silence { ns: 10 * MS }, Load { arrivals: 60, percent: 200 }],
            ].concat()),
    ]
}

fn dualpi2() -> Vec<Case> {
    let source = "RFC 9332, appendix A";
    let quick = &[("dualpi2.target", "3ms"), ("dualpi2.rtt_max", "20ms")];
    let flows = &[(1, 1, 0), (2, 1, 0), (3, 1, 0), (4, 1, 0)];
    let crowd: [(u64, u32, u8); 50] = std::array::from_fn(|flow| (flow as u64, 1, 0));
    let of = |name, text| {
        case("dualpi2", name, source, text).set(quick).flows(flows).limit(60).phases(&[
            Load { arrivals: 110, percent: 220 },
            Drain,
            Silence { ns: 40 * MS },
            Load { arrivals: 30, percent: 160 },
        ])
    };
    vec![
        of("basic", "Both queues, every ECN field: the low-latency queue is marked, the classic one dropped or marked.")
            .ecn(EVERY_ECN),
        of("classic", "The classic queue alone: the square of the probability drops.").ecn(&[Ecn::NotCapable]),
        of("low-latency", "The low-latency queue alone: the ramp and the coupled probability mark.").ecn(&[Ecn::Ect1]),
        of("coins", "Draws at the ends of their range.").ecn(EVERY_ECN).numbers(Numbers::Ends),
        of("ticks", "The host calls at each deadline; nothing else differs.").ecn(EVERY_ECN).ticks(),
        of("no-ecn", "Classic packets are dropped whatever their ECN field.")
            .set(&[("dualpi2.ecn", "false")])
            .ecn(EVERY_ECN),
        of("overflow", "A limit that both queues share.").limit(10).ecn(EVERY_ECN),
        of("linux", "As Linux 7.3: a step beside the marks by coupling, both queues in turn by bytes, updates every 16 ms.")
            .set(&[("dualpi2.linux", "7.3"), ("dualpi2.min_th", "5ms")])
            .ecn(EVERY_ECN),
        of("protection", "Queue protection: packets of flows that build the L4S queue go to the classic one.")
            .set(&[("dualpi2.protection", "true"), ("dualpi2.range", "4ms"), ("dualpi2.ageing", "100kbit")])
            .lengths(LENGTHS)
            .ecn(EVERY_ECN),
        of("protection-dregs", "More flows with a score than there are buckets: some share the last one.")
            .set(&[("dualpi2.protection", "true"), ("dualpi2.range", "4ms"), ("dualpi2.ageing", "100kbit")])
            .flows(&crowd)
            .lengths(LENGTHS)
            .ecn(&[Ecn::Ect1, Ecn::Ce]),
        of("protection-full", "Scores that reach 5 s, from which a packet is redirected at any delay.")
            .set(&[("dualpi2.protection", "true"), ("dualpi2.ageing", "1kbit"), ("dualpi2.critical_delay", "50ms")])
            .ecn(EVERY_ECN),
    ]
}

fn blue() -> Vec<Case> {
    let source = "Feng, Kandlur, Saha, Shin 1999";
    let quick = &[("blue.d1", "0.0625"), ("blue.d2", "0.03125"), ("blue.freeze", "5ms")];
    let of = |name, text| case("blue", name, source, text).set(quick).limit(10).flows(GREEDY);
    vec![
        of(
            "basic",
            "Overflows raise the probability, an idle link lowers it, at most once per freeze time each.",
        ),
        of("coins", "Draws that often equal the probability.")
            .set(&[("blue.d1", "0.125"), ("blue.d2", "0.125")])
            .numbers(Numbers::Eighths)
            .phases(&[
                Load { arrivals: 90, percent: 300 },
                Drain,
                Silence { ns: 60 * MS },
                Load { arrivals: 30, percent: 60 },
                Load { arrivals: 40, percent: 300 },
            ]),
    ]
}
