//! Back CHOKe with a memory: an arrival is dropped when its flow is among the last M admitted.
//!
//! The memory holds the flows of the M most recently admitted packets, departed or not; only arriving packets are
//! dropped. Entries are distinct, so any M + 1 consecutive admissions are of M + 1 flows. In its network form the
//! memory is gated by RED's average: below `min_th` nothing is compared and the memory is cleared, or a single flow would be
//! blocked for ever; packets that the memory admits then go through RED. With `min_th` 0 and `max_p` 0 it is the form of the
//! paper's model.
//!
//! Source: R. Pan, B. Prabhakar, K. Psounis, "CHOKe ...", INFOCOM 2000, IV.B.

use super::red::{RedParams, RedQueue, red_queue_calls};
use crate::contract::{Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{LeakyFifo, Slot, Storage};

/// Most entries of the memory.
pub const MAX_MEMORY: usize = 256;

/// The flows of the last packets admitted, oldest overwritten first.
#[derive(Clone, Debug)]
struct RecentFlows {
    flows: [u64; MAX_MEMORY],
    size: usize,
    filled: usize,
    next: usize,
}

impl RecentFlows {
    fn new(size: u16) -> Self {
        Self { flows: [0; MAX_MEMORY], size: usize::from(size).min(MAX_MEMORY), filled: 0, next: 0 }
    }

    fn contains(&self, flow: u64) -> bool {
        self.flows.iter().take(self.filled).any(|&known| known == flow)
    }

    fn add(&mut self, flow: u64) {
        if self.size == 0 {
            return;
        }
        if let Some(entry) = self.flows.get_mut(self.next) {
            *entry = flow;
        }
        self.next = if self.next + 1 >= self.size { 0 } else { self.next + 1 };
        self.filled = (self.filled + 1).min(self.size);
    }

    fn clear(&mut self) {
        (self.filled, self.next) = (0, 0);
    }
}

params! {
    /// Parameters of [`BackChokeMemory`].
    pub struct BackChokeMemoryParams {
        /// The average, its thresholds, and the early-drop test for arrivals that the memory admits.
        base red: RedParams;
        /// Number of recently admitted packets whose flows are remembered (M); fewer than the active flows.
        memory: u16 = 1, Integer(0, MAX_MEMORY as i64) => "packets", "Pan, Prabhakar, Psounis 2000, IV.B";
    }
}

impl Registered for BackChokeMemoryParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "back_choke_memory",
        title: "Back CHOKe with memory",
        label: "Back CHOKe",
        doc: "RED that first drops an arrival whose flow is among the last few admitted.",
        report: "Remembers the flows of the last few packets let in, and drops an arriving packet of any of them.",
        family: Family::Choke,
        source: "Pan, Prabhakar, Psounis 2000, IV.B",
        ..facts::<Self>()
    };

    in_storage!(BackChokeMemory, ring);
}

/// Back CHOKe with a memory over a FIFO.
#[derive(Clone, Debug)]
pub struct BackChokeMemory<H, S> {
    params: BackChokeMemoryParams,
    memory: RecentFlows,
    queue: RedQueue<H, S>,
}

impl<H, S: Storage<Slot<H>>> BackChokeMemory<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]) and an empty memory.
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: BackChokeMemoryParams, slots: S) -> Result<Self, ParamError> {
        params.validate()?;
        let queue = RedQueue::new(&params.red, slots)?;
        let memory = RecentFlows::new(params.memory);
        Ok(Self { params, memory, queue })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.queue.fifo
    }
}

impl<H, S: Storage<Slot<H>>> Discipline<H> for BackChokeMemory<H, S> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        let flow = packet.meta.flow;
        let active = self.queue.count_arrival(&self.params.red, packet.meta.len, env);
        if !active {
            self.memory.clear();
        } else if self.memory.contains(flow) {
            self.queue.drop(packet, DropCause::Memory, env);
            return;
        }
        if self.queue.admit_by_red(&self.params.red, packet, env) && active {
            self.memory.add(flow);
        }
    }

    red_queue_calls!();

    fn departures_change_internals(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::arithmetic::philox::Philox;
    use crate::contract::env::Stream;
    use crate::contract::packet::Meta;
    use crate::contract::time::Time;
    use crate::storage::leaky_fifo::slots_for;
    use std::{vec, vec::Vec};

    /// Remembers what was dropped, and why.
    struct Host {
        random: Philox,
        dropped: Vec<(u64, DropCause)>,
    }

    impl Env<()> for Host {
        fn now(&self) -> Time {
            Time::ZERO
        }
        fn flow_key(&self) -> [u64; 2] {
            [0, 0]
        }
        fn random(&mut self, _: Stream) -> u64 {
            self.random.next_u64()
        }
        fn dropped(&mut self, packet: Packet<()>, cause: DropCause) {
            self.dropped.push((packet.meta.flow, cause));
        }
    }

    /// Admits `flows` in order; returns the flows that were queued.
    fn admitted(memory: u16, min_th: f64, flows: &[u64]) -> Vec<u64> {
        let red =
            RedParams { limit: 5000, min_th, max_th: f64::INFINITY, max_p: 0.0, ..RedParams::default() };
        let params = BackChokeMemoryParams { red, memory };
        let mut queue = BackChokeMemory::new(params, vec![None; slots_for(5000)]).unwrap();
        let mut host = Host { random: Philox::new(1, 0, 0), dropped: Vec::new() };
        for &flow in flows {
            queue.enqueue(Packet::new(Meta::of_flow(flow, 100), Time::ZERO, ()), &mut host);
        }
        assert!(host.dropped.iter().all(|&(_, cause)| cause == DropCause::Memory));
        assert_eq!(host.dropped.len() as u64, queue.stats().dropped_for(DropCause::Memory).packets);
        queue.fifo().iter().map(|packet| packet.meta.flow).collect()
    }

    #[test]
    fn any_m_plus_one_consecutive_admissions_are_distinct() {
        let mut random = Philox::new(3, 0, 0);
        let flows: Vec<u64> = (0..5000).map(|_| random.next_u64() % 6).collect();
        for memory in 0..6_u16 {
            let queued = admitted(memory, 0.0, &flows);
            for window in queued.windows(usize::from(memory) + 1) {
                for (i, flow) in window.iter().enumerate() {
                    assert!(!window[i + 1..].contains(flow), "memory {memory}: {window:?}");
                }
            }
        }
    }

    #[test]
    fn all_but_one_flow_remembered_makes_the_order_cyclic() {
        let mut random = Philox::new(4, 0, 0);
        let flows: Vec<u64> = (0..2000).map(|_| random.next_u64() % 4).collect();
        let queued = admitted(3, 0.0, &flows);
        assert!(queued.len() > 100);
        assert!(queued.iter().zip(&queued[4..]).all(|(a, b)| a == b));
    }

    #[test]
    fn no_memory_is_droptail_and_a_full_one_blocks_for_ever() {
        assert_eq!(admitted(0, 0.0, &[1, 1, 1]), [1, 1, 1]);
        assert_eq!(admitted(1, 0.0, &[1, 1, 1]), [1]);
        assert_eq!(admitted(2, 0.0, &[1, 2, 1, 2, 1]), [1, 2]);
    }

    #[test]
    fn nothing_is_remembered_below_min_th() {
        assert_eq!(admitted(1, 100.0, &[1, 1, 2, 2, 1]), [1, 1, 2, 2, 1]);
    }

    #[test]
    fn the_memory_outlives_the_packet() {
        let red = RedParams { min_th: 0.0, max_th: f64::INFINITY, max_p: 0.0, ..RedParams::default() };
        let params = BackChokeMemoryParams { red, memory: 1 };
        let mut queue = BackChokeMemory::new(params, vec![None; slots_for(300)]).unwrap();
        let mut host = Host { random: Philox::new(1, 0, 0), dropped: Vec::new() };
        let packet = || Packet::new(Meta::of_flow(7, 100), Time::ZERO, ());
        queue.enqueue(packet(), &mut host);
        assert!(queue.dequeue(&mut host).is_some());
        queue.enqueue(packet(), &mut host);
        assert_eq!(host.dropped, [(7, DropCause::Memory)]);
    }
}
