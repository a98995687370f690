//! One discipline, one file.

pub mod back_choke_memory;
pub mod choke;
pub mod droptail;
pub mod red;
