//! The two sides of a TUN device: what is read is cut to packets, what is written may stand for many.

use crate::frame::{Join, Unsummed, VNET_HEADER, Whole};
use crate::host::Received;
use crate::os::now;
use fairdrop::Time;
use rustix::io::{Errno, readv, writev};
use std::io::{self, IoSlice, IoSliceMut};
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
        let before = if self.headed { VNET_HEADER } else { 0 };
        let [header, beyond] = self.whole.around(buffer.len());
        let into = &mut [&mut header[..before], &mut *buffer, beyond].map(IoSliceMut::new);
        let read = loop {
            match readv(&*self.device, into) {
                Ok(read) => break read.saturating_sub(before),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                // A TUN device whose namespace has ended.
                Err(Errno::BADFD) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) => return Err(error.into()),
            }
        };
        self.at = now();
        let (len, left) =
            if self.headed { self.whole.take(buffer, read, self.complete) } else { (read, None) };
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
}

impl TunWriter {
    /// To a device of [`crate::os::tun`].
    pub fn new(device: Arc<OwnedFd>) -> Self {
        Self { device, headed: true }
    }

    /// To a descriptor without headers.
    pub fn plain(device: Arc<OwnedFd>) -> Self {
        Self { device, headed: false }
    }

    /// Writes a packet that is complete. Whether it was taken.
    ///
    /// # Errors
    /// The device is broken; `UnexpectedEof`: it is gone.
    pub fn write(&self, packet: &[u8]) -> io::Result<bool> {
        let header: &[u8] = if self.headed { &[0; VNET_HEADER] } else { &[] };
        self.write_parts(&[IoSlice::new(header), IoSlice::new(packet)])
    }

    /// Writes a frame, in parts, of which something is left to do: what `header` says. Whether it was taken.
    ///
    /// # Errors
    /// The device is broken; `UnexpectedEof`: it is gone.
    pub fn write_left(&self, header: &[u8; VNET_HEADER], parts: &[&[u8]]) -> io::Result<bool> {
        if let &[packet] = parts {
            return self.write_parts(&[IoSlice::new(header), IoSlice::new(packet)]);
        }
        let mut slices = [IoSlice::new(&[]); Join::MOST + 2];
        slices[0] = IoSlice::new(header);
        for (slice, part) in slices[1..].iter_mut().zip(parts) {
            *slice = IoSlice::new(part);
        }
        self.write_parts(&slices[..=parts.len().min(Join::MOST + 1)])
    }

    fn write_parts(&self, parts: &[IoSlice<'_>]) -> io::Result<bool> {
        loop {
            return match writev(&*self.device, parts) {
                Ok(_) => Ok(true),
                Err(Errno::INTR) => continue,
                Err(Errno::BADFD) => Err(io::ErrorKind::UnexpectedEof.into()),
                // The device is down, its queue is full, or it does not like the packet: that packet is lost.
                Err(
                    Errno::AGAIN | Errno::IO | Errno::INVAL | Errno::NOBUFS | Errno::NETDOWN | Errno::NOMEM,
                ) => Ok(false),
                Err(error) => Err(error.into()),
            };
        }
    }
}
