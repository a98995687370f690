//! Containers over slices that the host lends.

pub(crate) mod flow_table;
#[cfg(feature = "alloc")]
pub(crate) mod heap;
pub(crate) mod indexed_heap;
pub(crate) mod leaky_fifo;
pub(crate) mod length_lists;
pub(crate) mod memory;
pub(crate) mod queue_pool;
