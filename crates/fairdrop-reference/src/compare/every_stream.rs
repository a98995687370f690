//! Disciplines against models of them, event by event, every random stream by itself.

use fairdrop::{Discipline, DropCause, Packet, Philox, Stream};

use crate::compare::Drops;
use crate::host::{Bits, Bottleneck, Event, Queue, Step};

/// The next 64 bits of a stream.
pub type Random<'a> = &'a mut dyn FnMut(Stream) -> u64;

/// What a discipline does, time in nanoseconds. `fast` is the implementation after the same event, for numbers that
/// the two compute in another order: the model checks them and goes on with those.
pub trait Model {
    fn queue(&self) -> &[Packet<u32>];
    /// A packet arrives.
    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        fast: &Queue,
        random: Random,
    ) -> Result<Drops, String>;
    /// The transmitter is free and asks for a packet.
    fn dequeue(&mut self, now: u64) -> Option<Packet<u32>>;
    /// Compares the state that neither drops nor the queue show.
    fn same_state(&mut self, fast: &Queue) -> Result<(), String>;
}

/// Runs a queue and its model; returns the causes seen, or the first difference.
pub fn compare(
    mut fast: Bottleneck,
    mut slow: impl Model,
    trace: &[Event],
    seed: u64,
) -> Result<Vec<DropCause>, String> {
    let mut bits: [Bits; Stream::COUNT] =
        std::array::from_fn(|stream| Bits::Stream(Philox::new(seed, 0, stream as u32)));
    let mut used = [0; Stream::COUNT];
    let mut causes = Vec::new();
    for (at, event) in trace.iter().enumerate() {
        // An arrival, and what the transmitter then does, one after the other.
        let (busy, offered) = (fast.busy, matches!(event, Event::Arrive { .. }));
        fast.busy |= offered;
        let mut step = fast.step(event);
        let fail = |what: String| Err(format!("event {at}, {event:?}: {what}"));
        if let Some(packet) = step.arrived.clone() {
            let mut random = |stream: Stream| {
                used[stream as usize] += 1;
                bits[stream as usize].next_u64()
            };
            match slow.arrive(packet, fast.world.now.ns(), &fast.queue, &mut random) {
                Ok(drops) if drops == step.dropped => {}
                Ok(drops) => return fail(format!("{step:?}, should drop {drops:?}")),
                Err(text) => return fail(text),
            }
            if let Err(text) = slow.same_state(&fast.queue) {
                return fail(text);
            }
            causes.extend(step.causes());
            fast.busy = busy;
            step = if busy { Step::default() } else { fast.finish() };
        }
        if step.asked {
            let departed = slow.dequeue(fast.world.now.ns());
            if departed != step.departed || !step.dropped.is_empty() {
                return fail(format!("{step:?}, should send {departed:?}"));
            }
            if let Err(text) = slow.same_state(&fast.queue) {
                return fail(text);
            }
        }
        if !fast.fifo().iter().eq(slow.queue()) {
            return fail("another queue".into());
        }
        let backlog = fast.queue.backlog();
        let bytes: u64 = slow.queue().iter().map(|packet| u64::from(packet.meta.len)).sum();
        if (backlog.packets as usize, backlog.bytes) != (slow.queue().len(), bytes) {
            return fail("another backlog".into());
        }
        if fast.world.used != used {
            return fail(format!("random numbers {:?}, should be {used:?}", fast.world.used));
        }
    }
    Ok(causes)
}
