//! Comparing a discipline with its reference event by event, and what must hold of every trace.

use std::cell::Cell;

use fairdrop::{AnyDiscipline, Discipline, DropCause, Family, Packet, Stream};

use crate::host::{Bits, Bottleneck, Event, Step};
use crate::slow::{Arrival, Slow};

pub mod by_name;
pub mod conservation;

/// Runs a queue and its reference: drops with their causes and packets, departures, what waits, in what order where that is
/// one FIFO, the backlog, the random numbers used of every stream, and what the reference compares itself. Returns the
/// causes seen, or the first difference.
pub fn compare(mut fast: Bottleneck, slow: &mut dyn Slow, trace: &[Event]) -> Result<Vec<DropCause>, String> {
    let mut numbers = Numbers { bits: fast.world.bits.clone(), used: fast.world.used };
    let mut causes = Vec::new();
    slow.set_hosts(&fast.world.hosts);
    for (at, event) in trace.iter().enumerate() {
        let mut check = |fast: &Bottleneck, step: &Step| {
            causes.extend(step.causes());
            compare_step(fast, slow, step, &mut numbers)
                .map_err(|what| format!("event {at}, {event:?}: {what}; {step:?}"))
        };
        // An arrival, and what the transmitter then does, one after the other.
        let was_busy = fast.busy;
        fast.busy |= event.is_arrival();
        let step = fast.step(event);
        check(&fast, &step)?;
        if event.is_arrival() && !was_busy {
            let step = fast.finish();
            check(&fast, &step)?;
        }
    }
    Ok(causes)
}

/// The random numbers of the reference: the same as those of the queue.
struct Numbers {
    bits: [Bits; Stream::COUNT],
    used: [u64; Stream::COUNT],
}

/// After an arrival or a departure.
fn compare_step(
    fast: &Bottleneck,
    slow: &mut dyn Slow,
    step: &Step,
    Numbers { bits, used }: &mut Numbers,
) -> Result<(), String> {
    let now = fast.world.now.ns();
    let mut random = |stream: Stream| {
        used[stream as usize] += 1;
        bits[stream as usize].next_u64()
    };
    let (drops, departed) = match step.arrived.clone() {
        Some(packet) => (slow.arrive(Arrival { packet, now, step, fast: &fast.queue }, &mut random)?, None),
        None if step.asked => slow.dequeue(now, &fast.queue, &mut random)?,
        None => return Ok(()),
    };
    if (&step.dropped, &step.departed) != (&drops, &departed) {
        return Err(format!("the reference drops {drops:?}, sends {departed:?}"));
    }
    let (mut theirs, mut ours) = (fast.queued(), slow.waiting());
    let backlog = fast.queue.backlog();
    if (backlog.packets as usize, backlog.bytes) != (ours.len(), bytes(&ours)) {
        return Err(format!("another backlog: {backlog:?}"));
    }
    if fast.queue.fifo().is_none() {
        theirs.sort_by_key(|packet| packet.handle);
        ours.sort_by_key(|packet| packet.handle);
    }
    if theirs != ours {
        return Err("other packets wait, or in another order".into());
    }
    let mut wanted = fast.world.used;
    // CHOKe, also class by class, and BLACK: which packets were drawn is handed to the reference.
    let draws = matches!(fast.queue, AnyDiscipline::ClassChoke(_) | AnyDiscipline::Black(_));
    if fast.family == Family::Choke || draws {
        for drawn in [Stream::Candidate, Stream::Service] {
            wanted[drawn as usize] = used[drawn as usize];
        }
    }
    if wanted != *used {
        return Err(format!("the reference takes {used:?} random numbers, not {wanted:?}"));
    }
    slow.same_state(&fast.queue)
}

/// A number in [0, 1) from 64 random bits.
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / 2_f64.powi(53)
}

/// Bytes that wait.
pub fn bytes(queue: &[Packet<u32>]) -> u64 {
    queue.iter().map(|packet| u64::from(packet.meta.len)).sum()
}

thread_local! {
    static MISTAKEN: Cell<bool> = const { Cell::new(false) };
}

/// Declares the references on this thread to be wrong forms, or sound again. A wrong form may have other internal values, and
/// goes on with them: only what it drops, marks and sends is compared.
pub fn declare_mistaken(mistaken: bool) {
    MISTAKEN.set(mistaken);
}

/// Whether the references on this thread are wrong forms.
pub fn is_mistaken() -> bool {
    MISTAKEN.get()
}

/// Fails where two values of `what` are not the same to the `tolerance`.
pub fn close(what: &str, theirs: f64, ours: f64, tolerance: f64) -> Result<(), String> {
    let close = (theirs - ours).abs() <= tolerance || is_mistaken();
    if close { Ok(()) } else { Err(format!("{what} {theirs:e}, should be {ours:e}")) }
}
