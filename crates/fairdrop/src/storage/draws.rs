//! Exact draws of one slot among many, some of which may be empty.

use crate::contract::env::{MOST_REDRAWS, try_uniform_below};

/// Rejections after which a weighted draw walks the queue instead. The outcome does not depend on the way a draw ends,
/// so the number changes the work and not the probabilities: `docs/decisions/weighted-draws.md`.
const MOST_REJECTIONS: u32 = 64;

/// A slot out of `slots`, each that holds a packet with the same probability; `None` after [`MOST_REDRAWS`] numbers that led
/// to none.
#[inline]
pub(crate) fn draw_slot(
    slots: usize,
    is_live: impl Fn(usize) -> bool,
    mut random: impl FnMut() -> u64,
) -> Option<usize> {
    for _ in 0..=MOST_REDRAWS {
        let slot = try_uniform_below(slots as u64, &mut random).ok()? as usize;
        if is_live(slot) {
            return Some(slot);
        }
    }
    None
}

/// A slot out of `slots` with a probability exactly proportional to its weight, which is at most `most`, and 0 where it is
/// empty; `None` when nothing weighs anything, or after [`MOST_REDRAWS`] numbers that none can be drawn by.
///
/// Every slot counts as `most` places, and the packet fills as many as it weighs: a place is drawn until it is a filled one.
/// After `MOST_REJECTIONS` the queue is walked.
#[inline]
pub(crate) fn draw_slot_by_weight(
    slots: usize,
    most: u32,
    weight_at: impl Fn(usize) -> u32,
    mut random: impl FnMut() -> u64,
) -> Option<usize> {
    let most = u64::from(most.max(1));
    // At most 2^31 slots of 2^32 places.
    let places = slots as u64 * most;
    for _ in 0..MOST_REJECTIONS {
        let place = try_uniform_below(places, &mut random).ok()?;
        // One place each is the common case, and spares the divisions.
        let (slot, rest) = if most == 1 { (place, 0) } else { (place / most, place % most) };
        if rest < u64::from(weight_at(slot as usize)) {
            return Some(slot as usize);
        }
    }
    walk_to_weight(slots, weight_at, random)
}

/// The draw of [`draw_slot_by_weight`] by adding up: one random number, one or two walks from the head.
#[cold]
fn walk_to_weight(
    slots: usize,
    weight_at: impl Fn(usize) -> u32,
    random: impl FnMut() -> u64,
) -> Option<usize> {
    let total: u64 = (0..slots).map(|slot| u64::from(weight_at(slot))).sum();
    if total == 0 {
        return None;
    }
    let mut left = try_uniform_below(total, random).ok()?;
    (0..slots).find(|&slot| {
        let weight = u64::from(weight_at(slot));
        let found = left < weight;
        left = left.saturating_sub(weight);
        found
    })
}
