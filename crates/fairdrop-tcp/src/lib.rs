//! TCP at packet level: senders that decide which segments to send and when, and receivers that acknowledge. All volumes are
//! in segments, and time is logical: a caller passes `now`, and wakes a sender at its deadline.
//!
//! ```text
//! senders.rs     the one list of senders: `enum Sender`, `enum TcpConfig`, fields, eras
//!   rfc/         as the RFCs ask; its `Rules` are what a relative may change
//!   ns2/         ns-2's agents: `rfc` under ns-2's rules, and `Sack1` and `Vegas` of their own
//!   linux/       modelled on Linux 6.18
//! sender.rs      the contract of a sender
//! congestion/    the contract of a congestion control, and each control in its file
//! receiver/      cumulative ACKs, blocks, and when Linux acknowledges
//! config/        settings that all TCPs have, and the contract of a sender's own
//! connection.rs, timer.rs, scoreboard.rs, accurate_ecn.rs
//!                pieces from which senders are composed
//! ```
//!
//! A [`TcpConfig`] is read from the table of a group, makes a [`Sender`], and is passed to it with every event. To add a sender:
//! `docs/how-to/add-a-sender.md`. To add a congestion control: `docs/how-to/add-a-congestion-control.md`; one from outside this crate
//! meets [`congestion::ExternalControl`].

pub mod accurate_ecn;
mod config;
pub mod congestion;
mod connection;
mod count;
mod info;
mod linux;
mod messages;
mod ns2;
pub mod receiver;
mod rfc;
mod scoreboard;
mod sender;
mod senders;
#[cfg(test)]
mod tests;
mod timer;

pub use config::{Common, Connections, EcnFeedback, SizeLaw};
pub use connection::{Connection, Phase, SenderCount};
pub use count::TransportCount;
pub use info::{TransportInfo, common_fields, info_of, infos};
pub use messages::{Ack, Send};
pub use senders::{Sender, TcpConfig, beside_kernel};
