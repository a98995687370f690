//! Where frames come from and go to.

mod descriptors;
mod packet;
mod tun;
mod xdp;

pub use descriptors::{Descriptors, Joining};
pub use packet::{PacketPorts, Receiver, RingReader};
pub use tun::{READ_AHEAD, TunReader, TunWriter};
pub use xdp::{XdpInterface, XdpPorts};
