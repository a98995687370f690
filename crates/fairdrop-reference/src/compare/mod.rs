//! Comparing a discipline with its reference event by event, and what must hold of every trace. One form for each kind of
//! reference: of any kind, by name; with one random stream, with all of them, behind a filter, or with several queues.

use fairdrop::{DropCause, Packet};

pub mod by_name;
pub mod every_stream;
pub mod filters;
pub mod one_stream;
pub mod scheme;
pub mod several_queues;

/// Packets that a discipline drops, in order.
pub type Drops = Vec<(Packet<u32>, DropCause)>;

/// A number in [0, 1) from 64 random bits.
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / 2_f64.powi(53)
}

/// Bytes that wait.
pub fn bytes(queue: &[Packet<u32>]) -> u64 {
    queue.iter().map(|packet| u64::from(packet.meta.len)).sum()
}

/// Fails where two values of `what` are not the same to the `tolerance`.
pub fn close(what: &str, theirs: f64, ours: f64, tolerance: f64) -> Result<(), String> {
    let close = (theirs - ours).abs() <= tolerance;
    if close { Ok(()) } else { Err(format!("{what} {theirs:e}, should be {ours:e}")) }
}
