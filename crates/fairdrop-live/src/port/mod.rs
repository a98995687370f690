//! Where frames come from and go to.

mod descriptors;
mod packet;
mod tun;

pub use descriptors::{Descriptors, Joining};
pub use packet::{PacketPorts, Receiver};
pub use tun::{TunReader, TunWriter};
