//! How a link is at one moment, for metrics, control and results.

use super::amount::Amount;
use crate::host::waits::Waits;
use crate::host::{Lateness, LatenessReport, Quantiles, Spread};
use fairdrop::{Discipline, Time};
use fairdrop_capture::FlowName;
use fairdrop_link::{Cause, Link};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The packets of one group of flows: those of one protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Packets that came.
    pub arrived: Amount,
    /// Packets handed on.
    pub delivered: Amount,
    /// Packets in the queue now.
    pub queued: Amount,
    /// Packets dropped.
    pub dropped: Amount,
}

/// One flow of a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// Protocol, hosts and ports, as captures name flows.
    #[serde(serialize_with = "in_words")]
    pub name: FlowName,
    /// Since when it has been in the table, s after the start of the link.
    pub since_s: f64,
    /// Its part of all bytes delivered of late, 0 to 1.
    pub share: f64,
    /// Delivered since then.
    pub delivered: Amount,
    /// Dropped since then, by cause.
    pub dropped: BTreeMap<&'static str, u64>,
}

fn in_words<S: Serializer>(name: &FlowName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}

/// A link at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Time since it was started, s.
    pub uptime_s: f64,
    /// The discipline.
    pub discipline: &'static str,
    /// Packets that may wait.
    pub limit: u32,
    /// Rate of the link, bit/s; the mean of a trace; without one packets leave as they come.
    pub rate_bps: Option<u64>,
    /// Packets that came.
    pub arrived: Amount,
    /// Packets handed on.
    pub delivered: Amount,
    /// Packets in the queue, on the wire, or on their way.
    pub waiting: Amount,
    /// Of these, packets in the queue.
    pub queued: Amount,
    /// Packets that left with a mark they did not come with.
    pub marked: Amount,
    /// Packets dropped, by cause; causes that never occurred are left out.
    pub dropped: BTreeMap<&'static str, Amount>,
    /// Frames that came and were lost before they could be read: an error of the host.
    pub lost_before: u64,
    /// Frames that were handed on and lost by the device behind: an error of the host.
    pub lost_behind: u64,
    /// How long packets waited in the queue.
    pub wait: Spread,
    /// Median wait, s.
    pub wait_p50_s: f64,
    /// 99th percentile of the wait, s.
    pub wait_p99_s: f64,
    /// Waits of the last whole second.
    pub wait_last_second: Quantiles,
    /// How much later than its logical time each packet was handed on: the host's own error.
    pub lateness: LatenessReport,
    /// The same as a distribution.
    pub late: Spread,
    /// Frame buffers in all.
    pub buffers: u32,
    /// Frame buffers that are free.
    pub buffers_free: u32,
    /// The values that the discipline decides by.
    pub internals: Vec<(&'static str, f64)>,
    /// By protocol; protocols without packets are left out.
    pub groups: BTreeMap<&'static str, Group>,
    /// The flows that use it most, when somebody keeps account of them.
    pub flows: Vec<Flow>,
    /// What is recorded, when it is.
    pub recording: Option<Recording>,
}

/// How a recording goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recording {
    /// Records given to the writer.
    pub records: u64,
    /// Records left out, because the writer was behind or has failed.
    pub lost: u64,
}

/// What a report needs beside the link.
pub(super) struct Aside<'a> {
    pub uptime: Time,
    pub discipline: &'static str,
    pub limit: u32,
    pub rate_bps: Option<u64>,
    pub groups: BTreeMap<&'static str, Group>,
    pub lost_before: u64,
    pub lost_behind: u64,
    pub waits: &'a Waits,
    pub wait_last_second: Quantiles,
    pub lateness: &'a Lateness,
    pub buffers: (u32, u32),
}

impl Report {
    pub(super) fn of(link: &Link, aside: Aside<'_>) -> Self {
        let counters = link.counters();
        let backlog = link.backlog();
        let dropped = Cause::all().map(|cause| (cause.name(), Amount::from(counters.dropped(cause))));
        let mut internals = Vec::new();
        link.discipline().internals(|name, value| internals.push((name, value)));
        Self {
            uptime_s: aside.uptime.seconds(),
            discipline: aside.discipline,
            limit: aside.limit,
            rate_bps: aside.rate_bps,
            arrived: counters.arrived.into(),
            delivered: counters.delivered.into(),
            waiting: counters.waiting.into(),
            queued: Amount { packets: u64::from(backlog.packets), bytes: backlog.bytes },
            marked: counters.marked.into(),
            dropped: dropped.filter(|(_, amount)| amount.packets > 0).collect(),
            lost_before: aside.lost_before,
            lost_behind: aside.lost_behind,
            wait: aside.waits.spread(),
            wait_p50_s: aside.waits.quantile_s(0.5),
            wait_p99_s: aside.waits.quantile_s(0.99),
            wait_last_second: aside.wait_last_second,
            lateness: aside.lateness.report(),
            late: aside.lateness.spread(),
            buffers: aside.buffers.0,
            buffers_free: aside.buffers.1,
            internals,
            groups: aside.groups,
            flows: Vec::new(),
            recording: None,
        }
    }
}
