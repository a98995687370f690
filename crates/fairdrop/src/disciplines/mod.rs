//! One discipline, one file.

pub mod back_choke_memory;
pub mod blue;
pub mod choke;
pub mod choke_hardware;
pub mod chokew;
pub mod codel;
pub mod droptail;
pub mod drr;
pub mod dualpi2;
pub mod fq;
pub mod fq_codel;
pub mod pie;
pub mod red;
pub mod sfq;
pub mod ward;
