//! One direction of a link in logical time: a queue discipline of the [`fairdrop`] crate, the transmitter that it feeds, and
//! the path to the other end.
//!
//! This crate reads no clock, never sleeps and does no input or output: a [`Link`] computes the time at which each packet
//! leaves, arrives or is dropped from the times of arrivals alone. Its owner reports arrivals, advances the time and takes
//! the outcomes. A simulator does so as fast as possible, a daemon whenever it wakes up, and both see the same times.
//!
//! ```
//! use fairdrop::{AnyDiscipline, AnyParams, Heap, Meta, Time};
//! use fairdrop_link::{Channel, Fate, Link, LinkConfig, Pace};
//!
//! // CoDel on a link of 1 Mbit/s with a propagation delay of 5 ms.
//! let mut params = AnyParams::of("codel").expect("a discipline of the catalogue");
//! params.set_link(100, 1_000_000);
//! let queue = AnyDiscipline::new(params, &mut Heap)?;
//! let config = LinkConfig {
//!     pace: Pace::Rate(1_000_000),
//!     channel: Channel { delay: Time::from_ms(5), ..Channel::default() },
//!     seed: 1,
//!     number: 0,
//!     flow_key: [0, 0], // secret where others' packets are forwarded
//!     frames: 128,
//! };
//! let mut link = Link::new(queue, config, Time::ZERO);
//!
//! // Two packets of 1,000 bytes arrive together. Each takes 8 ms to send.
//! for handle in 0..2 {
//!     link.arrive(Time::ZERO, Meta::of_flow(7, 1000), handle, || None);
//! }
//! let mut delivered = Vec::new();
//! while let Some(next) = link.next_event() {
//!     link.advance(next);
//!     for outcome in link.outcomes().drain(..) {
//!         assert!(matches!(outcome.fate, Fate::Delivered { .. }));
//!         delivered.push((outcome.handle, outcome.at));
//!     }
//! }
//! assert_eq!(delivered, [(0, Time::from_ms(13)), (1, Time::from_ms(21))]);
//! # Ok::<(), fairdrop::ParamError>(())
//! ```
//!
//! A simulator that has its own event loop drives the inner pieces instead: a [`Transmitter`] event by event, watched by an
//! [`Observer`], and [`Loss`] and [`Impaired`] for each packet that has left. Queues are a type parameter of each call, so
//! that any [`fairdrop::Discipline`], and anything else that is a [`Queue`], will do.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod chances;
mod channel;
mod counters;
mod environment;
mod impairments;
mod link;
mod outcome;
mod pace;
mod queue;
mod random;
mod transmitter;
mod wire;

pub use chances::{Chances, TraceError, TraceWire};
pub use channel::Channel;
pub use counters::{Cause, Counters, HostCause};
pub use environment::Environment;
pub use impairments::{Impaired, Impairments, Loss};
pub use link::{Link, LinkConfig};
pub use outcome::{Fate, Outcome};
pub use pace::{Pace, Pacer};
pub use queue::{Dropped, Host, NAMED, Observer, Queue, Shows};
pub use random::queue_streams;
pub use transmitter::Transmitter;
pub use wire::{Rate, Wire};
