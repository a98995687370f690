//! The tests of this crate in one program, since each program is linked on its own.

mod classic;
mod common;
mod headers;
mod pcapng;
mod real_captures;
mod robustness;
