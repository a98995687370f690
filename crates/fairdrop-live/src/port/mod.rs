//! Where frames come from and go to.

mod descriptors;
mod packet;
mod xdp;

pub use descriptors::Descriptors;
pub use packet::{PacketPorts, Receiver};
pub use xdp::{XdpInterface, XdpPorts};
