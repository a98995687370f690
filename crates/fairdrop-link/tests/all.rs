//! The tests of this crate in one program, since each program is linked on its own.

use fairdrop::Hosts;

mod link;
mod reference;

/// No flow shares its hosts with another. One function: for another closure every discipline would be compiled again.
fn no_hosts() -> Option<Hosts> {
    None
}
