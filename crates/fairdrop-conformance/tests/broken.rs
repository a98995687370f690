//! An implementation with a mistake does not pass: each wrong form of a reference differs from some vector of its discipline
//! by what it drops, marks and sends, which is all that a program under test has to report.

use std::collections::{BTreeMap, VecDeque};

use fairdrop::{AnyParams, DropCause, Packet, Stream};
use fairdrop_conformance::{Action, Event, Vector, apply, files, stream_name};
use fairdrop_reference::codel::CoDelModel;
use fairdrop_reference::fq_codel::FqCoDelModel;
use fairdrop_reference::host::{Bottleneck, Step};
use fairdrop_reference::pie::PieModel;
use fairdrop_reference::red::{Reference, Scheme};
use fairdrop_reference::slow::{Arrival, Slow};
use fairdrop_reference::{Broken, reference_of};

use crate::references::{folder, library, play, vector};

const README: &str = include_str!("../../../conformance/README.md");

/// The vectors of a discipline.
fn vectors_of(discipline: &str) -> Vec<Vector> {
    let paths = files::list(&folder()).expect("the vectors are there");
    paths.iter().filter(|path| path.starts_with(discipline)).map(|path| vector(path)).collect()
}

/// A reference with a mistake.
fn broken_reference_of(params: AnyParams, form: Broken) -> Box<dyn Slow> {
    match params {
        AnyParams::Red(params) => Box::new(Reference::new(Scheme::Red(params)).broken(form)),
        AnyParams::CoDel(params) => Box::new(CoDelModel::new(params).broken(form)),
        AnyParams::FqCoDel(params) => Box::new(FqCoDelModel::new(params).broken(form)),
        AnyParams::Pie(params) => Box::new(PieModel::new(params).broken(form)),
        _ => panic!("{form:?} is of another discipline"),
    }
}

/// The first event at which a reference decides otherwise than the vector says.
fn first_difference(vector: &Vector, slow: &mut dyn Slow) -> Option<usize> {
    let mut fast = library(vector, apply(&vector.header).unwrap());
    vector.events.iter().position(|event| {
        let step = play(&mut fast, event);
        decides_otherwise(event, &step, &fast, slow)
    })
}

/// Whether a reference drops, marks or sends other packets than the library, which does what the vector says.
fn decides_otherwise(event: &Event, step: &Step, fast: &Bottleneck, slow: &mut dyn Slow) -> bool {
    let mut numbers: BTreeMap<&str, VecDeque<u64>> = BTreeMap::new();
    for (stream, digits) in &event.random {
        let bits = digits.iter().map(|digits| u64::from_str_radix(digits, 16).unwrap());
        numbers.insert(stream, bits.collect());
    }
    // A number too few or too many is not what gives a mistake away, since a program need not count them: in place of one
    // that is not there it gets one that drops nothing.
    let mut random = |stream: Stream| {
        numbers.get_mut(stream_name(stream)).and_then(VecDeque::pop_front).unwrap_or(u64::MAX)
    };
    let (drops, departed) = match (&event.action, step.arrived.clone()) {
        (Action::Enqueue { .. }, Some(packet)) => {
            let arrival = Arrival { packet, now: event.time_ns, step, fast: &fast.queue };
            (slow.arrive(arrival, &mut random).unwrap(), None)
        }
        (Action::Dequeue, _) => slow.dequeue(event.time_ns, &fast.queue, &mut random).unwrap(),
        // The references have no timer.
        _ => return false,
    };
    // Packets with their marks.
    let by_handle = |mut packets: Vec<Packet<u32>>| {
        packets.sort_by_key(|packet| packet.handle);
        packets
    };
    let packets = |drops: &[(Packet<u32>, DropCause)]| {
        by_handle(drops.iter().map(|(packet, _)| packet.clone()).collect())
    };
    packets(&drops) != packets(&step.dropped)
        || departed != step.departed
        || by_handle(slow.waiting()) != by_handle(fast.queued())
}

#[test]
fn every_broken_form_fails_and_the_readme_names_a_vector_that_notices() {
    for form in Broken::ALL {
        let (discipline, mut noticed) = (form.discipline(), Vec::new());
        for vector in vectors_of(discipline) {
            let (case, params) = (&vector.header.case, apply(&vector.header).unwrap());
            let mut sound = reference_of(&params).unwrap();
            assert_eq!(first_difference(&vector, sound.as_mut()), None, "{discipline}/{case}");
            let mut broken = broken_reference_of(params, form);
            if first_difference(&vector, broken.as_mut()).is_some() {
                noticed.push(format!("`{discipline}/{case}`"));
            }
        }
        let named = noticed.iter().any(|vector| README.contains(vector));
        assert!(named, "{form:?}: noticed by {noticed:?}");
    }
}
