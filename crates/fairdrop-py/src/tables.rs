//! The tidy tables of a set of runs.

use crate::columns::Columns;
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use fairdrop_sim::{LinkStats, Measured, QueueResult, RunResult, Windows};

/// Makes one table of a set of runs.
pub type Maker = fn(&[RunResult]) -> Result<RecordBatch, ArrowError>;

/// Name and maker of each table, in the order they are written.
pub const TABLES: [(&str, Maker); 19] = [
    ("runs", runs),
    ("groups", groups),
    ("flows", flows),
    ("queues", queues),
    ("drops", drops),
    ("series", series),
    ("queue_lengths", queue_lengths),
    ("sojourns", sojourns),
    ("positions", positions),
    ("link_flows", link_flows),
    ("link_groups", link_groups),
    ("link_drops", link_drops),
    ("link_marks", link_marks),
    ("link_losses", link_losses),
    ("internals", internals),
    ("internals_series", internals_series),
    ("velocity", velocity),
    ("windows", window_series),
    ("transfers", transfers),
];

fn runs(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let number = |value: fn(&RunResult) -> f64| runs.iter().map(value);
    Columns::default()
        .text("discipline", runs.iter().map(|run| run.discipline))
        .count("seed", runs.iter().map(|run| run.seed))
        .number("measured_from_s", number(|run| run.measured_from_s))
        .number("measured_to_s", number(|run| run.measured_to_s))
        .text("link", runs.iter().map(|run| run.link.as_str()))
        .number("link_rate_bps", number(|run| run.link_rate_bps as f64))
        .number("fair_share_bps", number(|run| run.fair_share_bps))
        .maybe("jain_index", runs.iter().map(|run| run.jain_index))
        .number("largest_over_fair_share", number(|run| run.largest_over_fair_share))
        .number("utilisation", number(|run| run.utilisation))
        .count("events", runs.iter().map(|run| run.events))
        .switch("valid", runs.iter().map(|run| run.valid))
        .finish()
}

/// Rows of a table, each with the run that it belongs to.
struct Rows<'a, T>(Vec<(&'a RunResult, T)>);

impl<'a, T> Rows<'a, T> {
    fn of<I: IntoIterator<Item = T>>(runs: &'a [RunResult], rows: impl Fn(&'a RunResult) -> I) -> Self {
        Self(runs.iter().flat_map(|run| rows(run).into_iter().map(move |row| (run, row))).collect())
    }

    /// The columns that every table but `runs` begins with.
    fn keyed(&self) -> Columns {
        Columns::default()
            .text("discipline", self.0.iter().map(|(run, _)| run.discipline))
            .count("seed", self.0.iter().map(|(run, _)| run.seed))
    }

    fn each<'s, V>(&'s self, value: impl Fn(&'s T) -> V) -> impl Iterator<Item = V> {
        self.0.iter().map(move |(_, row)| value(row))
    }
}

/// The columns that flows and groups share.
fn measured<'a>(columns: Columns, rows: impl Iterator<Item = &'a Measured> + Clone) -> Columns {
    columns
        .number("offered_bps", rows.clone().map(|row| row.offered_bps))
        .number("throughput_bps", rows.clone().map(|row| row.throughput_bps))
        .maybe("goodput_bps", rows.clone().map(|row| row.goodput_bps))
        .number("share", rows.clone().map(|row| row.share))
        .count("arrivals", rows.clone().map(|row| row.arrivals))
        .count("dropped", rows.clone().map(|row| row.drops.total()))
        .number("drop_fraction", rows.clone().map(|row| row.drop_fraction))
        .count("retransmissions", rows.clone().map(|row| row.transport.retransmissions))
        .count("timeouts", rows.clone().map(|row| row.transport.timeouts))
        .count("fast_retransmits", rows.map(|row| row.transport.fast_retransmits))
}

/// What is known of TCP senders.
fn windows<'a>(columns: Columns, rows: impl Iterator<Item = (Option<f64>, &'a Windows)> + Clone) -> Columns {
    columns
        .maybe("base_rtt_s", rows.clone().map(|row| row.0))
        .maybe("mean_cwnd_packets", rows.clone().map(|row| row.1.mean_cwnd_packets))
        .maybe("final_cwnd_packets", rows.clone().map(|row| row.1.final_cwnd_packets))
        .maybe("srtt_s", rows.map(|row| row.1.srtt_s))
}

/// The columns of what happened at one link.
fn stats<'a>(columns: Columns, rows: impl Iterator<Item = &'a LinkStats> + Clone) -> Columns {
    columns
        .number("throughput_bps", rows.clone().map(|row| row.throughput_bps))
        .count("arrivals", rows.clone().map(|row| row.arrived.packets))
        .count("arrived_bytes", rows.clone().map(|row| row.arrived.bytes))
        .count("departures", rows.clone().map(|row| row.departed.packets))
        .count("departed_bytes", rows.clone().map(|row| row.departed.bytes))
        .count("dropped", rows.clone().map(|row| row.dropped.packets))
        .count("dropped_bytes", rows.clone().map(|row| row.dropped.bytes))
        .number("drop_fraction", rows.clone().map(|row| row.drop_fraction))
        .count("held_at_start", rows.clone().map(|row| row.held_at_start.packets))
        .count("held_at_start_bytes", rows.clone().map(|row| row.held_at_start.bytes))
        .count("held_at_end", rows.clone().map(|row| row.held_at_end.packets))
        .count("held_at_end_bytes", rows.clone().map(|row| row.held_at_end.bytes))
        .count("leaked", rows.clone().map(|row| row.leaked))
        .number("leak_fraction", rows.clone().map(|row| row.leak_fraction))
        .count("compared", rows.clone().map(|row| row.compared))
        .count("matched", rows.clone().map(|row| row.matched))
        .maybe("match_probability", rows.clone().map(|row| row.match_probability))
        .number("match_fraction", rows.clone().map(|row| row.match_fraction))
        .count("drawn", rows.clone().map(|row| row.drawn))
        .number("mean_draws", rows.clone().map(|row| row.mean_draws))
        .count("most_draws", rows.map(|row| u64::from(row.most_draws)))
}

fn groups(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = Rows::of(runs, |run| &run.groups);
    let columns = rows
        .keyed()
        .text("group", rows.each(|group| group.name.as_str()))
        .text("transport", rows.each(|group| group.transport.as_str()))
        .count("class", rows.each(|group| u64::from(group.class)))
        .count("flows", rows.each(|group| u64::from(group.flows)))
        .count("starved_flows", rows.each(|group| u64::from(group.starved_flows)))
        .maybe("jain_index", rows.each(|group| group.jain_index));
    let completed = rows.each(|group| group.transfers.as_ref().map(|transfers| transfers.completed as f64));
    let columns =
        measured(columns, rows.0.iter().map(|(_, group)| &group.sums)).maybe("completed", completed);
    windows(columns, rows.0.iter().map(|(_, group)| (group.base_rtt_s, &group.windows))).finish()
}

fn flows(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = Rows::of(runs, |run| &run.flows);
    let columns = rows
        .keyed()
        .text("flow", rows.each(|flow| flow.name.as_str()))
        .text("group", rows.each(|flow| flow.group.as_str()))
        .text("transport", rows.each(|flow| flow.transport.as_str()))
        .count("class", rows.each(|flow| u64::from(flow.class)));
    let columns = measured(columns, rows.0.iter().map(|(_, flow)| &flow.measured))
        .maybe("completed_at_s", rows.each(|flow| flow.completed_at_s))
        .maybe("fct_s", rows.each(|flow| flow.fct_s));
    windows(columns, rows.0.iter().map(|(_, flow)| (flow.base_rtt_s, &flow.windows))).finish()
}

/// One row per group with finite transfers and class of size.
fn transfers(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = Rows::of(runs, |run| {
        run.groups.iter().flat_map(|group| {
            group.transfers.iter().flat_map(|all| &all.sizes).map(move |size| (group, size))
        })
    });
    rows.keyed()
        .text("group", rows.each(|(group, _)| group.name.as_str()))
        .maybe("up_to_bytes", rows.each(|(_, size)| size.up_to_bytes.map(|bytes| bytes as f64)))
        .count("completed", rows.each(|(_, size)| size.completed))
        .number("mean_bytes", rows.each(|(_, size)| size.mean_bytes))
        .number("fct_mean_s", rows.each(|(_, size)| size.fct_s.mean))
        .number("fct_p50_s", rows.each(|(_, size)| size.fct_s.p50))
        .number("fct_p90_s", rows.each(|(_, size)| size.fct_s.p90))
        .number("fct_p99_s", rows.each(|(_, size)| size.fct_s.p99))
        .number("fct_p999_s", rows.each(|(_, size)| size.fct_s.p999))
        .number("fct_max_s", rows.each(|(_, size)| size.fct_s.max))
        .finish()
}

fn queues(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = Rows::of(runs, |run| &run.queues);
    rows.keyed()
        .text("queue", rows.each(|queue| queue.name.as_str()))
        .text("queue_discipline", rows.each(|queue| queue.discipline))
        .number("rate_bps", rows.each(|queue| queue.rate_bps as f64))
        .count("limit_packets", rows.each(|queue| u64::from(queue.limit_packets)))
        .count("arrivals", rows.each(|queue| queue.arrivals))
        .count("departures", rows.each(|queue| queue.departures))
        .count("dropped", rows.each(|queue| queue.drops.total()))
        .number("drop_fraction", rows.each(|queue| queue.drop_fraction))
        .count("candidates_drawn", rows.each(|queue| queue.candidates_drawn))
        .number("utilisation", rows.each(|queue| queue.utilisation))
        .number("mean_packets", rows.each(|queue| queue.mean_packets))
        .count("max_packets", rows.each(|queue| u64::from(queue.max_packets)))
        .number("mean_bytes", rows.each(|queue| queue.mean_bytes))
        .number("sojourn_mean_s", rows.each(|queue| queue.sojourn_s.mean))
        .number("sojourn_p50_s", rows.each(|queue| queue.sojourn_s.p50))
        .number("sojourn_p90_s", rows.each(|queue| queue.sojourn_s.p90))
        .number("sojourn_p99_s", rows.each(|queue| queue.sojourn_s.p99))
        .number("sojourn_p999_s", rows.each(|queue| queue.sojourn_s.p999))
        .number("sojourn_max_s", rows.each(|queue| queue.sojourn_s.max))
        .count("leaked", rows.each(|queue| queue.total.leaked))
        .number("leak_fraction", rows.each(|queue| queue.total.leak_fraction))
        .count("compared", rows.each(|queue| queue.total.compared))
        .count("matched", rows.each(|queue| queue.total.matched))
        .maybe("match_probability", rows.each(|queue| queue.total.match_probability))
        .number("match_fraction", rows.each(|queue| queue.total.match_fraction))
        .number("mean_draws", rows.each(|queue| queue.total.mean_draws))
        .count("most_draws", rows.each(|queue| u64::from(queue.total.most_draws)))
        .count("marked", rows.each(|queue| queue.marks.total()))
        .finish()
}

/// One row per flow and cause that occurred.
fn drops(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = Rows::of(runs, |run| {
        run.flows.iter().flat_map(|flow| {
            flow.measured.drops.occurring().map(move |(cause, packets)| (flow, cause, packets))
        })
    });
    rows.keyed()
        .text("flow", rows.each(|(flow, ..)| flow.name.as_str()))
        .text("group", rows.each(|(flow, ..)| flow.group.as_str()))
        .text("cause", rows.each(|(_, cause, _)| *cause))
        .count("packets", rows.each(|&(.., packets)| packets))
        .finish()
}

/// One row per queue, time and series: `total`, `red_avg`, and one for each group, as `group:name`.
fn series(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = Rows::of(runs, |run| {
        run.queues.iter().flat_map(|queue| {
            let series = &queue.series;
            let as_numbers =
                |values: &[u32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
            let mut lines = vec![("total".to_owned(), as_numbers(&series.packets))];
            lines.extend(series.red_avg.iter().map(|average| ("red_avg".to_owned(), average.clone())));
            let groups = series.packets_by_group.iter();
            lines.extend(groups.map(|(name, values)| (format!("group:{name}"), as_numbers(values))));
            lines.into_iter().flat_map(move |(name, values)| {
                let points = series.t_s.iter().copied().zip(values);
                points.map(|(at, value)| (queue.name.as_str(), name.clone(), at, value)).collect::<Vec<_>>()
            })
        })
    });
    rows.keyed()
        .text("queue", rows.each(|row| row.0))
        .text("series", rows.each(|row| row.1.as_str()))
        .number("t_s", rows.each(|row| row.2))
        .number("packets", rows.each(|row| row.3))
        .finish()
}

fn queue_lengths(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = Rows::of(runs, |run| {
        run.queues.iter().flat_map(|queue| queue.length_histogram.iter().map(move |bin| (&queue.name, bin)))
    });
    rows.keyed()
        .text("queue", rows.each(|(queue, _)| queue.as_str()))
        .count("packets", rows.each(|(_, bin)| u64::from(bin.0)))
        .number("fraction_of_time", rows.each(|(_, bin)| bin.1))
        .finish()
}

fn sojourns(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = Rows::of(runs, |run| {
        run.queues.iter().flat_map(|queue| queue.sojourn_histogram.iter().map(move |bin| (&queue.name, bin)))
    });
    rows.keyed()
        .text("queue", rows.each(|(queue, _)| queue.as_str()))
        .number("upper_s", rows.each(|(_, bin)| bin.0))
        .count("packets", rows.each(|(_, bin)| bin.1))
        .finish()
}

/// One row per position, counted from the end that the scenario says, and group.
fn positions(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = Rows::of(runs, |run| {
        run.queues.iter().flat_map(|queue| {
            let occupied = &queue.positions.occupied;
            queue.positions.by_group.iter().flat_map(move |(group, counts)| {
                let pairs = occupied.iter().zip(counts).enumerate();
                pairs.map(move |(position, (all, count))| (&queue.name, position as u64, group, *all, *count))
            })
        })
    });
    rows.keyed()
        .text("queue", rows.each(|row| row.0.as_str()))
        .count("position", rows.each(|row| row.1))
        .text("group", rows.each(|row| row.2.as_str()))
        .count("occupied", rows.each(|row| row.3))
        .count("packets", rows.each(|row| row.4))
        .finish()
}

/// Rows of something that each queue has many of.
fn of_queues<'a, T: 'a, I>(
    runs: &'a [RunResult],
    rows: impl Fn(&'a QueueResult) -> I + Copy,
) -> Rows<'a, (&'a str, T)>
where
    I: IntoIterator<Item = T>,
{
    Rows::of(runs, move |run| {
        run.queues
            .iter()
            .flat_map(move |queue| rows(queue).into_iter().map(move |row| (queue.name.as_str(), row)))
    })
}

/// One row per queue and flow that was there.
fn link_flows(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = of_queues(runs, |queue| &queue.flows);
    let columns = rows
        .keyed()
        .text("queue", rows.each(|row| row.0))
        .text("flow", rows.each(|row| row.1.name.as_str()))
        .text("group", rows.each(|row| row.1.group.as_str()));
    stats(columns, rows.0.iter().map(|(_, row)| &row.1.stats))
        .number("mean_packets", rows.each(|row| row.1.mean_packets))
        .finish()
}

/// One row per queue and group.
fn link_groups(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = of_queues(runs, |queue| &queue.groups);
    let columns = rows
        .keyed()
        .text("queue", rows.each(|row| row.0))
        .text("group", rows.each(|row| row.1.name.as_str()))
        .count("flows", rows.each(|row| u64::from(row.1.flows)));
    stats(columns, rows.0.iter().map(|(_, row)| &row.1.stats))
        .number("mean_packets", rows.each(|row| row.1.mean_packets))
        .number("sojourn_mean_s", rows.each(|row| row.1.sojourn_s.mean))
        .number("sojourn_p50_s", rows.each(|row| row.1.sojourn_s.p50))
        .number("sojourn_p90_s", rows.each(|row| row.1.sojourn_s.p90))
        .number("sojourn_p99_s", rows.each(|row| row.1.sojourn_s.p99))
        .number("sojourn_p999_s", rows.each(|row| row.1.sojourn_s.p999))
        .number("sojourn_max_s", rows.each(|row| row.1.sojourn_s.max))
        .finish()
}

/// One row per queue, flow and cause that occurred.
fn link_drops(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = of_queues(runs, |queue| {
        queue
            .flows
            .iter()
            .flat_map(|flow| flow.drops.occurring().map(move |(cause, packets)| (flow, cause, packets)))
    });
    rows.keyed()
        .text("queue", rows.each(|row| row.0))
        .text("flow", rows.each(|row| row.1.0.name.as_str()))
        .text("group", rows.each(|row| row.1.0.group.as_str()))
        .text("cause", rows.each(|row| row.1.1))
        .count("packets", rows.each(|row| row.1.2))
        .finish()
}

/// One row per queue and cause for which packets were marked.
fn link_marks(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = of_queues(runs, |queue| queue.marks.occurring());
    rows.keyed()
        .text("queue", rows.each(|row| row.0))
        .text("cause", rows.each(|row| row.1.0))
        .count("packets", rows.each(|row| row.1.1))
        .finish()
}

/// One row per link that loses packets at random and group.
fn link_losses(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = Rows::of(runs, |run| {
        run.link_losses.iter().flat_map(|link| link.lost_by_group.iter().map(move |group| (link, group)))
    });
    rows.keyed()
        .text("link", rows.each(|row| row.0.name.as_str()))
        .text("group", rows.each(|row| row.1.0.as_str()))
        .count("offered", rows.each(|row| row.0.offered.packets))
        .count("carried", rows.each(|row| row.0.carried.packets))
        .count("lost", rows.each(|row| row.1.1.packets))
        .count("lost_bytes", rows.each(|row| row.1.1.bytes))
        .finish()
}

/// One row per queue and value that its discipline decides by.
fn internals(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = of_queues(runs, |queue| &queue.internals);
    rows.keyed()
        .text("queue", rows.each(|row| row.0))
        .text("name", rows.each(|row| row.1.name.as_str()))
        .number("mean", rows.each(|row| row.1.mean))
        .number("max", rows.each(|row| row.1.max))
        .finish()
}

/// The same on the sampling grid.
fn internals_series(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = of_queues(runs, |queue| {
        queue.series.internals.iter().flat_map(|(name, values)| {
            let points = queue.series.t_s.iter().zip(values);
            points.map(move |(at, value)| (name.as_str(), *at, *value))
        })
    });
    rows.keyed()
        .text("queue", rows.each(|row| row.0))
        .text("name", rows.each(|row| row.1.0))
        .number("t_s", rows.each(|row| row.1.1))
        .number("value", rows.each(|row| row.1.2))
        .finish()
}

/// One row per queue and position (0 is the tail).
fn velocity(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = of_queues(runs, |queue| queue.velocity.iter().enumerate());
    rows.keyed()
        .text("queue", rows.each(|row| row.0))
        .count("position", rows.each(|row| row.1.0 as u64))
        .number("occupied_s", rows.each(|row| row.1.1.occupied_s))
        .number("packets_per_s", rows.each(|row| row.1.1.packets_per_s))
        .count("leaked", rows.each(|row| row.1.1.leaked))
        .finish()
}

/// One row per flow whose windows are recorded, and time.
fn window_series(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = Rows::of(runs, |run| {
        run.windows.cwnd_packets.iter().flat_map(|(flow, values)| {
            let points = run.windows.t_s.iter().zip(values);
            points.map(move |(at, value)| (flow.as_str(), *at, *value))
        })
    });
    rows.keyed()
        .text("flow", rows.each(|row| row.0))
        .number("t_s", rows.each(|row| row.1))
        .number("cwnd_packets", rows.each(|row| row.2))
        .finish()
}
