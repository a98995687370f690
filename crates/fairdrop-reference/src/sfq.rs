//! SFQ, which [`crate::drr`] does.

use fairdrop::SfqParams;

use crate::drr::RoundRobin;
use crate::slow::{SeveralQueues, Slow};

pub fn reference(params: SfqParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(SeveralQueues(RoundRobin::sfq(&params))))
}
