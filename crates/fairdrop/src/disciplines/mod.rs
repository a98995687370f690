//! One discipline, one file.

pub mod back_choke_memory;
pub mod blue;
pub mod choke;
pub mod choke_hardware;
pub mod chokew;
pub mod codel;
pub mod droptail;
pub mod pie;
pub mod red;
pub mod ward;
