//! `enqueue`, `dequeue` and `tick` of every discipline, in a program that does not link if one of them can panic.
//!
//! The panic handler calls a function that exists nowhere. The linker drops what nothing refers to; if it still
//! misses that function, then some path leads from a discipline to a panic. Nothing is ever run. Queues, packets and
//! the host are unknown to the compiler, so it may not prove a panic away by what this program happens to do.
#![no_std]
#![no_main]
// One discipline alone does without the list of all.
#![cfg_attr(any(feature = "choke_alone", feature = "collar_alone"), allow(unused_imports, unused_macros))]

use core::hint::black_box;
use core::panic::PanicInfo;

use fairdrop::{
    AnyDiscipline, Discipline, DropCause, Env, Memory, Packet, Registered, Stream, Time, for_each_discipline,
};

unsafe extern "C" {
    /// Defined nowhere.
    fn a_discipline_can_panic() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    unsafe { a_discipline_can_panic() }
}

/// `core` names it in its tables for unwinding.
#[cfg(target_os = "linux")]
#[unsafe(no_mangle)]
pub extern "C" fn rust_eh_personality() {}

/// Storage of unknown length.
struct Lent<T> {
    start: *mut T,
    len: usize,
}

impl<T> AsRef<[T]> for Lent<T> {
    #[inline]
    fn as_ref(&self) -> &[T] {
        // Never run.
        unsafe { core::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T> AsMut<[T]> for Lent<T> {
    #[inline]
    fn as_mut(&mut self) -> &mut [T] {
        // Never run.
        unsafe { core::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

struct Pieces;

impl Memory for Pieces {
    type Of<T> = Lent<T>;

    fn take<T: Default>(&mut self, _: usize) -> Option<Lent<T>> {
        None
    }
}

/// A host about which nothing is known.
struct Host(u64);

impl Env<u32> for Host {
    fn now(&self) -> Time {
        Time::from_ns(black_box(self.0))
    }

    fn flow_key(&self) -> [u64; 2] {
        black_box([self.0; 2])
    }

    fn random(&mut self, _: Stream) -> u64 {
        black_box(self.0)
    }

    fn dropped(&mut self, packet: Packet<u32>, cause: DropCause) {
        black_box((packet, cause));
    }

    fn drawn(&mut self, candidate: &Packet<u32>) {
        black_box(candidate);
    }
}

#[inline(never)]
fn enqueue<D: Discipline<u32>>(queue: &mut D, packet: Packet<u32>, host: &mut Host) {
    queue.enqueue(packet, host);
}

#[inline(never)]
fn dequeue<D: Discipline<u32>>(queue: &mut D, host: &mut Host) -> Option<Packet<u32>> {
    queue.dequeue(host)
}

#[inline(never)]
fn tick<D: Discipline<u32>>(queue: &mut D, host: &mut Host) {
    queue.tick(host);
}

/// Addresses of the three functions of a type.
fn of<D: Discipline<u32>>() -> [*const (); 3] {
    [enqueue::<D> as *const (), dequeue::<D> as *const (), tick::<D> as *const ()]
}

/// Those of every discipline, and of all of them behind one type.
macro_rules! entries {
    ($($discipline:ident $params:ty;)*) => {
        [$(of::<<$params as Registered>::Queue<u32, Pieces>>(),)* of::<AnyDiscipline<u32, Pieces>>()]
    };
}

/// Keeps the functions in the program. Called by nobody.
#[unsafe(no_mangle)]
pub extern "C" fn _start() {
    #[cfg(not(any(feature = "choke_alone", feature = "collar_alone")))]
    black_box(&for_each_discipline!(entries));
    #[cfg(feature = "choke_alone")]
    black_box(of::<<fairdrop::ChokeParams as Registered>::Queue<u32, Pieces>>());
    #[cfg(feature = "collar_alone")]
    black_box(of::<fairdrop::Collar<u32, Lent<fairdrop::Slot<u32>>, Lent<u32>, Lent<fairdrop::SuspectSet>>>());
    #[cfg(feature = "canary")]
    black_box(canary as *const ());
}

/// Panics when `at` is out of bounds.
#[cfg(feature = "canary")]
#[inline(never)]
fn canary(bytes: &[u8], at: usize) -> u8 {
    bytes[at]
}
