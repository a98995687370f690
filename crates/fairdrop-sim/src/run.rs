//! Runs a scenario and says what happened.

use crate::control::{Control, Late};
use crate::engine::{Engine, Excess, LossyLink};
use crate::memory::Estimate;
use crate::meter::jain_index;
use crate::port::Port;
use crate::result::{
    Drops, FlowResult, LinkLoss, Measured, QueueFacts, QueueResult, RunResult, Windows, WindowsSeries,
    fraction, group_results, queue_result, rate_bps, transfers_result,
};
use crate::scenario::{ExtensionError, Extensions};
use crate::scenario::{Group, Problems, QueueError, Scenario};
use crate::trace::{LinkTracer, TraceSink, Tracer};
use fairdrop::{Count, Time};
use fairdrop_capture::open_regular;
use fairdrop_config::MAX_TEXT_BYTES;
use fairdrop_extension::Fault;
use fairdrop_tcp::TransportCount;
use std::io;
use std::path::Path;
use thiserror::Error;

/// Why a run has no result.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum RunError {
    /// A discipline refuses its parameters, or there is no memory for its queue.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// A user-defined part went wrong.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// What was under way needed more memory than there is.
    #[error(transparent)]
    Memory(#[from] Excess),
    /// It took too long.
    #[error(transparent)]
    Late(#[from] Late),
}

/// Why a file gave no result.
#[derive(Debug, Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("{0}: {1}")]
    Read(String, io::Error),
    /// A user-defined part cannot be taken, so there is nothing to name in it.
    #[error(transparent)]
    Extension(#[from] ExtensionError),
    /// It is no valid scenario.
    #[error(transparent)]
    Scenario(#[from] Problems),
    /// The run has no result.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Runs the scenario of a file under its seed, with settings such as `queue.discipline=red` in place of what it says, and parts
/// (user-defined) that it may name.
///
/// # Errors
/// The file cannot be read, is not valid, or its run has no result.
///
/// # Panics
/// Never: only who has the control of a run can stop it.
pub fn run_file(file: &str, settings: &[&str], extensions: &Extensions) -> Result<RunResult, FileError> {
    let text = open_regular(Path::new(file), MAX_TEXT_BYTES)
        .and_then(io::read_to_string)
        .map_err(|error| FileError::Read(file.into(), error))?;
    let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
    let scenario = Scenario::parse_with(&text, file, &settings, extensions, &Control::default())?;
    let run = simulate(&scenario, scenario.seed, &Control::default())?;
    Ok(run.expect("nobody else has its control"))
}

/// Runs `scenario` under `seed`. `None` when `control` stopped it.
///
/// # Errors
/// A discipline refuses its parameters, or the run needs more memory than `control` allows.
pub fn simulate(scenario: &Scenario, seed: u64, control: &Control) -> Result<Option<RunResult>, RunError> {
    let Some(mut engine) = Engine::new(scenario, seed, control)? else { return Ok(None) };
    let finished = run(scenario, &mut engine, control);
    match problem(scenario, &engine) {
        Some(error) => Err(error),
        None => Ok(finished.then(|| collect(scenario, seed, &engine, control)).flatten()),
    }
}

/// The same, with a trace of each link that has a queue: `sink` makes the one of the link with the given number. The
/// result, if there is one, is that of [`simulate`]. A run that is stopped leaves a trace that ends there.
///
/// # Errors
/// As [`simulate`]. The inner error: a trace cannot be written.
pub fn simulate_traced<'s, S: TraceSink + 's>(
    scenario: &Scenario,
    seed: u64,
    control: &Control,
    mut sink: impl FnMut(usize) -> S,
) -> Result<io::Result<Option<RunResult>>, RunError> {
    traced(scenario, seed, control, &mut |link| Box::new(sink(link)))
}

/// Sinks behind pointers: the engine with every discipline is compiled once, here, and not again for each kind of sink.
fn traced<'s>(
    scenario: &Scenario,
    seed: u64,
    control: &Control,
    sink: &mut dyn FnMut(usize) -> Box<dyn TraceSink + 's>,
) -> Result<io::Result<Option<RunResult>>, RunError> {
    let tracer = |link| LinkTracer::new(sink(link));
    let Some(mut engine) = Engine::traced(scenario, seed, control, tracer)? else { return Ok(Ok(None)) };
    let finished = run(scenario, &mut engine, control);
    if let Some(error) = problem(scenario, &engine) {
        return Err(error);
    }
    let result = finished.then(|| collect(scenario, seed, &engine, control)).flatten();
    let written: io::Result<Vec<_>> = engine.into_tracers().map(LinkTracer::finish).collect();
    Ok(written.map(|_| result))
}

/// Why a run has no result, though nobody stopped it.
fn problem(scenario: &Scenario, engine: &Engine<'_, impl Tracer>) -> Option<RunError> {
    let late = || {
        let (limit, at) = engine.exceeded()?;
        Some(Late {
            names: scenario.name_of_runs(),
            limit_s: limit.as_secs_f64(),
            at_s: at.seconds(),
            of_s: scenario.duration.seconds(),
        })
    };
    let fault = engine.fault().map(|fault| fault.clone().into());
    fault.or_else(|| late().map(Into::into)).or_else(|| engine.excess().map(Into::into))
}

/// Runs to the end, within the memory that there is. Returns whether it came to the end.
fn run(scenario: &Scenario, engine: &mut Engine<'_, impl Tracer>, control: &Control) -> bool {
    if let Some(bytes) = control.memory() {
        engine.limit_room(bytes.saturating_sub(Estimate::of(scenario).fixed_bytes()));
    }
    control.timed(|| engine.run(control))
}

/// What a finished run found; `None` when `control` stopped that.
pub(crate) fn collect(
    scenario: &Scenario,
    seed: u64,
    engine: &Engine<'_, impl Tracer>,
    control: &Control,
) -> Option<RunResult> {
    let rows = Rows::of(scenario, engine, control)?;
    let group_names: Vec<_> = scenario.groups.iter().map(|group| group.name.clone()).collect();
    let queues: Vec<QueueResult> = queue_numbers(scenario, engine)
        .map(|(number, port)| {
            let facts = facts(scenario, number, &group_names);
            queue_result(&facts, port, |flow| rows.of_flow[flow], |row| rows.name(scenario, row), control)
        })
        .collect::<Option<_>>()?;
    let reference = queue_numbers(scenario, engine).next();
    let link = &scenario.links[reference.as_ref().map_or(0, |(number, _)| *number)];
    let of_row = |row| flow_result(scenario, engine, &rows, row, link.rate_bps);
    let flows = control.gather((0..rows.members.len()).map(of_row))?;
    let crossing = crossing(scenario, queues.first(), &flows);
    let fair_share_bps = link.rate_bps as f64 / crossing.len().max(1) as f64;
    let named: Vec<_> =
        scenario.groups.iter().map(|group| (group.name.clone(), group.transport.name().into())).collect();
    let windows = engine.flows().window_series();
    let mut groups = group_results(&named, &flows, |row| rows.group[row]);
    for (number, group) in groups.iter_mut().enumerate() {
        group.flows = scenario.groups[number].count;
        group.transfers = engine.flows().transfers(number).map(transfers_result);
    }
    let problems = engine.stray_losses().sentences(scenario);
    Some(RunResult {
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
        groups,
        flows,
        queues,
        windows: WindowsSeries {
            t_s: windows.times.iter().map(|time| time.seconds()).collect(),
            cwnd_packets: windows
                .by_flow
                .iter()
                .map(|(flow, values)| (rows.name(scenario, rows.of_flow[*flow as usize]), values.clone()))
                .collect(),
        },
        live: None,
        link_losses: engine.lossy_links().map(|(link, lossy)| link_loss(scenario, link, lossy)).collect(),
    })
}

fn link_loss(scenario: &Scenario, link: usize, lossy: &LossyLink) -> LinkLoss {
    let groups = scenario.groups.iter().zip(&lossy.lost);
    LinkLoss {
        name: scenario.links[link].name.clone(),
        offered: lossy.offered.into(),
        carried: lossy.carried.into(),
        lost: lossy.all_lost().into(),
        lost_by_group: groups.map(|(group, &lost)| (group.name.clone(), lost.into())).collect(),
    }
}

/// Throughput of each lasting flow that crosses the first queue. Connections of populations have no fair share;
/// where there is nothing else, each population counts as one flow.
fn crossing(scenario: &Scenario, queue: Option<&QueueResult>, flows: &[FlowResult]) -> Vec<f64> {
    let all: Vec<(&str, f64)> = match queue {
        Some(queue) => queue.throughput_bps_by_flow.iter().map(|(name, bps)| (&**name, *bps)).collect(),
        None => flows.iter().map(|flow| (&*flow.name, flow.measured.throughput_bps)).collect(),
    };
    let populations: Vec<_> =
        scenario.groups.iter().filter(|group| group.is_population()).map(|group| &*group.name).collect();
    let lasting = all.iter().filter(|(name, _)| !populations.contains(name));
    let lasting: Vec<_> = lasting.map(|(_, bps)| *bps).collect();
    if lasting.is_empty() { all.into_iter().map(|(_, bps)| bps).collect() } else { lasting }
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
        mean_rate_bps: link.mean_rate_bps(scenario.warm_up, scenario.duration),
        limit: queue.map_or(0, |queue| queue.limit),
        sample: scenario.sample,
        group_names,
    }
}

fn flow_result(
    scenario: &Scenario,
    engine: &Engine<'_, impl Tracer>,
    rows: &Rows,
    row: usize,
    reference_bps: u64,
) -> FlowResult {
    let group = &scenario.groups[rows.group[row]];
    let members = &rows.members[row];
    let window = scenario.duration.since(scenario.warm_up);
    let ports: Vec<_> = group.forward.iter().filter_map(|&link| engine.port(link)).collect();
    let (mut drops, mut first, mut last) = (Drops::default(), Count::default(), Count::default());
    let (mut distinct, mut transport) = (Count::default(), TransportCount::default());
    for &flow in members {
        let counts: Vec<_> =
            ports.iter().filter_map(|port| port.meter().flows().get(flow as usize)).collect();
        for port in &ports {
            drops.add(&Drops::of(port.meter(), flow));
        }
        // A flow that crosses no queue under study is measured where it ends.
        let ended = engine.flows().delivered(flow);
        add(&mut first, counts.first().map_or(ended.all, |count| count.arrived()));
        add(&mut last, counts.last().map_or(ended.all, |count| count.sent));
        add(&mut distinct, ended.distinct);
        transport.add(&engine.flows().transport_count(flow));
    }
    let throughput_bps = rate_bps(last, window);
    let completed = match members.as_slice() {
        [flow] if !group.is_population() => engine.flows().completed(*flow),
        _ => None,
    };
    // A population has no window: its connections come and go.
    let windows = match members.as_slice() {
        [flow] if !group.is_population() => engine.flows().windows(*flow, scenario.duration),
        _ => Windows::default(),
    };
    FlowResult {
        name: rows.name(scenario, row),
        group: group.name.clone(),
        transport: group.transport.name().into(),
        class: group.class,
        measured: Measured {
            offered_bps: rate_bps(first, window),
            throughput_bps,
            goodput_bps: Some(rate_bps(distinct, window)),
            share: throughput_bps / reference_bps as f64,
            drop_fraction: fraction(drops.total(), first.packets),
            arrivals: first.packets,
            drops,
            transport,
        },
        completed_at_s: completed.map(|transfer| transfer.completed.seconds()),
        fct_s: completed.map(|transfer| transfer.completion_time().seconds()),
        base_rtt_s: Some(base_rtt(scenario, group).seconds()),
        windows,
    }
}

/// Propagation there and back, hosts' own links included.
fn base_rtt(scenario: &Scenario, group: &Group) -> Time {
    let shared = group.forward.iter().chain(&group.backward).map(|&link| scenario.links[link].delay.ns());
    Time::from_ns(shared.sum::<u64>() + 4 * group.access_delay.ns())
}

fn add(sum: &mut Count, count: Count) {
    sum.packets += count.packets;
    sum.bytes += count.bytes;
}

/// Rows of the table of flows: one for each lasting flow, and one for all connections of a population together.
struct Rows {
    /// Flow numbers of each row.
    members: Vec<Vec<u32>>,
    /// Group of each row.
    group: Vec<usize>,
    /// First row of each group.
    first: Vec<usize>,
    /// Row of each flow number.
    of_flow: Vec<usize>,
}

impl Rows {
    /// `None` when `control` stopped that.
    fn of(scenario: &Scenario, engine: &Engine<'_, impl Tracer>, control: &Control) -> Option<Self> {
        let mut rows =
            Self { members: Vec::new(), group: Vec::new(), first: Vec::new(), of_flow: Vec::new() };
        for (number, group) in scenario.groups.iter().enumerate() {
            rows.first.push(rows.members.len());
            let count = if group.is_population() { 1 } else { group.count as usize };
            rows.members.resize(rows.members.len() + count, Vec::new());
            rows.group.resize(rows.group.len() + count, number);
        }
        let mut next = rows.first.clone();
        control.each(0..engine.flows().len(), |flow| {
            let group = engine.flows().group_number(flow);
            let row = next[group];
            if !scenario.groups[group].is_population() {
                next[group] += 1;
            }
            rows.members[row].push(flow);
            rows.of_flow.push(row);
        })?;
        Some(rows)
    }

    fn name(&self, scenario: &Scenario, row: usize) -> String {
        let group = self.group[row];
        scenario.groups[group].flow_name((row - self.first[group]) as u32)
    }
}
