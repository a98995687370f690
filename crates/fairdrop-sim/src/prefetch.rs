//! Fetching from memory ahead of need. With a million flows nothing of a flow is in a cache when its next packet comes;
//! a prefetch lets the wait for it run beside other work, which a read cannot: the processor soon has to stop for it.

//! What is in no cache is mostly on a page whose address is not known to the processor either, and a prefetch waits for it
//! to be looked up. Such waits overlap when prefetches stand side by side: hence batches.

#![allow(unsafe_code)] // The instruction has no safe form.

/// Bytes of a line of the cache.
const LINE: usize = 64;
/// The state of up to this number of flows is in the cache, and is not prefetched.
pub const FEW_FLOWS: u32 = 2000;
/// How many packets or events are looked at together.
pub const BATCH: usize = 16;
/// How many others come before the first of them: long enough to fetch a line, and not long enough to lose it again.
pub const LEAD: usize = 2;

/// Asks for the cache line in which `item` begins. A hint: nothing waits for it, and nothing changes.
#[inline(always)]
pub fn prefetch<T>(item: &T) {
    hint(item);
}

/// The same for all lines of `item`, which begins with one.
#[inline(always)]
pub fn prefetch_whole<T>(item: &T) {
    let start = std::ptr::from_ref(item).cast::<u8>();
    (0..size_of::<T>()).step_by(LINE).for_each(|at| hint(start.wrapping_add(at)));
}

/// The same for the line `places` behind `item`, whether or not there is anything: a write there waits for its line as
/// a read does.
#[inline(always)]
pub fn prefetch_behind<T>(item: &T, places: usize) {
    hint(std::ptr::from_ref(item).wrapping_add(places));
}

#[inline(always)]
fn hint<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: prefetching has no effect that a program could see, whatever the address; x86-64 always has it (SSE).
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above; the instruction changes neither memory nor registers.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    let _ = address;
}
