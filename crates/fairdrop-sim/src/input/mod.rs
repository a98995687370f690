//! Tables of settings as people write them: read by lists of their fields, with everything that is wrong with them.

mod field;
mod plain;
mod problem;
mod read;
mod tree;

pub use field::{ANY_RATE, FieldKind, FieldSpec, HOUR, PACKET_BYTES, PERIOD, SWITCH, field};
pub use plain::{MAX_NAME, is_plain_name};
pub use problem::{Origin, Problem, Problems};
pub use read::{Report, Section, Value, valid};
pub use tree::{Data, Node, read};
