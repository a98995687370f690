//! Real captures, where the collection of them is at hand.

use std::fs;
use std::path::{Path, PathBuf};

use fairdrop_capture::{Format, KeyKind, Options, read};

fn captures() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/captures");
    let Ok(entries) = fs::read_dir(&directory) else {
        println!("skipped: no captures in {}", directory.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Counts packets and wire bytes of little-endian files with as little
/// knowledge as will do.
fn naive_count(bytes: &[u8]) -> (usize, u64) {
    let pcapng = bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]);
    let (mut at, mut packets, mut total) = (if pcapng { 0 } else { 24 }, 0, 0);
    while at < bytes.len() {
        let (wire_at, length) = if pcapng {
            let kind = u32_at(bytes, at);
            assert!(![2, 3].contains(&kind), "packet blocks not counted here");
            ((kind == 6).then_some(at + 24), u32_at(bytes, at + 4))
        } else {
            (Some(at + 12), 16 + u32_at(bytes, at + 8))
        };
        if let Some(wire_at) = wire_at {
            packets += 1;
            total += u64::from(u32_at(bytes, wire_at));
        }
        at += length as usize;
    }
    (packets, total)
}

#[test]
fn real_captures_agree_with_a_naive_count() {
    for path in captures() {
        let bytes = fs::read(&path).unwrap();
        let (packets, total) = naive_count(&bytes);
        assert!(packets > 0);
        for key in KeyKind::ALL {
            let options = Options { key, max_gap_ns: None };
            let capture = read(&path, &options).unwrap();
            assert_eq!(capture.arrivals.len(), packets, "{}", path.display());
            assert_eq!(capture.wire_bytes(), total, "{}", path.display());
            assert!(capture.arrivals.is_sorted_by_key(|a| a.time_ns));
            assert_eq!(capture.arrivals[0].time_ns, 0);
            assert_eq!(capture.notes.damage, None);
            let pcapng = bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]);
            assert_eq!(capture.format == Format::PcapNg, pcapng);
            if key == KeyKind::FiveTuple {
                println!(
                    "{}: {}, {packets} packets, {total} bytes, {} flows, {} ns, {:#?}",
                    path.display(),
                    capture.format,
                    capture.flows.len(),
                    capture.duration_ns(),
                    capture.notes.warnings(),
                );
            }
        }
    }
}

/// The same files as the capture library of tcpdump counts them.
#[test]
fn known_packet_counts() {
    let known = [
        ("alexa-app.pcapng", 3103),
        ("bitcoin.pcap", 529),
        ("ip-frag.pcap", 3000),
        ("many-protocols.pcap", 4709),
        ("vnc.pcap", 4551),
        ("zoom.pcap", 781),
    ];
    for path in captures() {
        let name = path.file_name().unwrap().to_string_lossy();
        if let Some((_, packets)) = known.iter().find(|k| k.0 == name) {
            let capture = read(&path, &Options::default()).unwrap();
            assert_eq!(capture.arrivals.len(), *packets, "{name}");
        }
    }
}
