//! Storage of a queue: pieces of the block that the caller gave, one after the other.

use core::marker::PhantomData;
use core::mem::{align_of, needs_drop, size_of};
use core::ptr::NonNull;
use core::slice;

use fairdrop::Memory;

/// Alignment of the block, in bytes: that of `uint64_t`.
pub const FAIRDROP_ALIGN: usize = 8;

/// A typed piece of the block. Nobody else has it.
pub struct Piece<T> {
    start: NonNull<T>,
    count: usize,
    holds: PhantomData<T>,
}

impl<T> AsRef<[T]> for Piece<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: `Arena::take` made `count` values of `T` here and gave them to this piece alone. The block outlives the
        // queue, which is what the caller of `fairdrop_init` promises.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T> AsMut<[T]> for Piece<T> {
    fn as_mut(&mut self) -> &mut [T] {
        // SAFETY: as above; `self` is borrowed mutably, and there is one piece for each place.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.count) }
    }
}

/// Hands out the block from its beginning on.
pub struct Arena {
    /// Where the pieces begin; `None` counts bytes and hands out empty pieces.
    start: Option<NonNull<u8>>,
    used: usize,
    room: usize,
}

impl Arena {
    /// An arena that counts what is asked for.
    pub const fn counting() -> Self {
        Self { start: None, used: 0, room: usize::MAX }
    }

    /// An arena over `room` bytes from `start`.
    ///
    /// # Safety
    /// The bytes are aligned to [`FAIRDROP_ALIGN`], may be written, and are used through this arena's pieces only as long as
    /// there are any.
    pub const unsafe fn over(start: NonNull<u8>, room: usize) -> Self {
        Self { start: Some(start), used: 0, room }
    }

    /// Bytes handed out, padding included.
    pub const fn used(&self) -> usize {
        self.used
    }
}

impl Memory for Arena {
    type Of<T> = Piece<T>;

    fn take<T: Default>(&mut self, count: usize) -> Option<Piece<T>> {
        const {
            assert!(align_of::<T>() <= FAIRDROP_ALIGN, "the block has room for it as it is aligned");
            assert!(!needs_drop::<T>(), "a queue ends by not being used any more");
        }
        let begin = self.used.checked_next_multiple_of(align_of::<T>())?;
        let end = begin.checked_add(count.checked_mul(size_of::<T>())?)?;
        if end > self.room {
            return None;
        }
        self.used = end;
        let Some(block) = self.start else {
            return Some(Piece { start: NonNull::dangling(), count: 0, holds: PhantomData });
        };
        // SAFETY: `begin..end` lies within the room of the block, and was not handed out before.
        let start = unsafe { block.add(begin) }.cast::<T>();
        for place in 0..count {
            // SAFETY: the place is in `begin..end` and aligned, as the block and `begin` are.
            unsafe { start.add(place).write(T::default()) };
        }
        Some(Piece { start, count, holds: PhantomData })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_aligned_apart_and_within_the_block() {
        let mut block = [u64::MAX; 8];
        let start = NonNull::new(block.as_mut_ptr()).unwrap();
        // SAFETY: the block is used through the arena from here on.
        let mut arena = unsafe { Arena::over(start.cast(), 64) };
        let mut bytes = arena.take::<u8>(3).unwrap();
        let mut words = arena.take::<u64>(6).unwrap();
        assert_eq!(arena.used(), 8 + 48);
        assert!(bytes.as_ref() == [0; 3] && words.as_ref() == [0; 6], "each value is the default");
        bytes.as_mut().fill(7);
        words.as_mut().fill(u64::MAX);
        assert_eq!(bytes.as_ref(), [7; 3]);
        assert!(arena.take::<u64>(2).is_none() && arena.take::<u64>(usize::MAX).is_none());
        assert!(arena.take::<u64>(1).is_some());
        assert!(arena.take::<u8>(1).is_none() && arena.take::<u8>(0).is_some());
    }

    #[test]
    fn counting_counts_the_same() {
        let mut arena = Arena::counting();
        assert!(arena.take::<u8>(3).unwrap().as_ref().is_empty());
        assert!(arena.take::<u64>(6).unwrap().as_ref().is_empty());
        assert_eq!(arena.used(), 56);
        assert!(arena.take::<u64>(usize::MAX).is_none());
    }
}
