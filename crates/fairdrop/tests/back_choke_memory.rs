//! Back `CHOKe` with a memory of the flows admitted last. Its unit tests have the bounds of the paper.

use fairdrop::DropCause::Memory;
use fairdrop::{AnyParams, BackChokeMemoryParams};
use fairdrop_reference::eighths::{eighths, filled};

/// Packets admitted below `min_th` are not remembered, and the memory is cleared there.
#[test]
fn the_memory_is_of_congestion_only() {
    let remembering = BackChokeMemoryParams { red: eighths(), memory: 3 };
    let mut link = filled(AnyParams::BackChokeMemory(remembering), 9);
    assert_eq!(link.arrive(7).causes(), [], "nine wait: not remembered");
    assert_eq!(link.arrive(7).causes(), [], "ten wait: remembered from now on");
    assert_eq!(link.arrive(7).causes(), [Memory]);
    (0..2).for_each(|_| drop(link.finish()));
    assert_eq!(link.arrive(8).causes(), [], "nine wait: all is forgotten");
    assert_eq!(link.arrive(7).causes(), []);
    assert_eq!(link.arrive(7).causes(), [Memory]);
}
