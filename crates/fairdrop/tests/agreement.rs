//! The disciplines against the slow reference, event by event: every drop with its cause and packet, every departure,
//! the order and content of the queue, random numbers used, and the average (the same bits; after an idle period, the
//! same to the rounding of its power).

#[allow(dead_code, reason = "each test file uses a part of the host")]
mod host;
mod params;
mod reference;

use fairdrop::{AnyParams, Discipline, DropCause, DropTailParams, Philox, Stream};
use host::{Bits, Bottleneck, Event, MIXED_ECN, cases};
use params::{choke_scheme, choke_with, events, red_params};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use reference::{Handed, Reference, Scheme};

/// Runs both; returns the causes seen, or the first difference.
fn compare(params: AnyParams, scheme: Scheme, trace: &[Event], seed: u64) -> Result<Vec<DropCause>, String> {
    let mut fast = Bottleneck { ecn: MIXED_ECN, ..Bottleneck::new(params, seed) };
    let mut slow = Reference::new(scheme);
    let mut coin = Bits::Stream(Philox::new(seed, 0, Stream::EarlyDrop as u32));
    let mut coins = 0;
    let mut causes = Vec::new();
    for (at, event) in trace.iter().enumerate() {
        let step = fast.step(event);
        let mut drops = Vec::new();
        if let Some(packet) = step.arrived.clone() {
            let handed = Handed { drawn: &step.drawn, average: fast.queue.average_packets() };
            let mut next = || {
                coins += 1;
                coin.next()
            };
            let result = slow.arrive(packet, fast.world.now, &handed, &mut next);
            drops = result.map_err(|text| format!("event {at}, {event:?}: {text}"))?;
        }
        let departed = if step.asked { slow.dequeue(fast.world.now) } else { None };
        let differs =
            |what: &str| Err(format!("event {at}, {event:?}: {what}; {step:?}; {drops:?}, {departed:?}"));
        if step.dropped != drops {
            return differs("drops");
        }
        if step.departed != departed {
            return differs("departure");
        }
        if !fast.fifo().iter().eq(&slow.queue) {
            return differs("queue");
        }
        let bytes: u64 = slow.queue.iter().map(|packet| u64::from(packet.meta.len)).sum();
        let backlog = fast.queue.backlog();
        if (backlog.packets as usize, backlog.bytes) != (slow.queue.len(), bytes) {
            return differs("backlog");
        }
        if fast.world.used[Stream::EarlyDrop as usize] != coins {
            return differs("coins");
        }
        if fast.queue.stats().marked.map(|count| count.packets) != slow.marked {
            return differs("marks");
        }
        causes.extend(step.causes());
    }
    Ok(causes)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn droptail_agrees(limit in 1_u32..40, trace in events(5)) {
        let result = compare(AnyParams::DropTail(DropTailParams { limit }), Scheme::DropTail { limit }, &trace, 0);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn red_agrees(red in red_params(), trace in events(5), seed in any::<u64>()) {
        let result = compare(AnyParams::Red(red.clone()), Scheme::Red(red), &trace, seed);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn choke_agrees(red in red_params(), choke in choke_scheme(), trace in events(5), seed in any::<u64>()) {
        let params = AnyParams::Choke(choke_with(&red, &choke));
        let result = compare(params, Scheme::Choke(red, choke), &trace, seed);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }
}

const CHOKE_CAUSES: [DropCause; 5] = [
    DropCause::Overflow,
    DropCause::RedEarly,
    DropCause::RedForced,
    DropCause::MatchArriving,
    DropCause::MatchQueued,
];

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (red_params(), choke_scheme(), events(5), any::<u64>());
    let mut cases_with = [0; CHOKE_CAUSES.len()];
    for _ in 0..1000 {
        let (red, choke, trace, seed) = strategy.new_tree(&mut runner).unwrap().current();
        let params = AnyParams::Choke(choke_with(&red, &choke));
        let causes = compare(params, Scheme::Choke(red, choke), &trace, seed).unwrap();
        for (cause, cases) in CHOKE_CAUSES.iter().zip(&mut cases_with) {
            *cases += u32::from(causes.contains(cause));
        }
    }
    assert!(cases_with.iter().all(|&cases| cases >= 50), "cases of 1000 by cause: {cases_with:?}");
}
