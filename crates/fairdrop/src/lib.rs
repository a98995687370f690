//! Queue disciplines: the CHOKe family, which is fair without per-flow state, and its rivals.
//!
//! A discipline decides what happens to a packet that arrives at a queue. It borrows everything else: storage is
//! a slice of [`Slot`]s that the host owns, time and randomness come through [`Env`], and dropped packets go back
//! to the host through the same trait, each with its [`DropCause`]. A discipline never reads a clock, never owns
//! a random generator, never allocates and never prints, so that one implementation serves a simulator, a replay
//! of captures, a live forwarder and an embedded switch alike.
//!
//! ```
//! use fairdrop::{Choke, ChokeParams, Discipline, DropCause, Env, Meta, Packet, Philox, Slot, Stream, Time, slots_for};
//!
//! /// A host that counts what it gets back.
//! struct Host { now: Time, random: Philox, dropped: u32 }
//! impl Env<u32> for Host {
//!     fn now(&self) -> Time { self.now }
//!     fn random(&mut self, _stream: Stream) -> u64 { self.random.next_u64() }
//!     // A simulator's; a host that forwards packets of others takes it from the operating system.
//!     fn flow_key(&self) -> [u64; 2] { [0, 0] }
//!     fn dropped(&mut self, _packet: Packet<u32>, _cause: DropCause) { self.dropped += 1; }
//! }
//!
//! let mut params = ChokeParams::default();
//! (params.red.limit, params.red.min_th, params.red.max_th) = (100, 0.0, 50.0);
//! let mut slots: [Slot<u32>; slots_for(100)] = [const { None }; slots_for(100)];
//! let mut queue = Choke::new(params, &mut slots)?;
//! let mut host = Host { now: Time::ZERO, random: Philox::new(1, 0, 0), dropped: 0 };
//! // One flow alone, above `min_th`: the second packet meets the first, and both are dropped.
//! for handle in 0..2 {
//!     queue.enqueue(Packet::new(Meta::of_flow(7, 1000), host.now, handle), &mut host);
//! }
//! assert_eq!((host.dropped, queue.backlog().packets), (2, 0));
//! # Ok::<(), fairdrop::ParamError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod arithmetic;
mod contract;
mod declare;
pub mod disciplines;
mod registry;
mod storage;

pub use arithmetic::philox::Philox;
pub use arithmetic::small_random::{Generator, Streams, Xoroshiro};
pub use arithmetic::token_bucket::TokenBucket;
pub use contract::decision::{Action, Candidate, Waiting};
pub use contract::discipline::{Departures, Discipline, DisciplineInfo, Family};
pub use contract::env::{DrawnAhead, Env, MOST_REDRAWS, RingEnv, Stream, uniform_below, unit_interval};
pub use contract::flow_key::{Endpoints, FlowKey, siphash, siphash_short};
pub use contract::notation;
pub use contract::packet::{Ecn, Hosts, MAX_LEN, Meta, Packet};
pub use contract::params::{Alias, Kind, ParamError, ParamSpec, ParamValue, Valid, read_key};
pub use contract::peekable::Peekable;
pub use contract::rate_label::RateLabel;
pub use contract::stats::{Backlog, Count, DropCause, Stats};
pub use contract::time::{MOST_UPDATES, Time};
pub use contract::viewer::Viewer;
pub use declare::change::ChangeError;
pub use declare::entry::{ParamTable, Registered, Warning};
pub use declare::limit::LIMIT;
pub use declare::linux::{Linux, LinuxCoDel, LinuxDualPi2};
pub use declare::params::Parameter;
pub use disciplines::ahab::LowPass;
pub use disciplines::black::BlackFlow;
pub use disciplines::cake::{CakeHost, CakeQueue, Framing, Isolation};
pub use disciplines::cebinae::CebinaeSlot;
pub use disciplines::choke::{
    AverageIn, Candidates, ChokeBursts, ChokeDecision, DrawFrom, Order, Sampling, Schedule,
};
pub use disciplines::choke_hardware::{Addresses, ListEntry, ListStats, MarkBit, MarkedEntry};
pub use disciplines::chokew::{ChokeWDecision, Weights};
pub use disciplines::collar::{
    AmongFlows, AmongHosts, AsSet, ByClass, CollarDecision, CollarQueue, CollarStorage, FullCollar, HostIds,
    HostSet, Sharing, SharingHosts, SuspectSet,
};
pub use disciplines::csfq::RateEstimate;
pub use disciplines::drr::Turn;
pub use disciplines::fair_drop::ShadowFlow;
pub use disciplines::flow_valve::ValveFlow;
pub use disciplines::fq::FluidFlow;
pub use disciplines::fq_codel::{Fattest, FlowQueue};
pub use disciplines::fq_pie::PieQueue;
pub use disciplines::fred::FredFlow;
pub use disciplines::names::*;
pub use disciplines::penalty_box::{PenaltyFlow, PenaltyTest};
pub use disciplines::red::{BurstModes, RedBursts, RedDecision};
pub use disciplines::red_pd::RedPdFlow;
pub use disciplines::sfb::SfbBin;
pub use disciplines::sred::Zombie;
pub use disciplines::ward::{FullCase3, WardDecision};
pub use registry::{AnyDiscipline, AnyParams, CATALOGUE, info};
pub use storage::flow_table::{FlowPlace, FlowTable, places_for};
#[cfg(feature = "alloc")]
pub use storage::heap::Heap;
pub use storage::id_ring::{Arrivals, IdRing, NO_ID, Occupied};
pub use storage::indexed_heap::HeapPlace;
pub use storage::leaky_fifo::{LeakyFifo, Position, Slot, slots_for};
pub use storage::length_lists::{LengthPlace, lengths_for};
pub use storage::memory::{Memory, Storage};
pub use storage::queue_pool::{PacketSlot, QueueSlot};
pub use storage::ring::{MOST_VICTIMS, Ring, Victim};
