use super::segment::*;
use super::*;
use proptest::prelude::*;

/// The sum of RFC 1071, word by word.
fn naive_sum(parts: &[&[u8]]) -> u16 {
    let bytes: Vec<u8> = parts.concat();
    let mut sum = 0_u32;
    for at in (0..bytes.len()).step_by(2) {
        let low = bytes.get(at + 1).copied().unwrap_or(0);
        sum += u32::from(bytes[at]) << 8 | u32::from(low);
        if sum > 0xffff {
            sum -= 0xffff;
        }
    }
    sum as u16
}

/// A frame as a host with offloads hands it on: the transport checksum holds the sum of the pseudo-header alone.
#[derive(Clone, Debug)]
struct Super {
    frame: Vec<u8>,
    ip: usize,
    transport: usize,
    header: usize,
    tcp: bool,
    v6: bool,
}

fn super_frame(v6: bool, tcp: bool, tags: usize, options: usize, flags: u8, payload: &[u8]) -> Super {
    let mut frame = vec![2; 12];
    for tag in 0..tags {
        frame.extend_from_slice(&[0x81, 0, 0, tag as u8 + 7]);
    }
    frame.extend_from_slice(if v6 { &[0x86, 0xdd] } else { &[8, 0] });
    let ip = frame.len();
    let header = if tcp { 20 + 4 * options } else { 8 };
    let protocol = if tcp { TCP } else { UDP };
    let extension = if v6 { 8 * (options % 2) } else { 0 };
    if v6 {
        let length = (extension + header + payload.len()) as u16;
        frame.extend_from_slice(&[0x60, 0, 0, 0]);
        frame.extend_from_slice(&length.to_be_bytes());
        frame.extend_from_slice(&[if extension > 0 { 60 } else { protocol }, 64]);
        frame.extend((0..32).map(|byte| byte * 7 + 1));
        if extension > 0 {
            frame.extend_from_slice(&[protocol, 0, 1, 4, 0, 0, 0, 0]);
        }
    } else {
        let total = (20 + header + payload.len()) as u16;
        frame.extend_from_slice(&[0x45, 0]);
        frame.extend_from_slice(&total.to_be_bytes());
        frame.extend_from_slice(&[0xff, 0xfe, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 9, 8, 7]);
    }
    let transport = frame.len();
    frame.extend_from_slice(&[0x12, 0x34, 0, 80]);
    if tcp {
        frame.extend_from_slice(&[
            0xff,
            0xff,
            0xff,
            0,
            1,
            2,
            3,
            4,
            (header as u8 / 4) << 4,
            flags,
            9,
            9,
            0,
            0,
            0,
            0,
        ]);
        frame.extend(std::iter::repeat_n(1, header - 20));
    } else {
        frame.extend_from_slice(&((header + payload.len()) as u16).to_be_bytes());
        frame.extend_from_slice(&[0, 0]);
    }
    frame.extend_from_slice(payload);
    let addresses = if v6 { ip + 8..ip + 40 } else { ip + 12..ip + 20 };
    let length = ((frame.len() - transport) as u16).to_be_bytes();
    let pseudo = naive_sum(&[&frame[addresses], &[0, protocol], &length]);
    put(&mut frame, transport + if tcp { 16 } else { 6 }, pseudo);
    Super { frame, ip, transport, header: transport + header, tcp, v6 }
}

fn any_super() -> impl Strategy<Value = (Super, usize, u8)> {
    let payload = prop::collection::vec(any::<u8>(), 0..5000);
    (any::<bool>(), any::<bool>(), 0..3_usize, 0..10_usize, any::<u8>(), payload, 1..1500_usize).prop_map(
        |(v6, tcp, tags, options, flags, payload, size)| {
            (super_frame(v6, tcp, tags, options, flags, &payload), size, flags)
        },
    )
}

/// Whether the checksums of a packet are right, computed slowly.
fn sums_are_right(packet: &[u8], of: &Super) -> bool {
    let protocol = if of.tcp { TCP } else { UDP };
    let addresses = if of.v6 { of.ip + 8..of.ip + 40 } else { of.ip + 12..of.ip + 20 };
    let length = ((packet.len() - of.transport) as u16).to_be_bytes();
    let transport = naive_sum(&[&packet[addresses], &[0, protocol], &length, &packet[of.transport..]]);
    let header = of.v6 || naive_sum(&[&packet[of.ip..of.ip + 20]]) == 0xffff;
    header && transport == 0xffff
}

proptest! {
    #[test]
    fn packets_joined_again_are_the_frame((of, size, flags) in any_super()) {
        prop_assert_eq!(ip_of_ethernet(&of.frame), Some(of.ip));
        let cut = Cut::new(&of.frame, of.ip, size).unwrap();
        let mut joined = Vec::new();
        let count = cut.packets();
        for number in 0..count {
            let mut out = vec![0xaa; 3000];
            let len = cut.write(&of.frame, number, &mut out);
            let packet = &out[..len];
            prop_assert!(sums_are_right(packet, &of), "packet {} of {}", number, count);
            prop_assert!(len - of.header <= size && (number + 1 == count || len - of.header == size));
            let length = word(packet, of.ip + if of.v6 { 4 } else { 2 }).unwrap();
            prop_assert_eq!(usize::from(length), len - of.ip - if of.v6 { 40 } else { 0 });
            if of.v6 {
                prop_assert_eq!(&packet[..of.ip + 4], &of.frame[..of.ip + 4]);
            } else {
                prop_assert_eq!(word(packet, of.ip + 4), Some(0xfffe_u16.wrapping_add(number as u16)));
            }
            if of.tcp {
                let sequence = u32::from_be_bytes(*packet[of.transport + 4..].first_chunk().unwrap());
                prop_assert_eq!(sequence, 0xffff_ff00_u32.wrapping_add(joined.len() as u32));
                let mut expected = flags;
                if number > 0 { expected &= !TCP_CWR; }
                if number + 1 < count { expected &= !(TCP_FIN | TCP_PSH); }
                prop_assert_eq!(packet[of.transport + 13], expected);
            } else {
                prop_assert_eq!(word(packet, of.transport + 4), Some((len - of.transport) as u16));
            }
            joined.extend_from_slice(&packet[of.header..]);
        }
        prop_assert_eq!(&joined[..], &of.frame[of.header..]);
    }

    #[test]
    fn a_checksum_left_to_hardware_is_completed((of, ..) in any_super()) {
        let mut frame = of.frame.clone();
        let completed = complete_checksum(&mut frame, of.transport, if of.tcp { 16 } else { 6 });
        prop_assert!(completed);
        if !of.v6 {
            // The header's own checksum is not left to anybody.
            put(&mut frame, of.ip + 10, 0);
            let sum = !naive_sum(&[&frame[of.ip..of.ip + 20]]);
            put(&mut frame, of.ip + 10, sum);
        }
        prop_assert!(sums_are_right(&frame, &of));
    }

    #[test]
    fn a_checksum_that_no_header_announces_is_completed_once((of, ..) in any_super(), padding in 0..4_usize, broken in 1..u16::MAX) {
        let (mut frame, mut expected) = (of.frame.clone(), of.frame.clone());
        let field = of.transport + if of.tcp { 16 } else { 6 };
        prop_assert!(complete_checksum(&mut expected, of.transport, field - of.transport));
        // Padding of short frames is not under the checksum.
        frame.resize(of.frame.len() + padding, 0xa5);
        expected.resize(of.frame.len() + padding, 0xa5);
        prop_assert!(complete_left_checksum(&mut frame) && frame == expected);
        prop_assert!(!complete_left_checksum(&mut frame) && frame == expected, "it is right already");
        // Any other field is none that was left.
        let wrong = word(&of.frame, field).unwrap().wrapping_add(broken);
        put(&mut frame, field, wrong);
        expected.clone_from(&frame);
        prop_assert!(!complete_left_checksum(&mut frame) && frame == expected);
    }

    #[test]
    fn whatever_comes_is_cut_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200), first in any::<u8>(), at in 0..220_usize, size in 0..100_usize,
        room in 0..200_usize,
    ) {
        let mut frame = bytes;
        if let Some(byte) = frame.get_mut(at) { *byte = first; }
        let _ = ip_of_ethernet(&frame);
        let _ = complete_checksum(&mut frame.clone(), at, size);
        let _ = complete_left_checksum(&mut frame.clone());
        if let Some(cut) = Cut::new(&frame, at, size) {
            for number in 0..cut.packets() {
                cut.write(&frame, number, &mut vec![0; room]);
            }
        }
    }
}

/// A frame of TCP that its packets can be joined to again: nothing but data, and its headers right.
fn any_data() -> impl Strategy<Value = (Super, usize)> {
    let payload = prop::collection::vec(any::<u8>(), 2..9000);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (any::<bool>(), 0..3_usize, 0..10_usize, flags, payload, 150..1500_usize).prop_map(
        |(v6, tags, options, (fin, push, reduced, echo), payload, size)| {
            let flag = |set: bool, flag: u8| if set { flag } else { 0 };
            let flags =
                0x10 | flag(fin, TCP_FIN) | flag(push, TCP_PSH) | flag(reduced, TCP_CWR) | flag(echo, 0x40);
            let mut of = super_frame(v6, true, tags, options, flags, &payload);
            if !v6 {
                let sum = !naive_sum(&[&of.frame[of.ip..of.ip + 20]]);
                put(&mut of.frame, of.ip + 10, sum);
            }
            // Two packets at least.
            (of, size.min(payload.len() - 1))
        },
    )
}

/// The packets that a frame stands for, with their checksums left to hardware, and the rest.
fn packets_of(of: &Super, size: usize) -> (Vec<Vec<u8>>, Unsummed) {
    let cut = Cut::new(&of.frame, of.ip, size).unwrap().leaving_checksums();
    let packet = |number| {
        let mut out = vec![0; 3000];
        let len = cut.write(&of.frame, number, &mut out);
        out.truncate(len);
        out
    };
    ((0..cut.packets()).map(packet).collect(), cut.unsummed().unwrap())
}

proptest! {
    #[test]
    fn cut_and_joined_it_is_the_same((of, size) in any_data()) {
        let (packets, left) = packets_of(&of, size);
        prop_assert!(packets.len() >= 2);
        for packet in &packets {
            let mut whole = packet.clone();
            left.complete(&mut whole);
            prop_assert!(sums_are_right(&whole, &of));
        }
        let mut join = Join::new(&packets[0], of.ip, left).unwrap();
        for (number, packet) in packets.iter().enumerate().skip(1) {
            prop_assert_eq!(join.take(&packets[0], packet, left), number < Join::MOST);
        }
        if packets.len() <= Join::MOST {
            let mut joined = Vec::new();
            let header = join.headers(&packets[0], &mut joined);
            for packet in &packets {
                joined.extend_from_slice(&packet[join.payload()..]);
            }
            prop_assert_eq!(&joined, &of.frame);
            let read = LeftToHardware::read(&header);
            prop_assert_eq!((read.segment, read.checksum), (Some(size), Some(left)));
            let reduced = of.frame[of.transport + 13] & TCP_CWR != 0;
            let kind = if of.v6 { 4 } else { 1 } | if reduced { 0x80 } else { 0 };
            prop_assert_eq!((header[1], header[2]), (kind, join.payload() as u8));
        }
    }

    /// One bit that is not as it would be after a cut is enough; a checksum that is left says nothing.
    #[test]
    fn what_differs_is_not_joined((of, size) in any_data(), at in 0..2000_usize, bit in 0..8_u32) {
        let (mut packets, left) = packets_of(&of, size);
        let at = at % of.header;
        prop_assume!(!(of.transport + 16..of.transport + 18).contains(&at));
        let bit = 1_u8 << bit;
        let last_flags = at == of.transport + 13 && [TCP_FIN, TCP_PSH].contains(&bit);
        packets[1][at] ^= bit;
        let mut join = Join::new(&packets[0], of.ip, left).unwrap();
        prop_assert_eq!(join.take(&packets[0].clone(), &packets[1], left), last_flags);
        prop_assert!(!join.take(&packets[0], &packets[0], left), "out of order");
    }
}

#[test]
fn what_ends_a_joined_frame() {
    let of = super_frame(true, true, 0, 3, 0x10, &[7; 5000]);
    let (packets, left) = packets_of(&of, 1000);
    let begun = || Join::new(&packets[0], of.ip, left).unwrap();
    let mut push = packets[1].clone();
    push[of.transport + 13] |= TCP_PSH;
    let mut join = begun();
    assert!(join.take(&packets[0], &push, left) && !join.take(&packets[0], &packets[2], left), "PSH");
    assert!(Join::new(&push, of.ip, left).is_none(), "nothing follows PSH");
    let (mut join, short) = (begun(), &packets[1][..packets[1].len() - 1]);
    assert!(!join.take(&packets[0], short, left), "its own length is wrong");
    let other = Unsummed { start: left.start, offset: 6 };
    assert!(!join.take(&packets[0], &packets[1], other) && Join::new(&packets[0], of.ip, other).is_none());
    let udp = super_frame(false, false, 0, 0, 0, &[7; 4000]);
    assert!(Join::new(&udp.frame, udp.ip, left).is_none(), "datagrams stay apart");
    for flag in [0x02, 0x04, 0x20] {
        let mut first = packets[0].clone();
        first[of.transport + 13] |= flag;
        assert!(Join::new(&first, of.ip, left).is_none(), "flag {flag:x}");
    }
}

#[test]
fn what_cannot_be_cut() {
    let whole = super_frame(false, true, 0, 0, 0x10, &[7; 4000]);
    assert!(Cut::new(&whole.frame, whole.ip, 1000).is_some());
    assert!(Cut::new(&whole.frame, whole.ip, 0).is_none(), "no size");
    let changed = |at: usize, byte: u8| {
        let mut frame = whole.frame.clone();
        frame[at] = byte;
        Cut::new(&frame, whole.ip, 1000)
    };
    assert!(changed(whole.ip + 6, 0x20).is_none(), "a fragment");
    assert!(changed(whole.ip + 9, 132).is_none(), "SCTP");
    assert!(changed(whole.transport + 12, 0x40).is_none(), "a TCP header of 16 bytes");
    let udp = super_frame(false, false, 0, 0, 0, &[7; 4000]);
    let mut unsummed = udp.frame.clone();
    put(&mut unsummed, udp.transport + 6, 0);
    let mut out = [0; 1500];
    Cut::new(&unsummed, udp.ip, 1000).unwrap().write(&unsummed, 1, &mut out);
    assert_eq!(word(&out, udp.transport + 6), Some(0), "UDP without checksum stays so");
}
