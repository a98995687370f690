//! Extensions: queue disciplines that are not of the catalogue, and congestion controls that are not of the transports, under
//! names of their own.
//!
//! Any [`Discipline`](fairdrop::Discipline) over handles of type `u32` is one, by [`DisciplineExtension::new`]. Queues in other
//! languages implement [`ExtensionQueue`] or, where the host keeps the packets, [`Gate`]. With the feature `load`, [`load`]
//! takes disciplines from shared objects.
//!
//! A congestion control is any [`CongestionControl`](fairdrop_tcp::congestion::CongestionControl), by
//! [`CongestionExtension::new`].
//!
//! Every extension is guarded: each packet that it was given waits, was handed out or was dropped, once, and unchanged but for
//! its ECN field and label; each window is a number above 0. The first call after which that is not so ends the run with a [`Fault`].
//!
//! ```
//! use fairdrop_extension::CongestionExtension;
//! use fairdrop_tcp::congestion::{CongestionControl, LossRecovery};
//!
//! /// Reno by another name: what is left out is Reno's.
//! struct Mine;
//! impl CongestionControl for Mine {}
//!
//! let extension = CongestionExtension::named("mine", LossRecovery::Sack, |_| Mine);
//! assert_eq!(extension.variant.name, "mine");
//! ```

mod congestion;
mod desk;
mod discipline;
mod fault;
mod guard;
#[cfg(feature = "load")]
mod load;
mod name;
mod queue;
mod setup;
mod values;
mod waiting;

pub use congestion::{CongestionExtension, CongestionSettings, Connection, Watched, Witness, connect};
pub use desk::{Cause, Desk, Dice, Fifo, cause_named};
pub use discipline::{DisciplineExtension, QueueNotMade};
pub use fairdrop_tcp::congestion::Wrong;
pub use fault::{Fault, Place};
pub use guard::Guarded;
#[cfg(feature = "load")]
pub use load::{check_object, check_table, load};
pub use name::kept;
pub use queue::{ExtensionQueue, Gate};
pub use setup::Setup;
pub use values::Values;
