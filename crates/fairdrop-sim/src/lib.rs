//! Packet-level simulation of congested links, and replay of captures, over the disciplines of the `fairdrop` crate.
//!
//! [`Scenario`](scenario::Scenario) in, [`RunResult`] out: [`simulate`] does one run, [`campaign`] many on all
//! cores, [`replay`] feeds a capture through one queue, [`queue_host`] drives a discipline with no network at all.

pub mod campaign;
mod control;
mod engine;
mod meter;
mod port;
mod queue_host;
mod random;
mod replay;
mod result;
mod run;
pub mod scenario;
mod transport;
mod units;
mod wire;

pub use control::{Control, PARTS};
pub use meter::jain_index;
pub use queue_host::{Arrivals, HostConfig, HostResult, queue_host};
pub use replay::{ReplayConfig, replay};
pub use result::{
    Drops, FlowResult, GroupResult, Measured, PositionsResult, QueueResult, RunResult, SeriesResult,
    SizeClassResult, Sojourn, TransfersResult,
};
pub use run::simulate;
pub use transport::TransportCount;
