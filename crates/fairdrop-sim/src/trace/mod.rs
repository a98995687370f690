//! Event traces: every packet that arrives at a link, is queued, dropped, or sent, as it happens.
//!
//! A port reports to its [`Tracer`], which is a type parameter: `()` stands for none and costs nothing. [`LinkTracer`]
//! remembers what is known of the packets at its link and gives complete events to a [`TraceSink`], such as
//! [`Pcap`]. Nothing is kept of packets that are gone.
//!
//! ```
//! use fairdrop_sim::scenario::Scenario;
//! use fairdrop_sim::trace::{PacketEvent, TraceEvent, TraceSink};
//! use fairdrop_sim::{Control, simulate_traced};
//! use std::cell::Cell;
//!
//! /// Counts drops.
//! struct Drops<'a>(&'a Cell<u64>);
//! impl TraceSink for Drops<'_> {
//!     fn event(&mut self, event: &TraceEvent) -> std::io::Result<()> {
//!         self.0.set(self.0.get() + u64::from(matches!(event.event, PacketEvent::Drop(_))));
//!         Ok(())
//!     }
//!     fn finish(&mut self) -> std::io::Result<()> {
//!         Ok(())
//!     }
//! }
//!
//! const TEXT: &str = r#"
//! name = "two"
//! duration = "20s"
//! [dumbbell]
//! rate = "1mbit"
//! [queue]
//! discipline = "choke"
//! [[groups]]
//! name = "udp"
//! transport = "cbr"
//! rate = "2mbit"
//! "#;
//! let scenario = Scenario::parse(TEXT, "two.toml", &[]).unwrap();
//! let drops = Cell::new(0);
//! simulate_traced(&scenario, 1, &Control::default(), |_| Drops(&drops)).unwrap().unwrap();
//! assert!(drops.get() > 100);
//! ```

mod pcap;

pub use pcap::Pcap;

use fairdrop::{DropCause, Ecn, Meta, Time};
use std::io;

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// A datagram.
    Datagram,
    /// TCP data.
    Data,
    /// Opens a TCP connection.
    Syn,
    /// Acknowledges TCP data.
    Ack,
    /// Answers a SYN.
    SynAck,
}

impl PacketKind {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Datagram => "datagram",
            Self::Data => "data",
            Self::Syn => "syn",
            Self::Ack => "ack",
            Self::SynAck => "syn_ack",
        }
    }
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    /// It came to the queue.
    Arrive,
    /// It was queued.
    Enqueue,
    /// It was dropped: on arrival, or after it was queued.
    Drop(DropCause),
    /// The same, for a cause that a user-defined discipline has named.
    DropFor(&'static str),
    /// Its last bit left through the link.
    Depart,
}

impl PacketEvent {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arrive => "arrive",
            Self::Enqueue => "enqueue",
            Self::Drop(_) | Self::DropFor(_) => "drop",
            Self::Depart => "depart",
        }
    }
}

/// What only its host knows of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// What it is for.
    pub kind: PacketKind,
    /// Data: number of the segment, from 0. ACK: number of the next segment expected. Otherwise 0.
    pub seq: u32,
    /// Size on the wire of the data packets of its flow, bytes.
    pub data_size: u32,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// When.
    pub time: Time,
    /// What happened.
    pub event: PacketEvent,
    /// Counts packets as they arrive at the link; a packet keeps its number.
    pub number: u64,
    /// The packet, its ECN field as it is after the event.
    pub meta: Meta,
    /// What only the host knows.
    pub about: About,
    /// Packets waiting after the event (an arriving packet does not wait).
    pub waiting: u32,
}

/// Where events go.
pub trait TraceSink {
    /// Takes the next event; times do not decrease.
    ///
    /// # Errors
    /// It cannot be written. No other event follows.
    fn event(&mut self, event: &TraceEvent) -> io::Result<()>;

    /// No event follows.
    ///
    /// # Errors
    /// What is left cannot be written.
    fn finish(&mut self) -> io::Result<()>;
}

/// `None` takes no notice.
impl<S: TraceSink> TraceSink for Option<S> {
    fn event(&mut self, event: &TraceEvent) -> io::Result<()> {
        self.as_mut().map_or(Ok(()), |sink| sink.event(event))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.as_mut().map_or(Ok(()), TraceSink::finish)
    }
}

impl<S: TraceSink + ?Sized> TraceSink for Box<S> {
    fn event(&mut self, event: &TraceEvent) -> io::Result<()> {
        (**self).event(event)
    }

    fn finish(&mut self) -> io::Result<()> {
        (**self).finish()
    }
}

/// Gets the events of a port's packets, which it names by their handles.
pub trait Tracer {
    /// Whether anybody listens.
    const ON: bool;
    /// The packet that arrives next.
    fn about(&mut self, handle: u32, about: About);
    /// A packet arrives.
    fn arrive(&mut self, now: Time, handle: u32, meta: Meta, waiting: u32);
    /// A packet goes into transmission, perhaps marked.
    fn taken(&mut self, handle: u32, meta: Meta);
    /// Something else happens to a packet.
    fn event(&mut self, now: Time, handle: u32, event: PacketEvent, waiting: u32);
}

/// Nobody listens.
impl Tracer for () {
    const ON: bool = false;
    fn about(&mut self, _: u32, _: About) {}
    fn arrive(&mut self, _: Time, _: u32, _: Meta, _: u32) {}
    fn taken(&mut self, _: u32, _: Meta) {}
    fn event(&mut self, _: Time, _: u32, _: PacketEvent, _: u32) {}
}

/// What is remembered of a packet at the link.
#[derive(Clone, Copy, Debug)]
struct Seen {
    number: u64,
    meta: Meta,
    about: About,
}

/// Completes events for a sink.
#[derive(Debug)]
pub struct LinkTracer<S> {
    sink: S,
    arrivals: u64,
    /// By handle; handles of packets that are gone are used again.
    seen: Vec<Option<Seen>>,
    next: Option<About>,
    error: Option<io::Error>,
}

impl<S: TraceSink> LinkTracer<S> {
    /// Before the first event.
    pub fn new(sink: S) -> Self {
        Self { sink, arrivals: 0, seen: Vec::new(), next: None, error: None }
    }

    /// Closes the sink.
    ///
    /// # Errors
    /// The first thing that went wrong.
    pub fn finish(mut self) -> io::Result<S> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.sink.finish().map(|()| self.sink),
        }
    }

    fn write(&mut self, time: Time, event: PacketEvent, seen: Seen, waiting: u32) {
        if self.error.is_none() {
            let Seen { number, meta, about } = seen;
            let event = TraceEvent { time, event, number, meta, about, waiting };
            self.error = self.sink.event(&event).err();
        }
    }
}

impl<S: TraceSink> Tracer for LinkTracer<S> {
    const ON: bool = true;

    fn about(&mut self, _handle: u32, about: About) {
        self.next = Some(about);
    }

    fn arrive(&mut self, now: Time, handle: u32, meta: Meta, waiting: u32) {
        let unknown = About { kind: PacketKind::Datagram, seq: 0, data_size: meta.len };
        let seen = Seen { number: self.arrivals, meta, about: self.next.take().unwrap_or(unknown) };
        self.arrivals += 1;
        let index = handle as usize;
        if self.seen.len() <= index {
            self.seen.resize(index + 1, None);
        }
        self.seen[index] = Some(seen);
        self.write(now, PacketEvent::Arrive, seen, waiting);
    }

    fn taken(&mut self, handle: u32, meta: Meta) {
        if let Some(Some(seen)) = self.seen.get_mut(handle as usize) {
            seen.meta = meta;
        }
    }

    fn event(&mut self, now: Time, handle: u32, event: PacketEvent, waiting: u32) {
        let Some(slot) = self.seen.get_mut(handle as usize) else { return };
        let Some(seen) = *slot else { return };
        if !matches!(event, PacketEvent::Arrive | PacketEvent::Enqueue) {
            *slot = None;
        }
        self.write(now, event, seen, waiting);
    }
}

/// The ECN field as a number.
pub const fn ecn_bits(ecn: Ecn) -> u8 {
    ecn as u8
}
