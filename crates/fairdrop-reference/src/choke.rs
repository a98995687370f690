//! `CHOKe`, which [`crate::red`] does.

use fairdrop::{Candidates, ChokeParams};

use crate::red::{ChokeScheme, Plan, Reference, Scheme};
use crate::slow::Slow;

pub fn reference(params: ChokeParams) -> Option<Box<dyn Slow>> {
    let plan = match params.candidates {
        Candidates::Fixed(count) => Plan::Fixed(count),
        Candidates::Regions(schedule) => Plan::Custom(schedule.as_slice().to_vec()),
    };
    let ChokeParams { red, draw, replacement, sampling, average_in, order, count_on_match, .. } = params;
    let scheme = ChokeScheme { plan, draw, replacement, sampling, average_in, order, count_on_match };
    Some(Box::new(Reference::new(Scheme::Choke(red, scheme))))
}
