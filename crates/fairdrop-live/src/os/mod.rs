//! The operating system: clock, sleep, random numbers.

mod interfaces;
mod offload;
mod packet_socket;
mod sleeper;

pub use interfaces::{Changes, Interface, interfaces};
pub use offload::Offload;
pub use packet_socket::{PacketSocket, RING_BLOCK, RingLayout, RingMemory};
pub use sleeper::{Sleeper, Waker, now};

use std::io;

/// A secret key of 128 bits.
///
/// # Errors
/// The operating system gives none.
pub fn random_key() -> io::Result<[u64; 2]> {
    let mut bytes = [0; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    let [low, high] = [0, 8].map(|at| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte])));
    Ok([low, high])
}
