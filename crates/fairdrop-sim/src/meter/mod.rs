//! What is measured: at each queue, per flow and group.

mod audit;
mod end;
mod fairness;
mod flow_count;
mod internals;
mod queue;
mod times;
mod transfers;
mod velocity;

pub use end::End;
pub use fairness::jain_index;
pub use flow_count::FlowCount;
pub use internals::Internals;
pub use queue::{QueueMeter, Series, Waiting, Waits};
pub use times::{TIME_RESOLUTION, Times};
pub use transfers::{CLASS_ENDS, TransferMeter};
pub use velocity::AtPosition;

/// Bytes that each queue's meter keeps for each flow.
pub const BYTES_PER_FLOW: usize = size_of::<FlowCount>();
