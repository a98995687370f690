//! Bursts in modes beside a slow reference, packet by packet; the boundaries of each mode; and the law of the count-down.

use std::collections::BTreeMap;
use std::convert::Infallible;

use fairdrop::{
    Action, Arrivals, BurstModes, ChokeBursts, ChokeDecision, ChokeParams, DropCause, Ecn, IdRing, Meta,
    NO_ID, Occupied, Philox, RedBursts, RedParams, Ring, RingEnv, Stream, Streams, Time, Victim, Xoroshiro,
};
use fairdrop_reference::arbitrary::red_params;
use fairdrop_reference::burst::{BurstReference, Waiting};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const SLOTS: usize = 256;
const MASK: u32 = SLOTS as u32 - 1;
const NONE: Victim = Victim { slot: u32::MAX, cause: DropCause::Overflow };

/// Either of the two.
#[derive(Clone)]
enum Rule {
    Red(RedBursts),
    Choke(ChokeBursts),
}

/// A ring with ids and lengths, as its owner keeps it.
#[derive(Clone)]
struct Host {
    rule: Rule,
    ids: Vec<u32>,
    lens: Vec<u32>,
    /// Numbers of the packets.
    numbers: Vec<u32>,
    at: Occupied,
}

impl Host {
    fn new(rule: Rule) -> Self {
        let at = Occupied::default();
        Self { rule, ids: vec![NO_ID; SLOTS], lens: vec![0; SLOTS], numbers: vec![0; SLOTS], at }
    }

    fn choke(params: ChokeParams, modes: BurstModes) -> Self {
        Self::new(Rule::Choke(ChokeBursts::new(params, modes).unwrap()))
    }

    /// A burst with packets numbered from `first` on: the actions, and the numbers of the victims.
    fn burst(
        &mut self,
        burst: &[Meta],
        first: u32,
        now: Time,
        random: &mut dyn FnMut(Stream) -> u64,
    ) -> (Vec<Action>, Vec<u32>) {
        let ids: Vec<u32> = burst.iter().map(|meta| meta.flow as u32).collect();
        let lens: Vec<u32> = burst.iter().map(|meta| meta.len).collect();
        let ecn: Vec<Ecn> = burst.iter().map(|meta| meta.ecn).collect();
        let arrivals = Arrivals { ids: &ids, lens: &lens, ecn: &ecn };
        let mut actions = vec![Action::Drop(DropCause::DualPi2); burst.len()];
        let mut env = RingEnv::new(now, random);
        let (mut tail, mut victims) = (self.at.tail, vec![NONE; burst.len() * 32]);
        let mut dropped = vec![];
        match &mut self.rule {
            Rule::Red(red) => red.burst::<Infallible, _>(arrivals, self.at.packets, &mut env, &mut actions),
            Rule::Choke(choke) => {
                let mut ring = IdRing::new(&mut self.ids, &mut self.lens, self.at, &mut victims).unwrap();
                choke.burst::<Infallible, _>(arrivals, &mut ring, &mut env, &mut actions);
                self.at = ring.occupied();
                dropped = ring.victims().to_vec();
            }
        }
        for (number, (meta, action)) in (first..).zip(burst.iter().zip(&actions)) {
            if !matches!(action, Action::Drop(_)) {
                let slot = (tail & MASK) as usize;
                self.numbers[slot] = number;
                tail = tail.wrapping_add(1);
                if matches!(self.rule, Rule::Red(_)) {
                    (self.ids[slot], self.lens[slot]) = (meta.flow as u32, meta.len);
                    self.at.packets += 1;
                    self.at.bytes += u64::from(meta.len);
                }
            }
        }
        assert!(matches!(self.rule, Rule::Red(_)) || tail == self.at.tail);
        self.at.tail = tail;
        (actions, dropped.iter().map(|victim| self.numbers[victim.slot as usize]).collect())
    }

    fn depart(&mut self, now: Time) -> Option<u32> {
        while self.at.head != self.at.tail {
            let slot = (self.at.head & MASK) as usize;
            self.at.head = self.at.head.wrapping_add(1);
            if self.ids[slot] != NO_ID {
                self.at.packets -= 1;
                self.at.bytes -= u64::from(self.lens[slot]);
                match &mut self.rule {
                    Rule::Red(red) => red.departed(self.lens[slot]),
                    Rule::Choke(choke) => choke.departed(self.lens[slot]),
                }
                return Some(self.numbers[slot]);
            }
        }
        match &mut self.rule {
            Rule::Red(red) => red.idle(now),
            Rule::Choke(choke) => choke.idle(now),
        }
        None
    }

    fn waiting(&self) -> Vec<u32> {
        let slots = (0..self.at.tail.wrapping_sub(self.at.head))
            .map(|at| (self.at.head.wrapping_add(at) & MASK) as usize);
        slots.filter(|&slot| self.ids[slot] != NO_ID).map(|slot| self.numbers[slot]).collect()
    }

    fn shown(&self) -> (fairdrop::Stats, f64) {
        match &self.rule {
            Rule::Red(red) => (*red.stats(), red.average_packets()),
            Rule::Choke(choke) => (*choke.stats(), choke.average_packets()),
        }
    }
}

/// The numbers of each stream, some of which are refused.
fn numbers(seed: u64) -> impl FnMut(Stream) -> u64 + Clone {
    let mut streams: [Philox; Stream::COUNT] =
        std::array::from_fn(|stream| Philox::new(seed, 0, stream as u32));
    move |stream| {
        let number = streams[stream as usize].next_u64();
        if stream == Stream::Candidate && number.is_multiple_of(29) { number % 3 } else { number }
    }
}

/// Arrivals, then departures, then time without any.
type Step = (Vec<Meta>, usize, u64);

/// The library beside the reference; the causes of drops and marks.
fn agree(
    (red, compares, modes): (RedParams, bool, BurstModes),
    steps: &[Step],
    seed: u64,
) -> Result<Vec<DropCause>, String> {
    let rule = if compares {
        let params = ChokeParams { red: red.clone(), ..ChokeParams::default() };
        Rule::Choke(ChokeBursts::new(params, modes).unwrap())
    } else {
        Rule::Red(RedBursts::new(red.clone(), modes).unwrap())
    };
    let (mut host, mut slow) = (Host::new(rule), BurstReference::new(red, compares, modes));
    let (mut fast_numbers, mut slow_numbers) = (numbers(seed), numbers(seed));
    let (mut now, mut number) = (Time::ZERO, 0);
    for (at, (burst, departures, gap)) in steps.iter().enumerate() {
        while slow.slots.len() + burst.len() > SLOTS {
            assert_eq!(host.depart(now), slow.dequeue(now).map(|(number, _)| number));
        }
        let (actions, victims) = host.burst(burst, number, now, &mut fast_numbers);
        let done: Vec<_> = (0_u32..)
            .zip(burst)
            .map(|(place, &meta)| {
                let packet: Waiting = (number + place, meta);
                slow.arrive(packet, place == 0, now, &mut slow_numbers)
            })
            .collect();
        let wanted: Vec<_> = done.iter().map(|done| done.action).collect();
        let matched: Vec<_> = done.iter().filter_map(|done| done.matched).collect();
        if (&actions, &victims) != (&wanted, &matched) {
            return Err(format!("step {at}: {actions:?} {victims:?}, should be {wanted:?} {matched:?}"));
        }
        let waiting: Vec<_> = slow.slots.iter().flatten().map(|(number, _)| *number).collect();
        let streams = [Stream::Candidate, Stream::EarlyDrop, Stream::CountDown];
        let later = [
            streams.map(|stream| fast_numbers.clone()(stream)),
            streams.map(|stream| slow_numbers.clone()(stream)),
        ];
        let count = if let Rule::Red(red) = &host.rule { red.count() } else { slow.count };
        if (host.shown().1, count) != (slow.average, slow.count)
            || host.waiting() != waiting
            || later[0] != later[1]
        {
            return Err(format!("step {at}: average, count, packets or random numbers differ"));
        }
        number += burst.len() as u32;
        for _ in 0..*departures {
            assert_eq!(host.depart(now), slow.dequeue(now).map(|(number, _)| number));
        }
        now = Time::from_ns(now.ns() + gap);
    }
    let counted = host.shown().0;
    let is_counted =
        |&cause: &DropCause| counted.dropped_for(cause).packets + counted.marked_for(cause).packets > 0;
    Ok(DropCause::ALL.into_iter().filter(is_counted).collect())
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ecn = prop_oneof![4 => Just(Ecn::NotCapable), 1 => Just(Ecn::Ect0)];
    let len = prop_oneof![3 => Just(1000_u32), 1 => 0_u32..2000];
    let flows = prop_oneof![2 => Just(4_u64), 3 => Just(40), 2 => Just(4000)];
    let burst = prop_oneof![1 => Just(1_usize), 1 => Just(64), 4 => 0_usize..65];
    (flows, burst, 0_usize..70).prop_flat_map(move |(flows, most, leave)| {
        let meta = (0..flows, len.clone(), ecn.clone())
            .prop_map(|(flow, len, ecn)| Meta { ecn, ..Meta::of_flow(flow, len) });
        let gap = prop_oneof![4 => Just(1000_u64), 1 => 0_u64..1 << 30];
        let step = (prop::collection::vec(meta, 0..=most), 0..=leave, gap);
        prop::collection::vec(step, 1..30)
    })
}

/// Steady parameters, with spacings of a few packets to hundreds, or any.
fn any_red() -> impl Strategy<Value = RedParams> {
    let w_q = prop_oneof![2 => Just(0.002), 2 => Just(0.02), 1 => Just(0.5)];
    let max_p = prop_oneof![Just(0.02), Just(0.1), 0.001..0.5];
    let steady = (40_u32..200, 0.0..40.0, 20.0..200.0, max_p, w_q, any::<bool>()).prop_map(
        |(limit, min_th, width, max_p, w_q, ecn)| RedParams {
            limit,
            min_th,
            max_th: min_th + width,
            max_p,
            w_q,
            ecn,
            ..RedParams::default()
        },
    );
    prop_oneof![3 => steady, 1 => red_params()]
}

fn any_rule() -> impl Strategy<Value = (RedParams, bool, BurstModes)> {
    let modes = (any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(average_once, snapshot, count_down)| BurstModes { average_once, snapshot, count_down });
    (any_red(), prop::bool::weighted(0.75), modes)
}

properties! {
    #[test]
    fn bursts_in_every_mode_are_those_of_the_reference(rule in any_rule(), steps in steps(), seed in any::<u64>()) {
        agree(rule, &steps, seed).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn random_bursts_in_modes_reach_every_cause() {
    use DropCause::{MatchArriving, MatchQueued, Overflow, RedEarly, RedForced};
    let run =
        |(rule, steps, seed): ((RedParams, bool, BurstModes), Vec<Step>, u64)| agree(rule, &steps, seed);
    let wanted = [MatchArriving, MatchQueued, Overflow, RedEarly, RedForced];
    reach(1000, &(any_rule(), steps(), any::<u64>()), &wanted, run);
}

const ONCE: BurstModes = BurstModes { average_once: true, snapshot: false, count_down: false };
const SNAPSHOT: BurstModes = BurstModes { average_once: false, snapshot: true, count_down: false };
const COUNT_DOWN: BurstModes = BurstModes { average_once: false, snapshot: false, count_down: true };
const ALL: BurstModes = BurstModes { average_once: true, snapshot: true, count_down: true };

/// Compares from the first packet on, with an average that is the queue.
fn at_once(limit: u32, max_th: f64, max_p: f64) -> ChokeParams {
    let red = RedParams { limit, min_th: 0.0, max_th, max_p, w_q: 1.0, ..RedParams::default() };
    ChokeParams { red, ..ChokeParams::default() }
}

fn of_flow(flow: u64, packets: usize) -> Vec<Meta> {
    vec![Meta::of_flow(flow, 1000); packets]
}

/// Neither the average nor a count nor a random number moves with a burst of none.
#[test]
fn a_burst_of_none_changes_nothing() {
    for modes in [ONCE, SNAPSHOT, COUNT_DOWN, ALL] {
        let mut params = at_once(100, 50.0, 0.5);
        params.red.w_q = 0.5;
        let mut host = Host::choke(params, modes);
        host.burst(&of_flow(1, 3), 0, Time::ZERO, &mut |_| u64::MAX);
        let before = (host.shown(), host.waiting(), host.at);
        let (actions, victims) =
            host.burst(&[], 3, Time::ZERO, &mut |stream| panic!("a number of {stream:?}"));
        assert_eq!((actions, victims), (vec![], vec![]));
        assert_eq!((host.shown(), host.waiting(), host.at), before, "{modes:?}");
    }
}

/// Into an empty queue nothing is drawn in a snapshot, however long the burst; otherwise its second packet meets the first.
#[test]
fn a_snapshot_of_an_empty_queue_compares_nothing() {
    let (queued, zero) = (vec![Action::Queue; 64], Time::ZERO);
    for modes in [SNAPSHOT, BurstModes { average_once: true, ..SNAPSHOT }, ALL] {
        let mut host = Host::choke(at_once(100, 500.0, 0.0), modes);
        let mut draws = 0;
        let (actions, victims) = host.burst(&of_flow(1, 64), 0, zero, &mut |stream| {
            draws += u32::from(stream == Stream::Candidate);
            1 << 63
        });
        assert_eq!((actions, victims, draws), (queued.clone(), vec![], 0), "{modes:?}");
        // The next burst of one meets what waits now.
        let (actions, victims) = host.burst(&of_flow(1, 1), 64, zero, &mut |_| 1 << 63);
        assert_eq!((actions, victims), (vec![Action::Drop(DropCause::MatchArriving)], vec![32]));
    }
    let mut host = Host::choke(at_once(100, 500.0, 0.0), ONCE);
    let (actions, victims) = host.burst(&of_flow(1, 2), 0, zero, &mut |_| 1 << 63);
    assert_eq!((actions, victims), (vec![Action::Queue, Action::Drop(DropCause::MatchArriving)], vec![0]));
}

/// Victims leave the snapshot too: its last packet is dropped in the middle of a burst, after which nothing is drawn.
#[test]
fn a_match_in_mid_burst_may_empty_the_snapshot() {
    for modes in [SNAPSHOT, ALL] {
        let mut host = Host::choke(at_once(100, 500.0, 0.0), modes);
        host.burst(&of_flow(7, 1), 0, Time::ZERO, &mut |_| 1 << 63);
        let burst = [of_flow(1, 2), of_flow(7, 1), of_flow(1, 3), of_flow(7, 1)].concat();
        let mut draws = 0;
        let (actions, victims) = host.burst(&burst, 1, Time::ZERO, &mut |stream| {
            draws += u32::from(stream == Stream::Candidate);
            1 << 63
        });
        let mut wanted = vec![Action::Queue; 7];
        wanted[2] = Action::Drop(DropCause::MatchArriving);
        assert_eq!((actions, victims, draws), (wanted, vec![0], 3), "{modes:?}");
        assert_eq!(host.waiting(), [1, 2, 4, 5, 6, 7]);
    }
}

/// The limit holds within a burst, and an average that stands still forces no drop that the queue would.
#[test]
fn a_buffer_that_fills_in_mid_burst_drops_the_rest() {
    for modes in [ONCE, SNAPSHOT, COUNT_DOWN, ALL] {
        let mut params = at_once(40, 500.0, 0.0);
        params.red.min_th = 450.0;
        let mut host = Host::choke(params, modes);
        let (actions, _) = host.burst(&of_flow(1, 64), 0, Time::ZERO, &mut |_| 1 << 63);
        let full = Action::Drop(DropCause::Overflow);
        assert_eq!(actions, [vec![Action::Queue; 40], vec![full; 24]].concat(), "{modes:?}");
    }
}

/// With an average of its own for each packet the third is at `max_th`; with one for the burst none is, and then all are.
#[test]
fn forced_drops_go_by_the_average_of_the_burst() {
    let forced = Action::Drop(DropCause::RedForced);
    for modes in [ONCE, BurstModes { count_down: true, ..ONCE }] {
        let red = at_once(100, 2.0, 0.0).red;
        let mut host = Host::new(Rule::Red(RedBursts::new(red, modes).unwrap()));
        let (first, _) = host.burst(&of_flow(1, 64), 0, Time::ZERO, &mut |_| 1 << 63);
        let (second, _) = host.burst(&of_flow(1, 64), 64, Time::ZERO, &mut |_| 1 << 63);
        assert_eq!((first, second), (vec![Action::Queue; 64], vec![forced; 64]), "{modes:?}");
    }
    let mut host = Host::new(Rule::Red(RedBursts::new(at_once(100, 2.0, 0.0).red, COUNT_DOWN).unwrap()));
    let (actions, _) = host.burst(&of_flow(1, 4), 0, Time::ZERO, &mut |_| 1 << 63);
    assert_eq!(actions, [Action::Queue, Action::Queue, forced, forced]);
}

/// Bursts of one: without the count-down they are decisions one by one, variants included.
#[test]
fn bursts_of_one_are_decided_as_one_by_one() {
    let variants = [
        ("candidates", fairdrop::ParamValue::Number(3.0)),
        ("draw", fairdrop::ParamValue::Word("tail")),
        ("draw", fairdrop::ParamValue::Word("spread")),
        ("sampling", fairdrop::ParamValue::Word("byte")),
        ("order", fairdrop::ParamValue::Word("red_first")),
    ];
    for (name, value) in variants {
        let mut params = at_once(60, 50.0, 0.2);
        params.red.w_q = 0.1;
        assert!(params.set(name, value));
        let mut host = Host::choke(params.clone(), BurstModes { average_once: true, ..SNAPSHOT });
        let mut single = ChokeDecision::new(params).unwrap();
        let (mut fast, mut slow) = (numbers(3), numbers(3));
        for number in 0..400_u32 {
            let meta = Meta::of_flow(u64::from(number % 7), 500 + number % 3 * 300);
            let at = |offset: u32| {
                let index = (host.at.head.wrapping_add(offset) & MASK) as usize;
                (host.ids[index] != NO_ID).then(|| (u64::from(host.ids[index]), host.lens[index]))
            };
            let mut ring =
                Ring::new(host.at.tail.wrapping_sub(host.at.head), host.at.packets, host.at.bytes, at);
            let action = single.arrival(&meta, &mut ring, &mut RingEnv::new(Time::ZERO, &mut slow));
            let victims = ring.victims().len();
            let (actions, dropped) = host.burst(&[meta], number, Time::ZERO, &mut fast);
            assert_eq!((actions[0], dropped.len()), (action, victims), "{name}: {number}");
            if number % 2 == 0 && host.depart(Time::ZERO).is_some() {
                single.departed(500);
            }
        }
    }
}

/// Arrivals between early drops, by how many, under a queue and an average that move.
fn gaps(modes: BurstModes, mut random: impl FnMut(Stream) -> u64, drops: u32) -> BTreeMap<u32, u32> {
    let red =
        RedParams { min_th: 5.0, max_th: 25.0, max_p: 0.4, w_q: 0.05, limit: 100, ..RedParams::default() };
    let mut rule = RedBursts::new(red, modes).unwrap();
    let (mut found, mut gap, mut at) = (BTreeMap::new(), 0, 0_u32);
    while found.values().sum::<u32>() < drops {
        let waiting = 10 + (at / 40 % 2) * 10;
        at += 1;
        let mut ring = Ring::new(waiting, waiting, 0, |_| None);
        let action = rule.arrival::<Infallible, _>(
            &Meta::of_flow(1, 1000),
            &mut ring,
            &mut RingEnv::new(Time::ZERO, &mut random),
        );
        if action == Action::Queue {
            gap += 1;
        } else {
            *found.entry(gap).or_insert(0) += 1;
            gap = 0;
        }
    }
    found
}

/// Two samples of the same law: chi-square of the gaps, classes with at least 20 of both together, within six standard deviations of
/// its mean. Seeds are fixed.
#[test]
fn a_count_down_has_the_law_of_a_draw_for_each_arrival() {
    let distance = |a: &BTreeMap<u32, u32>, b: &BTreeMap<u32, u32>| {
        let (mut sum, mut classes, mut held) = (0.0, 0.0, [0.0, 0.0]);
        for gap in 0..=*a.keys().chain(b.keys()).max().unwrap() {
            held = [
                held[0] + f64::from(*a.get(&gap).unwrap_or(&0)),
                held[1] + f64::from(*b.get(&gap).unwrap_or(&0)),
            ];
            if held[0] + held[1] >= 20.0 {
                sum += (held[0] - held[1]).powi(2) / (held[0] + held[1]);
                classes += 1.0;
                held = [0.0, 0.0];
            }
        }
        (sum - classes) / (2.0_f64 * classes).sqrt()
    };
    let drops = 20_000;
    let each = gaps(BurstModes::default(), numbers(1), drops);
    let counted = gaps(COUNT_DOWN, numbers(2), drops);
    let mut small = Streams::<Xoroshiro>::new(3, 0);
    let by_small = gaps(COUNT_DOWN, |stream| small.next(stream), drops);
    assert!(each.len() > 10, "{each:?}");
    for other in [&counted, &by_small] {
        let distance = distance(&each, other);
        assert!(distance.abs() < 6.0, "{distance}: {each:?} {other:?}");
    }
    // Another law is noticed: gaps of one packet more.
    let longer = counted.iter().map(|(gap, times)| (gap + 1, *times)).collect();
    assert!(distance(&each, &longer) > 20.0);
}
