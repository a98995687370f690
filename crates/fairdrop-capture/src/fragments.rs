//! Ports for the fragments that have none (see the crate documentation).

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use crate::headers::{Fragment, Ip};

/// Fragmented packets remembered at a time.
const CAPACITY: usize = 4096;

/// The reassembly limit of RFC 8200 section 4.5, 60 seconds, in nanoseconds.
/// Identifications are used anew after a while.
const LIFETIME_NS: i128 = 60_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    src: IpAddr,
    dst: IpAddr,
    fragment: Fragment,
}

struct First {
    time_ns: i128,
    serial: u64,
    protocol: u8,
    ports: Option<(u16, u16)>,
}

/// The newest first fragments.
#[derive(Default)]
pub(crate) struct Fragments {
    table: HashMap<Key, First>,
    /// Oldest first, with the serial of the entry meant.
    order: VecDeque<(Key, u64)>,
    serial: u64,
}

impl Fragments {
    /// Remembers nothing yet, and never allocates again.
    pub(crate) fn reserved() -> Self {
        let (table, order) = (HashMap::with_capacity(CAPACITY + 1), VecDeque::with_capacity(CAPACITY + 1));
        Self { table, order, serial: 0 }
    }

    /// Remembers a first fragment; gives a later one the protocol and ports of
    /// its first. Whole packets pass. Returns false for a later fragment whose
    /// first is not known. `time_ns` is that of the file.
    pub(crate) fn resolve(&mut self, ip: &mut Ip, time_ns: i128) -> bool {
        let Some(fragment) = ip.fragment else {
            return true;
        };
        let key = Key { src: ip.src, dst: ip.dst, fragment: Fragment { first: true, ..fragment } };
        if fragment.first {
            self.remember(key, ip, time_ns);
            return true;
        }
        match self.table.get(&key) {
            Some(first) if time_ns.saturating_sub(first.time_ns) <= LIFETIME_NS => {
                ip.protocol = first.protocol;
                ip.ports = first.ports;
                true
            }
            _ => false,
        }
    }

    fn remember(&mut self, key: Key, ip: &Ip, time_ns: i128) {
        self.serial += 1;
        let first = First { time_ns, serial: self.serial, protocol: ip.protocol, ports: ip.ports };
        self.table.insert(key, first);
        self.order.push_back((key, self.serial));
        if self.order.len() > CAPACITY
            && let Some((oldest, serial)) = self.order.pop_front()
            && self.table.get(&oldest).is_some_and(|f| f.serial == serial)
        {
            self.table.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(ident: u32, first: bool) -> Ip {
        Ip {
            src: [10, 0, 0, 1].into(),
            dst: [10, 0, 0, 2].into(),
            protocol: 17,
            ports: first.then_some((1, 2)),
            fragment: Some(Fragment { first, ident, protocol: Some(17) }),
            traffic_class: 0,
            bytes: 28,
        }
    }

    #[test]
    fn the_table_is_bounded_and_forgets_the_oldest() {
        let mut fragments = Fragments::default();
        for ident in 0..=u32::try_from(CAPACITY).unwrap() {
            assert!(fragments.resolve(&mut fragment(ident, true), 0));
        }
        assert_eq!(fragments.table.len(), CAPACITY);
        assert!(!fragments.resolve(&mut fragment(0, false), 0));
        let mut later = fragment(1, false);
        assert!(fragments.resolve(&mut later, 0));
        assert_eq!(later.ports, Some((1, 2)));
    }

    #[test]
    fn one_identification_over_and_over_stays_known() {
        let mut fragments = Fragments::default();
        for _ in 0..3 * CAPACITY {
            assert!(fragments.resolve(&mut fragment(7, true), 0));
        }
        assert!(fragments.order.len() <= CAPACITY);
        assert!(fragments.resolve(&mut fragment(7, false), 0));
    }

    #[test]
    fn first_fragments_expire() {
        let mut fragments = Fragments::default();
        assert!(fragments.resolve(&mut fragment(1, true), 5));
        assert!(fragments.resolve(&mut fragment(1, false), 5 + LIFETIME_NS));
        assert!(!fragments.resolve(&mut fragment(1, false), 6 + LIFETIME_NS));
    }
}
