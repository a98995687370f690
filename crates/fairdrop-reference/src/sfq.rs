//! SFQ, which [`crate::drr`] does.

use fairdrop::SfqParams;

use crate::drr::RoundRobin;
use crate::slow::Slow;

pub fn reference(params: SfqParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(RoundRobin::sfq(&params)))
}
