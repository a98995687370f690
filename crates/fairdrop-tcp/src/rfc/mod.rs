//! A sender as the RFCs describe it: RFC 5681, 6298, 3042, 6582, 6675.
//!
//! Its [`Rules`] are the points at which a sender that grew from the same code differs.

mod events;
mod loss;
mod recovery;
mod rules;
mod settings;
mod state;

pub use rules::Rules;
pub use settings::RfcConfig as Settings;
pub use state::Sender;
