//! The two sides of a TUN device: what is read is cut to packets, what is written may stand for many.

use crate::frame::{Join, Unsummed, VNET_HEADER, Whole};
use crate::host::Received;
use crate::os::now;
use fairdrop::Time;
use rustix::io::{Errno, writev};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// The longest frame that a device hands on uncut (its `gso_max_size` at most), with room for headers.
const LONGEST: usize = (1 << 16) + 256;

/// Reads packets from a descriptor of which each read is one frame; it must be non-blocking.
#[derive(Debug)]
pub struct TunReader {
    device: Arc<OwnedFd>,
    /// Frames come behind a `virtio_net_hdr`.
    headed: bool,
    /// Checksums are completed rather than left.
    complete: bool,
    whole: Whole,
    at: Time,
    left: Option<Unsummed>,
}

impl TunReader {
    /// From a device of [`crate::os::tun`].
    pub fn new(device: Arc<OwnedFd>) -> Self {
        let whole = Whole::new(LONGEST);
        Self { device, headed: true, complete: false, whole, at: Time::ZERO, left: None }
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

    /// The next packet that is there.
    ///
    /// # Errors
    /// The device is broken; `UnexpectedEof`: it is gone.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        if let Some(packet) = self.next_of_cut(buffer) {
            return Ok(Some(packet));
        }
        // In one piece, and copied from there: that costs less than to have the kernel put it together from pieces.
        let header = if self.headed { VNET_HEADER } else { 0 };
        let len = loop {
            match rustix::io::read(&*self.device, &mut self.whole.bytes()[VNET_HEADER - header..]) {
                Ok(read) => break read.saturating_sub(header),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                // A TUN device whose namespace has ended.
                Err(Errno::BADFD) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) => return Err(error.into()),
            }
        };
        self.at = now();
        let (len, left) = self.whole.take(buffer, len, self.complete);
        self.left = left;
        Ok(Some(Received { len, at: self.at }))
    }

    fn next_of_cut(&mut self, buffer: &mut [u8]) -> Option<Received> {
        let (len, left) = self.whole.next_packet(buffer)?;
        self.left = left;
        Some(Received { len, at: self.at })
    }

    /// The checksum that was left to hardware of the packet that was read last.
    pub fn unsummed(&self) -> Option<Unsummed> {
        self.left
    }

    /// Whether the next packet is at hand.
    pub fn has_more(&self) -> bool {
        self.whole.is_cut()
    }
}

impl AsFd for TunReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// Writes packets to a descriptor of which each write is one frame.
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
