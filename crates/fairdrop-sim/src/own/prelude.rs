//! All that a short program with parts of its own needs: `use fairdrop_sim::own::prelude::*`.

pub use super::{
    CongestionControl, LossRecovery, OwnCongestion, OwnDiscipline, PartError, Parts, Setup, Window,
};
pub use crate::{FileError, RunResult, run_file};
pub use fairdrop::{Backlog, Discipline, DropCause, Env, Packet, Time};
