//! A node of a test network in virtual time: one direction of a link behind any discipline of the catalogue.
//!
//! Test networks of QUIC stacks call a node with a datagram, or without one, and expect a datagram or the time of the next call.
//! A queue that cannot say when it wants to be called again leaves its link idle until somebody happens to call:
//! [`Link::next_event`] is that time, and it is exact.

use fairdrop::{AnyDiscipline, AnyParams, Ecn, Heap, Meta, ParamError, Time};
use fairdrop_link::{Channel, Counters, Fate, Link, LinkConfig, Pace};
use quinn_proto::EcnCodepoint;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Bytes of Ethernet, IPv4 and UDP headers in front of each payload.
pub const HEADER_BYTES: u32 = 14 + 20 + 8;

/// A UDP datagram.
#[derive(Clone, Debug)]
pub struct Datagram {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub ecn: Option<EcnCodepoint>,
    pub payload: Vec<u8>,
}

/// Answer of a node.
#[derive(Debug)]
pub enum Output {
    /// A datagram has reached the other end; there may be more.
    Datagram(Datagram),
    /// Nothing until then, unless a datagram arrives.
    Callback(Instant),
    /// Nothing until a datagram arrives.
    Idle,
}

/// One direction of a link.
pub struct Bottleneck {
    link: Link,
    begun: Instant,
    /// Datagrams in the link, by handle, and the handles that are free.
    datagrams: Vec<Option<Datagram>>,
    free: Vec<u32>,
    ready: VecDeque<Datagram>,
}

impl Bottleneck {
    /// An idle link of `rate_bps` whose far end is `delay` away.
    ///
    /// # Errors
    /// A parameter of the discipline is not valid.
    pub fn new(queue: AnyParams, rate_bps: u64, delay: Duration, begun: Instant) -> Result<Self, ParamError> {
        let config = LinkConfig {
            pace: Pace::Rate(rate_bps),
            channel: Channel { delay: time(delay), ..Channel::default() },
            seed: 1,
            number: 0,
            flow_key: [0, 0],
            frames: queue.limit(),
        };
        let link = Link::new(AnyDiscipline::new(queue, &mut Heap)?, config, Time::ZERO);
        Ok(Self { link, begun, datagrams: Vec::new(), free: Vec::new(), ready: VecDeque::new() })
    }

    /// Offers a datagram, if there is one, and returns the next that has reached the other end.
    pub fn process(&mut self, datagram: Option<Datagram>, now: Instant) -> Output {
        let at = time(now - self.begun);
        self.link.advance(at);
        if let Some(datagram) = datagram {
            let meta = meta(&datagram);
            let handle = self.free.pop().unwrap_or(self.datagrams.len() as u32);
            self.datagrams.resize(self.datagrams.len().max(handle as usize + 1), None);
            self.datagrams[handle as usize] = Some(datagram);
            self.link.arrive(at, meta, handle, || None);
        }
        let mut marked = Vec::new();
        for outcome in self.link.outcomes().drain(..) {
            self.free.push(outcome.handle);
            let datagram = self.datagrams[outcome.handle as usize].take();
            if let (Fate::Delivered { .. }, Some(datagram)) = (outcome.fate, datagram) {
                let ecn = EcnCodepoint::from_bits(outcome.meta.ecn as u8);
                marked.extend((ecn != datagram.ecn).then_some(outcome.meta.len));
                self.ready.push_back(Datagram { ecn, ..datagram });
            }
        }
        for len in marked {
            self.link.marked(len);
        }
        match (self.ready.pop_front(), self.link.next_event()) {
            (Some(datagram), _) => Output::Datagram(datagram),
            (None, Some(next)) => Output::Callback(self.begun + Duration::from_nanos(next.ns())),
            (None, None) => Output::Idle,
        }
    }

    /// Packets and bytes by outcome.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        self.link.counters()
    }
}

/// What a discipline may read of a datagram: its flow is the pair of addresses.
fn meta(datagram: &Datagram) -> Meta {
    let flow = u64::from(datagram.from.port()) << 16 | u64::from(datagram.to.port());
    let ecn = match datagram.ecn {
        None => Ecn::NotCapable,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    };
    Meta { ecn, ..Meta::of_flow(flow, datagram.payload.len() as u32 + HEADER_BYTES) }
}

fn time(since: Duration) -> Time {
    Time::from_ns(since.as_nanos() as u64)
}
