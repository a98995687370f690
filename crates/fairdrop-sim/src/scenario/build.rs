//! From a tree of values to a checked scenario.

use super::fields::{DUMBBELL, FieldSpec, GROUP, LINK, SCENARIO, TRANSPORTS, TransportInfo, transport};
use super::problem::Problem;
use super::queue::QueueConfig;
use super::read::{Report, Section};
use super::tree::{Data, Node};
use super::{
    CbrConfig, CubicConfig, Flavour, Group, Link, LinkQueue, SackConfig, Scenario, TcpConfig, Transport,
    VegasConfig, routes,
};
use fairdrop::Time;

/// Nodes of a dumbbell.
const LEFT: &str = "R1";
const RIGHT: &str = "R2";

/// Most points of a sampling grid.
const MAX_SAMPLES: u64 = 10_000_000;

/// What groups take from the topology when they say nothing themselves.
struct Access {
    rate_bps: Option<u64>,
    delay: Time,
    ends: Option<(String, String)>,
}

pub fn scenario(root: &Node, file: &str, source: String) -> Result<Scenario, Vec<Problem>> {
    let mut report = Report::new(file);
    let top = Section::read(Some(root), "", SCENARIO, &["dumbbell", "links", "queue", "groups"], &mut report);
    let queue = QueueConfig::read(root.get("queue"), "queue", &mut report);
    let (links, access) = topology(root, &mut report);
    let groups = groups(root, &links, &access, &mut report);
    let duration = top.time("duration").unwrap_or(Time::ZERO);
    let warm_up = warm_up(&top, duration, &mut report);
    let sample = grid("sample", &top, duration, &mut report);
    let positions = grid("positions", &top, duration, &mut report);
    if !report.problems.is_empty() {
        return Err(report.problems);
    }
    Ok(Scenario {
        name: top.text("name").unwrap_or_default().into(),
        title: top.text("title").unwrap_or_default().into(),
        duration,
        warm_up,
        seed: top.integer("seed") as u64,
        sample,
        positions,
        queue,
        links,
        groups,
        source,
    })
}

/// A sampling grid; `None` when it is 0. Points are kept in memory, so there is a most.
fn grid(name: &str, top: &Section, duration: Time, report: &mut Report) -> Option<Time> {
    let grid = top.time(name).filter(|&grid| grid > Time::ZERO)?;
    if duration.ns() / grid.ns() > MAX_SAMPLES {
        let valid =
            format!("0, or a time that gives at most {MAX_SAMPLES} points in {} s", duration.seconds());
        report.add(top.origin(name), name, &format!("{} s", grid.seconds()), &valid);
    }
    Some(grid)
}

/// The default of 60 s gives way to a shorter duration; a warm-up that was asked for does not.
fn warm_up(top: &Section, duration: Time, report: &mut Report) -> Time {
    let warm_up = top.time("warm_up").unwrap_or(Time::ZERO);
    if warm_up < duration {
        return warm_up;
    }
    if top.is_set("warm_up") {
        let valid = format!("a time below duration ({} s)", duration.seconds());
        report.add(top.origin("warm_up"), "warm_up", &format!("{} s", warm_up.seconds()), &valid);
    }
    Time::from_ns(duration.ns() / 5)
}

fn topology(root: &Node, report: &mut Report) -> (Vec<Link>, Access) {
    match (root.get("dumbbell"), root.get("links")) {
        (Some(node), Some(_)) => {
            report.add(&node.origin, "", "both [dumbbell] and [[links]] are given", "one of them");
            (Vec::new(), Access { rate_bps: None, delay: Time::ZERO, ends: None })
        }
        (_, Some(links)) => (graph(links, report), Access { rate_bps: None, delay: Time::ZERO, ends: None }),
        (dumbbell, None) => dumbbell_links(&Section::read(dumbbell, "dumbbell", DUMBBELL, &[], report)),
    }
}

fn dumbbell_links(section: &Section) -> (Vec<Link>, Access) {
    let link = |name: &str, from: &str, to: &str, queue| Link {
        name: name.into(),
        from: from.into(),
        to: to.into(),
        rate_bps: section.number_or_zero("rate") as u64,
        delay: section.time("delay").unwrap_or(Time::ZERO),
        queue,
    };
    let links = vec![
        link("bottleneck", LEFT, RIGHT, LinkQueue::Study),
        link("return", RIGHT, LEFT, LinkQueue::Plain),
    ];
    let access = Access {
        rate_bps: section.number("access_rate").map(|rate| rate as u64),
        delay: section.time("access_delay").unwrap_or(Time::ZERO),
        ends: Some((LEFT.into(), RIGHT.into())),
    };
    (links, access)
}

fn graph(node: &Node, report: &mut Report) -> Vec<Link> {
    let Data::List(items) = &node.data else {
        report.add(&node.origin, "links", &node.shown(), "a list of tables, [[links]]");
        return Vec::new();
    };
    let mut links: Vec<Link> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("links.{index}");
        let section = Section::read(Some(item), &path, LINK, &[], report);
        let text = |name| section.text(name).unwrap_or_default().to_owned();
        let (from, to) = (text("from"), text("to"));
        let queue = match item.get("queue") {
            Some(own) if matches!(own.data, Data::Table(_)) => {
                LinkQueue::Own(QueueConfig::read(Some(own), &format!("{path}.queue"), report))
            }
            _ if section.switch("queue") == Some(true) => LinkQueue::Study,
            _ => LinkQueue::Plain,
        };
        let name = section.text("name").map_or_else(|| format!("{from}-{to}"), str::to_owned);
        if links.iter().any(|link| link.name == name) {
            let valid = "a name, or a pair of nodes, that no other link has";
            report.add(section.origin("name"), &section.path("name"), &name, valid);
        }
        let back = Link {
            name: format!("{name} back"),
            from: to.clone(),
            to: from.clone(),
            rate_bps: section.number_or_zero("rate") as u64,
            delay: section.time("delay").unwrap_or(Time::ZERO),
            queue: LinkQueue::Plain,
        };
        links.push(Link { name, from, to, queue, ..back.clone() });
        if section.switch("one_way") == Some(false) {
            links.push(back);
        }
    }
    links
}

fn groups(root: &Node, links: &[Link], access: &Access, report: &mut Report) -> Vec<Group> {
    let items = match root.get("groups").map(|node| (&node.data, node)) {
        Some((Data::List(items), _)) if !items.is_empty() => items,
        Some((_, node)) => {
            report.add(&node.origin, "groups", &node.shown(), "at least one [[groups]] table");
            return Vec::new();
        }
        None => {
            report.add(&root.origin, "", "there are no flows", "at least one [[groups]] table");
            return Vec::new();
        }
    };
    let mut groups: Vec<Group> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if let Some(group) = group(item, &format!("groups.{index}"), links, access, report) {
            if groups.iter().any(|other| other.name == group.name) {
                report.add(
                    &item.origin,
                    "",
                    &format!("two groups are called {}", group.name),
                    "names that differ",
                );
            }
            groups.push(group);
        }
    }
    groups
}

fn group(item: &Node, path: &str, links: &[Link], access: &Access, report: &mut Report) -> Option<Group> {
    let info = match item.get("transport").map(|node| (&node.data, node)) {
        Some((Data::Text(name), node)) => {
            let info = transport(name);
            if info.is_none() {
                let names: Vec<_> = TRANSPORTS.iter().map(|info| info.name).collect();
                let valid = format!("one of {}", names.join(", "));
                report.add(&node.origin, &format!("{path}.transport"), &node.shown(), &valid);
            }
            info
        }
        _ => None,
    };
    // Without a transport the fields of all are let through, so that only the transport is reported.
    let own: Vec<_> = match info {
        Some(info) => info.fields().copied().collect(),
        None => TRANSPORTS
            .iter()
            .flat_map(TransportInfo::fields)
            .map(|f| FieldSpec { default: Some(""), ..*f })
            .collect(),
    };
    let fields: Vec<_> = GROUP.iter().copied().chain(own).collect();
    let section = Section::read(Some(item), path, &fields, &[], report);
    let name = info?.name;
    let transport = match Flavour::ALL.into_iter().find(|flavour| flavour.name() == name) {
        Some(flavour) => Transport::Tcp(tcp(flavour, &section)),
        None => Transport::Cbr(CbrConfig {
            rate_bps: section.number_or_zero("rate") as u64,
            jitter: section.number_or_zero("jitter"),
        }),
    };
    let (forward, backward) = ways(&section, links, access, report)?;
    Some(Group {
        name: section.text("name")?.into(),
        transport,
        count: section.integer("count") as u32,
        packet_size: section.number_or_zero("packet_size") as u32,
        start: section.time("start")?,
        start_spread: section.time("start_spread")?,
        stop: section.time("stop").unwrap_or(Time::NEVER),
        class: section.integer("class") as u8,
        access_rate_bps: section.number("access_rate").map(|rate| rate as u64).or(access.rate_bps),
        access_delay: section.time("access_delay").unwrap_or(access.delay),
        forward,
        backward,
    })
}

/// Links there and back.
fn ways(
    section: &Section,
    links: &[Link],
    access: &Access,
    report: &mut Report,
) -> Option<(Vec<usize>, Vec<usize>)> {
    let end = |name: &str, default: Option<&String>, report: &mut Report| {
        let node = section.text(name).or(default.map(String::as_str));
        match node {
            None => {
                report.add(section.origin(name), "", &format!("{} is missing", section.path(name)), "a node");
            }
            Some(node) if !links.iter().any(|link| link.from == node || link.to == node) => {
                let mut nodes: Vec<_> = links.iter().flat_map(|link| [&*link.from, &*link.to]).collect();
                nodes.sort_unstable();
                nodes.dedup();
                let valid = format!("one of the nodes {}", nodes.join(", "));
                report.add(section.origin(name), &section.path(name), &format!("{node:?}"), &valid);
            }
            Some(_) => return node.map(str::to_owned),
        }
        None
    };
    let from = end("from", access.ends.as_ref().map(|ends| &ends.0), report);
    let to = end("to", access.ends.as_ref().map(|ends| &ends.1), report);
    let (from, to) = (from?, to?);
    let forward = match section.names("route") {
        Some(nodes) if nodes.first() != Some(&from) || nodes.last() != Some(&to) || nodes.len() < 2 => {
            let valid = format!("nodes that begin with {from} and end with {to}");
            report.add(section.origin("route"), &section.path("route"), &nodes.join(", "), &valid);
            return None;
        }
        Some(nodes) => routes::along(links, nodes).map_err(|(a, b)| format!("a link from {a} to {b}")),
        None => routes::shortest(links, &from, &to)
            .filter(|route| !route.is_empty())
            .ok_or_else(|| format!("links that lead from {from} to {to}, two nodes")),
    };
    let backward = routes::shortest(links, &to, &from)
        .ok_or_else(|| format!("links that lead back from {to} to {from}"));
    match (forward, backward) {
        (Ok(forward), Ok(backward)) => Some((forward, backward)),
        (Err(valid), _) | (_, Err(valid)) => {
            report.add(
                section.origin("route"),
                "",
                &format!("{} has no route", section.path("name")),
                &valid,
            );
            None
        }
    }
}

fn tcp(flavour: Flavour, section: &Section) -> TcpConfig {
    let (initial_window, modern, tick_ms, min_rto_ms, initial_rto_ms) = match section.text("era") {
        Some("ns2-1998") => (1.0, false, 100, 200, 6000),
        Some("ns2-2005") => (2.0, true, 10, 200, 3000),
        _ => (10.0, true, 1, 1000, 1000),
    };
    let time = |name, ms| section.time(name).unwrap_or(Time::from_ms(ms));
    TcpConfig {
        flavour,
        max_window: section.number("max_window").unwrap_or(300.0).floor(),
        initial_window: section.number("initial_window").unwrap_or(initial_window).floor(),
        handshake: section.switch("handshake").unwrap_or(modern),
        limited_transmit: section.switch("limited_transmit").unwrap_or(modern),
        delayed_ack: section.switch("delayed_ack").unwrap_or(false),
        ecn: section.switch("ecn").unwrap_or(false),
        ack_size: section.number_or_zero("ack_size") as u32,
        tick: time("tick", tick_ms),
        min_rto: time("min_rto", min_rto_ms),
        initial_rto: time("initial_rto", initial_rto_ms),
        max_rto: time("max_rto", 64_000),
        sack: SackConfig {
            sack_blocks: if section.is_set("sack_blocks") { section.integer("sack_blocks") as u8 } else { 3 },
            // RFC 6675 is of 2012; RFC 3517 before it had no rule 4.
            rescue: section.switch("rescue").unwrap_or(section.text("era") == Some("rfc")),
        },
        vegas: vegas(section),
        cubic: CubicConfig {
            fast_convergence: section.switch("fast_convergence").unwrap_or(true),
            tcp_friendly: section.switch("tcp_friendly").unwrap_or(true),
        },
    }
}

fn vegas(section: &Section) -> VegasConfig {
    let repairs = section.switch("vegas_repairs").unwrap_or(false);
    VegasConfig {
        alpha: section.number("alpha").unwrap_or(1.0),
        beta: section.number("beta").unwrap_or(3.0),
        gamma: section.number("gamma").unwrap_or(1.0),
        sample_duplicates: section.switch("sample_duplicates").unwrap_or(!repairs),
        newreno_recovery: section.switch("newreno_recovery").unwrap_or(repairs),
        halve_on_loss: section.switch("halve_on_loss").unwrap_or(!repairs),
    }
}
