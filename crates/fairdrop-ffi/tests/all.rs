//! The tests of this crate in one program, since each program is linked on its own.

mod agreement;
mod bursts;
mod c_programs;
mod decisions;
mod header;
mod host;
mod interface;
