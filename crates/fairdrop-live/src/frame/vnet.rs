//! What a frame says of the work that was left to hardware: `struct virtio_net_hdr` (virtio 1.2, section 5.1.6; packet(7),
//! `PACKET_VNET_HDR`; `IFF_VNET_HDR` of TUN devices), in the byte order of this machine.

use super::checksum::complete_checksum;

/// Bytes of the header.
pub const VNET_HEADER: usize = 10;

const NEEDS_CSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_ECN: u8 = 0x80;

/// A checksum that was left to hardware: its field holds the sum of the pseudo-header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsummed {
    /// Where it begins to count.
    pub start: u16,
    /// Where its field lies from there.
    pub offset: u16,
}

/// The same, read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftToHardware {
    /// The checksum.
    pub checksum: Option<Unsummed>,
    /// Payload of each packet that the frame stands for.
    pub segment: Option<usize>,
}

impl LeftToHardware {
    /// From the header's bytes; nothing was left when there are too few.
    pub fn read(header: &[u8]) -> Self {
        let Some(header) = header.first_chunk::<VNET_HEADER>() else { return Self::default() };
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        Self {
            checksum: (header[0] & NEEDS_CSUM != 0).then(|| Unsummed { start: word(6), offset: word(8) }),
            segment: (header[1] != GSO_NONE).then(|| word(4).into()),
        }
    }

    /// Completes the checksum of a frame into which a tag of `tag` bytes was put.
    pub fn complete(self, frame: &mut [u8], tag: usize) {
        if let Some(Unsummed { start, offset }) = self.checksum {
            // A frame that is too short for its own header goes on as it is.
            complete_checksum(frame, usize::from(start) + tag, usize::from(offset));
        }
    }
}

impl Unsummed {
    /// Whether the field lies in a frame of `len` bytes.
    pub fn lies_in(self, len: usize) -> bool {
        usize::from(self.start) + usize::from(self.offset) + 2 <= len
    }

    /// Completes it.
    pub fn complete(self, frame: &mut [u8]) {
        LeftToHardware { checksum: Some(self), segment: None }.complete(frame, 0);
    }

    /// The header of a finished frame.
    pub fn header(self) -> [u8; VNET_HEADER] {
        let mut header = [0; VNET_HEADER];
        header[0] = NEEDS_CSUM;
        header[6..8].copy_from_slice(&self.start.to_ne_bytes());
        header[8..10].copy_from_slice(&self.offset.to_ne_bytes());
        header
    }

    /// The header of a frame of TCP that stands for packets of `size` bytes of payload, with `headers` bytes before it; `ecn`:
    /// the first of them says that the window was reduced.
    pub fn tcp_header(self, v6: bool, ecn: bool, headers: u16, size: u16) -> [u8; VNET_HEADER] {
        let mut header = self.header();
        header[1] = if v6 { GSO_TCPV6 } else { GSO_TCPV4 } | if ecn { GSO_ECN } else { 0 };
        header[2..4].copy_from_slice(&headers.to_ne_bytes());
        header[4..6].copy_from_slice(&size.to_ne_bytes());
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        assert_eq!(LeftToHardware::read(&[0; VNET_HEADER]), LeftToHardware::default());
        assert_eq!(LeftToHardware::read(&[1; 9]), LeftToHardware::default());
        let unsummed = Unsummed { start: 34, offset: 16 };
        let header = unsummed.tcp_header(false, true, 66, 1448);
        assert_eq!(header[..2], [1, 0x81]);
        let read = LeftToHardware::read(&header);
        assert_eq!(read, LeftToHardware { checksum: Some(unsummed), segment: Some(1448) });
        read.complete(&mut [0; 40], 4);
        assert_eq!(unsummed.tcp_header(true, false, 86, 1428)[1], 4);
        let alone = LeftToHardware { checksum: Some(unsummed), segment: None };
        assert_eq!(LeftToHardware::read(&unsummed.header()), alone);
        assert!(unsummed.lies_in(52) && !unsummed.lies_in(51));
    }
}
