//! Classic pcap files: variants, lengths, times, damage.

use crate::common::*;
use fairdrop_capture::{
    Damage, DamageKind, Error, Format, KeyKind, LinkType, MAX_PACKET_BYTES, Options, Protocol, read,
    read_bytes,
};

#[test]
fn all_variants_give_the_same_arrivals() {
    let variants = [
        (MICRO, Order::Little, Format::Pcap, 250_000),
        (MICRO, Order::Big, Format::Pcap, 250_000),
        (NANO, Order::Little, Format::PcapNanosecond, 250_000_000),
        (NANO, Order::Big, Format::PcapNanosecond, 250_000_000),
        (MODIFIED, Order::Little, Format::PcapModified, 250_000),
    ];
    for (magic, order, format, quarter) in variants {
        let file = Pcap::new(magic, order, 1)
            .packet((1_700_000_000, quarter), &web())
            .packet((1_700_000_000, 2 * quarter), &arp())
            .packet((1_700_000_001, quarter), &web());
        let capture = five(&file.bytes);
        assert_eq!(capture.format, format);
        assert_eq!(capture.link_types, [LinkType(1)]);
        assert_eq!(
            capture.arrivals,
            [arrival(0, 42, 0), arrival(250_000_000, 42, 1), arrival(1_000_000_000, 42, 0)]
        );
        assert_eq!(capture.flows[0].name, "tcp 10.0.0.1:80 > 10.0.0.2:5000");
        assert_eq!(capture.flows[0].protocol, Protocol::Tcp);
        assert_eq!(capture.flows[1].name, "arp 02:00:00:00:00:0a");
        assert_eq!(capture.flows[1].protocol, Protocol::NonIp);
        assert_eq!(capture.wire_bytes(), 126);
        assert_eq!(capture.duration_ns(), 1_000_000_000);
    }
}

#[test]
fn nanoseconds_are_kept() {
    let file = Pcap::new(NANO, Order::Big, 1).packet((7, 999_999_999), &web()).packet((8, 0), &web());
    assert_eq!(times(&five(&file.bytes)), [0, 1]);
}

#[test]
fn frame_check_sequence_bits_are_not_part_of_the_link_type() {
    let file = Pcap::new(MICRO, Order::Big, 0x4400_0001).packet((1, 0), &web());
    let capture = five(&file.bytes);
    assert_eq!(capture.link_types, [LinkType(1)]);
    assert_eq!(names(&capture), ["tcp 10.0.0.1:80 > 10.0.0.2:5000"]);
}

#[test]
fn lengths_are_those_on_the_wire() {
    let web = web();
    let file = Pcap::ethernet()
        .raw((1, 0), 42, 1514, &web)
        .raw((1, 0), 42, 0, &web)
        .raw((1, 0), 42, 41, &web)
        .raw((1, 0), 0, 900, &[])
        .raw((1, 0), 0, 0, &[]);
    let capture = five(&file.bytes);
    assert_eq!(lengths(&capture), [1514, 42, 42, 900, 0]);
    let web = "tcp 10.0.0.1:80 > 10.0.0.2:5000";
    assert_eq!(names(&capture), [web, web, web, "unparsed", "unparsed"]);
    assert_eq!(capture.flows[1].protocol, Protocol::NonIp);
    assert_eq!(capture.notes.cut_packets, 2);
    assert_eq!(capture.notes.lengths_corrected, 2);
    assert_eq!(capture.notes.zero_length_packets, 1);
    assert_eq!(capture.notes.unparsable_headers, 2);
    assert_eq!(capture.notes.non_ip_frames, 0);
}

#[test]
fn headers_cut_by_the_snapshot_length() {
    let web = web();
    let file = Pcap::ethernet().raw((1, 0), 38, 42, &web[..38]).raw((1, 0), 37, 42, &web[..37]).raw(
        (1, 0),
        33,
        42,
        &web[..33],
    );
    let capture = five(&file.bytes);
    assert_eq!(names(&capture), ["tcp 10.0.0.1:80 > 10.0.0.2:5000", "tcp 10.0.0.1 > 10.0.0.2", "unparsed"]);
    assert_eq!(capture.notes.ports_cut, 1);
    assert_eq!(capture.notes.unparsable_headers, 1);
    assert_eq!(capture.notes.cut_packets, 3);
}

#[test]
fn time_running_backwards_is_held() {
    let file = Pcap::ethernet()
        .packet((10, 0), &web())
        .packet((12, 0), &web())
        .packet((11, 500_000), &web())
        .packet((9, 0), &web())
        .packet((12, 1), &web());
    let capture = five(&file.bytes);
    let held = 2_000_000_000;
    assert_eq!(times(&capture), [0, held, held, held, held + 1_000]);
    assert_eq!(capture.notes.backward_steps, 2);
    assert_eq!(capture.notes.largest_backward_step_ns, 3_000_000_000);
    assert_eq!(
        capture.notes.warnings(),
        ["2 packets timestamped before an earlier one, by up to 3 s; \
             the earlier one's time was used"]
    );
}

#[test]
fn long_gaps_are_shortened_on_request() {
    let file = Pcap::ethernet()
        .packet((10, 0), &web())
        .packet((11, 0), &web())
        .packet((100, 0), &web())
        .packet((100, 5), &web())
        .packet((102, 5), &web());
    let whole = five(&file.bytes);
    assert_eq!(whole.duration_ns(), 92_000_005_000);
    assert_eq!(whole.longest_gap_ns(), 89_000_000_000);
    let options = Options { max_gap_ns: Some(1_000_000_000), ..Options::default() };
    let capture = read_bytes(&file.bytes, "test", &options).unwrap();
    let second = 1_000_000_000;
    assert_eq!(times(&capture), [0, second, 2 * second, 2 * second + 5_000, 3 * second + 5_000]);
    assert_eq!(capture.longest_gap_ns(), second);
    assert_eq!(capture.notes.gaps_shortened, 2);
    assert_eq!(capture.notes.gap_time_removed_ns, 89 * second);
}

#[test]
fn a_file_cut_anywhere_keeps_the_packets_before() {
    let one = Pcap::ethernet().packet((1, 0), &web());
    let whole = one.clone().packet((2, 0), &web()).bytes;
    let start = one.bytes.len();
    for end in start + 1..whole.len() {
        let capture = five(&whole[..end]);
        assert_eq!(capture.arrivals.len(), 1);
        let kind = if end < start + 16 { DamageKind::HeaderCut } else { DamageKind::BodyCut };
        let offset = start as u64;
        assert_eq!(capture.notes.damage, Some(Damage { offset, kind }));
    }
    assert_eq!(five(&whole).notes.damage, None);
}

#[test]
fn absurd_lengths_end_the_reading() {
    for (caplen, wire) in
        [(MAX_PACKET_BYTES + 1, 60), (42, MAX_PACKET_BYTES + 1), (u32::MAX, u32::MAX), (42, u32::MAX)]
    {
        let file =
            Pcap::ethernet().packet((1, 0), &web()).raw((2, 0), caplen, wire, &web()).packet((3, 0), &web());
        let capture = five(&file.bytes);
        assert_eq!(capture.arrivals.len(), 1);
        let kind = DamageKind::Length(u64::from(caplen.max(wire)));
        assert_eq!(capture.notes.damage, Some(Damage { offset: 82, kind }));
    }
    let file =
        Pcap::ethernet().packet((1, 0), &web()).raw((2, 0), MAX_PACKET_BYTES, MAX_PACKET_BYTES, &web());
    let kind = DamageKind::BodyCut;
    let damage = five(&file.bytes).notes.damage;
    assert_eq!(damage, Some(Damage { offset: 82, kind }));
}

fn error(bytes: &[u8]) -> Error {
    read_bytes(bytes, "x.pcap", &Options::default()).unwrap_err()
}

#[test]
fn errors_say_what_was_found_and_what_is_valid() {
    assert_eq!(error(&[]).to_string(), "x.pcap: the file is empty; expected a pcap or pcapng capture");
    let text = error(b"hello").to_string();
    assert!(text.starts_with("x.pcap: not a capture: it starts with 68 65 6c 6c 6f, and pcap"));
    assert!(text.ends_with("pcapng with 0a 0d 0d 0a"));
    let text = error(&[0x1f, 0x8b, 8, 0]).to_string();
    assert_eq!(
        text,
        "x.pcap: the file is gzip-compressed (it starts with 1f 8b 08 00); \
         decompress it first, for example with `gunzip`"
    );
    let zstd = error(&[0x28, 0xb5, 0x2f, 0xfd, 0]);
    assert!(matches!(zstd, Error::Compressed { compression: "zstd", .. }));
    let xz = error(&[0xfd, b'7', b'z', b'X', b'Z', 0]);
    assert!(matches!(xz, Error::Compressed { compression: "xz", .. }));
    let snoop = error(b"snoop\0\0\0\0\0\0\x02\0\0\0\x04");
    assert!(matches!(snoop, Error::OtherFormat { format: "snoop", .. }));
}

#[test]
fn headers_without_packets_are_errors() {
    let header = Pcap::ethernet().bytes;
    for end in 4..24 {
        let found = end as u64;
        assert!(matches!(
            error(&header[..end]),
            Error::HeaderTruncated { needed: 24, found: f, .. } if f == found
        ));
    }
    assert!(matches!(error(&header), Error::NoPackets { .. }));
    let cut = Pcap::ethernet().raw((1, 0), 42, 42, &[]).bytes;
    assert_eq!(
        error(&cut).to_string(),
        "x.pcap: no packet can be read: the file ends inside the record at byte 24; \
         expected an undamaged first packet"
    );
}

#[test]
fn missing_files_and_directories_are_errors() {
    let options = Options::default();
    let missing = read("no/such/file.pcap".as_ref(), &options).unwrap_err();
    assert!(matches!(missing, Error::Open { .. }));
    assert!(missing.to_string().starts_with("no/such/file.pcap: "));
    let directory = env!("CARGO_MANIFEST_DIR");
    assert!(read(directory.as_ref(), &options).is_err());
}

#[test]
fn coarse_keys_merge_flows() {
    let other = ethernet(0x0800, &ipv4(UDP, &[0; 100]));
    let file = Pcap::ethernet()
        .packet((1, 0), &web())
        .packet((1, 0), &other)
        .packet((1, 0), &arp())
        .packet((1, 0), &ethernet(0x86dd, &ipv6(58, &[0; 8])));
    let flows = |key| {
        let capture = with_key(&file.bytes, key);
        let flows = capture.flows.into_iter();
        flows.map(|f| (f.name, f.protocol)).collect::<Vec<_>>()
    };
    let named = |names: [&str; 3]| {
        let protocols = [Protocol::Udp, Protocol::NonIp, Protocol::Icmp];
        names.map(str::to_owned).into_iter().zip(protocols).collect::<Vec<_>>()
    };
    let (a, b) = ("02:00:00:00:00:0a", "02:00:00:00:00:0b");
    assert_eq!(flows(KeyKind::Src), named(["10.0.0.1", a, "2001:db8::1"]));
    assert_eq!(flows(KeyKind::Dst), named(["10.0.0.2", b, "2001:db8::2"]));
    assert_eq!(
        flows(KeyKind::SrcDst),
        named(["10.0.0.1 > 10.0.0.2", "02:00:00:00:00:0a > 02:00:00:00:00:0b", "2001:db8::1 > 2001:db8::2",])
    );
}
