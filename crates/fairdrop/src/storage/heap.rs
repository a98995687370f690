//! Storage from the allocator, for hosts that have one.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::storage::memory::Memory;

/// Hands out boxed slices while the allocator has memory.
#[derive(Clone, Copy, Debug)]
pub struct Heap;

impl Memory for Heap {
    type Of<T> = Box<[T]>;

    fn take<T: Default>(&mut self, count: usize) -> Option<Box<[T]>> {
        let mut values = Vec::new();
        values.try_reserve_exact(count).ok()?;
        values.resize_with(count, T::default);
        Some(values.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_allocator_has_is_refused() {
        assert_eq!(Heap.take::<u64>(3).as_deref(), Some(&[0; 3][..]));
        assert!(Heap.take::<u64>(usize::MAX).is_none());
        assert!(Heap.take::<u64>(usize::MAX / 16).is_none());
    }
}
