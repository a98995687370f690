//! Long and hard use: counters reconcile at every moment and memory is bounded, under a virtual clock and in a bridge that runs.

mod flood;
mod home;

use home::{End, run};
use proptest::prelude::*;

/// Packets of 24 hours of a busy home link.
const DAY: u64 = 100_000_000;

#[test]
fn counters_reconcile_through_changes_and_overload() {
    for seed in 0..3 {
        let seen = run(seed, 60_000, 200, End::ALL[seed as usize]);
        assert!(seen.samples > 200 && seen.changes > 200, "{seen:?}");
    }
}

/// `make soak` runs it.
#[test]
#[ignore = "takes minutes"]
fn a_day_of_a_busy_home_link() {
    let packets = std::env::var("FAIRDROP_SOAK_PACKETS").map_or(DAY, |packets| packets.parse().unwrap());
    let seen = run(1, packets, 2000, End::Stopped);
    println!(
        "{packets} packets, {} of them delivered, in {:.1} virtual hours: {} changes, {} samples, all reconcile",
        seen.taken.packets,
        seen.now.seconds() / 3600.0,
        seen.changes,
        seen.samples
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// A signal to end, and the end of the command or of a device, at any moment.
    #[test]
    fn counters_reconcile_at_any_end(
        seed in any::<u64>(),
        packets in 0_u64..3000,
        end in proptest::sample::select(End::ALL.to_vec()),
    ) {
        run(seed, packets, 100, end);
    }
}
