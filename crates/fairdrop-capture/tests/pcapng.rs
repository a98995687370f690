//! pcapng files: sections, interfaces, clocks, block types, damage.

use crate::common::*;
use fairdrop_capture::{Damage, DamageKind, Error, Format, LinkType, MAX_PACKET_BYTES, Options, read_bytes};

const TSRESOL: u16 = 9;
const TSOFFSET: u16 = 14;

#[test]
fn both_byte_orders() {
    for order in [Order::Little, Order::Big] {
        let file = Ng::new(order).interface(1, 0, &[]).enhanced(0, 5_000_000_000, 1514, &web()).enhanced(
            0,
            5_000_000_001,
            42,
            &arp(),
        );
        let capture = five(&file.bytes);
        assert_eq!(capture.format, Format::PcapNg);
        assert_eq!(capture.link_types, [LinkType(1)]);
        assert_eq!(capture.arrivals, [arrival(0, 1514, 0), arrival(1_000, 42, 1)]);
        assert_eq!(capture.notes.cut_packets, 1);
        assert_eq!(capture.notes.non_ip_frames, 1);
        assert_eq!(names(&capture), ["tcp 10.0.0.1:80 > 10.0.0.2:5000", "arp 02:00:00:00:00:0a"]);
    }
}

#[test]
fn interfaces_have_their_own_clocks() {
    for order in [Order::Little, Order::Big] {
        let offset = order.u64(10);
        let back = order.u64(u64::MAX - 4);
        let file = Ng::new(order)
            .interface(1, 0, &[(2, b"eth0"), (TSRESOL, &[9])])
            .interface(101, 0, &[(TSRESOL, &[0x8a]), (TSOFFSET, &offset)])
            .interface(113, 0, &[(TSRESOL, &[3]), (TSOFFSET, &back)])
            .enhanced(0, 20_000_000_000, 42, &web())
            .enhanced(1, 10 * 1024 + 1, 28, &ipv4(TCP, &ports(80, 5000)))
            .enhanced(2, 25_500, 100, &[])
            .enhanced(0, 21_000_000_001, 42, &web());
        let capture = five(&file.bytes);
        assert_eq!(times(&capture), [0, 976_562, 500_000_000, 1_000_000_001]);
        assert_eq!(lengths(&capture), [42, 28, 100, 42]);
        let links = [LinkType(1), LinkType(101), LinkType(113)];
        assert_eq!(capture.link_types, links);
        assert_eq!(capture.arrivals[0].flow, capture.arrivals[1].flow);
    }
}

#[test]
fn options_after_their_end_are_not_read() {
    let file = Ng::new(Order::Little)
        .interface(1, 0, &[(0, b""), (TSRESOL, &[9])])
        .enhanced(0, 0, 42, &web())
        .enhanced(0, 1, 42, &web());
    assert_eq!(times(&five(&file.bytes)), [0, 1_000]);
}

#[test]
fn sections_start_anew() {
    let file = Ng::new(Order::Little)
        .interface(101, 0, &[])
        .interface(1, 0, &[])
        .enhanced(1, 1_000_000, 42, &web())
        .section(Order::Big)
        .interface(1, 0, &[(TSRESOL, &[9])])
        .enhanced(0, 1_500_000_000, 42, &web())
        .enhanced(1, 1_600_000_000, 42, &web())
        .section(Order::Little)
        .interface(1, 0, &[])
        .enhanced(0, 1_250_000, 42, &web());
    let capture = five(&file.bytes);
    assert_eq!(times(&capture), [0, 500_000_000, 500_000_000]);
    assert_eq!(capture.flows.len(), 1);
    assert_eq!(capture.notes.backward_steps, 1);
    assert_eq!(capture.notes.largest_backward_step_ns, 250_000_000);
    assert_eq!(capture.notes.damaged_blocks, 1);
    let first = capture.notes.first_damaged_block.unwrap();
    assert_eq!(first.kind, DamageKind::Interface(1));
}

#[test]
fn simple_packets_have_no_time() {
    for order in [Order::Little, Order::Big] {
        let file = Ng::new(order)
            .interface(1, 42, &[])
            .simple(42, &web())
            .enhanced(0, 1_000_000, 42, &web())
            .simple(43, &[&web()[..], &[0; 2]].concat())
            .enhanced(0, 1_000_007, 42, &web())
            .simple(1000, &web())
            .simple(41, &web()[..41]);
        let capture = five(&file.bytes);
        assert_eq!(times(&capture), [0, 0, 0, 7_000, 7_000, 7_000]);
        assert_eq!(lengths(&capture), [42, 42, 43, 42, 1000, 41]);
        assert_eq!(capture.notes.untimed_packets, 4);
        assert_eq!(capture.notes.cut_packets, 2);
        assert_eq!(capture.notes.lengths_corrected, 0);
        assert_eq!(capture.flows.len(), 1);
    }
}

#[test]
fn obsolete_packet_blocks() {
    for order in [Order::Little, Order::Big] {
        let file = Ng::new(order).interface(1, 0, &[]).obsolete(0, 1 << 33, 60, &web()).obsolete(
            0,
            (1 << 33) + 3,
            42,
            &web(),
        );
        let capture = five(&file.bytes);
        assert_eq!(capture.arrivals, [arrival(0, 60, 0), arrival(3_000, 42, 0)]);
        assert_eq!(capture.notes.skipped_blocks, 0);
    }
}

#[test]
fn blocks_without_packets() {
    let file = Ng::new(Order::Little)
        .block(4, &[0; 4])
        .interface(1, 0, &[])
        .block(5, &[0; 12])
        .block(10, &[0xff; 8])
        .block(0x0bad, &vec![1; 300_000])
        .enhanced(0, 0, 42, &web())
        .block(77, &[]);
    let capture = five(&file.bytes);
    assert_eq!(capture.notes.skipped_blocks, 2);
    assert_eq!(capture.notes.warnings(), ["2 pcapng blocks of unknown type skipped"]);
}

#[test]
fn big_blocks_are_read_whole() {
    let big = ethernet(0x0800, &[&ipv4(TCP, &ports(80, 5000))[..], &vec![0; 5_000_000]].concat());
    let length = u32::try_from(big.len()).unwrap();
    let file =
        Ng::new(Order::Little).interface(1, 0, &[]).enhanced(0, 0, length, &big).enhanced(0, 1, 42, &web());
    let capture = five(&file.bytes);
    assert_eq!(capture.arrivals, [arrival(0, length, 0), arrival(1_000, 42, 0)]);
}

/// The longest packet that a queue takes is read; a longer one is left out,
/// counted, and named.
#[test]
fn packets_that_cannot_be_are_left_out() {
    let one = Ng::new(Order::Little).interface(1, 0, &[]).enhanced(0, 0, MAX_PACKET_BYTES, &web());
    let offset = one.bytes.len() as u64;
    let too_long = MAX_PACKET_BYTES + 1;
    let file = one
        .enhanced(0, 1, too_long, &web())
        .simple(too_long, &web())
        .obsolete(0, 2, too_long, &web())
        .enhanced(0, 3, 42, &web());
    let capture = five(&file.bytes);
    assert_eq!(capture.arrivals, [arrival(0, MAX_PACKET_BYTES, 0), arrival(3_000, 42, 0)]);
    assert_eq!(capture.notes.damaged_blocks, 3);
    let kind = DamageKind::Length(u64::from(too_long));
    assert_eq!(capture.notes.first_damaged_block, Some(Damage { offset, kind }));
    let warning =
        "3 damaged blocks left out (first: impossible length of 16777217 bytes in the record at byte";
    assert!(capture.notes.warnings()[0].starts_with(warning), "{:?}", capture.notes.warnings());
}

#[test]
fn contradictory_blocks_are_left_out() {
    let one = Ng::new(Order::Little).interface(1, 0, &[]).enhanced(0, 0, 42, &web());
    let offset = one.bytes.len() as u64;
    let mut fields = [0_u32, 0, 0, 5000, 5000].map(u32::to_le_bytes).concat();
    fields.extend(web());
    let file = one.block(6, &fields).block(2, &fields[..8]).enhanced(0, 1, 42, &web());
    let capture = five(&file.bytes);
    assert_eq!(times(&capture), [0, 1_000]);
    assert_eq!(capture.notes.damaged_blocks, 2);
    let kind = DamageKind::Contents;
    assert_eq!(capture.notes.first_damaged_block, Some(Damage { offset, kind }));
}

#[test]
fn a_file_cut_anywhere_keeps_the_packets_before() {
    let one = Ng::new(Order::Big).interface(1, 0, &[]).enhanced(0, 0, 42, &web());
    let whole = one.clone().enhanced(0, 1, 42, &web()).bytes;
    let start = one.bytes.len();
    for end in start + 1..whole.len() {
        let capture = five(&whole[..end]);
        assert_eq!(capture.arrivals.len(), 1);
        let kind = if end < start + 12 { DamageKind::HeaderCut } else { DamageKind::BodyCut };
        let offset = start as u64;
        assert_eq!(capture.notes.damage, Some(Damage { offset, kind }));
    }
}

#[test]
fn broken_framing_ends_the_reading() {
    let one = Ng::new(Order::Little).interface(1, 0, &[]).enhanced(0, 0, 42, &web());
    let start = one.bytes.len();
    let offset = start as u64;
    let whole = one.enhanced(0, 1, 42, &web()).bytes;
    let last = whole.len() - 4;
    for (at, value, kind) in [
        (start + 4, 8, DamageKind::Length(8)),
        (start + 4, 77, DamageKind::Length(77)),
        (start + 4, u32::MAX, DamageKind::Length(0xffff_ffff)),
        (start + 4, 0x1000_0000, DamageKind::BodyCut),
        (last, 4, DamageKind::LengthsDisagree),
    ] {
        let mut file = whole.clone();
        file[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
        let capture = five(&file);
        assert_eq!(capture.arrivals.len(), 1);
        assert_eq!(capture.notes.damage, Some(Damage { offset, kind }));
    }
}

fn error(bytes: &[u8]) -> Error {
    read_bytes(bytes, "x", &Options::default()).unwrap_err()
}

#[test]
fn headers_without_packets_are_errors() {
    let header = Ng::new(Order::Big).bytes;
    for end in 4..header.len() {
        let found = end as u64;
        assert!(matches!(
            error(&header[..end]),
            Error::HeaderTruncated { needed: 28, found: f, .. } if f == found
        ));
    }
    assert!(matches!(error(&header), Error::NoPackets { .. }));
    let mut unordered = header.clone();
    unordered[8] = 0;
    let text = error(&unordered).to_string();
    assert!(text.contains("no byte-order magic in the section header at byte 0"));
    let mut newer = header;
    newer[13] = 2;
    let text = error(&newer).to_string();
    assert!(text.contains("unknown pcapng version 2"));
    let undescribed = Ng::new(Order::Little).enhanced(0, 0, 42, &web()).bytes;
    assert!(matches!(error(&undescribed), Error::NothingReadable { .. }));
}
