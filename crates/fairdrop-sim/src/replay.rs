//! Feeds a capture through one queue and link.
//!
//! Packets arrive when the capture says (divided by `speed`), with their length on the wire; nothing reacts to what
//! happens to them, so TCP flows do not slow down as they would. The window opens at the first arrival and closes
//! when the queue has drained, so every packet has left or was dropped.

use crate::control::{Control, Late};
use crate::meter::{QueueMeter, jain_index};
use crate::port::Port;
use crate::result::{
    Drops, FlowResult, Measured, QueueFacts, RunResult, Windows, WindowsSeries, fraction, group_results,
    queue_result, rate_bps,
};
use crate::scenario::{QueueConfig, QueueError};
use crate::watch::HostNumbers;
use fairdrop::{MAX_LEN, Meta, Packet, Time};
use fairdrop_capture::{Capture, MAX_PACKET_BYTES, Protocol, count};
use fairdrop_extension::Fault;
use fairdrop_link::Pace;
use fairdrop_tcp::TransportCount;
use std::collections::HashMap;
use std::net::IpAddr;
use thiserror::Error;

const _: () = assert!(MAX_PACKET_BYTES <= MAX_LEN, "what a capture has, a queue takes");

/// Points of the queue's time series.
const SAMPLES: u64 = 600;
/// Packets between looks at the clock of the outside world.
const CHECK_EVERY: usize = 1 << 10;
/// Calls of a discipline's timer between two packets that leave, after which one that still has packets is given up.
const MOST_IN_VAIN: u32 = 1 << 16;
/// The latest time of a replay: half of what the clock holds, so that no sum of times on the way saturates.
const LATEST: Time = Time::from_ns(1 << 63);

/// How a capture is replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayConfig {
    /// Rate of the link, bit/s.
    pub rate_bps: u64,
    /// Time runs this many times faster than in the capture.
    pub speed: f64,
    /// The queue.
    pub queue: QueueConfig,
}

/// Why a capture cannot be replayed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ReplayError {
    /// There is no such queue.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// A user-defined discipline went wrong.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// It took too long.
    #[error(transparent)]
    Late(#[from] Late),
    /// The capture, at this speed, lasts longer than the clock can count.
    #[error(
        "speed = {speed:?} is not valid for a capture of {span_s} s: it would last {lasts_s:e} s, and the clock holds \
         {latest_s} s (292 years); valid: a speed of {least_speed:e} or more, or long gaps shortened",
        latest_s = LATEST.seconds(),
        least_speed = span_s / LATEST.seconds(),
        lasts_s = span_s / speed
    )]
    Span {
        /// As it was given.
        speed: f64,
        /// From the first packet of the capture to the last, s.
        span_s: f64,
    },
    /// The link sends so slowly that the clock cannot count until the queue has drained.
    #[error(
        "rate = {rate_bps} bit/s is not valid for a capture of {span_s} s with packets of up to {} and a queue of \
         {limit}: to send what waits at its end takes longer than the clock holds, {latest_s} s (292 years) with speed = \
         {speed:?}; valid: a higher rate or a smaller limit",
        count(*.largest, "byte"),
        latest_s = LATEST.seconds()
    )]
    Drain {
        /// As it was given.
        rate_bps: u64,
        /// As it was given.
        speed: f64,
        /// From the first packet of the capture to the last, s.
        span_s: f64,
        /// The largest packet, bytes.
        largest: u32,
        /// Packets that may wait.
        limit: u32,
    },
}

/// When the last packet arrives at `config`'s speed.
///
/// # Errors
/// The clock cannot count as far, or not until the queue has drained.
fn last_arrival(capture: &Capture, config: &ReplayConfig) -> Result<Time, ReplayError> {
    let ReplayConfig { rate_bps, speed, .. } = *config;
    let span = capture.duration_ns() as f64;
    let span_s = span / 1e9;
    let end = span / speed;
    let fits = speed > 0.0 && speed.is_finite() && end <= LATEST.ns() as f64;
    if !fits {
        return Err(ReplayError::Span { speed, span_s });
    }
    let end = Time::from_ns(end as u64);
    let largest = capture.arrivals.iter().map(|arrival| arrival.wire_len).max().unwrap_or(0);
    let limit = config.queue.limit;
    // Packets that wait at the end, packets on the wire, and one more for rounding.
    let bytes = u128::from(capture.wire_bytes()).min((u128::from(limit) + 2) * u128::from(largest));
    let drain_ns = bytes * 8_000_000_000 / u128::from(rate_bps.max(1));
    if u128::from(end.ns()) + drain_ns > u128::from(LATEST.ns()) {
        return Err(ReplayError::Drain { rate_bps, speed, span_s, largest, limit });
    }
    Ok(end)
}

/// Replays `capture` under `seed`. `None` when `control` stopped it.
///
/// # Errors
/// A discipline refuses its parameters, or the clock cannot count as far as `config` says.
pub fn replay(
    capture: &Capture,
    config: &ReplayConfig,
    seed: u64,
    control: &Control,
) -> Result<Option<RunResult>, ReplayError> {
    let end = last_arrival(capture, config)?;
    let clock = control.begin_run();
    let groups = Groups::of(capture);
    let meter =
        QueueMeter::new(groups.of_flow.iter().map(|&g| g as u32), groups.names.len(), config.queue.limit);
    let pace = (Pace::Rate(config.rate_bps), [1514, 66]);
    let queue = Port::new((&config.queue, config.rate_bps), pace, meter, (), seed, 0)?;
    let mut link = Link { port: queue.with_hosts_of_flows(hosts(capture)), done: None, lost: Vec::new() };
    let scale = |time_ns: u64| Time::from_ns((time_ns as f64 / config.speed) as u64);
    let grid = Time::from_ns((end.ns() / SAMPLES).max(1));
    let (mut next_sample, mut part) = (Time::ZERO, 0);
    for (index, arrival) in capture.arrivals.iter().enumerate() {
        let now = scale(arrival.time_ns);
        while next_sample <= now {
            link.send_until(next_sample);
            link.port.sample(next_sample);
            next_sample = next_sample.after(grid);
        }
        link.send_until(now);
        let meta = Meta::of_flow(u64::from(arrival.flow), arrival.wire_len);
        link.arrive(Packet::new(meta, now, index as u32), groups.of_flow[arrival.flow as usize]);
        if index % CHECK_EVERY == 0 {
            part = control.progress(part, now, end);
            if control.is_stopped() {
                return Ok(None);
            }
            link.check()?;
            if let Some(limit) = clock.exceeded() {
                let (names, limit_s) = (config.queue.discipline.into(), limit.as_secs_f64());
                return Err(Late { names, limit_s, at_s: now.seconds(), of_s: end.seconds() }.into());
            }
        }
    }
    let drained = link.drain().max(end);
    link.check()?;
    link.port.close(drained);
    link.check()?;
    control.progress(part, end, end);
    Ok(collect(capture, config, seed, &groups, &link.port, grid, control))
}

/// A number for each address, beyond those of flows, which stand for hosts without one.
fn hosts(capture: &Capture) -> Vec<HostNumbers> {
    let mut numbers = HashMap::new();
    let mut number = |end: IpAddr| {
        let next = (1 << 32) + numbers.len() as u64;
        *numbers.entry(end).or_insert(next)
    };
    capture.flows.iter().map(|flow| flow.ends.map(|end| end.map(&mut number))).collect()
}

/// A port and the end of its current transmission.
struct Link {
    port: Port,
    done: Option<Time>,
    lost: Vec<u32>,
}

impl Link {
    /// The fault of a user-defined discipline, if there was one.
    fn check(&self) -> Result<(), Fault> {
        self.port.fault().map_or(Ok(()), |fault| Err(fault.clone()))
    }

    fn arrive(&mut self, packet: Packet<u32>, group: usize) {
        if let Some(done) = self.port.arrive(packet.enqueued, || packet, group as u16, &mut self.lost) {
            self.done = Some(done);
        }
        self.lost.clear();
    }

    /// Transmits up to `now`.
    fn send_until(&mut self, now: Time) {
        while self.next().is_some_and(|next| next <= now) {
            self.step();
        }
    }

    /// When something happens next if nothing arrives.
    fn next(&self) -> Option<Time> {
        match (self.done, self.port.deadline()) {
            (Some(done), Some(due)) => Some(done.min(due)),
            (done, due) => done.or(due),
        }
    }

    /// Lets that happen. Returns when a packet has left.
    fn step(&mut self) -> Option<Time> {
        let due = self.port.deadline();
        let sent = self.done.filter(|&done| due.is_none_or(|due| done <= due));
        if let Some(done) = sent {
            self.done = self.port.sent(done, &mut self.lost).1;
        } else if let Some(due) = due
            && let Some(done) = self.port.tick(due, &mut self.lost)
        {
            self.done = Some(done);
        }
        self.lost.clear();
        sent
    }

    /// Transmits until nothing waits, or the discipline will not give it; returns when the last packet left.
    fn drain(&mut self) -> Time {
        let (mut last, mut in_vain) = (Time::ZERO, 0);
        while (self.done.is_some() || self.port.has_waiting()) && self.next().is_some() {
            if let Some(sent) = self.step() {
                (last, in_vain) = (sent, 0);
            }
            in_vain += 1;
            if in_vain > MOST_IN_VAIN {
                break;
            }
        }
        last
    }
}

/// Flows grouped by protocol: the protocols that occur.
struct Groups {
    names: Vec<String>,
    of_flow: Vec<usize>,
}

impl Groups {
    fn of(capture: &Capture) -> Self {
        let present: Vec<_> = Protocol::ALL
            .into_iter()
            .filter(|protocol| capture.flows.iter().any(|flow| flow.protocol == *protocol))
            .collect();
        let number = |protocol| present.iter().position(|other| *other == protocol).unwrap_or(0);
        Self {
            names: present.iter().map(|protocol| protocol.name().to_owned()).collect(),
            of_flow: capture.flows.iter().map(|flow| number(flow.protocol)).collect(),
        }
    }
}

fn collect(
    capture: &Capture,
    config: &ReplayConfig,
    seed: u64,
    groups: &Groups,
    port: &Port,
    grid: Time,
    control: &Control,
) -> Option<RunResult> {
    let meter = port.meter();
    let discipline = config.queue.discipline;
    let facts = QueueFacts {
        name: "link",
        discipline,
        rate_bps: config.rate_bps,
        mean_rate_bps: config.rate_bps as f64,
        limit: config.queue.limit,
        sample: Some(grid),
        group_names: &groups.names,
    };
    let name = |flow: usize| capture.flows[flow].name.clone();
    let queue = queue_result(&facts, port, |flow| flow, name, control)?;
    let of_flow = |flow| flow_result(capture, config, meter, flow);
    let flows = control.gather((0..capture.flows.len()).map(of_flow))?;
    let throughputs = || flows.iter().map(|flow| flow.measured.throughput_bps);
    let fair_share_bps = config.rate_bps as f64 / flows.len().max(1) as f64;
    let names: Vec<_> = groups.names.iter().map(|name| (name.clone(), name.clone())).collect();
    Some(RunResult {
        discipline,
        seed,
        measured_from_s: 0.0,
        measured_to_s: meter.window().seconds(),
        link: "link".into(),
        link_rate_bps: config.rate_bps,
        fair_share_bps,
        jain_index: jain_index(throughputs()),
        largest_over_fair_share: throughputs().fold(0.0, f64::max) / fair_share_bps,
        utilisation: queue.utilisation,
        events: queue.arrivals + queue.departures,
        valid: true,
        problems: Vec::new(),
        groups: group_results(&names, &flows, |flow| groups.of_flow[flow]),
        flows,
        queues: vec![queue],
        windows: WindowsSeries::default(),
        link_losses: Vec::new(),
        live: None,
    })
}

fn flow_result(capture: &Capture, config: &ReplayConfig, meter: &QueueMeter, flow: usize) -> FlowResult {
    let count = &meter.flows()[flow];
    let info = &capture.flows[flow];
    let drops = Drops::of(meter, flow as u32);
    let throughput_bps = rate_bps(count.sent, meter.window());
    FlowResult {
        name: info.name.clone(),
        group: info.protocol.name().into(),
        transport: info.protocol.name().into(),
        class: 0,
        measured: Measured {
            offered_bps: rate_bps(count.arrived(), meter.window()),
            throughput_bps,
            goodput_bps: None,
            share: throughput_bps / config.rate_bps as f64,
            drop_fraction: fraction(drops.total(), count.arrived().packets),
            arrivals: count.arrived().packets,
            drops,
            transport: TransportCount::default(),
        },
        completed_at_s: None,
        fct_s: None,
        base_rtt_s: None,
        windows: Windows::default(),
    }
}
