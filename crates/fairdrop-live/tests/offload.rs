//! Frames that stand for many, against the kernel: what it cuts such a frame to is what we cut it to, byte for byte, and what we
//! join it takes.

use fairdrop::{Philox, Time};
use fairdrop_capture::LinkType;
use fairdrop_live::config::TwoWay;
use fairdrop_live::frame::{Cut, Join, LeftToHardware, Unsummed, Whole};
use fairdrop_live::host::{Direction, Leaving, Ports, Received, Report, mailbox};
use fairdrop_live::os::namespace::{Enter, Helper};
use fairdrop_live::os::{NetworkSetting, Prefix};
use fairdrop_live::port::{TunReader, TunWriter};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

type Tested = Result<(), Box<dyn Error>>;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A router in a namespace: what is written to the first device leaves through the second.
struct Router {
    _helper: Helper,
    near: RefCell<TunWriter>,
    far: Arc<OwnedFd>,
}

impl Router {
    /// `None`, and a line that says why, where the machine forbids it.
    fn new() -> Result<Option<Self>, Box<dyn Error>> {
        let helper = Helper::start(Path::new(env!("CARGO_BIN_EXE_fairdropd")))?;
        if let Err(error) = helper.enter(Enter { user: true, network: true, ..Enter::default() }) {
            eprintln!("skipped: no user namespaces here: {error}");
            return Ok(None);
        }
        let (Ok(near), Ok(far)) = (helper.tun("o0"), helper.tun("o1")) else {
            eprintln!("skipped: no TUN device here");
            return Ok(None);
        };
        for (name, value) in [("ipv4/ip_forward", "1"), ("ipv6/conf/all/forwarding", "1")] {
            if let Err(error) = helper.sysctl(name, value) {
                eprintln!("skipped: {name} cannot be set here: {error}");
                return Ok(None);
            }
        }
        let up = |interface: &str| NetworkSetting::Up { interface: interface.into(), mtu: Some(1500) };
        let route = |interface: &str, to| NetworkSetting::Route {
            to,
            via: None,
            interface: interface.into(),
            congestion: None,
            ecn: false,
        };
        helper.network(&[
            up("o0"),
            up("o1"),
            route("o0", Prefix::new(Ipv4Addr::new(10, 1, 0, 0), 16)),
            route("o1", Prefix::new(Ipv4Addr::new(10, 2, 0, 0), 16)),
            route("o0", Prefix::new(Ipv6Addr::from_bits(0xfd01 << 112), 32)),
            route("o1", Prefix::new(Ipv6Addr::from_bits(0xfd02 << 112), 32)),
        ])?;
        Ok(Some(Self { _helper: helper, near: TunWriter::new(near.into()).into(), far: far.into() }))
    }

    /// Whether the kernel hands frames on uncut, with checksums left.
    #[allow(unsafe_code)] // One ioctl.
    fn offload(&self, on: bool) {
        let (tcp, udp) =
            (libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN, libc::TUN_F_USO4 | libc::TUN_F_USO6);
        let offloads = if on { libc::TUN_F_CSUM | tcp | udp } else { 0 };
        // SAFETY: TUNSETOFFLOAD takes a number.
        let set = unsafe {
            libc::ioctl(self.far.as_raw_fd(), libc::TUNSETOFFLOAD as _, libc::c_ulong::from(offloads))
        };
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
    }
}

/// The next packet of TCP or UDP that comes out.
fn next(reader: &mut TunReader) -> (Vec<u8>, Option<Unsummed>) {
    let mut buffer = [0; 2000];
    loop {
        match reader.read(&mut buffer).unwrap() {
            Some(packet) if [TCP, UDP].contains(&buffer[if buffer[0] >> 4 == 4 { 9 } else { 6 }]) => {
                return (buffer[..packet.len].to_vec(), reader.unsummed());
            }
            Some(_) => {}
            None => {
                let patience = Timespec { tv_sec: 60, tv_nsec: 0 };
                let mut fds = [PollFd::new(reader, PollFlags::IN)];
                assert_ne!(poll(&mut fds, Some(&patience)).unwrap(), 0, "nothing comes out");
            }
        }
    }
}

/// A frame that stands for packets of `size` bytes of payload, and its `virtio_net_hdr`, as a host makes them.
fn super_packet(random: &mut Philox, v6: bool, protocol: u8, size: u16) -> ([u8; 10], Vec<u8>) {
    let mut below = |most: u64| random.next_u64() % most;
    let options = if protocol == TCP { 4 * below(6) as usize } else { 0 };
    let header = if protocol == TCP { 20 + options } else { 8 };
    let payload = usize::from(size) * (1 + below(20) as usize) + 1 + below(u64::from(size)) as usize;
    let length = header + payload;
    let mut frame = if v6 {
        let mut ip = vec![0x60, 0x20, 0x12, 0x34, 0, 0, protocol, 64, 0xfd, 1];
        ip[4..6].copy_from_slice(&(length as u16).to_be_bytes());
        ip.extend([0; 13]);
        ip.extend([9, 0xfd, 2]);
        ip.extend([0; 13]);
        ip.push(9);
        ip
    } else {
        let mut ip = vec![0x45, 0x02, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 1, 0, 9, 10, 2, 0, 9];
        ip[2..4].copy_from_slice(&((20 + length) as u16).to_be_bytes());
        // It may run over.
        ip[4..6].copy_from_slice(&(0xfff0 + below(16) as u16).to_be_bytes());
        let sum = sum(&[&ip]);
        ip[10..12].copy_from_slice(&(!sum).to_be_bytes());
        ip
    };
    let start = frame.len();
    frame.extend_from_slice(&[0x30, 0x39, 0, 80]);
    if protocol == TCP {
        frame.extend_from_slice(&(0xffff_f000 + below(0x1000) as u32).to_be_bytes());
        // ACK, and any of ECE, CWR, PSH and FIN.
        let flags = 0x10 | (below(4) as u8 * 0x40) | (below(2) as u8 * 8) | below(2) as u8;
        frame.extend_from_slice(&[0, 0, 1, 1, (header as u8 / 4) << 4, flags, 1, 0, 0, 0, 0, 0]);
        frame.extend(std::iter::repeat_n(1, options));
    } else {
        frame.extend_from_slice(&(length as u16).to_be_bytes());
        frame.extend_from_slice(&[0, 0]);
    }
    frame.extend((0..payload).map(|_| below(256) as u8));
    let offset: u16 = if protocol == TCP { 16 } else { 6 };
    let addresses = if v6 { 8..40 } else { 12..20 };
    let pseudo = sum(&[&frame[addresses], &[0, protocol], &(length as u16).to_be_bytes()]);
    let at = start + usize::from(offset);
    frame[at..at + 2].copy_from_slice(&pseudo.to_be_bytes());
    let unsummed = Unsummed { start: start as u16, offset };
    let reduced = protocol == TCP && frame[start + 13] & 0x80 != 0;
    let mut virtio = unsummed.tcp_header(v6, reduced, (start + header) as u16, size);
    if protocol == UDP {
        virtio[1] = 5;
    }
    (virtio, frame)
}

/// The sum of RFC 1071, word by word.
fn sum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u32;
    for word in parts.concat().chunks(2) {
        sum += u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[test]
fn the_kernel_cuts_alike_and_takes_what_is_joined() -> Tested {
    let Some(router) = Router::new()? else { return Ok(()) };
    let mut random = Philox::new(11, 0, 0);
    for number in 0..120 {
        let (v6, protocol) = (number % 2 == 0, if number % 3 == 0 { UDP } else { TCP });
        let size = [1, 8, 100, 536, 1000, 1400][number % 6] + random.next_u64() as u16 % 8;
        let (header, frame) = super_packet(&mut random, v6, protocol, size);
        let what =
            format!("number {number}: v6 {v6}, protocol {protocol}, size {size}, {} bytes", frame.len());
        let send = || {
            assert!(
                router.near.borrow_mut().write_left(&header, &[&frame]).unwrap(),
                "{what}: the kernel refuses it"
            );
        };

        router.offload(true);
        let mut whole = TunReader::new(Arc::clone(&router.far)).completing();
        send();
        let mut ours = vec![next(&mut whole).0];
        assert!(whole.has_more(), "{what}: it comes whole");
        while whole.has_more() {
            ours.push(next(&mut whole).0);
        }

        router.offload(false);
        let mut apart = TunReader::new(Arc::clone(&router.far));
        send();
        for (place, packet) in ours.iter().enumerate() {
            let (theirs, left) = next(&mut apart);
            assert!(left.is_none() && !apart.has_more(), "{what}: the kernel has cut it");
            assert_eq!(packet, &theirs, "{what}: packet {place} of {}", ours.len());
        }

        router.offload(true);
        let mut left = TunReader::new(Arc::clone(&router.far));
        send();
        let packets: Vec<_> = ours.iter().map(|_| next(&mut left)).collect();
        for ((packet, unsummed), complete) in packets.iter().zip(&ours) {
            let mut completed = packet.clone();
            unsummed.unwrap().complete(&mut completed);
            assert_eq!(&completed, complete, "{what}: a checksum that was left is completed");
        }
        if protocol == TCP {
            joined_is_taken(&router, &packets, &what);
        }
    }
    Ok(())
}

/// Packets, joined and sent on, are the packets again, but for the hop that they have taken.
fn joined_is_taken(router: &Router, packets: &[(Vec<u8>, Option<Unsummed>)], what: &str) {
    let (first, unsummed) = (&packets[0].0, packets[0].1.unwrap());
    let mut join = Join::new(first, 0, unsummed).unwrap();
    for (packet, left) in &packets[1..] {
        assert!(join.take(first, packet, left.unwrap()), "{what}: packet {}", join.packets());
    }
    let mut headers = Vec::new();
    let header = join.headers(first, &mut headers);
    assert!(LeftToHardware::read(&header).segment.is_some());
    let mut parts = vec![&headers[..]];
    parts.extend(packets.iter().map(|(packet, _)| &packet[join.payload()..]));
    assert!(
        router.near.borrow_mut().write_left(&header, &parts).unwrap(),
        "{what}: the kernel refuses the joined frame"
    );
    let mut reader = TunReader::new(Arc::clone(&router.far));
    for (packet, left) in packets {
        let (mut again, unsummed) = next(&mut reader);
        assert_eq!(unsummed, *left, "{what}");
        let hops = if packet[0] >> 4 == 4 { 8 } else { 7 };
        again[hops] += 1;
        let sum_at = if packet[0] >> 4 == 4 { 10..12 } else { 0..0 };
        again[sum_at.clone()].copy_from_slice(&packet[sum_at]);
        assert_eq!(&again, packet, "{what}");
    }
}

/// Ports without a kernel: frames read are cut, frames written are kept.
struct Kept {
    coming: VecDeque<([u8; 10], Vec<u8>)>,
    whole: Whole,
    left: Option<Unsummed>,
    refuses_joined: bool,
    together: usize,
    headers: Vec<[u8; 10]>,
    frames: Vec<Vec<u8>>,
    joined: usize,
    /// Calls that handed on several frames.
    calls: usize,
}

impl Ports for Kept {
    fn now(&self) -> Time {
        Time::from_ns(1000)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let next = self.whole.next_packet(buffer);
        let (len, left) = match next {
            Some(packet) => packet,
            None => {
                let (header, frame) = self.coming.pop_front().ok_or(io::ErrorKind::UnexpectedEof)?;
                let (head, room) = self.whole.bytes().split_at_mut(header.len());
                head.copy_from_slice(&header);
                room[..frame.len()].copy_from_slice(&frame);
                self.whole.take(buffer, 0, frame.len(), false)
            }
        };
        self.left = left;
        Ok(Some(Received { len, at: self.now() }))
    }

    fn unsummed(&self) -> Option<Unsummed> {
        self.left
    }

    fn has_more(&self) -> bool {
        self.whole.is_cut()
    }

    fn joins(&self) -> bool {
        true
    }

    fn together(&self) -> usize {
        self.together
    }

    fn deliver_all<'a>(&mut self, frames: impl ExactSizeIterator<Item = Leaving<'a>>) -> io::Result<usize> {
        self.calls += usize::from(frames.len() > 1);
        let taken = frames.map(|frame| self.deliver_one(frame)).filter(|taken| matches!(taken, Ok(true)));
        Ok(taken.count())
    }

    fn deliver(&mut self, frame: &[u8]) -> io::Result<bool> {
        self.headers.push([0; 10]);
        self.frames.push(frame.to_vec());
        Ok(true)
    }

    fn deliver_left(&mut self, header: &[u8; 10], parts: &[&[u8]]) -> io::Result<bool> {
        if parts.len() > 1 {
            self.joined += 1;
            if self.refuses_joined {
                return Ok(false);
            }
        }
        self.headers.push(*header);
        self.frames.push(parts.concat());
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wait(&mut self, _: Option<Time>) -> io::Result<()> {
        Ok(())
    }
}

type Coming = VecDeque<([u8; 10], Vec<u8>)>;

/// Frames of TCP through a link without limit; how it was, the frames that came, and those that left.
fn pass(settings: &[&str], refuses_joined: bool) -> (Report, Vec<Vec<u8>>, Kept) {
    let mut random = Philox::new(12, 0, 0);
    let coming: Coming =
        (0..40).map(|number| super_packet(&mut random, number % 2 == 0, TCP, 1400)).collect();
    let sent = coming.iter().map(|(_, frame)| frame.clone()).collect();
    let (report, ports) = pass_all(coming, settings, refuses_joined, 1);
    (report, sent, ports)
}

fn pass_all(coming: Coming, settings: &[&str], refuses_joined: bool, together: usize) -> (Report, Kept) {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.into()).collect();
    let link = TwoWay::parse("", "test", &settings).unwrap();
    let config = link.up.direction(1, 0, [1, 2], LinkType(101), 1500);
    let (_mailbox, commands) = mailbox(Arc::new(()));
    let mut ports = Kept {
        coming,
        whole: Whole::new(1 << 16),
        left: None,
        refuses_joined,
        together,
        headers: Vec::new(),
        frames: Vec::new(),
        joined: 0,
        calls: 0,
    };
    let report = Direction::new(config, commands, (), Time::ZERO).unwrap().run(&mut ports).unwrap();
    assert_eq!(report.buffers, report.buffers_free, "{report:?}");
    assert_eq!((report.arrived, report.waiting.packets), (report.delivered, 0), "{report:?}");
    (report, ports)
}

/// Packets of 1400 bytes of payload that frames stand for.
fn packets_of(frames: &[Vec<u8>]) -> usize {
    frames.iter().map(|frame| Cut::new(frame, 0, 1400).unwrap().packets()).sum()
}

#[test]
fn what_arrives_as_one_and_is_due_at_once_leaves_as_one() {
    let (report, sent, ports) = pass(&[], false);
    assert_eq!(report.delivered.packets as usize, packets_of(&sent), "the link sees packets");
    for (place, (left, came)) in ports.frames.iter().zip(&sent).enumerate() {
        assert!(left == came, "frame {place}: {} bytes of {}", left.len(), came.len());
    }
    assert_eq!(ports.frames.len(), sent.len());
    assert_eq!((ports.joined, report.lateness.packets), (sent.len(), report.delivered.packets));
}

#[test]
fn a_joined_frame_that_is_refused_is_not_one_drop_for_many() {
    let (report, sent, ports) = pass(&[], true);
    assert!(ports.joined > 0 && report.dropped.is_empty(), "{report:?}");
    assert_eq!(
        (ports.frames.len(), report.delivered.packets as usize),
        (packets_of(&sent), packets_of(&sent))
    );
}

#[test]
fn packets_that_wait_for_others_take_no_buffer_from_those() {
    let (report, sent, ports) = pass(&["up.buffers=3"], false);
    assert!(report.dropped.is_empty(), "{report:?}");
    assert_eq!(packets_of(&ports.frames), packets_of(&sent));
    assert!(ports.frames.len() > sent.len());
}

/// The packets that frames stand for, and their checksums that are left.
fn cut(frames: &Coming) -> Vec<(Vec<u8>, Option<Unsummed>)> {
    let (mut whole, mut buffer) = (Whole::new(1 << 16), [0; 1600]);
    let mut packets = Vec::new();
    for (header, frame) in frames {
        whole.bytes()[..10].copy_from_slice(header);
        whole.bytes()[10..10 + frame.len()].copy_from_slice(frame);
        let mut next = Some(whole.take(&mut buffer, 0, frame.len(), false));
        while let Some((len, left)) = next {
            packets.push((buffer[..len].to_vec(), left));
            next = whole.next_packet(&mut buffer);
        }
    }
    packets
}

/// Frames of TCP, frames of UDP and packets that stand for themselves, of all lengths: cut, what leaves is what came, packet by
/// packet, whether it is joined, handed on by itself or with others.
#[test]
fn what_is_joined_and_what_is_not_leave_in_the_order_in_which_they_came() {
    let mut random = Philox::new(13, 0, 0);
    let mut coming = Coming::new();
    for number in 0..200 {
        let (kind, size) = (random.next_u64() % 3, 1 + random.next_u64() as u16 % 1400);
        let protocol = if kind == 0 { UDP } else { TCP };
        let (header, frame) = super_packet(&mut random, number % 2 == 0, protocol, size);
        coming.push_back(if kind == 2 {
            ([0; 10], frame[..frame.len().min(1500)].to_vec())
        } else {
            (header, frame)
        });
    }
    let expected = cut(&coming);
    for (together, refuses_joined, buffers) in
        [(1, false, 100), (2, false, 100), (16, false, 100), (16, true, 100), (16, false, 3)]
    {
        let buffers = format!("up.buffers={buffers}");
        let (_, ports) = pass_all(coming.clone(), &[&buffers], refuses_joined, together);
        let left = cut(&ports.headers.into_iter().zip(ports.frames).collect());
        assert_eq!(left.len(), expected.len(), "{together} {refuses_joined} {buffers}");
        for (place, (left, came)) in left.iter().zip(&expected).enumerate() {
            assert_eq!(left, came, "packet {place}, {together} {refuses_joined} {buffers}");
        }
        assert_eq!((ports.calls > 0, ports.joined > 0), (together > 1, true));
    }
}
