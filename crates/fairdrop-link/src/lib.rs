//! One direction of a link in logical time: a queue discipline of the [`fairdrop`] crate, the transmitter that it feeds, and
//! what happens on the way to the other end.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod chances;
mod impairments;
mod pace;
mod random;
mod wire;

pub use chances::{Chances, TraceError, TraceWire};
pub use impairments::{Impaired, Impairments, Loss};
pub use pace::{Pace, Pacer};
pub use random::queue_streams;
pub use wire::{Rate, Wire};
