//! Plays a vector from its file.

use std::collections::{BTreeMap, VecDeque};

use fairdrop::{Meta, Philox};

use crate::ecn_of;
use crate::{Action, Bench, Event, Moment, Vector, stream_name};

/// Plays a vector to the library, with the random numbers that stand in it; every decision, every internal value bit by
/// bit, and every random number must be as written.
///
/// # Errors
/// Names the first event that the library answers differently, with both answers.
pub fn replay(vector: &Vector) -> Result<(), String> {
    let mut bench = Bench::new(&vector.header)?;
    if bench.internals() != vector.header.internals {
        return Err(format!("internals {:?}", bench.internals()));
    }
    vector.events.iter().try_for_each(|event| replay_event(&mut bench, event))
}

fn replay_event(bench: &mut Bench, event: &Event) -> Result<(), String> {
    let fail = |what: String| Err(format!("event {}: {what}", event.event));
    let mut script: BTreeMap<&str, VecDeque<u64>> = BTreeMap::new();
    for (stream, numbers) in &event.random {
        let bits = numbers.iter().map(|digits| u64::from_str_radix(digits, 16));
        match bits.collect::<Result<_, _>>() {
            Ok(bits) => script.insert(stream, bits),
            Err(error) => return fail(format!("{stream}: {error}")),
        };
    }
    let moment = match event.action {
        Action::Enqueue { flow, len, class, ecn, label, .. } => match ecn_of(ecn) {
            Some(ecn) => Moment::Enqueue(Meta { flow, len, class, ecn, label }),
            None => return fail(format!("ecn {ecn}")),
        },
        Action::Dequeue => Moment::Dequeue,
        Action::Tick => Moment::Tick,
    };
    let mut missing = None;
    let mut beyond = Philox::new(0, 0, 0);
    let played = bench.play(event.time_ns, moment, &mut |stream| {
        let number = script.get_mut(stream_name(stream)).and_then(VecDeque::pop_front);
        number.unwrap_or_else(|| {
            missing = Some(stream);
            // Something else each time, since a draw may be made again until it fits.
            beyond.next_u64()
        })
    });
    let played = match played {
        Ok(played) => played,
        Err(what) => return fail(what),
    };
    if let Some(stream) = missing {
        return fail(format!("asks for another random number of {}", stream_name(stream)));
    }
    if let Some((stream, _)) = script.iter().find(|(_, numbers)| !numbers.is_empty()) {
        return fail(format!("leaves a random number of {stream} unread"));
    }
    if played == *event { Ok(()) } else { fail(format!("got {played:?}, should be {event:?}")) }
}
