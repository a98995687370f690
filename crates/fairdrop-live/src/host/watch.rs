//! Those who look on: recorders, tables of flows.

use crate::link::Outcome;
use fairdrop::{Meta, Time};

/// Sees every packet. Each method is called from the loop: it must not wait.
pub trait Watch {
    /// A frame has arrived and is about to be offered to the link.
    fn arrived(&mut self, at: Time, meta: &Meta, frame: &[u8]);
    /// A packet was delivered or dropped; `frame` as it left or would have left.
    fn gone(&mut self, outcome: &Outcome, frame: &[u8]);
}

/// Nobody looks on.
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
}
