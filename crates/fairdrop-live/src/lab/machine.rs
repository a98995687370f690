//! The machine that a live run was made on: what matters of its settings, and how much of its time others took.

use serde_json::{Map, Value as Json, json};
use std::fs;

/// Settings under /proc/sys that decide how TCP behaves.
const SYSCTLS: [&str; 12] = [
    "net/ipv4/tcp_available_congestion_control",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_wmem",
    "net/ipv4/tcp_sack",
    "net/ipv4/tcp_dsack",
    "net/ipv4/tcp_recovery",
    "net/ipv4/tcp_early_retrans",
    "net/ipv4/tcp_slow_start_after_idle",
    "net/ipv4/tcp_window_scaling",
    "net/core/default_qdisc",
    "net/core/rmem_max",
];

/// What is known of the machine.
pub fn facts(mtu: u32) -> Map<String, Json> {
    let name = rustix::system::uname();
    let text = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let sysctls: Map<String, Json> = SYSCTLS
        .iter()
        .map(|name| (name.replace('/', "."), json!(text(&format!("/proc/sys/{name}")))))
        .collect();
    let cpu = text("/proc/cpuinfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split(':').nth(1)?.trim().to_owned())
    });
    let facts = [
        ("kernel", json!(name.release().to_string_lossy())),
        ("architecture", json!(name.machine().to_string_lossy())),
        ("cpu", json!(cpu)),
        ("cpus", json!(std::thread::available_parallelism().ok().map(std::num::NonZero::get))),
        ("clock_source", json!(text("/sys/devices/system/clocksource/clocksource0/current_clocksource"))),
        ("load_average", json!(text("/proc/loadavg"))),
        ("devices", json!("two TUN devices without IFF_VNET_HDR: no frame is larger than the MTU")),
        ("mtu_bytes", json!(mtu)),
        ("sysctls", json!(sysctls)),
    ];
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
