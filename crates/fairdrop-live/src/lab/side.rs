//! A side of the network: a namespace with a TUN device, all of whose packets go through the links of the scenario.

use super::address::Side;
use super::error::LabError;
use crate::os::{tun, unshare};
use rustix::thread::UnshareFlags;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

/// The device.
const TUN: &str = "tun0";
/// Packets that may wait to be read. They are read at once; hosts' own links, which come next, lose what is too much.
const TUN_PACKETS: u32 = 50_000;

/// Settings of a namespace, under /proc/sys/net. Those of IPv6 may be missing. As in the simulator nobody gives up: what keeps
/// trying is the scenario's to stop.
pub const SYSCTLS: [(&str, &str); 11] = [
    ("ipv6/conf/all/disable_ipv6", "1"),
    ("ipv6/conf/default/disable_ipv6", "1"),
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/tcp_ecn", "2"),
    ("ipv4/tcp_timestamps", "1"),
    ("ipv4/tcp_max_syn_backlog", "4096"),
    ("ipv4/tcp_syn_retries", "127"),
    ("ipv4/tcp_synack_retries", "255"),
    ("ipv4/tcp_retries2", "255"),
];

/// Puts this thread into a namespace of its own, with a device to the other side. `ecn`: the groups whose connections ask for
/// explicit congestion notification.
///
/// # Errors
/// The machine does not allow it.
pub fn enter(side: Side, mtu: u32, ecn: &[usize]) -> Result<OwnedFd, LabError> {
    unshare(UnshareFlags::NEWNET).map_err(|error| LabError::Machine {
        what: "a network namespace",
        error,
        help: "run as root, or where user namespaces are allowed",
    })?;
    for (name, value) in SYSCTLS {
        let path = Path::new("/proc/sys/net").join(name);
        if let Err(error) = fs::write(&path, value)
            && !name.starts_with("ipv6")
        {
            return Err(LabError::Setting {
                what: format!("{}={value}", path.display()),
                why: error.to_string(),
            });
        }
    }
    let tun = tun(TUN).map_err(|error| LabError::Machine {
        what: "/dev/net/tun",
        error,
        help: "load the kernel module tun, or give the container the device /dev/net/tun",
    })?;
    configure(&commands(side, mtu, ecn))?;
    Ok(tun)
}

/// For `ip -batch`: everything of this side is this host, everything of the other is behind the device.
fn commands(side: Side, mtu: u32, ecn: &[usize]) -> String {
    let (ours, theirs) = (side.prefix(), side.other().prefix());
    let mut text = format!(
        "link set lo up\nlink set {TUN} mtu {mtu} txqueuelen {TUN_PACKETS} up\nroute add local {ours} dev lo\n\
         route add {theirs} dev {TUN} scope link\n"
    );
    for &group in ecn {
        let prefix = side.other().group_prefix(group);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "route add {prefix} dev {TUN} scope link features ecn");
    }
    text
}

fn configure(commands: &str) -> Result<(), LabError> {
    let failed = |why: String| LabError::Setting { what: "ip -batch -".into(), why };
    let started = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut ip = started.map_err(|error| failed(format!("{error}; valid: with iproute2 installed")))?;
    if let Some(mut stdin) = ip.stdin.take() {
        stdin.write_all(commands.as_bytes()).map_err(|error| failed(error.to_string()))?;
    }
    let ended = ip.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if ended.status.success() {
        Ok(())
    } else {
        Err(failed(String::from_utf8_lossy(&ended.stderr).trim().to_owned()))
    }
}

/// Packets that this thread's device had no room for: a queue that is not of the scenario.
pub fn lost_at_device() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(TUN)?.strip_prefix(':'));
    // Bytes, packets, errors, drops of what is received; the same of what is sent.
    let columns: Vec<u64> = line.unwrap_or_default().split_whitespace().flat_map(str::parse).collect();
    columns.get(11).copied().unwrap_or(0)
}
