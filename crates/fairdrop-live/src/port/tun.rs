//! The two sides of a TUN device: frames read are cut to packets, frames written may stand for many.

use crate::frame::{Join, Unsummed, VNET_HEADER, Whole};
use crate::host::{Received, SHORTEST_SLEEP};
use crate::os::now;
use fairdrop::Time;
use rustix::io::{Errno, writev};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// The longest frame that a device hands on uncut (its `gso_max_size` at most), with room for headers.
const LONGEST: usize = (1 << 16) + 256;

/// Frames that are read, or written, before something else is done, at most. Between two of the kernel's reads little is left of
/// the loop in the processor's caches, and of the kernel's read between two packets of the loop.
pub const READ_AHEAD: usize = 16;
/// Room for all of these but the longest.
const AHEAD_BYTES: usize = READ_AHEAD * 2048;

/// Bytes of a line of the processor's cache, at which each frame begins.
const LINE: usize = 64;

/// Reads packets from a non-blocking descriptor, one frame a read.
#[derive(Debug)]
pub struct TunReader {
    device: Arc<OwnedFd>,
    /// Frames come behind a `virtio_net_hdr`.
    headed: bool,
    /// Checksums are completed rather than left.
    complete: bool,
    /// Frames read at once, at most.
    most: usize,
    whole: Whole,
    /// Frames that were read at once, and those not yet handled.
    read: [InWhole; READ_AHEAD],
    waiting: Range<usize>,
    /// When the last frame was read, and when the one that is looked at.
    last: Time,
    at: Time,
    /// There may be another behind the last frame: not when there was none, nor behind one that came by itself.
    follows: bool,
    left: Option<Unsummed>,
}

/// Where a frame begins, with its header, its length without, and when it came.
#[derive(Clone, Copy, Debug, Default)]
struct InWhole {
    start: usize,
    len: usize,
    at: Time,
}

impl TunReader {
    /// From a device of [`crate::os::tun`].
    pub fn new(device: Arc<OwnedFd>) -> Self {
        let whole = Whole::new(LONGEST);
        Self {
            device,
            headed: true,
            complete: false,
            most: 1,
            whole,
            read: [InWhole::default(); READ_AHEAD],
            waiting: 0..0,
            last: Time::ZERO,
            at: Time::ZERO,
            follows: false,
            left: None,
        }
    }

    /// From a descriptor without headers.
    pub fn plain(device: Arc<OwnedFd>) -> Self {
        Self { headed: false, ..Self::new(device) }
    }

    /// Every checksum is completed.
    #[must_use]
    pub fn completing(self) -> Self {
        Self { complete: true, ..self }
    }

    /// Behind a frame that came soon after another, several are read before the first is looked at.
    #[must_use]
    pub fn ahead(self) -> Self {
        Self { most: READ_AHEAD, whole: Whole::new(LONGEST + AHEAD_BYTES), ..self }
    }

    /// The next packet that is there.
    ///
    /// # Errors
    /// The device is broken; `UnexpectedEof`: it is gone.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let (len, left) = match self.whole.next_packet(buffer) {
            Some(packet) => packet,
            None if self.waiting.is_empty() && !self.fill()? => return Ok(None),
            None => {
                let Some(next) = self.waiting.next() else { return Ok(None) };
                let InWhole { start, len, at } = self.read[next];
                self.at = at;
                self.whole.take(buffer, start, len, self.complete)
            }
        };
        self.left = left;
        Ok(Some(Received { len, at: self.at }))
    }

    /// Reads the frames at hand, when none waits any more; whether there were any.
    fn fill(&mut self) -> io::Result<bool> {
        let (mut start, mut count) = (0, 0);
        while count < self.most && start + VNET_HEADER + LONGEST <= self.whole.bytes().len() {
            let len = match self.read_at(start) {
                Ok(len) => len,
                Err(error) if count == 0 => return Err(error),
                // The next call reports it.
                Err(_) => None,
            };
            let Some(len) = len else {
                self.follows = false;
                break;
            };
            let at = now();
            self.follows |= at.since(self.last) < SHORTEST_SLEEP;
            self.last = at;
            self.read[count] = InWhole { start, len, at };
            count += 1;
            start = (start + VNET_HEADER + len).next_multiple_of(LINE);
            if !self.follows {
                break;
            }
        }
        self.waiting = 0..count;
        Ok(count > 0)
    }

    /// In one piece, and copied from there: that costs less than to have the kernel put it together from pieces.
    fn read_at(&mut self, start: usize) -> io::Result<Option<usize>> {
        let header = if self.headed { VNET_HEADER } else { 0 };
        let room = &mut self.whole.bytes()[start..];
        room[..VNET_HEADER].fill(0);
        loop {
            match rustix::io::read(&*self.device, &mut room[VNET_HEADER - header..]) {
                Ok(read) => return Ok(Some(read.saturating_sub(header))),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                // A TUN device whose namespace has ended.
                Err(Errno::BADFD) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The checksum that was left to hardware of the packet that was read last.
    pub fn unsummed(&self) -> Option<Unsummed> {
        self.left
    }

    /// Whether the next packet is at hand.
    pub fn has_more(&self) -> bool {
        self.whole.is_cut() || !self.waiting.is_empty()
    }

    /// Whether there may be another frame behind the last: not when there was none, nor behind one that came by itself, where
    /// there is hardly ever another, and falling asleep asks that as well, in one call less.
    pub fn may_have(&self) -> bool {
        self.has_more() || self.follows
    }
}

impl AsFd for TunReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// Writes packets to a descriptor, one frame a write.
#[derive(Clone, Debug)]
pub struct TunWriter {
    device: Arc<OwnedFd>,
    headed: bool,
    /// Where a header and a packet become one piece, which costs less than to have the kernel put them together.
    piece: Vec<u8>,
}

impl TunWriter {
    /// To a device of [`crate::os::tun`].
    pub fn new(device: Arc<OwnedFd>) -> Self {
        Self { device, headed: true, piece: Vec::with_capacity(VNET_HEADER + LONGEST) }
    }

    /// To a descriptor without headers.
    pub fn plain(device: Arc<OwnedFd>) -> Self {
        Self { headed: false, ..Self::new(device) }
    }

    /// Writes a packet that is complete. Whether it was taken.
    ///
    /// # Errors
    /// The device is broken; `UnexpectedEof`: it is gone.
    pub fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        if self.headed {
            self.write_left(&[0; VNET_HEADER], &[packet])
        } else {
            taken(|| rustix::io::write(&*self.device, packet))
        }
    }

    /// Writes a frame, in parts, of which something is left to do: what `header` says. Whether it was taken.
    ///
    /// # Errors
    /// The device is broken; `UnexpectedEof`: it is gone.
    pub fn write_left(&mut self, header: &[u8; VNET_HEADER], parts: &[&[u8]]) -> io::Result<bool> {
        if let &[packet] = parts {
            self.piece.clear();
            self.piece.extend_from_slice(header);
            self.piece.extend_from_slice(packet);
            return taken(|| rustix::io::write(&*self.device, &self.piece));
        }
        let mut slices = [IoSlice::new(&[]); Join::MOST + 2];
        slices[0] = IoSlice::new(header);
        for (slice, part) in slices[1..].iter_mut().zip(parts) {
            *slice = IoSlice::new(part);
        }
        taken(|| writev(&*self.device, &slices[..=parts.len().min(Join::MOST + 1)]))
    }
}

/// Writes; whether the device took it.
fn taken(write: impl Fn() -> rustix::io::Result<usize>) -> io::Result<bool> {
    loop {
        return match write() {
            Ok(_) => Ok(true),
            Err(Errno::INTR) => continue,
            Err(Errno::BADFD) => Err(io::ErrorKind::UnexpectedEof.into()),
            // The device is down, its queue is full, or it does not like the packet: that packet is lost.
            Err(Errno::AGAIN | Errno::IO | Errno::INVAL | Errno::NOBUFS | Errno::NETDOWN | Errno::NOMEM) => {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    /// A device's other end, and a reader ahead of packets without headers.
    fn device() -> (UnixDatagram, TunReader) {
        let (sender, device) = UnixDatagram::pair().unwrap();
        device.set_nonblocking(true).unwrap();
        (sender, TunReader::plain(Arc::new(OwnedFd::from(device))).ahead())
    }

    /// What is left of it reads as a header of a frame whose checksum is left.
    fn packet(number: u8, len: usize) -> Vec<u8> {
        let mut packet = [1, 0].repeat(len / 2);
        packet[0] = number;
        packet
    }

    /// Numbers and lengths of the packets read until none is left, and how many were at hand behind each.
    fn all(reader: &mut TunReader) -> Vec<(u8, usize, bool)> {
        let mut buffer = vec![0; LONGEST];
        std::iter::from_fn(|| {
            let received = reader.read(&mut buffer).unwrap()?;
            assert!(buffer[..received.len] == packet(buffer[0], received.len));
            assert_eq!(reader.unsummed(), None, "what was there before is taken for a header");
            Some((buffer[0], received.len, reader.has_more()))
        })
        .collect()
    }

    #[test]
    fn frames_of_a_burst_are_read_together_and_in_order() {
        let (sender, mut reader) = device();
        reader.follows = true;
        for (round, len) in [(0, 1500), (1, 40), (2, 334)] {
            // The socket holds no more than some ten.
            let numbers = round * 8..round * 8 + 8;
            for number in numbers.clone() {
                sender.send(&packet(number, len)).unwrap();
            }
            let expected: Vec<_> = numbers.map(|number| (number, len, number % 8 < 7)).collect();
            assert_eq!(all(&mut reader), expected);
            assert!(!reader.may_have(), "none was there");
            reader.follows = true;
        }
    }

    #[test]
    fn behind_one_that_came_alone_none_is_looked_for() {
        let (sender, mut reader) = device();
        let (mut buffer, both) = ([0; 100], [packet(1, 60), packet(2, 60)]);
        for packet in both {
            sender.send(&packet).unwrap();
        }
        assert_eq!(reader.read(&mut buffer).unwrap().unwrap().len, 60);
        assert!(!reader.has_more() && !reader.may_have());
        // Soon after the last.
        reader.last = now().after(Time::from_ns(1_000_000_000));
        assert_eq!(reader.read(&mut buffer).unwrap().unwrap().len, 60);
        assert!(!reader.has_more() && !reader.may_have(), "the second look found nothing");
    }

    #[test]
    fn there_is_always_room_for_the_longest() {
        let (sender, mut reader) = device();
        reader.follows = true;
        let lengths = [1500, LONGEST, 9000, 9000, 9000, 9000, 20];
        for (number, len) in (0..).zip(lengths) {
            sender.send(&packet(number, len)).unwrap();
        }
        let read = all(&mut reader);
        assert_eq!(read.iter().map(|one| one.1).collect::<Vec<_>>(), lengths);
        let at_hand: Vec<bool> = read.iter().map(|one| one.2).collect();
        assert_eq!(at_hand, [true, false, true, true, true, false, false]);
    }
}
