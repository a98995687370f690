//! One discipline, one file; what they share is in `outcome`. The build script lists them.

include!(concat!(env!("OUT_DIR"), "/disciplines.rs"));
