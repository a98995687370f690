//! Reading ahead for a burst changes no decision: the same packets leave and are dropped for the same causes, from the
//! same random numbers.

use fairdrop::{
    AnyDiscipline, AnyParams, Backlog, Discipline, DrawnAhead, DropCause, Env, Heap, Meta, Packet, Philox,
    Stream, Time,
};
use fairdrop_reference::arbitrary::{choke_scheme, choke_with, red_params};
use fairdrop_reference::properties;
use proptest::prelude::*;

const BURST: usize = 8;

/// A host that draws numbers for candidates ahead, or does not.
struct World {
    now: Time,
    random: [Philox; Stream::COUNT],
    ahead: Option<DrawnAhead<BURST>>,
    dropped: Vec<(Packet<u32>, DropCause)>,
    drawn: Vec<u32>,
}

impl Env<u32> for World {
    fn now(&self) -> Time {
        self.now
    }

    fn flow_key(&self) -> [u64; 2] {
        [0, 0]
    }

    fn random(&mut self, stream: Stream) -> u64 {
        let random = &mut self.random[stream as usize];
        match &mut self.ahead {
            Some(ahead) if stream == Stream::Candidate => ahead.next(|| random.next_u64()),
            _ => random.next_u64(),
        }
    }

    fn dropped(&mut self, packet: Packet<u32>, cause: DropCause) {
        self.dropped.push((packet, cause));
    }

    fn drawn(&mut self, candidate: &Packet<u32>) {
        self.drawn.push(candidate.handle);
    }
}

type Outcome = (Vec<(Packet<u32>, DropCause)>, Vec<u32>, Vec<Option<Packet<u32>>>, Backlog);

/// Bursts of arrivals by their flows, each followed by a number of departures.
fn run(params: AnyParams, bursts: &[(Vec<u64>, usize)], seed: u64, ahead: bool) -> Outcome {
    let mut queue = AnyDiscipline::new(params, &mut Heap).expect("parameters are valid");
    let random = std::array::from_fn(|stream| Philox::new(seed, 0, stream as u32));
    let ahead = ahead.then(DrawnAhead::new);
    let mut world = World { now: Time::ZERO, random, ahead, dropped: Vec::new(), drawn: Vec::new() };
    let (mut departed, mut handle) = (Vec::new(), 0);
    for (flows, departures) in bursts {
        world.now = world.now.after(Time::from_ns(1000));
        if let Some(ahead) = &mut world.ahead {
            ahead.fill(|| world.random[Stream::Candidate as usize].next_u64());
            queue.prepare(ahead.waiting());
        }
        for &flow in flows {
            queue.enqueue(Packet::new(Meta::of_flow(flow, 1000), world.now, handle), &mut world);
            handle += 1;
        }
        departed.extend((0..*departures).map(|_| queue.dequeue(&mut world)));
    }
    (world.dropped, world.drawn, departed, queue.backlog())
}

properties! {
    #[test]
    fn a_burst_prepared_is_a_burst_one_by_one(
        red in red_params(),
        scheme in choke_scheme(),
        is_basic in any::<bool>(),
        bursts in prop::collection::vec((prop::collection::vec(0_u64..4, 0..=BURST + 2), 0_usize..8), 1..30),
        seed in any::<u64>(),
    ) {
        let choke = if is_basic { fairdrop::ChokeParams { red, ..Default::default() } } else { choke_with(&red, &scheme) };
        let params = AnyParams::Choke(choke);
        prop_assert_eq!(run(params.clone(), &bursts, seed, true), run(params, &bursts, seed, false));
    }
}

#[test]
fn numbers_drawn_ahead_come_in_their_order() {
    let mut source = 0..;
    let mut ahead = DrawnAhead::<4>::new();
    assert_eq!(ahead.waiting(), []);
    ahead.fill(|| source.next().unwrap());
    assert_eq!(ahead.waiting(), [0, 1, 2, 3]);
    let mut seen = Vec::new();
    for burst in [3, 1, 7, 0, 4] {
        seen.extend((0..burst).map(|_| ahead.next(|| source.next().unwrap())));
        ahead.fill(|| source.next().unwrap());
        assert_eq!(ahead.waiting().len(), 4);
    }
    assert_eq!(seen, (0..15).collect::<Vec<u64>>());
}
