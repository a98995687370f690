//! The contract between a discipline and its host.

use crate::contract::env::Env;
use crate::contract::packet::Packet;
use crate::contract::params::ParamSpec;
use crate::contract::stats::{Backlog, Stats};
use crate::contract::time::Time;

/// Description of a discipline in lists of disciplines.
#[derive(Clone, Copy, Debug)]
pub struct DisciplineInfo {
    /// Name in scenarios, tables and documents; that of its file.
    pub name: &'static str,
    /// Name in prose, and as a heading.
    pub title: &'static str,
    /// Name beside an axis or inside a sentence.
    pub label: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// A paragraph for readers of reports: network operators who do not know the discipline.
    pub report: &'static str,
    /// Basis of its decisions.
    pub family: Family,
    /// Order of departures.
    pub departures: Departures,
    /// Whether it always has timers: a host must then call [`Discipline::tick`] at [`Discipline::deadline`].
    pub timed: bool,
    /// Its own parameters.
    pub params: &'static [ParamSpec],
    /// The discipline whose parameters it uses as well.
    pub also_uses: Option<&'static str>,
    /// Of its parameters, those that disciplines which use them as well do not have.
    pub alone: &'static [&'static str],
    /// The discipline of which this is a form: lists show it below that one, and it counts as none of its own.
    pub form_of: Option<&'static str>,
    /// Publication.
    pub source: &'static str,
}

impl DisciplineInfo {
    /// A discipline outside this crate, described by `name` and `doc` alone.
    pub const fn named(name: &'static str, doc: &'static str, params: &'static [ParamSpec]) -> Self {
        Self { name, title: name, label: name, doc, report: doc, params, ..Self::EMPTY }
    }

    /// The same for a discipline that has timers.
    #[must_use]
    pub const fn with_timers(self) -> Self {
        Self { timed: true, ..self }
    }

    /// Its parameters for disciplines that use them as well.
    pub fn shared(&self) -> impl Iterator<Item = &'static ParamSpec> + use<> {
        let alone = self.alone;
        self.params.iter().filter(move |spec| !alone.contains(&spec.name))
    }

    /// Defaults of the description.
    pub(crate) const EMPTY: Self = Self {
        name: "",
        title: "",
        label: "",
        doc: "",
        report: "",
        family: Family::Length,
        departures: Departures::InOrder,
        timed: false,
        params: &[],
        also_uses: None,
        alone: &[],
        form_of: None,
        source: "",
    };
}

/// Order of departures of the packets that are not dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departures {
    /// Order of arrival.
    InOrder,
    /// Order of arrival within a flow.
    InOrderWithinFlows,
    /// Some packet may overtake another of its flow.
    AnyOrder,
}

impl Departures {
    /// Name in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InOrder => "in order",
            Self::InOrderWithinFlows => "in order within flows",
            Self::AnyOrder => "in any order",
        }
    }
}

/// Basis of a discipline's decisions. Lists are in this order, then by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// The length of the queue, or events at its ends.
    Length,
    /// Comparison of arrivals with waiting packets.
    Choke,
    /// The waiting time of packets.
    Delay,
    /// State of the arrival's flow, over one FIFO.
    Flow,
    /// Several queues.
    Queues,
}

impl Family {
    /// Every family, in their order.
    pub const ALL: [Self; 5] = [Self::Length, Self::Choke, Self::Delay, Self::Flow, Self::Queues];

    /// As a heading of a list.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Length => "By the length of the queue",
            Self::Choke => "The CHOKe family",
            Self::Delay => "By the time packets wait",
            Self::Flow => "By flow, over one FIFO",
            Self::Queues => "Several queues",
        }
    }
}

/// A queue discipline over packets with handles of type `H`.
pub trait Discipline<H> {
    /// Offers a packet. It is queued, or given back through [`Env::dropped`]; queued packets may be dropped with it.
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E);

    /// The packet to transmit next, or `None` if none waits, or none may leave yet ([`Self::holds_back`]). The host calls it
    /// when its transmitter is free: a call on an empty queue shows the discipline that the link has become idle.
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>>;

    /// A burst of packets is about to be offered, for which [`crate::Stream::Candidate`] will give `numbers`, the first
    /// one first: reads the slots that they will probably be compared with, so that waits for memory overlap. It changes no
    /// state; where an earlier packet of the burst is dropped, the guess for later ones may be the wrong slot, which costs
    /// only time. Does nothing by default. See [`crate::DrawnAhead`].
    #[inline]
    fn prepare(&self, numbers: &[u64]) {
        let _ = numbers;
    }

    /// The packet that the next [`Self::dequeue`] gives, unless an arrival drops it first: the head of a FIFO whose departures
    /// nothing decides. `None` by default, and where none waits. See [`crate::Peekable`].
    fn head(&self) -> Option<&Packet<H>> {
        None
    }

    /// The backlog now.
    fn backlog(&self) -> Backlog;

    /// Counters by cause. Hosts read the marks from them; a discipline that never marks may leave them out.
    fn stats(&self) -> &Stats {
        &Stats::NONE
    }

    /// The average queue in packets that the discipline decides by, where it keeps one.
    fn average_packets(&self) -> Option<f64> {
        None
    }

    /// Passes the values that the discipline decides by to `see`, each with the name that its publication uses (`avg`,
    /// `p0`, `drop_prob`), as of the last call. Always the same names in the same order; by default `avg`, where there
    /// is one.
    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        if let Some(average) = self.average_packets() {
            see("avg", average);
        }
    }

    /// Whether `dequeue` may change the values of `internals`. If not, hosts that record them need not read them then.
    #[inline]
    fn departures_change_internals(&self) -> bool {
        true
    }

    /// Whether packets may wait although the transmitter is free, as in a shaper. A host must then, when a call of
    /// `dequeue` has given nothing, call `tick` at `deadline` and `dequeue` after that, if the transmitter is still free.
    #[inline]
    fn holds_back(&self) -> bool {
        false
    }

    /// Time at which to call `tick`; `None` for disciplines without timers, and while nothing is held back.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// The deadline has come.
    fn tick<E: Env<H>>(&mut self, env: &mut E) {
        let _ = env;
    }
}
