//! Which wrong form is on, which places a run came by, and how many turns it may still make.

use std::cell::{Cell, RefCell};

thread_local! {
    static FORM: Cell<u32> = const { Cell::new(0) };
    static TURNS: Cell<u64> = const { Cell::new(u64::MAX) };
    static SEEN: RefCell<Option<Vec<bool>>> = const { RefCell::new(None) };
}

/// Whether a form is on, asked at its place.
#[inline]
pub fn on(form: u32) -> bool {
    let now = FORM.get();
    if now == u32::MAX {
        SEEN.with_borrow_mut(|seen| {
            if let Some(seen) = seen {
                seen[form as usize] = true;
            }
        });
    }
    now == form
}

/// A loop or a closure is gone through once more.
///
/// # Panics
/// It was gone through more often than it may be: it goes on for ever.
#[inline]
pub fn turn() {
    let left = TURNS.get();
    assert!(left > 0, "it goes on for ever");
    TURNS.set(left - 1);
}

/// Turns on a form, or none with 0, for a number of turns.
pub fn turn_on(form: u32, turns: u64) {
    FORM.set(form);
    TURNS.set(turns);
}

/// Runs without a form and notes the places that it comes by; of `forms` places.
pub fn seen_in(forms: usize, run: impl FnOnce()) -> Vec<bool> {
    SEEN.set(Some(vec![false; forms]));
    turn_on(u32::MAX, u64::MAX);
    run();
    turn_on(0, u64::MAX);
    SEEN.take().unwrap_or_default()
}
