//! Packet-level simulation of congested links, and replay of captures, over the disciplines of the `fairdrop` crate.
//!
//! [`Scenario`](scenario::Scenario) in, [`RunResult`] out: [`simulate`] does one run, [`campaign`] many on all
//! cores, [`replay`] feeds a capture through one queue, [`queue_host`] drives a discipline with no network at all.

mod beside_kernel;
pub mod campaign;
mod control;
pub mod document;
mod engine;
pub mod extension;
mod host;
mod hosted;
pub mod memory;
mod meter;
mod network;
mod port;
mod prefetch;
mod queue_host;
mod random;
mod replay;
mod result;
mod run;
pub mod scenario;
pub mod trace;
mod transport;
mod watch;

pub use beside_kernel::beside_kernel;
pub use control::{Control, Late, PARTS};
pub use engine::Excess;
pub use fairdrop_tcp::TransportCount;
pub use host::HugePages;
pub use meter::{End, TIME_RESOLUTION, jain_index};
pub use network::{Datagrams, Departing, Network, Notice, SenderState};
pub use queue_host::{Arrivals, HostConfig, HostResult, queue_host};
pub use replay::{ReplayConfig, ReplayError, replay};
pub use result::{
    Amount, Drops, FlowResult, GroupResult, InternalResult, LinkFlow, LinkGroup, LinkLoss, LinkStats,
    Measured, PositionsResult, QueueResult, RunResult, SeriesResult, SizeClassResult, Sojourn,
    TransfersResult, VelocityResult, Windows, WindowsSeries,
};
pub use run::{FileError, RunError, run_file, simulate, simulate_traced};
pub use transport::sources::Datagram;
