//! What a scenario may say, but who wrote it probably did not mean.

use super::{Group, Link, QueueConfig, Scenario};
use crate::transport::Transport;
use crate::transport::sources::SourceConfig;
use fairdrop::{Addresses, AnyParams, DrawFrom, MarkBit, Time};
use fairdrop_config::{Data, Node};

/// A sentence for each.
pub fn remarks(scenario: &Scenario, root: &Node) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(problem) = &scenario.not_studied {
        found.push(format!("{problem}; results are labelled with that discipline all the same"));
    }
    found.extend(
        scenario
            .links
            .iter()
            .filter(|link| link.loss >= 1.0)
            .map(|link| format!("link {} loses every packet: its loss is 1", link.name)),
    );
    for (name, grid) in [("sample", scenario.sample), ("positions", scenario.positions)] {
        let written = root.get(name).is_some();
        found.extend(grid.filter(|&grid| written && grid > scenario.duration).map(|grid| {
            format!("{name} is {} s, longer than the run: there is one point at most", grid.seconds())
        }));
    }
    if root.get("ties").is_none() {
        found.extend(of_ties(scenario));
    }
    let items = match root.get("groups").map(|node| &node.data) {
        Some(Data::List(items)) => items.as_slice(),
        _ => &[],
    };
    for (group, item) in scenario.groups.iter().zip(items) {
        found.extend(of_group(scenario, group, item));
    }
    found
}

fn of_group(scenario: &Scenario, group: &Group, item: &Node) -> Option<String> {
    let end = scenario.duration.min(group.stop);
    let latest = Time::from_ns(group.start.ns().saturating_add(group.start_spread.ns()));
    let name = &group.name;
    if let Transport::OpenLoop(SourceConfig::Trace(trace)) = &group.transport {
        let first = trace.flows.iter().filter_map(|flow| flow.first()).map(|arrival| arrival.at).min()?;
        let first = Time::from_ns(group.start.ns().saturating_add(first.ns()));
        return (first >= end).then(|| {
            format!(
                "group {name} sends nothing: its first packet is at {} s, its end at {} s",
                first.seconds(),
                end.seconds()
            )
        });
    }
    // The default spread may well pass the end of a short run; one that was written is looked at.
    if item.get("start_spread").is_some() && latest > end {
        return Some(format!(
            "some flows of group {name} may never start: they start up to {} s, and its end is at {} s",
            latest.seconds(),
            end.seconds()
        ));
    }
    (group.stop <= scenario.warm_up).then(|| {
        format!(
            "nothing of group {name} is measured: it stops at {} s, and warm_up lasts until {} s",
            group.stop.seconds(),
            scenario.warm_up.seconds()
        )
    })
}

/// Remarks on groups whose constant gap and the time of a packet on a link are multiples of each other, where the discipline
/// does not draw uniformly: each end of a transmission may then meet an arrival of the group.
fn of_ties(scenario: &Scenario) -> Vec<String> {
    let mut found = Vec::new();
    for group in &scenario.groups {
        let Transport::OpenLoop(SourceConfig::Cbr(cbr)) = &group.transport else { continue };
        if cbr.jitter > 0.0 {
            continue;
        }
        let tied = group.forward.iter().find_map(|&at| {
            let link = &scenario.links[at];
            let queue = hangs_on_ties(scenario, link)?;
            // Both in units of 8 s over the product of the rates.
            let gap = u128::from(group.packet_size) * u128::from(link.rate_bps);
            let time = |size: u32| u128::from(size) * u128::from(cbr.rate_bps);
            let sharing = scenario.groups.iter().filter(|other| other.forward.contains(&at));
            let size = sharing.map(|other| other.packet_size).find(|&size| are_multiples(gap, time(size)))?;
            Some((queue, link, size))
        });
        if let Some((queue, link, size)) = tied {
            let ms = |bytes: u32, rate_bps: u64| f64::from(bytes) * 8e3 / rate_bps as f64;
            found.push(format!(
                "group {}: its gap ({} ms) and the time of a packet on link {} ({} ms) are multiples of each other, so \
                 that results under {} may hang on which of two events in one nanosecond goes first: try ties, or jitter",
                group.name,
                ms(group.packet_size, cbr.rate_bps),
                link.name,
                ms(size, link.rate_bps),
                queue.discipline,
            ));
        }
    }
    found
}

fn are_multiples(a: u128, b: u128) -> bool {
    a > 0 && b > 0 && (a.is_multiple_of(b) || b.is_multiple_of(a))
}

/// The queue of a link of one constant rate, when its discipline looks at the ends of the queue rather than at a random packet,
/// or counts packets that take no time.
fn hangs_on_ties<'s>(scenario: &'s Scenario, link: &'s Link) -> Option<&'s QueueConfig> {
    if !link.rate_schedule.is_empty() || link.trace.is_some() {
        return None;
    }
    let queue = scenario.queue_of(link)?;
    let hangs = match queue.params(link.rate_bps)? {
        AnyParams::DropTail(_) | AnyParams::BackChokeMemory(_) => true,
        AnyParams::Choke(params) => params.draw != DrawFrom::Uniform,
        AnyParams::ChokeHardware(params) => {
            params.mark_bit == MarkBit::Packet
                || matches!(params.addresses, Addresses::Head | Addresses::Tail)
        }
        _ => false,
    };
    hangs.then_some(queue)
}
