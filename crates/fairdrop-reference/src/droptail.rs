//! `DropTail`, which [`crate::red`] does.

use fairdrop::DropTailParams;

use crate::red::{Reference, Scheme};
use crate::slow::Slow;

pub fn reference(params: DropTailParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(Reference::new(Scheme::DropTail { limit: params.limit })))
}
