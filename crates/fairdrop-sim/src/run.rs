//! Runs a scenario and says what happened.

use crate::control::Control;
use crate::engine::Engine;
use crate::meter::jain_index;
use crate::port::Port;
use crate::result::{
    Drops, FlowResult, Measured, QueueFacts, QueueResult, RunResult, WindowsSeries, fraction, group_results,
    queue_result, rate_bps,
};
use crate::scenario::{Group, Scenario};
use crate::trace::{LinkTracer, TraceSink, Tracer};
use fairdrop::{ParamError, Time};
use std::io;

/// Runs `scenario` under `seed`. `None` when `control` stopped it.
///
/// # Errors
/// A discipline refuses its parameters.
pub fn simulate(scenario: &Scenario, seed: u64, control: &Control) -> Result<Option<RunResult>, ParamError> {
    let mut engine = Engine::new(scenario, seed)?;
    let finished = control.timed(|| engine.run(control));
    Ok(finished.then(|| collect(scenario, seed, &engine)))
}

/// The same, with a trace of each link that has a queue: `sink` makes the one of the link with the given number. The
/// result, if there is one, is that of [`simulate`]. A run that is stopped leaves a trace that ends there.
///
/// # Errors
/// A discipline refuses its parameters.
///
/// The inner error: a trace cannot be written.
pub fn simulate_traced<S: TraceSink>(
    scenario: &Scenario,
    seed: u64,
    control: &Control,
    mut sink: impl FnMut(usize) -> S,
) -> Result<io::Result<Option<RunResult>>, ParamError> {
    let mut engine = Engine::traced(scenario, seed, |link| LinkTracer::new(sink(link)))?;
    let finished = control.timed(|| engine.run(control));
    let result = finished.then(|| collect(scenario, seed, &engine));
    let written: io::Result<Vec<S>> = engine.into_tracers().map(LinkTracer::finish).collect();
    Ok(written.map(|_| result))
}

fn collect(scenario: &Scenario, seed: u64, engine: &Engine<'_, impl Tracer>) -> RunResult {
    let names = FlowNames::of(scenario);
    let queues: Vec<QueueResult> = queue_numbers(scenario, engine)
        .map(|(number, port)| queue_result(&facts(scenario, number, &names.groups), port, |f| names.flow(f)))
        .collect();
    let reference = queue_numbers(scenario, engine).next();
    let link = &scenario.links[reference.as_ref().map_or(0, |(number, _)| *number)];
    let flows: Vec<_> = (0..engine.flows().len())
        .map(|flow| flow_result(scenario, engine, &names, flow, link.rate_bps))
        .collect();
    let crossing: Vec<f64> = match queues.first() {
        Some(queue) => queue.throughput_bps_by_flow.iter().map(|(_, bps)| *bps).collect(),
        None => flows.iter().map(|flow| flow.measured.throughput_bps).collect(),
    };
    let fair_share_bps = link.rate_bps as f64 / crossing.len().max(1) as f64;
    let group_names: Vec<_> =
        scenario.groups.iter().map(|group| (group.name.clone(), group.transport.name().into())).collect();
    let windows = engine.flows().window_series();
    let lost = engine.stray_losses();
    let problems = (lost > 0)
        .then(|| format!("{lost} packets were lost on links that are not under study"))
        .into_iter()
        .collect::<Vec<_>>();
    RunResult {
        discipline: scenario.queue.discipline,
        seed,
        measured_from_s: scenario.warm_up.seconds(),
        measured_to_s: scenario.duration.seconds(),
        link: link.name.clone(),
        link_rate_bps: link.rate_bps,
        fair_share_bps,
        jain_index: jain_index(crossing.iter().copied()),
        largest_over_fair_share: crossing.iter().copied().fold(0.0, f64::max) / fair_share_bps,
        utilisation: queues.first().map_or(0.0, |queue| queue.utilisation),
        events: engine.handled(),
        valid: problems.is_empty(),
        problems,
        groups: group_results(&group_names, &flows, |flow| names.group_of(flow)),
        flows,
        queues,
        windows: WindowsSeries {
            t_s: windows.times.iter().map(|time| time.seconds()).collect(),
            cwnd_packets: windows
                .by_flow
                .iter()
                .map(|(flow, values)| (names.flow(*flow as usize), values.clone()))
                .collect(),
        },
    }
}

/// Links with a queue under study, by number, and their ports.
fn queue_numbers<'a, T: Tracer>(
    scenario: &'a Scenario,
    engine: &'a Engine<'_, T>,
) -> impl Iterator<Item = (usize, &'a Port<T>)> {
    (0..scenario.links.len()).filter_map(|number| engine.port(number).map(|port| (number, port)))
}

fn facts<'a>(scenario: &'a Scenario, number: usize, group_names: &'a [String]) -> QueueFacts<'a> {
    let link = &scenario.links[number];
    let queue = scenario.queue_of(link);
    QueueFacts {
        name: &link.name,
        discipline: queue.map_or("droptail", |queue| queue.discipline),
        rate_bps: link.rate_bps,
        limit: queue.map_or(0, |queue| queue.limit),
        sample: scenario.sample,
        group_names,
    }
}

fn flow_result(
    scenario: &Scenario,
    engine: &Engine<'_, impl Tracer>,
    names: &FlowNames,
    flow: u32,
    reference_bps: u64,
) -> FlowResult {
    let number = flow as usize;
    let group = &scenario.groups[names.group_of(number)];
    let window = scenario.duration.since(scenario.warm_up);
    let delivered = engine.flows().delivered(flow);
    let counts: Vec<_> = group
        .forward
        .iter()
        .filter_map(|&link| engine.port(link))
        .filter_map(|port| port.meter().flows().get(number))
        .collect();
    let mut drops = Drops::default();
    for count in &counts {
        drops.0.iter_mut().zip(count.dropped).for_each(|(sum, dropped)| *sum += dropped);
    }
    // A flow that crosses no queue under study is measured where it ends.
    let arrived = counts.first().map_or(delivered.all, |count| count.arrived);
    let throughput_bps = rate_bps(counts.last().map_or(delivered.all, |count| count.sent), window);
    FlowResult {
        name: names.flow(number),
        group: group.name.clone(),
        transport: group.transport.name().into(),
        class: group.class,
        measured: Measured {
            offered_bps: rate_bps(arrived, window),
            throughput_bps,
            goodput_bps: Some(rate_bps(delivered.distinct, window)),
            share: throughput_bps / reference_bps as f64,
            drop_fraction: fraction(drops.total(), arrived.packets),
            arrivals: arrived.packets,
            drops,
            transport: engine.flows().transport_count(flow),
        },
        base_rtt_s: Some(base_rtt(scenario, group).seconds()),
        windows: engine.flows().windows(flow, scenario.duration),
    }
}

/// Propagation there and back, hosts' own links included.
fn base_rtt(scenario: &Scenario, group: &Group) -> Time {
    let shared = group.forward.iter().chain(&group.backward).map(|&link| scenario.links[link].delay.ns());
    Time::from_ns(shared.sum::<u64>() + 4 * group.access_delay.ns())
}

/// Names of flows and groups.
struct FlowNames {
    groups: Vec<String>,
    /// First flow of each group.
    first: Vec<usize>,
}

impl FlowNames {
    fn of(scenario: &Scenario) -> Self {
        let first = scenario.groups.iter().scan(0, |next, group| {
            let first = *next;
            *next += group.count as usize;
            Some(first)
        });
        Self {
            groups: scenario.groups.iter().map(|group| group.name.clone()).collect(),
            first: first.collect(),
        }
    }

    fn group_of(&self, flow: usize) -> usize {
        self.first.partition_point(|&first| first <= flow) - 1
    }

    fn flow(&self, flow: usize) -> String {
        let group = self.group_of(flow);
        format!("{}[{}]", self.groups[group], flow - self.first[group])
    }
}
