//! The receiving end of a flow.

use crate::engine::packets::InFlight;
use fairdrop::{Count, Ecn, Time};
use fairdrop_link::Wire;
use fairdrop_tcp::receiver::{Reaction, Receiver};
use fairdrop_tcp::{EcnFeedback, TcpConfig};

/// Where a flow ends: what a packet of it meets as it leaves the network. Two lines of the cache.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Sink {
    /// The host's own link, from the network and back to it.
    pub link_in: Wire,
    pub link_out: Wire,
    /// Unused when the flow is not TCP.
    pub receiver: Receiver,
    /// When a delayed ACK is due, if one is pending.
    pub ack_due: Time,
    pub delivered: Delivered,
}

const _: () = assert!(size_of::<Sink>() == 128);

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
    /// An ACK after this time, unless another goes before.
    Later(Time),
    Now {
        seq: u32,
        len: u16,
    },
}

/// Wait before a delayed ACK goes out alone (RFC 1122 allows 500 ms; ns-2 waits 100 ms).
const DELAYED_ACK: Time = Time::from_ms(100);

impl Delivered {
    /// A packet of `len` bytes with `header` bytes of headers, which is no copy of another.
    #[inline]
    pub fn add(&mut self, len: u32, header: u32) {
        self.all.add(len);
        self.distinct.add(len - header);
    }
}

impl Sink {
    /// Takes a data packet of a TCP flow, with `header` bytes of headers, at `at`; it counts when `measured`.
    #[inline]
    pub fn receive(
        &mut self,
        packet: InFlight,
        (at, sent): (Time, Option<Time>),
        config: &TcpConfig,
        header: u32,
        measured: bool,
    ) -> Answer {
        let marked = packet.ecn == Ecn::Ce;
        let at_once = match config.feedback {
            EcnFeedback::Classic => {
                self.receiver.note_congestion(marked, packet.echo);
                false
            }
            EcnFeedback::EachPacket => self.receiver.note_marking(marked),
            EcnFeedback::Ace | EcnFeedback::Accurate => {
                self.receiver.count_marks(packet.ecn, u32::from(packet.len) - header)
            }
        };
        let (is_new, wait) = if config.acknowledges_as_linux() {
            let (is_new, wait) = self.receiver.take_as_linux(at, packet.seq, sent, config);
            if at_once && wait.is_some() {
                self.receiver.note_ack();
            }
            (is_new, wait.filter(|_| !at_once))
        } else {
            let (is_new, reaction) = self.receiver.take(packet.seq, config.delayed_ack && !at_once);
            (is_new, (reaction == Reaction::Wait).then_some(DELAYED_ACK))
        };
        if measured {
            let len = u32::from(packet.len);
            self.delivered.all.add(len);
            if is_new {
                self.delivered.distinct.add(len - header);
            }
        }
        match wait {
            Some(wait) => Answer::Later(wait),
            None => Answer::Now { seq: self.receiver.next, len: config.ack_size as u16 },
        }
    }
}
