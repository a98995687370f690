//! Open-loop sources: they send whatever is lost, like UDP. Each law is in its own file.

use super::burst::Bursts;
use super::cbr::Pacer;
use super::on_off::OnOff;
use super::poisson::Poisson;
use super::trace::Playback;
use crate::random::{self, FlowPurpose};
use crate::scenario::{CbrConfig, Group, Transport};
use fairdrop::Time;

/// A packet that a source puts on its host's own link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Bytes on the wire.
    pub len: u16,
    /// Priority class.
    pub class: u8,
}

impl Datagram {
    /// As all of `group` are, if nothing else is said.
    #[inline]
    pub fn of(group: &Group) -> Self {
        Self { len: group.packet_size as u16, class: group.class }
    }
}

/// What a source says of its next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Its first bit may leave then; `NEVER` when nothing comes any more.
    Packet(Time),
    /// It has not found it yet, and nothing leaves before then: to be asked again, so that others have their turn.
    Search(Time),
}

/// One open-loop source.
#[derive(Clone, Debug)]
pub enum Source {
    Cbr(Pacer),
    Poisson(Poisson),
    OnOff(OnOff),
    Bursts(Bursts),
    Playback(Playback),
}

impl Source {
    /// The source of flow number `flow`, the `index`-th of `group`, which begins at `start`. `None` when the group
    /// has no open-loop transport.
    pub fn new(group: &Group, flow: u32, index: u32, start: Time, seed: u64) -> Option<Self> {
        let stream = |purpose| random::of_flow(seed, flow, purpose);
        let size = group.packet_size;
        let phase = || random::uniform(&mut stream(FlowPurpose::Phase));
        let steady = |rate_bps| {
            let config = CbrConfig { rate_bps, jitter: 0.0 };
            Pacer::new(start, phase(), stream(FlowPurpose::Gap), size, &config)
        };
        Some(match &group.transport {
            Transport::Tcp(_) => return None,
            Transport::Cbr(config) => {
                Self::Cbr(Pacer::new(start, phase(), stream(FlowPurpose::Gap), size, config))
            }
            Transport::Poisson(config) => {
                Self::Poisson(Poisson::new(start, stream(FlowPurpose::Gap), size, config))
            }
            Transport::OnOff(config) => {
                let clock = steady(config.peak_rate_bps);
                Self::OnOff(OnOff::new(start, clock, stream(FlowPurpose::Period), config))
            }
            Transport::Burst(config) => Self::Bursts(Bursts::new(start, phase(), config)),
            Transport::Trace(config) => Self::Playback(Playback::new(group.start, config, index)),
        })
    }

    /// The next packet, which is `packet` unless it says otherwise. Moves on. Nobody asks any more for what leaves at `stop`
    /// or later.
    #[inline(always)]
    pub fn take(&mut self, group: &Group, packet: &mut Datagram, stop: Time) -> Next {
        match self {
            Self::Cbr(pacer) => Next::Packet(pacer.take(group.packet_size)),
            _ => self.take_otherwise(group, packet, stop),
        }
    }

    /// The same of a source that is not of a constant rate.
    #[inline(never)]
    fn take_otherwise(&mut self, group: &Group, packet: &mut Datagram, stop: Time) -> Next {
        Next::Packet(match (self, &group.transport) {
            (Self::Poisson(poisson), _) => poisson.take(),
            (Self::OnOff(source), Transport::OnOff(config)) => {
                return source.take(group.packet_size, config, stop);
            }
            (Self::Bursts(bursts), Transport::Burst(config)) => bursts.take(config),
            (Self::Playback(playback), Transport::Trace(config)) => {
                let Some(next) = playback.take(config) else { return Next::Packet(Time::NEVER) };
                *packet = Datagram { len: next.len, class: next.class.unwrap_or(group.class) };
                next.at
            }
            _ => unreachable!("a source is made from its group's transport"),
        })
    }
}
