//! Random parameters, degenerate ones included, and random traces.

use fairdrop::{
    AverageIn, Candidates, ChokeParams, DrawFrom, Ecn, Linux, LinuxCoDel, Meta, Order, RedParams, Sampling,
    Schedule, SfqParams, Time,
};
use proptest::prelude::*;

use crate::host::Event;
use crate::red::{ChokeScheme, Plan};

pub fn red_params() -> impl Strategy<Value = RedParams> {
    let min_th = prop_oneof![1 => Just(0.0), 3 => (0..10).prop_map(f64::from), 2 => 0.0..10.0];
    let width = prop_oneof![1 => Just(f64::INFINITY), 3 => (1..12).prop_map(f64::from), 2 => 0.001..10.0, 1 => Just(1e-9)];
    let max_p = prop_oneof![1 => Just(0.0), 1 => Just(1.0), 2 => Just(0.1), 3 => 0.0..=1.0];
    let w_q = prop_oneof![2 => Just(1.0), 2 => Just(0.5), 1 => Just(0.002), 1 => Just(1e-18), 3 => 1e-6..1.0];
    let packet_time = prop_oneof![Just(1_u64), Just(7), Just(1000), Just(8_000_000)];
    let switches = prop::array::uniform7(prop::bool::weighted(0.25));
    let rest = (packet_time, 1_u32..2000, switches);
    (1_u32..40, min_th, width, max_p, w_q, rest).prop_map(|(limit, min_th, width, max_p, w_q, rest)| {
        let (packet_time, mean_packet_size, switches) = rest;
        let [gentle, wait, independent, ns2_compat, byte_mode, idle_decay_only, ecn] = switches;
        RedParams {
            limit,
            min_th,
            max_th: min_th + width,
            max_p,
            w_q,
            mean_packet_time: Time::from_ns(packet_time),
            mean_packet_size,
            gentle,
            wait,
            // Two forms of the same thing: not valid together.
            independent: independent && !wait,
            ns2_compat,
            byte_mode,
            idle_decay_only,
            ecn,
            linux: Linux::None,
        }
    })
}

/// Those that the rules of a kernel take as well; `linux` is not set.
pub fn red_params_of_linux() -> impl Strategy<Value = RedParams> {
    let packet_time = prop_oneof![Just(1_u64), Just(1000), Just(8_000_000), 1..10_000_000_u64];
    (red_params(), 1..12_i32, 1e-9..=1.0, 0.001..12.0, packet_time).prop_map(
        |(red, log, max_p, width, time)| RedParams {
            max_th: if red.max_th.is_finite() { red.max_th } else { red.min_th + width },
            max_p: red.max_p.max(max_p * f64::from(u8::from(red.max_p == 0.0))).max(1e-9),
            w_q: 0.5_f64.powi(log),
            mean_packet_time: Time::from_ns(time),
            gentle: false,
            wait: false,
            independent: false,
            ns2_compat: false,
            byte_mode: false,
            idle_decay_only: false,
            ..red
        },
    )
}

pub fn choke_scheme() -> impl Strategy<Value = ChokeScheme> {
    let custom = prop::collection::vec(0_u8..=32, 1..=16).prop_map(|mut list| {
        list.sort_unstable();
        Plan::Custom(list)
    });
    let plan = prop_oneof![
        4 => (0_u8..6).prop_map(Plan::Fixed),
        1 => (0_u8..=32).prop_map(Plan::Fixed),
        1 => Just(Plan::Two),
        1 => (1_u8..=16).prop_map(Plan::Odd),
        1 => (1_u8..=16).prop_map(Plan::Even),
        2 => custom,
    ];
    let draw = prop_oneof![
        4 => Just(DrawFrom::Uniform),
        1 => Just(DrawFrom::Head),
        1 => Just(DrawFrom::Tail),
        1 => Just(DrawFrom::Spread),
    ];
    let sampling = prop_oneof![
        3 => Just(Sampling::Packet),
        1 => Just(Sampling::Byte),
        1 => (1_u32..3000).prop_map(Sampling::Cell),
    ];
    let average_in =
        prop_oneof![3 => Just(AverageIn::Packets), 1 => Just(AverageIn::Cells), 1 => Just(AverageIn::Bytes)];
    let order = prop_oneof![3 => Just(Order::MatchFirst), 1 => Just(Order::RedFirst)];
    let switches = prop::array::uniform2(prop::bool::weighted(0.3));
    (plan, draw, sampling, average_in, order, switches).prop_map(
        |(plan, draw, sampling, average_in, order, [replacement, count_on_match])| ChokeScheme {
            plan,
            draw,
            replacement,
            sampling,
            // Without chopping there are no cells to count.
            average_in: match (sampling, average_in) {
                (Sampling::Packet, AverageIn::Cells) => AverageIn::Bytes,
                (_, counted) => counted,
            },
            order,
            count_on_match,
        },
    )
}

pub fn choke_with(red: &RedParams, scheme: &ChokeScheme) -> ChokeParams {
    ChokeParams {
        red: red.clone(),
        candidates: match &scheme.plan {
            Plan::Fixed(m) => Candidates::Fixed(*m),
            Plan::Two => Candidates::Regions(Schedule::two()),
            Plan::Odd(regions) => Candidates::Regions(Schedule::odd(*regions)),
            Plan::Even(regions) => Candidates::Regions(Schedule::even(*regions)),
            Plan::Custom(list) => Candidates::Regions(Schedule::custom(list).expect("sorted and in range")),
        },
        draw: scheme.draw,
        replacement: scheme.replacement,
        sampling: scheme.sampling,
        average_in: scheme.average_in,
        order: scheme.order,
        count_on_match: scheme.count_on_match,
    }
}

/// The rules of a discipline's source, or those of a kernel.
pub fn rules() -> impl Strategy<Value = Linux> {
    prop_oneof![2 => Just(Linux::None), 1 => Just(Linux::V6_12)]
}

/// The same of `CoDel`.
pub fn rules_of_codel() -> impl Strategy<Value = LinuxCoDel> {
    prop_oneof![2 => Just(LinuxCoDel::None), 1 => Just(LinuxCoDel::V6_12), 1 => Just(LinuxCoDel::V6_17)]
}

/// SFQ with a few queues; of DRR, the limit and the quantum.
pub fn sfq_params() -> impl Strategy<Value = SfqParams> {
    let perturb = prop_oneof![Just(0_u64), Just(1_000_000), 1_000_000..500_000_000_u64];
    let quantum = prop_oneof![Just(1500_u32), Just(1000), 50_u32..3000, 1_u32..50];
    (1_u32..40, 1_u32..12, quantum, perturb, any::<u64>()).prop_map(
        |(limit, queues, quantum, perturb, salt)| SfqParams {
            limit,
            queues,
            quantum,
            perturb: Time::from_ns(perturb),
            salt,
        },
    )
}

/// Traces of up to 200 events of `flows` flows; overloaded on the whole, with lulls.
pub fn events(flows: u64) -> impl Strategy<Value = Vec<Event>> {
    let len = prop_oneof![Just(1000_u32), Just(40), 0_u32..2000];
    let wait =
        prop_oneof![4 => 0_u64..3000, 2 => 0_u64..100_000_000, 1 => 0_u64..1 << 40, 1 => 0_u64..1 << 56];
    let event = prop_oneof![
        10 => (0..flows, len).prop_map(|(flow, len)| Event::Arrive { flow, len }),
        4 => Just(Event::Finish),
        1 => wait.prop_map(Event::Wait),
    ];
    // Some traces keep a backlog, others drain often.
    let drain = prop_oneof![Just(0_usize), 1_usize..12];
    (prop::collection::vec(event, 1..200), drain).prop_map(|(mut events, drain)| {
        if drain > 0 {
            let half = events.len() / 2;
            events.splice(half..half, std::iter::repeat_n(Event::Finish, drain * 3));
            events.extend([Event::Finish, Event::Wait(10_000), Event::Arrive { flow: 0, len: 1000 }]);
        }
        events
    })
}

/// How often something arrives, the transmitter finishes, and time passes.
type Weights = (u32, u32, u32);

/// Overload on the whole, near balance, or drained; with long or with short gaps.
const MIXED: [Weights; 4] = [(4, 2, 3), (3, 3, 3), (2, 4, 3), (8, 2, 1)];

/// Traces of up to `events` events, each with one of `weights`: arrivals by `arrival`, times by `wait`.
fn traces(
    events: usize,
    weights: [Weights; 4],
    arrival: impl Strategy<Value = Event> + Clone,
    wait: impl Strategy<Value = u64> + Clone,
) -> impl Strategy<Value = Vec<Event>> {
    prop::sample::select(weights.to_vec()).prop_flat_map(move |(arrive, finish, pause)| {
        let event = prop_oneof![
            arrive => arrival.clone(),
            finish => Just(Event::Finish),
            pause => wait.clone().prop_map(Event::Wait),
        ];
        prop::collection::vec(event, 1..events)
    })
}

fn mixed_len() -> impl Strategy<Value = u32> + Clone {
    prop_oneof![3 => Just(1000_u32), 1 => Just(40), 1 => 0_u32..2000]
}

/// Traces of up to `events` events: bursts, steady overload, lulls of up to 3 s.
pub fn timed_events(events: usize) -> impl Strategy<Value = Vec<Event>> {
    let arrival = (0_u64..4, mixed_len()).prop_map(|(flow, len)| Event::Arrive { flow, len });
    let wait = prop_oneof![
        4 => 0_u64..2_000_000,
        4 => 0_u64..20_000_000,
        2 => Just(5_000_000_u64),
        1 => 0_u64..200_000_000,
        1 => 0_u64..3_000_000_000,
    ];
    traces(events, MIXED, arrival, wait)
}

/// Traces of up to `events` events of five flows, the first of which sends most; overload on the whole, near balance,
/// or drained.
pub fn greedy_events(events: usize) -> impl Strategy<Value = Vec<Event>> {
    let flow = prop_oneof![3 => Just(0_u64), 2 => 0_u64..5];
    let len = prop_oneof![3 => Just(1000_u32), 1 => 0_u32..2000];
    let arrival = (flow, len).prop_map(|(flow, len)| Event::Arrive { flow, len });
    let wait = prop_oneof![
        6 => 0_u64..2_000_000,
        6 => 0_u64..20_000_000,
        2 => Just(5_000_000_u64),
        1 => 0_u64..400_000_000,
        1 => 0_u64..4_000_000_000,
    ];
    traces(events, [(6, 2, 2), (9, 1, 1), (3, 3, 3), (3, 5, 2)], arrival, wait)
}

/// Traces of up to `events` events of `flows` flows with every ECN field, the class a function of the flow: overload,
/// balance or drained; gaps from microseconds to seconds.
pub fn classed_events(flows: u64, events: usize) -> impl Strategy<Value = Vec<Event>> {
    let ecn = prop_oneof![3 => Just(Ecn::NotCapable), 1 => Just(Ecn::Ect0), 1 => Just(Ecn::Ect1), 1 => Just(Ecn::Ce)];
    let arrival = (0..flows, mixed_len(), ecn).prop_map(|(flow, len, ecn)| {
        Event::Offer(Meta { ecn, class: (flow % 4) as u8, ..Meta::of_flow(flow, len) })
    });
    let wait = prop_oneof![
        4 => 0_u64..200_000,
        4 => 0_u64..20_000_000,
        1 => Just(5_000_000_u64),
        1 => 0_u64..200_000_000,
        1 => 0_u64..3_000_000_000,
    ];
    traces(events, MIXED, arrival, wait)
}
