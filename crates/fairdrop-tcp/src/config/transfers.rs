//! Amount of data of TCP sources: endless, one transfer each, or short connections that come and go.

use fairdrop_config::{Report, Section};
use serde::Serialize;

/// Default of the largest Pareto transfer, in multiples of the mean.
const MAX_OVER_MEAN: f64 = 1000.0;
/// Most packets of one transfer.
const MAX_SEGMENTS: u64 = 1 << 31;

/// A population of short connections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Connections {
    /// Connections that begin per second, for all of the group's `count` users together.
    pub per_s: f64,
    /// Amount of data of each.
    #[serde(skip)]
    pub sizes: SizeLaw,
}

/// Amount of data of a connection, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizeLaw {
    /// Constant.
    Constant(f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto's law with this mean, this largest size, and this exponent of the tail.
    Pareto {
        /// Bytes.
        mean: f64,
        /// Bytes.
        high: f64,
        /// Above 1; below 2 the tail is heavy.
        shape: f64,
    },
}

/// Amount of data of each flow.
pub fn transfer_bytes(section: &Section, report: &mut Report) -> Option<u64> {
    let bytes = section.number("transfer")? as u64;
    let packet = section.number("packet_size").unwrap_or(1000.0) as u64;
    if bytes / packet.max(1) >= MAX_SEGMENTS {
        let valid = format!("fewer than {MAX_SEGMENTS} packets of {packet} bytes");
        report.add(section.origin("transfer"), &section.path("transfer"), &format!("{bytes} bytes"), &valid);
    }
    Some(bytes)
}

/// The population that `connections` of a table asks for.
pub fn connections(section: &Section, report: &mut Report) -> Option<Connections> {
    let Some(rate) = section.number("connections") else {
        for name in ["sizes", "size_shape", "max_transfer"] {
            if section.is_set(name) {
                let what = format!("{} has no effect", section.path(name));
                report.add(section.origin(name), "", &what, "with connections");
            }
        }
        return None;
    };
    let Some(mean) = section.number("transfer") else {
        let what = format!("{} is missing", section.path("transfer"));
        report.add(section.origin("connections"), "", &what, "with connections, their mean size");
        return None;
    };
    let sizes = match section.text("sizes") {
        Some("exponential") => SizeLaw::Exponential(mean),
        Some("pareto") => {
            let high = section.number("max_transfer").unwrap_or(MAX_OVER_MEAN * mean);
            if high <= mean {
                let field = section.path("max_transfer");
                let valid = format!("more than transfer ({mean} bytes)");
                report.add(section.origin("max_transfer"), &field, &high.to_string(), &valid);
                return None;
            }
            let shape = section.number("size_shape").unwrap_or(1.2);
            SizeLaw::Pareto { mean, high, shape }
        }
        _ => SizeLaw::Constant(mean),
    };
    Some(Connections { per_s: rate * section.integer("count") as f64, sizes })
}
