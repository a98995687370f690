//! Sends and receives what `benches/live` measures with.
//!
//!     probe send TO --size BYTES --seconds S [--pps N] [--sleep] [--flows N] [--qdisc]
//!         TO is an interface (packets go out there as they are) or ADDRESS:PORT (a UDP socket). BYTES are those of the IP
//!         packet. Without --pps as fast as it can; with it, awake in between, or asleep with --sleep. Each packet carries its
//!         number and the time at which it is sent (monotonic, ns) as its last 16 bytes where it is paced. With --qdisc packets
//!         take the way through the interface's queueing discipline, which they pass by otherwise. Prints
//!         {"packets":..,"refused":..,"seconds":..}.
//!     probe receive INTERFACE --file FILE
//!         Until SIGTERM. For each packet that comes in there four 64-bit numbers of this machine: when the kernel says that it
//!         came (monotonic, ns), its length (IP), its number, when it was sent. Prints {"packets":..,"lost":..}.
//!     probe sleep --seconds S --every US [--spin US]
//!         Sleeps to absolute times and prints how late it woke: {"p50_us":..,"p99_us":..,"max_us":..}.
//!     probe watch PID --file FILE
//!         Until SIGTERM. Wakes up every 200 us and writes three 64-bit numbers, begin and end (monotonic, ns) and how long it
//!         was, for each time that the machine did not run it for 300 us, or a thread of process PID could have run and did not for
//!         as long within a millisecond (schedstat). On the processor of PID, and before all that is not of real time, it sees what PID cannot help.

use fairdrop::Time;
use fairdrop_live::host::{Lateness, Ports};
use fairdrop_live::os::{PacketSocket, RingLayout, Sleeper, interfaces, now};
use fairdrop_live::port::{PacketPorts, Receiver};
use rustix::event::EventfdFlags;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, send, sendmmsg};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, IoSlice, Write};
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Sent with one call, when it is to be fast.
const BATCH: usize = 32;
const ETHERNET: usize = 14;
const IP_AND_UDP: usize = 28;
/// Number and time.
const STAMP: usize = 16;
const RING_BYTES: u32 = 64 << 20;
const SLOT_BYTES: u32 = 2048;
/// How long the receiver sleeps between two looks; the kernel has noted the times.
const LOOK: Duration = Duration::from_millis(10);

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|word| word == name);
        at.and_then(|at| arguments.get(at + 1))
    };
    let number = |name: &str, default: f64| option(name).map_or(Ok(default), |text| text.parse::<f64>());
    let words: Vec<&str> = arguments.iter().take(2).map(String::as_str).collect();
    match words[..] {
        ["send", to] => Sender {
            size: number("--size", 1500.0)? as usize,
            gap_ns: match number("--pps", 0.0)? {
                0.0 => None,
                pps => Some(1e9 / pps),
            },
            seconds: number("--seconds", 1.0)?,
            asleep: arguments.iter().any(|word| word == "--sleep"),
            flows: number("--flows", 1.0)? as u16,
            through_qdisc: arguments.iter().any(|word| word == "--qdisc"),
        }
        .run(to),
        ["receive", interface] => receive(interface, option("--file").ok_or("--file FILE is missing")?),
        ["watch", pid] => watch(pid, option("--file").ok_or("--file FILE is missing")?),
        ["sleep", ..] => {
            let (seconds, every) = (number("--seconds", 1.0)?, number("--every", 1000.0)?);
            sleep(seconds, every, number("--spin", 0.0)?)
        }
        _ => {
            Err("usage: probe send TO .. | probe receive INTERFACE .. | probe watch .. | probe sleep .."
                .into())
        }
    }
}

/// How to send.
struct Sender {
    size: usize,
    gap_ns: Option<f64>,
    seconds: f64,
    asleep: bool,
    flows: u16,
    through_qdisc: bool,
}

/// Where to.
enum Target {
    Interface(PacketSocket),
    Socket(UdpSocket),
}

impl AsFd for Target {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Interface(socket) => socket.as_fd(),
            Self::Socket(socket) => socket.as_fd(),
        }
    }
}

impl Sender {
    fn run(&self, to: &str) -> Outcome {
        if self.size < IP_AND_UDP + STAMP {
            return Err(format!("--size {}; valid: {} and more", self.size, IP_AND_UDP + STAMP).into());
        }
        let (target, mut frames) = self.prepare(to)?;
        let (packets, refused, begun) = match self.gap_ns {
            None => self.flood(&target, &frames),
            Some(gap_ns) => self.pace(&target, &mut frames, gap_ns)?,
        };
        let seconds = now().since(begun).seconds();
        println!("{{\"packets\":{packets},\"refused\":{refused},\"seconds\":{seconds}}}");
        Ok(())
    }

    /// The socket, and a frame for each flow.
    fn prepare(&self, to: &str) -> Outcome<(Target, Vec<Vec<u8>>)> {
        if to.contains(':') {
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            socket.connect(to)?;
            return Ok((Target::Socket(socket), vec![vec![0; self.size - IP_AND_UDP]]));
        }
        let all = interfaces()?;
        let found =
            all.iter().find(|one| one.name == to).ok_or_else(|| format!("there is no interface {to:?}"))?;
        let socket = PacketSocket::new()?;
        if !self.through_qdisc {
            socket.bypass_qdisc()?;
        }
        socket.bind(found.index, false)?;
        let frames = (0..self.flows).map(|flow| frame(self.size, flow, found.ethernet)).collect();
        Ok((Target::Interface(socket), frames))
    }

    fn flood(&self, target: &Target, frames: &[Vec<u8>]) -> (u64, u64, Time) {
        let pieces: Vec<[IoSlice<'_>; 1]> =
            (0..BATCH).map(|at| [IoSlice::new(&frames[at % frames.len()])]).collect();
        let mut control: Vec<_> = pieces.iter().map(|_| SendAncillaryBuffer::default()).collect();
        let mut messages: Vec<_> =
            pieces.iter().zip(&mut control).map(|(piece, control)| MMsgHdr::new(piece, control)).collect();
        let (begun, mut packets, mut refused) = (now(), 0, 0);
        let end = begun.after(Time::from_ns((self.seconds * 1e9) as u64));
        while now() < end {
            match sendmmsg(target, &mut messages, SendFlags::DONTWAIT) {
                Ok(sent) => packets += sent as u64,
                // What the device has no room for.
                Err(_) => refused += 1,
            }
        }
        (packets, refused, begun)
    }

    fn pace(&self, target: &Target, frames: &mut [Vec<u8>], gap_ns: f64) -> Outcome<(u64, u64, Time)> {
        let mut sleeper = Sleeper::new(if self.asleep { Time::ZERO } else { Time::from_ns(u64::MAX) })?;
        let silent = silent()?;
        let (begun, mut packets, mut refused) = (now(), 0_u64, 0);
        while (packets + refused) as f64 * gap_ns < self.seconds * 1e9 {
            let due = begun.after(Time::from_ns(((packets + refused) as f64 * gap_ns) as u64));
            if self.asleep {
                sleeper.sleep(silent.as_fd(), Some(due))?;
            } else {
                while now() < due {}
            }
            let number = packets + refused;
            let count = frames.len();
            let frame = &mut frames[number as usize % count];
            let at = frame.len() - STAMP;
            frame[at..at + 8].copy_from_slice(&number.to_ne_bytes());
            frame[at + 8..].copy_from_slice(&now().ns().to_ne_bytes());
            match send(target, frame, SendFlags::DONTWAIT) {
                Ok(_) => packets += 1,
                Err(_) => refused += 1,
            }
        }
        Ok((packets, refused, begun))
    }
}

/// Never readable.
fn silent() -> Outcome<OwnedFd> {
    Ok(rustix::event::eventfd(0, EventfdFlags::CLOEXEC)?)
}

/// A UDP packet over IPv4 to an address that nobody has, of flow `flow`.
fn frame(size: usize, flow: u16, ethernet: bool) -> Vec<u8> {
    let mut frame = Vec::with_capacity(ETHERNET + size);
    if ethernet {
        frame.extend_from_slice(&[2, 0, 0, 0, 0, 0xfe, 2, 0, 0, 0, 0, 0xfd, 8, 0]);
    }
    let mut ip = [0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2];
    ip[2..4].copy_from_slice(&(size as u16).to_be_bytes());
    let sum: u32 = ip.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!(((sum & 0xffff) + (sum >> 16)) as u16)).to_be_bytes());
    frame.extend_from_slice(&ip);
    for word in [20_000 + flow, 9, (size - 20) as u16, 0] {
        frame.extend_from_slice(&word.to_be_bytes());
    }
    frame.resize(frame.len() + size - IP_AND_UDP, 0);
    frame
}

/// Set when the program is to end.
fn stopped() -> Outcome<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

fn receive(interface: &str, file: &str) -> Outcome {
    let stop = stopped()?;
    let all = interfaces()?;
    let found = all.iter().find(|one| one.name == interface);
    let found = found.ok_or_else(|| format!("there is no interface {interface:?}"))?;
    let socket = Arc::new(PacketSocket::new()?);
    let receiver = Receiver::new(Arc::clone(&socket), RingLayout::Slots(SLOT_BYTES), RING_BYTES)?;
    let mut ports = PacketPorts::new(receiver, Arc::new(PacketSocket::new()?), Sleeper::new(Time::ZERO)?)?;
    socket.promiscuous(found.index)?;
    socket.bind(found.index, true)?;
    eprintln!("probe: receives");
    let header = if found.ethernet { ETHERNET } else { 0 };
    let (mut out, mut buffer, mut packets) = (BufWriter::new(File::create(file)?), [0; 9216], 0_u64);
    loop {
        let last = stop.load(Ordering::Relaxed);
        while let Some(received) = ports.receive(&mut buffer)? {
            let len = received.len.min(buffer.len());
            let frame = &buffer[..len];
            // Ours: IPv4 and UDP.
            if len < header + IP_AND_UDP + STAMP || frame[header] != 0x45 || frame[header + 9] != 17 {
                continue;
            }
            packets += 1;
            out.write_all(&received.at.ns().to_ne_bytes())?;
            out.write_all(&((len - header) as u64).to_ne_bytes())?;
            out.write_all(&frame[len - STAMP..])?;
        }
        if last {
            break;
        }
        thread::sleep(LOOK);
    }
    out.flush()?;
    println!("{{\"packets\":{packets},\"lost\":{}}}", ports.lost_before());
    Ok(())
}

/// How often it wakes up, what is a pause, and after how many sleeps the threads are looked at.
const TICK: Time = Time::from_ns(200_000);
const PAUSE: Time = Time::from_ns(300_000);
const LOOK_AT_THREADS: u64 = 5;

fn watch(pid: &str, file: &str) -> Outcome {
    let stop = stopped()?;
    let threads: Vec<File> = fs::read_dir(format!("/proc/{pid}/task"))?
        .map(|thread| File::open(thread?.path().join("schedstat")))
        .collect::<io::Result<_>>()?;
    let (mut sleeper, silent) = (Sleeper::new(Time::ZERO)?, silent()?);
    let mut out = BufWriter::new(File::create(file)?);
    let mut pause = |begin: Time, end: Time, long_ns: u64| {
        [begin.ns(), end.ns(), long_ns].iter().try_for_each(|number| out.write_all(&number.to_ne_bytes()))
    };
    eprintln!("probe: watches");
    let (mut due, mut ticks) = (now().after(TICK), 0_u64);
    let (mut looked, mut waited) = (now(), waited_ns(&threads));
    while !stop.load(Ordering::Relaxed) {
        sleeper.sleep(silent.as_fd(), Some(due))?;
        let woke = now();
        if woke < due {
            continue;
        }
        if woke.since(due) > PAUSE {
            pause(due, woke, woke.since(due).ns())?;
        }
        ticks += 1;
        if ticks % LOOK_AT_THREADS == 0 {
            let so_far = waited_ns(&threads);
            let long_ns = so_far.saturating_sub(waited);
            if long_ns > PAUSE.ns() {
                pause(looked, woke, long_ns)?;
            }
            (looked, waited) = (woke, so_far);
        }
        due = woke.after(TICK);
    }
    out.flush()?;
    Ok(())
}

/// How long threads could have run and did not (the second number of schedstat); those that have ended do not count.
fn waited_ns(threads: &[File]) -> u64 {
    let of = |file: &File| {
        let mut text = [0; 64];
        let len = file.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..len]).ok()?.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    threads.iter().filter_map(of).sum()
}

fn sleep(seconds: f64, every_us: f64, spin_us: f64) -> Outcome {
    let mut sleeper = Sleeper::new(Time::from_ns((spin_us * 1e3) as u64))?;
    let (silent, mut late, begun) = (silent()?, Lateness::default(), now());
    for number in 1..=(seconds * 1e6 / every_us) as u64 {
        let until = begun.after(Time::from_ns((number as f64 * every_us * 1e3) as u64));
        sleeper.sleep(silent.as_fd(), Some(until))?;
        late.record(until, now());
    }
    let late = late.report();
    let [p50, p99, max] = [late.p50_s, late.p99_s, late.max_s].map(|seconds| seconds * 1e6);
    println!("{{\"p50_us\":{p50:.1},\"p99_us\":{p99:.1},\"max_us\":{max:.1}}}");
    Ok(())
}
