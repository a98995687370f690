//! A scenario with real hosts: groups are kernel TCP and paced datagrams in two network namespaces, and every packet between
//! them goes through the scenario's links in logical time, in this process. The links, their disciplines and their meters are
//! the simulator's own ([`Network`](fairdrop_sim::Network)), so the result has the same names and means the same.

mod address;
mod application;
mod carrier;
pub mod command;
mod congestion;
mod error;
mod kernel;
mod machine;
mod plan;
mod run;
mod segment;
mod senders;
mod side;
mod sinks;
mod stop;
mod stream;
mod sysctl;
mod verdict;

pub use congestion::Congestion;
pub use error::LabError;
pub use run::{become_root, check, run};
pub use sysctl::Sysctls;
