//! Where frames come from and go to.

mod descriptors;
mod packet;

pub use descriptors::Descriptors;
pub use packet::{PacketPorts, Receiver};
