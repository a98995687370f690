//! The parts of a scenario that real hosts can play, and those that they would play differently from the simulator's.

use super::address::{MOST_FLOWS, MOST_GROUPS};
use super::congestion::Congestion;
use fairdrop_sim::scenario::{Group, Scenario, Transport};
use std::fs;

/// IP and TCP headers, without options, bytes.
const TCP_HEADERS: u32 = 40;
/// The timestamps that the kernel puts into every segment (RFC 7323), bytes.
const TIMESTAMPS: u32 = 12;
/// IP and UDP headers, bytes.
pub const UDP_HEADERS: u32 = 28;
/// The least and largest segments that a socket accepts, bytes (`TCP_MAXSEG`: tcp(7)).
const SEGMENTS: (u32, u32) = (88, 32_767);
/// The smallest MTU of a link, bytes.
const LEAST_MTU: u32 = 576;
/// Codes that a DSCP can have.
const CLASSES: u8 = 64;

/// Where the kernel says which congestion controls it has.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// The congestion controls of this kernel.
///
/// # Errors
/// It does not say.
pub fn available() -> std::io::Result<Vec<String>> {
    Ok(fs::read_to_string(AVAILABLE)?.split_whitespace().map(str::to_owned).collect())
}

/// What cannot be carried out, a line each.
pub fn refusals(scenario: &Scenario, congestion: &Congestion, available: &[String]) -> Vec<String> {
    let mut refused = Vec::new();
    if scenario.groups.len() > MOST_GROUPS {
        refused.push(format!(
            "groups: {} of them; valid: at most {MOST_GROUPS} in a live run",
            scenario.groups.len()
        ));
    }
    for link in &scenario.links {
        if let Some(bucket) = link.token_bucket {
            let field = link.rate_field.replace("rate", "token_bucket");
            let valid = "none: the links of a live run transmit";
            refused.push(format!("{field} = {bucket} bytes cannot be carried out live; valid: {valid}"));
        }
    }
    for (number, group) in scenario.groups.iter().enumerate() {
        let mut refuse = |field: &str, value: &dyn std::fmt::Display, valid: &str| {
            refused.push(format!(
                "groups.{}.{field} = {value} cannot be carried out live; valid: {valid}",
                group.name
            ));
        };
        if group.count > MOST_FLOWS {
            refuse("count", &group.count, &format!("at most {MOST_FLOWS}"));
        }
        let marked = group.mark_excess.as_ref().map_or(0, |meter| meter.class);
        if group.class.max(marked) >= CLASSES {
            refuse("class", &group.class.max(marked), &format!("0 to {}, a DSCP", CLASSES - 1));
        }
        match &group.transport {
            Transport::Tcp(tcp) => {
                let name = congestion.name(number).unwrap_or(tcp.name);
                if !available.iter().any(|other| other == name) {
                    let valid = format!("{} (the congestion controls of this kernel)", available.join(", "));
                    refuse("transport", &format!("\"{name}\""), &valid);
                }
                let segment = group.packet_size.saturating_sub(TCP_HEADERS);
                if !(SEGMENTS.0..=SEGMENTS.1).contains(&segment) {
                    let (least, most) = (SEGMENTS.0 + TCP_HEADERS, SEGMENTS.1 + TCP_HEADERS);
                    refuse(
                        "packet_size",
                        &format!("{} bytes", group.packet_size),
                        &format!("{least} to {most} bytes"),
                    );
                }
            }
            Transport::OpenLoop(_) if group.packet_size < UDP_HEADERS => {
                let valid = format!("{UDP_HEADERS} bytes or more: the headers of IP and UDP");
                refuse("packet_size", &format!("{} bytes", group.packet_size), &valid);
            }
            Transport::OpenLoop(_) => {}
        }
    }
    refused
}

/// Open files that a run needs beside those of its flows: devices, namespaces, timers, a listener for each group.
const OWN_DESCRIPTORS: u64 = 64 + MOST_GROUPS as u64;

/// Why a process that may have `most` open files cannot carry out the scenario. A connection has two ends, a source of datagrams
/// one. Those of populations come and go, and are not foreseen.
pub fn too_many_descriptors(scenario: &Scenario, most: u64) -> Option<String> {
    let of_group = |group: &Group| {
        let ends = if group.transport.tcp().is_some() { 2 } else { 1 };
        ends * u64::from(group.lasting_flows())
    };
    let (flows, needed) = (
        scenario.groups.iter().map(|group| u64::from(group.lasting_flows())).sum::<u64>(),
        scenario.groups.iter().map(of_group).sum::<u64>() + OWN_DESCRIPTORS,
    );
    (needed > most).then(|| {
        format!(
            "groups: {flows} flows need {needed} open files, and a process may have {most}; valid: fewer flows, or a limit of \
             {needed} (ulimit -Hn; LimitNOFILE= of a service)"
        )
    })
}

/// What real hosts do otherwise than the scenario says, for the result.
pub fn differences(scenario: &Scenario, congestion: &Congestion) -> Vec<String> {
    let mut differences = Vec::new();
    for (number, group) in scenario.groups.iter().enumerate() {
        let Some(tcp) = group.transport.tcp() else { continue };
        let mut differ = |what: String| differences.push(format!("groups.{}: {what}", group.name));
        differ(format!(
            "the kernel's {} sends: its initial window (the scenario says {} packets), timers (min_rto {} s), loss recovery \
             with SACK, RACK and tail loss probes, and delayed ACKs",
            congestion.name(number).unwrap_or(tcp.name),
            tcp.initial_window,
            tcp.min_rto.seconds()
        ));
        differ(format!(
            "ACKs are {} bytes or more (the scenario says {})",
            TCP_HEADERS + TIMESTAMPS,
            tcp.ack_size
        ));
        if !tcp.handshake {
            differ("connections open with a handshake".into());
        }
        if tcp.app_rate_bps.is_some() {
            differ(
                "the window falls while the application writes nothing (tcp_slow_start_after_idle)".into(),
            );
        }
    }
    differences
}

/// The MTU with which every packet of the scenario fits, bytes.
pub fn mtu(scenario: &Scenario) -> u32 {
    let largest = scenario.groups.iter().map(|group| group.packet_size).max().unwrap_or(0);
    // Lists of arrivals have sizes of their own.
    let is_list = |group: &Group| group.transport.name() == "trace";
    if scenario.groups.iter().any(is_list) { 65_535 } else { largest.max(LEAST_MTU) }
}

/// `TCP_MAXSEG` with which a full segment is a packet of the group's size.
pub fn max_segment(group: &Group) -> u32 {
    group.packet_size - TCP_HEADERS
}

/// Data of a full segment, bytes.
pub fn payload(group: &Group) -> u32 {
    max_segment(group) - TIMESTAMPS
}

/// The window of the scenario in bytes of data, for the receiver to advertise.
pub fn max_window(group: &Group, packets: f64) -> u32 {
    (packets * f64::from(payload(group))).min(f64::from(u32::MAX)) as u32
}

/// What the application writes so that a transfer of `bytes` takes as many packets of the same sizes as in the scenario, where
/// headers count as part of them.
pub fn to_write(group: &Group, bytes: u64) -> u64 {
    let scenario_payload = u64::from(group.payload());
    let packets = bytes.div_ceil(scenario_payload).max(1);
    let last = bytes.saturating_sub((packets - 1) * scenario_payload) + u64::from(group.header);
    let last = last.saturating_sub(u64::from(TCP_HEADERS + TIMESTAMPS)).max(1);
    (packets - 1) * u64::from(payload(group)) + last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(groups: &str) -> Scenario {
        Scenario::parse(&format!("[queue]\n{groups}"), "test", &[]).unwrap()
    }

    #[test]
    fn a_shaper_is_refused_by_name() {
        let text = "[dumbbell]\ntoken_bucket = \"1600B\"\n[queue]\n[[groups]]\nname = \"c\"\ntransport = \"cbr\"\nrate = 1000\n";
        let scenario = Scenario::parse(text, "test", &[]).unwrap();
        let refused = refusals(&scenario, &Congestion::of(&scenario, &[]).unwrap(), &[]);
        assert_eq!(
            refused,
            [
                "dumbbell.token_bucket = 1600 bytes cannot be carried out live; valid: none: the links of a live run transmit"
            ]
        );
    }

    #[test]
    fn what_the_kernel_does_not_offer_is_refused_by_name() {
        let scenario = scenario(
            "[[groups]]\nname = \"a\"\ntransport = \"cubic\"\n[[groups]]\nname = \"b\"\ntransport = \"sack\"\npacket_size = 60\n\
             app_rate = \"1mbit\"\n[[groups]]\nname = \"c\"\ntransport = \"cbr\"\nrate = 1000\npacket_size = 20\nclass = 70\n",
        );
        let available = ["reno", "cubic"].map(str::to_owned);
        let refused = refusals(&scenario, &Congestion::of(&scenario, &[]).unwrap(), &available);
        assert_eq!(
            refused,
            [
                "groups.b.transport = \"sack\" cannot be carried out live; valid: reno, cubic (the congestion controls of this kernel)",
                "groups.b.packet_size = 60 bytes cannot be carried out live; valid: 128 to 32807 bytes",
                "groups.c.class = 70 cannot be carried out live; valid: 0 to 63, a DSCP",
                "groups.c.packet_size = 20 bytes cannot be carried out live; valid: 28 bytes or more: the headers of IP and UDP",
            ]
        );
    }

    #[test]
    fn more_flows_than_open_files_are_refused() {
        let scenario = scenario(
            "[[groups]]\nname = \"a\"\ntransport = \"reno\"\ncount = 500\n\
             [[groups]]\nname = \"b\"\ntransport = \"cbr\"\nrate = 1000\ncount = 10\n",
        );
        assert_eq!(too_many_descriptors(&scenario, 1010 + OWN_DESCRIPTORS), None);
        let why = too_many_descriptors(&scenario, 1024).unwrap();
        assert!(
            why.starts_with(
                "groups: 510 flows need 1138 open files, and a process may have 1024; valid: fewer flows"
            ),
            "{why}"
        );
    }

    /// 2500 bytes are two packets of 1000 and one of 500, with and without headers that count as data.
    #[test]
    fn transfers_take_the_same_packets() {
        let plain = scenario("[[groups]]\nname = \"a\"\ntransport = \"reno\"\npacket_size = 1000\n");
        assert_eq!(to_write(&plain.groups[0], 2500), 2 * 948 + 448);
        assert_eq!(to_write(&plain.groups[0], 1), 1);
        let added =
            scenario("[[groups]]\nname = \"a\"\ntransport = \"reno\"\npacket_size = 1000\nheader = 40\n");
        assert_eq!(to_write(&added.groups[0], 2500), 2 * 988 + 488);
    }
}
