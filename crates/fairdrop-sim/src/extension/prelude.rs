//! All that a short program with extensions needs: `use fairdrop_sim::extension::prelude::*`.

pub use super::{
    CongestionControl, CongestionExtension, DisciplineExtension, ExtensionError, Extensions, LossRecovery,
    Setup, Window,
};
pub use crate::{FileError, RunResult, run_file};
pub use fairdrop::{Backlog, Discipline, DropCause, Env, Packet, Time};
