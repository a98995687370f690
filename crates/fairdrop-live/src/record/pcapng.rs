//! Blocks of pcapng (draft-ietf-opsawg-pcapng; section numbers below are of that draft), in the byte order of little endian.

use crate::config::DIRECTIONS;
use fairdrop_capture::LinkType;

/// Interfaces of a file: three of each direction.
pub const INTERFACES: usize = 3 * DIRECTIONS.len();

/// What became of a packet, in the order of the interfaces of its direction.
const KINDS: [&str; 3] = ["in", "out", "drop"];

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// Options (3.5, 4.1, 4.2).
const END: u16 = 0;
const COMMENT: u16 = 1;
const APPLICATION: u16 = 4;
const NAME: u16 = 2;
const TIME_RESOLUTION: u16 = 9;

/// Name of an interface: `up in`, `up out`, `up drop`, and the same of `down`.
pub fn interface_name(interface: usize) -> String {
    format!("{} {}", DIRECTIONS[interface / KINDS.len()], KINDS[interface % KINDS.len()])
}

fn u16(to: &mut Vec<u8>, value: u16) {
    to.extend_from_slice(&value.to_le_bytes());
}

fn u32(to: &mut Vec<u8>, value: u32) {
    to.extend_from_slice(&value.to_le_bytes());
}

fn pad(to: &mut Vec<u8>, len: usize) {
    to.resize(to.len() + len.next_multiple_of(4) - len, 0);
}

fn option(to: &mut Vec<u8>, code: u16, value: &[u8]) {
    u16(to, code);
    u16(to, value.len() as u16);
    to.extend_from_slice(value);
    pad(to, value.len());
}

/// A block (3.1): its length before and after its body.
fn block(to: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = to.len();
    u32(to, kind);
    u32(to, 0);
    body(to);
    let len = (to.len() + 4 - start) as u32;
    u32(to, len);
    to[start + 4..start + 8].copy_from_slice(&len.to_le_bytes());
}

/// What a file begins with (4.1, 4.2).
pub fn header(to: &mut Vec<u8>, link_type: LinkType) {
    block(to, SECTION_HEADER, |to| {
        u32(to, BYTE_ORDER);
        u16(to, 1);
        u16(to, 0);
        // The length of the section is not known.
        to.extend_from_slice(&u64::MAX.to_le_bytes());
        option(to, APPLICATION, concat!("fairdropd ", env!("CARGO_PKG_VERSION")).as_bytes());
        option(to, END, &[]);
    });
    for interface in 0..INTERFACES {
        block(to, INTERFACE_DESCRIPTION, |to| {
            u16(to, link_type.0);
            u16(to, 0);
            // No limit to the captured length.
            u32(to, 0);
            option(to, NAME, interface_name(interface).as_bytes());
            // Times in units of 10^-9 s.
            option(to, TIME_RESOLUTION, &[9]);
            option(to, END, &[]);
        });
    }
}

/// A packet (4.3).
pub struct Packet<'a> {
    pub interface: usize,
    /// Since 1970.
    pub time_ns: u64,
    /// Its length; `frame` may be only its beginning.
    pub len: u32,
    pub frame: &'a [u8],
    pub comment: Option<&'a str>,
}

/// Adds a packet.
pub fn packet(to: &mut Vec<u8>, packet: &Packet<'_>) {
    block(to, ENHANCED_PACKET, |to| {
        u32(to, packet.interface as u32);
        u32(to, (packet.time_ns >> 32) as u32);
        u32(to, packet.time_ns as u32);
        u32(to, packet.frame.len() as u32);
        u32(to, packet.len);
        to.extend_from_slice(packet.frame);
        pad(to, packet.frame.len());
        if let Some(comment) = packet.comment {
            option(to, COMMENT, comment.as_bytes());
            option(to, END, &[]);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairdrop_capture::{Options, read_bytes};

    #[test]
    fn the_capture_crate_reads_it() {
        let frame = [0x45, 0, 0, 21, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 7];
        let mut file = Vec::new();
        header(&mut file, LinkType(101));
        for (interface, time_ns) in [(0, 1_700_000_000_000_000_001), (1, 1_700_000_000_000_000_501)] {
            let comment = (interface == 1).then_some("a word");
            packet(&mut file, &Packet { interface, time_ns, len: 21, frame: &frame, comment });
        }
        let capture = read_bytes(&file, "record", &Options::default()).unwrap();
        assert_eq!(
            capture.arrivals.iter().map(|a| (a.time_ns, a.wire_len)).collect::<Vec<_>>(),
            [(0, 21), (500, 21)]
        );
        assert_eq!(capture.flows[0].name, "icmp 10.0.0.1 > 10.0.0.2");
        assert_eq!(capture.notes.warnings(), Vec::<String>::new());
    }
}
