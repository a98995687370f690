//! What the tests of AFD, SFB, RED-PD, the penalty box and the flow valve share: traces with a greedy flow, and the
//! comparison with a model event by event.

use fairdrop::{AnyParams, Discipline, DropCause, Packet, Philox, RedParams, Stream};
use proptest::prelude::*;

use crate::compare::Drops;
use crate::host::{Bits, Bottleneck, Event, Queue};

/// RED that drops every packet that finds ten waiting, and no other.
pub fn wall() -> RedParams {
    RedParams { limit: 20, min_th: 9.5, max_th: 10.0, max_p: 0.0, w_q: 1.0, ..RedParams::default() }
}

/// Ten packets of flow 9 behind a busy transmitter, so that RED drops whatever comes.
pub fn filled(params: AnyParams) -> Bottleneck {
    let mut link = Bottleneck::blocked(params);
    (0..10).for_each(|_| assert_eq!(link.arrive(9).causes(), []));
    link
}

/// A discipline written slowly, time in nanoseconds.
pub trait Model {
    fn queue(&self) -> &Vec<Packet<u32>>;
    /// A packet arrives. `coin` yields the next 64 bits of a stream; `theirs` is the implementation after the arrival,
    /// to compare what both compute and to go on with the implementation's rounding.
    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        theirs: &Queue,
        coin: &mut dyn FnMut(Stream) -> u64,
    ) -> Result<Drops, String>;
    /// The transmitter is free and asks for a packet.
    fn dequeue(&mut self, now: u64) -> Option<Packet<u32>>;
}

/// Traces of up to `events` events of five flows, of which the first sends most; overload on the whole, near balance,
/// or drained.
pub fn greedy_events(events: usize) -> impl Strategy<Value = Vec<Event>> {
    let wait = prop_oneof![
        6 => 0_u64..2_000_000,
        6 => 0_u64..20_000_000,
        2 => Just(5_000_000_u64),
        1 => 0_u64..400_000_000,
        1 => 0_u64..4_000_000_000,
    ];
    let weights = prop_oneof![Just((6_u32, 2_u32, 2_u32)), Just((9, 1, 1)), Just((3, 3, 3)), Just((3, 5, 2))];
    weights.prop_flat_map(move |(arrive, finish, pause)| {
        let flow = prop_oneof![3 => Just(0_u64), 2 => 0_u64..5];
        let len = prop_oneof![3 => Just(1000_u32), 1 => 0_u32..2000];
        let event = prop_oneof![
            arrive => (flow, len).prop_map(|(flow, len)| Event::Arrive { flow, len }),
            finish => Just(Event::Finish),
            pause => wait.clone().prop_map(Event::Wait),
        ];
        prop::collection::vec(event, 1..events)
    })
}

/// Runs the discipline and its model; returns the causes seen, or the first difference.
pub fn compare(
    params: AnyParams,
    mut slow: impl Model,
    trace: &[Event],
    seed: u64,
) -> Result<Vec<DropCause>, String> {
    let mut fast = Bottleneck::new(params, seed);
    let mut bits: Vec<Bits> =
        (0..Stream::COUNT).map(|stream| Bits::Stream(Philox::new(seed, 0, stream as u32))).collect();
    let mut used = [0; Stream::COUNT];
    let mut causes = Vec::new();
    for (at, event) in trace.iter().enumerate() {
        let step = fast.step(event);
        let now = fast.world.now.ns();
        let (mut drops, mut departed) = (Vec::new(), None);
        if let Some(packet) = step.arrived.clone() {
            let mut coin = |stream: Stream| {
                used[stream as usize] += 1;
                bits[stream as usize].next_u64()
            };
            let result = slow.arrive(packet, now, &fast.queue, &mut coin);
            drops = result.map_err(|text| format!("event {at}, {event:?}: {text}"))?;
        }
        if step.asked {
            departed = slow.dequeue(now);
        }
        let differs =
            |what: &str| Err(format!("event {at}, {event:?}: {what}; {step:?}; {drops:?}, {departed:?}"));
        if step.dropped != drops {
            return differs("drops");
        }
        if step.departed != departed {
            return differs("departure");
        }
        if !fast.fifo().iter().eq(slow.queue()) {
            return differs("queue");
        }
        if fast.world.used != used {
            return differs("random numbers");
        }
        let bytes: u64 = slow.queue().iter().map(|packet| u64::from(packet.meta.len)).sum();
        let backlog = fast.queue.backlog();
        if (backlog.packets as usize, backlog.bytes) != (slow.queue().len(), bytes) {
            return differs("backlog");
        }
        causes.extend(step.causes());
    }
    Ok(causes)
}
