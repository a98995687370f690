//! Reader of configuration files: TOML of bounded size and depth, read by tables of fields, with every problem reported by
//! line, field, value and valid values. It reads the simulator's scenarios and the daemon's links.
//!
//! ```
//! let (tree, text) = fairdrop_config::read("rate = \"1mbit\"", "link.toml", &["rate=2mbit".into()]).unwrap();
//! assert_eq!(text, "rate = \"2mbit\"\n");
//! assert!(tree.get("rate").is_some());
//! let problems = fairdrop_config::parse("rate = ", "link.toml").unwrap_err();
//! assert!(problems[0].to_string().starts_with("link.toml:1: "));
//! ```

pub mod argument;
mod blame;
mod bounds;
mod chances;
mod disciplines;
mod field;
mod impairments;
mod member;
mod plain;
mod problem;
mod queue;
mod read;
mod spelling;
mod tree;
pub mod units;

pub use blame::blamed;
pub use bounds::{MAX_DEPTH, MAX_DIGITS, MAX_TEXT_BYTES, check_json};
pub use chances::read_chances;
pub use disciplines::{CatalogueOnly, Disciplines};
pub use field::{ANY_RATE, FieldKind, FieldSpec, HOUR, PACKET_BYTES, PERIOD, SWITCH, field};
pub use impairments::{IMPAIRMENTS, impairments_json, read_impairments};
pub use member::{member, members};
pub use plain::{MAX_NAME, is_plain_name};
pub use problem::{Origin, Problem, Problems};
pub use queue::{QUEUE, QueueConfig, fields_of};
pub use read::{Report, Section, Value, valid};
pub use spelling::{is_same_name, nearest};
pub use tree::{Data, Node, parse, read};
