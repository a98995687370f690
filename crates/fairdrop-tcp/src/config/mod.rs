//! Settings of a TCP, from the table of a group.

mod common;
mod ecn;
mod era;
mod family;
pub mod fields;
mod traits;
mod transfers;

pub use common::{Common, Named};
pub use ecn::EcnFeedback;
pub use era::Era;
pub use family::{Config, Family};
pub use traits::{Receiving, Traits};
pub use transfers::{Connections, SizeLaw};
