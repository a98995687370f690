//! Any discipline beside the reference of its name.

use fairdrop::{AnyParams, DropCause};

use crate::host::{Bottleneck, Event};
use crate::reference_of;

/// Runs both; returns the causes seen, or the first difference.
pub fn compare(params: &AnyParams, trace: &[Event], seed: u64) -> Result<Vec<DropCause>, String> {
    let mut slow = reference_of(params).ok_or("there is no reference")?;
    super::compare(Bottleneck::new(params.clone(), seed), slow.as_mut(), trace)
}
