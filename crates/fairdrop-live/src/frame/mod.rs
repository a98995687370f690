//! Frames: their buffers, what their headers say, marks in them.

mod checksum;
mod ecn;
mod pool;
mod segment;

pub use ecn::mark;
pub use pool::FramePool;
pub use segment::{Cut, complete_checksum, complete_left_checksum, ip_of_ethernet};
