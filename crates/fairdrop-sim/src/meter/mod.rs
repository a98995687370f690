//! What is measured: at each queue, per flow and group.

mod fairness;
mod internals;
mod queue;
mod velocity;

pub use fairness::jain_index;
pub use internals::Internals;
pub use queue::{FlowCount, QueueMeter, Waits};
pub use velocity::AtPosition;
