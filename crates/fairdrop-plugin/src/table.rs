//! The table of a plug-in.

use fairdrop_ffi::Plugin;

/// A table that stays: its library is never closed.
#[derive(Clone, Copy)]
pub struct Table(pub &'static Plugin);

// SAFETY: tables do not change, and their functions may be called for different queues by different threads (fairdrop.h).
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}
