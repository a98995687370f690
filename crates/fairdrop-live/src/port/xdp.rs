//! A direction between two interfaces: AF_XDP sockets. An interface that goes away takes its sockets with it, so its owner hands over
//! new ones when it is back.

use crate::frame::complete_left_checksum;
use crate::host::{Ports, Received, Wake};
use crate::os::xdp::{XdpFrame, XdpInput, XdpOutput};
use crate::os::{Sleeper, Waker, now};
use fairdrop::Time;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Destination and source address, behind which a tag belongs.
const MACS: usize = 12;

/// Bytes of a tag, and of Ethernet's header without one.
const TAG: usize = 4;
const ETHERNET: usize = 14;

/// What an interface's owner hands to those who read from it and write to it.
#[derive(Debug)]
pub struct Handover<T> {
    new: Mutex<Change<T>>,
    changed: AtomicBool,
    /// Ends the sleep of who takes it.
    waker: OnceLock<Arc<Waker>>,
}

/// What is handed over.
#[derive(Debug, PartialEq, Eq)]
enum Change<T> {
    /// As before.
    Nothing,
    /// This from now on, if anything.
    To(Option<T>),
}

impl<T> Default for Handover<T> {
    /// Nothing yet.
    fn default() -> Self {
        Self { new: Mutex::new(Change::Nothing), changed: AtomicBool::new(false), waker: OnceLock::new() }
    }
}

impl<T> Handover<T> {
    /// To be used from now on, in place of an earlier one; `None`: nothing is.
    pub fn put(&self, new: Option<T>) {
        *self.new.lock().unwrap_or_else(PoisonError::into_inner) = Change::To(new);
        self.changed.store(true, Ordering::Release);
        if let Some(waker) = self.waker.get() {
            waker.wake();
        }
    }

    /// What was handed over since this was last asked.
    fn take(&self) -> Change<T> {
        if !self.changed.load(Ordering::Acquire) {
            return Change::Nothing;
        }
        let mut new = self.new.lock().unwrap_or_else(PoisonError::into_inner);
        self.changed.store(false, Ordering::Release);
        std::mem::replace(&mut new, Change::Nothing)
    }
}

/// One interface, as reported by its owner.
#[derive(Clone, Debug, Default)]
pub struct XdpInterface {
    /// Where frames come in.
    pub input: Arc<Handover<XdpInput>>,
    /// Where they go out.
    pub output: Arc<Handover<XdpOutput>>,
    /// Its MTU; 0: it takes nothing now.
    pub mtu: Arc<AtomicU32>,
}

/// Receives from one interface and sends to another, as [`super::PacketPorts`] does.
#[derive(Debug)]
pub struct XdpPorts {
    from: Arc<Handover<XdpInput>>,
    to: Arc<Handover<XdpOutput>>,
    mtu: Arc<AtomicU32>,
    input: Option<XdpInput>,
    output: Option<XdpOutput>,
    /// Can be read when one of the input's sockets can. A single one is watched itself, which costs less.
    epoll: OwnedFd,
    /// Frames that the device has not taken yet.
    left: bool,
    last: Time,
    looked: Time,
    lost_before: u64,
    lost_behind: u64,
    sleeper: Sleeper,
}

impl XdpPorts {
    /// From one interface to the other.
    ///
    /// # Errors
    /// The operating system has no more descriptors.
    pub fn new(from: &XdpInterface, to: &XdpInterface, sleeper: Sleeper) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        // Nobody else has set it: each interface has one reader.
        let _ = from.input.waker.set(sleeper.waker());
        let (from, to, mtu) = (Arc::clone(&from.input), Arc::clone(&to.output), Arc::clone(&to.mtu));
        let looked = now();
        Ok(Self {
            from,
            to,
            mtu,
            input: None,
            output: None,
            epoll,
            left: false,
            last: looked,
            looked,
            lost_before: 0,
            lost_behind: 0,
            sleeper,
        })
    }

    /// Takes the queues that were handed over.
    fn look(&mut self) -> io::Result<()> {
        if let Change::To(input) = self.from.take() {
            if let Some(mut before) = self.input.take() {
                // Sockets leave the epoll when they are closed, which the kernel may do later.
                self.lost_before += before.lost();
                for socket in before.sockets() {
                    epoll::delete(&self.epoll, socket)?;
                }
            }
            for socket in input.iter().flat_map(XdpInput::sockets) {
                epoll::add(&self.epoll, socket, EventData::new_u64(0), EventFlags::IN)?;
            }
            self.input = input;
        }
        if let Change::To(output) = self.to.take() {
            self.output = output;
            self.left = false;
        }
        Ok(())
    }

    /// When a frame came: never before the one before it, and never in the future.
    fn arrived(&mut self, frame: &XdpFrame) -> Time {
        let stamp = Time::from_ns(frame.at_ns.unwrap_or(u64::MAX));
        if stamp > self.looked {
            self.looked = now();
        }
        self.last = stamp.min(self.looked).max(self.last);
        self.last
    }
}

/// Copies a frame to `buffer`, its tag put back, or what there is room for; `read` copies from a byte of the frame on. Returns its
/// length, or `None` if it cannot be read.
fn fetch(frame: &XdpFrame, read: impl Fn(usize, &mut [u8]) -> bool, buffer: &mut [u8]) -> Option<usize> {
    let Some((protocol, tag)) = frame.tag.filter(|_| frame.len >= MACS && buffer.len() >= MACS + TAG) else {
        let room = frame.len.min(buffer.len());
        return read(0, &mut buffer[..room]).then_some(frame.len);
    };
    let room = (frame.len + TAG).min(buffer.len());
    let (head, rest) = buffer[..room].split_at_mut(MACS + TAG);
    let ([a, b], [c, d]) = (protocol.to_be_bytes(), tag.to_be_bytes());
    head[MACS..].copy_from_slice(&[a, b, c, d]);
    (read(0, &mut head[..MACS]) && read(MACS, rest)).then_some(frame.len + TAG)
}

/// Whether an interface with this MTU sends a frame. A tag may make it longer.
fn fits(frame: &[u8], mtu: usize) -> bool {
    let tag = if frame.get(MACS..MACS + 2) == Some(&[0x81, 0]) { TAG } else { 0 };
    mtu > 0 && frame.len() <= mtu + ETHERNET + tag
}

impl Ports for XdpPorts {
    fn now(&self) -> Time {
        now()
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        loop {
            let Some(input) = &mut self.input else { return Ok(None) };
            let Some(frame) = input.next_frame() else { return Ok(None) };
            let fetched = fetch(&frame, |from, to| input.read(&frame, from, to), buffer);
            input.give_back(frame);
            let Some(len) = fetched else {
                self.lost_before += 1;
                continue;
            };
            let at = self.arrived(&frame);
            if len <= buffer.len() {
                complete_left_checksum(&mut buffer[..len]);
            }
            return Ok(Some(Received { len, at }));
        }
    }

    fn deliver(&mut self, frame: &[u8]) -> io::Result<bool> {
        let Some(output) = &mut self.output else { return Ok(false) };
        if !fits(frame, self.mtu.load(Ordering::Relaxed) as usize) {
            return Ok(false);
        }
        if output.push(frame) {
            return Ok(true);
        }
        output.take_back();
        Ok(output.push(frame))
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(input) = &mut self.input {
            input.publish();
        }
        if let Some(output) = &mut self.output {
            let flushed = output.flush();
            output.take_back();
            self.lost_behind += flushed.dropped;
            self.left = flushed.left > 0;
        }
        self.look()
    }

    fn wait(&mut self, until: Option<Time>) -> io::Result<()> {
        if self.input.as_mut().is_some_and(XdpInput::is_ready) {
            return Ok(());
        }
        if self.left && self.mtu.load(Ordering::Relaxed) > 0 {
            // The device takes more as soon as it has sent some: that is soon, and nothing signals it.
            rustix::thread::sched_yield();
            return Ok(());
        }
        let only = self.input.as_ref().and_then(XdpInput::only_socket);
        let readable = only.unwrap_or(self.epoll.as_fd());
        self.sleeper.sleep(readable, until)?;
        self.look()
    }

    fn patience(&self) -> Time {
        self.sleeper.patience()
    }

    fn doze(&mut self, until: Time) -> io::Result<()> {
        self.sleeper.doze(until)?;
        self.look()
    }

    fn lost_before(&mut self) -> u64 {
        let new = self.input.as_mut().map_or(0, XdpInput::lost);
        std::mem::take(&mut self.lost_before) + new
    }

    fn lost_behind(&mut self) -> u64 {
        std::mem::take(&mut self.lost_behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_may_make_a_frame_longer_than_the_mtu() {
        let (plain, mut tagged) = (vec![0; 1514], vec![0; 1518]);
        tagged[MACS] = 0x81;
        assert!(fits(&plain, 1500) && !fits(&plain, 1499) && fits(&tagged, 1500) && !fits(&tagged, 1499));
        assert!(!fits(&plain, 0) && !fits(&[0; 10], 0) && fits(&[0; 10], 68));
    }

    #[test]
    fn a_tag_is_put_back_where_it_was() {
        let bytes: Vec<u8> = (0..60).collect();
        let read = |from: usize, to: &mut [u8]| {
            to.copy_from_slice(&bytes[from..from + to.len()]);
            true
        };
        let mut frame = XdpFrame { len: 60, ..XdpFrame::default() };
        let mut buffer = [0xff; 100];
        assert_eq!((fetch(&frame, read, &mut buffer), &buffer[..60]), (Some(60), &bytes[..]));
        assert_eq!((fetch(&frame, read, &mut buffer[..20]), buffer[19]), (Some(60), 19));
        frame.tag = Some((0x88a8, 0x2007));
        let whole = [&bytes[..12], &[0x88, 0xa8, 0x20, 7], &bytes[12..]].concat();
        assert_eq!((fetch(&frame, read, &mut buffer), &buffer[..64]), (Some(64), &whole[..]));
        for room in 0..64 {
            assert_eq!(fetch(&frame, read, &mut [0; 64][..room]), Some(if room < 16 { 60 } else { 64 }));
        }
        assert_eq!(fetch(&frame, |_, _| false, &mut buffer), None);
    }

    #[test]
    fn what_is_handed_over_is_taken_once_and_the_last_counts() {
        let handover = Handover::default();
        assert_eq!(handover.take(), Change::Nothing);
        handover.put(Some(1));
        handover.put(Some(2));
        assert_eq!((handover.take(), handover.take()), (Change::To(Some(2)), Change::Nothing));
        handover.put(None);
        assert_eq!((handover.take(), handover.take()), (Change::To(None), Change::Nothing));
    }
}
