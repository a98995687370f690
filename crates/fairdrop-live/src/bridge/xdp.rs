//! The AF_XDP sockets of one of the two interfaces: how they are taken into use, and what to do where that is refused.

use crate::cli::XdpWay;
use crate::daemon::Refusal;
use crate::os::xdp::{Attached, LONGEST, MOST_QUEUES, Place, Refused, Step, Wish, XdpSockets};
use crate::os::{Interface, receive_queues};
use crate::port::XdpInterface;
use rustix::io::Errno;
use std::sync::atomic::Ordering;

/// Bytes of Ethernet's header with two tags.
const LINK_HEADER: u32 = 22;

/// An interface over AF_XDP sockets.
#[derive(Debug)]
pub(super) struct XdpSide {
    /// For those who read and write.
    pub interface: XdpInterface,
    way: XdpWay,
    ring_bytes: u32,
    attached: Option<Attached>,
}

impl XdpSide {
    /// One that is not there yet.
    pub fn new(way: XdpWay, ring_bytes: u32) -> Self {
        Self { interface: XdpInterface::default(), way, ring_bytes, attached: None }
    }

    /// Takes an interface into use.
    pub fn attach(&mut self, interface: &Interface) -> Result<(), Refusal> {
        let name = &interface.name;
        let sockets = sockets(interface, self.way, self.ring_bytes)?;
        let (attached, queues) = (sockets.attached, sockets.input.sockets().count());
        if let Some(error) = &attached.not_before {
            crate::say!(
                "fairdropd: {name}: the driver takes no XDP program ({error}): generic mode, which costs more"
            );
        }
        crate::say!(
            "fairdropd: {name}: AF_XDP, {}, {}, {queues} {}",
            if attached.place == Place::Driver { "in the driver" } else { "generic mode" },
            if sockets.zero_copy { "zero copy" } else { "frames are copied" },
            if queues == 1 { "queue" } else { "queues" },
        );
        if !attached.knows_tags {
            crate::say!(
                "fairdropd: {name}: tags of VLANs that are not in the frame are not seen; over veth: \
                 ethtool -K PEER txvlan off"
            );
        }
        self.attached = Some(attached);
        self.interface.input.put(Some(sockets.input));
        self.interface.output.put(Some(sockets.output));
        self.changed(interface);
        Ok(())
    }

    /// It has another MTU, is up or down.
    pub fn changed(&self, interface: &Interface) {
        let mtu = if interface.ready() { interface.mtu } else { 0 };
        self.interface.mtu.store(mtu, Ordering::Relaxed);
    }

    /// It is used no more. The program is removed from it, if it is still there.
    pub fn leave(&mut self) {
        self.interface.mtu.store(0, Ordering::Relaxed);
        self.attached = None;
        self.interface.input.put(None);
        self.interface.output.put(None);
    }
}

/// Whether the drivers of both interfaces read and write frames in memory that they share with the program.
pub(super) fn share_memory(interfaces: &[Interface; 2], ring_bytes: u32) -> bool {
    interfaces.iter().all(|interface| sockets(interface, XdpWay::ZeroCopy, ring_bytes).is_ok())
}

fn sockets(interface: &Interface, way: XdpWay, ring_bytes: u32) -> Result<XdpSockets, Refusal> {
    let Interface { name, index, mtu, .. } = interface;
    let most = LONGEST - LINK_HEADER;
    if *mtu > most {
        return Err(Refusal::input(format!(
            "{name}: MTU {mtu}: AF_XDP takes packets up to {most} bytes; valid: `ip link set {name} mtu {most}` (with the \
             hosts behind it), or --port packet"
        )));
    }
    let known = receive_queues(name).map_err(|error| Refusal::running(format!("{name}: {error}")))?;
    let queues = known.unwrap_or(interface.rx_queues).max(1);
    if queues > MOST_QUEUES {
        return Err(Refusal::input(format!(
            "{name}: {queues} receive queues: AF_XDP sockets for at most {MOST_QUEUES}; valid: `ethtool -L {name} combined \
             {MOST_QUEUES}`, or --port packet"
        )));
    }
    let places: &[Place] = match way {
        XdpWay::Any => &[Place::Driver, Place::Generic],
        XdpWay::Driver | XdpWay::ZeroCopy => &[Place::Driver],
        XdpWay::Generic => &[Place::Generic],
    };
    let wish = Wish { places, zero_copy: way == XdpWay::ZeroCopy, queues, ring_bytes };
    XdpSockets::new(*index, wish).map_err(|refused| refusal(name, &refused, way))
}

/// With what to do.
fn refusal(name: &str, refused: &Refused, way: XdpWay) -> Refusal {
    let errno = Errno::from_io_error(&refused.error);
    let what = match (refused.step, errno) {
        (Step::Memory, Some(Errno::NOBUFS | Errno::NOMEM)) => {
            "too little memory may be locked; valid: CAP_IPC_LOCK, `ulimit -l unlimited` (LimitMEMLOCK=infinity), a smaller --ring, or --port packet"
        }
        (_, Some(Errno::PERM)) => {
            "needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, outside of user namespaces: run it as root, or once \
             `setcap cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock=ep` on the program; or --port packet"
        }
        (Step::Socket, Some(Errno::AFNOSUPPORT)) => "this kernel has no AF_XDP; valid: --port packet",
        (Step::Queue(_), Some(Errno::BUSY)) => {
            "another program has an AF_XDP socket there; valid: an interface that is not in use, or --port packet"
        }
        (Step::Queue(_), _) if way == XdpWay::ZeroCopy => {
            "its driver shares no memory; valid: --xdp driver, where frames are copied, or --port packet"
        }
        (Step::Attach, Some(Errno::BUSY | Errno::EXIST)) => {
            return Refusal::input(format!(
                "{name}: another XDP program is attached; valid: remove it (`ip link set dev {name} xdp off`, or end the program \
                 that `bpftool net` names), or --port packet"
            ));
        }
        (Step::Attach, _) if way != XdpWay::Any => {
            "its driver takes no XDP program, or not with this MTU; valid: --xdp any, or --port packet"
        }
        _ => "valid: --port packet",
    };
    Refusal::running(format!("{name}: {refused}; {what}"))
}
