//! What a scenario may say, but who wrote it probably did not mean.

use super::{Group, Scenario};
use crate::transport::Transport;
use crate::transport::sources::SourceConfig;
use fairdrop::Time;
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
