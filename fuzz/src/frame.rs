//! A frame as a port hands it over.

use fairdrop_capture::{Classifier, FlowName, KeyKind, LinkType};
use fairdrop_live::frame::{Cut, complete_checksum, complete_left_checksum, ip_of_ethernet, mark};

/// Link types that are read, and one that is not.
const LINK_TYPES: [u16; 14] = [1, 101, 113, 276, 0, 9, 12, 50, 51, 105, 108, 127, 228, 4711];

/// Classifies a frame of a link type that the first byte chooses, by every flow key, and marks it; cuts it as if it stood for
/// many, and completes a checksum. What is found lies within the frame, and the packets' payloads are the frame's.
pub fn frame(data: &[u8]) {
    let [link, size, at, offset, frame @ ..] = data else { return };
    let link = LinkType(LINK_TYPES[usize::from(*link) % LINK_TYPES.len()]);
    for key in KeyKind::ALL {
        let mut classifier = Classifier::new(link, key, [1, 2]);
        let seen = classifier.classify(frame, 0);
        assert_eq!(classifier.name(), FlowName::of(link, key, frame).to_string());
        assert!(seen.ip.is_none_or(|ip| ip < frame.len()) && seen.dscp < 64);
        if let Some(ip) = seen.ip {
            let mut marked = frame.to_vec();
            mark(&mut marked, ip);
            assert_eq!(marked.len(), frame.len());
        }
    }
    let (size, at) = (usize::from(*size), usize::from(*at));
    for ip in [Some(at), Some(0), ip_of_ethernet(frame)].into_iter().flatten() {
        if let Some(cut) = Cut::new(frame, ip, size) {
            check_cut(frame, &cut, size);
        }
    }
    let mut completed = frame.to_vec();
    let reaches = complete_checksum(&mut completed, at, usize::from(*offset));
    assert_eq!(reaches, at + usize::from(*offset) + 2 <= frame.len());
    // Who completes it twice changes nothing more.
    let mut left = frame.to_vec();
    complete_left_checksum(&mut left);
    let once = left.clone();
    assert!(left.len() == frame.len() && !complete_left_checksum(&mut left) && left == once);
}

fn check_cut(frame: &[u8], cut: &Cut, size: usize) {
    let mut out = vec![0; frame.len()];
    let lengths: Vec<usize> = (0..cut.packets()).map(|number| cut.write(frame, number, &mut out)).collect();
    assert!(lengths.iter().all(|&len| len <= frame.len()));
    let (last, others) = lengths.split_last().expect("there is at least one packet");
    assert!(others.iter().all(|len| len == &lengths[0]) && last <= &lengths[0]);
    // The payload ends where the frame or its IP packet does.
    let payload = |len: &usize| len + size - lengths[0];
    if !others.is_empty() {
        let header = lengths[0] - size;
        assert!(header + lengths.iter().map(payload).sum::<usize>() <= frame.len());
    }
    // Too little room is no reason to panic.
    cut.write(frame, 0, &mut out[..frame.len() / 2]);
}
