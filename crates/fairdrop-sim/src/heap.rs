//! Storage of disciplines, from the allocator.

use fairdrop::Memory;

/// Hands out boxed slices; never runs out.
#[derive(Clone, Copy, Debug)]
pub struct Heap;

impl Memory for Heap {
    type Of<T> = Box<[T]>;

    fn take<T: Default>(&mut self, count: usize) -> Option<Box<[T]>> {
        Some(std::iter::repeat_with(T::default).take(count).collect())
    }
}
