//! The transport of a group.

use super::sources::{self, SourceConfig};
use crate::control::Control;
use fairdrop_config::{Report, Section};
use fairdrop_tcp::congestion::External;
use fairdrop_tcp::{self as tcp, TcpConfig, TransportInfo};
use serde_json::{Value as Json, json};

/// How sources send.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// TCP.
    Tcp(TcpConfig),
    /// A source that sends whatever is lost.
    OpenLoop(SourceConfig),
}

/// Every transport.
pub fn infos() -> impl Iterator<Item = TransportInfo> {
    tcp::infos().chain(sources::infos())
}

impl Transport {
    /// The transport called `name`, or a TCP with an `external` congestion control, with the settings of `section`;
    /// `None` when something is wrong with them. `control` stops the reading of a list of arrivals.
    pub fn read(
        name: &str,
        external: Option<External>,
        section: &Section,
        report: &mut Report,
        control: &Control,
    ) -> Option<Self> {
        let tcp = TcpConfig::read(name, external, section, report).map(Self::Tcp);
        tcp.or_else(|| SourceConfig::read(name, section, report, control).map(Self::OpenLoop))
    }

    /// Name, as in `fairdrop list`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tcp(tcp) => tcp.name,
            Self::OpenLoop(source) => source.name(),
        }
    }

    /// The TCP settings, when it is a TCP.
    pub const fn tcp(&self) -> Option<&TcpConfig> {
        match self {
            Self::Tcp(tcp) => Some(tcp),
            Self::OpenLoop(_) => None,
        }
    }

    /// The fastest that one flow sends whatever is lost, bit/s; `None` where it takes what there is.
    pub fn peak_bps(&self, packet_size: u32) -> Option<f64> {
        match self {
            Self::Tcp(_) => None,
            Self::OpenLoop(source) => Some(source.peak_bps(packet_size)),
        }
    }

    /// The settings, SI units.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Tcp(tcp) => tcp.to_json(),
            Self::OpenLoop(source) => json!(source),
        }
    }
}
