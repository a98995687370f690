//! What is measured: at each queue, per flow and group.

mod audit;
mod fairness;
mod flow_count;
mod internals;
mod queue;
mod transfers;
mod velocity;

pub use fairness::jain_index;
pub use flow_count::FlowCount;
pub use internals::Internals;
pub use queue::{QueueMeter, Waiting, Waits};
pub use transfers::{CLASS_ENDS, TransferMeter};
pub use velocity::AtPosition;
