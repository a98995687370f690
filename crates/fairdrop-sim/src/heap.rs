//! Storage of disciplines, from the allocator.

use fairdrop::Memory;

/// Hands out boxed slices, as long as the allocator has some.
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
