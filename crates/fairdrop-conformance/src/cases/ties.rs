//! Vectors that meet thresholds exactly: settings, lengths and times are chosen so that what is compared is equal, or one unit apart.

use super::{DOZEN, MS, case};
use crate::script::Phase::{self, Burst, Drain, Even, Load, Silence, Stall};
use crate::{Case, Numbers};
use fairdrop::Ecn;

pub(super) fn cases() -> Vec<Case> {
    [red(), cobalt(), cake(), cake_turns(), fred(), fair_policer(), flow_valve(), penalty_box(), red_pd()]
        .concat()
}

/// One flow, packets of 1000 bytes.
fn of(discipline: &'static str, name: &'static str, source: &'static str, text: &'static str) -> Case {
    case(discipline, name, source, text).flows(&[(1, 1, 0)])
}

const CAKE: &str = "Hoeiland-Joergensen, Taht, Morton 2018";
/// Queues of CAKE, and those that a flow may take.
const FEW: &[(&str, &str)] = &[("cake.queues", "4"), ("cake.ways", "2")];
const MORE: &[(&str, &str)] = &[("cake.queues", "16"), ("cake.ways", "4")];
/// As the kernel does.
const LINUX: &[(&str, &str)] = &[("cake.linux", "6.12")];

fn of_cake(name: &'static str, text: &'static str) -> Case {
    of("cake", name, CAKE, text).limit(40)
}

fn red() -> Vec<Case> {
    vec![
        of(
            "red",
            "wait-exact",
            "ns-2 red.cc, wait_",
            "Spaced drops at a product of count and probability of exactly 1.",
        )
        .numbers(Numbers::Eighths)
        .set(&[
            ("red.min_th", "2p"),
            ("red.max_th", "6p"),
            ("red.w_q", "1"),
            ("red.max_p", "1"),
            ("red.wait", "true"),
        ])
        .phases(&[Burst { arrivals: 5 }, Even { arrivals: 4, gap_ns: MS }]),
        of(
            "red",
            "forced-first",
            "Floyd, Jacobson 1993, section 4",
            "A forced drop is the first since the average was below min_th; the count begins at 0 after it.",
        )
        .set(&[("red.min_th", "2.5p"), ("red.max_th", "2.6p"), ("red.w_q", "1"), ("red.max_p", "0.25")])
        .phases(&[
            Burst { arrivals: 5 },
            Silence { ns: 3 * MS },
            Burst { arrivals: 4 },
            Silence { ns: 2 * MS },
            Burst { arrivals: 4 },
            Even { arrivals: 4, gap_ns: MS },
        ]),
        of("choke", "no-length-cells", "IEEE Micro 2001", "A packet without bytes counts as one cell.")
            .flows(&[(1, 1, 0), (2, 1, 0), (3, 1, 0)])
            .lengths(&[(0, 1), (100, 1), (250, 1)])
            .set(&[
                ("choke.sampling", "cell"),
                ("choke.cell_size", "100B"),
                ("choke.average_in", "cells"),
                ("red.min_th", "2p"),
                ("red.max_th", "9p"),
                ("red.w_q", "1"),
                ("red.max_p", "0.1"),
            ])
            .phases(&[Burst { arrivals: 5 }, Even { arrivals: 4, gap_ns: MS }]),
        of("choke", "no-bytes", "IEEE Micro 2001", "A packet without bytes counts as one of length 1.")
            .flows(&[(1, 1, 0), (2, 1, 0), (3, 1, 0)])
            .lengths(&[(0, 1), (1000, 1)])
            .set(&[
                ("choke.sampling", "byte"),
                ("choke.average_in", "cells"),
                ("red.min_th", "1p"),
                ("red.max_th", "9p"),
                ("red.w_q", "1"),
                ("red.max_p", "0.1"),
            ])
            .phases(&[Burst { arrivals: 6 }, Even { arrivals: 4, gap_ns: MS }]),
    ]
}

fn cobalt() -> Vec<Case> {
    vec![
        of("cobalt", "empty-exactly", CAKE, "The queue is found empty at exactly the next turn of the control law.")
            .limit(60)
            .ecn(&[Ecn::Ect0])
            .set(&[("cobalt.ecn", "true"), ("cobalt.mtu", "0B"), ("cobalt.target", "1.6ms"), ("cobalt.interval", "1ms")])
            .phases(&[Burst { arrivals: 3 }, Drain]),
        of("cobalt", "falls-twice", CAKE, "The count falls twice at one departure, the second time at exactly its turn.")
            .limit(60)
            .ecn(&[Ecn::Ect0])
            .lengths(&[(2000, 1), (1000, 1)])
            .set(&[("cobalt.ecn", "true"), ("cobalt.mtu", "0B"), ("cobalt.target", "3ms"), ("cobalt.interval", "1ms")])
            .phases(&[Burst { arrivals: 5 }, Silence { ns: 4_947_000 }, Burst { arrivals: 1 }, Drain]),
        of("cobalt", "late-from-the-start", CAKE, "The first packet of all is late, after one nanosecond.")
            .limit(60)
            .lengths(&[(1, 1)])
            .set(&[("cobalt.target", "0ms"), ("cobalt.mtu", "0B"), ("cobalt.ecn", "false"), ("cobalt.interval", "20us")])
            .link(8_000_000_000)
            .phases(&[Stall { arrivals: 2 }, Drain, Burst { arrivals: 3 }, Drain]),
        of_cake("linux-first-change", "The first overflow is a nanosecond more than the target after time 0, at which the kernel has the last change of the drop probability.")
            .limit(1)
            .set(FEW)
            .set(LINUX)
            .set(&[("cobalt.target", "0.999999ms"), ("cobalt.p_inc", "1")])
            .phases(&[Silence { ns: MS }, Burst { arrivals: 4 }, Drain]),
        of_cake("linux-root-exact", "A departure at exactly the turn by the root of 4, a nanosecond less than half of the interval.")
            .limit(60)
            .set(FEW)
            .set(LINUX)
            .set(&[("cobalt.target", "0.5ms"), ("cobalt.interval", "1.120782ms"), ("cobalt.ecn", "false")])
            .phases(&[Burst { arrivals: 8 }, Drain]),
        of_cake("linux-roots", "The count rises above 16 and falls again: roots by one step each, and from the table.")
            .limit(60)
            .set(FEW)
            .set(LINUX)
            .set(&[("cobalt.target", "0.05ms"), ("cobalt.interval", "0.890116ms"), ("cobalt.ecn", "false")])
            .phases(&[Burst { arrivals: 46 }, Drain, Silence { ns: 200_000 }, Burst { arrivals: 1 }, Silence { ns: MS }, Load { arrivals: 12, percent: 100 }, Drain]),
    ]
}

fn cake() -> Vec<Case> {
    vec![
        of_cake("srchost", "A queue for each source host.")
            .limit(20)
            .flows(&[(1, 1, 0), (2, 1, 0), (3, 1, 0), (4, 1, 0), (5, 1, 0)])
            .hosts(&[(1, 1, 10), (2, 1, 20), (3, 2, 10), (4, 2, 20), (5, 3, 30)])
            .set(MORE)
            .set(&[("cake.isolation", "srchost")])
            .phases(&[Burst { arrivals: 8 }, Drain]),
        of_cake("shaper-late-exactly", "A packet waits for exactly four times the time of mtu at the rate, which is not late.")
            .lengths(&[(4, 1)])
            .set(FEW)
            .set(&[("cake.rate", "8000000"), ("cobalt.mtu", "1B"), ("cobalt.target", "1us"), ("cobalt.interval", "4us"), ("cobalt.ecn", "false")])
            .link(80_000_000)
            .phases(&[Burst { arrivals: 3 }, Drain]),
        of_cake("shaper-late-rounded", "The time of mtu at the rate is a millionth of a nanosecond less than a whole number.")
            .lengths(&[(4, 1)])
            .set(FEW)
            .set(&[("cake.rate", "7992008"), ("cobalt.mtu", "1B"), ("cobalt.target", "1us"), ("cobalt.interval", "4us"), ("cobalt.ecn", "false")])
            .link(80_000_000)
            .phases(&[Burst { arrivals: 3 }, Drain]),
        of_cake("quantum-exact", "A quantum of exactly 600 bytes by the rate of the link, and packets of that length or one byte less.")
            .flows(&[(1, 1, 0), (2, 1, 0)])
            .lengths(&[(599, 1), (600, 1)])
            .set(FEW)
            .link(19_660_800)
            .phases(&[Burst { arrivals: 6 }, Drain]),
        of_cake("quantum-rounded", "A quantum of almost 601 bytes by the rate of the link, rounded down.")
            .flows(&[(1, 1, 0), (2, 1, 0)])
            .lengths(&[(600, 1)])
            .set(FEW)
            .link(19_693_560)
            .phases(&[Burst { arrivals: 6 }, Drain]),
        of_cake("shaper-atm-exact", "Packets that fill whole cells.")
            .lengths(&[(48, 1), (96, 1), (480, 1)])
            .set(FEW)
            .set(&[("cake.rate", "8000000"), ("cake.framing", "atm")])
            .link(80_000_000)
            .phases(&[Burst { arrivals: 4 }, Drain]),
        of_cake("shaper-ptm-exact", "Packets of a multiple of 64 bytes, and of one byte more.")
            .lengths(&[(64, 1), (65, 1), (640, 1)])
            .set(FEW)
            .set(&[("cake.rate", "8000000"), ("cake.framing", "ptm")])
            .link(80_000_000)
            .phases(&[Burst { arrivals: 4 }, Drain]),
        of_cake("shaper-exact", "An arrival at exactly the time at which the next packet may leave; parts of a nanosecond are carried over.")
            .lengths(&[(1, 1)])
            .set(FEW)
            .set(&[("cake.rate", "3998001")])
            .link(80_000_000)
            .phases(&[Even { arrivals: 3, gap_ns: 2000 }, Drain]),
        of_cake("shaper-behind", "A link that stood still catches up with the shaper while packets wait.")
            .flows(&[(1, 1, 0), (2, 1, 0)])
            .set(FEW)
            .set(&[("cake.rate", "6000000")])
            .phases(&[Burst { arrivals: 3 }, Stall { arrivals: 4 }, Burst { arrivals: 2 }, Drain]),
    ]
}

/// Flow 1 sends 6 bytes. Each `-` lets flow 20, of another host, send a byte after a quantum for every flow, a part of a byte for
/// the host's 2 to 11. Parts of 1/65,536, rounded down, leave a remainder: here they add up to 5 bytes and one part.
const SMALLEST_DEFICIT: &str = "+1:6 +1:1 +1:1 - +20:1 +20:1 - \
    +2:1000 +2:1 - [ +20:1 - ]*2 +3:1000 +3:1 - [ +20:1 - ]*2 +4:1000 +4:1 - [ +20:1 - ]*2 +5:1000 +5:1 - +20:1 - \
    +6:1000 +6:1 - +20:1 - +7:1000 +7:1 - +20:1 - +8:1000 +8:1 - +20:1 - +9:1000 +9:1 - [ +20:1 - ]*4 \
    +10:1000 +10:1 - [ +20:1 - ]*3 +11:1000 +11:1 - [ +20:1 - ]*8";

/// How deficits and quanta are counted, and the heap of the kernel.
fn cake_turns() -> Vec<Case> {
    vec![
        of_cake("linux-turns", "Turns rounded at random by one byte, with packets of a quantum or one byte less.")
            .numbers(Numbers::Eighths)
            .flows(&[(1, 1, 0), (2, 1, 0), (3, 1, 0)])
            .hosts(&[(1, 1, 1), (2, 1, 2), (3, 1, 3)])
            .lengths(&[(4999, 1), (5000, 1)])
            .set(MORE)
            .set(LINUX)
            .set(&[("cake.quantum", "5000B")])
            .link(8_000_000_000)
            .phases(&[Burst { arrivals: 14 }, Drain]),
        of_cake("linux-turns-ends", "As linux-turns, with random numbers that are often the least and the greatest.")
            .numbers(Numbers::Ends)
            .flows(&[(1, 1, 0), (2, 1, 0), (3, 1, 0)])
            .hosts(&[(1, 1, 1), (2, 1, 2), (3, 1, 3)])
            .lengths(&[(4999, 1), (5000, 1)])
            .set(MORE)
            .set(LINUX)
            .set(&[("cake.quantum", "5000B")])
            .link(8_000_000_000)
            .phases(&[Burst { arrivals: 10 }, Drain]),
        of_cake("linux-least-turns", "Turns of one byte, the least.")
            .numbers(Numbers::Ends)
            .flows(&[(1, 1, 0), (2, 1, 0), (3, 1, 0)])
            .hosts(&[(1, 1, 1), (2, 1, 2), (3, 1, 3)])
            .lengths(&[(1, 1), (2, 1), (3, 1), (5, 1)])
            .set(MORE)
            .set(LINUX)
            .set(&[("cake.quantum", "1B")])
            .link(8_000_000_000)
            .phases(&[Burst { arrivals: 8 }, Drain]),
        of_cake("many-turns", "Packets of many quanta less one byte.")
            .flows(&[(1, 1, 0), (2, 1, 0)])
            .lengths(&[(131_071, 1), (1023, 1)])
            .set(MORE)
            .set(&[("cake.follow_rate", "false"), ("cake.quantum", "1024B")])
            .link(80_000_000_000)
            .phases(&[Burst { arrivals: 6 }, Drain]),
        of_cake("linux-long", "As many-turns, as the kernel does.")
            .flows(&[(1, 1, 0), (2, 1, 0)])
            .lengths(&[(131_071, 1), (511, 1)])
            .set(MORE)
            .set(LINUX)
            .set(&[("cake.quantum", "1024B")])
            .link(80_000_000_000)
            .phases(&[Burst { arrivals: 7 }, Drain]),
        of_cake("smallest-deficit", "Quanta of a byte among more and more flows of a host bring a deficit to 2^-16 byte exactly: it is positive, and the flow sends.")
            .limit(100)
            .hosts(&(1..=11).map(|flow| (flow, 100, 1000 + flow)).collect::<Vec<_>>())
            .set(&[("cake.queues", "64"), ("cake.ways", "8"), ("cake.isolation", "dual-srchost")])
            .set(&[("cake.follow_rate", "false"), ("cake.quantum", "1B")])
            .phases(&[Phase::Events(SMALLEST_DEFICIT)]),
        of_cake("linux-heap", "Packets of one byte in the heap of queues, among entries of other tins without any.")
            .limit(2)
            .flows(DOZEN)
            .lengths(&[(1, 1)])
            .set(LINUX)
            .set(&[("cake.queues", "4"), ("cake.ways", "4")])
            .phases(&[Burst { arrivals: 14 }, Drain, Burst { arrivals: 5 }, Drain]),
        of_cake("linux-heap-wrong", "An empty queue is on top of the heap as the buffer overflows: the heap is put in order again.")
            .limit(4)
            .flows(DOZEN)
            .lengths(&[(1, 1), (2, 1), (40, 1), (300, 1)])
            .set(MORE)
            .set(LINUX)
            .phases(&[Burst { arrivals: 15 }, Drain, Burst { arrivals: 15 }, Drain]),
    ]
}

fn fred() -> Vec<Case> {
    vec![
        of(
            "fred",
            "many-flows-exact",
            "Lin, Morris 1997",
            "Two packets for each flow from an average of exactly max_th on.",
        )
        .flows(&[(1, 1, 0), (2, 1, 0), (3, 1, 0)])
        .set(&[
            ("red.min_th", "3p"),
            ("red.max_th", "4p"),
            ("red.w_q", "1"),
            ("red.max_p", "0.01"),
            ("fred.min_q", "2"),
            ("fred.many_flows", "true"),
        ])
        .phases(&[Burst { arrivals: 6 }, Even { arrivals: 4, gap_ns: MS }]),
        of(
            "fred",
            "part-of-a-packet",
            "Lin, Morris 1997",
            "A min_th of one packet and a half lets two packets of a flow wait.",
        )
        .set(&[
            ("red.min_th", "1.5p"),
            ("red.max_th", "9p"),
            ("red.w_q", "0.125"),
            ("red.max_p", "0.1"),
            ("fred.min_q", "2"),
            ("fred.many_flows", "false"),
        ])
        .phases(&[Burst { arrivals: 4 }, Drain]),
    ]
}

fn fair_policer() -> Vec<Case> {
    vec![
        of("fair_policer", "exact", "IEEE INFOCOM 2021, from a description", "Occupied tokens equal free ones, a packet takes all that are free, and turns come due at arrivals.")
            .flows(&[(1, 1, 0), (2, 1, 0)])
            .set(&[("fair_policer.depth", "3ms"), ("fair_policer.turn", "1000B"), ("fair_policer.fraction", "1"), ("fair_policer.alpha", "1"), ("fair_policer.columns", "4")])
            .phases(&[Burst { arrivals: 7 }, Even { arrivals: 5, gap_ns: 500_000 }, Burst { arrivals: 3 }]),
        of("fair_policer", "first-turn", "IEEE INFOCOM 2021, from a description", "Bytes of the first turn come from time 0 on, half a byte less than those that make it due.")
            .flows(&[(1, 1, 0), (2, 1, 0)])
            .set(&[("fair_policer.depth", "3ms"), ("fair_policer.turn", "1500B"), ("fair_policer.fraction", "1"), ("fair_policer.alpha", "1"), ("fair_policer.columns", "4")])
            .phases(&[Even { arrivals: 1, gap_ns: 999_500 }, Burst { arrivals: 3 }, Even { arrivals: 4, gap_ns: 500_000 }]),
        of("fair_policer", "last-column", "IEEE INFOCOM 2021, from a description", "A flow with a hash of 16 bits set, and one column.")
            .flows(&[(5422, 1, 0)])
            .set(&[("fair_policer.columns", "1")])
            .phases(&[Burst { arrivals: 4 }, Drain]),
        of("fair_policer", "half-columns", "IEEE INFOCOM 2021, from a description", "A hash of exactly half of 2^16 belongs to the second of two columns.")
            .flows(&[(36_856, 1, 0), (14, 1, 0)])
            .set(&[("fair_policer.columns", "2"), ("fair_policer.depth", "4ms")])
            .phases(&[Burst { arrivals: 4 }, Drain]),
    ]
}

fn flow_valve() -> Vec<Case> {
    vec![
        of(
            "flow_valve",
            "back-off-exact",
            "Cho 1999; ALTQ",
            "A flow that is silent for exactly back_off is still refused.",
        )
        .limit(2)
        .set(&[
            ("red.min_th", "50p"),
            ("red.w_q", "0.125"),
            ("flow_valve.back_off", "20ms"),
            ("flow_valve.forget_after", "60ms"),
            ("red.max_th", "2000p"),
            ("red.max_p", "0.01"),
        ])
        .phases(&[Burst { arrivals: 20 }, Silence { ns: 20 * MS }, Burst { arrivals: 1 }]),
        of(
            "flow_valve",
            "loss-exact",
            "Cho 1999; ALTQ",
            "The loss of a flow is exactly max_p when its rate is first known.",
        )
        .limit(2)
        .set(&[
            ("red.min_th", "50p"),
            ("red.w_q", "0.125"),
            ("flow_valve.back_off", "20ms"),
            ("flow_valve.forget_after", "60ms"),
            ("red.max_th", "2000p"),
            ("red.max_p", "0.07543486340340104"),
        ])
        .phases(&[Burst { arrivals: 16 }]),
        of(
            "flow_valve",
            "friendly-exact",
            "Cho 1999; ALTQ",
            "The part of a flow among arrivals is exactly what its loss allows when it is first known.",
        )
        .limit(2)
        .set(&[
            ("red.min_th", "50p"),
            ("red.w_q", "0.125"),
            ("flow_valve.back_off", "20ms"),
            ("flow_valve.forget_after", "60ms"),
            ("red.max_th", "81.43960628767849p"),
            ("red.max_p", "0.01"),
        ])
        .phases(&[Burst { arrivals: 16 }]),
    ]
}

fn penalty_box() -> Vec<Case> {
    vec![
        of(
            "penalty_box",
            "half-exact",
            "Floyd, Fall 1999, section 4",
            "A flow in the box sends more than half of its rate, then exactly half, and leaves it.",
        )
        .limit(4)
        .set(&[
            ("red.min_th", "50p"),
            ("red.max_th", "90p"),
            ("red.w_q", "0.125"),
            ("penalty_box.interval", "20ms"),
            ("penalty_box.min_drops", "3"),
            ("penalty_box.rtt", "40ms"),
            ("penalty_box.test", "unfriendly"),
            ("penalty_box.max_flows", "8"),
        ])
        .phases(&[
            Burst { arrivals: 8 },
            Silence { ns: 20 * MS },
            Burst { arrivals: 5 },
            Silence { ns: 20 * MS },
            Burst { arrivals: 4 },
            Silence { ns: 20 * MS },
            Burst { arrivals: 1 },
        ]),
        of(
            "penalty_box",
            "friendly-exact",
            "Floyd, Fall 1999, section 4",
            "The rate of a flow is exactly that of a TCP with its loss, which is not unfriendly.",
        )
        .limit(4)
        .set(&[
            ("red.min_th", "50p"),
            ("red.max_th", "90p"),
            ("red.w_q", "0.125"),
            ("penalty_box.interval", "5ms"),
            ("penalty_box.min_drops", "3"),
            ("penalty_box.rtt", "1.25ms"),
            ("penalty_box.test", "unfriendly"),
            ("penalty_box.max_flows", "8"),
            ("red.mean_packet_size", "1000B"),
        ])
        .phases(&[Burst { arrivals: 8 }, Silence { ns: 5 * MS }, Burst { arrivals: 1 }]),
    ]
}

fn red_pd() -> Vec<Case> {
    vec![
        of(
            "red_pd",
            "loss-exact",
            "Mahajan, Floyd, Wetherall 2001",
            "One drop in exactly a thousand arrivals is too little for a flow to be identified.",
        )
        .limit(998)
        .set(&[
            ("red.min_th", "5000p"),
            ("red.max_th", "9000p"),
            ("red.w_q", "0.125"),
            ("red_pd.lists", "2"),
            ("red_pd.appearances", "1"),
            ("red_pd.target_rtt", "1ms"),
            ("red_pd.max_flows", "8"),
        ])
        .link(1_000_000)
        .phases(&[Burst { arrivals: 1000 }, Silence { ns: 10 * MS }, Burst { arrivals: 1 }]),
        of("red_pd", "loss-above", "Mahajan, Floyd, Wetherall 2001", "One drop in 501 arrivals is enough.")
            .limit(499)
            .set(&[
                ("red.min_th", "5000p"),
                ("red.max_th", "9000p"),
                ("red.w_q", "0.125"),
                ("red_pd.lists", "2"),
                ("red_pd.appearances", "1"),
                ("red_pd.target_rtt", "1ms"),
                ("red_pd.max_flows", "8"),
            ])
            .link(1_000_000)
            .phases(&[Burst { arrivals: 501 }, Silence { ns: 10 * MS }, Burst { arrivals: 1 }]),
        of(
            "red_pd",
            "reward-exact",
            "Mahajan, Floyd, Wetherall 2001",
            "A probability of exactly 0.005 ends with the first reward.",
        )
        .limit(198)
        .set(&[
            ("red.min_th", "5000p"),
            ("red.max_th", "9000p"),
            ("red.w_q", "0.125"),
            ("red_pd.lists", "2"),
            ("red_pd.appearances", "1"),
            ("red_pd.target_rtt", "1ms"),
            ("red_pd.max_flows", "8"),
        ])
        .link(1_000_000)
        .phases(&[Burst { arrivals: 200 }, Silence { ns: 30 * MS }, Burst { arrivals: 1 }]),
    ]
}
