//! What is the same for all hosts of a group.

use crate::engine::events::Lane;
use crate::engine::packets::SYN_BYTES;
use crate::scenario::{Group, Scenario};
use crate::transport::Transport;
use crate::transport::sources::SourceConfig;
use fairdrop::{Ecn, Time};
use fairdrop_link::Rate;
use fairdrop_tcp::TcpConfig;

/// What each packet of a group needs to know of the group: two lines of the cache in place of the settings' many.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Hosts {
    /// Rate of the hosts' own links; `None`: unlimited.
    pub rate: Option<Rate>,
    /// The largest packets that cross them, forward and backward, bytes.
    pub largest: [u32; 2],
    /// Delay of the hosts' own links.
    pub delay: Time,
    /// When the sources stop.
    pub stop: Time,
    /// Lanes of what crosses the hosts' own links: at the source, at the sink, and backward at the sink and the source.
    pub lanes: [Lane; 4],
    /// Links from source to sink, and back.
    pub hops: [u16; 2],
    /// Flows of the other kind, open-loop or TCP, that come before those of the group.
    pub others: u32,
    /// Header bytes of a packet.
    pub header: u32,
    /// Bytes of a packet whose source has no sizes of its own.
    pub packet_size: u32,
    /// Whether nothing comes back from the sinks.
    pub is_open: bool,
    /// Whether its sinks only count what comes.
    pub takes_at_once: bool,
    pub delays_acks: bool,
    /// The ECN field of data sent again, and of new data.
    pub ecn: [Ecn; 2],
    pub has_options: bool,
    /// Whether ACKs may report what came out of order, or carry options.
    pub reports_more: bool,
}

impl Hosts {
    pub fn new(scenario: &Scenario, number: u32, group: &Group) -> Self {
        let tcp = group.transport.tcp();
        let ack = tcp.map_or(0, |tcp| tcp.ack_size);
        let blocks =
            tcp.filter(|tcp| tcp.has_blocks_on_wire()).map_or(0, |tcp| 8 * u32::from(tcp.sack.sack_blocks));
        Self {
            rate: group.access_rate_bps.map(|bps| Rate::new(bps, [group.packet_size, ack])),
            largest: [largest_packet(group), (ack + blocks).max(SYN_BYTES.into())],
            delay: group.access_delay,
            stop: group.stop.min(scenario.duration),
            lanes: [0, 1, 2, 3].map(|lane| Lane::new(scenario.links.len() as u32 + 4 * number + lane)),
            hops: [&group.forward, &group.backward].map(|path| path.len() as u16),
            others: others_before(scenario, number, tcp.is_some()),
            header: group.header,
            packet_size: group.packet_size,
            is_open: tcp.is_none(),
            takes_at_once: tcp.is_none(),
            delays_acks: tcp.is_some_and(|tcp| tcp.delayed_ack),
            ecn: tcp.map_or([Ecn::NotCapable; 2], ecn),
            has_options: tcp.is_some_and(|tcp| tcp.has_options()),
            reports_more: tcp.is_some_and(|tcp| tcp.has_sack || tcp.has_options()),
        }
    }
}

/// The ECN field of data sent again, and of new data: ECT(0) of new data where both ends speak ECN (RFC 3168, section 6.1.2),
/// ECT(1) of all data of L4S (RFC 9331, section 4.1).
fn ecn(tcp: &TcpConfig) -> [Ecn; 2] {
    match (tcp.ecn, tcp.l4s) {
        (false, _) => [Ecn::NotCapable; 2],
        (true, false) => [Ecn::NotCapable, Ecn::Ect0],
        (true, true) => [Ecn::Ect1; 2],
    }
}

/// How many lasting flows come before those of group `number` and are not TCP, or, if the group is not `tcp`, are. The
/// connections of populations come after all lasting flows, and are TCP.
fn others_before(scenario: &Scenario, number: u32, tcp: bool) -> u32 {
    let is_population = scenario.groups[number as usize].is_population();
    let before = if is_population { scenario.groups.len() } else { number as usize };
    let others = scenario.groups[..before].iter().filter(|group| group.transport.tcp().is_some() != tcp);
    others.map(Group::lasting_flows).sum()
}

/// The largest packet that a group's sources send, bytes.
fn largest_packet(group: &Group) -> u32 {
    match &group.transport {
        Transport::OpenLoop(SourceConfig::Trace(config)) => {
            config.flows.iter().flatten().map(|arrival| arrival.len.into()).max()
        }
        Transport::Tcp(_) => Some(group.packet_size.max(SYN_BYTES.into())),
        Transport::OpenLoop(_) => Some(group.packet_size),
    }
    .unwrap_or(0)
}
