//! What the page calls. The module has one thread, so one request and one answer at a time.

#![allow(unsafe_code)] // Names of exports are not mangled, which the linker has to be promised once for each.

use crate::answer::answer;
use std::sync::{Mutex, MutexGuard, PoisonError};

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<String> = Mutex::new(String::new());

/// Where a request of `length` bytes is to be written.
// SAFETY: no other item has this name.
#[unsafe(no_mangle)]
extern "C" fn fairdrop_request(length: usize) -> *mut u8 {
    let mut request = locked(&REQUEST);
    request.clear();
    request.resize(length, 0);
    request.as_mut_ptr()
}

/// Answers the request; returns the length of the answer in bytes.
// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn fairdrop_answer() -> usize {
    let text = answer(&locked(&REQUEST));
    let length = text.len();
    *locked(&ANSWER) = text;
    length
}

/// Where the answer is, until the next one.
// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn fairdrop_answer_at() -> *const u8 {
    locked(&ANSWER).as_ptr()
}

fn locked<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}
