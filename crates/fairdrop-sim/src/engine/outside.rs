//! The engine without its hosts: these are outside, put packets on their own links, and are notified of arrivals.

use super::Engine;
use super::conservation::Fate;
use super::events::Kind;
use super::flows::SenderState;
use super::packets::{Heading, InFlight, Role};
use crate::control::Control;
use crate::scenario::QueueError;
use crate::trace::{About, PacketEvent, Tracer};
use fairdrop::{Ecn, Meta, Time};
use fairdrop_tcp::TransportCount;

/// A packet that a host puts on its own link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departing {
    /// Number of its flow.
    pub flow: u32,
    /// Whether it goes from sink to source.
    pub backward: bool,
    /// Bytes on the wire.
    pub len: u16,
    /// Priority class.
    pub class: u8,
    /// Its ECN field.
    pub ecn: Ecn,
}

/// A notice to the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A packet has reached its host.
    Arrived {
        /// When.
        at: Time,
        /// What [`Network::depart`](crate::Network::depart) called it.
        handle: u32,
        /// What it is now: the ECN field may have been marked.
        packet: Departing,
    },
    /// A link has made a copy of a packet, which arrives by itself.
    Copied {
        /// What the packet is called.
        handle: u32,
        /// What the copy is called.
        copy: u32,
    },
    /// A connection of a population begins.
    Connect {
        /// When.
        at: Time,
        /// Its flow number, the next.
        flow: u32,
        /// Bytes that it sends on the wire, less those that `header` adds.
        bytes: u64,
    },
}

/// Nobody listens here either. It is a type of its own, so that the engine of simulations is compiled as if there were no
/// other: each of its functions has one caller, and becomes part of it.
#[derive(Debug)]
pub struct Unheard;

impl Tracer for Unheard {
    const ON: bool = false;
    fn about(&mut self, _: u32, _: About) {}
    fn arrive(&mut self, _: Time, _: u32, _: Meta, _: u32) {}
    fn taken(&mut self, _: u32, _: Meta) {}
    fn event(&mut self, _: Time, _: u32, _: PacketEvent, _: u32) {}
}

impl<'s> Engine<'s, Unheard> {
    /// The network alone, before its first event.
    ///
    /// # Errors
    /// A discipline refuses its parameters.
    pub fn of_network(
        scenario: &'s crate::scenario::Scenario,
        seed: u64,
        control: &Control,
    ) -> Result<Option<Self>, QueueError> {
        let Some(mut engine) = Self::traced(scenario, seed, control, |_| Unheard)? else { return Ok(None) };
        engine.flows.leave_to_hosts();
        (0..scenario.groups.len() as u32).for_each(|group| engine.schedule_connection(group));
        Ok(Some(engine))
    }

    /// A host puts a packet on its own link at `at`, at which or after which nothing has happened yet.
    pub fn depart_from_host(&mut self, at: Time, departing: Departing) -> u32 {
        let Departing { flow, backward, len, class, ecn } = departing;
        let role = if backward { Role::Ack } else { Role::Data };
        let group = self.flows.group_number(flow) as u16;
        let packet = InFlight { class, ecn, ..InFlight::new(flow, group, 0, len, role) };
        let handle = self.add_packet(packet);
        self.depart(handle, Heading::of(&packet), at);
        handle
    }

    /// When something happens next; `None` when nothing does before the end.
    pub fn next_at(&mut self) -> Option<Time> {
        self.events.next_at().filter(|&at| at < self.scenario.duration)
    }

    /// Lets time pass to `until`, or to the first notice for the hosts.
    pub fn step(&mut self, until: Time, control: &Control) -> Option<Notice> {
        while self.next_at().is_some_and(|at| at <= until) {
            let (at, kind, entity) = self.events.pop()?;
            debug_assert!(at >= self.now, "time runs forwards");
            self.now = at;
            self.handled += 1;
            match kind {
                Kind::Deliver => return Some(self.arrived(entity)),
                Kind::Connect => return Some(self.connected(entity)),
                _ => self.handle(kind, entity, control),
            }
            self.conservation.check(self.packets.under_way());
            if let Some((handle, copy)) = self.copied.take() {
                return Some(Notice::Copied { handle, copy });
            }
        }
        None
    }

    fn arrived(&mut self, handle: u32) -> Notice {
        let InFlight { flow, len, role, class, ecn, .. } = self.packets.get(handle);
        self.remove_packet(handle, Fate::Delivered);
        let packet = Departing { flow, backward: role.is_backward(), len, class, ecn };
        Notice::Arrived { at: self.now, handle, packet }
    }

    fn connected(&mut self, group: u32) -> Notice {
        let (flow, is_new) = self.flows.connect(group, self.seed);
        if is_new {
            self.links.ports_mut().for_each(|port| port.add_flow(group));
        }
        self.schedule_connection(group);
        let bytes = self.flows.bytes_of(flow);
        Notice::Connect { at: self.now, flow, bytes }
    }

    /// The end of the scenario.
    pub fn close(&mut self) {
        self.now = self.scenario.duration;
        self.links.ports_mut().for_each(|port| port.close(self.now));
    }

    /// When each lasting flow starts.
    pub fn starts(&self) -> &[Time] {
        &self.starts
    }

    /// Packets that may be under way at once without another handle being given out.
    pub fn handles(&self) -> usize {
        self.packets.slots()
    }

    /// The transfer of a flow begins.
    pub fn begin(&mut self, flow: u32, at: Time) {
        self.flows.begin(flow, at, self.is_within(at));
    }

    /// All of the transfer of a flow is acknowledged.
    pub fn complete(&mut self, flow: u32, at: Time) {
        self.flows.complete(flow, at, self.is_within(at));
    }

    /// As [`Flows::note_delivered`](super::Flows::note_delivered), within the measuring window.
    pub fn delivered(&mut self, flow: u32, at: Time, wire: u32, distinct: u32) {
        if self.is_within(at) {
            self.flows.note_delivered(flow, wire, distinct);
        }
    }

    /// As [`Flows::note_sender`](super::Flows::note_sender).
    pub fn note_sender(&mut self, flow: u32, at: Time, state: SenderState) {
        self.flows.note_sender(flow, at, state);
    }

    /// As [`Flows::note_count`](super::Flows::note_count).
    pub fn note_count(&mut self, flow: u32, count: TransportCount) {
        self.flows.note_count(flow, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Datagrams, Network};
    use crate::run::simulate;
    use crate::scenario::Scenario;
    use crate::transport::sources::Datagram;
    use fairdrop::Count;
    use std::collections::BTreeMap;

    /// Delays that nothing else is a multiple of: no two things happen in the same nanosecond, where the hosts' letters
    /// would decide their order.
    const NETWORK: &str = "duration = 12\nwarm_up = 3\nsample = \"250ms\"\n[dumbbell]\nrate = \"2mbit\"\ndelay = 0.003141593\n\
        access_rate = \"10mbit\"\naccess_delay = 0.001234567\nboth_ways = true\nloss = 0.002\nloss_back = 0.001\n\
        [queue]\nlimit = \"40p\"\n[queue.red]\nmin_th = \"5p\"\nmax_th = \"20p\"\n\
        [[groups]]\nname = \"tcp\"\ntransport = \"reno\"\ncount = 5\nstart_spread = \"1s\"\npacket_size = 999\n\
        [[groups]]\nname = \"sack\"\ntransport = \"sack\"\ncount = 3\nstart_spread = \"1s\"\ndelayed_ack = true\necn = true\n\
        [[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"1mbit\"\njitter = 0.3\nclass = 1\nmark_excess = { rate = \"500kbit\", burst = \"4kB\", class = 2 }\n\
        [[groups]]\nname = \"poisson\"\ntransport = \"poisson\"\nrate = \"300kbit\"\npacket_size = 333\ncount = 2\nstop = \"9s\"\n";

    /// What the hosts of the engine put on their links is put on those of a network without hosts: each packet arrives
    /// at the same time, and every meter shows the same.
    #[test]
    fn without_its_hosts_the_network_is_the_same() {
        for queue in ["choke", "red", "fq_codel", "droptail", "chokew"] {
            let settings = [format!("queue.discipline={queue}")];
            let scenario = Scenario::parse(NETWORK, "test", &settings).unwrap();
            let (seed, control) = (7, Control::default());
            let mut engine = Engine::new(&scenario, seed, &control).unwrap().unwrap();
            assert!(engine.run(&control));
            let whole = simulate(&scenario, seed, &control).unwrap().unwrap();

            let mut network = Network::new(&scenario, seed, &control).unwrap().unwrap();
            let mut sent = engine.departed.clone();
            sent.extend(datagrams(&scenario, &network, seed));
            sent.sort_by_key(|(at, _)| *at);
            let mut arrived = vec![Count::default(); engine.flows.len() as usize];
            // What opens a connection is no data.
            let mut data = BTreeMap::new();
            let mut note = |network: &mut Network<'_>, data: &BTreeMap<u32, bool>, until| {
                while let Some(notice) = network.step(until, &control) {
                    let Notice::Arrived { at, packet, handle } = notice else { panic!("no connections") };
                    if data[&handle] && at >= scenario.warm_up {
                        arrived[packet.flow as usize].add(packet.len.into());
                    }
                }
            };
            for (at, packet) in sent {
                note(&mut network, &data, at);
                let InFlight { flow, len, class, ecn, role, .. } = packet;
                let backward = role.is_backward();
                let handle = network.depart(at, Departing { flow, backward, len, class, ecn });
                data.insert(handle, role == Role::Data);
            }
            note(&mut network, &data, Time::NEVER);
            let result = network.finish(&control).unwrap();

            assert!(whole.queues[0].departures > 1500 && whole.queues[0].drops.total() > 100, "{queue}");
            assert_eq!(result.queues, whole.queues, "{queue}");
            assert_eq!(result.link_losses, whole.link_losses, "{queue}");
            for flow in 0..engine.flows.len() {
                assert_eq!(arrived[flow as usize], engine.flows.delivered(flow).all, "{queue}, flow {flow}");
            }
        }
    }

    /// What the sources send, which the engine knows only from when it has crossed their own links.
    fn datagrams(scenario: &Scenario, network: &Network<'_>, seed: u64) -> Vec<(Time, InFlight)> {
        let mut all = Vec::new();
        for flow in 0..network.starts().len() as u32 {
            let Some(source) = Datagrams::new(scenario, network, flow, seed) else { continue };
            let group = network.group_of(flow) as u16;
            let packet = |(at, Datagram { len, class, ecn })| {
                (at, InFlight { class, ecn, ..InFlight::new(flow, group, 0, len, Role::Data) })
            };
            all.extend(source.map(packet));
        }
        all
    }

    /// The hosts know of a copy before it arrives.
    #[test]
    fn copies_are_reported_before_they_arrive() {
        let text = "duration = 1\nwarm_up = 0\n[dumbbell]\nrate = \"10mbit\"\nimpairments = { duplicate = 1.0, jitter = \"9ms\" }\n\
            [[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = 1000\n";
        let scenario = Scenario::parse(text, "test", &[]).unwrap();
        let control = Control::default();
        let mut network = Network::new(&scenario, 3, &control).unwrap().unwrap();
        let departing = Departing { flow: 0, backward: false, len: 1000, class: 0, ecn: Ecn::NotCapable };
        let sent: Vec<_> = (0..5).map(|at| network.depart(Time::from_ms(at), departing)).collect();
        let mut expected = sent.clone();
        let mut arrived = Vec::new();
        while let Some(notice) = network.step(Time::NEVER, &control) {
            match notice {
                Notice::Copied { handle, copy } => {
                    assert!(sent.contains(&handle) && !sent.contains(&copy));
                    expected.push(copy);
                }
                Notice::Arrived { handle, .. } => {
                    assert!(expected.contains(&handle));
                    arrived.push(handle);
                }
                Notice::Connect { .. } => panic!("there are no connections"),
            }
        }
        arrived.sort_unstable();
        expected.sort_unstable();
        assert_eq!((arrived.len(), arrived), (10, expected));
    }

    /// Connections of a population begin when, and are as large, as simulated.
    #[test]
    fn connections_begin_as_simulated() {
        let text = "duration = 60\nwarm_up = 0\n[dumbbell]\nrate = \"10mbit\"\n[queue]\n[[groups]]\nname = \"web\"\n\
            transport = \"reno\"\nconnections = 5\ntransfer = \"20kB\"\nsizes = \"pareto\"\nmax_transfer = \"1MB\"\n";
        let scenario = Scenario::parse(text, "test", &[]).unwrap();
        let control = Control::default();
        let mut network = Network::new(&scenario, 3, &control).unwrap().unwrap();
        let (mut begun, mut bytes) = (0, 0);
        while let Some(notice) = network.step(Time::NEVER, &control) {
            let Notice::Connect { at, flow, bytes: size } = notice else { panic!("nothing was sent") };
            assert_eq!(flow, begun);
            network.begin(flow, at);
            network.complete(flow, at.after(Time::from_ms(10)));
            (begun, bytes) = (begun + 1, bytes + size);
        }
        let live = network.finish(&control).unwrap().groups.remove(0).transfers.unwrap();
        let simulated =
            simulate(&scenario, 3, &control).unwrap().unwrap().groups.remove(0).transfers.unwrap();
        assert_eq!((live.begun, u64::from(begun)), (simulated.begun, simulated.begun));
        let sum: f64 = live.sizes.iter().map(|size| size.mean_bytes * size.completed as f64).sum();
        assert!((sum - bytes as f64).abs() < 1.0);
    }
}
