//! A queue with no network: Poisson or evenly spaced arrivals, exponential service, one discipline. What analytic
//! models of queue disciplines assume, and nothing else.

use crate::control::Control;
use crate::random::{self, FlowPurpose};
use serde::Serialize;

use fairdrop::{
    AnyDiscipline, AnyParams, Discipline, DropCause, Env, Heap, Meta, Packet, ParamError, Philox, Stream,
    Time,
};
use fairdrop_link::Environment;

/// Arrivals of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Poisson, with this rate in packets/s.
    Poisson(f64),
    /// Evenly spaced with a random phase, with this rate in packets/s.
    Constant(f64),
}

/// What to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct HostConfig {
    /// How the packets of each flow arrive.
    pub sources: Vec<Arrivals>,
    /// Rate of exponential service, packets/s.
    pub service_rate: f64,
    /// Arrivals to simulate, all flows together.
    pub arrivals: u64,
    /// The discipline. The packet in service stays in the queue until it is done, and can be drawn: when it is
    /// dropped, service begins again with the next.
    pub params: AnyParams,
    /// Seed.
    pub seed: u64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostResult {
    /// Simulated time, s.
    pub duration_s: f64,
    /// Packets offered, by flow.
    pub arrived: Vec<u64>,
    /// Packets served, by flow.
    pub served: Vec<u64>,
    /// Packets dropped, by flow.
    pub dropped: Vec<u64>,
    /// Packets that wait at the end, by flow.
    pub left: Vec<u64>,
    /// Fraction of time that nothing waits.
    pub empty_fraction: f64,
    /// Mean number of packets, over time.
    pub mean_packets: f64,
}

struct HostEnv {
    now: Time,
    environment: Environment,
    dropped: Vec<u64>,
}

impl Env<()> for HostEnv {
    fn now(&self) -> Time {
        self.now
    }

    fn flow_key(&self) -> [u64; 2] {
        self.environment.flow_key()
    }

    fn random(&mut self, stream: Stream) -> u64 {
        self.environment.random(stream)
    }

    fn dropped(&mut self, packet: Packet<()>, _cause: DropCause) {
        self.dropped[packet.meta.flow as usize] += 1;
    }
}

/// When each flow's next packet comes.
struct Sources<'a> {
    kinds: &'a [Arrivals],
    next: Vec<f64>,
    gaps: Vec<Philox>,
}

impl<'a> Sources<'a> {
    fn new(kinds: &'a [Arrivals], seed: u64) -> Self {
        let mut sources = Self { kinds, next: Vec::new(), gaps: Vec::new() };
        for (flow, kind) in kinds.iter().enumerate() {
            let mut gaps = random::of_flow(seed, flow as u32, FlowPurpose::Gap);
            sources.next.push(match kind {
                Arrivals::Poisson(rate) => random::exponential(&mut gaps) / rate,
                Arrivals::Constant(rate) => random::uniform(&mut gaps) / rate,
            });
            sources.gaps.push(gaps);
        }
        sources
    }

    /// The flow whose packet comes first, and when.
    fn first(&self) -> (usize, f64) {
        let mut first = (0, f64::INFINITY);
        for (flow, &at) in self.next.iter().enumerate() {
            if at < first.1 {
                first = (flow, at);
            }
        }
        first
    }

    fn advance(&mut self, flow: usize) {
        self.next[flow] += match self.kinds[flow] {
            Arrivals::Poisson(rate) => random::exponential(&mut self.gaps[flow]) / rate,
            Arrivals::Constant(rate) => 1.0 / rate,
        };
    }
}

/// First time in seconds, later than `now`, at which `due` has come by a clock of whole nanoseconds.
fn after(now: f64, due: Time) -> f64 {
    let mut at = due.seconds().max(now);
    while ((at * 1e9) as u64) < due.ns() {
        at = at.next_up();
    }
    at
}

/// Events between looks whether to stop.
const CHECK_EVERY: u64 = 1 << 10;

/// Simulates `config`. `None` when `control` stopped it.
///
/// # Errors
/// The discipline refuses its parameters.
pub fn queue_host(config: &HostConfig, control: &Control) -> Result<Option<HostResult>, ParamError> {
    let mut queue = AnyDiscipline::new(config.params.clone(), &mut Heap)?;
    let flows = config.sources.len();
    let mut env = HostEnv {
        now: Time::ZERO,
        environment: Environment::new(config.seed, 0, [0, 0]),
        dropped: vec![0; flows],
    };
    let mut sources = Sources::new(&config.sources, config.seed);
    let mut service = random::of_flow(config.seed, 0, FlowPurpose::Service);
    let (mut arrived, mut served) = (vec![0; flows], vec![0; flows]);
    let (mut clock, mut empty, mut packet_seconds, mut arrivals) = (0.0, 0.0, 0.0, 0);
    let mut done = f64::INFINITY;
    let mut events: u64 = 0;
    while arrivals < config.arrivals {
        events += 1;
        if events.is_multiple_of(CHECK_EVERY) && control.is_stopped() {
            return Ok(None);
        }
        let waiting = queue.backlog().packets;
        let (flow, arrival) = sources.first();
        let now = arrival.min(done);
        packet_seconds += (now - clock) * f64::from(waiting);
        if waiting == 0 {
            empty += now - clock;
        }
        clock = now;
        env.now = Time::from_ns((clock * 1e9) as u64);
        if done <= arrival {
            if queue.deadline().is_some_and(|due| queue.holds_back() && due <= env.now) {
                queue.tick(&mut env);
            }
            done = f64::INFINITY;
            match queue.dequeue(&mut env) {
                Some(packet) => served[packet.meta.flow as usize] += 1,
                // It is served, and leaves when it may.
                None if queue.holds_back() => done = queue.deadline().map_or(done, |due| after(clock, due)),
                None => {}
            }
        } else {
            arrivals += 1;
            arrived[flow] += 1;
            sources.advance(flow);
            queue.enqueue(Packet::new(Meta::of_flow(flow as u64, 1), env.now, ()), &mut env);
        }
        // Exponential service has no memory: when the packet in service was dropped, the time left fits the next.
        if queue.backlog().packets == 0 {
            done = f64::INFINITY;
        } else if done.is_infinite() {
            done = clock + random::exponential(&mut service) / config.service_rate;
        }
    }
    let mut left = vec![0; flows];
    queue.for_each_waiting(|packet| left[packet.meta.flow as usize] += 1);
    Ok(Some(HostResult {
        duration_s: clock,
        arrived,
        served,
        dropped: env.dropped,
        left,
        empty_fraction: empty / clock,
        mean_packets: packet_seconds / clock,
    }))
}
