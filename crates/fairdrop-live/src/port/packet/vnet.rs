//! What a frame says of the work that was left to hardware: `struct virtio_net_hdr` (virtio 1.2, section 5.1.6; packet(7),
//! `PACKET_VNET_HDR`), in the byte order of this machine.

use super::ring::VNET_HEADER;
use crate::frame::complete_checksum;

const NEEDS_CSUM: u8 = 1;
const GSO_NONE: u8 = 0;

/// The same, read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeftToHardware {
    /// Where the checksum begins to count, and where its field lies from there.
    pub checksum: Option<(usize, usize)>,
    /// Payload of each packet that the frame stands for.
    pub segment: Option<usize>,
}

impl LeftToHardware {
    /// From the header's bytes; nothing was left when there are too few.
    pub fn read(header: &[u8]) -> Self {
        let Some(header) = header.first_chunk::<VNET_HEADER>() else { return Self::default() };
        let word = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
        Self {
            checksum: (header[0] & NEEDS_CSUM != 0).then(|| (word(6), word(8))),
            segment: (header[1] != GSO_NONE).then(|| word(4)),
        }
    }

    /// Completes the checksum of a frame into which a tag of `tag` bytes was put.
    pub fn complete(self, frame: &mut [u8], tag: usize) {
        if let Some((start, offset)) = self.checksum {
            // A frame that is too short for its own header goes on as it is.
            complete_checksum(frame, start + tag, offset);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let mut header = [0; VNET_HEADER];
        assert_eq!(LeftToHardware::read(&header), LeftToHardware::default());
        assert_eq!(LeftToHardware::read(&[1; 9]), LeftToHardware::default());
        (header[0], header[1]) = (NEEDS_CSUM, 1);
        header[4..6].copy_from_slice(&1448_u16.to_ne_bytes());
        header[6..8].copy_from_slice(&34_u16.to_ne_bytes());
        header[8..10].copy_from_slice(&16_u16.to_ne_bytes());
        let read = LeftToHardware::read(&header);
        assert_eq!(read, LeftToHardware { checksum: Some((34, 16)), segment: Some(1448) });
        read.complete(&mut [0; 40], 4);
    }
}
