//! Decisions without a queue give the answers of the vectors, over a ring that the test keeps as a data plane would. Places
//! in the library's ring mean nothing here: candidates are those that the vectors say were compared.

use std::collections::{BTreeMap, VecDeque};

use fairdrop::{
    Action as Fate, AnyParams, ChokeDecision, ChokeWDecision, Linux, Meta, RedDecision, Ring, RingEnv,
    Stream, Time, Victim, WardDecision,
};
use fairdrop_conformance::{Action, Event, apply, ecn_of, stream_name};

use crate::beside::vectors;

enum Decision {
    Red(RedDecision),
    Choke(ChokeDecision),
    ChokeW(ChokeWDecision),
    Ward(WardDecision),
}

/// Calls a method of whichever decision it is.
macro_rules! each {
    ($decision:expr, $name:ident => $call:expr) => {
        match $decision {
            Decision::Red($name) => $call,
            Decision::Choke($name) => $call,
            Decision::ChokeW($name) => $call,
            Decision::Ward($name) => $call,
        }
    };
}

impl Decision {
    fn of(params: AnyParams) -> Option<Self> {
        Some(match params {
            // The kernel's rules want the bytes that wait.
            AnyParams::Red(params) if params.linux != Linux::None => return None,
            AnyParams::Red(params) => Self::Red(RedDecision::new(params).unwrap()),
            AnyParams::Choke(params) => Self::Choke(ChokeDecision::new(params).unwrap()),
            AnyParams::ChokeW(params) => Self::ChokeW(ChokeWDecision::new(params).unwrap()),
            AnyParams::Ward(params) => Self::Ward(WardDecision::new(params).unwrap()),
            _ => return None,
        })
    }

    fn idle(&mut self, now: Time) {
        match self {
            Self::Red(red) => red.idle(now),
            Self::Choke(choke) => choke.idle(now),
            Self::ChokeW(chokew) => chokew.idle(now),
            Self::Ward(_) => {}
        }
    }

    /// A value that the discipline decides by.
    fn internal(&self, name: &str) -> f64 {
        match (self, name) {
            (Self::Red(red), "avg") => red.average_packets(),
            (Self::Red(red), "count") => red.count() as f64,
            (Self::Choke(choke), "avg") => choke.average_packets(),
            (Self::ChokeW(chokew), "avg") => chokew.average_packets(),
            (Self::ChokeW(chokew), "p0") => chokew.drawing_factor(),
            _ => panic!("{name}"),
        }
    }
}

/// Random numbers of an event: those of the vector, and those with which a draw ends at the packets that were compared.
struct Script<'a> {
    numbers: BTreeMap<&'a str, VecDeque<u64>>,
    picks: VecDeque<u32>,
    waiting: u64,
    last: u64,
}

impl<'a> Script<'a> {
    fn of(event: &'a Event, waiting: usize) -> Self {
        let read = |digits: &String| u64::from_str_radix(digits, 16).unwrap();
        let numbers =
            event.random.iter().map(|(stream, digits)| (stream.as_str(), digits.iter().map(read).collect()));
        Self {
            numbers: numbers.filter(|(stream, _)| *stream != stream_name(Stream::Candidate)).collect(),
            picks: event.picks.iter().copied().collect(),
            waiting: waiting as u64,
            last: 0,
        }
    }

    fn next(&mut self, stream: Stream) -> u64 {
        if stream != Stream::Candidate {
            return self
                .numbers
                .get_mut(stream_name(stream))
                .and_then(VecDeque::pop_front)
                .expect("another number");
        }
        // With replacement a packet may be drawn again, and is compared once.
        if let Some(rank) = self.picks.pop_front() {
            // A little above the least number that leads there, since the least may have to be refused.
            self.last = ((u128::from(rank) << 64) / u128::from(self.waiting)) as u64 + (1 << 20);
        }
        self.last
    }

    fn is_used_up(&self) -> bool {
        self.numbers.values().all(VecDeque::is_empty) && self.picks.is_empty()
    }
}

/// A ring of packets with their numbers, and the decision over it.
struct Host {
    decision: Decision,
    ring: VecDeque<(u32, Meta)>,
}

impl Host {
    fn play(&mut self, event: &Event) {
        let now = Time::from_ns(event.time_ns);
        match event.action {
            Action::Enqueue { id, flow, len, class, ecn, label } => {
                let meta = Meta { flow, len, class, ecn: ecn_of(ecn).unwrap(), label };
                self.arrive(id, meta, now, event);
            }
            Action::Dequeue => {
                let departed = self.ring.pop_front();
                match &departed {
                    Some((_, meta)) => each!(&mut self.decision, decision => decision.departed(meta.len)),
                    None => self.decision.idle(now),
                }
                assert_eq!(departed.map(|(id, _)| id), event.outcome.departed);
            }
            Action::Tick => {}
        }
        let bytes: u64 = self.ring.iter().map(|(_, meta)| u64::from(meta.len)).sum();
        assert_eq!((self.ring.len() as u32, bytes), event.outcome.backlog);
        for (name, value) in &event.outcome.internals {
            assert_eq!(value.as_f64(), Some(self.decision.internal(name)), "{name}");
        }
    }

    fn arrive(&mut self, id: u32, meta: Meta, now: Time, event: &Event) {
        let mut script = Script::of(event, self.ring.len());
        let bytes = self.ring.iter().map(|(_, meta)| u64::from(meta.len)).sum();
        let packet = |slot| self.ring.get(slot as usize).map(|(_, meta)| (meta.flow, meta.len));
        let packets = self.ring.len() as u32;
        let mut ring = Ring::new(packets, packets, bytes, packet);
        let mut env = RingEnv::new(now, |stream| script.next(stream));
        let fate = each!(&mut self.decision, decision => decision.arrival(&meta, &mut ring, &mut env));
        let victims: Vec<Victim> = ring.victims().to_vec();
        assert!(script.is_used_up());
        let number_of =
            |victim: &Victim| (self.ring[victim.slot as usize].0, victim.cause.name().to_string());
        let mut dropped: Vec<(u32, String)> = victims.iter().map(number_of).collect();
        let mut marked = Vec::new();
        match fate {
            Fate::Queue => {}
            Fate::Mark(cause) => marked.push((id, cause.name().to_string())),
            Fate::Drop(cause) => dropped.push((id, cause.name().to_string())),
        }
        assert_eq!((&dropped, &marked), (&event.outcome.dropped, &event.outcome.marked));
        self.ring.retain(|(id, _)| dropped.iter().all(|(other, _)| other != id));
        if !matches!(fate, Fate::Drop(_)) {
            self.ring.push_back((id, meta));
        }
    }
}

#[test]
fn decisions_without_a_queue_answer_as_the_vectors_say() {
    let mut played = BTreeMap::new();
    for vector in vectors() {
        // tests/bursts.rs has these.
        if !vector.header.burst_mode.is_empty() {
            continue;
        }
        let Some(decision) = Decision::of(apply(&vector.header).unwrap()) else { continue };
        let mut host = Host { decision, ring: VecDeque::new() };
        for event in &vector.events {
            let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| host.play(event)));
            assert!(played.is_ok(), "{}: event {}: {event:?}", vector.header.case, event.event);
        }
        *played.entry(vector.header.discipline).or_insert(0) += 1;
    }
    assert_eq!(played.keys().map(String::as_str).collect::<Vec<_>>(), ["choke", "chokew", "red", "ward"]);
    assert!(played.values().sum::<i32>() >= 20, "{played:?}");
}
