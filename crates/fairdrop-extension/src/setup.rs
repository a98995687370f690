//! What a user-defined queue is made for.

use crate::values::Values;

/// What a discipline is made for.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Packets that may wait.
    pub limit: u32,
    /// Rate of the link at first, bit/s.
    pub rate_bps: u64,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the queue, for its own random streams: no two queues of a run have the same.
    pub queue: u32,
    /// Its parameters.
    pub values: Values,
}
