//! Packets lost where no queue is studied: at full buffers of plain links and of hosts' own links.

use crate::scenario::{Group, PLAIN_LIMIT, Scenario};
use fairdrop_capture::{count_grouped, grouped};
use fairdrop_config::units::rate_in_words;
use std::collections::BTreeMap;

/// Where a packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The own link of a host of a group: the one at the start of a packet's way, or at its end.
    Host { group: u16, backward: bool, last: bool },
    /// A plain link, by its number.
    Link(u32),
}

/// Lost packets by place and group. Few runs have some.
#[derive(Debug, Default)]
pub struct StrayLosses(BTreeMap<Place, BTreeMap<u16, u64>>);

impl StrayLosses {
    #[cold]
    #[inline(never)]
    pub fn add(&mut self, place: Place, group: u16, packets: u64) {
        *self.0.entry(place).or_default().entry(group).or_default() += packets;
    }

    /// The measuring window opens.
    pub fn open(&mut self) {
        self.0.clear();
    }

    /// A sentence for each place, with the field that sets its rate.
    pub fn sentences(&self, scenario: &Scenario) -> Vec<String> {
        let sentence = |(place, lost): (&Place, &BTreeMap<u16, u64>)| match *place {
            Place::Link(link) => on_link(scenario, link, lost),
            Place::Host { group, backward, last } => {
                at_host(&scenario.groups[usize::from(group)], backward, last, lost.values().sum())
            }
        };
        self.0.iter().map(sentence).collect()
    }
}

fn on_link(scenario: &Scenario, link: u32, lost: &BTreeMap<u16, u64>) -> String {
    let of_group = |(&group, &lost): (&u16, &u64)| {
        format!("{} of {}", grouped(lost), scenario.groups[usize::from(group)].name)
    };
    let link = &scenario.links[link as usize];
    format!(
        "{} = {} lets link {}, a FIFO of {} packets that is not under study, lose {}: {}",
        link.rate_field,
        rate_in_words(link.rate_bps),
        link.name,
        grouped(PLAIN_LIMIT.into()),
        count_grouped(lost.values().sum(), "packet"),
        lost.iter().map(of_group).collect::<Vec<_>>().join(", ")
    )
}

/// On the own link of a host at the start of a packet's way, or at its end.
fn at_host(group: &Group, backward: bool, last: bool, packets: u64) -> String {
    let (name, access) = (&group.name, group.access_rate_bps.unwrap_or(u64::MAX));
    let field = format!("groups.{name}.access_rate = {}", rate_in_words(access));
    let number = count_grouped(packets, if backward { "ACK" } else { "packet" });
    let peak = group.transport.peak_bps(group.packet_size).unwrap_or(0.0) as u64;
    if (backward, last) == (false, false) && peak > access {
        let sends = rate_in_words(peak);
        return format!("{field} is below the {sends} that {name} sends: {number} lost before the queue");
    }
    let place = match (backward, last) {
        (false, false) => "before the queue, on the own links of its sources",
        (false, true) => "behind the queue, on the own links of its sinks",
        (true, false) => "on the own links of its sinks",
        (true, true) => "on the own links of its sources",
    };
    let held = grouped(PLAIN_LIMIT.into());
    format!("{field} lets {name} lose {number} {place}, which hold {held} packets each")
}
