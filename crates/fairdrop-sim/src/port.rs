//! A port: a discipline, the transmitter that it feeds, and the meter that watches both. Simulator and replay run
//! packets through the same ports.

use crate::frame::Frame;
use crate::meter::{Internals, NAMED, QueueMeter, Waiting};
use crate::own::{Fault, Fifo, Guarded, Host, Hosted, Queue};
use crate::prefetch::{BATCH, LEAD, prefetch};
use crate::scenario::{QueueConfig, QueueError, build_queue};
use crate::trace::{PacketEvent, Tracer};
use fairdrop::{Count, DropCause, Env, Hosts, Meta, Packet, Philox, Stream, Time};
use fairdrop_link::{Rate, Wire};

/// Where packets of a group or of a flow come from and go to, on one link; `None`: each flow has its own.
pub type HostNumbers = [Option<u64>; 2];

/// A queue and its link.
#[derive(Debug)]
pub struct Port<T = ()> {
    discipline: Hosted,
    transmitter: Transmitter<T>,
    /// What the discipline had marked when the measuring window opened.
    marked_before: [Count; DropCause::COUNT],
    /// Packets that have gone into transmission since the first prefetch.
    started: usize,
}

/// What a port has beside its discipline: the link, and what watches both. A call of the port looks once which kind of discipline
/// there is, and is compiled for each.
#[derive(Debug)]
struct Transmitter<T> {
    world: World<T>,
    internals: Internals,
    rate: Rate,
    wire: Wire,
    sending: Option<Frame>,
}

/// No packet's handle: there are never that many.
const NONE: u32 = u32::MAX;

/// How many random numbers of [`Stream::Candidate`] are known ahead.
const COMING: usize = 2;

/// What a port keeps for its discipline, beside the discipline.
#[derive(Debug)]
struct World<T> {
    random: [Philox; Stream::COUNT],
    /// The next numbers of [`Stream::Candidate`], of which the first is at `candidate`.
    candidates: [u64; COMING],
    candidate: usize,
    /// By group, or by flow; none where each flow has its own.
    hosts: Vec<HostNumbers>,
    hosts_by_flow: bool,
    meter: QueueMeter,
    tracer: T,
}

/// The same, for one call.
struct PortEnv<'a, T> {
    now: Time,
    world: &'a mut World<T>,
    /// Handle of the packet being admitted, which does not wait yet; [`NONE`] when there is none.
    arriving: u32,
    /// Why that was dropped, if it was.
    refused: Option<DropCause>,
    /// What the packet that is dropped next is dropped for, where its discipline has named that.
    named: Option<&'static str>,
    /// Handles of dropped packets, for the host to free.
    lost: &'a mut Vec<u32>,
}

impl<T: Tracer> Env<u32> for PortEnv<'_, T> {
    #[inline]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn flow_key(&self) -> [u64; 2] {
        [0, 0]
    }

    #[inline(never)]
    fn hosts(&self, packet: &Packet<u32>) -> Hosts {
        let own = packet.meta.flow;
        let World { hosts, hosts_by_flow, meter, .. } = &*self.world;
        let at = if *hosts_by_flow { own as usize } else { meter.group_of(own as u32) };
        let [source, destination] = hosts.get(at).copied().unwrap_or_default();
        Hosts { source: source.unwrap_or(own), destination: destination.unwrap_or(own) }
    }

    #[inline]
    fn random(&mut self, stream: Stream) -> u64 {
        let next = self.world.random[stream as usize].next_u64();
        if stream != Stream::Candidate {
            return next;
        }
        let World { candidates, candidate, .. } = &mut *self.world;
        let number = std::mem::replace(&mut candidates[*candidate % COMING], next);
        *candidate += 1;
        number
    }

    #[inline(always)]
    fn dropped(&mut self, packet: Packet<u32>, cause: DropCause) {
        if self.arriving == packet.handle {
            self.refused = Some(cause);
        } else {
            self.world.meter.leaked(self.now, Waiting::of(&packet), cause);
        }
        if T::ON {
            self.world.tracer.event(
                self.now,
                packet.handle,
                self.named.take().map_or(PacketEvent::Drop(cause), PacketEvent::DropFor),
                self.world.meter.waiting(),
            );
        }
        self.lost.push(packet.handle);
    }

    #[inline]
    fn drawn(&mut self, _candidate: &Packet<u32>) {
        self.drew(1);
    }
}

impl<T: Tracer> Host for PortEnv<'_, T> {
    fn dropped_for(&mut self, packet: Packet<u32>, name: &'static str) {
        self.world.meter.name_drop(packet.meta.flow as u32, name);
        self.named = Some(name);
        self.dropped(packet, NAMED);
    }

    #[inline]
    fn drew(&mut self, count: u32) {
        self.world.meter.drew(count);
    }

    #[inline]
    fn shared_hosts(&self, packet: &Packet<u32>) -> Option<Hosts> {
        (!self.world.hosts.is_empty()).then(|| self.hosts(packet))
    }
}

impl<T: Tracer> Port<T> {
    /// An empty port; `queue` is its number, which names its random streams.
    pub fn new(
        config: (&QueueConfig, u64),
        rate: Rate,
        meter: QueueMeter,
        tracer: T,
        seed: u64,
        queue: u32,
    ) -> Result<Self, QueueError> {
        let (config, rate_bps) = config;
        let discipline = build_queue(config, rate_bps, seed, queue)?;
        let mut random = fairdrop_link::queue_streams(seed, queue);
        let candidates = std::array::from_fn(|_| random[Stream::Candidate as usize].next_u64());
        let transmitter = Transmitter {
            world: World {
                random,
                candidates,
                candidate: 0,
                hosts: Vec::new(),
                hosts_by_flow: false,
                meter,
                tracer,
            },
            internals: Internals::of(&discipline),
            rate,
            wire: Wire::default(),
            sending: None,
        };
        Ok(Self { discipline, transmitter, marked_before: [Count::default(); DropCause::COUNT], started: 0 })
    }

    /// The same with hosts that several flows have in common, by group.
    #[must_use]
    pub fn with_hosts(mut self, hosts: Vec<HostNumbers>) -> Self {
        self.transmitter.world.hosts = hosts;
        self
    }

    /// The same, by flow.
    #[must_use]
    pub fn with_hosts_of_flows(self, hosts: Vec<HostNumbers>) -> Self {
        let mut port = self.with_hosts(hosts);
        port.transmitter.world.hosts_by_flow = true;
        port
    }

    /// A packet of a flow of `group` arrives, which is put together where it is needed. Handles of packets dropped by it are
    /// added to `lost`. Returns when the transmitter will be done, if it was free and has started.
    #[inline(always)]
    pub fn arrive(
        &mut self,
        now: Time,
        frame: impl FnOnce() -> Frame,
        group: u16,
        lost: &mut Vec<u32>,
    ) -> Option<Time> {
        match &mut self.discipline {
            Hosted::BuiltIn(queue) => self.transmitter.arrive(queue, now, frame(), group, lost),
            Hosted::Own(queue) => self.transmitter.arrive_at_own(queue, now, frame(), group, lost),
        }
    }

    /// The transmitter has sent the last bit of a packet: which, and when it will be done with the next, if any.
    #[inline(always)]
    pub fn sent(&mut self, now: Time, lost: &mut Vec<u32>) -> (Option<Frame>, Option<Time>) {
        match &mut self.discipline {
            Hosted::BuiltIn(queue) => self.transmitter.sent(queue, now, lost),
            Hosted::Own(queue) => self.transmitter.sent_from_own(queue, now, lost),
        }
    }

    /// Prefetches where coming arrivals will be put, and where the draw of one of them will look first if each draws
    /// once. Until then the queue moves on by some packets: hence two slots.
    #[inline]
    pub fn prefetch_ends(&self) {
        let Hosted::BuiltIn(queue) = &self.discipline else { return };
        let Some(fifo) = queue.fifo() else { return };
        let World { candidates, candidate, .. } = &self.transmitter.world;
        let drawn = fifo.first_look(candidates[(candidate + COMING - 1) % COMING], 0) + COMING - 1;
        let ends = [fifo.len() as usize + BATCH, drawn, drawn + 2];
        ends.into_iter().filter_map(|offset| fifo.slot(offset)).for_each(prefetch);
    }

    /// Shows `touch` flow and handle of packets that will be sent soon, and prefetches what they change here: of every
    /// [`BATCH`] packets the next so many where they wait in one FIFO, otherwise that in transmission.
    #[inline]
    pub fn prefetch_next(&mut self, touch: impl Fn(u32, u32)) {
        match &self.discipline {
            Hosted::BuiltIn(queue) => self.transmitter.prefetch_next(queue.fifo(), &mut self.started, touch),
            Hosted::Own(queue) => self.transmitter.prefetch_next_of_own(queue, &mut self.started, touch),
        }
    }

    /// Whether packets wait.
    pub fn has_waiting(&self) -> bool {
        self.discipline.backlog().packets > 0
    }

    /// Bytes of the packet in transmission.
    pub fn sending_bytes(&self) -> u32 {
        self.transmitter.sending.map_or(0, |frame| frame.len)
    }

    /// Whether the discipline wants to be called at its deadlines.
    pub fn has_timer(&self) -> bool {
        self.discipline.has_timer()
    }

    /// When the discipline wants to be called, if it has a timer.
    pub fn deadline(&self) -> Option<Time> {
        if self.has_timer() { self.discipline.deadline() } else { None }
    }

    /// The discipline's deadline may have come. Returns when the transmitter will be done, if it was free and has started.
    pub fn tick(&mut self, now: Time, lost: &mut Vec<u32>) -> Option<Time> {
        if self.deadline().is_none_or(|at| at > now) {
            return None;
        }
        match &mut self.discipline {
            Hosted::BuiltIn(queue) => self.transmitter.tick(queue, now, lost),
            Hosted::Own(queue) => self.transmitter.tick(&mut **queue, now, lost),
        }
    }

    /// What a user-defined discipline did that ends the run.
    pub fn fault(&self) -> Option<&Fault> {
        self.discipline.fault()
    }

    /// The link's rate is `rate` from now on; the packet in transmission, if any, keeps the old one.
    pub fn set_rate(&mut self, rate: Rate) {
        self.transmitter.wire.change_rate(&self.transmitter.rate, &rate);
        self.transmitter.rate = rate;
    }

    /// A flow of `group` begins; its number is the next.
    pub fn add_flow(&mut self, group: u32) {
        self.transmitter.world.meter.add_flow(group);
    }

    /// Opens the measuring window.
    pub fn open(&mut self, now: Time) {
        let meter = &mut self.transmitter.world.meter;
        meter.open(now);
        self.discipline.for_each_waiting(|packet| meter.waits_at_opening(Waiting::of(packet)));
        self.transmitter.internals.open(now, &self.discipline);
        self.marked_before = *self.discipline.marked();
    }

    /// Closes the measuring window.
    pub fn close(&mut self, now: Time) {
        self.discipline.end(now);
        let mut marked = [0; DropCause::COUNT];
        let counts = self.discipline.marked().iter().zip(&self.marked_before);
        marked
            .iter_mut()
            .zip(counts)
            .for_each(|(marked, (all, before))| *marked = all.packets - before.packets);
        let meter = &mut self.transmitter.world.meter;
        meter.close(now, marked);
        self.discipline.for_each_waiting(|packet| meter.waits_at_closing(now, Waiting::of(packet)));
        meter.check_closed();
        self.transmitter.internals.hold(now, &self.discipline);
    }

    /// Adds a point to the meter's series.
    #[inline(never)]
    pub fn sample(&mut self, now: Time) {
        self.transmitter.world.meter.sample(now, self.discipline.average_packets());
        self.transmitter.internals.sample(&self.discipline);
    }

    /// Adds a snapshot of who is where in the queue.
    #[inline(never)]
    pub fn snapshot(&mut self) {
        if let Some(fifo) = self.discipline.fifo() {
            self.transmitter
                .world
                .meter
                .snapshot(fifo.len(), fifo.iter().map(|packet| packet.meta.flow as u32));
        }
    }

    /// What was measured.
    pub fn meter(&self) -> &QueueMeter {
        &self.transmitter.world.meter
    }

    #[cfg(test)]
    pub fn meter_mut(&mut self) -> &mut QueueMeter {
        &mut self.transmitter.world.meter
    }

    /// The values that the discipline decides by.
    pub fn internals(&self) -> &Internals {
        &self.transmitter.internals
    }

    /// Who listens.
    pub fn tracer_mut(&mut self) -> &mut T {
        &mut self.transmitter.world.tracer
    }

    /// Who listened.
    pub fn into_tracer(self) -> T {
        self.transmitter.world.tracer
    }
}

impl<T: Tracer> Transmitter<T> {
    /// As [`Port::arrive`], at `queue`.
    #[inline(always)]
    fn arrive(
        &mut self,
        queue: &mut impl Queue,
        now: Time,
        frame: Frame,
        group: u16,
        lost: &mut Vec<u32>,
    ) -> Option<Time> {
        self.world.meter.offered(frame.flow, frame.len);
        let Frame { class, label, ecn, .. } = frame;
        let meta = Meta { class, label, ecn, ..Meta::of_flow(u64::from(frame.flow), frame.len) };
        let packet = Packet::new(meta, now, frame.handle);
        self.internals.hold(now, queue);
        if T::ON {
            self.world.tracer.arrive(now, frame.handle, meta, self.world.meter.waiting());
        }
        let mut env =
            PortEnv { now, world: &mut self.world, arriving: frame.handle, refused: None, named: None, lost };
        queue.enqueue(packet, &mut env);
        if let Some(cause) = env.refused {
            self.world.meter.refused(frame.flow, frame.len, cause);
        } else {
            self.world.meter.joined(now, &frame, group);
            if T::ON {
                self.world.tracer.event(now, frame.handle, PacketEvent::Enqueue, self.world.meter.waiting());
            }
        }
        let done = if self.sending.is_none() { self.start(queue, now, lost) } else { None };
        self.check(queue, frame.flow);
        done
    }

    /// The same at a user-defined queue.
    #[inline(never)]
    fn arrive_at_own(
        &mut self,
        queue: &mut Guarded,
        now: Time,
        frame: Frame,
        group: u16,
        lost: &mut Vec<u32>,
    ) -> Option<Time> {
        self.arrive(queue, now, frame, group, lost)
    }

    /// As [`Port::sent`], with `queue` behind it.
    #[inline(always)]
    fn sent(
        &mut self,
        queue: &mut impl Queue,
        now: Time,
        lost: &mut Vec<u32>,
    ) -> (Option<Frame>, Option<Time>) {
        let frame = self.sending.take();
        if let Some(frame) = frame {
            self.world.meter.sent(frame.flow, frame.len);
            if T::ON {
                self.world.tracer.event(now, frame.handle, PacketEvent::Depart, self.world.meter.waiting());
            }
        }
        self.internals.hold_at_departure(now, queue);
        let done = self.start(queue, now, lost);
        if let Some(frame) = frame {
            self.check(queue, frame.flow);
        }
        (frame, done)
    }

    /// The same with a user-defined queue.
    #[inline(never)]
    fn sent_from_own(
        &mut self,
        queue: &mut Guarded,
        now: Time,
        lost: &mut Vec<u32>,
    ) -> (Option<Frame>, Option<Time>) {
        self.sent(queue, now, lost)
    }

    /// As [`Port::prefetch_next`], of packets that wait in `fifo`.
    #[inline(always)]
    fn prefetch_next(&self, fifo: Option<&Fifo>, started: &mut usize, touch: impl Fn(u32, u32)) {
        let Some(fifo) = fifo else {
            self.sending.iter().for_each(|frame| touch(frame.flow, frame.handle));
            return;
        };
        *started += 1;
        if !started.is_multiple_of(BATCH) {
            return;
        }
        for offset in LEAD..LEAD + BATCH {
            fifo.slot(offset + 2 * BATCH).into_iter().for_each(prefetch);
            if let Some(Some(packet)) = fifo.slot(offset) {
                self.world.meter.prefetch(Waiting::of(packet));
                touch(packet.meta.flow as u32, packet.handle);
            }
        }
    }

    /// The same with a user-defined queue.
    #[inline(never)]
    fn prefetch_next_of_own(&self, queue: &Guarded, started: &mut usize, touch: impl Fn(u32, u32)) {
        self.prefetch_next(queue.fifo(), started, touch);
    }

    /// The deadline of `queue` has come. Returns when the transmitter will be done, if it was free and has started.
    fn tick(&mut self, queue: &mut impl Queue, now: Time, lost: &mut Vec<u32>) -> Option<Time> {
        self.internals.hold(now, queue);
        let mut env =
            PortEnv { now, world: &mut self.world, arriving: NONE, refused: None, named: None, lost };
        queue.tick(&mut env);
        if self.sending.is_none() { self.start(queue, now, lost) } else { None }
    }

    /// Takes the next packet into transmission. The discipline is asked even when nothing waits: that is how it
    /// learns that the link is idle.
    #[inline(always)]
    fn start(&mut self, queue: &mut impl Queue, now: Time, lost: &mut Vec<u32>) -> Option<Time> {
        let mut env =
            PortEnv { now, world: &mut self.world, arriving: NONE, refused: None, named: None, lost };
        let packet = queue.dequeue(&mut env)?;
        self.world.meter.taken(now, Waiting::of(&packet));
        let Packet { meta, handle, .. } = packet;
        let Meta { flow, len, class, label, ecn } = meta;
        let frame = Frame { flow: flow as u32, len, class, label, ecn, handle };
        if T::ON {
            self.world.tracer.taken(handle, meta);
        }
        self.sending = Some(frame);
        Some(self.wire.send(now, frame.len, &self.rate))
    }

    /// Conservation, in builds with debug assertions.
    #[inline]
    fn check(&mut self, queue: &impl Queue, flow: u32) {
        if cfg!(debug_assertions) {
            self.world.meter.check(flow, queue.backlog());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use fairdrop::Ecn;

    /// A port with the queue of the first link of a scenario.
    fn port(queue: &str) -> Port {
        let text =
            format!("[queue]\n{queue}\n[[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = 1000\n");
        let scenario = Scenario::parse(&text, "test", &[]).unwrap();
        let meter = QueueMeter::new([0].into_iter(), 1, scenario.queue.limit);
        Port::new((&scenario.queue, 1_000_000), Rate::new(1_000_000, [1000, 0]), meter, (), 1, 0).unwrap()
    }

    /// What leaves a port at which five packets arrive at once.
    fn fields_after(port: &mut Port, arriving: Ecn) -> Vec<Ecn> {
        let (mut lost, mut done, mut left) = (Vec::new(), None, Vec::new());
        for handle in 0..5 {
            let frame = Frame { flow: 0, len: 1000, class: 0, label: 0, ecn: arriving, handle };
            done = port.arrive(Time::ZERO, || frame, 0, &mut lost).or(done);
        }
        while let Some(now) = done {
            let (frame, next) = port.sent(now, &mut lost);
            left.extend(frame.map(|frame| frame.ecn));
            done = next;
        }
        assert_eq!(left.len() + lost.len(), 5);
        left
    }

    const STEP: &str =
        "discipline = \"red\"\nlimit = \"50p\"\n[queue.red]\nmin_th = 1.5\nmax_th = 2\nw_q = 1\necn = true";

    /// One is in transmission and two wait unmarked; the other two find two or more, and are marked or dropped.
    #[test]
    fn marks_leave_with_the_packet() {
        use Ecn::{Ce, Ect0, NotCapable};
        assert_eq!(fields_after(&mut port(STEP), Ect0), [Ect0, Ect0, Ect0, Ce, Ce]);
        assert_eq!(fields_after(&mut port(STEP), NotCapable), [NotCapable; 3]);
        // A mark from before stays, whoever queues the packet.
        assert_eq!(fields_after(&mut port(STEP), Ce), [Ce; 5]);
        assert_eq!(fields_after(&mut port("discipline = \"droptail\"\nlimit = \"50p\""), Ce), [Ce; 5]);
    }
}
