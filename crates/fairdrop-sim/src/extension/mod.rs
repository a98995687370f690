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
//! Both kinds are guarded, as [`fairdrop_extension`] describes.

pub mod prelude;

pub use crate::scenario::{Extension, ExtensionError, Extensions};
pub use fairdrop_extension::{
    Cause, CongestionExtension, CongestionSettings, Connection, Desk, Dice, DisciplineExtension,
    ExtensionQueue, Fault, Gate, Place, QueueNotMade, Setup, Values, Watched, Witness, Wrong, cause_named,
    kept,
};
pub use fairdrop_tcp::congestion::{
    AckEvent, CongestionControl, Held, LossEvent, LossRecovery, Ns2Agent, RateSample, Repair, SegmentLoss,
    SendEvent, Variant, Window,
};
