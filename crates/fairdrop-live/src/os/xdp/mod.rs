//! AF_XDP: the frames of an interface, before the kernel's stack sees them, in memory that is shared with the kernel
//! (`Documentation/networking/af_xdp.rst`). One socket for each receive queue, all with the same memory; a program in the driver
//! hands them the frames.

mod btf;
mod program;
mod refused;
mod ring;

pub use program::{Attached, Place};
pub use refused::{Refused, Step};

use program::{NOTE, NOTE_BYTES, NOTE_WITH_TAG, SocketMap};
use refused::until_free;
use ring::{Consumer, Descriptor, FrameMemory, Offsets, Producer};
use rustix::io::Errno;
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, SocketAddrXdpWithSharedUmem, XdpOptionsFlags, XdpRingOffset,
    XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with, sockopt,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Bytes of the memory for one frame: a page, the most that the kernel takes. It keeps [`HEADROOM`] of them.
const CHUNK: usize = 4096;

/// Bytes before each frame, where the program writes its note (`XDP_PACKET_HEADROOM`).
const HEADROOM: usize = 256;

/// The longest frame, bytes.
pub const LONGEST: u32 = (CHUNK - HEADROOM) as u32;

/// Frames that may be on their way out: each is free again when the interface at the other end, or the hardware, has taken it.
const SENDING: u32 = 1024;

/// Receive queues that an interface may have.
pub const MOST_QUEUES: u32 = 64;

/// Places in the receive ring of a queue, at least.
const FEWEST: u32 = 64;

/// Frames ahead of the one being worked on that are fetched to the cache.
const AHEAD: u32 = 3;

/// Bytes of frames that the kernel takes before it waits for the interface.
const SEND_BUFFER: usize = 4 << 20;

/// Looks up what must be known of the kernel, for a process that will give up its files.
pub fn prepare() {
    let _ = btf::kernel_function(program::TAG_FUNCTION);
}

/// What an interface is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Where the program runs: the first of these that the interface allows.
    pub places: &'static [Place],
    /// Frames are written by the device into the shared memory, or it is refused.
    pub zero_copy: bool,
    /// Receive queues that the interface has.
    pub queues: u32,
    /// Bytes for frames that were received and not read yet, of all queues.
    pub ring_bytes: u32,
}

fn at<T>(step: Step, result: Result<T, impl Into<io::Error>>) -> Result<T, Refused> {
    result.map_err(|error| Refused { step, error: error.into() })
}

/// The sockets of an interface, and its program.
#[derive(Debug)]
pub struct XdpSockets {
    /// The program, which is removed when this is dropped.
    pub attached: Attached,
    /// Where frames come in.
    pub input: XdpInput,
    /// Where they go out.
    pub output: XdpOutput,
    /// The device itself reads and writes the shared memory.
    pub zero_copy: bool,
}

/// The receiving half.
#[derive(Debug)]
pub struct XdpInput {
    queues: Vec<RxQueue>,
    memory: Arc<FrameMemory>,
    /// Of the queue that is read.
    current: usize,
    /// Lost by the kernel's count, and reported already.
    reported: u64,
}

#[derive(Debug)]
struct RxQueue {
    socket: Arc<OwnedFd>,
    rx: Consumer<Descriptor>,
    fill: Producer<u64>,
}

/// The sending half.
#[derive(Debug)]
pub struct XdpOutput {
    socket: Arc<OwnedFd>,
    tx: Producer<Descriptor>,
    completion: Consumer<u64>,
    memory: Arc<FrameMemory>,
    /// Chunks that no frame is in.
    free: Vec<u64>,
}

/// A frame that was received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XdpFrame {
    /// Its length, bytes, without the tag.
    pub len: usize,
    /// When it came, ns on the monotonic clock, where the program could write that.
    pub at_ns: Option<u64>,
    /// The tag that is not in it: protocol and content.
    pub tag: Option<(u16, u16)>,
    /// Where it is in the memory.
    pub address: u64,
}

/// How many frames the kernel has taken, and how many it has dropped then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushed {
    /// The interface had no room for them.
    pub dropped: u64,
    /// Still in the ring: they can be offered again.
    pub left: u32,
}

/// A frame where it lies, to be handed on from there between interfaces that share their memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lent {
    /// Its length, bytes.
    pub len: u32,
    /// Where it is in the memory.
    pub address: u64,
}

impl XdpSockets {
    /// Takes the frames of the interface of number `index`.
    ///
    /// # Errors
    /// No right to (`CAP_NET_RAW`, `CAP_NET_ADMIN`, `CAP_BPF`), no memory, another program is attached, or the driver cannot.
    pub fn new(index: i32, wish: Wish) -> Result<Self, Refused> {
        Self::with(index, wish, &Shared::new(1, wish)?, 0)
    }

    /// The same of two interfaces, whose frames are in one memory.
    ///
    /// # Errors
    /// The same.
    pub fn pair(indexes: [i32; 2], wish: Wish) -> Result<[Self; 2], Refused> {
        let shared = Shared::new(2, wish)?;
        Ok([Self::with(indexes[0], wish, &shared, 0)?, Self::with(indexes[1], wish, &shared, 1)?])
    }

    /// The part of that number of the memory is that of the interface.
    fn with(index: i32, wish: Wish, shared: &Shared, part: u32) -> Result<Self, Refused> {
        let map = at(Step::Load, SocketMap::new(wish.queues))?;
        let places = wish.places_of_queue();
        let begin = part * wish.chunks();
        let mut queues = Vec::with_capacity(wish.queues as usize);
        let mut output = None;
        for number in 0..wish.queues {
            let is_first = part == 0 && number == 0;
            let socket = if is_first { Arc::clone(&shared.first) } else { at(Step::Socket, xdp_socket())? };
            let mut queue = at(Step::Memory, RxQueue::new(&socket, places))?;
            let completion = at(Step::Memory, completion(&socket))?;
            if number == 0 {
                let sending = begin + places * wish.queues..begin + wish.chunks();
                let free = sending.rev().map(chunk_at).collect();
                let tx = at(Step::Memory, tx_ring(&socket))?;
                let (socket, memory) = (Arc::clone(&socket), Arc::clone(&shared.memory));
                output = Some(XdpOutput { socket, tx, completion, memory, free });
            }
            let owner = (!is_first).then(|| shared.first.as_fd());
            at(Step::Queue(number), bind_to(&socket, owner, index, number, wish.zero_copy))?;
            for chunk in begin + number * places..begin + (number + 1) * places {
                queue.fill.push(chunk_at(chunk));
            }
            queue.fill.publish();
            at(Step::Queue(number), map.set(number, socket.as_fd()))?;
            queues.push(queue);
        }
        let output = at(Step::Socket, output.ok_or(io::ErrorKind::InvalidInput))?;
        let options = at(Step::Socket, sockopt::xdp_options(&*output.socket))?;
        let attached = Attached::to_one_of(wish.places, &map, index)?;
        Ok(Self {
            attached,
            input: XdpInput { queues, memory: Arc::clone(&shared.memory), current: 0, reported: 0 },
            output,
            zero_copy: options.contains(XdpOptionsFlags::XDP_OPTIONS_ZEROCOPY),
        })
    }
}

impl Wish {
    /// Of the receive ring of a queue: the largest power of two for which there is room.
    fn places_of_queue(&self) -> u32 {
        1 << (self.ring_bytes / CHUNK as u32 / self.queues).max(FEWEST).ilog2()
    }

    /// Of an interface.
    fn chunks(&self) -> u32 {
        self.places_of_queue() * self.queues + SENDING
    }
}

/// Where a chunk begins.
fn chunk_at(chunk: u32) -> u64 {
    u64::from(chunk) * CHUNK as u64
}

/// Memory that is registered with a socket, which others share it with.
struct Shared {
    memory: Arc<FrameMemory>,
    first: Arc<OwnedFd>,
}

impl Shared {
    fn new(interfaces: u32, wish: Wish) -> Result<Self, Refused> {
        let bytes = (interfaces * wish.chunks()) as usize * CHUNK;
        let memory = Arc::new(at(Step::Memory, FrameMemory::new(bytes))?);
        let first = at(Step::Socket, xdp_socket())?;
        let (addr, len) = memory.range();
        let (chunk_size, flags) = (CHUNK as u32, XdpUmemRegFlags::empty());
        let of = XdpUmemReg { addr, len, chunk_size, headroom: 0, flags, tx_metadata_len: 0 };
        at(Step::Memory, sockopt::set_xdp_umem_reg(&*first, of))?;
        Ok(Self { memory, first })
    }
}

/// Bytes that the rings and frames of an interface take.
pub fn bytes_for(ring_bytes: u32) -> usize {
    ring_bytes as usize + SENDING as usize * CHUNK
}

fn xdp_socket() -> io::Result<Arc<OwnedFd>> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::XDP, SocketType::RAW, flags, None)?;
    // Without the right to go beyond the machine's limit, up to that.
    if sockopt::set_socket_send_buffer_size_force(&socket, SEND_BUFFER).is_err() {
        sockopt::set_socket_send_buffer_size(&socket, SEND_BUFFER)?;
    }
    Ok(Arc::new(socket))
}

/// Binds a socket; all but the first share the memory of that, and how it is used.
fn bind_to(
    socket: &OwnedFd,
    owner: Option<BorrowedFd<'_>>,
    index: i32,
    queue: u32,
    zero_copy: bool,
) -> io::Result<()> {
    if let Some(shared_umem_fd) = owner {
        let addr = SocketAddrXdp::new(SocketAddrXdpFlags::XDP_SHARED_UMEM, index as u32, queue);
        let address = SocketAddrXdpWithSharedUmem { addr, shared_umem_fd };
        return until_free(|| Ok(bind(socket, &address)?));
    }
    let need_wakeup = SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP;
    let flags = if zero_copy { need_wakeup | SocketAddrXdpFlags::XDP_ZEROCOPY } else { need_wakeup };
    let address = SocketAddrXdp::new(flags, index as u32, queue);
    until_free(|| Ok(bind(socket, &address)?))
}

fn offsets(of: XdpRingOffset) -> io::Result<Offsets> {
    Ok(Offsets {
        producer: of.producer as usize,
        consumer: of.consumer as usize,
        entries: of.desc as usize,
        // Since Linux 5.4.
        flags: of.flags.ok_or(Errno::OPNOTSUPP)? as usize,
    })
}

impl RxQueue {
    fn new(socket: &Arc<OwnedFd>, places: u32) -> io::Result<Self> {
        sockopt::set_xdp_umem_fill_ring_size(&**socket, places)?;
        sockopt::set_xdp_rx_ring_size(&**socket, places)?;
        let all = sockopt::xdp_mmap_offsets(&**socket)?;
        let rx = Consumer::map(socket.as_fd(), libc::XDP_PGOFF_RX_RING as u64, offsets(all.rx)?, places)?;
        let fill = Producer::map(socket.as_fd(), libc::XDP_UMEM_PGOFF_FILL_RING, offsets(all.fr)?, places)?;
        Ok(Self { socket: Arc::clone(socket), rx, fill })
    }
}

fn completion(socket: &OwnedFd) -> io::Result<Consumer<u64>> {
    sockopt::set_xdp_umem_completion_ring_size(socket, SENDING)?;
    let offsets = offsets(sockopt::xdp_mmap_offsets(socket)?.cr)?;
    Consumer::map(socket.as_fd(), libc::XDP_UMEM_PGOFF_COMPLETION_RING, offsets, SENDING)
}

fn tx_ring(socket: &OwnedFd) -> io::Result<Producer<Descriptor>> {
    sockopt::set_xdp_tx_ring_size(socket, SENDING)?;
    let offsets = offsets(sockopt::xdp_mmap_offsets(socket)?.tx)?;
    Producer::map(socket.as_fd(), libc::XDP_PGOFF_TX_RING as u64, offsets, SENDING)
}

/// What the program has noted of a frame, if it has: when it came, and the protocol and content of its tag.
fn note_of(note: [u8; NOTE_BYTES]) -> Option<(u64, Option<(u16, u16)>)> {
    let at_ns = u64::from_ne_bytes(std::array::from_fn(|byte| note[byte]));
    let mark = u32::from_ne_bytes([note[12], note[13], note[14], note[15]]);
    let protocol = u16::from_be_bytes([note[8], note[9]]);
    let content = u16::from_ne_bytes([note[10], note[11]]);
    match mark {
        NOTE => Some((at_ns, None)),
        NOTE_WITH_TAG => Some((at_ns, Some((protocol, content)))),
        _ => None,
    }
}

impl XdpInput {
    /// The sockets, to be polled for.
    pub fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.queues.iter().map(|queue| queue.socket.as_fd())
    }

    /// The same, if there is one queue.
    pub fn only_socket(&self) -> Option<BorrowedFd<'_>> {
        if let [only] = &self.queues[..] { Some(only.socket.as_fd()) } else { None }
    }

    /// Whether there is something to read.
    pub fn is_ready(&mut self) -> bool {
        self.queues.iter_mut().any(|queue| queue.rx.is_ready())
    }

    /// The next frame, to be read and then given back. It empties a queue before it goes to the next.
    pub fn next_frame(&mut self) -> Option<XdpFrame> {
        for _ in 0..self.queues.len() {
            let rx = &mut self.queues[self.current].rx;
            if let Some(descriptor) = rx.pop() {
                if let Some(Descriptor { address, .. }) = rx.ahead(AHEAD) {
                    // The note is in the line of the cache before the frame.
                    self.memory.prefetch((address as usize).wrapping_sub(NOTE_BYTES));
                    self.memory.prefetch(address as usize);
                }
                return Some(self.frame(descriptor));
            }
            self.current = (self.current + 1) % self.queues.len();
        }
        None
    }

    /// With the metadata that the program wrote before it.
    fn frame(&self, Descriptor { address, len, .. }: Descriptor) -> XdpFrame {
        let mut frame = XdpFrame { len: len as usize, address, ..XdpFrame::default() };
        let mut note = [0; NOTE_BYTES];
        let begin = (address as usize).wrapping_sub(NOTE_BYTES);
        if !self.memory.read(begin, &mut note) {
            return frame;
        }
        let Some((at_ns, tag)) = note_of(note) else { return frame };
        (frame.at_ns, frame.tag) = (Some(at_ns), tag);
        // The next frame here may come without a note.
        self.memory.write(begin + 12, &[0; 4]);
        frame
    }

    /// The next frame of the first queue, where it lies.
    pub fn next_lent(&mut self) -> Option<Lent> {
        let Descriptor { address, len, .. } = self.queues[0].rx.pop()?;
        Some(Lent { len, address })
    }

    /// Such a frame is not needed any more.
    pub fn give_back_lent(&mut self, address: u64) {
        self.queues[0].fill.push(address & !(CHUNK as u64 - 1));
    }

    /// Copies from byte `from` of a frame on; `false`: it does not reach that far.
    pub fn read(&self, frame: &XdpFrame, from: usize, to: &mut [u8]) -> bool {
        from + to.len() <= frame.len && self.memory.read(frame.address as usize + from, to)
    }

    /// The kernel may write to where the frame was, after [`Self::publish`].
    pub fn give_back(&mut self, frame: XdpFrame) {
        // There are as many places as chunks. The kernel finds the chunk by any number in it.
        self.queues[self.current].fill.push(frame.address & !(CHUNK as u64 - 1));
    }

    /// Returns the read frames to the kernel, and wakes it where it waits for room.
    pub fn publish(&mut self) {
        for queue in &mut self.queues {
            queue.rx.give_back();
            queue.fill.publish();
            if queue.fill.needs_wakeup() {
                let _ = recv(&*queue.socket, &mut [0; 0][..], RecvFlags::DONTWAIT);
            }
        }
    }

    /// Frames that came and found no room since this was last asked.
    pub fn lost(&mut self) -> u64 {
        let of = |queue: &RxQueue| {
            let statistics = sockopt::xdp_statistics(&*queue.socket).ok()?;
            Some(statistics.rx_dropped + statistics.rx_ring_full.unwrap_or(0))
        };
        let all: u64 = self.queues.iter().filter_map(of).sum();
        let new = all.saturating_sub(self.reported);
        self.reported += new;
        new
    }
}

impl XdpOutput {
    /// Queues a frame for the next [`Self::flush`]. Returns whether there was room for it.
    pub fn push(&mut self, frame: &[u8]) -> bool {
        if frame.len() > CHUNK {
            return false;
        }
        let Some(address) = self.free.pop() else { return false };
        self.memory.write(address as usize, frame);
        // There are as many places as chunks.
        self.tx.push(Descriptor { address, len: frame.len() as u32, options: 0 })
    }

    /// The same with a frame that lies in the memory of both interfaces. It is not needed any more once [`Self::next_sent`]
    /// gives its address.
    pub fn push_lent(&mut self, frame: Lent) -> bool {
        self.tx.push(Descriptor { address: frame.address, len: frame.len, options: 0 })
    }

    /// The address of a frame that has gone out.
    pub fn next_sent(&mut self) -> Option<u64> {
        let address = self.completion.pop();
        self.completion.give_back();
        address
    }

    /// Chunks whose frames have gone out are free. The last of them is taken first: it is still in the cache.
    pub fn take_back(&mut self) {
        while let Some(address) = self.completion.pop() {
            self.free.push(address);
        }
        self.completion.give_back();
    }

    /// Hands on the queued frames. In copy mode the kernel sends while it is called, a few frames in each call.
    pub fn flush(&mut self) -> Flushed {
        self.tx.publish();
        let mut flushed = Flushed { dropped: 0, left: self.tx.left() };
        while flushed.left > 0 && self.tx.needs_wakeup() {
            let woken = send(&*self.socket, &[], SendFlags::DONTWAIT);
            let left = self.tx.left();
            match woken {
                // The interface took it and dropped it.
                Err(Errno::BUSY) => flushed.dropped += 1,
                // It is down or gone, or takes no more now.
                _ if left == flushed.left => break,
                _ => {}
            }
            flushed.left = left;
        }
        flushed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes() {
        let mut note = [0; NOTE_BYTES];
        assert_eq!(note_of(note), None);
        note[..8].copy_from_slice(&7_u64.to_ne_bytes());
        note[8..10].copy_from_slice(&[0x81, 0]);
        note[10..12].copy_from_slice(&0x2005_u16.to_ne_bytes());
        note[12..].copy_from_slice(&NOTE.to_ne_bytes());
        assert_eq!(note_of(note), Some((7, None)));
        note[12..].copy_from_slice(&NOTE_WITH_TAG.to_ne_bytes());
        assert_eq!(note_of(note), Some((7, Some((0x8100, 0x2005)))));
        note[12..].copy_from_slice(&(NOTE + 2).to_ne_bytes());
        assert_eq!(note_of(note), None);
    }

    #[test]
    fn rings_are_powers_of_two_within_the_bytes() {
        let wish =
            |ring_bytes, queues| Wish { places: &[Place::Driver], zero_copy: false, queues, ring_bytes };
        for (ring_mib, queues, places) in
            [(8, 1, 2048), (8, 3, 512), (1, 1, 256), (1, 64, 64), (1024, 1, 1 << 18)]
        {
            let wish = wish(ring_mib << 20, queues);
            assert_eq!((wish.places_of_queue(), wish.chunks()), (places, places * queues + SENDING));
        }
    }
}
