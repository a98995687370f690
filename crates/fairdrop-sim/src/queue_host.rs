//! A queue with no network: Poisson arrivals, exponential service, one discipline. What analytic models of queue
//! disciplines assume, simulated exactly: the next event is drawn from competing exponentials.

use crate::random::{self, FlowPurpose};
use fairdrop::{
    AnyDiscipline, AnyParams, Discipline, DropCause, Env, Meta, Packet, ParamError, Philox, Slot, Stream,
    Time, slots_for,
};

/// What to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct HostConfig {
    /// Arrival rate of each flow, packets/s.
    pub arrival_rates: Vec<f64>,
    /// Service rate, packets/s.
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
#[derive(Clone, Debug, PartialEq)]
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
    streams: [Philox; Stream::COUNT],
    dropped: Vec<u64>,
}

impl Env<()> for HostEnv {
    fn now(&self) -> Time {
        self.now
    }

    fn random(&mut self, stream: Stream) -> u64 {
        self.streams[stream as usize].next_u64()
    }

    fn dropped(&mut self, packet: Packet<()>, _cause: DropCause) {
        self.dropped[packet.meta.flow as usize] += 1;
    }
}

/// Simulates `config`.
///
/// # Errors
/// The discipline refuses its parameters.
pub fn queue_host(config: &HostConfig) -> Result<HostResult, ParamError> {
    let slots: Box<[Slot<()>]> =
        std::iter::repeat_with(|| None).take(slots_for(config.params.limit())).collect();
    let mut queue = AnyDiscipline::new(config.params.clone(), slots)?;
    let flows = config.arrival_rates.len();
    let total: f64 = config.arrival_rates.iter().sum();
    let mut env =
        HostEnv { now: Time::ZERO, streams: random::of_queue(config.seed, 0), dropped: vec![0; flows] };
    let mut gaps = random::of_flow(config.seed, 0, FlowPurpose::Gap);
    let mut choices = random::of_flow(config.seed, 0, FlowPurpose::Service);
    let (mut arrived, mut served) = (vec![0; flows], vec![0; flows]);
    let (mut clock, mut empty, mut packet_seconds, mut arrivals) = (0.0, 0.0, 0.0, 0);
    while arrivals < config.arrivals {
        let waiting = queue.backlog().packets;
        let event_rate = total + if waiting > 0 { config.service_rate } else { 0.0 };
        let gap = random::exponential(&mut gaps) / event_rate;
        clock += gap;
        packet_seconds += gap * f64::from(waiting);
        if waiting == 0 {
            empty += gap;
        }
        env.now = Time::from_ns((clock * 1e9) as u64);
        let mut choice = random::uniform(&mut choices) * event_rate;
        if let Some(flow) = config.arrival_rates.iter().position(|rate| {
            choice -= rate;
            choice < 0.0
        }) {
            arrivals += 1;
            arrived[flow] += 1;
            queue.admit(Packet::new(Meta::of_flow(flow as u64, 1), env.now, ()), &mut env);
        } else if let Some(packet) = queue.next(&mut env) {
            served[packet.meta.flow as usize] += 1;
        }
    }
    let mut left = vec![0; flows];
    queue.fifo().iter().for_each(|packet| left[packet.meta.flow as usize] += 1);
    Ok(HostResult {
        duration_s: clock,
        arrived,
        served,
        dropped: env.dropped,
        left,
        empty_fraction: empty / clock,
        mean_packets: packet_seconds / clock,
    })
}
