//! `DropTail`, RED and `CHOKe`, which one reference does: every drop with its cause and packet, every departure, the order and
//! content of the queue, random numbers used, marks, and the average (the same bits; after an idle period, the same to the
//! rounding of its power).

use fairdrop::{AnyParams, Discipline, DropCause, Philox, Stream};

use crate::host::{Bits, Bottleneck, Event, MIXED_ECN};
use crate::red::{Handed, Reference, Scheme};

/// Runs both; returns the causes seen, or the first difference.
pub fn compare(
    params: AnyParams,
    scheme: Scheme,
    trace: &[Event],
    seed: u64,
) -> Result<Vec<DropCause>, String> {
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
                coin.next_u64()
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
