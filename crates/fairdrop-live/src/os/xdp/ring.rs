//! The rings between an AF_XDP socket and the kernel (`Documentation/networking/af_xdp.rst`), and the memory of frames. Each ring has
//! one who puts in and one who takes out; both count on for ever, and the counters wrap at 2^32.
#![allow(unsafe_code)] // Memory that the kernel reads and writes too.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use std::io;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where things are in the mapping of a ring, bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offsets {
    pub producer: usize,
    pub consumer: usize,
    pub entries: usize,
    pub flags: usize,
}

/// A mapping, until it is dropped.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

impl Mapping {
    fn shared(fd: BorrowedFd<'_>, len: usize, offset: u64) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that is in use.
        let start = unsafe { mmap(std::ptr::null_mut(), len, protection, flags, fd, offset)? };
        Ok(Self { start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?, len })
    }

    fn anonymous(len: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: as above.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), len, protection, MapFlags::PRIVATE)? };
        Ok(Self { start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?, len })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no reference to it outlives `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// What is in a ring: the number of a byte in the memory of frames, or such a number with a length.
pub(super) trait Entry: Copy {}

impl Entry for u64 {}

/// `struct xdp_desc`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Descriptor {
    /// Where the frame begins.
    pub address: u64,
    /// Its length, bytes.
    pub len: u32,
    /// More of the frame follows, or nothing.
    pub options: u32,
}

impl Entry for Descriptor {}

/// A ring in memory. `own` is the counter of our side, `published` its value that the other side knows, and
/// `other` the last value seen of the other side's counter.
#[derive(Debug)]
struct Ring<T> {
    mapping: Mapping,
    offsets: Offsets,
    mask: u32,
    own: u32,
    published: u32,
    other: u32,
    entries: PhantomData<T>,
}

// SAFETY: our side of the mapping belongs to this value alone; whichever thread has it may use it.
unsafe impl<T: Entry> Send for Ring<T> {}

impl<T: Entry> Ring<T> {
    /// # Panics
    /// `size` is no power of two, or the mapping is too short.
    fn new(mapping: Mapping, offsets: Offsets, size: u32) -> Self {
        assert!(size.is_power_of_two(), "a ring of {size} entries");
        assert!(
            offsets.entries + size as usize * size_of::<T>() <= mapping.len
                && offsets.entries.is_multiple_of(align_of::<T>())
        );
        for word in [offsets.producer, offsets.consumer, offsets.flags] {
            assert!(word + 4 <= mapping.len && word.is_multiple_of(4));
        }
        Self { mapping, offsets, mask: size - 1, own: 0, published: 0, other: 0, entries: PhantomData }
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: `new` has checked that it lies within the mapping and is aligned; both sides access it atomically.
        unsafe { AtomicU32::from_ptr(self.mapping.start.as_ptr().add(at).cast()) }
    }

    fn entry(&self, count: u32) -> NonNull<T> {
        // SAFETY: the mask keeps it within the entries, which `new` has checked.
        unsafe { self.mapping.start.add(self.offsets.entries).cast::<T>().add((count & self.mask) as usize) }
    }

    fn size(&self) -> u32 {
        self.mask + 1
    }

    fn needs_wakeup(&self) -> bool {
        self.word(self.offsets.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// The side of a ring that puts in.
#[derive(Debug)]
pub(super) struct Producer<T>(Ring<T>);

impl<T: Entry> Producer<T> {
    /// The ring of `size` entries that the socket has at `page`.
    pub fn map(socket: BorrowedFd<'_>, page: u64, offsets: Offsets, size: u32) -> io::Result<Self> {
        let len = offsets.entries + size as usize * size_of::<T>();
        Ok(Self(Ring::new(Mapping::shared(socket, len, page)?, offsets, size)))
    }

    /// Puts one in. Returns whether there was room.
    pub fn push(&mut self, value: T) -> bool {
        let ring = &mut self.0;
        if ring.own.wrapping_sub(ring.other) == ring.size() {
            ring.other = ring.word(ring.offsets.consumer).load(Ordering::Acquire);
            if ring.own.wrapping_sub(ring.other) == ring.size() {
                return false;
            }
        }
        // SAFETY: the place is valid, and ours: the other side has emptied it.
        unsafe { ring.entry(ring.own).write(value) };
        ring.own = ring.own.wrapping_add(1);
        true
    }

    /// Publishes the entries that were put in.
    pub fn publish(&mut self) {
        let ring = &mut self.0;
        if ring.published != ring.own {
            ring.word(ring.offsets.producer).store(ring.own, Ordering::Release);
            ring.published = ring.own;
        }
    }

    /// How many the other side has not taken out yet.
    pub fn left(&mut self) -> u32 {
        let ring = &mut self.0;
        ring.other = ring.word(ring.offsets.consumer).load(Ordering::Acquire);
        ring.own.wrapping_sub(ring.other)
    }

    /// The kernel does not look by itself.
    pub fn needs_wakeup(&self) -> bool {
        self.0.needs_wakeup()
    }
}

/// The side of a ring that takes out.
#[derive(Debug)]
pub(super) struct Consumer<T>(Ring<T>);

impl<T: Entry> Consumer<T> {
    /// The ring of `size` entries that the socket has at `page`.
    pub fn map(socket: BorrowedFd<'_>, page: u64, offsets: Offsets, size: u32) -> io::Result<Self> {
        let len = offsets.entries + size as usize * size_of::<T>();
        Ok(Self(Ring::new(Mapping::shared(socket, len, page)?, offsets, size)))
    }

    /// Takes one out.
    pub fn pop(&mut self) -> Option<T> {
        if !self.is_ready() {
            return None;
        }
        let ring = &mut self.0;
        // SAFETY: the place is valid, and the other side has written it and leaves it alone until it is given back.
        let value = unsafe { ring.entry(ring.own).read() };
        ring.own = ring.own.wrapping_add(1);
        Some(value)
    }

    /// The entry after `ahead` others, if it is visible already.
    pub fn ahead(&self, others: u32) -> Option<T> {
        let ring = &self.0;
        // SAFETY: as in `pop`.
        (ring.other.wrapping_sub(ring.own) > others)
            .then(|| unsafe { ring.entry(ring.own.wrapping_add(others)).read() })
    }

    /// Returns the places of the entries that were taken out.
    pub fn give_back(&mut self) {
        let ring = &mut self.0;
        if ring.published != ring.own {
            ring.word(ring.offsets.consumer).store(ring.own, Ordering::Release);
            ring.published = ring.own;
        }
    }

    /// Whether there is one to take out.
    pub fn is_ready(&mut self) -> bool {
        let ring = &mut self.0;
        if ring.other == ring.own {
            ring.other = ring.word(ring.offsets.producer).load(Ordering::Acquire);
        }
        ring.other != ring.own
    }
}

/// The memory of frames of an interface. Who has the number of a frame from a ring, and the kernel until it gives that number,
/// are the only ones who touch it; frames are only copied, so that whatever the kernel does can make bytes wrong and no more.
#[derive(Debug)]
pub(super) struct FrameMemory(Mapping);

// SAFETY: see above: it is only copied from and to.
unsafe impl Send for FrameMemory {}
// SAFETY: the same.
unsafe impl Sync for FrameMemory {}

impl FrameMemory {
    /// `len` bytes, all zero.
    pub fn new(len: usize) -> io::Result<Self> {
        let mapping = Mapping::anonymous(len)?;
        // Fewer entries of the table of pages for frames all over it. Where there are no huge pages, without.
        // SAFETY: the mapping is ours, and stays as it is but for the size of its pages.
        let _ = unsafe { madvise(mapping.start.as_ptr().cast(), len, Advice::LinuxHugepage) };
        Ok(Self(mapping))
    }

    /// Begins to fetch the bytes around `at` to the cache of this processor: they were written on another one.
    pub fn prefetch(&self, at: usize) {
        if at < self.0.len {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: it lies within the mapping, and nothing is changed.
            unsafe {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T0>(self.0.start.as_ptr().add(at).cast());
            }
        }
    }

    /// Where it is, for the kernel, and its length.
    pub fn range(&self) -> (u64, u64) {
        (self.0.start.as_ptr() as u64, self.0.len as u64)
    }

    /// Copies from `at` on; `false`: it does not lie within.
    pub fn read(&self, at: usize, to: &mut [u8]) -> bool {
        let inside = at.checked_add(to.len()).is_some_and(|end| end <= self.0.len);
        if inside {
            // SAFETY: it lies within the mapping, and no reference to the mapping exists.
            unsafe {
                std::ptr::copy_nonoverlapping(self.0.start.as_ptr().add(at), to.as_mut_ptr(), to.len());
            };
        }
        inside
    }

    /// Copies to `at` on; `false`: it does not lie within.
    pub fn write(&self, at: usize, from: &[u8]) -> bool {
        let inside = at.checked_add(from.len()).is_some_and(|end| end <= self.0.len);
        if inside {
            // SAFETY: the same.
            unsafe {
                std::ptr::copy_nonoverlapping(from.as_ptr(), self.0.start.as_ptr().add(at), from.len());
            };
        }
        inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFSETS: Offsets = Offsets { producer: 0, consumer: 64, flags: 128, entries: 192 };

    /// Both sides of one ring, with counters that begin at `begin`.
    fn ring(size: u32, begin: u32) -> (Producer<u64>, Consumer<u64>) {
        let mapping = || Mapping::anonymous(4096).unwrap();
        let mut producer = Ring::<u64>::new(mapping(), OFFSETS, size);
        let mut consumer = Ring::<u64>::new(mapping(), OFFSETS, size);
        // The consumer looks at the memory of the producer, and unmaps none of it.
        consumer.mapping = Mapping { start: producer.mapping.start, len: 0 };
        for ring in [&mut producer, &mut consumer] {
            (ring.own, ring.published, ring.other) = (begin, begin, begin);
        }
        producer.word(OFFSETS.producer).store(begin, Ordering::Relaxed);
        producer.word(OFFSETS.consumer).store(begin, Ordering::Relaxed);
        (Producer(producer), Consumer(consumer))
    }

    #[test]
    fn what_is_put_in_comes_out_in_order_around_the_end_and_around_the_counters() {
        for begin in [0, 5, u32::MAX - 10, u32::MAX] {
            let (mut producer, mut consumer) = ring(4, begin);
            let (mut put, mut taken) = (0_u64, 0_u64);
            let mut random = fairdrop::Philox::new(u64::from(begin), 0, 0);
            for _ in 0..2000 {
                for _ in 0..random.next_u64() % 6 {
                    let waiting = put - taken;
                    assert_eq!(producer.push(put), waiting < 4, "{waiting} of 4 wait");
                    put += u64::from(waiting < 4);
                }
                producer.publish();
                for _ in 0..random.next_u64() % 6 {
                    assert_eq!(consumer.is_ready(), taken < put);
                    assert_eq!(consumer.pop(), (taken < put).then_some(taken));
                    taken += u64::from(taken < put);
                }
                consumer.give_back();
                assert_eq!(u64::from(producer.left()), put - taken);
            }
            assert!(put > 2000);
        }
    }

    #[test]
    fn nothing_is_seen_before_it_is_published_nor_overwritten_before_it_is_given_back() {
        let (mut producer, mut consumer) = ring(2, u32::MAX);
        assert!(producer.push(1) && producer.push(2) && !producer.push(3));
        assert_eq!(consumer.pop(), None);
        producer.publish();
        assert_eq!((consumer.pop(), producer.push(3)), (Some(1), false));
        assert_eq!((consumer.ahead(0), consumer.ahead(1)), (Some(2), None));
        consumer.give_back();
        assert_eq!((producer.push(3), producer.push(4)), (true, false));
        producer.publish();
        assert_eq!((consumer.pop(), consumer.pop(), consumer.pop()), (Some(2), Some(3), None));
    }

    #[test]
    fn frames_lie_within_the_memory() {
        let memory = FrameMemory::new(4096).unwrap();
        let mut read = [9; 4];
        assert!(memory.write(4092, b"last") && memory.read(4092, &mut read) && &read == b"last");
        assert!(!memory.write(4093, b"last") && !memory.read(usize::MAX, &mut read) && &read == b"last");
    }
}
