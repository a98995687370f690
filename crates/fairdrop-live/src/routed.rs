//! `fairdropd tun`: a link between two TUN devices, for those who have routes of their own. What is routed into the one comes
//! out of the other; either may be moved to another network namespace.

use crate::cli::TunArgs;
use crate::config::OneWay;
use crate::daemon::{self, LOOK, Refusal, Running, stop_signal};
use crate::os::{Netlink, NetworkSetting, Processors, Role, TRANSMIT_QUEUE, random_key, tun};
use crate::port::{Descriptors, Joining};
use crate::services::{Prepared, Watches};
use crate::summary::Summary;
use fairdrop::Time;
use fairdrop_capture::LinkType;
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Of frames that begin with an IP header (the LINKTYPE registry of tcpdump.org).
const RAW_IP: LinkType = LinkType(101);

/// Buffers hold packets of this many bytes, should the MTU be made larger.
const LONGEST: u32 = 9000;

/// Bytes of the longest name of an interface.
const LONGEST_NAME: usize = 15;

/// Runs a link between two devices until a signal ends it or a device is deleted.
///
/// # Errors
/// It cannot be started, or a device failed.
pub fn run(args: &TunArgs) -> Result<(), Refusal> {
    let link = args.link.read().map_err(Refusal::input)?;
    let limits = args.end.limits().map_err(Refusal::input)?;
    let names = names(args)?;
    let stop = stop_signal().map_err(Refusal::running)?;
    let mut prepared = Prepared::new(&names.join("-"), &args.services, &link).map_err(Refusal::input)?;
    let [near, far] = [device(&names[0], args.mtu)?, device(&names[1], args.mtu)?];
    let frame_bytes = args.mtu.max(LONGEST) as usize;
    let buffers = link.up.buffer_bytes(frame_bytes)
        + link.down.buffer_bytes(frame_bytes)
        + prepared.memory(frame_bytes);
    crate::say!(
        "fairdropd: up {}; down {}; {:.1} MB of buffers",
        link.up.in_words(),
        link.down.in_words(),
        buffers as f64 / 1e6
    );
    let key = random_key().map_err(Refusal::running)?;
    let mut processors = Processors::watch();
    let _awake = daemon::confine(Role::Link, &args.services, &args.end).map_err(Refusal::running)?;
    let mut start = |name, number, way: &OneWay, from: &Device, to: &Device| {
        let config = way.direction(link.seed, number, key, RAW_IP, frame_bytes);
        let watches = prepared.watches(name, RAW_IP);
        let how = (args.services.spin.unwrap_or(Time::ZERO), args.services.joining(args.no_join));
        direction(name, config, watches, how, from, to).map_err(Refusal::running)
    };
    let (up, down) = (start("up", 0, &link.up, &near, &far)?, start("down", 1, &link.down, &far, &near)?);
    let services = prepared.serve([&up, &down]).map_err(Refusal::running)?;
    crate::say!("fairdropd: {} and {} are connected", names[0], names[1]);
    let mut stopped = false;
    while !stopped && !up.has_ended() && !down.has_ended() {
        let mut fds = [PollFd::new(&stop, PollFlags::IN)];
        stopped = poll(&mut fds, Some(&LOOK)).is_ok_and(|ready| ready > 0);
    }
    let (up, down) = (up.stop(), down.stop());
    drop(services);
    let (up, down) = (up.map_err(Refusal::running)?, down.map_err(Refusal::running)?);
    let summary = Summary::new(up, down, processors.stolen(), limits);
    summary.write(args.end.report.as_deref()).map_err(Refusal::running)?;
    let gone = || format!("{} or {} is gone: somebody has deleted it", names[0], names[1]);
    if stopped { Ok(()) } else { Err(Refusal::running(gone())) }
}

/// The names of both devices.
fn names(args: &TunArgs) -> Result<[String; 2], Refusal> {
    let peer = args.peer.clone().unwrap_or_else(|| format!("{}-peer", args.name));
    for name in [&args.name, &peer] {
        let printable = name.bytes().all(|byte| byte.is_ascii_graphic() && !b"/:%".contains(&byte));
        if name.is_empty() || name.len() > LONGEST_NAME || !printable || name.starts_with('.') {
            return Err(Refusal::input(format!(
                "{name:?} is no name for an interface; valid: 1 to {LONGEST_NAME} letters, digits, - or _ (--peer names the other end)"
            )));
        }
    }
    if args.name == peer {
        return Err(Refusal::input(format!("{peer} twice; valid: two names")));
    }
    Ok([args.name.clone(), peer])
}

/// A device and its name.
struct Device {
    name: String,
    descriptor: Arc<OwnedFd>,
}

/// Makes a device and puts it up.
fn device(name: &str, mtu: u32) -> Result<Device, Refusal> {
    let netlink = Netlink::open().map_err(Refusal::running)?;
    if netlink.link(name).is_ok() {
        return Err(Refusal::input(format!("{name} is there already; valid: a name that is free")));
    }
    let descriptor = tun(name).map_err(|error| {
        let what = match error.kind() {
            io::ErrorKind::NotFound => "there is no /dev/net/tun; load the module tun (modprobe tun)".into(),
            io::ErrorKind::PermissionDenied => format!("{error}; needs CAP_NET_ADMIN: run it as root"),
            _ => error.to_string(),
        };
        Refusal::running(format!("{name}: {what}"))
    })?;
    for setting in [
        NetworkSetting::TransmitQueue { interface: name.into(), packets: TRANSMIT_QUEUE },
        NetworkSetting::Up { interface: name.into(), mtu: Some(mtu) },
    ] {
        netlink.set(&setting).map_err(|error| Refusal::running(format!("{name}: {error}")))?;
    }
    Ok(Device { name: name.into(), descriptor: Arc::new(descriptor) })
}

fn direction(
    name: &'static str,
    config: crate::host::DirectionConfig,
    watches: Watches,
    (spin, joining): (Time, Joining),
    from: &Device,
    to: &Device,
) -> io::Result<Running> {
    let netlinks = [Netlink::open()?, Netlink::open()?];
    let (input, output) = (Arc::clone(&from.descriptor), Arc::clone(&to.descriptor));
    let names = [from.name.clone(), to.name.clone()];
    Running::start(name, config, watches, spin, move |sleeper| {
        let [before, behind] = netlinks;
        daemon::in_loop(
            Descriptors::tun(input, output, sleeper, joining)
                .counting_losses(before, &names[0])
                .counting_losses_behind(behind, &names[1]),
        )
    })
}
