//! An open-loop source of any law.

use super::arrivals;
use super::burst::{self, BurstConfig, Bursts};
use super::cbr::{self, CbrConfig, Pacer};
use super::datagram::Datagram;
use super::next::Next;
use super::on_off::{self, OnOff, OnOffConfig};
use super::poisson::{self, Poisson, PoissonConfig};
use super::trace::{self, Playback, TraceConfig};
use crate::control::Control;
use crate::random::{self, FlowPurpose};
use fairdrop::{Ecn, Time};
use fairdrop_config::{Report, Section};
use fairdrop_tcp::TransportInfo;
use serde::Serialize;

/// Settings of a source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SourceConfig {
    /// UDP at a constant bit rate.
    Cbr(CbrConfig),
    /// UDP as a Poisson process.
    Poisson(PoissonConfig),
    /// UDP, on and off in turn.
    OnOff(OnOffConfig),
    /// UDP in bursts.
    Burst(BurstConfig),
    /// UDP from a list of arrivals.
    Trace(TraceConfig),
}

/// What a list of transports says of every source.
pub fn infos() -> impl Iterator<Item = TransportInfo> {
    [cbr::INFO, poisson::INFO, on_off::INFO, burst::INFO, trace::INFO].into_iter()
}

impl SourceConfig {
    /// The source called `name` with the settings of `section`; `None` when something is wrong with them.
    pub fn read(name: &str, section: &Section, report: &mut Report, control: &Control) -> Option<Self> {
        Some(match name {
            "poisson" => Self::Poisson(PoissonConfig::read(section)),
            "on_off" => Self::OnOff(OnOffConfig::read(section)),
            "burst" => Self::Burst(BurstConfig::read(section)),
            "trace" => Self::Trace(arrivals::config(section, report, control)?),
            _ => Self::Cbr(CbrConfig::read(section)),
        })
    }

    /// The fastest that one flow sends, bit/s: the rate of its gaps' mean, the whole of its bursts over their period, the
    /// fastest stretch of its list.
    pub fn peak_bps(&self, packet_size: u32) -> f64 {
        match self {
            Self::Cbr(config) => config.rate_bps as f64,
            Self::Poisson(config) => config.rate_bps as f64,
            Self::OnOff(config) => config.peak_rate_bps as f64,
            Self::Burst(config) => config.mean_bps(packet_size),
            Self::Trace(config) => config.peak_bps(),
        }
    }

    /// A packet as long as those of its group.
    pub const fn datagram(&self, packet_size: u32, class: u8) -> Datagram {
        let ecn = if let Self::Cbr(config) = self { config.ecn_field() } else { Ecn::NotCapable };
        Datagram { len: packet_size as u16, class, ecn }
    }

    /// Name, as in `fairdrop list`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Cbr(_) => cbr::INFO.name,
            Self::Poisson(_) => poisson::INFO.name,
            Self::OnOff(_) => on_off::INFO.name,
            Self::Burst(_) => burst::INFO.name,
            Self::Trace(_) => trace::INFO.name,
        }
    }
}

/// The flow that a source is of.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Its number.
    pub number: u32,
    /// Its number within its group.
    pub index: u32,
    pub start: Time,
    /// When its group starts: lists of arrivals count from there.
    pub group_start: Time,
    /// Bytes on the wire.
    pub packet_size: u32,
    /// Priority class, where a list of arrivals says none.
    pub class: u8,
}

/// One open-loop source, with the settings that it looks at again. Its tag, which every packet asks for, has a place of its
/// own.
#[derive(Clone, Debug)]
#[repr(u32)]
pub enum Source<'s> {
    Cbr(Pacer),
    Poisson(Poisson),
    OnOff(OnOff, &'s OnOffConfig),
    Bursts(Bursts, &'s BurstConfig),
    Playback(Playback, &'s TraceConfig),
}

impl<'s> Source<'s> {
    pub fn new(config: &'s SourceConfig, flow: Flow, seed: u64) -> Self {
        let Flow { start, packet_size, .. } = flow;
        let stream = |purpose| random::of_flow(seed, flow.number, purpose);
        let phase = || random::uniform(&mut stream(FlowPurpose::Phase));
        let pacer =
            |rate: &CbrConfig| Pacer::new(start, phase(), stream(FlowPurpose::Gap), packet_size, rate);
        match config {
            SourceConfig::Cbr(config) => Self::Cbr(pacer(config)),
            SourceConfig::Poisson(config) => {
                Self::Poisson(Poisson::new(start, stream(FlowPurpose::Gap), packet_size, config))
            }
            SourceConfig::OnOff(config) => {
                let clock = pacer(&CbrConfig::steady(config.peak_rate_bps));
                Self::OnOff(OnOff::new(start, clock, stream(FlowPurpose::Period), config), config)
            }
            SourceConfig::Burst(config) => Self::Bursts(Bursts::new(start, phase(), config), config),
            SourceConfig::Trace(config) => {
                Self::Playback(Playback::new(flow.group_start, config, flow.index, flow.class), config)
            }
        }
    }

    /// The next packet, which is `packet` unless it says otherwise. Moves on. Nobody asks any more for what leaves at `stop`
    /// or later. `packet_size` is that of its group.
    #[inline(always)]
    pub fn take(&mut self, packet_size: u32, packet: &mut Datagram, stop: Time) -> Next {
        match self {
            Self::Cbr(pacer) => Next::Packet(pacer.take(packet_size)),
            _ => self.take_otherwise(packet_size, packet, stop),
        }
    }

    /// The same of a source that is not of a constant rate.
    #[inline(never)]
    fn take_otherwise(&mut self, packet_size: u32, packet: &mut Datagram, stop: Time) -> Next {
        Next::Packet(match self {
            Self::Cbr(pacer) => pacer.take(packet_size),
            Self::Poisson(poisson) => poisson.take(),
            Self::OnOff(source, config) => return source.take(packet_size, config, stop),
            Self::Bursts(bursts, config) => bursts.take(config),
            Self::Playback(playback, config) => match playback.take(config) {
                Some((at, next)) => {
                    *packet = next;
                    at
                }
                None => Time::NEVER,
            },
        })
    }
}
