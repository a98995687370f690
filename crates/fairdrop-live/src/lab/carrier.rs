//! Carries every packet between the two sides through the scenario's links, in logical time.

use super::address::{MOST_FLOWS, Place, Side};
use super::plan;
use super::segment::Packet;
use super::senders::{Connect, Letter};
use super::stop::Finish;
use super::stream::Stream;
use crate::frame::{self, Unsummed};
use crate::host::Wake;
use crate::host::{Lateness, LatenessReport, Received};
use crate::os::{Sleeper, Waker, now};
use crate::port::{TunReader, TunWriter};
use fairdrop::{Ecn, Time};
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, Departing, Network, Notice, RunResult, TransportCount};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

/// Packets read from one device before the other has its turn.
const BATCH: usize = 32;

/// The carrier's own counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Packets read from the devices.
    pub read: u64,
    /// Of these, packets of no flow, which were discarded.
    pub strange: u64,
    /// Packets handed on.
    pub handed_on: u64,
    /// Packets that a device did not take.
    pub refused: u64,
}

/// How exact the run was.
#[derive(Clone, Copy, Debug)]
pub struct Exactness {
    /// How much later than its logical time each packet was handed on.
    pub lateness: LatenessReport,
    /// What was carried.
    pub tally: Tally,
}

/// The network between the two sides.
pub struct Carrier<'s> {
    scenario: &'s Scenario,
    network: Network<'s>,
    control: Control,
    /// Devices of the left and the right side.
    readers: [TunReader; 2],
    writers: [TunWriter; 2],
    frames: Frames,
    /// By group and address.
    flows: Vec<Vec<u32>>,
    /// Connections of each group so far, where they come and go.
    connections: Vec<u32>,
    /// By flow.
    streams: Vec<Stream>,
    /// By flow, within the measuring window.
    counts: Vec<TransportCount>,
    connects: Sender<Connect>,
    senders: Arc<Waker>,
    begun: Time,
    lateness: Lateness,
    tally: Tally,
}

/// A frame for each handle.
struct Frames {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
    /// Checksums that were left to the device.
    left: Vec<Option<Unsummed>>,
    most: usize,
    /// The one being read.
    coming: Vec<u8>,
}

impl Frames {
    fn make_room(&mut self, handles: usize) {
        if self.lengths.len() < handles {
            self.lengths.resize(handles, 0);
            self.left.resize(handles, None);
            self.bytes.resize(handles * self.most, 0);
        }
    }

    /// The frame of `handle` is that of `copy`, too.
    fn copy(&mut self, handle: u32, copy: u32, handles: usize) {
        self.make_room(handles);
        let [from, to] = [handle, copy].map(|handle| handle as usize);
        let len = self.lengths[from] as usize;
        self.bytes.copy_within(from * self.most..from * self.most + len, to * self.most);
        (self.lengths[to], self.left[to]) = (self.lengths[from], self.left[from]);
    }

    fn keep(&mut self, handle: u32, len: usize, left: Option<Unsummed>, handles: usize) {
        self.make_room(handles);
        let at = handle as usize * self.most;
        self.bytes[at..at + len].copy_from_slice(&self.coming[..len]);
        self.lengths[handle as usize] = len as u32;
        self.left[handle as usize] = left;
    }

    fn get(&mut self, handle: u32) -> &mut [u8] {
        let (at, len) = (handle as usize * self.most, self.lengths[handle as usize] as usize);
        &mut self.bytes[at..at + len]
    }
}

impl<'s> Carrier<'s> {
    /// Between the devices of the left and the right side.
    pub fn new(
        scenario: &'s Scenario,
        network: Network<'s>,
        tuns: [OwnedFd; 2],
        connects: Sender<Connect>,
        senders: Arc<Waker>,
    ) -> Self {
        let most = plan::mtu(scenario) as usize;
        let tuns = tuns.map(Arc::new);
        let mut carrier = Self {
            scenario,
            control: Control::default(),
            readers: tuns.clone().map(TunReader::new),
            writers: tuns.map(TunWriter::new),
            frames: Frames {
                bytes: Vec::new(),
                lengths: Vec::new(),
                left: Vec::new(),
                most,
                coming: vec![0; most],
            },
            flows: vec![Vec::new(); scenario.groups.len()],
            connections: vec![0; scenario.groups.len()],
            streams: Vec::new(),
            counts: Vec::new(),
            connects,
            senders,
            begun: Time::ZERO,
            lateness: Lateness::default(),
            tally: Tally::default(),
            network,
        };
        carrier.begin_lasting_flows();
        carrier
    }

    fn begin_lasting_flows(&mut self) {
        let starts = self.network.starts().to_vec();
        for (flow, start) in (0..).zip(starts) {
            let number = self.network.group_of(flow);
            let group = &self.scenario.groups[number];
            self.flows[number].push(flow);
            let transfer = group.transport.tcp().and_then(|tcp| tcp.transfer_bytes);
            self.add_stream(Stream::new(transfer.map(|bytes| plan::to_write(group, bytes))));
            if group.transport.tcp().is_some() {
                self.network.begin(flow, start);
            }
        }
    }

    fn add_stream(&mut self, stream: Stream) {
        self.streams.push(stream);
        self.counts.push(TransportCount::default());
    }

    /// Carries until the scenario ends; its time 0 is at `begun`. Whether it came to that: it may be interrupted, or a side may end
    /// before. The devices stay open after it, so that no side fails for that.
    ///
    /// # Errors
    /// A device is gone.
    pub fn carry(
        &mut self,
        begun: Time,
        mut sleeper: Sleeper,
        letters: &Receiver<Letter>,
        interrupted: &AtomicBool,
        finish: &Finish<'_>,
    ) -> io::Result<bool> {
        self.begun = begun;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for (side, tun) in (0..).zip(&self.readers) {
            epoll::add(&epoll, tun, EventData::new_u64(side), EventFlags::IN)?;
        }
        let end = begun.after(self.scenario.duration);
        while now() < end {
            if interrupted.load(Ordering::Relaxed) || finish.is_requested() {
                return Ok(false);
            }
            #[cfg(test)]
            fault::strike(self.tally.read)?;
            let read = self.read()?;
            self.pass(now())?;
            for letter in letters.try_iter() {
                self.take(letter);
            }
            if !read {
                let next = self.network.next_event().map_or(end, |at| begun.after(at).min(end));
                sleeper.sleep(epoll.as_fd(), Some(next))?;
            }
        }
        self.pass(end)?;
        // The senders say how they ended.
        finish.request();
        for letter in letters {
            self.take(letter);
        }
        for (flow, &count) in (0..).zip(&self.counts) {
            if self.scenario.groups[self.network.group_of(flow)].transport.tcp().is_some() {
                self.network.note_count(flow, count);
            }
        }
        Ok(true)
    }

    /// What was measured.
    pub fn result(self) -> Option<(RunResult, Exactness)> {
        let exactness = Exactness { lateness: self.lateness.report(), tally: self.tally };
        self.network.finish(&self.control).map(|result| (result, exactness))
    }

    /// The scenario's time.
    fn time(&self, at: Time) -> Time {
        at.since(self.begun)
    }

    fn take(&mut self, letter: Letter) {
        let at = self.time(now()).min(self.scenario.duration);
        match letter {
            Letter::State(flow, state) => self.network.note_sender(flow, at, state),
            Letter::Timeouts(flow, timeouts) => self.counts[flow as usize].timeouts = timeouts,
        }
    }

    /// Reads the packets at hand, at most a batch of each side. Whether there were any.
    fn read(&mut self) -> io::Result<bool> {
        let mut any = false;
        for side in [Side::Left, Side::Right] {
            for _ in 0..BATCH {
                let read = self.readers[side as usize].read(&mut self.frames.coming)?;
                let Some(Received { len, at }) = read else { break };
                any = true;
                self.pass(at)?;
                self.tally.read += 1;
                if self.offer(side, len, self.time(at)).is_none() {
                    self.tally.strange += 1;
                }
            }
        }
        Ok(any)
    }

    /// The frame that was read is put on its host's own link; `None` when it is of no flow.
    fn offer(&mut self, side: Side, len: usize, at: Time) -> Option<()> {
        let packet = Packet::parse(self.frames.coming.get(..len)?)?;
        let (source, destination) = (side.place(packet.source)?, side.other().place(packet.destination)?);
        let &flow = self.flows.get(source.group)?.get(usize::from(source.index))?;
        if source != destination || at >= self.scenario.duration {
            return None;
        }
        if let (Side::Left, Some(segment)) = (side, packet.segment) {
            let again = self.streams[flow as usize].depart(&segment);
            self.counts[flow as usize].retransmissions += u64::from(again && at >= self.scenario.warm_up);
        }
        let departing = Departing {
            flow,
            backward: side == Side::Right,
            len: len as u16,
            class: packet.dscp,
            ecn: packet.ecn,
        };
        let handle = self.network.depart(at, departing);
        let left = self.readers[side as usize].unsummed();
        self.frames.keep(handle, len, left, self.network.handles());
        Some(())
    }

    /// Lets time pass to `until`, and hands on what arrives.
    fn pass(&mut self, until: Time) -> io::Result<()> {
        let until = self.time(until);
        while let Some(notice) = self.network.step(until, &self.control) {
            match notice {
                Notice::Arrived { at, handle, packet } => self.hand_on(at, handle, packet)?,
                Notice::Copied { handle, copy } => self.frames.copy(handle, copy, self.network.handles()),
                Notice::Connect { at, flow, bytes } => self.connect(at, flow, bytes),
            }
        }
        Ok(())
    }

    fn hand_on(&mut self, at: Time, handle: u32, departing: Departing) -> io::Result<()> {
        let left = self.frames.left[handle as usize];
        let bytes = self.frames.get(handle);
        debug_assert_eq!(bytes.len(), usize::from(departing.len), "the frame is that of the packet");
        if departing.ecn == Ecn::Ce {
            frame::mark(bytes, 0);
        }
        let writer = &mut self.writers[usize::from(!departing.backward)];
        let taken = match left {
            None => writer.write(bytes)?,
            Some(left) => writer.write_left(&left.header(), &[bytes])?,
        };
        let packet = Packet::parse(bytes);
        self.lateness.record(self.begun.after(at), now());
        if taken {
            self.tally.handed_on += 1;
        } else {
            self.tally.refused += 1;
        }
        if let Some(packet) = packet {
            self.measure(at, departing, &packet);
        }
        Ok(())
    }

    /// What the end of the flow learns from a packet.
    fn measure(&mut self, at: Time, departing: Departing, packet: &Packet) {
        let Departing { flow, backward, len, .. } = departing;
        let header = self.scenario.groups[self.network.group_of(flow)].header;
        let len = u32::from(len);
        match packet.segment {
            None if !backward => self.network.delivered(flow, at, len, len.saturating_sub(header)),
            Some(segment) if !backward => {
                let new = self.streams[flow as usize].arrive(&segment);
                if segment.payload > 0 {
                    // As in the simulator the headers of a packet that is all new count as data.
                    let distinct = if new == segment.payload { len.saturating_sub(header) } else { new };
                    self.network.delivered(flow, at, len, distinct);
                }
            }
            Some(segment) if segment.ack.is_some_and(|ack| self.streams[flow as usize].acknowledge(ack)) => {
                self.network.complete(flow, at);
            }
            _ => {}
        }
    }

    /// A connection of a population begins.
    fn connect(&mut self, at: Time, flow: u32, bytes: u64) {
        let group = self.network.group_of(flow);
        let index = self.connections[group] % MOST_FLOWS;
        self.connections[group] += 1;
        let place = Place { group, index: index as u16 };
        match self.flows[group].get_mut(index as usize) {
            Some(before) => *before = flow,
            None => self.flows[group].push(flow),
        }
        let bytes = plan::to_write(&self.scenario.groups[group], bytes);
        self.add_stream(Stream::new(Some(bytes)));
        self.network.begin(flow, at);
        // The senders may have come to their end.
        let _ = self.connects.send(Connect { flow, place, bytes });
        self.senders.wake();
    }
}

/// What goes wrong in tests.
#[cfg(test)]
pub(super) mod fault {
    use std::cell::Cell;
    use std::io;

    #[derive(Clone, Copy)]
    pub enum Fault {
        Panic,
        Error,
    }

    thread_local! {
        static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    /// The carrier of this thread goes wrong after 20 packets.
    pub fn set(fault: Fault) {
        FAULT.set(Some(fault));
    }

    pub fn strike(packets: u64) -> io::Result<()> {
        let message = "a fault of a test after 20 packets";
        match FAULT.get().filter(|_| packets >= 20) {
            None => Ok(()),
            Some(Fault::Panic) => panic!("{message}"),
            Some(Fault::Error) => Err(io::Error::other(message)),
        }
    }
}
