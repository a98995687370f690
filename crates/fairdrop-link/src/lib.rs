//! A link beside its queue: rates and their wire overhead, delivery chances, impairments, and the random streams of a queue
//! discipline of the [`fairdrop`] crate. Simulator, replay and daemon share them.
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
