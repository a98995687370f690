//! The thread that knows the outside. It connects to where packets from the inside go, gets sockets at the outer end of the
//! link for them, and copies between the two. At the outer end the kernel speaks TCP, so that what crosses the link is the
//! kernel's own TCP at both ends; this thread sees bytes.

mod common;
mod datagrams;
mod splice;
mod streams;

use crate::host::Wake;
use crate::os::Waker;
use crate::os::namespace::{Helper, SocketKind};
use crate::port::TunWriter;
use crate::shell::addresses::Addresses;
use crate::shell::door::Shared;
use crate::shell::packet::{Kind, kind};
use common::{Common, Room};
use datagrams::Datagrams;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use streams::Streams;

/// Period of the search for unused connections.
const SWEEP: Duration = Duration::from_secs(5);

/// Bytes of the longest datagram.
const DATAGRAM: usize = 1 << 16;

/// Packets that were left with us that are looked at before others have their turn.
const TURN: usize = 256;

/// What is to be started with.
pub struct Parts {
    /// The process at the outer end.
    pub helper: Arc<Helper>,
    /// What is where.
    pub addresses: Arc<Addresses>,
    /// What it shares with the door.
    pub shared: Arc<Shared>,
    /// The TUN device of the outer end.
    pub device: TunWriter,
    /// Packets that are left for it.
    pub left: Receiver<Box<[u8]>>,
    /// What wakes it up.
    pub waker: Arc<Waker>,
    /// Descriptors that this process may have.
    pub descriptors: u64,
}

/// The thread, as others see it.
pub struct Outside {
    stop: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: JoinHandle<io::Result<()>>,
}

impl Outside {
    /// Starts it.
    ///
    /// # Errors
    /// The operating system gives no descriptors or no thread.
    pub fn start(parts: Parts) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*parts.waker, EventData::new_u64(0), EventFlags::IN)?;
        let raw = [false, true].map(|v6| parts.helper.socket(SocketKind::RawIp { v6 }).ok());
        let common = Common {
            epoll,
            helper: parts.helper,
            addresses: parts.addresses,
            shared: parts.shared,
            device: parts.device,
            raw,
            buffer: vec![0; DATAGRAM].into(),
            next_token: 1,
            room: Room::of(parts.descriptors),
        };
        let stop = Arc::new(AtomicBool::new(false));
        let mut running = Running {
            common,
            streams: Streams::default(),
            datagrams: Datagrams::default(),
            left: parts.left,
            more_left: false,
            waker: Arc::clone(&parts.waker),
            stop: Arc::clone(&stop),
        };
        let thread = thread::Builder::new().name("fairdrop-outside".into()).spawn(move || running.run())?;
        Ok(Self { stop, waker: parts.waker, thread })
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends it: all connections break.
    ///
    /// # Errors
    /// It had failed.
    pub fn stop(self) -> io::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
        self.thread.join().map_err(|_| io::Error::other("the thread of the outside panicked"))?
    }
}

struct Running {
    common: Common,
    streams: Streams,
    datagrams: Datagrams,
    left: Receiver<Box<[u8]>>,
    /// There may be more than we have taken.
    more_left: bool,
    waker: Arc<Waker>,
    stop: Arc<AtomicBool>,
}

impl Running {
    fn run(&mut self) -> io::Result<()> {
        let mut swept = Instant::now();
        while !self.stop.load(Ordering::Relaxed) {
            for (token, flags) in self.wait()? {
                if token == 0 {
                    self.waker.reset();
                } else if !self.streams.ready(&mut self.common, token, flags) {
                    self.datagrams.ready(&mut self.common, token);
                }
            }
            self.take_left(TURN);
            self.streams.pump(&mut self.common);
            if swept.elapsed() >= SWEEP {
                swept = Instant::now();
                self.streams.sweep(&mut self.common, swept);
                self.datagrams.sweep(&mut self.common, swept);
            }
        }
        Ok(())
    }

    /// Sleeps until something can be done.
    fn wait(&self) -> io::Result<Vec<(u64, EventFlags)>> {
        let mut events = [MaybeUninit::<Event>::uninit(); 64];
        let seconds = if self.more_left || self.streams.has_work() { 0 } else { SWEEP.as_secs() as i64 };
        let timeout = Timespec { tv_sec: seconds, tv_nsec: 0 };
        match epoll::wait(&self.common.epoll, &mut events, Some(&timeout)) {
            Ok((events, _)) => Ok(events.iter().map(|event| (event.data.u64(), { event.flags })).collect()),
            Err(Errno::INTR) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    fn take_left(&mut self, most: usize) {
        self.more_left = false;
        for _ in 0..most {
            let Ok(packet) = self.left.try_recv() else { return };
            match kind(&packet) {
                Kind::Syn { key, acknowledgement } => {
                    self.streams.syn(&mut self.common, key, acknowledgement, &packet);
                }
                Kind::Udp(key) => self.datagrams.udp(&mut self.common, key, &packet),
                Kind::Echo { key, sequence, payload } => {
                    self.datagrams.echo(&mut self.common, key, sequence, payload, &packet);
                }
                Kind::EchoFragment | Kind::Other => self.common.hand_on(&packet),
            }
            self.common.shared.taken();
        }
        self.more_left = true;
    }
}
