//! What the fuzz targets do with the bytes that they are given.

mod control;
mod discipline;
mod files;
mod frame;
mod host;
mod http;
mod offload;
mod params;
mod plugin;
mod ring;

pub use control::control;
pub use discipline::{any_discipline, discipline};
pub use files::{paper, result, study};
pub use frame::frame;
pub use http::http;
pub use offload::offload;
pub use plugin::plugin;
pub use ring::ring;

use fairdrop_capture::{KeyKind, Options, read_bytes};
use fairdrop_config::argument::{rate_bps, seconds};
use fairdrop_sim::scenario::Scenario;

/// Reads a capture (pcap or pcapng) by every flow key; what is read must be as the documentation says.
pub fn capture(data: &[u8]) {
    for key in KeyKind::ALL {
        let Ok(capture) = read_bytes(data, "fuzz", &Options { key, max_gap_ns: None }) else { continue };
        assert!(!capture.arrivals.is_empty());
        assert!(capture.arrivals.is_sorted_by_key(|arrival| arrival.time_ns));
        assert!(capture.arrivals.iter().all(|arrival| (arrival.flow as usize) < capture.flows.len()));
        assert!(capture.notes.warnings().iter().all(|warning| !warning.is_empty()));
    }
}

/// Reads a scenario, and the text as a quantity. A scenario that is refused is refused with reasons.
pub fn scenario(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else { return };
    let _ = (rate_bps(text), seconds(text));
    if let Err(problems) = Scenario::parse(text, "fuzz.toml", &[]) {
        assert!(!problems.0.is_empty() && !problems.to_string().is_empty());
    }
}
