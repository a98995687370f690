//! A receive ring as a kernel writes it for a packet socket: in slots or in a block.

use fairdrop::Time;
use fairdrop_live::frame::VNET_HEADER;
use fairdrop_live::os::{RingLayout, RingMemory};
use fairdrop_live::port::RingReader;
use std::cell::RefCell;

const SLOT: usize = 2048;
/// Where a frame begins behind the header of its slot, or in a block, with its `virtio_net_hdr` before it.
const MAC: usize = 82;
const MOST_FRAMES: usize = 8;
/// All that is ever written: the block's own header, or the slot behind the last, has the room of one more.
const WRITTEN: usize = (MOST_FRAMES + 1) * SLOT;
const TAG: usize = 4;

/// `linux/if_packet.h`.
const USER: u32 = 1;
const COPY: u32 = 2;
const TAG_VALID: u32 = 0x10;
const PROTOCOL_VALID: u32 = 0x40;

/// What the kernel says of a frame, and the frame.
struct Given<'a> {
    status: u32,
    tag: [u8; 2],
    protocol: [u8; 2],
    header: &'a [u8],
    frame: &'a [u8],
    /// Bytes that did not fit, of which all are in the socket's queue when the status says so.
    cut_off: usize,
}

thread_local! {
    /// One of each kind. Mapping memory for each input took two thirds of the time.
    static READERS: RefCell<[RingReader; 2]> =
        RefCell::new([RingLayout::Slots(SLOT as u32), RingLayout::Blocks(1)].map(reader));
}

fn reader(layout: RingLayout) -> RingReader {
    RingReader::new(RingMemory::of_nobody().expect("there is memory"), layout)
}

/// Reads frames of which everything that a sender or a kernel may choose is from `data`: tags, what is left to hardware, lengths,
/// bytes. They come in order, none is longer than it was with its tag, and one of which nothing is left to do comes as it was.
pub fn ring(data: &[u8]) {
    let Some((&[how, room], mut data)) = data.split_first_chunk() else { return };
    let mut given = Vec::new();
    while given.len() < MOST_FRAMES
        && let Some(next) = Given::take(&mut data)
    {
        given.push(next);
    }
    let room = 64 + 8 * usize::from(room);
    READERS.with_borrow_mut(|[of_slots, of_blocks]| {
        of_slots.rewrite(&slots(&given));
        read(&given, of_slots, room, how & 1 != 0);
        of_blocks.rewrite(&block(&given));
        read(&given, of_blocks, room, false);
    });
}

fn read(given: &[Given<'_>], reader: &mut RingReader, room: usize, queued: bool) {
    let (mut buffer, mut last, mut packets) = ([0; 64 + 8 * 255], Time::ZERO, 0);
    let buffer = &mut buffer[..room];
    let longest = given.iter().map(|one| one.frame.len() + one.cut_off).max().unwrap_or(0);
    let whole = |to: &mut [u8]| {
        let one = given.iter().find(|one| one.cut_off > 0).filter(|_| queued)?;
        let len = VNET_HEADER + one.frame.len() + one.cut_off;
        to.get_mut(..VNET_HEADER)?.copy_from_slice(one.header);
        to.get_mut(VNET_HEADER..VNET_HEADER + one.frame.len())?.copy_from_slice(one.frame);
        Some(len)
    };
    while let Some(received) = reader.receive(buffer, whole) {
        assert!(received.len <= longest + TAG && received.at >= last);
        (last, packets) = (received.at, packets + 1);
        // Each has a byte of payload, or is the only one.
        assert!(packets <= given.len() * (1 + longest));
    }
    assert!(!reader.is_ready());
    if let [one] = given {
        as_it_was(one, packets, buffer, reader.unreadable());
    }
}

/// Nothing is left to do for a frame whose header is zeros.
fn as_it_was(one: &Given<'_>, packets: usize, buffer: &[u8], unreadable: u64) {
    let tagged = one.status & TAG_VALID != 0;
    let len = one.frame.len() + if tagged { TAG } else { 0 };
    if one.header.iter().any(|&byte| byte != 0)
        || one.cut_off > 0
        || len > buffer.len()
        || one.frame.len() < 12
    {
        return;
    }
    assert_eq!((packets, unreadable), (1, 0));
    let tag = if one.status & PROTOCOL_VALID != 0 { one.protocol } else { 0x8100_u16.to_ne_bytes() };
    let tag = [u16::from_ne_bytes(tag).to_be_bytes(), u16::from_ne_bytes(one.tag).to_be_bytes()].concat();
    let (macs, rest) = one.frame.split_at(12);
    let expected = if tagged { [macs, &tag, rest].concat() } else { one.frame.to_vec() };
    assert_eq!(&buffer[..len], expected);
}

impl<'a> Given<'a> {
    fn take(data: &mut &'a [u8]) -> Option<Self> {
        let (&[flags, t0, t1, p0, p1, low, high, off], rest) = data.split_first_chunk()?;
        let (header, rest) = rest.split_at_checked(VNET_HEADER)?;
        let len = usize::from(u16::from_le_bytes([low, high & 7])).min(rest.len()).min(SLOT - MAC);
        let (frame, rest) = rest.split_at(len);
        *data = rest;
        let [tagged, protocol, cut] = [1, 2, 4].map(|bit| flags & bit != 0);
        let flag = |set, flag| if set { flag } else { 0 };
        let status = USER | flag(tagged, TAG_VALID) | flag(protocol, PROTOCOL_VALID) | flag(cut, COPY);
        let cut_off = if cut { 1 + 64 * usize::from(off) } else { 0 };
        Some(Self { status, tag: [t0, t1], protocol: [p0, p1], header, frame, cut_off })
    }

    fn write(&self, ring: &mut [u8], at: usize) {
        ring[at + MAC - VNET_HEADER..at + MAC].copy_from_slice(self.header);
        ring[at + MAC..at + MAC + self.frame.len()].copy_from_slice(self.frame);
    }

    fn lengths(&self) -> [u32; 2] {
        [(self.frame.len() + self.cut_off) as u32, self.frame.len() as u32]
    }
}

fn put(ring: &mut [u8], at: usize, word: u32) {
    ring[at..at + 4].copy_from_slice(&word.to_ne_bytes());
}

/// `struct tpacket2_hdr` in slots of equal size; behind the last is one that belongs to the kernel.
fn slots(given: &[Given<'_>]) -> [u8; WRITTEN] {
    let mut ring = [0; WRITTEN];
    for (number, one) in given.iter().enumerate() {
        let (at, [len, captured]) = (number * SLOT, one.lengths());
        for (field, word) in [(0, one.status), (4, len), (8, captured), (16, number as u32)] {
            put(&mut ring, at + field, word);
        }
        ring[at + 12..at + 14].copy_from_slice(&(MAC as u16).to_ne_bytes());
        ring[at + 24..at + 26].copy_from_slice(&one.tag);
        ring[at + 26..at + 28].copy_from_slice(&one.protocol);
        one.write(&mut ring, at);
    }
    ring
}

/// `struct tpacket_block_desc` and `struct tpacket3_hdr`; read, the block belongs to the kernel again.
fn block(given: &[Given<'_>]) -> [u8; WRITTEN] {
    const FIRST: usize = 48;
    let mut ring = [0; WRITTEN];
    for (field, word) in [(8, USER), (12, given.len() as u32), (16, FIRST as u32)] {
        put(&mut ring, field, word);
    }
    for (number, one) in given.iter().enumerate() {
        let (at, [len, captured]) = (FIRST + number * SLOT, one.lengths());
        for (field, word) in
            [(0, SLOT as u32), (4, number as u32), (12, captured), (16, len), (20, one.status)]
        {
            put(&mut ring, at + field, word);
        }
        ring[at + 24..at + 26].copy_from_slice(&(MAC as u16).to_ne_bytes());
        ring[at + 32..at + 34].copy_from_slice(&one.tag);
        ring[at + 36..at + 38].copy_from_slice(&one.protocol);
        one.write(&mut ring, at);
    }
    ring
}
