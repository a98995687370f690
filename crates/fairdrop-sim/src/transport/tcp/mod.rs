//! A TCP sender: the events, the timer and loss recovery. The window is for [congestion control](super::congestion).

mod config;
mod connection;
mod ecn;
mod linux;
mod messages;
mod ns2;
mod recovery;
mod scoreboard;
mod sender;
mod timer;
mod transfers;

pub use config::{TcpConfig, common_fields, info_of, infos};
pub use connection::{Sender, SenderCount};
pub use ecn::EcnFeedback;
pub use linux::beside_kernel;
pub use messages::{Ack, Send};
pub use transfers::{Connections, SizeLaw};

#[cfg(test)]
pub use {
    connection::Phase,
    scoreboard::{Next, Scoreboard},
    timer::RetransmissionTimeout,
};
