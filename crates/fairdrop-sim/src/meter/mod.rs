//! What is measured: at each queue, per flow and group.

mod fairness;
mod queue;

pub use fairness::jain_index;
pub use queue::QueueMeter;
