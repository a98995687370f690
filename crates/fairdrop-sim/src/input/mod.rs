//! Tables of settings as people write them: read by lists of their fields, with everything that is wrong with them.

mod blame;
mod bounds;
mod field;
mod member;
mod plain;
mod problem;
mod read;
mod spelling;
mod tree;

pub use blame::blamed;
pub use bounds::{MAX_DEPTH, MAX_DIGITS, MAX_TEXT_BYTES, check_json};
pub use field::{ANY_RATE, FieldKind, FieldSpec, HOUR, PACKET_BYTES, PERIOD, SWITCH, field};
pub use member::{member, members};
pub use plain::{MAX_NAME, is_plain_name};
pub use problem::{Origin, Problem, Problems};
pub use read::{Report, Section, Value, valid};
pub use spelling::{is_same_name, nearest};
pub use tree::{Data, Node, parse, read};
