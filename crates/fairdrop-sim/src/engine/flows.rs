//! Flows: their hosts' own links, their transports, and what arrived at the other end.

use super::links::{Carrier, PlainLink};
use super::packets::{InFlight, Role};
use crate::random::{self, FlowPurpose};
use crate::scenario::{Group, Scenario, TcpConfig, Transport};
use crate::transport::TransportCount;
use crate::transport::cbr::Pacer;
use crate::transport::receiver::{Blocks, Reaction, Receiver};
use crate::transport::tcp::Sender;
use crate::wire::Rate;
use fairdrop::{Count, Ecn, Time};

/// The transport of a flow, as an index into its kind's own array.
#[derive(Clone, Copy, Debug)]
pub enum Agent {
    Tcp(u32),
    Cbr(u32),
}

/// Links between the hosts of a flow and the network, both ways.
#[derive(Clone, Copy, Debug, Default)]
struct AccessLinks {
    source_out: PlainLink,
    sink_in: PlainLink,
    sink_out: PlainLink,
    source_in: PlainLink,
}

/// Both ends of a TCP connection.
#[derive(Debug)]
struct TcpFlow {
    sender: Sender,
    receiver: Receiver,
    /// When the pending timer event fires; `NEVER` when none is pending.
    armed: Time,
    ack_due: Time,
}

/// What reached the sink of a flow within the measuring window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    /// Everything.
    pub all: Count,
    /// The first copy of each segment.
    pub distinct: Count,
}

/// What the sink sends back.
pub enum Answer {
    None,
    Later,
    Now { seq: u32, len: u16 },
}

/// All flows. A flow's number counts through the groups in the order of the scenario.
#[derive(Debug)]
pub struct Flows<'s> {
    scenario: &'s Scenario,
    /// Rate of the hosts' own links, by group; `None`: unlimited.
    access_rates: Vec<Option<Rate>>,
    /// Group of each flow.
    group_of: Vec<u16>,
    agents: Vec<Agent>,
    access: Vec<AccessLinks>,
    tcp: Vec<TcpFlow>,
    cbr: Vec<Pacer>,
    delivered: Vec<Delivered>,
}

impl<'s> Flows<'s> {
    pub fn new(scenario: &'s Scenario, seed: u64) -> Self {
        let total = scenario.groups.iter().map(|group| group.count as usize).sum();
        let mut flows = Self {
            scenario,
            access_rates: scenario.groups.iter().map(access_rate).collect(),
            group_of: Vec::with_capacity(total),
            agents: Vec::with_capacity(total),
            access: vec![AccessLinks::default(); total],
            tcp: Vec::new(),
            cbr: Vec::new(),
            delivered: vec![Delivered::default(); total],
        };
        for (number, group) in scenario.groups.iter().enumerate() {
            for _ in 0..group.count {
                flows.add(number as u16, group, seed);
            }
        }
        flows
    }

    fn add(&mut self, number: u16, group: &Group, seed: u64) {
        let flow = self.group_of.len() as u32;
        self.group_of.push(number);
        let agent = match &group.transport {
            Transport::Tcp(config) => self.add_tcp(Sender::new(config)),
            Transport::Cbr(config) => {
                let phase = random::uniform(&mut random::of_flow(seed, flow, FlowPurpose::Phase));
                let gaps = random::of_flow(seed, flow, FlowPurpose::Gap);
                let start = self.start_time(flow, seed);
                self.cbr.push(Pacer::new(start, phase, gaps, group.packet_size, config));
                Agent::Cbr(self.cbr.len() as u32 - 1)
            }
        };
        self.agents.push(agent);
    }

    fn add_tcp(&mut self, sender: Sender) -> Agent {
        self.tcp.push(TcpFlow {
            sender,
            receiver: Receiver::default(),
            armed: Time::NEVER,
            ack_due: Time::NEVER,
        });
        Agent::Tcp(self.tcp.len() as u32 - 1)
    }

    pub fn len(&self) -> u32 {
        self.group_of.len() as u32
    }

    /// The start of `flow`: its group's, plus its own part of the spread.
    pub fn start_time(&self, flow: u32, seed: u64) -> Time {
        let group = self.group(flow);
        let part = random::uniform(&mut random::of_flow(seed, flow, FlowPurpose::Start));
        group.start.after(Time::from_ns((group.start_spread.ns() as f64 * part) as u64))
    }

    #[inline]
    pub fn group(&self, flow: u32) -> &'s Group {
        &self.scenario.groups[usize::from(self.group_of[flow as usize])]
    }

    /// Group numbers, flow by flow.
    pub fn group_numbers(&self) -> impl Iterator<Item = u32> {
        self.group_of.iter().map(|&group| u32::from(group))
    }

    #[inline]
    pub fn agent(&self, flow: u32) -> Agent {
        self.agents[flow as usize]
    }

    /// Links from source to sink, or back.
    #[inline]
    pub fn way(&self, flow: u32, backward: bool) -> &'s [usize] {
        let group = self.group(flow);
        if backward { &group.backward } else { &group.forward }
    }

    /// The own link of the host at the start (`last` false) or end of the way.
    #[inline]
    pub fn access(&mut self, flow: u32, backward: bool, last: bool) -> Carrier<'_> {
        let number = usize::from(self.group_of[flow as usize]);
        let links = &mut self.access[flow as usize];
        let link = match (backward, last) {
            (false, false) => &mut links.source_out,
            (false, true) => &mut links.sink_in,
            (true, false) => &mut links.sink_out,
            (true, true) => &mut links.source_in,
        };
        let delay = self.scenario.groups[number].access_delay;
        Carrier { link, rate: self.access_rates[number].as_ref(), delay }
    }

    #[inline]
    fn tcp_of(&mut self, flow: u32) -> (&mut TcpFlow, &'s TcpConfig) {
        let config = self.group(flow).transport.tcp();
        match (self.agents[flow as usize], config) {
            (Agent::Tcp(index), Some(config)) => (&mut self.tcp[index as usize], config),
            _ => unreachable!("TCP events are only scheduled for TCP flows"),
        }
    }

    /// The sender of a TCP flow, and its settings.
    #[inline]
    pub fn sender(&mut self, flow: u32) -> (&mut Sender, &'s TcpConfig) {
        let (tcp, config) = self.tcp_of(flow);
        (&mut tcp.sender, config)
    }

    /// What an ACK sent now says beyond the next segment expected: whether congestion was experienced, and what came
    /// out of order where SACK is spoken.
    #[inline]
    pub fn report(&mut self, flow: u32) -> (bool, Option<Blocks>) {
        let (tcp, config) = self.tcp_of(flow);
        let blocks = config.flavour.has_sack() && tcp.receiver.has_gap();
        (tcp.receiver.echo, blocks.then(|| tcp.receiver.blocks(config.sack.sack_blocks)))
    }

    /// The ECN field of new data (RFC 3168, section 6.1.2): ECT(0) where both ends speak ECN.
    #[inline]
    pub fn ecn(&self, flow: u32) -> Ecn {
        let capable = self.group(flow).transport.tcp().is_some_and(|config| config.ecn);
        if capable { Ecn::Ect0 } else { Ecn::NotCapable }
    }

    pub fn delays_acks(&self, flow: u32) -> bool {
        self.group(flow).transport.tcp().is_some_and(|config| config.delayed_ack)
    }

    /// When a constant-rate source sends its next packet; moves on.
    #[inline]
    pub fn next_departure(&mut self, flow: u32) -> Time {
        let group = self.group(flow);
        match (self.agents[flow as usize], &group.transport) {
            (Agent::Cbr(index), Transport::Cbr(config)) => {
                self.cbr[index as usize].take(group.packet_size, config.jitter)
            }
            _ => unreachable!("source events are only scheduled for open-loop flows"),
        }
    }

    /// The sink takes a packet; it counts when `measured`.
    #[inline]
    pub fn receive(&mut self, packet: InFlight, measured: bool) -> Answer {
        let len = u32::from(packet.len);
        let (is_new, answer) = match (packet.role, self.agents[packet.flow as usize]) {
            (Role::Syn, _) => return Answer::Now { seq: 0, len: packet.len },
            (_, Agent::Cbr(_)) => (true, Answer::None),
            (_, Agent::Tcp(_)) => {
                let (tcp, config) = self.tcp_of(packet.flow);
                tcp.receiver.note_congestion(packet.ecn == Ecn::Ce, packet.echo);
                let (is_new, reaction) = tcp.receiver.take(packet.seq, config.delayed_ack);
                let answer = match reaction {
                    Reaction::Wait => Answer::Later,
                    Reaction::Acknowledge => {
                        Answer::Now { seq: tcp.receiver.next, len: config.ack_size as u16 }
                    }
                };
                (is_new, answer)
            }
        };
        if measured {
            let delivered = &mut self.delivered[packet.flow as usize];
            delivered.all.add(len);
            if is_new {
                delivered.distinct.add(len);
            }
        }
        answer
    }

    pub fn set_ack_due(&mut self, flow: u32, at: Time) {
        self.tcp_of(flow).0.ack_due = at;
    }

    /// The delayed ACK to send at `now`, if it is still wanted.
    pub fn ack_due(&mut self, flow: u32, now: Time) -> Option<(u32, u16)> {
        let (tcp, config) = self.tcp_of(flow);
        let due = tcp.ack_due == now && std::mem::take(&mut tcp.receiver.ack_pending);
        due.then_some((tcp.receiver.next, config.ack_size as u16))
    }

    /// Whether the timer event at `now` is the one pending, rather than one that a nearer deadline replaced.
    pub fn timer_fires(&mut self, flow: u32, now: Time) -> bool {
        let tcp = self.tcp_of(flow).0;
        let current = tcp.armed == now;
        if current {
            tcp.armed = Time::NEVER;
        }
        current
    }

    /// When a timer event must be scheduled, if the pending one would come too late. Deadlines that move away need
    /// no event: the pending one comes first and is scheduled again.
    #[inline]
    pub fn timer_to_arm(&mut self, flow: u32) -> Option<Time> {
        let tcp = self.tcp_of(flow).0;
        let deadline = tcp.sender.deadline;
        (deadline < tcp.armed).then(|| {
            tcp.armed = deadline;
            deadline
        })
    }

    /// The measuring window opens: counters of transports begin again.
    pub fn open(&mut self) {
        for tcp in &mut self.tcp {
            tcp.sender.count = TransportCount::default();
        }
    }

    /// What reached the sink of `flow`.
    pub fn delivered(&self, flow: u32) -> Delivered {
        self.delivered[flow as usize]
    }

    /// What the transport of `flow` did.
    pub fn transport_count(&self, flow: u32) -> TransportCount {
        match self.agents[flow as usize] {
            Agent::Tcp(index) => self.tcp[index as usize].sender.count,
            Agent::Cbr(_) => TransportCount::default(),
        }
    }
}

fn access_rate(group: &Group) -> Option<Rate> {
    let ack = group.transport.tcp().map_or(0, |tcp| tcp.ack_size);
    group.access_rate_bps.map(|bps| Rate::new(bps, [group.packet_size, ack]))
}
