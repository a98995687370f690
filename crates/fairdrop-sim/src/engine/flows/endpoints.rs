//! Sources, sinks and their answers, and the timers of TCP.

use super::Flows;
use super::open_flow::NextOfSource;
use super::sink::{Answer, Sink};
use crate::engine::packets::{InFlight, Role};
use crate::transport::sources::Datagram;
use fairdrop::{Ecn, Time};
use fairdrop_tcp::accurate_ecn::Feedback;
use fairdrop_tcp::receiver::Blocks;
use fairdrop_tcp::{EcnFeedback, TcpConfig};

impl Flows<'_> {
    /// The packet of an open-loop source that comes to the end of its host's own link, and the next one in its place.
    #[inline(always)]
    pub fn take_from_source(&mut self, flow: u32) -> (InFlight, NextOfSource) {
        let group = self.group_of[flow as usize];
        let hosts = &self.hosts[usize::from(group)];
        let open = &mut self.open[(flow - hosts.others) as usize];
        let Datagram { len, class, ecn } = open.pending;
        (InFlight { class, ecn, ..InFlight::new(flow, group, 0, len, Role::Data) }, open.next(hosts))
    }

    /// The next packet of an open-loop source, in place of the pending one.
    #[inline(never)]
    pub fn next_of_source(&mut self, flow: u32) -> NextOfSource {
        self.take_from_source(flow).1
    }

    /// Bytes of a segment on the wire.
    #[inline]
    pub fn segment_bytes(&mut self, flow: u32, group: u16, segment: u32) -> u16 {
        let settings = &self.scenario.groups[usize::from(group)];
        let (whole, header) = (settings.packet_size as u16, settings.header as u16);
        let tcp = self.tcp_of(flow, group).0;
        match &tcp.job {
            Some(job) if segment + 1 == job.transfer.segments => job.transfer.last + header,
            _ => whole,
        }
    }

    /// Whether a flow sends nothing more because its group has stopped. Connections that have begun go on.
    #[inline]
    pub fn is_stopped(&self, flow: u32, group: u16, now: Time) -> bool {
        now >= self.scenario.groups[usize::from(group)].stop && flow < self.lasting
    }

    /// The ECN field of a group's data, new or sent again.
    #[inline]
    pub fn ecn(&self, group: u16, is_new: bool) -> Ecn {
        self.hosts[usize::from(group)].ecn[usize::from(is_new)]
    }

    /// Whether an ACK sent now says that congestion was experienced.
    #[inline]
    pub fn echoes(&self, flow: u32) -> bool {
        self.sinks[flow as usize].receiver.echo
    }

    /// Whether ACKs of the group may say more than that, and which segment is expected next.
    #[inline]
    pub fn reports_more(&self, group: u16) -> bool {
        self.hosts[usize::from(group)].reports_more
    }

    /// The SACK blocks of an ACK sent now, where SACK is on.
    pub fn blocks(&mut self, flow: u32, config: &TcpConfig) -> Option<Blocks> {
        let receiver = &mut self.sinks[flow as usize].receiver;
        if config.acknowledges_as_linux() {
            return receiver.blocks_as_linux(config.sack.sack_blocks);
        }
        let has_blocks = config.has_sack && receiver.has_gap();
        if has_blocks && config.has_blocks_on_wire() {
            receiver.forget_beyond(config.sack.sack_blocks);
        }
        has_blocks.then(|| receiver.blocks(config.sack.sack_blocks))
    }

    /// When the segment was sent whose timestamp an ACK of `flow` sent now echoes, where that is what its stamps say.
    pub fn echoed(&self, flow: u32) -> Option<Time> {
        self.sinks[flow as usize].receiver.echoed()
    }

    /// What an ACK of `flow` sent now says of marks, where feedback is accurate.
    pub fn feedback(&mut self, flow: u32, config: &TcpConfig) -> Option<Feedback> {
        let receiver = &mut self.sinks[flow as usize].receiver;
        config.feedback.is_accurate().then(|| receiver.feed_back(config.feedback == EcnFeedback::Accurate))
    }

    /// Whether packets of the group carry timestamps, or accurate feedback of marks.
    #[inline]
    pub fn has_options(&self, group: u16) -> bool {
        self.hosts[usize::from(group)].has_options
    }

    /// The sink takes a packet at `at`, whose timestamp says when it was `sent`; it counts when `measured`.
    #[inline]
    pub fn receive(&mut self, packet: InFlight, at: Time, sent: Option<Time>, measured: bool) -> Answer {
        if packet.role == Role::Syn {
            if self.tcp_config(packet.group).is_some_and(|config| config.acknowledges_as_linux()) {
                self.sinks[packet.flow as usize].receiver.answer_as_linux(at);
            }
            return Answer::Now { seq: 0, len: packet.len };
        }
        let Some(config) = self.tcp_config(packet.group) else {
            unreachable!("packets of open-loop flows are counted as they leave the network")
        };
        let header = self.hosts[usize::from(packet.group)].header;
        self.sinks[packet.flow as usize].receive(packet, (at, sent), config, header, measured)
    }

    pub fn set_ack_due(&mut self, flow: u32, at: Time) {
        self.sinks[flow as usize].ack_due = at;
    }

    /// The delayed ACK to send at `now`, if it is still wanted.
    pub fn ack_due(&mut self, flow: u32, now: Time) -> Option<(u32, u16)> {
        let config = self.tcp_of(flow, self.group_of[flow as usize]).1;
        let Sink { receiver, ack_due, .. } = &mut self.sinks[flow as usize];
        let is_last = *ack_due == now;
        let due = is_last && std::mem::take(&mut receiver.ack_pending);
        if due && config.acknowledges_as_linux() {
            receiver.note_late_ack(config);
        }
        due.then_some((receiver.next, config.ack_size as u16))
    }

    /// Whether the timer event at `now` is the one pending, rather than one that a nearer deadline replaced.
    pub fn timer_fires(&mut self, flow: u32, group: u16, now: Time) -> bool {
        let tcp = self.tcp_of(flow, group).0;
        let current = tcp.armed == now;
        if current {
            tcp.armed = Time::NEVER;
        }
        current
    }

    /// The sender of a TCP flow may have changed its window, and its timer. Returns when a timer event must be scheduled,
    /// if the pending one would come too late. Deadlines that move away need no event: the pending one comes first and
    /// is scheduled again.
    #[inline]
    pub fn after_sending(&mut self, flow: u32, group: u16, now: Time) -> Option<Time> {
        let tcp = self.tcp_of(flow, group).0;
        tcp.window.change(now, tcp.sender.window.cwnd);
        let deadline = tcp.sender.deadline;
        (deadline < tcp.armed).then(|| {
            tcp.armed = deadline;
            deadline
        })
    }
}
