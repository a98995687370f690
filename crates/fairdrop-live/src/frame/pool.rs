//! A fixed number of frame buffers. Nothing is allocated for a packet; who finds no buffer drops it.

/// Buffers of equal size, by number.
#[derive(Debug)]
pub struct FramePool {
    bytes: Box<[u8]>,
    frame_bytes: usize,
    lengths: Box<[u32]>,
    free: Vec<u32>,
}

impl FramePool {
    /// `frames` buffers of `frame_bytes` each, all free.
    pub fn new(frames: u32, frame_bytes: usize) -> Self {
        Self {
            bytes: vec![0; frames as usize * frame_bytes].into_boxed_slice(),
            frame_bytes,
            lengths: vec![0; frames as usize].into_boxed_slice(),
            // The first to be taken is the last: the same buffers are used again while they are in the cache.
            free: (0..frames).rev().collect(),
        }
    }

    /// Grows to `frames` buffers; taken ones keep their content. It does not shrink.
    pub fn grow(&mut self, frames: u32) {
        let before = self.frames();
        if frames <= before {
            return;
        }
        let mut bytes = vec![0; frames as usize * self.frame_bytes];
        bytes[..self.bytes.len()].copy_from_slice(&self.bytes);
        let mut lengths = vec![0; frames as usize];
        lengths[..before as usize].copy_from_slice(&self.lengths);
        (self.bytes, self.lengths) = (bytes.into(), lengths.into());
        // Taken last.
        self.free.splice(0..0, (before..frames).rev());
    }

    /// Bytes of memory that a pool of this size takes.
    pub const fn bytes_for(frames: u32, frame_bytes: usize) -> usize {
        frames as usize * (frame_bytes + 2 * size_of::<u32>())
    }

    /// Buffers in all.
    pub fn frames(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// Buffers that are free.
    #[inline]
    pub fn free(&self) -> u32 {
        self.free.len() as u32
    }

    /// The longest frame that fits, bytes.
    pub fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    /// The buffer that [`Self::take`] would give, to be filled first; `None` when none is free.
    #[inline]
    pub fn next_buffer(&mut self) -> Option<&mut [u8]> {
        let &handle = self.free.last()?;
        let start = handle as usize * self.frame_bytes;
        self.bytes.get_mut(start..start + self.frame_bytes)
    }

    /// Takes the filled buffer, with the length of its content.
    #[inline]
    pub fn take(&mut self, len: usize) -> Option<u32> {
        let handle = self.free.pop()?;
        self.lengths[handle as usize] = len.min(self.frame_bytes) as u32;
        Some(handle)
    }

    /// Gives a buffer back.
    #[inline]
    pub fn release(&mut self, handle: u32) {
        debug_assert!(
            !self.free.contains(&handle) || self.frames() > 1024,
            "buffer {handle} is free already"
        );
        self.free.push(handle);
    }

    /// What is in a buffer.
    #[inline]
    pub fn frame(&self, handle: u32) -> &[u8] {
        let start = handle as usize * self.frame_bytes;
        &self.bytes[start..start + self.lengths[handle as usize] as usize]
    }

    /// The same, to be changed.
    pub fn frame_mut(&mut self, handle: u32) -> &mut [u8] {
        let start = handle as usize * self.frame_bytes;
        &mut self.bytes[start..start + self.lengths[handle as usize] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back() {
        let mut pool = FramePool::new(2, 8);
        pool.next_buffer().unwrap()[..3].copy_from_slice(b"one");
        let one = pool.take(3).unwrap();
        pool.next_buffer().unwrap()[..3].copy_from_slice(b"two");
        let two = pool.take(3).unwrap();
        assert_eq!((pool.frame(one), pool.frame(two), pool.free()), (&b"one"[..], &b"two"[..], 0));
        assert!(pool.next_buffer().is_none() && pool.take(1).is_none());
        pool.release(one);
        assert_eq!(pool.take(2), Some(one));
        pool.frame_mut(one)[0] = b'O';
        assert_eq!(pool.frame(one), b"On");
    }

    #[test]
    fn it_grows_and_what_is_in_it_stays() {
        let mut pool = FramePool::new(1, 8);
        pool.next_buffer().unwrap()[..3].copy_from_slice(b"one");
        let one = pool.take(3).unwrap();
        pool.grow(3);
        pool.grow(2);
        assert_eq!((pool.frame(one), pool.frames(), pool.free()), (&b"one"[..], 3, 2));
        pool.next_buffer().unwrap()[..3].copy_from_slice(b"two");
        let (two, three) = (pool.take(3).unwrap(), pool.take(1).unwrap());
        assert_eq!((two, three, pool.take(1)), (1, 2, None));
        assert_eq!((pool.frame(one), pool.frame(two)), (&b"one"[..], &b"two"[..]));
    }
}
