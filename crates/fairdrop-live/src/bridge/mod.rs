//! `fairdropd bridge`: a bump in the wire between two interfaces.
//!
//! Frames of every kind pass as they are. Each direction has a thread; this one follows what becomes of the interfaces.

mod keeper;
mod settings;
mod side;
mod xdp;

pub use keeper::serve as keep;
pub use settings::{Restored, restore};

use crate::cli::{BridgeArgs, PortKind, XdpWay};
use crate::config::{OneWay, TwoWay};
use crate::daemon::{self, LOOK, Refusal, Running, stop_signal};
use crate::host::{Report, Watch};
use crate::os;
use crate::os::xdp::bytes_for;
use crate::os::{Changes, Interface, Processors, RING_BLOCK, RingLayout, Role, interfaces, random_key};
use crate::port::{PacketPorts, Receiver, XdpPorts};
use crate::services::Prepared;
use crate::summary::Summary;
use fairdrop::Time;
use fairdrop_capture::LinkType;
use keeper::Keeper;
use rustix::event::{PollFd, PollFlags, poll};
use side::{Side, Sockets};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a bridge is made of.
#[derive(Clone, Debug)]
pub struct BridgeOptions {
    /// The interfaces; `up` leads from the first to the second.
    pub interfaces: [String; 2],
    /// The link.
    pub link: TwoWay,
    /// Spent awake of each sleep.
    pub spin: Time,
    /// Longest packet without the link header, bytes; longer ones are dropped.
    pub mtu: u32,
    /// Bytes of each receive ring.
    pub ring_bytes: u32,
    /// Packet sockets hand frames over in blocks, up to a millisecond late.
    pub blocks: bool,
    /// How it gets at frames.
    pub port: PortKind,
    /// Where frames are taken for AF_XDP.
    pub xdp: XdpWay,
    /// Where the settings of interfaces are kept that are changed; `None`: none is changed.
    pub state: Option<PathBuf>,
    /// This program, which keeps them in a separate process.
    pub program: PathBuf,
}

impl BridgeOptions {
    /// As the command line has them.
    ///
    /// # Errors
    /// What is wrong with the link, a line each.
    pub fn of(args: &BridgeArgs) -> Result<Self, String> {
        if args.blocks && args.port != PortKind::Packet {
            return Err("--blocks is for packet sockets; valid: with --port packet, or without it".into());
        }
        if args.xdp != XdpWay::Any && args.port != PortKind::Xdp {
            return Err("--xdp is for AF_XDP; valid: with --port xdp, or without it".into());
        }
        Ok(Self {
            interfaces: [args.first.clone(), args.second.clone()],
            link: args.link.read()?,
            spin: args.services.spin.unwrap_or(Time::ZERO),
            mtu: args.mtu,
            ring_bytes: args.ring << 20,
            blocks: args.blocks,
            port: args.port,
            xdp: args.xdp,
            state: (!args.keep_offloads).then(|| args.state.state.clone()),
            program: OURSELVES.into(),
        })
    }
}

/// Of frames on Ethernet (the LINKTYPE registry of tcpdump.org).
const ETHERNET: LinkType = LinkType(1);

/// Bytes of Ethernet's header with two tags, rounded up.
const LINK_HEADER: u32 = 24;

/// Room that a slot of a ring needs beside the frame: the kernel's headers.
const SLOT_HEADER: u32 = 128;

/// Slots hold frames of this many bytes at least, and at most; longer ones take the way through the socket's queue.
const SLOT: (u32, u32) = (2048, 16_384);

/// Milliseconds after which a block is handed over that is not full.
const BLOCK_MS: u32 = 1;

/// This program.
const OURSELVES: &str = "/proc/self/exe";

/// All that takes a right to have, before anything passes.
pub struct Opened {
    options: BridgeOptions,
    changes: Changes,
    found: [Interface; 2],
    sides: [Side; 2],
    receivers: [Option<Receiver>; 2],
    keeper: Option<Keeper>,
}

/// A bridge that runs.
pub struct Bridge {
    sides: [Side; 2],
    keeper: Option<Keeper>,
    /// The longest packet that a frame buffer holds, bytes.
    longest: u32,
    /// The last message on the longest packets.
    too_long: [Option<String>; 2],
    /// From the first interface to the second.
    pub up: Running,
    /// Back.
    pub down: Running,
    changes: Changes,
}

impl Bridge {
    /// Opens what takes a right to open. No right is needed from then on.
    ///
    /// # Errors
    /// The interfaces cannot be used; the message says why, and which can.
    pub fn open(options: &BridgeOptions) -> Result<Opened, Refusal> {
        let changes = Changes::new().map_err(Refusal::running)?;
        let all = interfaces().map_err(Refusal::running)?;
        let found = choose(&options.interfaces, &all)?.map(Interface::clone);
        let [first, second] = &options.interfaces;
        let way = way(options, &found);
        if way.is_some() {
            os::xdp::prepare();
        }
        let side = |name| Side::new(name, way, options.ring_bytes).map_err(no_right);
        let sides = [side(first)?, side(second)?];
        let ring_bytes = options.ring_bytes.next_multiple_of(RING_BLOCK);
        let layout = options.layout(&found);
        let receiver = |side: &Side| match &side.sockets {
            Sockets::Packet(input, _) => {
                Receiver::new(Arc::clone(input), layout, ring_bytes).map(Some).map_err(Refusal::running)
            }
            Sockets::Xdp(_) => Ok(None),
        };
        let receivers = [receiver(&sides[0])?, receiver(&sides[1])?];
        let keeper = options.state.as_deref().map(|state| Keeper::start(&options.program, state)).transpose();
        let keeper =
            keeper.map_err(|refused| side::refusal_of(&refused, &options.interfaces.join(" and ")))?;
        Ok(Opened { options: options.clone(), changes, found, sides, receivers, keeper })
    }

    /// Logs which packets are too long for the way, where that has changed.
    fn log_longest(&mut self) {
        let [first, second] = [self.sides[0].mtu(), self.sides[1].mtu()];
        let now = [too_long(first, second, self.longest), too_long(second, first, self.longest)];
        for (line, before) in now.iter().zip(&self.too_long) {
            if let Some(line) = line.as_ref().filter(|_| line != before) {
                crate::say!("fairdropd: {line}");
            }
        }
        self.too_long = now;
    }

    /// Follows what becomes of the interfaces, until `stop` can be read or a direction has ended.
    ///
    /// # Errors
    /// The kernel does not report it.
    pub fn follow(&mut self, stop: BorrowedFd<'_>) -> io::Result<()> {
        while !self.up.has_ended() && !self.down.has_ended() {
            let mut fds = [self.changes.poll_fd(), PollFd::from_borrowed_fd(stop, PollFlags::IN)];
            match poll(&mut fds, Some(&LOOK)) {
                Err(rustix::io::Errno::INTR) => continue,
                polled => polled?,
            };
            let [changed, stopped] = fds.map(|fd| !fd.revents().is_empty());
            if stopped {
                break;
            }
            if changed {
                self.changes.forget();
                let all = interfaces()?;
                let keeper = self.keeper.as_ref();
                self.sides.iter_mut().for_each(|side| side.follow(&all, keeper));
                self.log_longest();
            }
        }
        Ok(())
    }

    /// Ends it, and puts the interfaces' settings back. How up and down were at the end.
    ///
    /// # Errors
    /// A port failed; the settings are put back all the same.
    pub fn stop(self) -> io::Result<[Report; 2]> {
        let (up, down) = (self.up.stop(), self.down.stop());
        drop((self.sides, self.keeper));
        Ok([up?, down?])
    }
}

/// Runs a bridge until a signal ends it.
///
/// # Errors
/// It cannot be started, or a port failed.
pub fn run(args: &BridgeArgs) -> Result<(), Refusal> {
    let options = BridgeOptions::of(args).map_err(Refusal::input)?;
    let limits = args.end.limits().map_err(Refusal::input)?;
    let stop = stop_signal().map_err(Refusal::running)?;
    let mut prepared = Prepared::new(&options.interfaces.join("-"), &args.services, &options.link)
        .map_err(Refusal::input)?;
    let opened = Bridge::open(&options)?;
    let mut processors = Processors::watch();
    let _awake = daemon::confine(opened.role(), &args.services, &args.end).map_err(Refusal::running)?;
    let beside = prepared.memory(opened.frame_bytes());
    let mut bridge = opened.start(beside, |name| prepared.watches(name, ETHERNET))?;
    crate::say!("fairdropd: {} and {} are bridged", options.interfaces[0], options.interfaces[1]);
    let served = prepared.serve([&bridge.up, &bridge.down]);
    let followed = served.and_then(|services| bridge.follow(stop.as_fd()).map(|()| services));
    let [up, down] = bridge.stop().map_err(Refusal::running)?;
    let summary = Summary::new(up, down, processors.stolen(), limits);
    summary.write(args.end.report.as_deref()).map_err(Refusal::running)?;
    followed.map(drop).map_err(Refusal::running)
}

/// Puts back what killed bridges left behind, and prints what it put back.
///
/// # Errors
/// The directory cannot be read, or an interface cannot be changed.
pub fn run_restore(directory: &Path) -> Result<(), Refusal> {
    let all = interfaces().map_err(Refusal::running)?;
    let name_of = |index| all.iter().find(|one| one.index == index).map(|one| one.name.clone());
    let all = restore(directory, name_of)
        .map_err(|error| Refusal::running(format!("{}: {error}", directory.display())))?;
    let lines = match &all[..] {
        [] => format!("{}: nothing to put back\n", directory.display()),
        some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n") + "\n",
    };
    crate::output::print(&lines).map_err(Refusal::running)
}

impl BridgeOptions {
    /// The longest frame, bytes, should the MTU of neither interface become larger than `mtu`.
    fn frame_bytes(&self, found: &[Interface; 2]) -> usize {
        (self.longest(found) + LINK_HEADER) as usize
    }

    /// The longest packet that frame buffers are made for, bytes.
    fn longest(&self, found: &[Interface; 2]) -> u32 {
        found.iter().map(|interface| interface.mtu).fold(self.mtu, u32::max)
    }

    fn layout(&self, found: &[Interface; 2]) -> RingLayout {
        let slot = (found[0].mtu.max(found[1].mtu) + LINK_HEADER + SLOT_HEADER).clamp(SLOT.0, SLOT.1);
        if self.blocks { RingLayout::Blocks(BLOCK_MS) } else { RingLayout::Slots(slot.next_power_of_two()) }
    }
}

impl Opened {
    /// What is needed from here on: an interface that comes back is taken into use again, which AF_XDP needs rights for.
    pub fn role(&self) -> Role {
        if matches!(self.sides[0].sockets, Sockets::Xdp(_)) { Role::Xdp } else { Role::Link }
    }

    /// Bytes of each frame buffer.
    pub fn frame_bytes(&self) -> usize {
        self.options.frame_bytes(&self.found)
    }

    /// Starts the bridge. `watch` makes those who look on, by the name of the direction, in `beside` bytes of memory.
    ///
    /// # Errors
    /// The operating system gives no threads, or an interface cannot be used.
    pub fn start<W: Watch + Send + 'static>(
        self,
        beside: usize,
        watch: impl FnMut(&'static str) -> W,
    ) -> Result<Bridge, Refusal> {
        let Self { options, changes, found, sides, receivers, keeper } = self;
        log_directions(&options, &sides, &found, beside);
        let [up, down] = start_directions(&options, &sides, receivers, &found, watch)?;
        let longest = options.longest(&found);
        let mut bridge = Bridge { sides, keeper, longest, too_long: [None, None], up, down, changes };
        for (side, interface) in bridge.sides.iter_mut().zip(&found) {
            if let Err(refusal) = side.attach(interface, bridge.keeper.as_ref()) {
                // What was changed already is put back.
                let _ = bridge.stop();
                return Err(refusal);
            }
        }
        bridge.log_longest();
        Ok(bridge)
    }
}

/// Logs both directions and their memory, with `beside` bytes for watchers.
fn log_directions(options: &BridgeOptions, sides: &[Side; 2], found: &[Interface; 2], beside: usize) {
    let (link, frame_bytes) = (&options.link, options.frame_bytes(found));
    let ring_bytes = options.ring_bytes.next_multiple_of(RING_BLOCK);
    let xdp = matches!(sides[0].sockets, Sockets::Xdp(_));
    let buffers = link.up.buffer_bytes(frame_bytes) + link.down.buffer_bytes(frame_bytes) + beside;
    crate::say!(
        "fairdropd: up {}; down {}; {:.1} MB of buffers, {:.1} MB of {}",
        link.up.in_words(),
        link.down.in_words(),
        buffers as f64 / 1e6,
        2.0 * if xdp { bytes_for(ring_bytes) as f64 } else { f64::from(ring_bytes) } / 1e6,
        if xdp { "memory shared with the kernel" } else { "receive rings" }
    );
}

fn start_directions<W: Watch + Send + 'static>(
    options: &BridgeOptions,
    sides: &[Side; 2],
    receivers: [Option<Receiver>; 2],
    found: &[Interface; 2],
    mut watch: impl FnMut(&'static str) -> W,
) -> Result<[Running; 2], Refusal> {
    let (link, frame_bytes) = (&options.link, options.frame_bytes(found));
    let key = random_key().map_err(Refusal::running)?;
    let mut start = |name, number, way: &OneWay, from: (&Side, Option<Receiver>), to: &Side| {
        let config = way.direction(link.seed, number, key, ETHERNET, frame_bytes);
        let (watch, spin) = (watch(name), options.spin);
        let started = match (&from.0.sockets, from.1, &to.sockets) {
            (Sockets::Xdp(from), _, Sockets::Xdp(to)) => {
                let (from, to) = (from.interface.clone(), to.interface.clone());
                let ports = move |sleeper| daemon::in_loop(XdpPorts::new(&from, &to, sleeper)?);
                Running::start(name, config, watch, spin, ports)
            }
            (Sockets::Packet(..), Some(from), Sockets::Packet(_, output)) => {
                let to = Arc::clone(output);
                let ports = move |sleeper| daemon::in_loop(PacketPorts::new(from, to, sleeper)?);
                Running::start(name, config, watch, spin, ports)
            }
            _ => unreachable!("both have sockets of one kind"),
        };
        started.map_err(Refusal::running)
    };
    let ([first, second], [from_first, from_second]) = (sides, receivers);
    let up = start("up", 0, &link.up, (first, from_first), second)?;
    Ok([up, start("down", 1, &link.down, (second, from_second), first)?])
}

/// The way of AF_XDP, if that is how frames are got at.
fn way(options: &BridgeOptions, found: &[Interface; 2]) -> Option<XdpWay> {
    match options.port {
        PortKind::Packet => None,
        PortKind::Xdp => Some(options.xdp),
        PortKind::Auto if xdp::share_memory(found, options.ring_bytes) => Some(XdpWay::Any),
        PortKind::Auto => {
            crate::say!(
                "fairdropd: packet sockets: the drivers do not both share memory with AF_XDP sockets"
            );
            None
        }
    }
}

/// What becomes of packets that the one interface receives and the other cannot send, or that are longer than a buffer.
fn too_long(from: Option<(u32, &str)>, to: Option<(u32, &str)>, buffer: u32) -> Option<String> {
    let ((from_mtu, from), (to_mtu, to)) = (from?, to?);
    if from_mtu > to_mtu {
        Some(format!("packets from {from} longer than {to_mtu} bytes, the MTU of {to}, are dropped (output)"))
    } else if from_mtu > buffer {
        Some(format!(
            "packets from {from} longer than {buffer} bytes are dropped (too_long); --mtu allows more"
        ))
    } else {
        None
    }
}

/// The two interfaces, if there are such and they can be bridged.
fn choose<'a>(names: &[String; 2], all: &'a [Interface]) -> Result<[&'a Interface; 2], Refusal> {
    let usable = || {
        let names: Vec<&str> = all.iter().filter(|one| one.ethernet).map(|one| one.name.as_str()).collect();
        if names.is_empty() { "there is none here".to_owned() } else { names.join(", ") }
    };
    if names[0] == names[1] {
        let name = &names[0];
        return Err(Refusal::input(format!("{name} twice; valid: two Ethernet interfaces of {}", usable())));
    }
    let one = |name: &String| match all.iter().find(|one| one.name == *name) {
        None => Err(Refusal::input(format!(
            "there is no interface {name:?}; valid: Ethernet interfaces: {}",
            usable()
        ))),
        Some(found) if !found.ethernet => Err(Refusal::input(format!(
            "{name} is no Ethernet interface; valid: Ethernet interfaces: {}",
            usable()
        ))),
        Some(found) => Ok(found),
    };
    Ok([one(&names[0])?, one(&names[1])?])
}

fn no_right(error: io::Error) -> Refusal {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return Refusal::running(error);
    }
    Refusal::running(format!(
        "packet sockets: {error}; needs CAP_NET_RAW (and CAP_NET_ADMIN to switch offloads): run it as root, or once \
         `setcap cap_net_raw,cap_net_admin=ep` on the program"
    ))
}
