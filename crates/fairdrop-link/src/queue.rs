//! The interface of a queue to a transmitter, and of its host to the queue.

use fairdrop::{AnyDiscipline, Backlog, Discipline, DropCause, Hosts, Memory, Packet, Time, Viewer};

/// Cause under which packets are counted that a user-defined discipline drops for a cause of its own.
pub const NAMED: DropCause = DropCause::Filter;

/// Values that a queue decides by.
pub trait Shows {
    /// Gives each value with its name, always in the same order.
    fn internals(&self, see: impl FnMut(&'static str, f64));

    /// Whether a departure may change one.
    fn departures_change_internals(&self) -> bool;
}

/// A queue that feeds a transmitter: every [`Discipline`], and wrappers of hosts around one.
pub trait Queue: Shows {
    /// As [`Discipline::enqueue`], after the queue has been shown to `host`.
    fn enqueue(&mut self, packet: Packet<u32>, host: &mut impl Host);

    /// As [`Discipline::dequeue`].
    fn dequeue(&mut self, host: &mut impl Host) -> Option<Packet<u32>>;

    /// As [`Discipline::tick`].
    fn tick(&mut self, host: &mut impl Host);

    /// As [`Discipline::backlog`].
    fn backlog(&self) -> Backlog;
}

/// Beyond [`Viewer`], reports from queues around user-defined disciplines.
pub trait Host: Viewer<u32> {
    /// `count` waiting packets were drawn and compared with the one that arrived.
    fn drew(&mut self, count: u32);

    /// A packet is dropped for a cause that only its discipline has; it is counted for [`NAMED`].
    fn dropped_for(&mut self, packet: Packet<u32>, name: &'static str);

    /// As [`Viewer::shown`], for queues that are no disciplines.
    fn shows(&mut self, queue: &impl Shows);

    /// The hosts at the ends of a packet that arrives, unless its flow has both to itself.
    fn shared_hosts(&self, packet: &Packet<u32>) -> Option<Hosts>;
}

impl<D: Discipline<u32>> Shows for D {
    #[inline(always)]
    fn internals(&self, see: impl FnMut(&'static str, f64)) {
        Discipline::internals(self, see);
    }

    fn departures_change_internals(&self) -> bool {
        Discipline::departures_change_internals(self)
    }
}

impl<M: Memory> Queue for AnyDiscipline<u32, M> {
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet<u32>, host: &mut impl Host) {
        self.enqueue_shown(packet, host);
    }

    #[inline(always)]
    fn dequeue(&mut self, host: &mut impl Host) -> Option<Packet<u32>> {
        Discipline::dequeue(self, host)
    }

    fn tick(&mut self, host: &mut impl Host) {
        Discipline::tick(self, host);
    }

    fn backlog(&self) -> Backlog {
        Discipline::backlog(self)
    }
}

/// Watches what happens at a transmitter. All methods do nothing by default; dispatch is static, so unused methods cost
/// nothing.
pub trait Observer {
    /// The host's data about an arriving packet, beside the packet itself.
    type Arrival;
    /// The host's collection of the packets that one call drops.
    type Lost;

    /// A packet is about to be offered to a queue.
    #[inline]
    fn offered(&mut self, _now: Time, _packet: &Packet<u32>) {}

    /// The same packet has come to `queue`, whose values are still those of the last call.
    #[inline]
    fn shown(&mut self, _now: Time, _queue: &impl Shows) {}

    /// The packet that was offered waits.
    #[inline]
    fn joined(&mut self, _now: Time, _packet: &Packet<u32>, _arrival: Self::Arrival) {}

    /// The packet that was offered has been dropped.
    #[inline]
    fn refused(&mut self, _packet: &Packet<u32>, _cause: DropCause) {}

    /// A packet is dropped: the one that was offered, or one that waited.
    #[inline]
    fn dropped(&mut self, _now: Time, _packet: &Packet<u32>, _drop: Dropped, _lost: &mut Self::Lost) {}

    /// `count` waiting packets were drawn and compared with the one that was offered.
    #[inline]
    fn drew(&mut self, _count: u32) {}

    /// A packet goes into transmission.
    #[inline]
    fn taken(&mut self, _now: Time, _packet: &Packet<u32>) {}

    /// The last bit of `packet` has left; `queue` is about to be asked for the next.
    #[inline]
    fn sent(&mut self, _now: Time, _packet: Option<&Packet<u32>>, _queue: &impl Shows) {}

    /// The deadline of `queue` has come.
    #[inline]
    fn ticks(&mut self, _now: Time, _queue: &impl Shows) {}

    /// A call that a packet of `flow` caused has ended with `backlog` waiting. Called with debug assertions only.
    #[inline]
    fn settled(&mut self, _flow: u64, _backlog: Backlog) {}
}

/// A drop by a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Cause of the drop.
    pub cause: DropCause,
    /// The name that a user-defined discipline gives its cause, which is then counted for [`NAMED`].
    pub name: Option<&'static str>,
    /// It is the packet that was offered, which has not waited.
    pub on_arrival: bool,
}
