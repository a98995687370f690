//! The steady load, and what every discipline borrows under it.

use std::hint::black_box;

use fairdrop::{AnyParams, Discipline, DrawnAhead, DropCause, Env, Meta, Packet, ParamValue, Stream, Time};

/// A linear congruential generator modulo 2^64 (multiplier and increment of the C standard's example). All users take
/// its high bits: three instructions, so that disciplines make up what is measured. `rte_red` has one of 32
/// bits. The same for flows and random draws, and in `rte.c` for flows.
pub struct Lcg(pub u64);

impl Lcg {
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        self.0
    }
}

/// Clock, randomness, and a count of what came back.
pub struct World<const BURSTS: bool> {
    now: Time,
    /// Numbers for draws, where arrivals come in bursts.
    ahead: DrawnAhead<BURST>,
    /// A generator for each purpose, as `Stream` wants it.
    random: [Lcg; Stream::COUNT],
    dropped: u64,
    /// Handles that came back, so that they are read.
    seen: u64,
}

impl<const BURSTS: bool> Env<u64> for World<BURSTS> {
    #[inline]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn flow_key(&self) -> [u64; 2] {
        [0, 0]
    }

    #[inline]
    fn random(&mut self, stream: Stream) -> u64 {
        let random = &mut self.random[stream as usize];
        if BURSTS && stream == Stream::Candidate {
            return self.ahead.next(|| random.next());
        }
        random.next()
    }

    #[inline]
    fn dropped(&mut self, packet: Packet<u64>, _: DropCause) {
        self.seen ^= packet.handle;
        self.dropped += 1;
    }
}

/// How long a packet waits. The disciplines that control delay have a target a quarter above it: their tests run, and they
/// drop little, as the queue is held whatever they do.
const DELAY_NS: u64 = 20_000_000;
/// Bytes of a packet.
pub const LENGTH: u32 = 1000;
/// Packets of a burst, where arrivals come in bursts: as many as drivers of network cards hand over at once.
const BURST: usize = 32;

/// Packets kept waiting.
pub fn held(limit: u32) -> u64 {
    u64::from(limit) * 3 / 4
}

/// Time between two arrivals, in nanoseconds.
pub fn step_ns(limit: u32) -> u64 {
    DELAY_NS / held(limit)
}

/// Parameters under which the logic of each discipline runs at the length that is held: RED's average is half-way
/// between its thresholds, and its probability there is 1 %.
pub fn params(name: &str, limit: u32) -> AnyParams {
    let mut params = AnyParams::of(name).expect("a discipline");
    params.set_link(limit, u64::from(LENGTH) * 8_000_000_000 / step_ns(limit));
    if name.starts_with("collar") {
        // They steer to half the buffer at most.
        params.set_link(2 * limit, u64::from(LENGTH) * 8_000_000_000 / step_ns(limit));
    }
    let limit = f64::from(limit);
    let bytes = limit * f64::from(LENGTH);
    // A discipline has some of these, and `set` passes over the others.
    for (owner, parameter, value) in [
        ("red", "min_th", limit * 0.5),
        ("red", "max_th", limit),
        ("red", "max_p", 0.02),
        ("chokew", "l_th", limit * 0.5),
        ("chokew", "l_minus", limit * 0.7),
        ("chokew", "l_plus", limit * 0.8),
        ("collar", "target", 1.25 * DELAY_NS as f64 * 1e-9),
        ("codel", "target", 1.25 * DELAY_NS as f64 * 1e-9),
        ("pie", "target", 1.25 * DELAY_NS as f64 * 1e-9),
        ("dualpi2", "target", 1.25 * DELAY_NS as f64 * 1e-9),
        // It weights waits by parts of the backlog, which vary from flow to flow.
        ("codel_af", "target", 2.5 * DELAY_NS as f64 * 1e-9),
        // One FIFO may hold what is free of the buffer, and a flow 32 rounds.
        ("a2fq", "buffer", 2.0 * bytes),
        ("a2fq", "bytes_per_round", (bytes / 100.0).clamp(2048.0, 1e6)),
    ] {
        params.set(owner, parameter, ParamValue::Number(value));
    }
    params
}

/// A discipline with its load.
pub struct Load<D, const BURSTS: bool> {
    queue: D,
    world: World<BURSTS>,
    arrivals: Lcg,
    step: u64,
    flows: u64,
    held: u64,
    offered: u64,
}

impl<D: Discipline<u64>, const BURSTS: bool> Load<D, BURSTS> {
    pub fn new(queue: D, limit: u32, flows: u32) -> Self {
        let world = World {
            now: Time::ZERO,
            ahead: DrawnAhead::new(),
            random: std::array::from_fn(|stream| Lcg(stream as u64 + 3)),
            dropped: 0,
            seen: 0,
        };
        let (held, step) = (held(limit), step_ns(limit));
        Self { queue, world, arrivals: Lcg(2), step, flows: u64::from(flows), held, offered: 0 }
    }

    /// Fills the queue and turns it over, so that holes and averages are as they will stay.
    pub fn settle(&mut self, turns: u64) {
        self.cycle(turns * self.held + 20_000);
        (self.offered, self.world.dropped) = (0, 0);
    }

    /// Packets dropped in a hundred arrivals since it settled.
    pub fn dropped_percent(&self) -> f64 {
        100.0 * self.world.dropped as f64 / self.offered as f64
    }

    /// What is timed and counted.
    #[inline(never)]
    pub fn measured_loop(&mut self, arrivals: u64) {
        self.cycle(arrivals);
        black_box(self.world.seen);
    }

    #[inline(never)]
    fn cycle(&mut self, arrivals: u64) {
        if BURSTS {
            for _ in 0..arrivals / BURST as u64 {
                self.burst();
            }
        } else {
            for _ in 0..arrivals {
                self.arrive();
                self.depart();
            }
        }
        self.offered += arrivals;
    }

    /// A burst of packets is offered; then as many depart as wait over the length to hold.
    #[inline(always)]
    fn burst(&mut self) {
        let draws = &mut self.world.random[Stream::Candidate as usize];
        self.world.ahead.fill(|| draws.next());
        self.queue.prepare(self.world.ahead.waiting());
        for _ in 0..BURST {
            self.arrive();
        }
        for _ in 0..BURST {
            self.depart();
        }
    }

    #[inline(always)]
    fn arrive(&mut self) {
        let flow = (u128::from(self.arrivals.next()) * u128::from(self.flows)) >> 64;
        let now = self.world.now;
        let packet = Packet::new(Meta::of_flow(flow as u64, LENGTH), now, now.ns());
        self.world.now = Time::from_ns(now.ns() + self.step);
        self.queue.enqueue(packet, &mut self.world);
    }

    /// When more than the length to hold wait, one departs.
    #[inline(always)]
    fn depart(&mut self) {
        if u64::from(self.queue.backlog().packets) > self.held
            && let Some(packet) = self.queue.dequeue(&mut self.world)
        {
            self.world.seen ^= packet.handle;
        }
    }
}
