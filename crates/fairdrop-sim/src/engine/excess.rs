//! A run that needs more memory than there is.

use fairdrop_capture::count;
use fairdrop_config::units::bytes_in_words;
use thiserror::Error;

/// Memory that a run has come to need while it ran, beyond what is left for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{} under way and {} open at once need about {needed}, and {room} are left for them; valid: a scenario with fewer of them \
     (lower rates, shorter delays, smaller windows), or more memory",
    count(*.packets, "packet"),
    count(*.connections, "connection"),
    needed = bytes_in_words(*.needed),
    room = bytes_in_words(*.room)
)]
pub struct Excess {
    /// Packets under way at once so far.
    pub packets: u64,
    /// Connections of populations open at once so far.
    pub connections: u64,
    /// Bytes of both, with room to grow.
    pub needed: u64,
    /// Bytes that are left for them.
    pub room: u64,
}
