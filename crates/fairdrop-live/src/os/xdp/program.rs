//! The program that hands every frame of an interface to our sockets, and its way into the kernel: bpf(2), for which there is no
//! safe interface elsewhere. It is attached by a link, which the kernel removes when its descriptor is closed, however this process ends.
#![allow(unsafe_code)] // One system call, which is handed pointers.

use super::btf::kernel_function;
use super::refused::{Refused, Step, until_free};
use std::ffi::{CStr, c_long};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

// Numbers of linux/bpf.h.
const BPF_MAP_CREATE: c_long = 0;
const BPF_MAP_UPDATE_ELEM: c_long = 2;
const BPF_PROG_LOAD: c_long = 5;
const BPF_LINK_CREATE: c_long = 28;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const BPF_F_XDP_DEV_BOUND_ONLY: u32 = 1 << 6;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;
const XDP_PASS: i32 = 2;

/// Helpers by number.
const KTIME_GET_NS: i32 = 5;
const REDIRECT_MAP: i32 = 51;
const ADJUST_META: i32 = 54;

/// Gives the tag that hardware, or the sender's stack, has left out of the frame.
pub(super) const TAG_FUNCTION: &str = "bpf_xdp_metadata_rx_vlan_tag";

/// The kernel gives that function only to programs under the GPL; ours may be had under the MIT licence as well.
const LICENCE: &CStr = c"Dual MIT/GPL";

/// Bytes that the program writes before each frame: time of arrival (ns on the monotonic clock), protocol and content of the
/// tag, and [`NOTE`] or [`NOTE_WITH_TAG`].
pub(super) const NOTE_BYTES: usize = 16;

/// A note without a tag.
pub(super) const NOTE: u32 = 0xfa1d_7000;

/// A note with a tag.
pub(super) const NOTE_WITH_TAG: u32 = NOTE + 1;

/// Where in the kernel the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the driver, before the kernel makes anything of a frame.
    Driver,
    /// In the kernel's stack: any interface, more work.
    Generic,
}

/// Which socket has the frames of a queue.
#[derive(Debug)]
pub(super) struct SocketMap(OwnedFd);

/// The program, attached to an interface for as long as this lives.
#[derive(Debug)]
pub struct Attached {
    _link: OwnedFd,
    /// Where it runs.
    pub place: Place,
    /// Why the place before that in the list was refused.
    pub not_before: Option<io::Error>,
    /// Tags that are not in the frame are known.
    pub knows_tags: bool,
}

impl SocketMap {
    /// Of `queues` queues, none with a socket.
    pub fn new(queues: u32) -> io::Result<Self> {
        #[repr(C)]
        struct Create([u32; 5]);
        // Type, bytes of a key, bytes of a value, entries, flags.
        bpf_fd(BPF_MAP_CREATE, &mut Create([BPF_MAP_TYPE_XSKMAP, 4, 4, queues, 0])).map(Self)
    }

    /// Frames of this queue go to that socket, which must be bound to it.
    pub fn set(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        #[repr(C)]
        struct Update {
            map: u32,
            pad: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        let socket = socket.as_raw_fd() as u32;
        let (key, value) = ((&raw const queue) as u64, (&raw const socket) as u64);
        let mut update = Update { map: self.0.as_raw_fd() as u32, pad: 0, key, value, flags: 0 };
        bpf(BPF_MAP_UPDATE_ELEM, &mut update).map(drop)
    }
}

/// `struct bpf_insn`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Insn {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn insn(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Insn {
    Insn { code, registers: to | from << 4, offset, immediate }
}

/// `to = from`
const fn copy(to: u8, from: u8) -> Insn {
    insn(0xbf, to, from, 0, 0)
}

/// `to = value`
const fn set(to: u8, value: i32) -> Insn {
    insn(0xb7, to, 0, 0, value)
}

/// `to += value`
const fn add(to: u8, value: i32) -> Insn {
    insn(0x07, to, 0, 0, value)
}

/// `to = *(u32 *)(from + offset)`
const fn load32(to: u8, from: u8, offset: i16) -> Insn {
    insn(0x61, to, from, offset, 0)
}

/// `*(u32 *)(to + offset) = from`
const fn store32(to: u8, offset: i16, from: u8) -> Insn {
    insn(0x63, to, from, offset, 0)
}

/// `*(u64 *)(to + offset) = from`
const fn store64(to: u8, offset: i16, from: u8) -> Insn {
    insn(0x7b, to, from, offset, 0)
}

const fn call(helper: i32) -> Insn {
    insn(0x85, 0, 0, 0, helper)
}

// Fields of `struct xdp_md`.
const DATA: i16 = 0;
const DATA_META: i16 = 8;
const QUEUE: i16 = 16;

/// Notes when the frame came and what tag it had, and redirects it to the socket of its queue; where there is none, it goes on to the
/// kernel's stack. `tag_function` is the kernel's number of the function that knows tags.
fn program(map: BorrowedFd<'_>, tag_function: Option<i32>) -> Vec<Insn> {
    let note = NOTE_BYTES as i32;
    // r6: the context; r7: 1 if there is a tag, which is at r10 - 8: protocol and content.
    let mut all = vec![copy(6, 1), set(7, 0), set(1, 0), store64(10, -8, 1)];
    if let Some(function) = tag_function {
        all.extend([copy(1, 6), copy(2, 10), add(2, -8), copy(3, 10), add(3, -6)]);
        // A call to the kernel's function of that number; 0: there is a tag.
        all.extend([insn(0x85, 0, 2, 0, function), insn(0x55, 0, 0, 1, 0), set(7, 1)]);
    }
    all.extend([copy(1, 6), set(2, -note), call(ADJUST_META)]);
    let write = [
        call(KTIME_GET_NS),
        load32(1, 6, DATA_META),
        load32(2, 6, DATA),
        copy(3, 1),
        add(3, note),
        // The verifier wants to see that the note lies before the frame.
        insn(0x2d, 3, 2, 5, 0),
        store64(1, 0, 0),
        load32(4, 10, -8),
        store32(1, 8, 4),
        add(7, NOTE as i32),
        store32(1, 12, 7),
    ];
    // No room for a note: without.
    all.push(insn(0x55, 0, 0, write.len() as i16, 0));
    all.extend(write);
    let map = map.as_raw_fd();
    // r1 = the map, in two parts.
    all.extend([insn(0x18, 1, 1, 0, map), insn(0, 0, 0, 0, 0), load32(2, 6, QUEUE), set(3, XDP_PASS)]);
    all.extend([call(REDIRECT_MAP), insn(0x95, 0, 0, 0, 0)]);
    all
}

impl Attached {
    /// To the interface of number `interface`, where that is possible first.
    pub(super) fn to_one_of(places: &[Place], map: &SocketMap, interface: i32) -> Result<Self, Refused> {
        let mut not_before = None;
        for (number, &place) in places.iter().enumerate() {
            match Self::to(place, map, interface) {
                Ok(attached) => return Ok(Self { not_before, ..attached }),
                Err(refused) if number + 1 == places.len() || !refused.depends_on_place() => {
                    return Err(refused);
                }
                Err(refused) => not_before = Some(refused.error),
            }
        }
        Err(Refused { step: Step::Attach, error: io::ErrorKind::InvalidInput.into() })
    }

    fn to(place: Place, map: &SocketMap, interface: i32) -> Result<Self, Refused> {
        // Only a program for one interface, in its driver, may ask for tags.
        let with_tags = match place {
            Place::Driver => {
                kernel_function(TAG_FUNCTION).and_then(|id| load(map, Some((id, interface))).ok())
            }
            Place::Generic => None,
        };
        let knows_tags = with_tags.is_some();
        let program = match with_tags {
            Some(program) => program,
            None => load(map, None).map_err(|error| Refused { step: Step::Load, error })?,
        };
        let flags = if place == Place::Driver { XDP_FLAGS_DRV_MODE } else { XDP_FLAGS_SKB_MODE };
        let mut create = [program.as_raw_fd() as u32, interface as u32, BPF_XDP, flags];
        let link = until_free(|| bpf_fd(BPF_LINK_CREATE, &mut create));
        let link = link.map_err(|error| Refused { step: Step::Attach, error })?;
        Ok(Self { _link: link, place, not_before: None, knows_tags })
    }
}

fn load(map: &SocketMap, tags: Option<(i32, i32)>) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Load {
        kind: u32,
        instructions: u32,
        first: u64,
        licence: u64,
        log: [u32; 2],
        log_buffer: u64,
        kernel: u32,
        flags: u32,
        name: [u8; 16],
        interface: u32,
        attach_type: u32,
    }
    let program = program(std::os::fd::AsFd::as_fd(&map.0), tags.map(|(function, _)| function));
    let mut load = Load {
        kind: BPF_PROG_TYPE_XDP,
        instructions: program.len() as u32,
        first: program.as_ptr() as u64,
        licence: LICENCE.as_ptr() as u64,
        log: [0; 2],
        log_buffer: 0,
        kernel: 0,
        flags: if tags.is_some() { BPF_F_XDP_DEV_BOUND_ONLY } else { 0 },
        name: *b"fairdrop\0\0\0\0\0\0\0\0",
        interface: tags.map_or(0, |(_, interface)| interface as u32),
        attach_type: BPF_XDP,
    };
    bpf_fd(BPF_PROG_LOAD, &mut load)
}

fn bpf<T>(command: c_long, attributes: &mut T) -> io::Result<c_long> {
    // SAFETY: the attributes are those of the command, and so are what they point to; all live until the call returns, and the
    // kernel takes what is not there for zero.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut *attributes, size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Of commands that make a descriptor.
fn bpf_fd<T>(command: c_long, attributes: &mut T) -> io::Result<OwnedFd> {
    let number = bpf(command, attributes)?;
    // SAFETY: the command returned a new descriptor, which nobody else owns. The kernel closes it on exec.
    Ok(unsafe { OwnedFd::from_raw_fd(number as i32) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    /// Each jump leads to where the map is loaded.
    #[test]
    fn jumps_skip_the_note() {
        let file = std::fs::File::open("/dev/null").unwrap();
        for tags in [None, Some(77)] {
            let all = program(file.as_fd(), tags);
            let map = all.iter().position(|insn| insn.code == 0x18).unwrap();
            let jumps = all.iter().enumerate().filter(|(_, insn)| matches!(insn.code, 0x2d | 0x55));
            let to: Vec<usize> = jumps.map(|(at, insn)| at + 1 + insn.offset as usize).collect();
            assert!(to[to.len() - 2..].iter().all(|&to| to == map), "{to:?}, {map}");
            assert_eq!(to.len(), if tags.is_some() { 3 } else { 2 });
            assert_eq!(all.last().unwrap().code, 0x95);
        }
    }
}
