//! A port: a discipline, the transmitter that it feeds, and the meter that watches both. Simulator and replay run
//! packets through the same ports.

use crate::hosted::Hosted;
use crate::meter::{Internals, QueueMeter, Waiting};
use crate::prefetch::{BATCH, LEAD, prefetch};
use crate::scenario::{QueueConfig, QueueError, build_queue};
use crate::trace::Tracer;
use crate::watch::{HostNumbers, Watch};
use fairdrop::{Count, DropCause, Packet, Time};
use fairdrop_extension::{Fault, Fifo, Guarded};
use fairdrop_link::{Environment, Pace, Pacer, Transmitter};

/// A queue and its link.
#[derive(Debug)]
pub struct Port<T = ()> {
    discipline: Hosted,
    transmitter: Transmitter<Watch<T>>,
    /// What the discipline had marked when the measuring window opened.
    marked_before: [Count; DropCause::COUNT],
    /// Packets that have gone into transmission since the first prefetch.
    started: usize,
}

impl<T: Tracer> Port<T> {
    /// An empty port; `queue` is its number, which names its random streams. Most packets are of one of `sizes`.
    pub fn new(
        config: (&QueueConfig, u64),
        (pace, sizes): (Pace, [u32; 2]),
        meter: QueueMeter,
        tracer: T,
        seed: u64,
        queue: u32,
    ) -> Result<Self, QueueError> {
        let (config, rate_bps) = config;
        let discipline = build_queue(config, rate_bps, seed, queue)?;
        let watch = Watch::new(meter, tracer, Internals::of(&discipline));
        let pacer = Pacer::for_sizes(pace, sizes, Time::ZERO);
        let transmitter = Transmitter::new(Environment::new(seed, queue, [0, 0]), pacer, watch);
        Ok(Self { discipline, transmitter, marked_before: [Count::default(); DropCause::COUNT], started: 0 })
    }

    /// The same with hosts that several flows have in common, by group.
    #[must_use]
    pub fn with_hosts(mut self, hosts: Vec<HostNumbers>) -> Self {
        self.transmitter.observer_mut().hosts = hosts;
        self
    }

    /// Behind a shaper with a token bucket of `bucket` bytes in place of a transmitter.
    #[must_use]
    pub fn shaped(self, bucket: u32) -> Self {
        Self { transmitter: self.transmitter.shaped(bucket), ..self }
    }

    /// The packet that a shaper has handed on since the last call.
    pub fn passed(&mut self) -> Option<Packet<u32>> {
        self.transmitter.passed()
    }

    /// The same, by flow.
    #[must_use]
    pub fn with_hosts_of_flows(self, hosts: Vec<HostNumbers>) -> Self {
        let mut port = self.with_hosts(hosts);
        port.transmitter.observer_mut().hosts_by_flow = true;
        port
    }

    /// A packet of a flow of `group` arrives, which is put together where it is needed. Handles of packets dropped by it are
    /// added to `lost`. Returns when the transmitter will be done, if it was free and has started.
    #[inline(always)]
    pub fn arrive(
        &mut self,
        now: Time,
        packet: impl FnOnce() -> Packet<u32>,
        group: u16,
        lost: &mut Vec<u32>,
    ) -> Option<Time> {
        match &mut self.discipline {
            Hosted::BuiltIn(queue) => {
                self.transmitter.arrive(queue, now, packet(), group, Watch::shared_hosts, lost)
            }
            Hosted::Extension(queue) => {
                arrive_at_extension(&mut self.transmitter, queue, now, packet(), group, lost)
            }
        }
    }

    /// The transmitter has sent the last bit of a packet: which, and when it will be done with the next, if any.
    #[inline(always)]
    pub fn sent(&mut self, now: Time, lost: &mut Vec<u32>) -> (Option<Packet<u32>>, Option<Time>) {
        match &mut self.discipline {
            Hosted::BuiltIn(queue) => self.transmitter.sent(queue, now, lost),
            Hosted::Extension(queue) => sent_from_extension(&mut self.transmitter, queue, now, lost),
        }
    }

    /// Prefetches where coming arrivals will be put, and where the draw of one of them will look first if each draws
    /// once. Until then the queue moves on by some packets: hence two slots.
    #[inline]
    pub fn prefetch_ends(&self) {
        let Hosted::BuiltIn(queue) = &self.discipline else { return };
        let Some(fifo) = queue.fifo() else { return };
        let environment = self.transmitter.environment();
        let before = Environment::BEFORE_LAST_CANDIDATE;
        let drawn = fifo.first_look(environment.last_candidate(), 0) + before;
        let ends = [fifo.len() as usize + BATCH, drawn, drawn + 2];
        ends.into_iter().filter_map(|offset| fifo.slot(offset)).for_each(prefetch);
    }

    /// Shows `touch` flow and handle of packets that will be sent soon, and prefetches what they change here: the
    /// next [`BATCH`] packets where they wait in one FIFO, otherwise that in transmission.
    #[inline]
    pub fn prefetch_next(&mut self, touch: impl Fn(u32, u32)) {
        match &self.discipline {
            Hosted::BuiltIn(queue) => {
                prefetch_next(&self.transmitter, queue.fifo(), &mut self.started, touch);
            }
            Hosted::Extension(queue) => {
                prefetch_next_of_extension(&self.transmitter, queue, &mut self.started, touch);
            }
        }
    }

    /// Whether packets wait.
    pub fn has_waiting(&self) -> bool {
        self.discipline.backlog().packets > 0
    }

    /// Whether a trace of delivery chances paces it.
    pub fn is_traced(&self) -> bool {
        matches!(self.transmitter.pacer(), Pacer::Trace(_))
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
            Hosted::Extension(queue) => self.transmitter.tick(&mut **queue, now, lost),
        }
    }

    /// What a user-defined discipline did that ends the run.
    pub fn fault(&self) -> Option<&Fault> {
        self.discipline.fault()
    }

    /// The link's rate is `bps` from `now` on; the packet in transmission, if any, keeps the old one.
    pub fn set_rate(&mut self, bps: u64, now: Time) {
        self.transmitter.set_pace(Pace::Rate(bps), now);
    }

    /// A flow of `group` begins; its number is the next.
    pub fn add_flow(&mut self, group: u32) {
        self.transmitter.observer_mut().meter.add_flow(group);
    }

    /// Opens the measuring window.
    pub fn open(&mut self, now: Time) {
        let Watch { meter, internals, .. } = self.transmitter.observer_mut();
        meter.open(now);
        self.discipline.for_each_waiting(|packet| meter.waits_at_opening(Waiting::of(packet)));
        internals.open(now, &self.discipline);
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
        let Watch { meter, internals, .. } = self.transmitter.observer_mut();
        meter.close(now, marked);
        self.discipline.for_each_waiting(|packet| meter.waits_at_closing(now, Waiting::of(packet)));
        meter.check_closed();
        internals.hold(now, &self.discipline);
    }

    /// Adds a point to the meter's series.
    #[inline(never)]
    pub fn sample(&mut self, now: Time) {
        let Watch { meter, internals, .. } = self.transmitter.observer_mut();
        meter.sample(now, self.discipline.average_packets());
        internals.sample(&self.discipline);
    }

    /// Adds a snapshot of who is where in the queue.
    #[inline(never)]
    pub fn snapshot(&mut self) {
        if let Some(fifo) = self.discipline.fifo() {
            let meter = &mut self.transmitter.observer_mut().meter;
            meter.snapshot(fifo.len(), fifo.iter().map(|packet| packet.meta.flow as u32));
        }
    }

    /// What was measured.
    pub fn meter(&self) -> &QueueMeter {
        &self.transmitter.observer().meter
    }

    #[cfg(test)]
    pub fn meter_mut(&mut self) -> &mut QueueMeter {
        &mut self.transmitter.observer_mut().meter
    }

    /// The values that the discipline decides by.
    pub fn internals(&self) -> &Internals {
        &self.transmitter.observer().internals
    }

    /// Who listens.
    pub fn tracer_mut(&mut self) -> &mut T {
        &mut self.transmitter.observer_mut().tracer
    }

    /// Who listened.
    pub fn into_tracer(self) -> T {
        self.transmitter.into_observer().tracer
    }
}

/// As [`Transmitter::arrive`], at a user-defined queue.
#[inline(never)]
fn arrive_at_extension<T: Tracer>(
    transmitter: &mut Transmitter<Watch<T>>,
    queue: &mut Guarded,
    now: Time,
    packet: Packet<u32>,
    group: u16,
    lost: &mut Vec<u32>,
) -> Option<Time> {
    transmitter.arrive(queue, now, packet, group, Watch::shared_hosts, lost)
}

/// As [`Transmitter::sent`], with a user-defined queue.
#[inline(never)]
fn sent_from_extension<T: Tracer>(
    transmitter: &mut Transmitter<Watch<T>>,
    queue: &mut Guarded,
    now: Time,
    lost: &mut Vec<u32>,
) -> (Option<Packet<u32>>, Option<Time>) {
    transmitter.sent(queue, now, lost)
}

/// As [`Port::prefetch_next`], of packets that wait in `fifo`.
#[inline(always)]
fn prefetch_next<T: Tracer>(
    transmitter: &Transmitter<Watch<T>>,
    fifo: Option<&Fifo>,
    started: &mut usize,
    touch: impl Fn(u32, u32),
) {
    let Some(fifo) = fifo else {
        transmitter.sending().iter().for_each(|packet| touch(packet.meta.flow as u32, packet.handle));
        return;
    };
    *started += 1;
    if !started.is_multiple_of(BATCH) {
        return;
    }
    for offset in LEAD..LEAD + BATCH {
        fifo.slot(offset + 2 * BATCH).into_iter().for_each(prefetch);
        if let Some(Some(packet)) = fifo.slot(offset) {
            transmitter.observer().meter.prefetch(Waiting::of(packet));
            touch(packet.meta.flow as u32, packet.handle);
        }
    }
}

/// The same with a user-defined queue.
#[inline(never)]
fn prefetch_next_of_extension<T: Tracer>(
    transmitter: &Transmitter<Watch<T>>,
    queue: &Guarded,
    started: &mut usize,
    touch: impl Fn(u32, u32),
) {
    prefetch_next(transmitter, queue.fifo(), started, touch);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use fairdrop::{Ecn, Meta};

    /// A port with the queue of the first link of a scenario.
    fn port(queue: &str) -> Port {
        let text =
            format!("[queue]\n{queue}\n[[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = 1000\n");
        let scenario = Scenario::parse(&text, "test", &[]).unwrap();
        let meter = QueueMeter::new([0].into_iter(), 1, scenario.queue.limit);
        Port::new((&scenario.queue, 1_000_000), (Pace::Rate(1_000_000), [1000, 0]), meter, (), 1, 0).unwrap()
    }

    /// What leaves a port at which five packets arrive at once.
    fn fields_after(port: &mut Port, arriving: Ecn) -> Vec<Ecn> {
        let (mut lost, mut done, mut left) = (Vec::new(), None, Vec::new());
        for handle in 0..5 {
            let meta = Meta { ecn: arriving, ..Meta::of_flow(0, 1000) };
            let packet = || Packet::new(meta, Time::ZERO, handle);
            done = port.arrive(Time::ZERO, packet, 0, &mut lost).or(done);
        }
        while let Some(now) = done {
            let (packet, next) = port.sent(now, &mut lost);
            left.extend(packet.map(|packet| packet.meta.ecn));
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
