//! One discipline, one file.

pub mod afd;
pub mod back_choke_memory;
pub mod blue;
pub mod choke;
pub mod chokew;
pub mod codel;
pub mod droptail;
pub mod flow_valve;
pub mod penalty_box;
pub mod pie;
pub mod red;
pub mod red_pd;
pub mod sfb;
pub mod ward;
