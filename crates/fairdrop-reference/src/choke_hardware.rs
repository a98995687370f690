//! `CHOKe` in hardware, which [`crate::red`] does in the forms that come to `CHOKe`.

use fairdrop::{Addresses, AverageIn, ChokeHardwareParams, DrawFrom, MarkedEntry, Order, Sampling};

use crate::red::{ChokeScheme, Plan, Reference, Scheme};
use crate::slow::Slow;

/// In hardware it is `CHOKe`, where a marked address is drawn again and packets are entries of one list.
pub fn reference(params: ChokeHardwareParams) -> Option<Box<dyn Slow>> {
    let plain = params.marked == MarkedEntry::Reject
        && matches!(params.addresses, Addresses::Live | Addresses::Occupied)
        && (params.banks, params.fifos, params.cell_size) == (1, 1, 0)
        && !params.physical_length;
    let scheme = ChokeScheme {
        plan: Plan::Fixed(params.candidates),
        draw: DrawFrom::Uniform,
        replacement: true,
        sampling: Sampling::Packet,
        average_in: AverageIn::Packets,
        order: Order::MatchFirst,
        count_on_match: false,
    };
    if plain { Some(Box::new(Reference::new(Scheme::Choke(params.red, scheme)))) } else { None }
}
