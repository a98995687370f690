//! Forwarders that do nothing but forward, over the ports that `fairdropd` has: what its own work is measured against.
//!
//!     bare tun NAME PEER        two TUN devices, a read and a write for each packet; those that are there are read first
//!     bare frames IF1 IF2       packet sockets, a receive ring of frames (`TPACKET_V2`), those that are there sent with one call
//!     bare blocks IF1 IF2       the same with a ring of blocks (`TPACKET_V3`)
//!
//! Both ways, each in a thread of its own, as `fairdropd` does. At SIGINT or SIGTERM it prints
//! `{"packets":..,"bytes":..,"cpu_s":..}` of both together.

use fairdrop_live::os::{
    Netlink, NetworkSetting, PacketSocket, RING_BLOCK, RingLayout, RingMemory, SENT_TOGETHER, TRANSMIT_QUEUE,
    interfaces, tun,
};
use fairdrop_live::port::READ_AHEAD;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::time::{ClockId, Timespec, clock_gettime};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::error::Error;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// As `fairdropd bridge` has it.
const RING_BYTES: u32 = 8 << 20;
const SLOT_BYTES: usize = 2048;
const BLOCK_MS: u32 = 1;
/// What a TUN device hands on at most, behind a `virtio_net_hdr`.
const VNET_HEADER: usize = 10;
const LONGEST: usize = VNET_HEADER + (1 << 16);
const MTU: u32 = 1500;

/// How often a thread that sleeps looks at the signal.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

#[derive(Default)]
struct Forwarded {
    packets: u64,
    bytes: u64,
}

impl Forwarded {
    fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

fn main() -> Outcome {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [there, back] = match words[..] {
        ["tun", name, peer] => {
            let [near, far] = [tun(name)?, tun(peer)?];
            let netlink = Netlink::open()?;
            for interface in [name, peer] {
                let packets = TRANSMIT_QUEUE;
                netlink.set(&NetworkSetting::TransmitQueue { interface: interface.into(), packets })?;
                netlink.set(&NetworkSetting::Up { interface: interface.into(), mtu: Some(MTU) })?;
            }
            both_ways([name, peer], [(&near, &far), (&far, &near)], |(from, to)| packets(from, to, &stop))?
        }
        ["frames", first, second] => {
            let ways = sockets(first, second, RingLayout::Slots(SLOT_BYTES as u32))?;
            both_ways([first, second], ways, |sockets| frames(sockets, &stop))?
        }
        ["blocks", first, second] => {
            let ways = sockets(first, second, RingLayout::Blocks(BLOCK_MS))?;
            both_ways([first, second], ways, |sockets| blocks(sockets, &stop))?
        }
        _ => return Err("usage: bare tun NAME PEER | bare frames IF1 IF2 | bare blocks IF1 IF2".into()),
    };
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let cpu_s = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
    let (packets, bytes) = (there.packets + back.packets, there.bytes + back.bytes);
    println!("{{\"packets\":{packets},\"bytes\":{bytes},\"cpu_s\":{cpu_s}}}");
    Ok(())
}

/// Forwards in one thread for each direction, until both have ended.
fn both_ways<W: Send>(
    [first, second]: [&str; 2],
    ways: [W; 2],
    forward: impl Fn(W) -> io::Result<Forwarded> + Sync,
) -> Outcome<[Forwarded; 2]> {
    eprintln!("bare: {first} and {second} are connected");
    let ended = thread::scope(|scope| {
        let forward = &forward;
        let threads = ways.map(|way| scope.spawn(move || forward(way)));
        threads.map(|thread| thread.join().unwrap_or_else(|_| Err(io::Error::other("it panicked"))))
    });
    let [there, back] = ended;
    Ok([there?, back?])
}

/// Sleeps until `readable` can be read, but not for long.
fn wait(readable: BorrowedFd<'_>) -> io::Result<()> {
    match poll(&mut [PollFd::from_borrowed_fd(readable, PollFlags::IN)], Some(&LOOK)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn packets(from: &OwnedFd, to: &OwnedFd, stop: &AtomicBool) -> io::Result<Forwarded> {
    let (mut forwarded, mut buffer) = (Forwarded::default(), vec![0; READ_AHEAD * SLOT_BYTES + LONGEST]);
    while !stop.load(Ordering::Relaxed) {
        let (mut lengths, mut count, mut empty) = ([0; READ_AHEAD], 0, false);
        // Behind a frame that stands for many there is no room.
        while count < READ_AHEAD && !empty && (count == 0 || lengths[count - 1] <= SLOT_BYTES) {
            match rustix::io::read(from, &mut buffer[count * SLOT_BYTES..]) {
                Ok(len) => (lengths[count], count) = (len, count + 1),
                Err(Errno::AGAIN) => empty = true,
                Err(error) => return Err(error.into()),
            }
        }
        for (slot, &len) in lengths[..count].iter().enumerate() {
            if rustix::io::write(to, &buffer[slot * SLOT_BYTES..][..len]).is_ok() {
                forwarded.add(len.saturating_sub(VNET_HEADER));
            }
        }
        if empty {
            wait(from.as_fd())?;
        }
    }
    Ok(forwarded)
}

/// The sockets of one direction.
struct Sockets {
    from: PacketSocket,
    ring: RingMemory,
    to: PacketSocket,
}

fn sockets(first: &str, second: &str, layout: RingLayout) -> Outcome<[Sockets; 2]> {
    let all = interfaces()?;
    let index = |name: &str| {
        let found = all.iter().find(|one| one.name == name);
        found.map(|one| one.index).ok_or_else(|| format!("there is no interface {name:?}"))
    };
    let way = |input: i32, output: i32| -> io::Result<Sockets> {
        let (from, to) = (PacketSocket::new()?, PacketSocket::new()?);
        let ring = from.ring(layout, RING_BYTES)?;
        to.bypass_qdisc()?;
        to.bind(output, false)?;
        from.promiscuous(input)?;
        from.bind(input, true)?;
        Ok(Sockets { from, ring, to })
    };
    let (first, second) = (index(first)?, index(second)?);
    Ok([way(first, second)?, way(second, first)?])
}

fn word(ring: &RingMemory, at: usize) -> usize {
    ring.bytes(at, 4).first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes) as usize)
}

fn half_word(ring: &RingMemory, at: usize) -> usize {
    ring.bytes(at, 2).first_chunk().map_or(0, |bytes| usize::from(u16::from_ne_bytes(*bytes)))
}

/// Sends frames on as they are, from the ring.
fn forward(frames: &[&[u8]], to: &PacketSocket, forwarded: &mut Forwarded) {
    let sent = to.send_all(frames.iter().copied()).unwrap_or(0);
    frames[..sent].iter().for_each(|frame| forwarded.add(frame.len()));
}

/// Headers: `struct tpacket2_hdr`.
fn frames(Sockets { from, mut ring, to }: Sockets, stop: &AtomicBool) -> io::Result<Forwarded> {
    let (mut forwarded, mut at) = (Forwarded::default(), 0);
    while !stop.load(Ordering::Relaxed) {
        let (mut frames, mut count, first) = ([&[][..]; SENT_TOGETHER], 0, at);
        while count < frames.len() && ring.acquire(at) & libc::TP_STATUS_USER != 0 {
            let (captured, mac) = (word(&ring, at + 8), half_word(&ring, at + 12));
            frames[count] = ring.bytes(at + mac, captured);
            (count, at) = (count + 1, (at + SLOT_BYTES) % ring.len());
        }
        if count == 0 {
            sleep(&from, || ring.acquire(at))?;
            continue;
        }
        forward(&frames[..count], &to, &mut forwarded);
        for slot in 0..count {
            ring.release((first + slot * SLOT_BYTES) % ring.len(), libc::TP_STATUS_KERNEL);
        }
    }
    Ok(forwarded)
}

/// Headers: `struct tpacket_block_desc` and `struct tpacket3_hdr`.
fn blocks(Sockets { from, mut ring, to }: Sockets, stop: &AtomicBool) -> io::Result<Forwarded> {
    let (mut forwarded, mut block) = (Forwarded::default(), 0);
    while !stop.load(Ordering::Relaxed) {
        if ring.acquire(block + 8) & libc::TP_STATUS_USER == 0 {
            sleep(&from, || ring.acquire(block + 8))?;
            continue;
        }
        let (mut at, mut left) = (block + word(&ring, block + 16), word(&ring, block + 12));
        while left > 0 {
            let mut frames = [&[][..]; SENT_TOGETHER];
            let count = left.min(frames.len());
            for frame in &mut frames[..count] {
                let (captured, mac) = (word(&ring, at + 12), half_word(&ring, at + 24));
                *frame = ring.bytes(at + mac, captured);
                at += word(&ring, at);
            }
            forward(&frames[..count], &to, &mut forwarded);
            left -= count;
        }
        ring.release(block + 8, libc::TP_STATUS_KERNEL);
        block = (block + RING_BLOCK as usize) % ring.len();
    }
    Ok(forwarded)
}

fn sleep(from: &PacketSocket, status: impl Fn() -> u32) -> io::Result<()> {
    wait(from.as_fd())?;
    if status() & libc::TP_STATUS_USER == 0 {
        // What an interface that went down left behind would end every sleep.
        let _ = sockopt::socket_error(from);
    }
    Ok(())
}
