//! DropTail: its limit, and agreement with the slow reference, event by event.

use fairdrop::{AnyParams, Choke, ChokeParams, DropTail, DropTailParams, Slot, slots_for};
use fairdrop_reference::arbitrary::events;
use fairdrop_reference::compare::compare;
use fairdrop_reference::host::mixed;
use fairdrop_reference::properties;
use fairdrop_reference::red::{Reference, Scheme};
use proptest::prelude::*;

#[test]
fn errors_name_the_limit() {
    for limit in [0, 1_073_741_817] {
        assert_eq!(DropTailParams { limit }.validate().unwrap_err().name, "limit");
    }
}

#[test]
fn storage_must_suit_the_limit() {
    let error = |slots: usize| {
        let slots: Vec<Slot<u32>> = vec![None; slots];
        DropTail::new(DropTailParams { limit: 100 }, slots).map(|_| ()).map_err(|error| error.name)
    };
    assert_eq!(slots_for(100), 256);
    assert_eq!(error(256), Ok(()));
    assert_eq!(error(512), Ok(()));
    assert_eq!(
        (error(0), error(255), error(128), error(300)),
        (Err("slots"), Err("slots"), Err("slots"), Err("slots"))
    );
    let few: Vec<Slot<u32>> = vec![None; 128];
    assert_eq!(Choke::new(ChokeParams::default(), few).map(|_| ()).unwrap_err().name, "slots");
}

properties! {
    #[test]
    fn droptail_agrees(limit in 1_u32..40, trace in events(5)) {
        let result = compare(mixed(AnyParams::DropTail(DropTailParams { limit }), 0), &mut Reference::new(Scheme::DropTail { limit }), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }
}
