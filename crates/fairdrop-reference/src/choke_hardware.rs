//! `CHOKe` in hardware, which [`crate::red`] does in the forms that come to `CHOKe`.

use fairdrop::{Addresses, ChokeHardwareParams, DrawFrom, MarkedEntry};

use crate::red::{ChokeScheme, Reference, Scheme};
use crate::slow::Slow;

/// In hardware it is `CHOKe`, where a marked address is drawn again and packets are entries of one list.
pub fn reference(params: ChokeHardwareParams) -> Option<Box<dyn Slow>> {
    let plain = params.marked == MarkedEntry::Reject
        && matches!(params.addresses, Addresses::Live | Addresses::Occupied)
        && (params.banks, params.fifos, params.cell_size) == (1, 1, 0)
        && !params.physical_length;
    let plain_scheme = ChokeScheme::plain(params.candidates, DrawFrom::Uniform);
    let scheme = ChokeScheme { replacement: true, count_on_match: params.count_on_match, ..plain_scheme };
    if plain { Some(Box::new(Reference::new(Scheme::Choke(params.red, scheme)))) } else { None }
}
