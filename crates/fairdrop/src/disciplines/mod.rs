//! One discipline, one file.

pub mod choke;
pub mod droptail;
pub mod red;
