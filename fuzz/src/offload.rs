//! A frame as a TUN device hands it over, behind its `virtio_net_hdr`.

use fairdrop_live::frame::{Join, Unsummed, VNET_HEADER, Whole};

/// Room of a frame buffer, bytes, and of the longest frame.
const ROOM: usize = 1500;
const LONGEST: usize = 4096;

/// Takes a frame: the first byte says whether checksums are completed and whether there is little room; the header and the frame
/// follow. Packets are cut from it until none is left, and those that follow each other are joined.
pub fn offload(data: &[u8]) {
    let Some((&[how], data)) = data.split_first_chunk() else { return };
    let Some((header, frame)) = data.split_first_chunk::<VNET_HEADER>() else { return };
    let (complete, room) = (how & 1 != 0, if how & 2 != 0 { 64 } else { ROOM });
    let frame = &frame[..frame.len().min(LONGEST)];
    let mut whole = Whole::new(LONGEST);
    let mut buffer = vec![0; room];
    let (head, bytes) = whole.bytes().split_at_mut(VNET_HEADER);
    head.copy_from_slice(header);
    bytes[..frame.len()].copy_from_slice(frame);

    let mut packets = Vec::new();
    let mut next = Some(whole.take(&mut buffer, 0, frame.len(), complete));
    while let Some((len, left)) = next {
        assert!(len <= frame.len(), "a packet is no longer than the frame");
        assert!(!complete || left.is_none(), "checksums are completed");
        if len <= room {
            assert!(left.is_none_or(|left| left.lies_in(len)), "what is left lies in the packet");
            packets.push((buffer[..len].to_vec(), left));
        }
        next = whole.next_packet(&mut buffer);
    }
    assert!(packets.len() <= frame.len() + 1, "each has a byte of payload, or is the only one");
    join(&packets);
}

fn join(packets: &[(Vec<u8>, Option<Unsummed>)]) {
    let mut rest = packets;
    while let Some(((first, left), others)) = rest.split_first() {
        rest = others;
        let Some(left) = *left else { continue };
        let Some(mut join) = Join::new(first, 0, left) else { continue };
        while let Some(((packet, Some(left)), others)) = rest.split_first()
            && join.take(first, packet, *left)
        {
            rest = others;
        }
        assert!((1..=Join::MOST).contains(&join.packets()) && join.payload() < first.len());
        let mut headers = Vec::new();
        join.headers(first, &mut headers);
        assert_eq!(headers.len(), join.payload());
    }
}
