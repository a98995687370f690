//! Containers over slices that the host lends.

pub(crate) mod draws;
pub(crate) mod flow_sample;
pub(crate) mod flow_table;
#[cfg(feature = "alloc")]
pub(crate) mod heap;
pub(crate) mod id_ring;
pub(crate) mod indexed_heap;
pub(crate) mod leaky_fifo;
pub(crate) mod length_lists;
pub(crate) mod memory;
pub(crate) mod queue_pool;
pub(crate) mod ring;

pub(crate) use flow_sample::FlowSample;
pub(crate) use flow_table::{FlowPlace, FlowTable, places_for};
pub(crate) use id_ring::{Arrivals, IdRing};
pub(crate) use indexed_heap::{HeapPlace, IndexedHeap};
pub(crate) use leaky_fifo::{LeakyFifo, Position, Slot, slots_for};
pub(crate) use memory::{Memory, Storage};
pub(crate) use queue_pool::{PacketSlot, QueuePool, QueueSlot};
pub(crate) use ring::{MOST_VICTIMS, Ring};
