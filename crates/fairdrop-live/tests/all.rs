//! The tests of this crate in one program, since each program is linked on its own.

mod as_simulated;
mod bridge;
mod confined;
mod daemon;
mod endurance;
mod lab;
mod namespace;
mod namespaces;
mod offload;
mod operate;
mod pages;
mod shell;
