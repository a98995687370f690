//! A burst is decided as its packets are one after the other: the same actions, victims, counters, average and random numbers.

use std::collections::VecDeque;
use std::convert::Infallible;

use fairdrop::{
    Action, Arrivals, ChokeDecision, ChokeParams, DropCause, Ecn, IdRing, Meta, NO_ID, Occupied, Philox,
    RedDecision, RedParams, Ring, RingEnv, Stream, Time, Victim,
};
use fairdrop_reference::arbitrary::{choke_scheme, choke_with, red_params};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

/// Slots of the ring.
const SLOTS: usize = 256;
const MASK: u32 = SLOTS as u32 - 1;

/// Arrivals, then departures, then time in which the link is idle if nothing waits.
type Step = (Vec<Meta>, usize, u64);

/// One stream for each purpose; some give numbers for which a draw has to be repeated.
#[derive(Clone, Debug)]
struct Numbers([Philox; Stream::COUNT]);

impl Numbers {
    fn new(seed: u64) -> Self {
        Self(std::array::from_fn(|stream| Philox::new(seed, 0, stream as u32)))
    }

    fn next(&mut self, stream: Stream) -> u64 {
        let number = self.0[stream as usize].next_u64();
        // The product of a small number has a low half that is refused for many bounds.
        if stream == Stream::Candidate && number.is_multiple_of(29) { number % 3 } else { number }
    }

    fn later(&self) -> Vec<u64> {
        self.0.clone().iter_mut().map(Philox::next_u64).collect()
    }
}

/// A burst as the owner of a ring knows it.
struct Columns {
    ids: Vec<u32>,
    lens: Vec<u32>,
    ecn: Vec<Ecn>,
}

impl Columns {
    fn of(burst: &[Meta]) -> Self {
        // The ECN fields of the last packets are left out where they are not ECN-capable.
        let capable = burst.iter().rposition(|meta| meta.ecn != Ecn::NotCapable).map_or(0, |at| at + 1);
        Self {
            ids: burst.iter().map(|meta| meta.flow as u32).collect(),
            lens: burst.iter().map(|meta| meta.len).collect(),
            ecn: burst[..capable].iter().map(|meta| meta.ecn).collect(),
        }
    }

    fn arrivals(&self) -> Arrivals<'_> {
        Arrivals { ids: &self.ids, lens: &self.lens, ecn: &self.ecn }
    }
}

/// The decisions of a burst, and what waits after it: an id and a length, `None` for an empty slot.
type Outcome = (Vec<Action>, Vec<Victim>, Vec<Option<(u64, u32)>>);

/// The packet as it is compared.
fn named(meta: &Meta) -> Meta {
    Meta { flow: meta.flow.min(u64::from(NO_ID - 1)), ..*meta }
}

/// A rule for a burst, at once or one by one.
trait Rule {
    fn one_by_one(&mut self, burst: &[Meta], queue: &mut Queue, now: Time, numbers: &mut Numbers) -> Outcome;
    fn at_once(&mut self, burst: &[Meta], queue: &mut Queue, now: Time, numbers: &mut Numbers) -> Outcome;
    fn idle(&mut self, now: Time);
    fn departed(&mut self, len: u32);
    /// Everything that may differ.
    fn shown(&self) -> (fairdrop::Stats, f64);
}

/// Slots from the head on.
#[derive(Clone, Debug, Default)]
struct Queue {
    head: u32,
    slots: VecDeque<Option<(u64, u32)>>,
}

impl Queue {
    fn packets(&self) -> u32 {
        self.slots.iter().flatten().count() as u32
    }

    fn bytes(&self) -> u64 {
        self.slots.iter().flatten().map(|&(_, len)| u64::from(len)).sum()
    }

    fn depart(&mut self) -> Option<u32> {
        loop {
            let slot = self.slots.pop_front()?;
            self.head = self.head.wrapping_add(1);
            if let Some((_, len)) = slot {
                return Some(len);
            }
        }
    }

    fn outcome(&self, actions: Vec<Action>, victims: Vec<Victim>) -> Outcome {
        (actions, victims, self.slots.iter().copied().collect())
    }

    /// Puts the arrivals where they belong and drops the victims, as a caller would.
    fn carry_out(&mut self, burst: &[Meta], actions: &[Action], victims: &[Victim]) {
        for (meta, action) in burst.iter().zip(actions) {
            if !matches!(action, Action::Drop(_)) {
                self.slots.push_back(Some((named(meta).flow, meta.len)));
            }
        }
        for victim in victims {
            let offset = victim.slot.wrapping_sub(self.head) & MASK;
            assert!(self.slots[offset as usize].take().is_some(), "{victim:?} is dropped twice");
        }
    }
}

impl Rule for ChokeDecision {
    fn one_by_one(&mut self, burst: &[Meta], queue: &mut Queue, now: Time, numbers: &mut Numbers) -> Outcome {
        let (mut actions, mut victims) = (vec![], vec![]);
        for meta in &burst.iter().map(named).collect::<Vec<_>>() {
            let waiting = queue.slots.clone();
            let at = |slot: u32| waiting.get(slot as usize).copied().flatten();
            let mut ring = Ring::new(waiting.len() as u32, queue.packets(), queue.bytes(), at);
            let mut env = RingEnv::new(now, |stream| numbers.next(stream));
            let action = self.arrival(meta, &mut ring, &mut env);
            let mapped = |victim: &Victim| Victim {
                slot: queue.head.wrapping_add(victim.slot) & MASK,
                cause: victim.cause,
            };
            let dropped: Vec<_> = ring.victims().iter().map(mapped).collect();
            queue.carry_out(&[*meta], &[action], &dropped);
            actions.push(action);
            victims.extend(dropped);
        }
        queue.outcome(actions, victims)
    }

    fn at_once(&mut self, burst: &[Meta], queue: &mut Queue, now: Time, numbers: &mut Numbers) -> Outcome {
        let (mut ids, mut lens) = ([NO_ID; SLOTS], [u32::MAX; SLOTS]);
        for (offset, slot) in queue.slots.iter().enumerate() {
            let index = (queue.head.wrapping_add(offset as u32) & MASK) as usize;
            (ids[index], lens[index]) = slot.map_or((NO_ID, 0), |(flow, len)| (flow as u32, len));
        }
        let tail = queue.head.wrapping_add(queue.slots.len() as u32);
        let occupied = Occupied { head: queue.head, tail, packets: queue.packets(), bytes: queue.bytes() };
        let mut victims = vec![Victim { slot: 0, cause: DropCause::Overflow }; burst.len() * 32];
        let mut ring = IdRing::new(&mut ids, &mut lens, occupied, &mut victims).expect("a ring");
        let mut actions = vec![Action::Drop(DropCause::DualPi2); burst.len()];
        let mut env = RingEnv::new(now, |stream| numbers.next(stream));
        self.burst::<Infallible, _>(Columns::of(burst).arrivals(), &mut ring, &mut env, &mut actions);
        let (after, victims) = (ring.occupied(), ring.victims().to_vec());
        queue.carry_out(burst, &actions, &victims);
        let tail = queue.head.wrapping_add(queue.slots.len() as u32);
        let counted = Occupied { head: queue.head, tail, packets: queue.packets(), bytes: queue.bytes() };
        assert_eq!(after, counted);
        for (offset, slot) in queue.slots.iter().enumerate() {
            let index = (queue.head.wrapping_add(offset as u32) & MASK) as usize;
            assert_eq!(ids[index], slot.map_or(NO_ID, |(flow, _)| flow as u32), "slot {index}");
            assert!(slot.is_none_or(|(_, len)| len == lens[index]), "slot {index}");
        }
        queue.outcome(actions, victims)
    }

    fn idle(&mut self, now: Time) {
        Self::idle(self, now);
    }

    fn departed(&mut self, len: u32) {
        Self::departed(self, len);
    }

    fn shown(&self) -> (fairdrop::Stats, f64) {
        (*self.stats(), self.average_packets())
    }
}

impl Rule for RedDecision {
    fn one_by_one(&mut self, burst: &[Meta], queue: &mut Queue, now: Time, numbers: &mut Numbers) -> Outcome {
        let mut actions = vec![];
        for meta in burst {
            let mut ring = Ring::new(queue.packets(), queue.packets(), queue.bytes(), |_| None);
            let mut env = RingEnv::new(now, |stream| numbers.next(stream));
            actions.push(self.arrival(meta, &mut ring, &mut env));
            queue.carry_out(&[*meta], &actions[actions.len() - 1..], &[]);
        }
        queue.outcome(actions, vec![])
    }

    fn at_once(&mut self, burst: &[Meta], queue: &mut Queue, now: Time, numbers: &mut Numbers) -> Outcome {
        let mut actions = vec![Action::Drop(DropCause::DualPi2); burst.len()];
        let mut env = RingEnv::new(now, |stream| numbers.next(stream));
        let columns = Columns::of(burst);
        self.burst::<Infallible, _>(columns.arrivals(), queue.packets(), &mut env, &mut actions);
        queue.carry_out(burst, &actions, &[]);
        queue.outcome(actions, vec![])
    }

    fn idle(&mut self, now: Time) {
        Self::idle(self, now);
    }

    fn departed(&mut self, len: u32) {
        Self::departed(self, len);
    }

    fn shown(&self) -> (fairdrop::Stats, f64) {
        (*self.stats(), self.average_packets())
    }
}

/// Both ways through the same bursts; the causes of all drops and marks.
fn agree<R: Rule + Clone>(rule: R, steps: &[Step], seed: u64) -> Result<Vec<DropCause>, String> {
    let mut rules = [rule.clone(), rule];
    let mut queues = [Queue::default(), Queue::default()];
    let mut numbers = [Numbers::new(seed), Numbers::new(seed)];
    let mut now = Time::ZERO;
    for (at, (burst, departures, gap)) in steps.iter().enumerate() {
        while queues[0].slots.len() + burst.len() > SLOTS {
            for (queue, rule) in queues.iter_mut().zip(&mut rules) {
                queue.depart().into_iter().for_each(|len| rule.departed(len));
            }
        }
        let single = rules[0].one_by_one(burst, &mut queues[0], now, &mut numbers[0]);
        let whole = rules[1].at_once(burst, &mut queues[1], now, &mut numbers[1]);
        if single != whole {
            return Err(format!("step {at}: {single:?} one by one, {whole:?} at once"));
        }
        if rules[0].shown() != rules[1].shown() || numbers[0].later() != numbers[1].later() {
            let [single, whole] = [rules[0].shown(), rules[1].shown()];
            return Err(format!(
                "step {at}: {single:?} one by one, {whole:?} at once, or the numbers after it"
            ));
        }
        for _ in 0..*departures {
            for (queue, rule) in queues.iter_mut().zip(&mut rules) {
                match queue.depart() {
                    Some(len) => rule.departed(len),
                    None => rule.idle(now),
                }
            }
        }
        now = Time::from_ns(now.ns() + gap);
    }
    let counted = rules[1].shown().0;
    let is_counted =
        |&cause: &DropCause| counted.dropped_for(cause).packets + counted.marked_for(cause).packets > 0;
    Ok(DropCause::ALL.into_iter().filter(is_counted).collect())
}

/// Bursts of up to 70 packets, few of which match, or many; departures that keep up, or do not.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ecn = prop_oneof![4 => Just(Ecn::NotCapable), 1 => Just(Ecn::Ect0)];
    let len = prop_oneof![3 => Just(1000_u32), 1 => 0_u32..2000];
    // The highest id stands for empty slots: a packet with it counts as of the flow below.
    let flows = prop_oneof![2 => Just(4_u64), 3 => Just(40), 2 => Just(4000)];
    (flows, 1_usize..70, 1_usize..70).prop_flat_map(move |(flows, most, leave)| {
        let flow = prop_oneof![40 => 0..flows, 1 => Just(u64::from(NO_ID)), 1 => Just(u64::from(NO_ID - 1))];
        let meta = (flow, len.clone(), ecn.clone())
            .prop_map(|(flow, len, ecn)| Meta { ecn, ..Meta::of_flow(flow, len) });
        let gap = prop_oneof![4 => Just(1000_u64), 1 => 0_u64..1 << 30];
        let step = (prop::collection::vec(meta, 0..=most), 0..=leave, gap);
        prop::collection::vec(step, 1..30)
    })
}

/// Parameters under which a steady queue is compared and seldom dropped from, as in a data plane.
fn steady() -> impl Strategy<Value = RedParams> {
    let w_q = prop_oneof![2 => Just(0.002), 2 => Just(0.02), 1 => Just(0.5)];
    let max_p = prop_oneof![Just(0.02), Just(0.1), 0.001..0.5];
    (40_u32..200, 0.0..40.0, 20.0..200.0, max_p, w_q, any::<bool>()).prop_map(
        |(limit, min_th, width, max_p, w_q, ecn)| RedParams {
            limit,
            min_th,
            max_th: min_th + width,
            max_p,
            w_q,
            ecn,
            ..RedParams::default()
        },
    )
}

/// The steady parameters, or any, degenerate ones included.
fn any_red() -> impl Strategy<Value = RedParams> {
    prop_oneof![3 => steady(), 1 => red_params()]
}

fn any_choke() -> impl Strategy<Value = ChokeParams> {
    let plain = any_red().prop_map(|red| ChokeParams { red, ..ChokeParams::default() });
    let other = (any_red(), choke_scheme()).prop_map(|(red, scheme)| choke_with(&red, &scheme));
    prop_oneof![3 => plain, 1 => other]
}

properties! {
    #[test]
    fn a_burst_at_choke_is_decided_as_one_by_one(params in any_choke(), steps in steps(), seed in any::<u64>()) {
        agree(ChokeDecision::new(params).unwrap(), &steps, seed).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_burst_at_red_is_decided_as_one_by_one(params in any_red(), steps in steps(), seed in any::<u64>()) {
        agree(RedDecision::new(params).unwrap(), &steps, seed).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn random_bursts_reach_every_cause() {
    use DropCause::{MatchArriving, MatchQueued, Overflow, RedEarly, RedForced};
    let run = |(params, steps, seed): (ChokeParams, Vec<Step>, u64)| {
        agree(ChokeDecision::new(params).unwrap(), &steps, seed)
    };
    let wanted = [MatchArriving, MatchQueued, Overflow, RedEarly, RedForced];
    reach(1000, &(any_choke(), steps(), any::<u64>()), &wanted, run);
}

/// A ring without a free slot, and one that is none.
#[test]
fn a_ring_that_is_full_drops_and_one_that_is_none_is_refused() {
    let mut victims = [Victim { slot: 0, cause: DropCause::Overflow }; 64];
    let occupied = Occupied { head: 5, tail: 5 + 14, packets: 14, bytes: 14_000 };
    let (mut ids, mut lens) = ([7; 16], [1000; 16]);
    let mut params = ChokeParams::default();
    (params.red.min_th, params.red.max_th) = (100.0, 200.0);
    let mut choke = ChokeDecision::new(params).unwrap();
    let mut ring = IdRing::new(&mut ids, &mut lens, occupied, &mut victims).expect("a ring");
    let mut env = RingEnv::new(Time::ZERO, |_| 1 << 63);
    let mut actions = [Action::Queue; 4];
    let arrivals = Arrivals { ids: &[7, 7, 7, 7], lens: &[1000; 9], ecn: &[] };
    choke.burst::<Infallible, _>(arrivals, &mut ring, &mut env, &mut actions);
    let full = Action::Drop(DropCause::Overflow);
    assert_eq!(actions, [Action::Queue, Action::Queue, full, full]);
    assert_eq!(ring.occupied(), Occupied { tail: 5 + 16, packets: 16, bytes: 16_000, ..occupied });
    assert_eq!(ring.victims(), []);

    let mut refused = |slots: usize, lens: usize, occupied: Occupied| {
        IdRing::new(&mut vec![0; slots], &mut vec![0; lens], occupied, &mut victims).is_none()
    };
    assert!(refused(12, 12, Occupied::default()) && refused(0, 0, Occupied::default()));
    assert!(refused(16, 8, Occupied::default()));
    assert!(refused(16, 16, Occupied { tail: 17, ..Occupied::default() }));
    assert!(refused(16, 16, Occupied { tail: 3, packets: 4, ..Occupied::default() }));
    assert!(!refused(16, 16, Occupied { head: u32::MAX, tail: 15, packets: 16, bytes: 0 }));
}
