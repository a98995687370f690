//! Observers of the packets: recorders, tables of flows.

use crate::host::Report;
use fairdrop::{Meta, Time};
use fairdrop_link::{HostCause, Outcome};

/// Sees every packet. Each method is called from the loop: it must not wait.
pub trait Watch {
    /// A frame has arrived and is about to be offered to the link.
    fn arrived(&mut self, at: Time, meta: &Meta, frame: &[u8]);
    /// A packet was delivered or dropped; `frame` as it left or would have left.
    fn gone(&mut self, outcome: &Outcome, frame: &[u8]);
    /// A frame of `len` bytes arrived at `at` that the host could not keep; `frame` is the part it has read.
    fn refused(&mut self, _at: Time, _cause: HostCause, _len: u32, _frame: &[u8]) {}
    /// Adds its view to a snapshot of the link.
    fn fill(&mut self, _report: &mut Report) {}
}

/// No observer.
impl Watch for () {
    fn arrived(&mut self, _: Time, _: &Meta, _: &[u8]) {}
    fn gone(&mut self, _: &Outcome, _: &[u8]) {}
}

/// Both.
impl<A: Watch, B: Watch> Watch for (A, B) {
    fn arrived(&mut self, at: Time, meta: &Meta, frame: &[u8]) {
        self.0.arrived(at, meta, frame);
        self.1.arrived(at, meta, frame);
    }

    fn gone(&mut self, outcome: &Outcome, frame: &[u8]) {
        self.0.gone(outcome, frame);
        self.1.gone(outcome, frame);
    }

    fn refused(&mut self, at: Time, cause: HostCause, len: u32, frame: &[u8]) {
        self.0.refused(at, cause, len, frame);
        self.1.refused(at, cause, len, frame);
    }

    fn fill(&mut self, report: &mut Report) {
        self.0.fill(report);
        self.1.fill(report);
    }
}

/// Perhaps.
impl<W: Watch> Watch for Option<W> {
    fn arrived(&mut self, at: Time, meta: &Meta, frame: &[u8]) {
        if let Some(watch) = self {
            watch.arrived(at, meta, frame);
        }
    }

    fn gone(&mut self, outcome: &Outcome, frame: &[u8]) {
        if let Some(watch) = self {
            watch.gone(outcome, frame);
        }
    }

    fn refused(&mut self, at: Time, cause: HostCause, len: u32, frame: &[u8]) {
        if let Some(watch) = self {
            watch.refused(at, cause, len, frame);
        }
    }

    fn fill(&mut self, report: &mut Report) {
        if let Some(watch) = self {
            watch.fill(report);
        }
    }
}
