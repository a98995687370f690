//! A bridge between two interfaces, with the kernel's own TCP, ARP and neighbour discovery on both sides, in network namespaces
//! that the tests make.

use crate::namespace::{Host, PATIENCE, in_namespace, ip};
use fairdrop::{Meta, Time};
use fairdrop_link::{Fate, Outcome};
use fairdrop_live::bridge::{Bridge, BridgeOptions};
use fairdrop_live::cli::{PortKind, XdpWay};
use fairdrop_live::config::TwoWay;
use fairdrop_live::frame::ip_of_ethernet;
use fairdrop_live::host::{Mailbox, Ports, Report, Watch};
use fairdrop_live::os::xdp::{Place, Wish, XdpSockets};
use fairdrop_live::os::{Netlink, PacketSocket, RingLayout, Sleeper, confine, interfaces};
use fairdrop_live::port::{PacketPorts, Receiver};
use rustix::net::{SendFlags, send};
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// What passed in one direction.
#[derive(Clone, Debug, Default)]
struct Seen {
    longest: usize,
    frames: u64,
    /// Of TCP or UDP over IP that are not fragments, those with a wrong checksum.
    wrong_sums: u64,
    tagged: u64,
    to_port_9: u64,
    /// When each delivered packet's last bit left, ns, and its length.
    sent: Vec<(u64, u32)>,
    /// The IPv4 address that each of them came from; zeros of others.
    sent_by: Vec<[u8; 4]>,
}

/// Looks on.
#[derive(Clone, Default)]
struct Look(Arc<Mutex<Seen>>);

impl Watch for Look {
    fn arrived(&mut self, _: Time, _: &Meta, frame: &[u8]) {
        let mut seen = self.0.lock().unwrap();
        seen.frames += 1;
        seen.longest = seen.longest.max(frame.len());
        seen.tagged += u64::from(frame[12..14] == [0x81, 0]);
        if let Some(ip) = ip_of_ethernet(frame).filter(|_| frame[..6] != MARK) {
            seen.wrong_sums += u64::from(!sum_is_right(&frame[ip..]));
            seen.to_port_9 +=
                u64::from(frame[ip] == 0x45 && frame[ip + 9] == 17 && frame[ip + 22..ip + 24] == [0, 9]);
        }
    }

    fn gone(&mut self, outcome: &Outcome, frame: &[u8]) {
        if let Fate::Delivered { sent, .. } = outcome.fate {
            let mut seen = self.0.lock().unwrap();
            seen.sent.push((sent.ns(), outcome.meta.len));
            let source = frame.get(26..).filter(|_| frame[12..14] == [8, 0]);
            seen.sent_by.push(source.and_then(|source| source.first_chunk().copied()).unwrap_or_default());
        }
    }
}

/// Whether the transport checksum of an IP packet is right, word by word; true where there is none.
fn sum_is_right(packet: &[u8]) -> bool {
    let (addresses, protocol, transport, end) = if packet[0] >> 4 == 4 {
        let end = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
        (&packet[12..20], packet[9], 20, end)
    } else {
        let end = 40 + usize::from(u16::from_be_bytes([packet[4], packet[5]]));
        (&packet[8..40], packet[6], 40, end)
    };
    if !matches!(protocol, 6 | 17) {
        return true;
    }
    let transport = &packet[transport..end];
    let mut bytes = [addresses, &[0, protocol], &(transport.len() as u16).to_be_bytes(), transport].concat();
    bytes.resize(bytes.len().next_multiple_of(2), 0);
    let sum: u64 = bytes.chunks_exact(2).map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    sum > 0 && sum.is_multiple_of(0xffff)
}

const FAIRDROPD: &str = env!("CARGO_BIN_EXE_fairdropd");

fn state(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("fairdrop-{name}-{}", std::process::id()))
}

fn options(settings: &[&str], name: &str) -> BridgeOptions {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    BridgeOptions {
        interfaces: ["b0".into(), "b1".into()],
        link: TwoWay::parse("", "test", &settings).unwrap(),
        spin: Time::ZERO,
        mtu: 1500,
        ring_bytes: 8 << 20,
        blocks: false,
        port: PortKind::Packet,
        xdp: XdpWay::Any,
        state: Some(state(name)),
        program: FAIRDROPD.into(),
    }
}

/// Runs a test of a bridge over AF_XDP, unless there is no right to that.
fn with_xdp(name: &str, test: impl FnOnce()) {
    in_namespace(module_path!(), name, || {
        ip("link add probe0 type veth peer name probe1");
        let sockets = XdpSockets::new(index_of("probe0"), WISH);
        ip("link del probe0");
        match sockets {
            Err(refused) if [1, 97].contains(&refused.error.raw_os_error().unwrap_or(0)) => {
                eprintln!("{name}: skipped: {refused} (AF_XDP needs rights outside of user namespaces)");
            }
            sockets => {
                drop(sockets.unwrap());
                test();
            }
        }
    });
}

const WISH: Wish = Wish { places: &[Place::Driver], zero_copy: false, queues: 1, ring_bytes: 1 << 20 };

fn index_of(interface: &str) -> i32 {
    interfaces().unwrap().into_iter().find(|one| one.name == interface).unwrap().index
}

/// A bridge that runs in a thread, and what passes it.
struct Running {
    up: Look,
    down: Look,
    /// Of the direction up.
    mailbox: Mailbox,
    stop: UnixStream,
    thread: JoinHandle<[Report; 2]>,
}

impl Running {
    /// With the rights, files and calls that the program has once it runs: its threads are those of one that has given up the rest.
    fn start(options: &BridgeOptions) -> Self {
        let (up, down) = (Look::default(), Look::default());
        let looks = (up.clone(), down.clone());
        let (stop, signal) = UnixStream::pair().unwrap();
        let (to, from) = channel();
        let options = options.clone();
        let thread = thread::spawn(move || {
            let opened = Bridge::open(&options).unwrap();
            assert_eq!(confine(opened.role(), &[]).unwrap(), [""; 0]);
            let look = |name| if name == "up" { looks.0.clone() } else { looks.1.clone() };
            let mut bridge = opened.start(0, look).unwrap();
            to.send(bridge.up.mailbox.clone()).unwrap();
            bridge.follow(signal.as_fd()).unwrap();
            bridge.stop().unwrap()
        });
        let mailbox = from.recv().expect("it starts");
        Self { up, down, mailbox, stop, thread }
    }

    /// Stops it. Returns how the directions were at the end; the counters are checked.
    fn stop(self) -> [(Report, Seen); 2] {
        drop(self.stop);
        let [up, down] = self.thread.join().unwrap();
        let checked = |name, report: Report, look: Look| {
            let dropped: (u64, u64) = report
                .dropped
                .values()
                .fold((0, 0), |sum, amount| (sum.0 + amount.packets, sum.1 + amount.bytes));
            let (arrived, delivered, waiting) = (report.arrived, report.delivered, report.waiting);
            assert_eq!(
                arrived.packets,
                delivered.packets + dropped.0 + waiting.packets,
                "{name}: {report:?}"
            );
            assert_eq!(arrived.bytes, delivered.bytes + dropped.1 + waiting.bytes, "{name}: {report:?}");
            assert_eq!(report.buffers_free, report.buffers, "{name}");
            let seen = look.0.lock().unwrap().clone();
            (report, seen)
        };
        [checked("up", up, self.up), checked("down", down, self.down)]
    }
}

/// A client, a bridge here, and a server.
fn client_and_server() -> (Host, Host) {
    let (client, server) = (Host::new(), Host::new());
    client.connect("b0", "c0", 1);
    server.connect("b1", "s0", 2);
    (client, server)
}

/// Whether packets leave no faster than the rate: each at least its own time on the wire after the one before.
fn holds_rate(sent: &[(u64, u32)], rate_bps: u64) -> bool {
    sent.windows(2).all(|pair| {
        let ns = u64::from(pair[1].1) * 8 * 1_000_000_000 / rate_bps;
        pair[1].0 - pair[0].0 >= ns
    })
}

/// With every kind of port.
fn downloads(port: PortKind, blocks: bool, name: &str) {
    let (client, server) = client_and_server();
    let tagged = client.tag("c0", 1) && server.tag("s0", 2);
    if !tagged {
        eprintln!("{name}: without a VLAN: this kernel has no such interfaces");
    }
    let link = ["up.rate=50mbit", "down.rate=50mbit", "queue.discipline=codel"];
    let bridge = Running::start(&BridgeOptions { port, blocks, ..options(&link, name) });
    let addresses = ["10.1.0.2:80", "[fd00:1::2]:81", "10.7.0.2:82"];
    for &address in &addresses[..if tagged { 3 } else { 2 }] {
        server.serve(address, 2_000_000, 1);
        client.download(address, 2_000_000);
    }
    let [(_, up), (report, down)] = bridge.stop();
    assert!(down.frames > 2700, "{} frames", down.frames);
    assert_eq!(down.longest, if tagged { 1518 } else { 1514 }, "nothing is longer than the MTU allows");
    assert_eq!((up.wrong_sums, down.wrong_sums), (0, 0));
    assert!(!tagged || (down.tagged > 1300 && up.tagged > 0), "{} tagged frames", down.tagged);
    assert!(holds_rate(&down.sent, 50_000_000));
    assert_eq!(report.lost_before, 0);
    assert!(!state(name).read_dir().unwrap().any(|_| true), "nothing is left to put back");
}

#[test]
fn tcp_over_ipv4_ipv6_and_a_vlan_with_offloads_on() {
    let name = "tcp_over_ipv4_ipv6_and_a_vlan_with_offloads_on";
    in_namespace(module_path!(), name, || downloads(PortKind::Packet, false, name));
}

#[test]
fn the_same_in_blocks() {
    let name = "the_same_in_blocks";
    in_namespace(module_path!(), name, || downloads(PortKind::Packet, true, name));
}

#[test]
fn the_same_over_xdp() {
    let name = "the_same_over_xdp";
    with_xdp(name, || downloads(PortKind::Xdp, false, name));
}

/// Waits until something is so.
fn until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < PATIENCE, "it is never so: {what}");
        thread::yield_now();
    }
}

fn overload(port: PortKind, name: &str) {
    const SENT: u64 = 50_000;
    let (client, server) = client_and_server();
    let link = ["up.rate=1mbit", "queue.discipline=choke", "queue.limit=50p"];
    let bridge = Running::start(&BridgeOptions { port, ..options(&link, name) });
    let sink = server.run(|| UdpSocket::bind("10.1.0.2:9").unwrap());
    let look = bridge.up.clone();
    client.run(|| {
        let socket = UdpSocket::bind("10.1.0.1:0").unwrap();
        socket.connect("10.1.0.2:9").unwrap();
        for number in 0..SENT {
            // Refused for want of a buffer: tried again.
            until("there is a buffer", || socket.send(&[number as u8; 100]).is_ok());
        }
    });
    let without_buffer = |up: &Report| up.dropped.get("no_buffer").map_or(0, |amount| amount.packets);
    // The interface of the sender drops when the other end is behind.
    let lost_by_sender = || client.run(|| Netlink::open().unwrap().tx_dropped("c0").unwrap());
    until("all have been read or lost before", || {
        let arrived = look.0.lock().unwrap().to_port_9;
        let up = bridge.mailbox.report().unwrap();
        arrived + up.lost_before + without_buffer(&up) + lost_by_sender() >= SENT
    });
    let [(up, seen), _] = bridge.stop();
    let (read, lost) = (seen.to_port_9 + without_buffer(&up), up.lost_before + lost_by_sender());
    // What was lost may have been somebody else's.
    assert!(read <= SENT && read + lost >= SENT, "{read} read and {lost} lost of {SENT}");
    let dropped: u64 = up.dropped.values().map(|amount| amount.packets).sum();
    assert!(dropped + up.lost_before > SENT / 2, "{up:?}");
    assert!(up.delivered.packets > 0 && holds_rate(&seen.sent, 1_000_000));
    sink.set_nonblocking(true).unwrap();
}

#[test]
fn overload_reconciles() {
    in_namespace(module_path!(), "overload_reconciles", || overload(PortKind::Packet, "overload"));
}

#[test]
fn overload_reconciles_over_xdp() {
    with_xdp("overload_reconciles_over_xdp", || overload(PortKind::Xdp, "overload-xdp"));
}

/// A link without a rate, behind CAKE's shaper: two hosts, of which one has eight flows, offer more than that.
fn shaped(port: PortKind, name: &str) {
    const RATE_BPS: u64 = 200_000;
    const COUNTED: usize = 150;
    let (client, server) = client_and_server();
    client.run(|| ip("addr add 10.1.0.3/24 dev c0"));
    let link = [
        "queue.discipline=cake",
        "queue.cake.rate=200kbit",
        "queue.cake.isolation=dual-srchost",
        "queue.limit=1000p",
    ];
    let bridge = Running::start(&BridgeOptions { port, ..options(&link, name) });
    let sink = server.run(|| UdpSocket::bind("10.1.0.2:9").unwrap());
    let look = bridge.up.clone();
    client.run(move || {
        let flow = |source: &str| {
            let socket = UdpSocket::bind(source).unwrap();
            socket.connect("10.1.0.2:9").unwrap();
            socket
        };
        let busy: Vec<_> = (0..8).map(|_| flow("10.1.0.1:0")).collect();
        let quiet = flow("10.1.0.3:0");
        // Twice as many packets of the one with eight flows.
        let round: Vec<_> = busy.iter().chain([&quiet; 4]).collect();
        until("enough has left", || {
            // Some find no buffer, or the other end of the interface behind.
            for socket in &round {
                let _ = socket.send(&[0; 100]);
            }
            look.0.lock().unwrap().sent.len() > 2 * COUNTED
        });
    });
    let [(up, seen), _] = bridge.stop();
    assert!(up.discipline == "cake" && up.rate_bps.is_none() && up.delivered.packets > 0, "{up:?}");
    // The queue has filled while the first ones left.
    let (sent, by) = (&seen.sent[COUNTED..2 * COUNTED], &seen.sent_by[COUNTED..2 * COUNTED]);
    let bits: u64 = sent[..COUNTED - 1].iter().map(|&(_, len)| u64::from(len) * 8).sum();
    let wanted_ns = bits * 1_000_000_000 / RATE_BPS;
    let took_ns = sent[COUNTED - 1].0 - sent[0].0;
    assert!(took_ns.abs_diff(wanted_ns) <= COUNTED as u64, "{took_ns} ns in place of {wanted_ns} ns");
    let quiet = by.iter().filter(|&&source| source == [10, 1, 0, 3]).count();
    assert!(quiet.abs_diff(COUNTED / 2) <= 5, "the host with one flow has {quiet} of {COUNTED}: {by:?}");
    drop(sink);
}

#[test]
fn the_shaper_of_cake_holds_its_rate_and_sees_hosts() {
    let name = "the_shaper_of_cake_holds_its_rate_and_sees_hosts";
    in_namespace(module_path!(), name, || shaped(PortKind::Packet, name));
}

#[test]
fn the_same_shaper_over_xdp() {
    let name = "the_same_shaper_over_xdp";
    with_xdp(name, || shaped(PortKind::Xdp, name));
}

fn flap(port: PortKind, name: &str) {
    let (client, server) = client_and_server();
    let bridge = Running::start(&BridgeOptions { port, ..options(&["down.rate=100mbit"], name) });
    server.serve("10.1.0.2:80", 300_000, 4);
    client.download("10.1.0.2:80", 300_000);
    // Down and up again, while frames are sent.
    ip("link set b0 down");
    ip("link set b0 up");
    client.download("10.1.0.2:80", 300_000);
    // Another name for the same interface.
    ip("link set b1 down");
    ip("link set b1 name other");
    ip("link set other up");
    client.download("10.1.0.2:80", 300_000);
    // Another interface of the same name.
    ip("link del b0");
    client.connect("b0", "c0", 1);
    client.run(|| ip("link set c0 mtu 1400"));
    client.download("10.1.0.2:80", 300_000);
    let [(up, _), (down, seen)] = bridge.stop();
    assert!(up.arrived.packets > 0 && down.delivered.bytes > 1_200_000, "{down:?}");
    assert_eq!(seen.wrong_sums, 0);
}

#[test]
fn interfaces_go_down_and_come_back() {
    in_namespace(module_path!(), "interfaces_go_down_and_come_back", || flap(PortKind::Packet, "flap"));
}

#[test]
fn interfaces_go_down_and_come_back_over_xdp() {
    with_xdp("interfaces_go_down_and_come_back_over_xdp", || flap(PortKind::Xdp, "flap-xdp"));
}

/// Packets that the far interface cannot send, or that no buffer holds, are dropped by their cause; all others pass, whatever
/// the MTU was at the start.
#[test]
fn the_mtu_is_changed_while_it_runs() {
    in_namespace(module_path!(), "the_mtu_is_changed_while_it_runs", || {
        let (client, server) = client_and_server();
        let bridge = Running::start(&BridgeOptions { mtu: 4000, ..options(&[], "mtu") });
        let sink = server.run(|| UdpSocket::bind("10.1.0.2:9").unwrap());
        sink.set_read_timeout(Some(PATIENCE)).unwrap();
        let source = client.run(|| {
            let socket = UdpSocket::bind("10.1.0.1:0").unwrap();
            socket.connect("10.1.0.2:9").unwrap();
            socket
        });
        let received = || sink.recv(&mut [0; 9000]).unwrap();
        let dropped = |cause: &str| {
            let report = bridge.mailbox.report().unwrap();
            report.dropped.get(cause).map_or(0, |amount| amount.packets)
        };
        source.send(&[1; 1400]).unwrap();
        assert_eq!(received(), 1400);

        ip("link set b1 mtu 1000");
        source.send(&[2; 1400]).unwrap();
        until("it is too long for the other side", || dropped("output") == 1);
        source.send(&[3; 900]).unwrap();
        assert_eq!(received(), 900);

        for interface in ["b0", "b1"] {
            ip(&format!("link set {interface} mtu 9000"));
        }
        client.run(|| ip("link set c0 mtu 9000"));
        server.run(|| ip("link set s0 mtu 9000"));
        source.send(&[4; 3500]).unwrap();
        assert_eq!(received(), 3500);
        source.send(&[5; 5000]).unwrap();
        until("it is too long for a buffer", || dropped("too_long") == 1);
        source.send(&[6; 1200]).unwrap();
        assert_eq!(received(), 1200);
        let [(up, seen), _] = bridge.stop();
        assert_eq!((seen.to_port_9, up.lost_before), (5, 0), "{up:?}");
    });
}

/// Reads whole frames from an interface, tags put back.
struct Tap {
    ports: PacketPorts,
    socket: Arc<PacketSocket>,
}

impl Tap {
    fn new(interface: &str) -> Self {
        let index = index_of(interface);
        let (input, output) =
            (Arc::new(PacketSocket::new().unwrap()), Arc::new(PacketSocket::new().unwrap()));
        let receiver = Receiver::new(input.clone(), RingLayout::Slots(2048), 16 << 20).unwrap();
        let ports = PacketPorts::new(receiver, output.clone(), Sleeper::new(Time::ZERO).unwrap()).unwrap();
        input.promiscuous(index).unwrap();
        input.bind(index, true).unwrap();
        output.bind(index, false).unwrap();
        Self { ports, socket: output }
    }

    /// The next frame with the mark of the test.
    fn next(&mut self) -> Vec<u8> {
        let mut buffer = [0; 4096];
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "nothing comes");
            match self.ports.receive(&mut buffer).unwrap() {
                Some(received) if buffer[..6] == MARK => return buffer[..received.len].to_vec(),
                Some(_) => {}
                None => self.ports.wait(Some(self.ports.now().after(Time::from_ns(1_000_000_000)))).unwrap(),
            }
        }
    }
}

/// Destination of the frames that a test makes: nobody.
const MARK: [u8; 6] = [2, 0xfa, 0x1d, 0, 0, 9];

/// Frames of every kind with something wrong: headers cut short, lengths that lie, tags upon tags, bytes of no meaning.
fn malformed() -> Vec<Vec<u8>> {
    let mut random = fairdrop::Philox::new(7, 0, 0);
    let mut byte = move || random.next_u64() as u8;
    let types = [
        [8, 0],
        [0x86, 0xdd],
        [0x81, 0],
        [0x88, 0xa8],
        [8, 6],
        [0x88, 0x47],
        [0x88, 0x64],
        [0, 40],
        [0xff, 0xff],
    ];
    let mut frames = Vec::new();
    for round in 0..1500_usize {
        // A tag that is cut short is dropped by the kernel before anybody sees it.
        if round < 6 && matches!(types[round], [0x81, 0] | [0x88, 0xa8]) {
            continue;
        }
        let mut frame = [&MARK[..], &[2, 0, 0, 0, 0, 1], &types[round % types.len()]].concat();
        frame.extend((0..round).map(|_| byte()));
        match round % 4 {
            0 if round > 20 => frame[14] = 0x45,
            1 if round > 20 => frame[14] = 0x60 | (round as u8 & 15),
            // A tag, and IP behind it.
            2 if round > 20 => {
                frame[12..14].copy_from_slice(&[0x81, 0]);
                frame[16..18].copy_from_slice(&[8, 0]);
            }
            _ => {}
        }
        frame.truncate(1514);
        frames.push(frame);
    }
    frames
}

fn malformed_frames(port: PortKind, name: &str) {
    let (client, server) = client_and_server();
    let bridge = Running::start(&BridgeOptions { port, ..options(&["queue.limit=2000p"], name) });
    let mut far = server.run(|| Tap::new("s0"));
    let near = client.run(|| Tap::new("c0"));
    for (number, frame) in malformed().into_iter().enumerate() {
        until("the interface takes it", || send(&*near.socket, &frame, SendFlags::DONTWAIT).is_ok());
        assert_eq!(far.next(), frame, "frame {number}");
    }
    let [(up, _), _] = bridge.stop();
    assert_eq!(up.lost_before, 0);
}

#[test]
fn malformed_frames_pass_as_they_are() {
    in_namespace(module_path!(), "malformed_frames_pass_as_they_are", || {
        malformed_frames(PortKind::Packet, "malformed_frames");
    });
}

#[test]
fn malformed_frames_pass_over_xdp() {
    with_xdp("malformed_frames_pass_over_xdp", || malformed_frames(PortKind::Xdp, "malformed_frames-xdp"));
}

fn fairdropd(arguments: &str) -> Command {
    let mut command = Command::new(FAIRDROPD);
    command.args(arguments.split(' '));
    command
}

/// Starts the program, and waits until it bridges.
fn bridging(state: &Path, options: &str) -> Child {
    let mut child = fairdropd(&format!("bridge b0 b1 --state {}{options}", state.display()))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("are bridged")), "it does not start");
    // What it says later is read, so that it need not wait.
    thread::spawn(move || lines.for_each(drop));
    child
}

/// What it says then is about an interface that went down and came back.
#[test]
fn it_goes_on_when_nobody_listens_to_what_it_says() {
    in_namespace(module_path!(), "it_goes_on_when_nobody_listens_to_what_it_says", || {
        let (client, server) = client_and_server();
        server.serve("10.1.0.2:80", 300_000, 1);
        let arguments = format!("bridge b0 b1 --state {}", state("nobody-listens").display());
        let mut child = fairdropd(&arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("are bridged")), "it does not start");
        drop(lines);
        for state in ["down", "up"] {
            ip(&format!("link set b0 {state}"));
        }
        client.download("10.1.0.2:80", 300_000);
        end(child);
    });
}

fn gro_is_on() -> bool {
    let output = Command::new("ethtool").args(["-k", "b0"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).contains("generic-receive-offload: on")
}

fn has_program(interface: &str) -> bool {
    let output = Command::new("ip").args(["link", "show", interface]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).contains("prog/xdp")
}

fn killed(options: &str, name: &str) {
    if Command::new("ethtool").arg("--version").output().is_err() {
        eprintln!("{name}: skipped: there is no ethtool");
        return;
    }
    let _hosts = client_and_server();
    let state = state(name);
    assert!(Command::new("ethtool").args(["-K", "b0", "gro", "on"]).status().unwrap().success());
    let kill = |mut child: Child, signal| {
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, signal).unwrap();
        child.wait().unwrap()
    };
    // Its keeper before it, which would put the settings back.
    let kill_both = |child: Child| {
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        let keeper = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
        let keeper = rustix::process::Pid::from_raw(keeper).unwrap();
        rustix::process::kill_process(keeper, rustix::process::Signal::KILL).unwrap();
        kill(child, rustix::process::Signal::KILL);
    };
    let (by_force, in_order) = (rustix::process::Signal::KILL, rustix::process::Signal::TERM);
    // Stopped in order.
    let child = bridging(&state, options);
    assert!(!gro_is_on());
    assert_eq!(has_program("b0"), options.contains("xdp"));
    let other = fairdropd(&format!("bridge b0 b1 --state {}", state.display())).output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).contains("b0 is in use by another fairdropd"));
    let restore = || fairdropd(&format!("restore --state {}", state.display())).output().unwrap();
    assert!(String::from_utf8_lossy(&restore().stdout).contains("its bridge is running, left alone"));
    assert!(!gro_is_on());
    assert!(kill(child, in_order).success() && gro_is_on());
    // Killed: the process that keeps the settings puts them back.
    let child = bridging(&state, options);
    assert!(!gro_is_on());
    kill(child, by_force);
    until("settings are put back", gro_is_on);
    until("nothing is left to put back", || std::fs::read_dir(&state).unwrap().count() == 0);
    until("the program is off the interface", || !has_program("b0"));
    // Both killed, then restored.
    let child = bridging(&state, options);
    kill_both(child);
    assert!(!gro_is_on());
    let restored = restore();
    assert!(restored.status.success() && gro_is_on(), "{restored:?}");
    assert!(String::from_utf8_lossy(&restored.stdout).contains("b0: switched on again: gro"), "{restored:?}");
    // Both killed, then started again and stopped in order.
    let child = bridging(&state, options);
    kill_both(child);
    until("the program is off the interface", || !has_program("b0"));
    let child = bridging(&state, options);
    assert!(!gro_is_on());
    assert!(kill(child, in_order).success() && gro_is_on());
    assert_eq!(std::fs::read_dir(&state).unwrap().count(), 0);
}

#[test]
fn settings_come_back_even_after_kill() {
    in_namespace(module_path!(), "settings_come_back_even_after_kill", || killed("", "kill"));
}

#[test]
fn settings_come_back_and_the_program_goes_after_kill() {
    with_xdp("settings_come_back_and_the_program_goes_after_kill", || killed(" --port xdp", "kill-xdp"));
}

#[test]
fn refusals_say_what_would_be_valid() {
    in_namespace(module_path!(), "refusals_say_what_would_be_valid", || {
        let _hosts = client_and_server();
        let state = state("refusals");
        let refused = |command: &mut Command, code, parts: &[&str]| {
            let output = command.output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(code), "{stderr}");
            assert!(parts.iter().all(|part| stderr.contains(part)), "{parts:?} in {stderr:?}");
        };
        refused(&mut fairdropd("bridge b0 b0"), 2, &["b0 twice", "b0, b1"]);
        refused(&mut fairdropd("bridge b0 eth7"), 2, &["no interface \"eth7\"", "b0, b1"]);
        refused(&mut fairdropd("bridge lo b1"), 2, &["lo is no Ethernet interface", "b0, b1"]);
        refused(&mut fairdropd("bridge b0 b1 --down fast"), 2, &["--down \"fast\"", "10mbit"]);
        refused(&mut fairdropd("bridge b0 b1 --queue chokes"), 2, &["chokes", "valid"]);
        // In another user namespace there is no right to this network namespace.
        let mut command = Command::new("unshare");
        command.args(["--user", env!("CARGO_BIN_EXE_fairdropd"), "bridge", "b0", "b1"]);
        refused(&mut command, 1, &["CAP_NET_RAW", "setcap"]);
        std::fs::write(&state, "").unwrap();
        let arguments = format!("bridge b0 b1 --state {}/x", state.display());
        refused(&mut fairdropd(&arguments), 1, &["--state DIRECTORY", "--keep-offloads"]);
    });
}

/// Standard error of a command that is refused.
fn stderr_of(command: &mut Command, code: i32) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    stderr
}

#[test]
fn refusals_of_xdp_say_what_to_do() {
    with_xdp("refusals_of_xdp_say_what_to_do", || {
        let (client, _server) = client_and_server();
        let state = state("refusals-xdp");
        let bridge = format!("bridge b0 b1 --state {}", state.display());
        let refused = |options: &str, code, parts: &[&str]| {
            let stderr = stderr_of(&mut fairdropd(&format!("{bridge} {options}")), code);
            assert!(parts.iter().all(|part| stderr.contains(part)), "{parts:?} in {stderr:?}");
            assert!(!has_program("b0") && !has_program("b1"));
        };
        refused("--port xdp --blocks", 2, &["--blocks is for packet sockets"]);
        refused("--xdp driver", 2, &["--xdp is for AF_XDP", "--port xdp"]);
        refused("--port xdp --xdp zero-copy", 1, &["b0: binding to queue 0", "--xdp driver"]);
        // Somebody else's program, whose sockets are gone.
        let XdpSockets { attached, .. } = XdpSockets::new(index_of("b1"), WISH).unwrap();
        let about_b1 = stderr_of(&mut fairdropd(&format!("{bridge} --port xdp")), 2);
        assert!(about_b1.contains("b1: another XDP program is attached"), "{about_b1}");
        assert!(about_b1.contains("ip link set dev b1 xdp off"), "{about_b1}");
        drop(attached);
        // Somebody else's sockets.
        let sockets = XdpSockets::new(index_of("b1"), WISH).unwrap();
        let about_b1 = stderr_of(&mut fairdropd(&format!("{bridge} --port xdp")), 1);
        assert!(
            about_b1.contains("b1: binding to queue 0") && about_b1.contains("has an AF_XDP socket"),
            "{about_b1}"
        );
        drop(sockets);
        until("the program is gone", || !has_program("b1"));
        // veth takes programs up to some MTU below a page, generic mode any, AF_XDP up to a page.
        ip("link set b0 mtu 3700");
        client.run(|| ip("link set c0 mtu 3700"));
        refused("--port xdp --xdp driver", 1, &["b0: attaching the XDP program", "--xdp any"]);
        ip("link set b0 mtu 3819");
        refused("--port xdp", 2, &["b0: MTU 3819", "3818 bytes", "ip link set b0 mtu 3818", "--port packet"]);
        // The rights that packet sockets need, and no more.
        if Command::new("setpriv").arg("--version").output().is_err() {
            eprintln!("refusals_of_xdp_say_what_to_do: without those of rights: there is no setpriv");
            return;
        }
        ip("link set b0 mtu 1500");
        let with_rights = |rights: &str, options: &str| {
            let program = env!("CARGO_BIN_EXE_fairdropd");
            let rights = format!("setpriv --bounding-set=-all,{rights}");
            let script = format!("ulimit -l 64; exec {rights} {program} {bridge} --port xdp {options}");
            stderr_of(Command::new("sh").args(["-c", &script]), 1)
        };
        let stderr = with_rights("+net_raw,+net_admin,+ipc_lock", "");
        assert!(
            stderr.contains("CAP_BPF") && stderr.contains("setcap") && stderr.contains("--port packet"),
            "{stderr}"
        );
        let stderr = with_rights("+net_raw,+net_admin,+bpf", "--ring 1");
        assert!(
            stderr.contains("too little memory may be locked") && stderr.contains("ulimit -l"),
            "{stderr}"
        );
    });
}

/// A bridge, and the lines that it logs while it starts.
fn started(options: &str, name: &str) -> (Child, Vec<String>) {
    let arguments = format!("bridge b0 b1 --state {} {options}", state(name).display());
    let mut child = fairdropd(&arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut stderr = Vec::new();
    while !stderr.last().is_some_and(|line: &String| line.contains("are bridged")) {
        let Some(line) = lines.next() else {
            let status = child.wait();
            panic!("it does not start: {status:?}: {stderr:?}");
        };
        stderr.push(line);
    }
    thread::spawn(move || lines.for_each(drop));
    (child, stderr)
}

fn end(mut child: Child) {
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)
        .unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn where_a_driver_cannot_another_way_is_taken_and_logged() {
    let name = "where_a_driver_cannot_another_way_is_taken_and_logged";
    with_xdp(name, || {
        let (client, server) = client_and_server();
        let all_of = |stderr: &[String], parts: &[&str]| {
            assert!(
                parts.iter().all(|part| stderr.iter().any(|line| line.contains(part))),
                "{parts:?} in {stderr:?}"
            );
        };
        let (child, stderr) = started("--port auto", name);
        all_of(&stderr, &["packet sockets: the drivers do not both share memory", "receive rings"]);
        assert!(!has_program("b0"));
        end(child);
        let (child, stderr) = started("--port xdp", name);
        all_of(
            &stderr,
            &["b0: AF_XDP, in the driver, frames are copied, 1 queue", "b1: AF_XDP", "memory shared"],
        );
        end(child);
        ip("link set b0 mtu 3700");
        client.run(|| ip("link set c0 mtu 3700"));
        let (child, stderr) = started("--port xdp", name);
        all_of(
            &stderr,
            &["b0: the driver takes no XDP program", "b0: AF_XDP, generic mode", "b1: AF_XDP, in the driver"],
        );
        // In generic mode nobody cuts what hosts have joined.
        client.run(|| ip("link set c0 gso_max_segs 1"));
        server.serve("10.1.0.2:80", 300_000, 1);
        client.download("10.1.0.2:80", 300_000);
        end(child);
    });
}

#[test]
fn all_queues_of_an_interface_are_read() {
    let name = "all_queues_of_an_interface_are_read";
    with_xdp(name, || {
        let (client, server) = (Host::new(), Host::new());
        let queues = "numrxqueues 4 numtxqueues 4";
        ip(&format!("link add b0 {queues} type veth peer name c0 {queues}"));
        ip("link set b0 up");
        client.move_here("c0", 1);
        server.connect("b1", "s0", 2);
        let bridge = Running::start(&BridgeOptions { port: PortKind::Xdp, ..options(&[], name) });
        let sockets: Vec<UdpSocket> = (0..64)
            .map(|_| {
                client.run(|| {
                    let socket = UdpSocket::bind("10.1.0.1:0").unwrap();
                    socket.connect("10.1.0.2:9").unwrap();
                    socket
                })
            })
            .collect();
        let sink = server.run(|| UdpSocket::bind("10.1.0.2:9").unwrap());
        sink.set_read_timeout(Some(PATIENCE)).unwrap();
        for (number, socket) in sockets.iter().enumerate() {
            until("there is a buffer", || socket.send(&[number as u8]).is_ok());
            let mut byte = [0xff];
            sink.recv(&mut byte).unwrap();
            assert_eq!(usize::from(byte[0]), number);
        }
        let [(up, _), _] = bridge.stop();
        assert!(up.delivered.packets >= 64 && up.lost_before == 0, "{up:?}");
    });
}

/// Downloads over a link of TUN devices between two hosts. What the program reports, or `None` without such devices.
fn routed(name: &str, link: &str) -> Option<serde_json::Value> {
    if !Path::new("/dev/net/tun").exists() {
        eprintln!("{name}: skipped: there is no /dev/net/tun");
        return None;
    }
    let report = state(name);
    let arguments = format!("tun slow {link} --report {}", report.display());
    let mut child = fairdropd(&arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("slow and slow-peer are connected")), "it does not start");
    thread::spawn(move || lines.for_each(drop));
    let (client, server) = (Host::new(), Host::new());
    client.move_here("slow", 1);
    server.move_here("slow-peer", 2);
    for address in ["10.1.0.2:80", "[fd00:1::2]:81"] {
        server.serve(address, 1_000_000, 1);
        client.download(address, 1_000_000);
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)
        .unwrap();
    assert!(child.wait().unwrap().success());
    let text = std::fs::read_to_string(&report).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(summary["down"]["delivered"]["bytes"].as_u64() > Some(2_000_000), "{text}");
    let dropped = summary["down"]["dropped"].as_object().unwrap().values();
    let dropped: u64 = dropped.map(|amount| amount["packets"].as_u64().unwrap()).sum();
    let of = |field: &str| summary["down"][field]["packets"].as_u64().unwrap();
    assert_eq!(of("arrived"), of("delivered") + dropped + of("waiting"), "{text}");
    std::fs::remove_file(report).unwrap();
    Some(summary)
}

/// Two hosts behind the two ends of a link of TUN devices.
#[test]
fn a_routed_link_between_two_namespaces() {
    in_namespace(module_path!(), "a_routed_link_between_two_namespaces", || {
        let refused = |arguments: &str, part: &str| {
            let output = fairdropd(arguments).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(2) && stderr.contains(part), "{stderr}");
        };
        refused("tun lo --peer x", "lo is there already; valid: a name that is free");
        refused("tun far-too-long-for-a-name", "is no name for an interface; valid: 1 to 15");
        refused("tun x --peer x", "x twice");
        routed("a_routed_link_between_two_namespaces", "--down 20mbit --queue fq_codel");
    });
}

/// The same without a rate of the link, behind CAKE's shaper.
#[test]
fn a_routed_link_behind_a_shaper() {
    let name = "a_routed_link_behind_a_shaper";
    in_namespace(module_path!(), name, || {
        let Some(summary) = routed(name, "--queue cake --set cake.rate=20mbit") else { return };
        let down = &summary["down"];
        assert!(down["discipline"] == "cake" && down["rate_bps"].is_null(), "{summary}");
        let bits = down["delivered"]["bytes"].as_u64().unwrap() as f64 * 8.0;
        assert!(bits <= 20e6 * down["uptime_s"].as_f64().unwrap(), "{summary}");
        assert!(down["wait_p99_s"].as_f64() > Some(0.001), "what waited, waited in the queue: {summary}");
    });
}

/// What the bridge says when packets do not fit.
#[test]
fn it_says_which_packets_are_too_long() {
    in_namespace(module_path!(), "it_says_which_packets_are_too_long", || {
        let (_client, _server) = client_and_server();
        ip("link set b1 mtu 1400");
        let state = state("too-long");
        let arguments = format!("bridge b0 b1 --mtu 2000 --state {}", state.display());
        let mut child = fairdropd(&arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut started =
            |part: &str| assert!(lines.any(|line| line.contains(part)), "it does not say: {part}");
        started("packets from b0 longer than 1400 bytes, the MTU of b1, are dropped (output)");
        started("b0 and b1 are bridged");
        ip("link set b0 mtu 1300");
        started("b0: MTU 1300 instead of 1500");
        started("packets from b1 longer than 1300 bytes, the MTU of b0, are dropped (output)");
        ip("link set b0 mtu 9000");
        ip("link set b1 mtu 9000");
        started("packets from b0 longer than 2000 bytes are dropped (too_long); --mtu allows more");
        child.kill().unwrap();
        child.wait().unwrap();
        let _ = std::fs::remove_dir_all(state);
    });
}
