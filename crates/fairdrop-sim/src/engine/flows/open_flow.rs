//! Open-loop sources behind their hosts' own links.

use super::hosts::Hosts;
use crate::engine::carrier::Carrier;
use crate::engine::events::Lane;
use crate::transport::sources::{Datagram, Next, Source};
use fairdrop::Time;
use fairdrop_link::Wire;

/// Packets of a source that its host's own link has no room for, in one event: a slow link behind a fast source loses as many
/// as the run is long.
const MOST_LOST: u64 = 1024;

/// What comes next of an open-loop source.
#[derive(Clone, Copy, Debug)]
pub enum Coming {
    /// A packet, at the end of its host's own link.
    Packet(Time),
    /// Nothing before this time; the search goes on then.
    Search(Time),
    /// Nothing any more.
    Nothing,
}

/// The next packet of an open-loop source.
pub struct NextOfSource {
    pub coming: Coming,
    /// Of packets that cross this link.
    pub lane: Lane,
    /// How many are lost at this link before.
    pub lost: u64,
}

/// An open-loop source.
#[derive(Debug)]
pub struct OpenFlow<'s> {
    pub source: Source<'s>,
    /// The host's own link to the network, and the packet on it.
    pub link_out: Wire,
    pub pending: Datagram,
}

impl OpenFlow<'_> {
    /// The source's next packet.
    #[inline(always)]
    pub fn next(&mut self, hosts: &Hosts) -> NextOfSource {
        let Hosts { rate, largest: [largest, _], delay, stop, lanes, packet_size, .. } = hosts;
        let mut next = NextOfSource { coming: Coming::Nothing, lane: lanes[0], lost: 0 };
        loop {
            let at = match self.source.take(*packet_size, &mut self.pending, *stop) {
                Next::Packet(at) => at,
                Next::Search(at) => {
                    next.coming = Coming::Search(at);
                    break;
                }
            };
            if at >= *stop {
                break;
            }
            let (wire, rate) = (&mut self.link_out, rate.as_ref());
            let carrier = Carrier { wire, rate, largest: *largest, delay: *delay };
            if let Some(there) = carrier.carry(at, u32::from(self.pending.len)) {
                next.coming = Coming::Packet(there);
                break;
            }
            next.lost += 1;
            if next.lost == MOST_LOST {
                next.coming = Coming::Search(at);
                break;
            }
        }
        next
    }
}
