//! The vectors against the slow references of `fairdrop`, which share nothing with the library but random numbers and,
//! where places in a ring mean nothing to a plain list, the packets that were drawn.

use fairdrop_conformance::{Event, apply};
use fairdrop_reference::reference_of;

use crate::beside::{compare, vectors, vectors_of};

/// A comparison that cannot fail is worth nothing.
#[test]
fn another_random_draw_is_noticed() {
    for (discipline, case, stream) in
        [("red", "basic", "early_drop"), ("pie", "gain", "pie_coin"), ("csfq", "edge", "csfq_coin")]
    {
        let mut vector =
            vectors_of(discipline).into_iter().find(|vector| vector.header.case == case).unwrap();
        // The last random draw that dropped a packet, changed so that it does not.
        let dropped = |event: &Event| event.random.contains_key(stream) && !event.outcome.dropped.is_empty();
        let at = vector.events.iter().rposition(dropped).unwrap();
        vector.events[at].random.insert(stream.into(), vec!["f".repeat(16)]);
        let params = apply(&vector.header).unwrap();
        let mut slow = reference_of(&params).unwrap();
        let error = compare(&vector, params, slow.as_mut()).unwrap_err();
        assert!(error.starts_with(&format!("event {at}: ")), "{discipline}/{case}: {error}");
    }
}

#[test]
fn the_slow_references_decide_as_the_vectors_say() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for vector in vectors() {
        if !vector.header.burst_mode.is_empty() {
            continue;
        }
        let params = apply(&vector.header).unwrap();
        let mut slow = reference_of(&params).expect("every form of every discipline has a reference");
        match compare(&vector, params, slow.as_mut()) {
            Ok(()) => compared += 1,
            Err(what) => {
                wrong.push(format!("{}/{}: {what}", vector.header.discipline, vector.header.case));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared >= 100, "{compared}");
}
