//! Any discipline beside the reference of its name: drops with their causes and packets, departures, what waits, and the
//! random numbers used, event by event.

use fairdrop::{AnyParams, DropCause, Packet, Stream};

use crate::host::{Bottleneck, Event};
use crate::reference_of;

/// Runs both; returns the causes seen, or the first difference.
pub fn compare(params: &AnyParams, trace: &[Event], seed: u64) -> Result<Vec<DropCause>, String> {
    let mut fast = Bottleneck::new(params.clone(), seed);
    let mut slow = reference_of(params).ok_or("there is no reference")?;
    let mut bits = fast.world.bits.clone();
    let mut used = [0; Stream::COUNT];
    let mut causes = Vec::new();
    for (at, event) in trace.iter().enumerate() {
        let step = fast.step(event);
        let now = fast.world.now.ns();
        let mut random = |stream: Stream| {
            used[stream as usize] += 1;
            bits[stream as usize].next_u64()
        };
        let differs = |what: &str| format!("event {at}, {event:?}: {what}; {step:?}");
        let (mut drops, mut departed) = (Vec::new(), None);
        if let Some(packet) = step.arrived.clone() {
            drops =
                slow.arrive(packet, now, &step, &fast.queue, &mut random).map_err(|what| differs(&what))?;
        }
        if step.asked {
            let (more, packet) =
                slow.dequeue(now, &fast.queue, &mut random).map_err(|what| differs(&what))?;
            drops.extend(more);
            departed = packet;
        }
        if step.dropped != drops || step.departed != departed {
            return Err(differs(&format!("the reference drops {drops:?}, sends {departed:?}")));
        }
        let by_handle = |mut packets: Vec<Packet<u32>>| {
            packets.sort_by_key(|packet| packet.handle);
            packets
        };
        if by_handle(slow.waiting()) != by_handle(fast.queued()) {
            return Err(differs("other packets wait"));
        }
        let mut coins = fast.world.used;
        // Which packets were drawn is handed to the reference.
        coins[Stream::Candidate as usize] = used[Stream::Candidate as usize];
        if coins != used {
            return Err(differs(&format!("the reference takes {used:?} random numbers, not {coins:?}")));
        }
        causes.extend(step.causes());
    }
    Ok(causes)
}
