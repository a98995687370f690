//! A run as a sweep keeps it: a row for the link and one for each group of flows, packed as JSON text in zlib's format.
//! The columns are defined here alone; Python reads their names and kinds from [`columns`].

use crate::columns::Columns;
use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, Schema};
use arrow_select::take::take_record_batch;
use fairdrop_sim::{GroupResult, LinkGroup, QueueResult, RunResult};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::Arc;

/// The run, and the queue that shares refer to: the first where the link has none of its own.
struct OfLink<'a> {
    run: &'a RunResult,
    queue: &'a QueueResult,
}

/// A group of flows, its packets at that queue if it sent any, and the synchronisation of its losses.
struct OfGroup<'a> {
    run: &'a RunResult,
    group: &'a GroupResult,
    sent: Option<&'a LinkGroup>,
    loss_synchronisation: Option<f64>,
}

/// Name, kind (as `write_parquet` takes it) and value of a column of a group.
type GroupColumn = (&'static str, &'static str, fn(&OfGroup<'_>) -> Json);
/// The same of the link.
type LinkColumn = (&'static str, &'static str, fn(&OfLink<'_>) -> Json);

const GROUP: [GroupColumn; 25] = [
    ("discipline", "text", |of| json!(of.run.discipline)),
    ("group", "text", |of| json!(of.group.name)),
    ("transport", "text", |of| json!(of.group.transport)),
    ("class", "count", |of| json!(of.group.class)),
    ("flows", "count", |of| json!(of.group.flows)),
    ("starved_flows", "count", |of| json!(of.group.starved_flows)),
    ("jain_index", "number", |of| json!(of.group.jain_index)),
    ("offered_bps", "number", |of| json!(of.group.sums.offered_bps)),
    ("throughput_bps", "number", |of| json!(of.group.sums.throughput_bps)),
    ("goodput_bps", "number", |of| json!(of.group.sums.goodput_bps)),
    ("share", "number", |of| json!(of.group.sums.share)),
    ("arrivals", "count", |of| json!(of.group.sums.arrivals)),
    ("dropped", "count", |of| json!(of.group.sums.drops.total())),
    ("drop_fraction", "number", |of| json!(of.group.sums.drop_fraction)),
    ("retransmissions", "count", |of| json!(of.group.sums.transport.retransmissions)),
    ("timeouts", "count", |of| json!(of.group.sums.transport.timeouts)),
    ("fast_retransmits", "count", |of| json!(of.group.sums.transport.fast_retransmits)),
    ("completed", "number", |of| json!(of.group.transfers.as_ref().map(|all| all.completed as f64))),
    ("base_rtt_s", "number", |of| json!(of.group.base_rtt_s)),
    ("mean_cwnd_packets", "number", |of| json!(of.group.windows.mean_cwnd_packets)),
    ("srtt_s", "number", |of| json!(of.group.windows.srtt_s)),
    ("sojourn_mean_s", "number", |of| json!(of.sent.map(|sent| sent.sojourn_s.mean))),
    ("sojourn_p99_s", "number", |of| json!(of.sent.map(|sent| sent.sojourn_s.p99))),
    ("fct_mean_s", "number", |of| json!(mean_completion_s(of.group))),
    ("loss_synchronisation", "number", |of| json!(of.loss_synchronisation)),
];

const LINK: [LinkColumn; 17] = [
    ("link_rate_bps", "number", |of| json!(of.run.link_rate_bps as f64)),
    ("fair_share_bps", "number", |of| json!(of.run.fair_share_bps)),
    ("run_jain_index", "number", |of| json!(of.run.jain_index)),
    ("largest_over_fair_share", "number", |of| json!(of.run.largest_over_fair_share)),
    ("link_utilisation", "number", |of| json!(of.run.utilisation)),
    ("events", "count", |of| json!(of.run.events)),
    ("valid", "switch", |of| json!(of.run.valid)),
    ("queue_mean_packets", "number", |of| json!(of.queue.mean_packets)),
    ("queue_max_packets", "count", |of| json!(of.queue.max_packets)),
    ("queue_drop_fraction", "number", |of| json!(of.queue.drop_fraction)),
    ("queue_marked", "count", |of| json!(of.queue.marks.total())),
    ("queue_sojourn_mean_s", "number", |of| json!(of.queue.sojourn_s.mean)),
    ("queue_sojourn_p50_s", "number", |of| json!(of.queue.sojourn_s.p50)),
    ("queue_sojourn_p90_s", "number", |of| json!(of.queue.sojourn_s.p90)),
    ("queue_sojourn_p99_s", "number", |of| json!(of.queue.sojourn_s.p99)),
    ("queue_sojourn_p999_s", "number", |of| json!(of.queue.sojourn_s.p999)),
    ("queue_sojourn_max_s", "number", |of| json!(of.queue.sojourn_s.max)),
];

/// Mean completion time of the transfers of a group, over all classes of size.
fn mean_completion_s(group: &GroupResult) -> Option<f64> {
    let classes = group.transfers.iter().flat_map(|all| &all.sizes).filter(|class| class.completed > 0);
    let (transfers, sum_s) = classes.fold((0, 0.0), |(transfers, sum_s), class| {
        (transfers + class.completed, sum_s + class.completed as f64 * class.fct_s.mean)
    });
    (transfers > 0).then(|| sum_s / transfers as f64)
}

/// Names and kinds of the columns: those of a group, and those of the link, which repeat in the row of each group.
pub fn columns() -> [Vec<(&'static str, &'static str)>; 2] {
    [
        GROUP.iter().map(|&(name, kind, _)| (name, kind)).collect(),
        LINK.iter().map(|&(name, kind, _)| (name, kind)).collect(),
    ]
}

/// The packed rows of a run: JSON text, compressed. `loss_synchronisation` is by group, where windows were recorded.
pub fn rows_of(run: &RunResult, loss_synchronisation: &HashMap<String, Option<f64>>) -> Option<Vec<u8>> {
    let queue = run.queues.iter().find(|queue| queue.name == run.link).or(run.queues.first())?;
    let link: Vec<_> = LINK.iter().map(|(.., value)| value(&OfLink { run, queue })).collect();
    let row = |group: &GroupResult| -> Vec<_> {
        let sent = queue.groups.iter().find(|at| at.name == group.name && at.stats.departed.packets > 0);
        let together = loss_synchronisation.get(&group.name).copied().flatten();
        let of = OfGroup { run, group, sent, loss_synchronisation: together };
        GROUP.iter().map(|(.., value)| value(&of)).collect()
    };
    let groups: Vec<_> = run.groups.iter().map(row).collect();
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&serde_json::to_vec(&(link, groups)).ok()?).ok()?;
    packed.finish().ok()
}

/// The values of the link and those of each group, or why these bytes are not the packed rows of a run.
fn unpacked(packed: &[u8]) -> Result<(Vec<Json>, Vec<Vec<Json>>), String> {
    let mut text = Vec::new();
    ZlibDecoder::new(packed).read_to_end(&mut text).map_err(|error| error.to_string())?;
    let (link, groups): (Vec<Json>, Vec<Vec<Json>>) =
        serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    if link.len() == LINK.len() && groups.iter().all(|group| group.len() == GROUP.len()) {
        Ok((link, groups))
    } else {
        Err("its columns are others".to_owned())
    }
}

/// A table with a row for each group of each run: the columns of `runs`, which has a row for each, then those of
/// [`columns`].
pub fn table_of(runs: &RecordBatch, packed: &[&[u8]]) -> Result<RecordBatch, String> {
    let rows = packed.iter().map(|packed| unpacked(packed)).collect::<Result<Vec<_>, _>>()?;
    let at = rows.iter().enumerate().flat_map(|(run, (_, groups))| groups.iter().map(move |_| run as u64));
    let of_runs =
        take_record_batch(runs, &UInt64Array::from_iter_values(at)).map_err(|error| error.to_string())?;
    let mut made = Columns::default();
    let groups = || rows.iter().flat_map(|(_, groups)| groups);
    for (place, (name, kind, _)) in GROUP.iter().enumerate() {
        made = column(made, name, kind, groups().map(|group| &group[place]))?;
    }
    let links = || rows.iter().flat_map(|(link, groups)| groups.iter().map(move |_| link));
    for (place, (name, kind, _)) in LINK.iter().enumerate() {
        made = column(made, name, kind, links().map(|link| &link[place]))?;
    }
    let measured = made.finish().map_err(|error| error.to_string())?;
    beside(&of_runs, &measured).map_err(|error| error.to_string())
}

fn beside(one: &RecordBatch, other: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let fields = one.schema().fields().iter().chain(other.schema().fields()).cloned().collect::<Vec<_>>();
    let arrays = one.columns().iter().chain(other.columns()).cloned().collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

fn column<'a>(
    made: Columns,
    name: &str,
    kind: &str,
    values: impl Iterator<Item = &'a Json>,
) -> Result<Columns, String> {
    let wrong = |value: &Json| format!("{name} = {value} is not valid; valid: a {kind}");
    Ok(match kind {
        "text" => {
            let texts = values.map(|value| value.as_str().ok_or_else(|| wrong(value)));
            made.maybe_text(name, texts.map(|text| text.map(Some)).collect::<Result<Vec<_>, _>>()?)
        }
        "count" => {
            let counts = values.map(|value| value.as_u64().ok_or_else(|| wrong(value)));
            made.count(name, counts.collect::<Result<Vec<_>, _>>()?)
        }
        "switch" => {
            let switches = values.map(|value| value.as_bool().ok_or_else(|| wrong(value)));
            made.switch(name, switches.collect::<Result<Vec<_>, _>>()?)
        }
        _ => {
            let number = |value: &Json| match value {
                Json::Null => Ok(None),
                other => other.as_f64().map(Some).ok_or_else(|| wrong(other)),
            };
            made.maybe(name, values.map(number).collect::<Result<Vec<_>, _>>()?)
        }
    })
}
