//! What is measured: at each queue, per flow and group.

mod fairness;
mod internals;
mod queue;
mod transfers;
mod velocity;

pub use fairness::jain_index;
pub use internals::Internals;
pub use queue::{FlowCount, QueueMeter, Waits};
pub use transfers::{CLASS_ENDS, TransferMeter};
pub use velocity::AtPosition;
