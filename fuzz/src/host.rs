//! Clock, storage, random bits and a ledger.

use std::collections::{BTreeMap, VecDeque};

use fairdrop::{Departures, DropCause, Ecn, Env, Heap, Memory, Packet, Philox, Stats, Stream, Time};

/// Storage from the allocator, but not without end.
pub struct BoundedHeap;

impl Memory for BoundedHeap {
    type Of<T> = Box<[T]>;

    fn take<T: Default>(&mut self, count: usize) -> Option<Box<[T]>> {
        if count <= 1 << 14 { Heap.take(count) } else { None }
    }
}

/// Random bits: some that the fuzzer chose, then a generator.
pub struct Host {
    pub now: Time,
    pub chosen: VecDeque<u64>,
    pub random: Philox,
    pub ledger: Ledger,
}

impl Env<u32> for Host {
    fn now(&self) -> Time {
        self.now
    }

    fn flow_key(&self) -> [u64; 2] {
        [0, 0]
    }

    fn random(&mut self, _: Stream) -> u64 {
        self.chosen.pop_front().unwrap_or_else(|| self.random.next_u64())
    }

    fn dropped(&mut self, packet: Packet<u32>, cause: DropCause) {
        self.ledger.counters.dropped[cause as usize].add(packet.meta.len);
        self.ledger.settle(&packet);
    }

    fn drawn(&mut self, candidate: &Packet<u32>) {
        self.ledger.counters.drawn += 1;
        assert!(self.ledger.inside.contains_key(&candidate.handle), "a candidate that does not wait");
    }
}

/// What went in and came out.
#[derive(Default)]
pub struct Ledger {
    /// Packets that went in and did not come out, by handle; handles number the arrivals.
    pub inside: BTreeMap<u32, Packet<u32>>,
    pub counters: Stats,
    /// The last packet of each flow and class that left, and the last of all.
    last_of_flow: BTreeMap<(u64, u8), u32>,
    last: Option<u32>,
}

impl Ledger {
    pub fn enter(&mut self, packet: &Packet<u32>) {
        self.counters.arrived.add(packet.meta.len);
        self.inside.insert(packet.handle, packet.clone());
    }

    /// A packet comes out: it went in, it comes out once, and nothing of it changed but a mark on one that can bear it.
    pub fn settle(&mut self, packet: &Packet<u32>) {
        let mut entered = self.inside.remove(&packet.handle).expect("a packet comes out that is not inside");
        if entered.meta.ecn != Ecn::NotCapable && packet.meta.ecn == Ecn::Ce {
            entered.meta.ecn = Ecn::Ce;
        }
        // The label of CSFQ is rewritten on the way.
        entered.meta.label = packet.meta.label;
        assert_eq!(&entered, packet, "a packet was altered");
    }

    pub fn depart(&mut self, packet: &Packet<u32>, order: Departures) {
        self.counters.departed.add(packet.meta.len);
        self.settle(packet);
        let (last, of_flow) = (
            Some(packet.handle),
            self.last_of_flow.insert((packet.meta.flow, packet.meta.class), packet.handle),
        );
        match order {
            Departures::InOrder => assert!(self.last < last, "packets left out of order"),
            Departures::InOrderWithinFlows => {
                assert!(of_flow < last, "packets of a flow and class left out of order")
            }
            Departures::AnyOrder => {}
        }
        self.last = last;
    }
}
