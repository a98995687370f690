//! A side of the network: a namespace with a TUN device, all of whose packets go through the links of the scenario.

use super::address::Side;
use super::error::LabError;
use super::sysctl::Sysctls;
use crate::os::{tun, unshare};
use rustix::thread::UnshareFlags;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

/// The device.
const TUN: &str = "tun0";
/// Packets that may wait to be read. They are read at once; hosts' own links, which come next, lose the excess.
const TUN_PACKETS: u32 = 50_000;

/// Puts this thread into a new namespace, with a device to the other side. `ecn`: the groups whose connections ask for
/// explicit congestion notification.
///
/// # Errors
/// The machine does not allow it.
pub fn enter(side: Side, mtu: u32, ecn: &[usize], sysctls: &Sysctls) -> Result<OwnedFd, LabError> {
    unshare(UnshareFlags::NEWNET).map_err(|error| LabError::Machine {
        what: "a network namespace",
        error,
        help: "run as root, or where user namespaces are allowed",
    })?;
    sysctls.set()?;
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
    // Bytes, packets, errors and drops of receiving; the same of sending.
    let columns: Vec<u64> = line.unwrap_or_default().split_whitespace().flat_map(str::parse).collect();
    columns.get(11).copied().unwrap_or(0)
}
