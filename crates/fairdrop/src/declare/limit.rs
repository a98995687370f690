//! The limit of the buffer, which every discipline has.

use crate::contract::params::{Kind, ParamError, ParamSpec, require};

/// The buffer limit, which every discipline has.
pub const LIMIT: ParamSpec = ParamSpec {
    name: "limit",
    unit: "packets",
    // Half a gigabyte of slots; the library itself goes on to 2^30.
    kind: Kind::Packets(1.0, 8_000_000.0),
    default: "300p",
    alias: None,
    doc: "Packets that may wait; the one in transmission does not count.",
    source: "Pan, Prabhakar, Psounis 2000, III.A",
};

/// The default of [`LIMIT`].
pub(crate) const DEFAULT_LIMIT: u32 = 300;

/// Checks a limit against what a queue can hold.
pub(crate) fn check_limit(limit: u32) -> Result<(), ParamError> {
    require((1..=1_073_741_816).contains(&limit), LIMIT.name, f64::from(limit), "1 to 1073741816")
}
