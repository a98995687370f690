//! QUIC downloads and a UDP flow of constant rate through one bottleneck, in virtual time.

pub mod bottleneck;
pub mod host;

use bottleneck::{Bottleneck, Datagram, Output};
use fairdrop::{AnyParams, ParamError};
use fairdrop_link::Counters;
use host::{Host, Identity};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Discipline at the bottleneck.
    pub queue: AnyParams,
    /// Rate of the bottleneck, bit/s.
    pub rate_bps: u64,
    /// Round-trip time without queues.
    pub rtt: Duration,
    /// Downloads, each by a client of its own.
    pub clients: u16,
    /// Rate of the UDP flow with its headers, bit/s; 0 for none.
    pub udp_bps: u64,
    /// Simulated time.
    pub duration: Duration,
}

/// Results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Bytes that each client has read from its stream.
    pub received: Vec<u64>,
    /// Bytes of UDP payload that have arrived.
    pub udp_received: u64,
    /// Counters of the bottleneck.
    pub bottleneck: Counters,
}

/// Bytes of payload in each datagram of the UDP flow.
const UDP_PAYLOAD: usize = 1200;

const SERVER: u16 = 1;
const UDP: u16 = 2;
const FIRST_CLIENT: u16 = 100;

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

/// Two nodes, the hosts at their ends, and a clock that jumps from event to event.
struct Network {
    now: Instant,
    down: Bottleneck,
    up: Bottleneck,
    server: Host,
    clients: Vec<Host>,
    udp: Option<Constant>,
    udp_received: u64,
}

/// A UDP flow of constant rate.
struct Constant {
    gap: Duration,
    next: Instant,
}

impl Constant {
    fn new(bps: u64, now: Instant) -> Self {
        let bits = (UDP_PAYLOAD as u64 + u64::from(bottleneck::HEADER_BYTES)) * 8;
        Self { gap: Duration::from_nanos(bits * 1_000_000_000 / bps), next: now }
    }

    /// The next datagram, if it is due.
    fn due(&mut self, now: Instant) -> Option<Datagram> {
        (self.next <= now).then(|| {
            self.next += self.gap;
            Datagram { from: address(UDP), to: address(UDP), ecn: None, payload: vec![0; UDP_PAYLOAD] }
        })
    }
}

impl Network {
    fn new(setup: &Setup) -> Result<Self, ParamError> {
        // The only reading of a clock: all other times are this one plus simulated time.
        let now = Instant::now();
        let identity = Identity::new().expect("a new key pair");
        let mut back = AnyParams::of("droptail").expect("a discipline of the catalogue");
        back.set_link(10_000, 10 * setup.rate_bps);
        let client = |number| Host::client(address(FIRST_CLIENT + number), address(SERVER), &identity, now);
        Ok(Self {
            now,
            down: Bottleneck::new(setup.queue.clone(), setup.rate_bps, setup.rtt / 2, now)?,
            up: Bottleneck::new(back, 10 * setup.rate_bps, setup.rtt / 2, now)?,
            server: Host::server(address(SERVER), &identity),
            clients: (0..setup.clients).map(client).collect(),
            udp: (setup.udp_bps > 0).then(|| Constant::new(setup.udp_bps, now)),
            udp_received: 0,
        })
    }

    /// Does all that is due now; returns the time of the next event.
    fn step(&mut self) -> Option<Instant> {
        let Self { now, down, up, server, clients, udp, udp_received } = self;
        loop {
            let mut arrived = false;
            let flood = std::iter::from_fn(|| udp.as_mut()?.due(*now));
            let next_down = pass(down, server.run(*now).chain(flood), *now, |datagram| {
                arrived = true;
                match clients.iter_mut().find(|client| client.address == datagram.to) {
                    Some(client) => client.receive(&datagram, *now),
                    None => *udp_received += datagram.payload.len() as u64,
                }
            });
            let sent: Vec<_> = clients.iter_mut().flat_map(|client| client.run(*now)).collect();
            let next_up = pass(up, sent.into_iter(), *now, |datagram| {
                arrived = true;
                server.receive(&datagram, *now);
            });
            if !arrived {
                let timeouts = clients.iter_mut().chain([server]).filter_map(Host::timeout);
                let next_of_udp = udp.as_ref().map(|udp| udp.next);
                return timeouts.chain(next_down).chain(next_up).chain(next_of_udp).min();
            }
        }
    }
}

/// Offers datagrams to a node and gives those that reach its other end to `receive`; returns when the node is due again.
fn pass(
    node: &mut Bottleneck,
    datagrams: impl Iterator<Item = Datagram>,
    now: Instant,
    mut receive: impl FnMut(Datagram),
) -> Option<Instant> {
    let mut datagrams = datagrams.fuse();
    loop {
        let datagram = datagrams.next();
        let was_last = datagram.is_none();
        match node.process(datagram, now) {
            Output::Datagram(datagram) => receive(datagram),
            Output::Callback(next) if was_last => return Some(next),
            Output::Idle if was_last => return None,
            Output::Callback(_) | Output::Idle => {}
        }
    }
}

/// Runs the downloads and the UDP flow together.
///
/// # Errors
/// A parameter of the discipline is not valid.
pub fn run(setup: &Setup) -> Result<Outcome, ParamError> {
    let mut network = Network::new(setup)?;
    let end = network.now + setup.duration;
    while let Some(next) = network.step().filter(|&next| next <= end) {
        assert!(next > network.now, "a host or node asked for a time that has passed");
        network.now = next;
    }
    Ok(Outcome {
        received: network.clients.iter().map(|client| client.received).collect(),
        udp_received: network.udp_received,
        bottleneck: *network.down.counters(),
    })
}
