//! The tests of this crate in one program, since each program is linked on its own. The files called as a discipline are listed
//! by the build script.

include!(concat!(env!("OUT_DIR"), "/tests.rs"));

mod attack;
mod burst_modes;
mod bursts;
mod choke_invariants;
mod choke_statements;
mod collar_together;
mod complete;
mod every;
mod invariants;
mod parameters;
mod prepare;
mod properties;
mod running;
