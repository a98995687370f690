//! Flows whose ends are outside: the counts that these report take the place of those of the engine's own ends.

use super::Flows;
use fairdrop::Time;
use fairdrop_tcp::SenderCount;
use fairdrop_tcp::TransportCount;

/// What a TCP sender outside says of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// Congestion window, packets.
    pub cwnd_packets: f64,
    /// Smoothed round-trip time, seconds; `None` before the first measurement.
    pub srtt_s: Option<f64>,
}

impl Flows<'_> {
    /// Every packet is handed to its host outside, and no number of a connection is given out twice: packets may come late.
    pub fn leave_to_hosts(&mut self) {
        self.outside = true;
        for hosts in &mut self.hosts {
            (hosts.takes_at_once, hosts.delays_acks) = (false, true);
        }
    }

    /// What a connection carries.
    pub fn bytes_of(&self, flow: u32) -> u64 {
        self.tcp_flow(flow).and_then(|tcp| tcp.job.as_ref()).map_or(0, |job| job.transfer.bytes)
    }

    /// The sink of `flow` has got `wire` bytes in a packet, of which `distinct` were data that it did not have.
    pub fn note_delivered(&mut self, flow: u32, wire: u32, distinct: u32) {
        let delivered = &mut self.sinks[flow as usize].delivered;
        delivered.all.add(wire);
        if distinct > 0 {
            delivered.distinct.add(distinct);
        }
    }

    /// The TCP sender of `flow` is so at `now`.
    pub fn note_sender(&mut self, flow: u32, now: Time, state: SenderState) {
        let (tcp, config) = self.tcp_of(flow, self.group_of[flow as usize]);
        tcp.sender.window.cwnd = state.cwnd_packets;
        tcp.window.change(now, state.cwnd_packets);
        if let Some(srtt_s) = state.srtt_s {
            tcp.sender.set_srtt_s(srtt_s, config);
        }
    }

    /// The TCP sender of `flow` has done so much since the measuring window opened.
    pub fn note_count(&mut self, flow: u32, count: TransportCount) {
        let TransportCount { retransmissions, timeouts, fast_retransmits } = count;
        let few = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        self.tcp_of(flow, self.group_of[flow as usize]).0.sender.counted = SenderCount {
            retransmissions: few(retransmissions),
            timeouts: few(timeouts),
            fast_retransmits: few(fast_retransmits),
        };
    }
}
