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
    fn a_checksum_that_nobody_tells_of_is_completed_once((of, ..) in any_super(), padding in 0..4_usize, broken in 1..u16::MAX) {
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
