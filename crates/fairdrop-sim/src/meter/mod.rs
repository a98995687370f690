//! What is measured: at each queue, per flow and group.

mod fairness;
mod queue;
mod transfers;

pub use fairness::jain_index;
pub use queue::QueueMeter;
pub use transfers::{CLASS_ENDS, TransferMeter};
