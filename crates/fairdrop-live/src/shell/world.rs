//! The namespaces of a shell: the outer end of the link, and the inside.

use crate::os::namespace::{Enter, Helper, SocketKind};
use crate::os::{Netlink, NetworkSetting, Prefix, TRANSMIT_QUEUE};
use crate::shell::addresses::Addresses;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

/// Maximum transmission unit of the link, bytes.
pub const MTU: u32 = 1500;

/// This program.
const OURSELVES: &str = "/proc/self/exe";

/// The resolver's configuration.
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// Names of the TUN devices: of the outer end, and inside.
pub const OUTER: &str = "o0";
/// The interface that the command sees.
pub const INNER: &str = "c0";

/// How TCP is at both ends.
#[derive(Clone, Debug, Default)]
pub struct Tcp {
    /// Congestion control; without one, the machine's.
    pub congestion: Option<String>,
    /// Connections ask for ECN.
    pub ecn: bool,
}

/// One end of the link.
#[derive(Debug)]
pub struct End {
    /// The process that lives there.
    pub helper: Helper,
    /// The TUN device: packets that were sent at this end are read from it.
    pub device: Arc<OwnedFd>,
    /// Counters of the namespace, for the direction that begins here and the one that ends here.
    pub counters: [Netlink; 2],
}

/// Both ends.
#[derive(Debug)]
pub struct World {
    /// Where the outside is spliced on.
    pub outer: End,
    /// Where the command runs.
    pub inner: End,
    /// What is where.
    pub addresses: Arc<Addresses>,
    /// What does not work, though the rest does.
    pub notes: Vec<String>,
}

impl World {
    /// Makes both.
    ///
    /// # Errors
    /// Why it cannot be, and what to do about it.
    pub fn make(tcp: &Tcp) -> Result<Self, String> {
        let resolv_conf = fs::read_to_string(RESOLV_CONF).unwrap_or_default();
        let routed =
            Netlink::open().and_then(|netlink| netlink.routed()).map_err(|error| error.to_string())?;
        let addresses = Addresses::free(&routed, &resolv_conf)
            .ok_or("every subnet of 100.64.0.0/16 has a route already; needed: one that has none")?;
        let mut notes = Vec::new();

        let helper = Helper::start(Path::new(OURSELVES)).map_err(|error| error.to_string())?;
        helper
            .enter(Enter { user: true, network: true, ..Enter::default() })
            .map_err(|error| no_user_namespaces(&error, sysctl))?;
        let outer = End::make(helper, OUTER, &addresses, tcp)?;
        let failed = |error: io::Error| format!("the namespaces of the command: {error}");
        outer.helper.enter(Enter { processes: true, ..Enter::default() }).map_err(failed)?;
        let helper = outer.helper.helper().map_err(failed)?;
        helper.enter(Enter { network: true, mounts: true, ..Enter::default() }).map_err(failed)?;
        let inner = End::make(helper, INNER, &addresses, tcp)?;

        if let Err(error) =
            inner.helper.cover_file(Path::new(RESOLV_CONF), &addresses.resolv_conf(&resolv_conf))
        {
            notes.push(format!("names may not be resolved inside: {RESOLV_CONF}: {error}"));
        }
        if inner.helper.mount_proc().is_err() {
            notes.push("/proc inside shows the processes of the outside".into());
        }
        Ok(Self { outer, inner, addresses: Arc::new(addresses), notes })
    }
}

impl End {
    fn make(helper: Helper, interface: &str, addresses: &Addresses, tcp: &Tcp) -> Result<Self, String> {
        let inside = interface == INNER;
        let failed = |error: io::Error| format!("the network of the link: {error}");
        // Without IPv6 these are not there. No address of its own making, so that nothing but the command's packets crosses
        // the link; nothing is remembered from one connection for the next.
        for (name, value) in [
            ("ipv6/conf/default/addr_gen_mode", "1"),
            ("ipv6/conf/default/accept_ra", "0"),
            ("ipv4/tcp_no_metrics_save", "1"),
        ] {
            // Where /proc/sys cannot be written (in some containers) the shell works all the same.
            let _ = helper.sysctl(name, value);
        }
        let device = helper.tun(interface).map_err(|error| no_tun(&error))?;
        let settings = |v6| settings(addresses, tcp, inside, v6);
        helper.network(&settings(false)).map_err(|error| match &tcp.congestion {
            Some(name) if error.to_string().contains("congestion: Some") => no_congestion_control(name),
            _ => failed(error),
        })?;
        // Where the machine has no IPv6, the shell has none.
        let _ = helper.network(&settings(true));
        if inside {
            // Ping without rights (icmp(7)): for the only group there is.
            let _ = helper.sysctl("ipv4/ping_group_range", "0 0");
        }
        let netlink = || helper.socket(SocketKind::Netlink).map(Netlink::over).map_err(failed);
        Ok(Self { counters: [netlink()?, netlink()?], helper, device: Arc::new(device) })
    }
}

/// The network of one end.
fn settings(addresses: &Addresses, tcp: &Tcp, inside: bool, v6: bool) -> Vec<NetworkSetting> {
    let interface = || if inside { INNER } else { OUTER }.to_owned();
    let (inner, outer) = (addresses.inside(v6), addresses.gateway(v6));
    let (address, peer) = if inside { (inner, outer.address) } else { (outer, inner.address) };
    let route = |to, via| NetworkSetting::Route {
        to,
        via,
        interface: interface(),
        congestion: tcp.congestion.clone(),
        ecn: tcp.ecn,
    };
    vec![
        NetworkSetting::TransmitQueue { interface: interface(), packets: TRANSMIT_QUEUE },
        NetworkSetting::Up { interface: interface(), mtu: Some(MTU) },
        NetworkSetting::Address { interface: interface(), address },
        route(Prefix::host(peer), None),
        if inside {
            route(Prefix::everything(v6), Some(peer))
        } else {
            NetworkSetting::TakeAll { interface: interface(), v6 }
        },
    ]
}

/// Why there are no user namespaces, as far as the machine reports: `sysctl` reads a file under /proc/sys.
fn no_user_namespaces(error: &io::Error, sysctl: impl Fn(&str) -> io::Result<String>) -> String {
    let says = |path: &str, value: &str| sysctl(path).is_ok_and(|text| text.trim() == value);
    let remedy = if says("kernel/apparmor_restrict_unprivileged_userns", "1") {
        "AppArmor allows them to named programs only; sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for \
         fairdropd with \"userns,\", allows them"
    } else if says("kernel/unprivileged_userns_clone", "0") {
        "sysctl kernel.unprivileged_userns_clone=1 allows them"
    } else if says("user/max_user_namespaces", "0") {
        "sysctl user.max_user_namespaces=10000 allows them"
    } else {
        "in a container its owner must allow them (a seccomp profile that permits unshare), or run fairdropd outside of it"
    };
    format!("no user and network namespaces: {error}; {remedy}")
}

fn sysctl(name: &str) -> io::Result<String> {
    fs::read_to_string(Path::new("/proc/sys").join(name))
}

fn no_congestion_control(name: &str) -> String {
    let available =
        fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    format!("--congestion {name:?}: the kernel has none of that name; it has: {}", available.trim())
}

fn no_tun(error: &io::Error) -> String {
    let remedy = match error.kind() {
        io::ErrorKind::NotFound => {
            "/dev/net/tun is missing: modprobe tun, or give it to the container (--device /dev/net/tun)"
        }
        io::ErrorKind::PermissionDenied => {
            "/dev/net/tun must be readable and writable for all: chmod 0666 /dev/net/tun"
        }
        _ => "needed: a kernel with TUN devices: modprobe tun",
    };
    format!("no TUN device: {error}; {remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_that_forbids_namespaces_is_named() {
        let refused = io::Error::from(io::ErrorKind::PermissionDenied);
        let apparmor = "kernel/apparmor_restrict_unprivileged_userns";
        for (file, content, remedy) in [
            (apparmor, "1\n", "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile"),
            (apparmor, "0\n", "in a container"),
            ("kernel/unprivileged_userns_clone", "0\n", "sysctl kernel.unprivileged_userns_clone=1"),
            ("user/max_user_namespaces", "0\n", "sysctl user.max_user_namespaces=10000"),
            ("nothing", "1\n", "in a container"),
        ] {
            let machine = |path: &str| {
                if path == file { Ok(content.into()) } else { Err(io::ErrorKind::NotFound.into()) }
            };
            let message = no_user_namespaces(&refused, machine);
            assert!(message.starts_with("no user and network namespaces: permission denied; "), "{message}");
            assert!(message.contains(remedy), "{file}={content}: {message}");
        }
        // Where several forbid it, the one that the kernel asks first.
        let all = |path: &str| Ok(if path == apparmor { "1" } else { "0" }.into());
        assert!(no_user_namespaces(&refused, all).contains("AppArmor"));
    }
}
