//! A sender by the RFCs: RFC 5681, 6298, 3042, 6582, 6675.
//!
//! Its [`Rules`] are the points at which senders built on the same code differ.

mod events;
mod loss;
mod recovery;
mod rules;
mod settings;
mod state;

pub use rules::Rules;
pub use settings::RfcConfig as Settings;
pub use state::Sender;
