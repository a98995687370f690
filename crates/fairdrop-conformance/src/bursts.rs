//! Bursts on the bench: decisions in modes, over a ring that is kept here.
//!
//! Arrivals are events of their own, so that each has its outcome and its random numbers. A burst is decided anew with each of its
//! arrivals, from the state and with the numbers with which it began: what it decides on the first of them does not depend on
//! those that follow.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;

use fairdrop::{
    Action as Fate, AnyParams, Arrivals, BurstModes, ChokeBursts, DropCause, Ecn, IdRing, MOST_VICTIMS, Meta,
    NO_ID, Occupied, RedBursts, RingEnv, Stream, Time, Victim,
};
use serde_json::{Map, json};

use crate::{Action, Event, Moment, Outcome, stream_name};

/// Most packets of a burst.
const LONGEST: usize = 64;

#[derive(Clone)]
enum Rule {
    Red(RedBursts),
    Choke(ChokeBursts),
}

/// A random number, and the stream that it was drawn from.
type Number = (Stream, u64);

/// A decision with the ring that it is for.
#[derive(Clone)]
struct State {
    rule: Rule,
    ids: Vec<u32>,
    lens: Vec<u32>,
    /// Numbers of the packets in the slots.
    numbers: Vec<u32>,
    at: Occupied,
}

/// The burst that may go on.
struct Begun {
    time_ns: u64,
    before: State,
    /// Number of the first packet.
    first: u32,
    packets: Vec<Meta>,
    taken: Vec<Number>,
    actions: Vec<Fate>,
    victims: usize,
}

pub(crate) struct BurstBench {
    state: State,
    is_snapshot: bool,
    begun: Option<Begun>,
    arrivals: u32,
    events: usize,
}

/// The modes with these names.
fn modes_named(names: &[String]) -> Result<BurstModes, String> {
    let mut modes = BurstModes::default();
    for name in names {
        match name.as_str() {
            "average_once" => modes.average_once = true,
            "snapshot" => modes.snapshot = true,
            "count_down" => modes.count_down = true,
            _ => return Err(format!("there is no mode {name} of bursts")),
        }
    }
    Ok(modes)
}

impl BurstBench {
    pub(crate) fn new(params: AnyParams, names: &[String]) -> Result<Self, String> {
        let (modes, limit) = (modes_named(names)?, params.limit() as usize);
        let rule = match params {
            AnyParams::Red(params) => RedBursts::new(params, modes).map(Rule::Red),
            AnyParams::Choke(params) => ChokeBursts::new(params, modes).map(Rule::Choke),
            _ => return Err("bursts have no modes but with red and choke".into()),
        };
        let slots = (2 * limit + 8 + LONGEST).next_power_of_two();
        let (ids, lens, numbers) = (vec![NO_ID; slots], vec![0; slots], vec![0; slots]);
        let rule = rule.map_err(|error| error.to_string())?;
        let state = State { rule, ids, lens, numbers, at: Occupied::default() };
        Ok(Self { state, is_snapshot: modes.snapshot, begun: None, arrivals: 0, events: 0 })
    }

    pub(crate) fn internals(&self) -> Vec<(String, f64)> {
        match &self.state.rule {
            Rule::Red(red) => {
                vec![("avg".into(), red.average_packets()), ("count".into(), red.count() as f64)]
            }
            Rule::Choke(choke) => vec![("avg".into(), choke.average_packets())],
        }
    }

    pub(crate) fn play(
        &mut self,
        time_ns: u64,
        moment: Moment,
        random: &mut dyn FnMut(Stream) -> u64,
    ) -> Result<Event, String> {
        let mut outcome = Outcome::default();
        let (mut taken, mut picks) = (Vec::new(), Vec::new());
        let action = match moment {
            Moment::Enqueue(meta) => {
                let id = self.arrivals;
                self.arrivals += 1;
                (taken, picks) = self.arrive(id, meta, time_ns, random, &mut outcome)?;
                Action::arrival(id, meta)
            }
            Moment::Dequeue => {
                self.begun = None;
                outcome.departed = self.state.depart(Time::from_ns(time_ns));
                Action::Dequeue
            }
            Moment::Tick => return Err("decisions on bursts have no timer".into()),
        };
        let internals = self.internals().into_iter().map(|(name, value)| (name, json!(value)));
        outcome.internals = internals.collect::<Map<_, _>>();
        outcome.backlog = (self.state.at.packets, self.state.at.bytes);
        let mut random: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (stream, bits) in taken {
            random.entry(stream_name(stream).into()).or_default().push(format!("{bits:016x}"));
        }
        let event = self.events;
        self.events += 1;
        Ok(Event { event, time_ns, action, random, picks, outcome })
    }

    /// The next arrival of a burst, or of another; the numbers that it took, and its candidate.
    fn arrive(
        &mut self,
        id: u32,
        meta: Meta,
        time_ns: u64,
        random: &mut dyn FnMut(Stream) -> u64,
        outcome: &mut Outcome,
    ) -> Result<(Vec<Number>, Vec<u32>), String> {
        let going_on = self.begun.take().filter(|begun| begun.time_ns == time_ns);
        let mut begun = going_on.unwrap_or_else(|| {
            self.state.close_up();
            let before = self.state.clone();
            let (packets, taken, actions) = (Vec::new(), Vec::new(), Vec::new());
            Begun { time_ns, before, first: id, packets, taken, actions, victims: 0 }
        });
        begun.packets.push(meta);
        if begun.packets.len() > LONGEST {
            return Err(format!("a burst of more than {LONGEST} packets"));
        }
        let (mut state, mut known) = (begun.before.clone(), VecDeque::from(begun.taken.clone()));
        let mut fresh = Vec::new();
        let mut next = |stream| match known.iter().position(|(of, _)| *of == stream) {
            Some(at) => known.remove(at).map_or(0, |(_, bits)| bits),
            None => {
                let bits = random(stream);
                fresh.push((stream, bits));
                bits
            }
        };
        let (actions, victims) = state.burst(&begun, Time::from_ns(time_ns), &mut next)?;
        if !actions.starts_with(&begun.actions) || victims.len() < begun.victims {
            return Err("a later packet changes what was decided on an earlier one".into());
        }
        for victim in victims.iter().skip(begun.victims) {
            let number = self.state.numbers.get(victim.slot as usize).copied().unwrap_or_default();
            outcome.dropped.push((number, victim.cause.name().into()));
        }
        match actions.last() {
            Some(Fate::Drop(cause)) => outcome.dropped.push((id, cause.name().into())),
            Some(Fate::Mark(cause)) => outcome.marked.push((id, cause.name().into())),
            _ => {}
        }
        let span = if self.is_snapshot { begun.before.span() } else { self.state.span() };
        let picked = self.state.pick(span, &fresh);
        outcome.compared = picked.iter().map(|&(number, _)| number).collect();
        begun.taken.extend(&fresh);
        (begun.actions, begun.victims) = (actions, victims.len());
        (self.state, self.begun) = (state, Some(begun));
        Ok((fresh, picked.iter().map(|&(_, rank)| rank).collect()))
    }
}

impl State {
    fn span(&self) -> u32 {
        self.at.tail.wrapping_sub(self.at.head)
    }

    fn slot(&self, offset: u32) -> usize {
        self.at.head.wrapping_add(offset) as usize & (self.ids.len() - 1)
    }

    /// Slots with packets, from the head on.
    fn live(&self) -> Vec<usize> {
        let slots = (0..self.span()).map(|offset| self.slot(offset));
        slots.filter(|&slot| self.ids[slot] != NO_ID).collect()
    }

    /// Moves the packets together where more than half of the slots and eight are empty.
    fn close_up(&mut self) {
        if self.span() <= 2 * self.at.packets + 8 {
            return;
        }
        let packet = |slot: usize| (self.ids[slot], self.lens[slot], self.numbers[slot]);
        let packets: Vec<_> = self.live().into_iter().map(packet).collect();
        self.ids.fill(NO_ID);
        for (offset, (id, len, number)) in (0..).zip(packets) {
            let slot = self.slot(offset);
            (self.ids[slot], self.lens[slot], self.numbers[slot]) = (id, len, number);
        }
        self.at.tail = self.at.head.wrapping_add(self.at.packets);
    }

    fn burst(
        &mut self,
        begun: &Begun,
        now: Time,
        random: &mut dyn FnMut(Stream) -> u64,
    ) -> Result<(Vec<Fate>, Vec<Victim>), String> {
        let packets = &begun.packets;
        let ids: Vec<u32> = packets.iter().map(|meta| meta.flow as u32).collect();
        let lens: Vec<u32> = packets.iter().map(|meta| meta.len).collect();
        let ecn: Vec<Ecn> = packets.iter().map(|meta| meta.ecn).collect();
        let arrivals = Arrivals { ids: &ids, lens: &lens, ecn: &ecn };
        let none = Victim { slot: u32::MAX, cause: DropCause::Overflow };
        let (mut actions, mut room) =
            (vec![Fate::Queue; packets.len()], vec![none; packets.len() * MOST_VICTIMS]);
        let mut env = RingEnv::new(now, random);
        let (mut tail, mut victims) = (self.at.tail, Vec::new());
        let owns_ids = match &mut self.rule {
            Rule::Red(red) => {
                red.burst::<Infallible, _>(arrivals, self.at.packets, &mut env, &mut actions);
                false
            }
            Rule::Choke(choke) => {
                let mut ring =
                    IdRing::new(&mut self.ids, &mut self.lens, self.at, &mut room).ok_or("no ring")?;
                choke.burst::<Infallible, _>(arrivals, &mut ring, &mut env, &mut actions);
                self.at = ring.occupied();
                victims = ring.victims().to_vec();
                true
            }
        };
        for (number, (meta, action)) in (begun.first..).zip(packets.iter().zip(&actions)) {
            if matches!(action, Fate::Drop(_)) {
                continue;
            }
            let slot = tail as usize & (self.ids.len() - 1);
            self.numbers[slot] = number;
            tail = tail.wrapping_add(1);
            if !owns_ids {
                (self.ids[slot], self.lens[slot]) = (meta.flow as u32, meta.len);
                self.at.packets += 1;
                self.at.bytes += u64::from(meta.len);
            }
        }
        self.at.tail = tail;
        Ok((actions, victims))
    }

    /// The packet that candidate numbers among `taken` lead to in the first `span` slots, and how many wait before it.
    fn pick(&self, span: u32, taken: &[(Stream, u64)]) -> Vec<(u32, u32)> {
        let numbers = taken.iter().filter(|(stream, _)| *stream == Stream::Candidate).map(|(_, bits)| *bits);
        let mut numbers: VecDeque<u64> = numbers.collect();
        while !numbers.is_empty() {
            let place = fairdrop::uniform_below(u64::from(span.max(1)), || numbers.pop_front().unwrap_or(0));
            let slot = self.slot(place as u32);
            if let Some(rank) = self.live().iter().position(|&live| live == slot) {
                return vec![(self.numbers[slot], rank as u32)];
            }
        }
        Vec::new()
    }

    fn depart(&mut self, now: Time) -> Option<u32> {
        while self.span() > 0 {
            let slot = self.slot(0);
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
}
