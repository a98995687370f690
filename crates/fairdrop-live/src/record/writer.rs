//! The thread that writes records.

use crate::config::DIRECTIONS;
use crate::os::now;
use crate::record::ordered::Ordered;
use crate::record::pcapng::{self, Packet};
use crate::record::recorder::What;
use crate::record::{INTERFACES, Output};
use fairdrop::Time;
use fairdrop_capture::LinkType;
use rtrb::Consumer;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Looks at the rings this often when there was nothing. The loop does not wake the writer: that would cost it a system call.
const IDLE: Duration = Duration::from_millis(10);

/// Records are written this long after their time, so that those of both directions are in order, even if a loop does not run for
/// a while between a packet and the one that it leaves together with. Where many come, their number bounds it.
const HELD: Time = Time::from_ns(200_000_000);

/// Bytes that are written at once.
const AT_ONCE: usize = 1 << 18;

/// Writes until it is dropped, and then the rest.
pub struct Writer {
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct Job<O> {
    output: O,
    /// Of each direction.
    records: [Ordered; DIRECTIONS.len()],
    link_type: LinkType,
    file_bytes: u64,
    /// Bytes in the file.
    written: u64,
    /// 1970 on the clock of the loop, ns.
    epoch_ns: i128,
    blocks: Vec<u8>,
}

impl Writer {
    /// Writes the records of `rings` into files of `file_bytes` each.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub fn start<O: Output + Send + 'static>(
        output: O,
        rings: [Consumer<u8>; DIRECTIONS.len()],
        link_type: LinkType,
        file_bytes: u64,
    ) -> io::Result<Self> {
        let ending = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ending);
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut job = Job {
            output,
            records: rings.map(Ordered::new),
            link_type,
            file_bytes,
            written: 0,
            epoch_ns: since_1970.as_nanos() as i128 - i128::from(now().ns()),
            blocks: Vec::with_capacity(2 * AT_ONCE),
        };
        let write = move || {
            if let Err(error) = job.run(&until) {
                crate::say!("fairdropd: the recording has stopped: {error}; packets go on");
            }
        };
        let thread = thread::Builder::new().name("fairdrop-record".into()).spawn(write)?;
        Ok(Self { ending, thread: Some(thread) })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // It has not panicked, and if it had there would be nothing to do.
            let _ = thread.join();
        }
    }
}

impl<O: Output> Job<O> {
    fn run(&mut self, ending: &AtomicBool) -> io::Result<()> {
        pcapng::header(&mut self.blocks, self.link_type);
        self.write()?;
        loop {
            // Asked first: whatever came before the end is written.
            let last = ending.load(Ordering::Acquire);
            let any = self.gather(last);
            self.write()?;
            if !any {
                if last {
                    return self.output.flush();
                }
                thread::sleep(IDLE);
            }
        }
    }

    /// Takes records out of the rings, the oldest first, as many as are written at once. Returns whether there were any.
    fn gather(&mut self, all: bool) -> bool {
        let hurry = all || self.records.iter().any(Ordered::is_filling);
        let until = Time::from_ns(now().ns().saturating_sub(HELD.ns()));
        while self.blocks.len() < AT_ONCE {
            let times =
                (0..).zip(&mut self.records).filter_map(|(at, records)| Some((records.oldest()?, at)));
            let Some((_, direction)) = times.min().filter(|&(at, _)| hurry || at <= until) else { break };
            self.add(direction);
        }
        !self.blocks.is_empty()
    }

    fn add(&mut self, direction: usize) {
        let Some((record, frame)) = self.records[direction].next() else { return };
        let (kind, comment) = match record.what() {
            What::Arrived => (0, None),
            What::Left => (1, None),
            What::Dropped(cause) => (2, Some(format!("dropped: {}", cause.name()))),
        };
        let packet = Packet {
            interface: direction * INTERFACES / DIRECTIONS.len() + kind,
            time_ns: since_1970_ns(self.epoch_ns, record.at),
            len: record.len,
            frame,
            comment: comment.as_deref(),
        };
        pcapng::packet(&mut self.blocks, &packet);
    }

    fn write(&mut self) -> io::Result<()> {
        if self.written >= self.file_bytes && !self.blocks.is_empty() {
            self.output.flush()?;
            self.output.next_file()?;
            let mut header = Vec::new();
            pcapng::header(&mut header, self.link_type);
            self.output.write_all(&header)?;
            self.written = header.len() as u64;
        }
        self.output.write_all(&self.blocks)?;
        self.written += self.blocks.len() as u64;
        self.blocks.clear();
        Ok(())
    }
}

fn since_1970_ns(epoch_ns: i128, at: Time) -> u64 {
    (epoch_ns + i128::from(at.ns())).max(0) as u64
}
