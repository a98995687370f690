//! Where frames come from and go to.

mod descriptors;

pub use descriptors::Descriptors;
