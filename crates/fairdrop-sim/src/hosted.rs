//! What a port holds: a discipline of the catalogue, or a user-defined one.

use fairdrop::{AnyDiscipline, Backlog, Count, Discipline, DropCause, Heap, Packet, Time};
use fairdrop_extension::{Fault, Fifo, Guarded};
use fairdrop_link::{Queue, Shows};

/// A discipline of either kind. The tag takes no room and no branch of its own: it is one more of the catalogue's.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a pointer more would cost the built-in ones")]
pub enum Hosted {
    /// Of the catalogue.
    BuiltIn(AnyDiscipline<u32, Heap>),
    /// User-defined.
    Extension(Box<Guarded>),
}

/// The same expression on whichever it is.
macro_rules! each {
    ($self:ident, $queue:ident => $call:expr) => {
        match $self {
            Self::BuiltIn($queue) => $call,
            Self::Extension($queue) => $call,
        }
    };
}

impl Hosted {
    /// The waiting packets, where they are known to wait in one FIFO.
    pub fn fifo(&self) -> Option<&Fifo> {
        each!(self, queue => queue.fifo())
    }

    /// Visits every waiting packet.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<u32>)) {
        each!(self, queue => queue.for_each_waiting(visit));
    }

    /// Whether it wants to be called at its deadlines. Those of the catalogue that hold nothing back catch up by themselves.
    pub fn has_timer(&self) -> bool {
        match self {
            Self::BuiltIn(queue) => queue.holds_back(),
            Self::Extension(queue) => queue.is_timed(),
        }
    }

    /// What ended it.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Extension(queue) => queue.fault(),
        }
    }

    /// The run has ended at `now`.
    pub fn end(&mut self, now: Time) {
        if let Self::Extension(queue) = self {
            queue.end(now);
        }
    }

    /// When `tick` wants to be called.
    pub fn deadline(&self) -> Option<Time> {
        each!(self, queue => queue.deadline())
    }

    /// What waits.
    pub fn backlog(&self) -> Backlog {
        match self {
            Self::BuiltIn(queue) => Discipline::backlog(queue),
            Self::Extension(queue) => queue.backlog(),
        }
    }

    /// What was marked, by cause.
    pub fn marked(&self) -> &[Count; DropCause::COUNT] {
        match self {
            Self::BuiltIn(queue) => &queue.stats().marked,
            Self::Extension(queue) => queue.marked(),
        }
    }

    /// The average queue in packets that it decides by.
    pub fn average_packets(&self) -> Option<f64> {
        each!(self, queue => queue.average_packets())
    }
}

impl Shows for Hosted {
    fn internals(&self, see: impl FnMut(&'static str, f64)) {
        match self {
            Self::BuiltIn(queue) => Shows::internals(queue, see),
            Self::Extension(queue) => queue.internals(see),
        }
    }

    fn departures_change_internals(&self) -> bool {
        match self {
            Self::BuiltIn(queue) => Shows::departures_change_internals(queue),
            Self::Extension(queue) => queue.departures_change_internals(),
        }
    }
}
