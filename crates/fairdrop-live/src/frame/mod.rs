//! Frames: their buffers, what their headers say, marks in them; one that stands for many, cut and joined.

mod checksum;
mod ecn;
mod join;
mod pool;
mod segment;
mod vnet;

pub use checksum::complete_checksum;
pub use ecn::mark;
pub use join::Join;
pub use pool::FramePool;
pub use segment::{Cut, Whole, complete_left_checksum, ip_of_ethernet};
pub use vnet::{LeftToHardware, Unsummed, VNET_HEADER};

#[cfg(test)]
mod tests;
