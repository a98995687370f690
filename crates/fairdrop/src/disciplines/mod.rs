//! One discipline, one file; what they share is in `outcome`.

pub mod afd;
pub mod back_choke_memory;
pub mod blue;
pub mod choke;
pub mod choke_hardware;
pub mod chokew;
pub mod codel;
pub mod csfq;
pub mod droptail;
pub mod drr;
pub mod dualpi2;
pub mod flow_valve;
pub mod fq;
pub mod fq_codel;
pub mod fred;
mod outcome;
pub mod penalty_box;
pub mod pie;
pub mod red;
pub mod red_pd;
pub mod rio;
pub mod sfb;
pub mod sfq;
pub mod sred;
pub mod ward;
