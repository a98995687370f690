//! User-defined disciplines and congestion controls, in scenarios under their names.
//!
//! ```ignore
//! use fairdrop_sim::extension::prelude::*;
//!
//! let mine = DisciplineExtension::new(&INFO, |setup| Ok(Mine::new(setup.limit, setup.values.number("threshold"))));
//! let reno = CongestionExtension::named("my_reno", LossRecovery::Reno, |_| MyReno);
//! let extensions = Extensions::default().with(mine)?.with(reno)?;
//! let run = run_file("mine.toml", &["groups.tcp.transport=my_reno"], &extensions)?;
//! ```
//!
//! `examples/extensions.rs` is such a program, whole; `examples/extension_choke.rs` has parameters and random numbers as well.
//! Both kinds are guarded: [`fairdrop_extension`] says how disciplines are; of a congestion control, windows are numbers above
//! 0.

mod congestion;
pub mod prelude;

pub use crate::scenario::{Extension, ExtensionError, Extensions};
pub use crate::transport::congestion::{
    AckEvent, CongestionControl, Held, LossEvent, LossRecovery, Ns2Agent, RateSample, Repair, SegmentLoss,
    SendEvent, Variant, Window,
};
pub use congestion::{CongestionExtension, CongestionSettings, Connection, Watched, Witness};
pub use fairdrop_extension::{
    Cause, Desk, Dice, DisciplineExtension, ExtensionQueue, Fault, Gate, Place, QueueNotMade, Setup, Values,
    Wrong, cause_named, kept,
};
