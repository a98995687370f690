//! Queues of a scenario: those of the catalogue, and user-defined ones.

use super::extensions::Extensions;
use crate::hosted::Hosted;
use fairdrop::{AnyDiscipline, Heap, ParamError};
use fairdrop_extension::{DisciplineExtension, QueueNotMade, Setup};
use thiserror::Error;

/// `[queue]`, with user-defined disciplines to name.
pub type QueueConfig = fairdrop_config::QueueConfig<Extensions>;

/// A queue that cannot be made.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum QueueError {
    /// A parameter is refused, or there is no memory.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A user-defined discipline refuses.
    #[error(transparent)]
    Extension(#[from] QueueNotMade),
}

/// The chosen discipline, when it is user-defined.
pub fn extension_of(config: &QueueConfig) -> Option<&DisciplineExtension> {
    config.disciplines.discipline(config.discipline)
}

/// An empty queue: number `queue` of a run under `seed`, on a link of `rate_bps`.
///
/// # Errors
/// There is no memory for it, or a user-defined discipline refuses.
pub fn build(config: &QueueConfig, rate_bps: u64, seed: u64, queue: u32) -> Result<Hosted, QueueError> {
    if let Some(extension) = extension_of(config) {
        let values = config.values_of(config.discipline).collect();
        let setup = Setup { limit: config.limit, rate_bps, seed, queue, values };
        return Ok(Hosted::Extension(Box::new(extension.queue(&setup)?)));
    }
    let params = config.params(rate_bps).expect("other names come from the catalogue");
    Ok(Hosted::BuiltIn(AnyDiscipline::new(params, &mut Heap)?))
}
