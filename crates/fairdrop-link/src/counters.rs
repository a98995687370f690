//! Counters of a link. At any moment arrived + duplicated = delivered + dropped by cause + waiting, in packets and in bytes.

use fairdrop::{Count, DropCause};

/// Cause of a drop by the host rather than by the discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum HostCause {
    /// No frame buffer was free.
    NoBuffer,
    /// The packet is longer than a frame buffer.
    TooLong,
    /// The link lost the packet, as configured.
    LinkLoss,
    /// The packet waited when the queue's limit was reduced.
    Reconfigured,
    /// The port could not accept the packet.
    Output,
    /// The packet waited, or was in flight, when the link was stopped.
    Shutdown,
}

impl HostCause {
    /// Every cause, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::NoBuffer, Self::TooLong, Self::LinkLoss, Self::Reconfigured, Self::Output, Self::Shutdown];

    /// The name used in tables and documents, as those of [`DropCause`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoBuffer => "no_buffer",
            Self::TooLong => "too_long",
            Self::LinkLoss => "link_loss",
            Self::Reconfigured => "reconfigured",
            Self::Output => "output",
            Self::Shutdown => "shutdown",
        }
    }
}

/// Cause of a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// By the discipline.
    Queue(DropCause),
    /// By the host.
    Host(HostCause),
}

impl Cause {
    /// The name used in tables and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue(cause) => cause.name(),
            Self::Host(cause) => cause.name(),
        }
    }

    /// Number of causes.
    pub const COUNT: usize = DropCause::COUNT + HostCause::ALL.len();

    /// Its place among all of them.
    pub const fn index(self) -> usize {
        match self {
            Self::Queue(cause) => cause as usize,
            Self::Host(cause) => DropCause::COUNT + cause as usize,
        }
    }

    /// Every cause, in the order of [`Self::index`].
    pub fn all() -> impl Iterator<Item = Self> {
        DropCause::ALL.into_iter().map(Self::Queue).chain(HostCause::ALL.into_iter().map(Self::Host))
    }
}

/// The counters of one link since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived at the link.
    pub arrived: Count,
    /// Packets handed to the port at its end.
    pub delivered: Count,
    /// Packets in the queue, in transmission, or in flight.
    pub waiting: Count,
    /// Duplicates made by the link.
    pub duplicated: Count,
    /// Packets that the link marked.
    pub marked: Count,
    dropped: [Count; DropCause::COUNT],
    dropped_by_host: [Count; HostCause::ALL.len()],
}

impl Counters {
    /// Drops by `cause`.
    pub fn dropped(&self, cause: Cause) -> Count {
        match cause {
            Cause::Queue(cause) => self.dropped[cause as usize],
            Cause::Host(cause) => self.dropped_by_host[cause as usize],
        }
    }

    /// Drops by any cause.
    pub fn dropped_in_all(&self) -> Count {
        Cause::all().map(|cause| self.dropped(cause)).fold(Count::default(), |all, one| Count {
            packets: all.packets + one.packets,
            bytes: all.bytes + one.bytes,
        })
    }

    /// A packet of `len` bytes arrives; it counts as waiting until it is delivered or dropped.
    pub(crate) fn arrive(&mut self, len: u32) {
        self.arrived.add(len);
        self.waiting.add(len);
    }

    /// The link makes a second copy of a packet.
    pub(crate) fn duplicate(&mut self, len: u32) {
        self.duplicated.add(len);
        self.waiting.add(len);
    }

    pub(crate) fn deliver(&mut self, len: u32) {
        self.delivered.add(len);
        self.leave(len);
    }

    pub(crate) fn drop(&mut self, len: u32, cause: Cause) {
        match cause {
            Cause::Queue(cause) => self.dropped[cause as usize].add(len),
            Cause::Host(cause) => self.dropped_by_host[cause as usize].add(len),
        }
        self.leave(len);
    }

    /// A packet that was counted as delivered was not accepted.
    pub(crate) fn undeliver(&mut self, len: u32) {
        self.delivered.packets -= 1;
        self.delivered.bytes -= u64::from(len);
        self.dropped_by_host[HostCause::Output as usize].add(len);
    }

    fn leave(&mut self, len: u32) {
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(len);
    }

    /// Whether arrived + duplicated = delivered + dropped + waiting.
    pub fn reconcile(&self) -> bool {
        let sum = |counts: &[Count]| {
            counts
                .iter()
                .fold((0, 0), |(packets, bytes), count| (packets + count.packets, bytes + count.bytes))
        };
        sum(&[self.arrived, self.duplicated]) == sum(&[self.delivered, self.dropped_in_all(), self.waiting])
    }
}
