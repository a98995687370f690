//! Packet sockets: their options, addresses and receive rings (packet(7), `Documentation/networking/packet_mmap.rst`), for which
//! there is no safe interface elsewhere.
#![allow(unsafe_code)] // Options with structs, an address family of its own, and memory that the kernel writes.

use rustix::io::{Errno, retry_on_intr};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socket_with, sockopt};
use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// A socket for whole frames. It receives nothing until it is bound to a protocol.
#[derive(Debug)]
pub struct PacketSocket(OwnedFd);

/// Frames that [`PacketSocket::send`] takes with one call.
pub const SENT_TOGETHER: usize = 32;

/// How a receive ring is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingLayout {
    /// `TPACKET_V2`: slots of this many bytes; each frame can be read when it has come.
    Slots(u32),
    /// `TPACKET_V3`: frames packed into blocks, which are handed over when full or, at the latest, after this many milliseconds.
    Blocks(u32),
}

impl PacketSocket {
    /// A new one.
    ///
    /// # Errors
    /// No right to (`CAP_NET_RAW` in the network namespace), or no descriptor.
    pub fn new() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        Ok(Self(socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?))
    }

    /// Makes it one that only sends, straight to the device: nothing waits in a queue behind ours.
    ///
    /// # Errors
    /// The kernel does not know it.
    pub fn bypass_qdisc(&self) -> io::Result<()> {
        self.set(libc::PACKET_QDISC_BYPASS, &1)
    }

    /// Binds it to an interface by number. It receives every frame that comes in there, or nothing when `receive` is not set.
    ///
    /// # Errors
    /// There is no such interface.
    pub fn bind(&self, interface: i32, receive: bool) -> io::Result<()> {
        let protocol = if receive { libc::ETH_P_ALL as u16 } else { 0 };
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: protocol.to_be(),
            sll_ifindex: interface,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        let len = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the pointer is to a whole address of that length, which the call only reads.
        check(unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), len) })
    }

    /// Frames for other stations are received as well, for as long as the socket and the interface exist.
    ///
    /// # Errors
    /// There is no such interface.
    pub fn promiscuous(&self, interface: i32) -> io::Result<()> {
        let request = libc::packet_mreq {
            mr_ifindex: interface,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set(libc::PACKET_ADD_MEMBERSHIP, &request)
    }

    /// Gives it a receive ring of at least `bytes`, for incoming frames only, each behind a
    /// `virtio_net_hdr` with the work left to hardware. Frames longer than a slot wait, whole, in the socket's own queue as well.
    ///
    /// # Errors
    /// No memory.
    pub fn ring(&self, layout: RingLayout, bytes: u32) -> io::Result<RingMemory> {
        self.set(libc::PACKET_IGNORE_OUTGOING, &1)?;
        let blocks = bytes.div_ceil(RING_BLOCK);
        let (version, frame_size, retire_ms) = match layout {
            RingLayout::Slots(slot) => (libc::tpacket_versions::TPACKET_V2, slot, 0),
            RingLayout::Blocks(ms) => (libc::tpacket_versions::TPACKET_V3, 2048, ms),
        };
        self.set(libc::PACKET_VERSION, &(version as c_int))?;
        self.set(libc::PACKET_VNET_HDR, &1)?;
        let frames = blocks * (RING_BLOCK / frame_size);
        if matches!(layout, RingLayout::Slots(_)) {
            self.set(libc::PACKET_COPY_THRESH, &1)?;
            // Without the right to go beyond the machine's limit, up to that.
            if sockopt::set_socket_recv_buffer_size_force(&self.0, bytes as usize).is_err() {
                sockopt::set_socket_recv_buffer_size(&self.0, bytes as usize)?;
            }
            let request = libc::tpacket_req {
                tp_block_size: RING_BLOCK,
                tp_block_nr: blocks,
                tp_frame_size: frame_size,
                tp_frame_nr: frames,
            };
            self.set(libc::PACKET_RX_RING, &request)?;
        } else {
            let request = libc::tpacket_req3 {
                tp_block_size: RING_BLOCK,
                tp_block_nr: blocks,
                tp_frame_size: frame_size,
                tp_frame_nr: frames,
                tp_retire_blk_tov: retire_ms,
                tp_sizeof_priv: 0,
                tp_feature_req_word: 0,
            };
            self.set(libc::PACKET_RX_RING, &request)?;
        }
        RingMemory::map(&self.0, blocks as usize * RING_BLOCK as usize)
    }

    /// Sends a frame without waiting.
    ///
    /// # Errors
    /// The interface is down or gone, its queue is full, or the frame is longer than its MTU.
    pub fn send(&self, frame: &[u8]) -> Result<(), Errno> {
        retry_on_intr(|| send(&self.0, frame, SendFlags::DONTWAIT)).map(drop)
    }

    /// Sends frames, [`SENT_TOGETHER`] at most, one after the other and without waiting: how many of the first, or why not even
    /// the first.
    ///
    /// # Errors
    /// As of [`Self::send`].
    pub fn send_all<'a>(&self, mut frames: impl ExactSizeIterator<Item = &'a [u8]>) -> Result<usize, Errno> {
        if frames.len() == 1 {
            return frames.next().map_or(Ok(0), |frame| self.send(frame).map(|()| 1));
        }
        let count = frames.len().min(SENT_TOGETHER);
        // SAFETY: a message of zeros has no address, no parts, no control data and no flags.
        let mut messages: [libc::mmsghdr; SENT_TOGETHER] = unsafe { std::mem::zeroed() };
        let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; SENT_TOGETHER];
        for ((message, part), frame) in messages.iter_mut().zip(&mut parts).zip(frames) {
            *part = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
        }
        // An unsigned number in musl.
        #[allow(clippy::unnecessary_cast, reason = "another C library has it as int")]
        let flags = libc::MSG_DONTWAIT as _;
        retry_on_intr(|| {
            // SAFETY: the pointer is to as many messages, each with one part, whose bytes the call only reads.
            let sent =
                unsafe { libc::sendmmsg(self.0.as_raw_fd(), messages.as_mut_ptr(), count as u32, flags) };
            usize::try_from(sent)
                .map_err(|_| Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO))
        })
    }

    /// Frames that the ring had no room for since this was last asked.
    ///
    /// # Errors
    /// Never, for a packet socket.
    pub fn drops(&self) -> io::Result<u64> {
        let mut statistics = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
        let mut len = size_of_val(&statistics) as libc::socklen_t;
        // SAFETY: the pointers are to as many bytes as `len` says, and to `len`; every bit pattern is a value.
        check(unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut len,
            )
        })?;
        Ok(u64::from(statistics.tp_drops))
    }

    fn set<T: Copy>(&self, name: c_int, value: &T) -> io::Result<()> {
        let len = size_of::<T>() as libc::socklen_t;
        // SAFETY: the pointer is to a whole value of that length, which the call only reads.
        check(unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_PACKET,
                name,
                std::ptr::from_ref(value).cast(),
                len,
            )
        })
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn check(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Bytes of one block of a ring. A frame longer than this does not fit a ring of blocks.
pub const RING_BLOCK: u32 = 1 << 20;

/// The memory of a receive ring, which the kernel writes too: it owns a frame or block until the word that says so is changed.
#[derive(Debug)]
pub struct RingMemory {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory belongs to this value alone on our side; whichever thread has it may read it.
unsafe impl Send for RingMemory {}

impl RingMemory {
    /// One block of zeros that belongs to no socket, for tests of ring readers.
    ///
    /// # Errors
    /// No memory.
    pub fn of_nobody() -> io::Result<Self> {
        let len = RING_BLOCK as usize;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that is in use.
        let start = unsafe {
            mmap_anonymous(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
        };
        let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, len })
    }

    /// Writes a kernel's possible content to its beginning.
    ///
    /// # Panics
    /// There is no room for that many bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= self.len, "{} bytes into a ring of {}", bytes.len(), self.len);
        // SAFETY: the mapping is as long, nobody else borrows it, and it does not overlap what is borrowed here.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr(), bytes.len()) };
    }

    fn map(socket: &OwnedFd, len: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that is in use.
        let start = unsafe {
            mmap(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, socket, 0)?
        };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, len })
    }

    /// Its size, bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no bytes, which does not happen.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads a word by which the kernel hands over. What it wrote before is visible then.
    pub fn acquire(&self, at: usize) -> u32 {
        self.word(at).load(Ordering::Acquire)
    }

    /// Writes such a word. What was read before has been read then.
    pub fn release(&mut self, at: usize, value: u32) {
        self.word(at).store(value, Ordering::Release);
    }

    /// Fetches the line at `at` into the cache, if there is a way to say so; nothing is read.
    #[inline]
    pub fn prefetch(&self, at: usize) {
        #[cfg(target_arch = "x86_64")]
        if at < self.len {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: it lies within the mapping, and prefetching accesses nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.start.as_ptr().add(at).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at < self.len, "word {at} of a ring of {} bytes", self.len);
        // SAFETY: it lies within the mapping (whose length is a multiple of the page size), is aligned (so is the mapping), and
        // both sides access it atomically.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// Bytes that the kernel has handed over. Fewer than `len` at the end of the ring.
    pub fn bytes(&self, at: usize, len: usize) -> &[u8] {
        let at = at.min(self.len);
        let len = len.min(self.len - at);
        // SAFETY: they lie within the mapping. The kernel does not write to what it has handed over.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), len) }
    }
}

impl Drop for RingMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no reference to it outlives `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}
