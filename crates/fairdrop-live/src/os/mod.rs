//! The operating system: clock, sleep, random numbers, namespaces, TUN devices; places for threads.

mod awake;
mod confine;
mod guests;
mod interfaces;
mod lease;
pub mod letters;
pub mod namespace;
mod netlink;
mod offload;
mod packet_socket;
mod processors;
mod raw;
mod signals;
mod sleeper;
mod tun;
pub mod xdp;

pub use awake::Awake;
pub use confine::{FORBIDDEN, Role, confine};
pub use guests::{Connection, Guest, Guests};
pub use interfaces::{Changes, Interface, interfaces};
pub use lease::Lease;
pub use netlink::{Netlink, NetworkSetting, Prefix};
pub use offload::{Offload, receive_queues};
pub use packet_socket::{PacketSocket, RING_BLOCK, RingLayout, RingMemory, SENT_TOGETHER};
pub use processors::Processors;
pub use raw::unshare;
pub use signals::{Signals, heeded};
pub use sleeper::{Sleeper, Waker, now};
pub use tun::{TRANSMIT_QUEUE, tun};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
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

/// Allows this process as many descriptors as it may have; how many.
pub fn raise_descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    let limit = if setrlimit(Resource::Nofile, raised).is_ok() { raised } else { limit };
    limit.current.unwrap_or(u64::MAX)
}
