//! Queues of a scenario: those of the catalogue, and user-defined ones.

use crate::own::{Hosted, OwnDiscipline, OwnError, Parts, Setup};
use fairdrop::{AnyDiscipline, Heap, ParamError};
use thiserror::Error;

/// `[queue]`, with user-defined disciplines to name.
pub type QueueConfig = fairdrop_config::QueueConfig<Parts>;

/// A queue that cannot be made.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum QueueError {
    /// A parameter is refused, or there is no memory.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A user-defined discipline refuses.
    #[error(transparent)]
    Own(#[from] OwnError),
}

/// The chosen discipline, when it is user-defined.
pub fn own(config: &QueueConfig) -> Option<&OwnDiscipline> {
    config.disciplines.discipline(config.discipline)
}

/// An empty queue: number `queue` of a run under `seed`, on a link of `rate_bps`.
///
/// # Errors
/// There is no memory for it, or a user-defined discipline refuses.
pub fn build(config: &QueueConfig, rate_bps: u64, seed: u64, queue: u32) -> Result<Hosted, QueueError> {
    if let Some(own) = own(config) {
        let values = config.values_of(config.discipline).collect();
        let setup = Setup { limit: config.limit, rate_bps, seed, queue, values };
        return Ok(Hosted::Own(Box::new(own.queue(&setup)?)));
    }
    let params = config.params(rate_bps).expect("other names come from the catalogue");
    Ok(Hosted::BuiltIn(AnyDiscipline::new(params, &mut Heap)?))
}
