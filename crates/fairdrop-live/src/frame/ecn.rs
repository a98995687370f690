//! Marks in IP headers.

use fairdrop::Ecn;

/// Sets the ECN field of the IP packet that begins at `ip` in `frame` to "congestion experienced" (RFC 3168, section 5).
/// The IPv4 header's checksum is updated by what changed (RFC 1624, equation 3). Returns whether that changed something:
/// whether there was such a header, without the mark.
pub fn mark(frame: &mut [u8], ip: usize) -> bool {
    match frame.get(ip).map(|first| first >> 4) {
        Some(4) if frame.len() >= ip + 20 && frame[ip + 1] & 3 != 3 => {
            let before = u16::from_be_bytes([frame[ip], frame[ip + 1]]);
            let after = before | Ecn::Ce as u16;
            frame[ip + 1] |= Ecn::Ce as u8;
            let sum = u16::from_be_bytes([frame[ip + 10], frame[ip + 11]]);
            frame[ip + 10..ip + 12].copy_from_slice(&updated(sum, before, after).to_be_bytes());
            true
        }
        Some(6) if frame.len() >= ip + 40 && frame[ip + 1] >> 4 & 3 != 3 => {
            // The traffic class lies across the first two bytes; its ECN field is bits 4 and 5 of the second.
            frame[ip + 1] |= (Ecn::Ce as u8) << 4;
            true
        }
        _ => false,
    }
}

/// The checksum of a header in which one 16-bit word changed (RFC 1624, equation 3).
fn updated(sum: u16, before: u16, after: u16) -> u16 {
    let total = u32::from(!sum) + u32::from(!before) + u32::from(after);
    let folded = (total & 0xffff) + (total >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum of a header, computed anew (RFC 1071).
    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let mut sum: u32 = words.sum();
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !sum as u16
    }

    #[test]
    fn the_checksum_stays_right_for_every_field() {
        for dscp in 0..64_u8 {
            for ecn in 0..4_u8 {
                for ident in [0_u16, 1, 0x1234, 0xfffe, 0xffff] {
                    let mut header =
                        [0x45, dscp << 2 | ecn, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
                    header[4..6].copy_from_slice(&ident.to_be_bytes());
                    let sum = checksum(&header);
                    header[10..12].copy_from_slice(&sum.to_be_bytes());
                    let mut frame = vec![0; 14];
                    frame.extend_from_slice(&header);
                    assert_eq!(mark(&mut frame, 14), ecn != 3);
                    assert_eq!(frame[15], dscp << 2 | 3);
                    assert_eq!(checksum(&frame[14..]), 0, "dscp {dscp}, ecn {ecn}, ident {ident}");
                }
            }
        }
    }

    #[test]
    fn the_traffic_class_of_ipv6() {
        let mut packet = [0_u8; 40];
        packet[..4].copy_from_slice(&[0x6a, 0x25, 0x43, 0x21]);
        assert!(mark(&mut packet, 0));
        assert_eq!(packet[..4], [0x6a, 0x35, 0x43, 0x21]);
    }

    #[test]
    fn what_is_no_ip_packet_stays_as_it_is() {
        for frame in [&[0x45_u8; 19][..], &[0x60; 39], &[0x00; 60], &[]] {
            let mut changed = frame.to_vec();
            assert!(!mark(&mut changed, 0));
            assert_eq!(changed, frame);
        }
    }
}
