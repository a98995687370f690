//! TCP: senders, receivers, congestion controls.

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
