//! The receiving side of a TCP connection.

mod blocks;
mod linux;
mod linux_state;
mod received;

pub use blocks::Blocks;
pub use received::{Reaction, Receiver};
