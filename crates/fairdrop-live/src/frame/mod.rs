//! Frames: their buffers, what their headers say, marks in them.

mod ecn;
mod pool;

pub use ecn::mark;
pub use pool::FramePool;
