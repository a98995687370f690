//! A forwarder over AF_XDP that does nothing but forward, from receive ring to send ring without a copy of its own: what the work of
//! `fairdropd bridge --port xdp` is measured against.
//!
//!     bare_xdp IF1 IF2 [--seconds S]
//!
//! Both ways, each in a thread of its own, as `fairdropd` does. At the end, which is SIGINT, SIGTERM or S seconds, it prints
//! `{"packets":..,"bytes":..,"cpu_s":..}` of both together.

use fairdrop_live::os::interfaces;
use fairdrop_live::os::xdp::{Place, Wish, XdpInput, XdpOutput, XdpSockets};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{ClockId, Timespec, clock_gettime};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// As `fairdropd bridge` has it.
const RING_BYTES: u32 = 8 << 20;

/// Frames read between two calls to the kernel.
const BATCH: usize = 64;

/// How often a thread that sleeps looks at the signal.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (first, second, seconds) = match words[..] {
        [first, second] => (first, second, None),
        [first, second, "--seconds", seconds] => (first, second, Some(seconds.parse()?)),
        _ => return Err("usage: bare_xdp IF1 IF2 [--seconds S]".into()),
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let all = interfaces()?;
    let index = |name: &str| {
        let found = all.iter().find(|one| one.name == name);
        found.map(|one| one.index).ok_or_else(|| format!("there is no interface {name}"))
    };
    let wish = Wish { places: &[Place::Driver], zero_copy: false, queues: 1, ring_bytes: RING_BYTES };
    let sockets =
        XdpSockets::pair([index(first)?, index(second)?], wish).map_err(|refused| refused.to_string())?;
    let [first, second] = sockets;
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let forward = |from, to| {
        let stop = Arc::clone(&stop);
        thread::spawn(move || {
            forward(from, to, || {
                stop.load(Ordering::Relaxed) || until.is_some_and(|end| Instant::now() >= end)
            })
        })
    };
    eprintln!("forwarding");
    let ways = [forward(first.input, second.output), forward(second.input, first.output)];
    let mut sum = (0, 0);
    for way in ways {
        let (packets, bytes) = way.join().map_err(|_| "a thread panicked")??;
        sum = (sum.0 + packets, sum.1 + bytes);
    }
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let cpu_s = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
    println!("{{\"packets\":{},\"bytes\":{},\"cpu_s\":{cpu_s:.6}}}", sum.0, sum.1);
    Ok(())
}

/// Forwards until `done`; how many packets and bytes.
fn forward(mut from: XdpInput, mut to: XdpOutput, done: impl Fn() -> bool) -> io::Result<(u64, u64)> {
    let mut sum = (0, 0);
    while !done() {
        let mut read = 0;
        while read < BATCH
            && let Some(frame) = from.next_lent()
        {
            read += 1;
            if to.push_lent(frame) {
                sum = (sum.0 + 1, sum.1 + u64::from(frame.len));
            } else {
                from.give_back_lent(frame.address);
            }
        }
        to.flush();
        while let Some(address) = to.next_sent() {
            from.give_back_lent(address);
        }
        from.publish();
        if read < BATCH {
            let mut fds: Vec<_> =
                from.sockets().map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN)).collect();
            match poll(&mut fds, Some(&LOOK)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(sum)
}
