//! The tests of this crate in one program, since each program is linked on its own.

mod beside;
mod broken;
mod bursts;
mod decisions;
mod references;
mod vectors;
