//! Environments of hosts that record the values by which a discipline decides.

use crate::contract::discipline::Discipline;
use crate::contract::env::Env;

/// An [`Env`] that looks at a discipline before each arrival.
pub trait Viewer<H>: Env<H> {
    /// A packet is about to be offered to `discipline`, whose [`Discipline::internals`] are still those of the last call.
    fn shown(&mut self, discipline: &impl Discipline<H>);
}
