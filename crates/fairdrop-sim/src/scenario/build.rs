//! From a tree of values to a checked scenario.

use super::access::AccessRate;
use super::fields::{CHAIN, DUMBBELL, GROUP, LINK, MARK_EXCESS, SCENARIO};
use super::queue::QueueConfig;
use super::{
    Extensions, Group, Impairments, Link, LinkQueue, LinkTrace, MarkExcess, Scenario, chain, remarks, routes,
    ties::Ties,
};
use crate::control::Control;
use crate::meter::End;
use crate::transport::sources::SourceConfig;
use crate::transport::{self, Transport};
use fairdrop::Time;
use fairdrop_config::{Data, FieldSpec, Node, Problem, Report, Section, members, nearest, read_impairments};
use fairdrop_tcp::TransportInfo;

/// Nodes of a dumbbell.
const LEFT: &str = "R1";
const RIGHT: &str = "R2";

/// Most points of a sampling grid.
const MAX_SAMPLES: u64 = 10_000_000;

/// What the list of parts may have.
const PARTS_VALID: &str = "files beside the scenario, .py or .so, with disciplines or congestion controls";

/// The largest packet on the wire, bytes.
const MAX_PACKET: u32 = 65_535;

/// What groups take from the topology when they say nothing themselves.
struct Access {
    rate: AccessRate,
    delay: Time,
    ends: Option<(String, String)>,
}

/// What the table of a group is read with.
struct Context<'a> {
    links: &'a [Link],
    access: &'a Access,
    extensions: &'a Extensions,
    /// Stops the reading of a long list of arrivals.
    control: &'a Control,
}

pub fn scenario(
    root: &Node,
    file: &str,
    source: String,
    extensions: &Extensions,
    control: &Control,
) -> Result<Scenario, Vec<Problem>> {
    let mut report = Report::new(file);
    let tables = ["dumbbell", "chain", "links", "queue", "groups"];
    let top = Section::read(Some(root), "", SCENARIO, &tables, &mut report);
    let extensions = &with_files(&top, extensions, &mut report);
    let queue = QueueConfig::read(root.get("queue"), "queue", extensions, &mut report);
    let (links, access) = topology(root, &queue, extensions, &mut report);
    let groups = groups(root, &Context { links: &links, access: &access, extensions, control }, &mut report);
    let duration = top.time("duration").unwrap_or(Time::ZERO);
    let warm_up = warm_up(&top, duration, &mut report);
    let sample = grid("sample", &top, duration, &mut report);
    let positions = grid("positions", &top, duration, &mut report);
    let positions_from = positions_from(&top, positions, &mut report);
    let windows = windows(&top, &groups, &mut report);
    check_times(root, &groups, duration, &mut report);
    let not_studied = not_studied(root, file, &queue, &links);
    if !report.problems.is_empty() {
        // In the order of the file's lines, then what came from elsewhere.
        report.problems.sort_by_key(Problem::line);
        return Err(report.problems);
    }
    let mut scenario = Scenario {
        file: file.into(),
        name: top.text("name").unwrap_or_default().into(),
        title: top.text("title").unwrap_or_default().into(),
        duration,
        warm_up,
        seed: top.integer("seed") as u64,
        sample,
        positions,
        positions_from,
        ties: top.text("ties").and_then(Ties::of_word).unwrap_or_default(),
        windows,
        queue,
        links,
        groups,
        source,
        remarks: Vec::new(),
        not_studied,
    };
    scenario.remarks = remarks::remarks(&scenario, root);
    Ok(scenario)
}

/// The parts, and those of the files that the scenario names.
fn with_files(top: &Section, extensions: &Extensions, report: &mut Report) -> Extensions {
    let mut extensions = extensions.clone();
    for name in top.names("parts").into_iter().flatten() {
        if let Err(why) = extensions.load(&report.beside(name)) {
            report.add(top.origin("parts"), "", &format!("parts: {name}: {why}"), PARTS_VALID);
        }
    }
    extensions
}

/// A group that starts when all is over, or stops before it starts, was not meant.
fn check_times(root: &Node, groups: &[Group], duration: Time, report: &mut Report) {
    let Some(Data::List(items)) = root.get("groups").map(|node| &node.data) else { return };
    // When a group was refused, the others have no place in the list.
    if items.len() != groups.len() || duration == Time::ZERO {
        return;
    }
    for (index, (item, group)) in items.iter().zip(groups).enumerate() {
        let mut refuse = |name: &str, value: Time, valid: &str| {
            let origin = item.get(name).map_or(&item.origin, |node| &node.origin);
            report.add(
                origin,
                &format!("{}.{name}", members("groups", items)[index]),
                &format!("{} s", value.seconds()),
                valid,
            );
        };
        if group.start >= duration {
            refuse("start", group.start, &format!("a time below duration ({} s)", duration.seconds()));
        } else if group.stop <= group.start {
            refuse("stop", group.stop, &format!("a time after start ({} s)", group.start.seconds()));
        }
    }
}

/// Where no link has the discipline of `[queue]`: what says so, for who compares disciplines all the same.
fn not_studied(root: &Node, file: &str, queue: &QueueConfig, links: &[Link]) -> Option<Problem> {
    if links.iter().any(|link| link.queue == LinkQueue::Study) {
        return None;
    }
    let (field, valid) = match root.get("chain") {
        Some(_) => ("chain.queues", "\"queue\" for at least one link"),
        None => ("links", "queue = true for at least one link"),
    };
    let table = root.get(field.split('.').next().unwrap_or_default());
    let node = table.and_then(|chain| chain.get("queues")).or(table);
    let origin = node.map_or(&root.origin, |node| &node.origin).clone();
    let what = format!("{field}: no link has the discipline of [queue] ({})", queue.discipline);
    Some(Problem::new(file, origin, "", &what, valid))
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

/// The end of the queue that positions are counted from.
fn positions_from(top: &Section, positions: Option<Time>, report: &mut Report) -> End {
    if positions.is_none() && top.is_set("positions_from") {
        report.add(top.origin("positions_from"), "", "positions_from has no effect", "with positions");
    }
    top.text("positions_from").and_then(End::of_word).unwrap_or_default()
}

/// Numbers of the groups whose windows are recorded.
fn windows(top: &Section, groups: &[Group], report: &mut Report) -> Vec<usize> {
    let mut numbers = Vec::new();
    for name in top.names("windows").into_iter().flatten() {
        let tcp = |group: &Group| group.name == *name && group.transport.tcp().is_some();
        match groups.iter().position(tcp) {
            Some(number) => numbers.push(number),
            None => {
                let meant =
                    nearest(name, groups.iter().map(|group| &*group.name)).filter(|meant| meant != name);
                let (origin, value) = (top.origin("windows"), format!("{name:?}"));
                report.add_meant(origin, "windows", &value, "names of groups of TCP flows", meant);
            }
        }
    }
    numbers
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

fn topology(
    root: &Node,
    queue: &QueueConfig,
    extensions: &Extensions,
    report: &mut Report,
) -> (Vec<Link>, Access) {
    let given: Vec<_> = ["dumbbell", "chain", "links"]
        .into_iter()
        .filter_map(|name| root.get(name).map(|node| (name, node)))
        .collect();
    if let [.., (_, second)] = given.as_slice()
        && given.len() > 1
    {
        let names: Vec<_> = given.iter().map(|(name, _)| *name).collect();
        let what = format!("{} are given together", names.join(" and "));
        report.add(&second.origin, "", &what, "one of [dumbbell], [chain] and [[links]]");
    }
    match given.first() {
        Some(("chain", node)) => {
            chain_links(&Section::read(Some(node), "chain", CHAIN, &[], report), queue, report)
        }
        Some(("links", node)) => (
            graph(node, extensions, report),
            Access { rate: AccessRate::Unlimited, delay: Time::ZERO, ends: None },
        ),
        dumbbell => {
            let node = dumbbell.map(|(_, node)| *node);
            let section = Section::read(node, "dumbbell", DUMBBELL, &["impairments"], report);
            let trace = LinkTrace::read(&section, &LinkQueue::Study, report);
            dumbbell_links(&section, read_impairments(node, "dumbbell", report), trace)
        }
    }
}

/// What all short forms say of hosts' own links.
fn access(section: &Section, ends: (String, String)) -> Access {
    Access {
        rate: section.number("access_rate").map_or(AccessRate::Wide, |rate| AccessRate::Given(rate as u64)),
        delay: section.time("access_delay").unwrap_or(Time::ZERO),
        ends: Some(ends),
    }
}

fn chain_links(section: &Section, queue: &QueueConfig, report: &mut Report) -> (Vec<Link>, Access) {
    let links = chain::links(section, queue, report);
    let last = chain::router(links.len() / 2 + 1);
    (links, access(section, (chain::router(1), last)))
}

fn dumbbell_links(
    section: &Section,
    impairments: Option<Impairments>,
    trace: Option<LinkTrace>,
) -> (Vec<Link>, Access) {
    let back = if section.switch("both_ways") == Some(true) { LinkQueue::Study } else { LinkQueue::Plain };
    let link = |name: &str, from: &str, to: &str, queue, rate_schedule, loss: &str| Link {
        name: name.into(),
        rate_field: section.path("rate"),
        from: from.into(),
        to: to.into(),
        rate_bps: way_back_bps(section, trace.as_ref()),
        delay: section.time("delay").unwrap_or(Time::ZERO),
        queue,
        rate_schedule,
        trace: None,
        token_bucket: None,
        loss: section.number_or_zero(loss),
        impairments: None,
    };
    let mut links = vec![
        link("bottleneck", LEFT, RIGHT, LinkQueue::Study, section.rate_steps("rate_schedule"), "loss"),
        link("return", RIGHT, LEFT, back, Vec::new(), "loss_back"),
    ];
    links[0].impairments = impairments;
    links[0].token_bucket = token_bucket(section);
    put_trace(&mut links[0], trace);
    (links, access(section, (LEFT.into(), RIGHT.into())))
}

/// The rate of a link, and of its way back: with a trace that of the way back alone, as fast as the trace unless it is given.
fn way_back_bps(section: &Section, trace: Option<&LinkTrace>) -> u64 {
    let given = trace.is_none() || section.is_set("rate");
    trace.filter(|_| !given).map_or_else(|| section.number_or_zero("rate") as u64, LinkTrace::rate_bps)
}

/// Size of the token bucket of the direction with the queue.
fn token_bucket(section: &Section) -> Option<u32> {
    section.is_set("token_bucket").then(|| section.number_or_zero("token_bucket") as u32)
}

/// The trace takes the place of the link's rate.
fn put_trace(link: &mut Link, trace: Option<LinkTrace>) {
    if let Some(trace) = trace {
        (link.rate_bps, link.trace) = (trace.rate_bps(), Some(trace));
    }
}

fn graph(node: &Node, extensions: &Extensions, report: &mut Report) -> Vec<Link> {
    let Data::List(items) = &node.data else {
        report.add(&node.origin, "links", &node.shown(), "a list of tables, [[links]]");
        return Vec::new();
    };
    let mut links: Vec<Link> = Vec::new();
    for (path, item) in members("links", items).into_iter().zip(items) {
        let section = Section::read(Some(item), &path, LINK, &["impairments"], report);
        let text = |name| section.text(name).unwrap_or_default().to_owned();
        let (from, to) = (text("from"), text("to"));
        let queue = match item.get("queue") {
            Some(own) if matches!(own.data, Data::Table(_)) => {
                LinkQueue::Own(QueueConfig::read(Some(own), &format!("{path}.queue"), extensions, report))
            }
            _ if section.switch("queue") == Some(true) => LinkQueue::Study,
            _ => LinkQueue::Plain,
        };
        let name = section.text("name").map_or_else(|| format!("{from}-{to}"), str::to_owned);
        if links.iter().any(|link| link.name == name) {
            let valid = "a name, or a pair of nodes, that no other link has";
            report.add(section.origin("name"), &section.path("name"), &name, valid);
        }
        let rate_schedule = section.rate_steps("rate_schedule");
        for field in ["rate_schedule", "token_bucket"] {
            if section.is_set(field) && queue == LinkQueue::Plain {
                let what = format!("{} is on a link without a queue", section.path(field));
                report.add(section.origin(field), "", &what, "with queue = true or a table");
            }
        }
        if !section.is_set("trace") {
            section.require("rate", LINK, report);
        }
        let trace = LinkTrace::read(&section, &queue, report);
        let back = Link {
            name: format!("{name} back"),
            rate_field: section.path("rate"),
            from: to.clone(),
            to: from.clone(),
            rate_bps: way_back_bps(&section, trace.as_ref()),
            delay: section.time("delay").unwrap_or(Time::ZERO),
            queue: LinkQueue::Plain,
            rate_schedule: Vec::new(),
            trace: None,
            token_bucket: None,
            loss: section.number_or_zero("loss_back"),
            impairments: None,
        };
        let loss = section.number_or_zero("loss");
        let impairments = read_impairments(Some(item), &path, report);
        let mut link = Link { name, from, to, queue, rate_schedule, loss, impairments, ..back.clone() };
        put_trace(&mut link, trace);
        link.token_bucket = token_bucket(&section);
        links.push(link);
        if section.switch("one_way") == Some(false) {
            links.push(back);
            continue;
        }
        for field in ["loss_back", "rate"] {
            if section.is_set(field) && (field != "rate" || section.is_set("trace")) {
                let what = format!("{} is given", section.path(field));
                report.add(section.origin(field), "", &what, "without one_way: there is no link back");
            }
        }
    }
    links
}

fn groups(root: &Node, context: &Context<'_>, report: &mut Report) -> Vec<Group> {
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
    for (path, item) in members("groups", items).into_iter().zip(items) {
        if let Some(group) = group(item, &path, context, report) {
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
    // When a group was refused, the others have no place in the list.
    if items.len() == groups.len() {
        let seen: Vec<_> = (0..groups.len()).map(|number| seen_as(items, number, &groups, report)).collect();
        groups.iter_mut().zip(seen).for_each(|(group, other)| group.seen_as = other);
    }
    groups
}

/// Number of the group whose flows the queues take those of group `number` for.
fn seen_as(items: &[Node], number: usize, groups: &[Group], report: &mut Report) -> Option<usize> {
    let node = items[number].get("seen_as")?;
    let Data::Text(name) = &node.data else { return None };
    let group = &groups[number];
    let path = || format!("{}.seen_as", members("groups", items)[number]);
    if group.transport.tcp().is_some() {
        let valid = "nothing: only senders that wait for no answer pass as others";
        report.add(&node.origin, "", &format!("{} is given", path()), valid);
        return None;
    }
    let is_other = |&other: &usize| {
        let it = &groups[other];
        let forges = items[other].get("seen_as").is_some();
        it.name == *name && other != number && !forges && it.lasting_flows() >= group.count
    };
    let found = (0..groups.len()).find(is_other);
    if found.is_none() {
        let valid = format!(
            "the name of another group, of at least {} lasting flows, that has no seen_as itself",
            group.count
        );
        let meant = nearest(name, groups.iter().map(|group| &*group.name)).map(|name| format!("{name:?}"));
        report.add_meant(&node.origin, &path(), &node.shown(), &valid, meant.as_deref());
    }
    found
}

fn group(item: &Node, path: &str, context: &Context<'_>, report: &mut Report) -> Option<Group> {
    let Context { links, access, extensions, control } = *context;
    let transports = || transport::infos().chain(extensions.transports());
    let info = match item.get("transport").map(|node| (&node.data, node)) {
        Some((Data::Text(name), node)) => {
            let info = transports().find(|info| info.name == name);
            if info.is_none() {
                let names: Vec<_> = transports().map(|info| info.name).collect();
                let valid = format!("one of {}", names.join(", "));
                let meant = nearest(name, names).map(|name| format!("{name:?}"));
                let field = format!("{path}.transport");
                report.add_meant(&node.origin, &field, &node.shown(), &valid, meant.as_deref());
            }
            info
        }
        _ => None,
    };
    // Without a transport the fields of all are let through, so that only the transport is reported.
    let own: Vec<_> = match info {
        Some(info) => info.fields().copied().collect(),
        None => transports()
            .flat_map(|info| info.fields())
            .map(|f| FieldSpec { default: Some(""), ..*f })
            .collect(),
    };
    let fields: Vec<_> = GROUP.iter().copied().chain(own).collect();
    let section = Section::read(Some(item), path, &fields, &["mark_excess"], report);
    let read = |info: TransportInfo| {
        let external = extensions.congestion(info.name).map(|control| control.with_settings(&section));
        Transport::read(info.name, external, &section, report, control)
    };
    let transport = info.and_then(read);
    let mark_excess = mark_excess(item, path, report);
    let paths = paths(&section, links, access, report);
    let (packet_size, header) = sizes(&section, transport.as_ref(), report);
    let transport = transport?;
    let (forward, backward) = paths?;
    let count = match &transport {
        Transport::OpenLoop(SourceConfig::Trace(trace)) => {
            flows_of_trace(&section, trace.flows.len(), report)
        }
        _ => section.integer("count") as u32,
    };
    let own_rate = section.number("access_rate").map(|rate| AccessRate::Given(rate as u64));
    let access_rate_bps = own_rate.unwrap_or(access.rate).of(&forward, links, &transport, packet_size);
    Some(Group {
        name: section.text("name")?.into(),
        transport,
        count,
        packet_size,
        header,
        start: section.time("start")?,
        start_spread: section.time("start_spread")?,
        stop: section.time("stop").unwrap_or(Time::NEVER),
        class: section.integer("class") as u8,
        mark_excess,
        seen_as: None,
        hosts: ["source_host", "destination_host"].map(|end| section.text(end).map(Into::into)),
        access_rate_bps,
        access_delay: section.time("access_delay").unwrap_or(access.delay),
        forward,
        backward,
    })
}

/// The edge meter of a group.
fn mark_excess(group: &Node, path: &str, report: &mut Report) -> Option<MarkExcess> {
    let section = Section::read(
        Some(group.get("mark_excess")?),
        &format!("{path}.mark_excess"),
        MARK_EXCESS,
        &[],
        report,
    );
    Some(MarkExcess {
        rate_bps: section.number_or_zero("rate") as u64,
        burst_bytes: section.number_or_zero("burst") as u32,
        class: section.integer("class") as u8,
    })
}

/// Bytes of a data packet on the wire, and of the headers that are added for that.
fn sizes(section: &Section, transport: Option<&Transport>, report: &mut Report) -> (u32, u32) {
    let header = section.number_or_zero("header") as u32;
    let size = section.number_or_zero("packet_size") as u32 + header;
    if header > 0 && matches!(transport, Some(Transport::OpenLoop(SourceConfig::Trace(_)))) {
        let what = format!("{} is given", section.path("header"));
        report.add(section.origin("header"), "", &what, "nothing: the list of arrivals has whole packets");
    }
    if size > MAX_PACKET {
        let valid = format!("at most {MAX_PACKET} bytes with the header");
        let field = section.path("packet_size");
        report.add(section.origin("packet_size"), &field, &format!("{size} bytes"), &valid);
    }
    (size, header)
}

/// A list of arrivals says itself how many flows there are, and when they begin.
fn flows_of_trace(section: &Section, flows: usize, report: &mut Report) -> u32 {
    for name in ["count", "start_spread"] {
        if section.is_set(name) {
            let what = format!("{} is given", section.path(name));
            report.add(section.origin(name), "", &what, "nothing: the list of arrivals says it");
        }
    }
    flows as u32
}

/// Links there and back.
fn paths(
    section: &Section,
    links: &[Link],
    access: &Access,
    report: &mut Report,
) -> Option<(Vec<usize>, Vec<usize>)> {
    let end = |name: &str, number: &str, default: Option<&String>, report: &mut Report| {
        let router = section.is_set(number).then(|| chain::router(section.integer(number) as usize));
        if router.is_some() && section.is_set(name) {
            let what = format!("both {} and {} are given", section.path(name), number);
            report.add(section.origin(number), "", &what, "one of them");
        }
        let name = if router.is_some() { number } else { name };
        let node = router.as_deref().or(section.text(name)).or(default.map(String::as_str));
        match node {
            None => {
                report.add(section.origin(name), "", &format!("{} is missing", section.path(name)), "a node");
            }
            Some(node) if !links.iter().any(|link| link.from == node || link.to == node) => {
                let mut nodes: Vec<_> = links.iter().flat_map(|link| [&*link.from, &*link.to]).collect();
                nodes.sort_unstable();
                nodes.dedup();
                let valid = format!("one of the nodes {}", nodes.join(", "));
                let (field, value) = (section.path(name), format!("{node:?}"));
                report.add_meant(section.origin(name), &field, &value, &valid, nearest(node, nodes));
            }
            Some(_) => return node.map(str::to_owned),
        }
        None
    };
    let from = end("from", "enter", access.ends.as_ref().map(|ends| &ends.0), report);
    let to = end("to", "leave", access.ends.as_ref().map(|ends| &ends.1), report);
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
