//! One discipline per file; shared code is in `outcome`. The build script lists them.
//!
//! ```
//! use fairdrop::disciplines::choke::ChokeParams;
//! use fairdrop::{AnyParams, ParamValue};
//!
//! let mut params = AnyParams::of("choke").unwrap();
//! assert!(params.set("choke", "candidates", ParamValue::Number(2.0)));
//! assert!(matches!(params, AnyParams::Choke(ChokeParams { .. })));
//! ```

include!(concat!(env!("OUT_DIR"), "/disciplines.rs"));
