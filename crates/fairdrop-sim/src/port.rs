//! A port: a discipline, the transmitter that it feeds, and the meter that watches both. Simulator and replay run
//! packets through the same ports.

use crate::meter::QueueMeter;
use crate::random;
use crate::wire::{Rate, Wire};
use fairdrop::{
    AnyDiscipline, AnyParams, Discipline, DropCause, Ecn, Env, Meta, Packet, ParamError, Philox, Slot,
    Stream, Time, slots_for,
};

/// What a port carries: enough of a packet to account for it, and the host's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub flow: u32,
    pub len: u32,
    pub class: u8,
    pub ecn: Ecn,
    pub handle: u32,
}

/// A queue and its link.
#[derive(Debug)]
pub struct Port {
    discipline: AnyDiscipline<u32, Box<[Slot<u32>]>>,
    random: [Philox; Stream::COUNT],
    meter: QueueMeter,
    rate: Rate,
    wire: Wire,
    sending: Option<Frame>,
}

/// The world of a discipline at a port.
struct PortEnv<'a> {
    now: Time,
    random: &'a mut [Philox; Stream::COUNT],
    meter: &'a mut QueueMeter,
    /// The packet being admitted, until it is dropped: it does not wait yet.
    arriving: Option<u32>,
    /// Handles of dropped packets, for the host to free.
    lost: &'a mut Vec<u32>,
}

impl Env<u32> for PortEnv<'_> {
    #[inline]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn random(&mut self, stream: Stream) -> u64 {
        self.random[stream as usize].next_u64()
    }

    #[inline]
    fn dropped(&mut self, packet: Packet<u32>, cause: DropCause) {
        let (flow, len) = (packet.meta.flow as u32, packet.meta.len);
        self.meter.dropped(flow, cause);
        if self.arriving == Some(packet.handle) {
            self.arriving = None;
        } else {
            self.meter.left(self.now, flow, len);
        }
        self.lost.push(packet.handle);
    }

    #[inline]
    fn drawn(&mut self, _candidate: &Packet<u32>) {
        self.meter.drawn();
    }
}

impl Port {
    /// An empty port; `queue` is its number, which names its random streams.
    pub fn new(
        params: AnyParams,
        rate: Rate,
        meter: QueueMeter,
        seed: u64,
        queue: u32,
    ) -> Result<Self, ParamError> {
        let slots: Box<[Slot<u32>]> =
            std::iter::repeat_with(|| None).take(slots_for(params.limit())).collect();
        Ok(Self {
            discipline: AnyDiscipline::new(params, slots)?,
            random: random::of_queue(seed, queue),
            meter,
            rate,
            wire: Wire::default(),
            sending: None,
        })
    }

    /// A packet arrives. Handles of packets dropped by it are added to `lost`. Returns when the transmitter will be
    /// done, if it was free and has started.
    #[inline]
    pub fn arrive(&mut self, now: Time, frame: Frame, lost: &mut Vec<u32>) -> Option<Time> {
        self.meter.arrived(frame.flow, frame.len);
        let meta =
            Meta { class: frame.class, ecn: frame.ecn, ..Meta::of_flow(u64::from(frame.flow), frame.len) };
        let packet = Packet::new(meta, now, frame.handle);
        let arriving = Some(frame.handle);
        let mut env = PortEnv { now, random: &mut self.random, meter: &mut self.meter, arriving, lost };
        self.discipline.admit(packet, &mut env);
        if env.arriving.is_some() {
            self.meter.joined(now, frame.flow, frame.len);
        }
        let done = if self.sending.is_none() { self.start(now, lost) } else { None };
        self.check(frame.flow);
        done
    }

    /// The transmitter has sent the last bit of a packet: which, and when it will be done with the next, if any.
    #[inline]
    pub fn sent(&mut self, now: Time, lost: &mut Vec<u32>) -> (Option<Frame>, Option<Time>) {
        let frame = self.sending.take();
        if let Some(frame) = frame {
            self.meter.sent(frame.flow, frame.len);
        }
        let done = self.start(now, lost);
        if let Some(frame) = frame {
            self.check(frame.flow);
        }
        (frame, done)
    }

    /// Takes the next packet into transmission. The discipline is asked even when nothing waits: that is how it
    /// learns that the link is idle.
    #[inline]
    fn start(&mut self, now: Time, lost: &mut Vec<u32>) -> Option<Time> {
        let mut env = PortEnv { now, random: &mut self.random, meter: &mut self.meter, arriving: None, lost };
        let packet = self.discipline.next(&mut env)?;
        let Packet { meta, enqueued, handle } = packet;
        let frame = Frame { flow: meta.flow as u32, len: meta.len, class: meta.class, ecn: meta.ecn, handle };
        self.meter.taken(now, frame.flow, frame.len, enqueued);
        self.sending = Some(frame);
        Some(self.wire.send(now, frame.len, &self.rate))
    }

    /// Conservation, in builds with debug assertions.
    #[inline]
    fn check(&self, flow: u32) {
        if cfg!(debug_assertions) {
            self.meter.check(flow, self.discipline.backlog());
        }
    }

    /// Opens the measuring window.
    pub fn open(&mut self, now: Time) {
        self.meter.open(now);
    }

    /// Closes the measuring window.
    pub fn close(&mut self, now: Time) {
        self.meter.close(now);
    }

    /// Adds a point to the meter's series.
    pub fn sample(&mut self, now: Time) {
        self.meter.sample(now, self.discipline.average_packets());
    }

    /// Adds a snapshot of who is where in the queue.
    pub fn snapshot(&mut self) {
        let fifo = self.discipline.fifo();
        self.meter.snapshot(fifo.len(), fifo.iter().map(|packet| packet.meta.flow as u32));
    }

    /// What was measured.
    pub fn meter(&self) -> &QueueMeter {
        &self.meter
    }
}
