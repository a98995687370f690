//! An allocator that asks for huge pages where much memory is wanted at once. A million flows fill a gigabyte, of which
//! each packet needs a dozen lines somewhere; with pages of 4 KiB the processor spends more time on where they are than
//! on fetching them.

#![allow(unsafe_code)] // An allocator is one by nature.

use std::alloc::{GlobalAlloc, Layout, System};

/// The allocator of the system; what is large comes from the kernel directly, in huge pages where Linux has some.
///
/// For programs that simulate many flows:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: fairdrop_sim::HugePages = fairdrop_sim::HugePages;
/// # fn main() { assert!(vec![1_u8; 20 << 20].iter().all(|&byte| byte == 1)); }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct HugePages;

/// From this size on, bytes: about what a processor's table of page addresses reaches with pages of 4 KiB.
#[cfg(all(target_os = "linux", not(miri)))]
const LARGE: usize = 8 << 20;
#[cfg(not(all(target_os = "linux", not(miri))))]
const LARGE: usize = usize::MAX;

// SAFETY: large blocks are mappings of their own, everything else is the system allocator's; which of the two a block
// is follows from its size, which its owner gives back with it.
unsafe impl GlobalAlloc for HugePages {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LARGE {
            return mapping::map(layout);
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LARGE {
            return mapping::map(layout); // The kernel's pages are zero.
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above; a block of this size came from `map`, with the same layout.
        unsafe {
            if layout.size() >= LARGE { mapping::unmap(block, layout) } else { System.dealloc(block, layout) }
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size() < LARGE && size < LARGE {
            // SAFETY: as above.
            return unsafe { System.realloc(block, layout, size) };
        }
        // SAFETY: the caller promises that `size` is valid with this alignment. The blocks are different ones, each at
        // least as long as what is copied.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                block.copy_to_nonoverlapping(new, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod mapping {
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
    use std::alloc::Layout;
    use std::ffi::c_void;
    use std::ptr;

    /// Bytes of a huge page: 2 MiB, as on x86-64 and on aarch64 with small pages of 4 KiB. Where it is something else,
    /// nothing is lost but the advantage.
    const HUGE: usize = 2 << 20;

    /// Whole huge pages that hold `layout`; null if there are none.
    pub fn map(layout: Layout) -> *mut u8 {
        let Some(length) = layout.size().checked_next_multiple_of(HUGE) else { return ptr::null_mut() };
        let Some(longer) = length.checked_add(layout.align().max(HUGE)) else { return ptr::null_mut() };
        // SAFETY: new mappings, wherever the kernel likes, touch nothing else. What is unmapped before and behind the
        // aligned part, in whole pages, is part of the mapping just made. Advice changes nothing but speed.
        unsafe {
            let (access, kind) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
            let Ok(start) = mmap_anonymous(ptr::null_mut(), longer, access, kind) else {
                return ptr::null_mut();
            };
            let before = start.addr().next_multiple_of(layout.align().max(HUGE)) - start.addr();
            let block = start.byte_add(before);
            release(start, before);
            release(block.byte_add(length), longer - before - length);
            let _ = madvise(block, length, Advice::LinuxHugepage);
            block.cast()
        }
    }

    /// # Safety
    /// `block` came from [`map`] with this layout, and is not used again.
    pub unsafe fn unmap(block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise; `map` has computed the same length.
        unsafe { release(block.cast(), layout.size().next_multiple_of(HUGE)) }
    }

    /// # Safety
    /// The range is mapped, in whole pages, and not used again.
    unsafe fn release(start: *mut c_void, length: usize) {
        if length > 0 {
            // SAFETY: the caller's promise. It cannot fail for such a range, unless there are too many mappings: then
            // the range stays, unused.
            let _ = unsafe { munmap(start, length) };
        }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod mapping {
    use std::alloc::{GlobalAlloc, Layout, System};

    /// Nothing is that large.
    pub fn map(_: Layout) -> *mut u8 {
        std::ptr::null_mut()
    }

    /// # Safety
    /// As [`System`]'s.
    pub unsafe fn unmap(block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of every kind, and a change of size between each two kinds: what was written stays, nothing overlaps.
    #[test]
    fn blocks_keep_what_they_hold() {
        let sizes = [24, 1 << 20, (8 << 20) - 1, 8 << 20, (8 << 20) + 1, 33 << 20];
        for from in sizes {
            for to in sizes {
                let layout = Layout::from_size_align(from, 64).unwrap();
                // SAFETY: sizes are not 0; layouts are those of the blocks; reads stay inside what was written.
                unsafe {
                    let block = HugePages.alloc_zeroed(layout);
                    assert!(block.addr().is_multiple_of(64) && *block == 0 && *block.add(from - 1) == 0);
                    block.write_bytes(0xA5, from);
                    let other = HugePages.alloc(layout);
                    other.write_bytes(0x5A, from);
                    let block = HugePages.realloc(block, layout, to);
                    let kept = std::slice::from_raw_parts(block, from.min(to));
                    assert!(kept.iter().all(|&byte| byte == 0xA5), "{from} to {to}");
                    HugePages.dealloc(block, Layout::from_size_align(to, 64).unwrap());
                    HugePages.dealloc(other, layout);
                }
            }
        }
    }

    /// Linux is asked for huge pages: the mapping of a large block says so.
    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn large_blocks_are_advised() {
        let layout = Layout::from_size_align(16 << 20, 4096).unwrap();
        // SAFETY: as above.
        unsafe {
            let block = HugePages.alloc(layout);
            assert!(block.addr().is_multiple_of(2 << 20));
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let at = maps.find(&format!("{:x}-", block.addr())).expect("a mapping begins with the block");
            let flags = maps[at..].lines().find(|line| line.starts_with("VmFlags:")).unwrap();
            // A kernel without huge pages does not know the advice.
            if std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
                assert!(flags.contains(" hg"), "{flags}");
            }
            HugePages.dealloc(block, layout);
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let layout = Layout::from_size_align(isize::MAX as usize - (1 << 21), 1).unwrap();
        // SAFETY: the size is not 0.
        assert!(unsafe { HugePages.alloc(layout) }.is_null());
    }
}
