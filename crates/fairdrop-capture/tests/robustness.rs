//! No input makes the reader panic or break its promises.

use std::io::{self, Read};

use crate::common::*;
use fairdrop_capture::{Error, KeyKind, MAX_PACKET_BYTES, Options, read_bytes, read_from};
use proptest::prelude::*;

/// Whatever is read must satisfy what the documentation promises.
fn check(bytes: &[u8]) {
    for key in KeyKind::ALL {
        let options = Options { key, max_gap_ns: Some(1_000_000_000) };
        let Ok(capture) = read_bytes(bytes, "test", &options) else {
            continue;
        };
        assert!(!capture.arrivals.is_empty());
        assert!(capture.arrivals.is_sorted_by_key(|a| a.time_ns));
        for arrival in &capture.arrivals {
            assert!((arrival.flow as usize) < capture.flows.len());
            assert!(arrival.wire_len <= MAX_PACKET_BYTES);
        }
        let mut names: Vec<_> = capture.flows.iter().map(|f| &f.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), capture.flows.len());
        assert!(capture.notes.warnings().iter().all(|w| !w.is_empty()));
    }
}

fn classic_sample() -> Vec<u8> {
    let vlan = ethernet(0x8100, &tagged(0x0800, &ipv4(UDP, &ports(1, 2))));
    let options = [&[UDP, 0, 0, 0, 0, 0, 0, 0], &ports(53, 5000)[..]].concat();
    Pcap::ethernet()
        .packet((1, 0), &web())
        .packet((1, 5), &vlan)
        .packet((2, 0), &ethernet(0x86dd, &ipv6(0, &options)))
        .packet((2, 1), &ethernet(0x0800, &ipv4_part(UDP, (1, true, 0), &ports(3, 4))))
        .packet((2, 2), &ethernet(0x0800, &ipv4_part(UDP, (1, false, 1), &[0; 8])))
        .packet((9, 0), &arp())
        .bytes
}

fn pcapng_sample() -> Vec<u8> {
    Ng::new(Order::Little)
        .interface(1, 64, &[(9, &[0x94]), (14, &[1, 0, 0, 0, 0, 0, 0, 0])])
        .enhanced(0, 1 << 40, 42, &web())
        .simple(42, &web())
        .obsolete(0, 1 << 41, 42, &web())
        .block(5, &[0; 12])
        .section(Order::Big)
        .interface(101, 0, &[])
        .enhanced(0, 1, 28, &ipv4(TCP, &ports(80, 5000)))
        .bytes
}

fn start() -> impl Strategy<Value = Vec<u8>> {
    let starts = [Order::Little, Order::Big].into_iter().flat_map(|order| {
        let links = [0, 1, 9, 51, 101, 105, 108, 113, 127, 276];
        let classic = links.map(|link| Pcap::new(MICRO, order, link).bytes);
        let small = links.map(|l| Ng::new(order).interface(u16::try_from(l).unwrap(), 0, &[]).bytes);
        classic.into_iter().chain(small)
    });
    prop::sample::select(starts.collect::<Vec<_>>())
}

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in bytes(300)) {
        check(&bytes);
    }

    #[test]
    fn random_bytes_behind_a_valid_start(start in start(), rest in bytes(300)) {
        check(&[start, rest].concat());
    }

    #[test]
    fn random_packets_of_every_link_type(
        link in prop::sample::select(vec![0_u32, 1, 9, 12, 50, 51, 101, 105, 108, 113, 127, 228, 229, 276]),
        packets in prop::collection::vec((any::<u32>(), any::<u32>(), bytes(120)), 1..8),
    ) {
        let file = packets.iter().fold(Pcap::new(NANO, Order::Big, link), |file, (s, ns, data)| {
            file.packet((*s, *ns), data)
        });
        check(&file.bytes);
    }

    #[test]
    fn corrupted_files(
        classic in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        end in any::<prop::sample::Index>(),
        cut in prop::bool::weighted(0.2),
    ) {
        let mut file = if classic { classic_sample() } else { pcapng_sample() };
        for (at, value) in changes {
            let at = at.index(file.len());
            file[at] = value;
        }
        if cut {
            file.truncate(end.index(file.len()));
        }
        check(&file);
    }
}

#[test]
fn every_single_byte_changed() {
    for sample in [classic_sample(), pcapng_sample()] {
        check(&sample);
        for at in 0..sample.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut file = sample.clone();
                file[at] = value;
                check(&file);
            }
        }
    }
}

#[test]
fn nested_link_headers_do_not_exhaust_the_stack() {
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 0, 8].repeat(1_000_000);
    let tags = [0, 1, 0x81, 0].repeat(1_000_000);
    let options = [60, 0, 0, 0, 0, 0, 0, 0].repeat(1_000_000);
    let mut jumbo = ipv6(60, &[]);
    jumbo.extend(&options);
    let file = Pcap::ethernet()
        .packet((1, 0), &ethernet(8, &snap))
        .packet((1, 0), &ethernet(0x8100, &tags))
        .packet((1, 0), &ethernet(0x8847, &vec![0; 1_000_000]))
        .packet((1, 0), &ethernet(0x86dd, &jumbo));
    check(&file.bytes);
}

/// Delivers one byte at a time with interruptions in between, then fails if
/// asked to.
struct Slow<'a> {
    rest: &'a [u8],
    interrupt: bool,
    fail: bool,
}

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupt = !self.interrupt;
        if self.interrupt {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.rest.is_empty() && self.fail {
            return Err(io::Error::other("cable pulled"));
        }
        let count = self.rest.len().min(buffer.len()).min(1);
        let (now, later) = self.rest.split_at(count);
        buffer[..count].copy_from_slice(now);
        self.rest = later;
        Ok(count)
    }
}

#[test]
fn streams_may_be_slow() {
    for sample in [classic_sample(), pcapng_sample()] {
        let slow = Slow { rest: &sample, interrupt: false, fail: false };
        let options = Options::default();
        let capture = read_from(slow, "test", &options).unwrap();
        assert_eq!(capture, read_bytes(&sample, "test", &options).unwrap());
    }
}

#[test]
fn failing_streams_are_errors() {
    for sample in [classic_sample(), pcapng_sample(), vec![0xd4]] {
        let failing = Slow { rest: &sample, interrupt: false, fail: true };
        let error = read_from(failing, "pipe", &Options::default()).unwrap_err();
        let expected = sample.len() as u64;
        assert!(matches!(error, Error::Read { offset, .. } if offset == expected));
        assert!(error.to_string().contains("cable pulled"));
    }
}
