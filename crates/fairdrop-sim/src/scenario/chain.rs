//! `[chain]`: links in a row, between routers R1, R2, ...

use super::queue::QueueConfig;
use super::{Link, LinkQueue};
use fairdrop_config::{Report, Section};

/// Name of router number `number`, from 1.
pub fn router(number: usize) -> String {
    format!("R{number}")
}

/// The links of the chain, each followed by the one back.
pub fn links(section: &Section, queue: &QueueConfig, report: &mut Report) -> Vec<Link> {
    let rates = section.numbers("rates").unwrap_or(&[]);
    let delays = section.numbers("delays").unwrap_or(&[1e-3]);
    let names = section.names("queues");
    for (name, count) in [("delays", delays.len()), ("queues", names.map_or(rates.len(), <[String]>::len))] {
        if !rates.is_empty() && count != rates.len() && !(name == "delays" && count == 1) {
            let valid = format!("as many as rates, {}", rates.len());
            report.add(section.origin(name), &section.path(name), &format!("{count} entries"), &valid);
        }
    }
    let both_ways = section.switch("both_ways") == Some(true);
    let (loss, loss_back) = (section.number_or_zero("loss"), section.number_or_zero("loss_back"));
    let mut links = Vec::new();
    for (index, &rate) in rates.iter().enumerate() {
        let name = names.and_then(|names| names.get(index)).map_or("queue", String::as_str);
        let queue = link_queue(name, section, queue, report);
        let delay = delays.get(index).or(delays.first()).copied().unwrap_or(0.0);
        let link = |from, to, queue, loss| Link {
            name: format!("{}-{}", router(from), router(to)),
            rate_field: section.path("rates"),
            from: router(from),
            to: router(to),
            rate_bps: rate as u64,
            delay: fairdrop_config::units::time(delay),
            queue,
            rate_schedule: Vec::new(),
            trace: None,
            token_bucket: None,
            loss,
            impairments: None,
        };
        let back = if both_ways { queue.clone() } else { LinkQueue::Plain };
        links.extend([link(index + 1, index + 2, queue, loss), link(index + 2, index + 1, back, loss_back)]);
    }
    links
}

fn link_queue(name: &str, section: &Section, queue: &QueueConfig, report: &mut Report) -> LinkQueue {
    match (name, queue.with_discipline(name)) {
        ("queue", _) => LinkQueue::Study,
        ("plain", _) => LinkQueue::Plain,
        (_, Ok(own)) => LinkQueue::Own(own),
        (_, Err(_)) => {
            let valid = format!("\"queue\", \"plain\", or {}", queue.known());
            let meant = queue.meant(name).map(|name| format!("{name:?}"));
            let (origin, field) = (section.origin("queues"), section.path("queues"));
            report.add_meant(origin, &field, &format!("{name:?}"), &valid, meant.as_deref());
            LinkQueue::Plain
        }
    }
}
