//! `CHOKe` per class: a `CHOKe` queue for each class of traffic, served in turns by weight.
//!
//! `CHOKe` assumes that all flows have equal demands. Otherwise class based queueing separates the kinds: every class
//! has a FIFO with its own part of the buffer, its own average and its own candidates, and so its own minmax fairness
//! among the flows in it. A deficit round robin shares the link among the classes that have packets waiting: at its turn a
//! class may send `quantum` bytes times its weight more, in whole packets; it keeps the unused bytes until it is empty.
//!
//! Source: R. Pan, B. Prabhakar, K. Psounis, "CHOKe, a stateless active queue management scheme for approximating fair
//! bandwidth allocation", INFOCOM 2000, footnote 2, which leaves the scheduler to class based queueing: S. Floyd, V.
//! Jacobson, "Link-sharing and resource management models for packet networks", IEEE/ACM Transactions on Networking
//! 3(4), 1995, section V, weighted round robin. Deficits: M. Shreedhar, G. Varghese, IEEE/ACM Transactions on
//! Networking 4(3), 1996, section III.

use core::marker::PhantomData;

use super::choke::{Candidates, Choke, ChokeParams, MAX_CANDIDATES};
use super::chokew::{MAX_CLASSES, Weights};
use super::drr::MOST_QUANTUM;
use super::red::RedParams;
use crate::contract::{
    Backlog, Departures, Discipline, DisciplineInfo, Env, Family, Packet, ParamError, Stats, require,
};
use crate::declare::{ParamTable, Registered, Ring, Warning, facts, params, ring, take};
use crate::storage::{Memory, Slot, Storage};

params! {
    /// Parameters of [`ClassChoke`].
    pub struct ClassChokeParams {
        /// The average, its thresholds, and the early-drop test for unmatched arrivals, in each class. The classes
        /// share the limit evenly.
        base red: RedParams;
        /// Weights of the classes, class 0 first: shares of the link while all have packets waiting. Classes beyond the
        /// list join the last one.
        weights: Weights = [1], Numbers(MAX_CLASSES, 1.0, 1_000_000.0),
            "Pan, Prabhakar, Psounis 2000, footnote 2; Floyd, Jacobson 1995, V";
        /// Bytes added per turn to the allowance of a class of weight 1; other classes get this times their weight.
        quantum: u32 = 1500 B, Bytes(1, MOST_QUANTUM as u64), "Shreedhar, Varghese 1996, III";
        /// Packets of its class drawn and compared for each arrival.
        candidates: u8 = 1, Integer(0, MAX_CANDIDATES as i64) => "packets", "Pan, Prabhakar, Psounis 2000, II.A";
    }
}

impl Registered for ClassChokeParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "class_choke",
        title: "CHOKe per class",
        label: "CHOKe per class",
        doc: "A CHOKe queue for each class, with a buffer of its own, served round-robin by weight.",
        report: "Keeps the classes of traffic apart: each has a CHOKe queue of its own and a share of the link by its \
                 weight, so that one class costs the others nothing.",
        family: Family::Queues,
        departures: Departures::InOrderWithinFlows,
        source: "Pan, Prabhakar, Psounis 2000, footnote 2",
        ..facts::<Self>()
    };

    type Queue<H, M: Memory> = ClassChoke<H, Ring<H, M>, M::Of<Option<ClassQueue<H, Ring<H, M>>>>>;

    fn build<H, M: Memory>(self, memory: &mut M) -> Result<Self::Queue<H, M>, ParamError> {
        let classes = take(memory, self.classes(), self.limit())?;
        let mut rings: [Option<Ring<H, M>>; MAX_CLASSES] = [const { None }; MAX_CLASSES];
        for (class, place) in rings.iter_mut().enumerate().take(self.classes()) {
            *place = Some(ring(memory, self.limit_of(class))?);
        }
        ClassChoke::new(&self, classes, rings.into_iter().flatten())
    }

    fn for_each_waiting<H, M: Memory>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
        queue.for_each_waiting(visit);
    }

    fn check(&self) -> Result<(), ParamError> {
        let classes = self.classes();
        require(
            classes <= self.red.limit as usize,
            "weights",
            classes as f64,
            "at most as many classes as packets may wait",
        )
    }

    fn warning(&self) -> Option<Warning> {
        let least = self.limit_of(self.classes().saturating_sub(1));
        (self.red.min_th >= f64::from(least)).then_some(Warning {
            never: "the average queue of a class never reaches red.min_th",
            value: self.red.min_th,
            effect: "it acts as DropTail there",
        })
    }
}

impl ClassChokeParams {
    /// Classes that have a queue.
    pub fn classes(&self) -> usize {
        self.weights.as_slice().len()
    }

    /// Packets that may wait in a class: its part of the limit; the first classes have one more where it does not
    /// divide.
    pub fn limit_of(&self, class: usize) -> u32 {
        let classes = self.classes().max(1) as u32;
        self.red.limit / classes + u32::from((class as u32) < self.red.limit % classes)
    }

    /// Parts of the queue of a class.
    pub fn choke_of(&self, class: usize) -> ChokeParams {
        let red = RedParams { limit: self.limit_of(class), ..self.red.clone() };
        ChokeParams { red, candidates: Candidates::Fixed(self.candidates), ..ChokeParams::default() }
    }

    /// Bytes that a class may send more at each turn.
    fn quantum_of(&self, class: usize) -> u64 {
        let weight = self.weights.as_slice().get(class).copied().unwrap_or(1.0);
        (f64::from(self.quantum) * weight + 0.5) as u64
    }
}

/// The queue of a class, and its turn.
#[derive(Clone, Debug)]
pub struct ClassQueue<H, S> {
    choke: Choke<H, S>,
    quantum: u64,
    /// Bytes that it may still send.
    deficit: u64,
}

impl<H, S: Storage<Slot<H>>> ClassQueue<H, S> {
    /// Length of the oldest packet.
    fn head_len(&self) -> Option<u64> {
        let fifo = self.choke.fifo();
        fifo.front().and_then(|position| fifo.get(position)).map(|packet| u64::from(packet.meta.len))
    }

    /// Rounds until the oldest packet may go.
    fn rounds_to_go(&self) -> Option<u64> {
        Some(self.head_len()?.saturating_sub(self.deficit).div_ceil(self.quantum.max(1)))
    }
}

/// A CHOKe queue for each class, served by deficit round robin.
#[derive(Clone, Debug)]
pub struct ClassChoke<H, S, C> {
    classes: C,
    count: usize,
    /// The class in turn.
    turn: usize,
    /// Whether it has its quantum for this turn.
    granted: bool,
    stats: Stats,
    _queues: PhantomData<(H, S)>,
}

impl<H, S: Storage<Slot<H>>, C: Storage<Option<ClassQueue<H, S>>>> ClassChoke<H, S, C> {
    /// Empty queues. `classes` has as many places as `params` has weights, and `rings` as many pieces of storage:
    /// [`crate::slots_for`] what [`ClassChokeParams::limit_of`] each class gives.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(
        params: &ClassChokeParams,
        mut classes: C,
        rings: impl IntoIterator<Item = S>,
    ) -> Result<Self, ParamError> {
        params.validate()?;
        let count = params.classes();
        let mut made = 0;
        for ((class, place), slots) in classes.as_mut().iter_mut().enumerate().take(count).zip(rings) {
            let choke = Choke::new(params.choke_of(class), slots)?;
            *place = Some(ClassQueue { choke, quantum: params.quantum_of(class), deficit: 0 });
            made += 1;
        }
        require(made == count, "weights", made as f64, "storage for each class")?;
        let stats = Stats::default();
        Ok(Self { classes, count, turn: 0, granted: false, stats, _queues: PhantomData })
    }

    /// The queue that packets of `class` go to.
    pub fn class(&self, class: u8) -> Option<&Choke<H, S>> {
        self.classes.as_ref().get(self.place_of(class))?.as_ref().map(|queue| &queue.choke)
    }

    /// Classes beyond the weights go with the last one.
    fn place_of(&self, class: u8) -> usize {
        usize::from(class).min(self.count.saturating_sub(1))
    }

    /// Visits every waiting packet, class by class.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        self.queues().flat_map(|queue| queue.choke.fifo().iter()).for_each(visit);
    }

    fn queues(&self) -> impl Iterator<Item = &ClassQueue<H, S>> {
        self.classes.as_ref().iter().flatten()
    }

    fn queue_mut(&mut self, class: usize) -> Option<&mut ClassQueue<H, S>> {
        self.classes.as_mut().get_mut(class)?.as_mut()
    }

    /// The class that sends next, its deficit paid. At most three times around, for any lengths and quanta.
    fn next_class(&mut self) -> Option<usize> {
        self.queues().find_map(ClassQueue::head_len)?;
        let mut visited = 0;
        loop {
            let (turn, granted) = (self.turn, core::mem::replace(&mut self.granted, true));
            let queue = self.queue_mut(turn)?;
            if let Some(len) = queue.head_len() {
                queue.deficit += if granted { 0 } else { queue.quantum };
                if let Some(rest) = queue.deficit.checked_sub(len) {
                    queue.deficit = rest;
                    return Some(turn);
                }
            }
            self.end_turn();
            visited += 1;
            if visited == self.count {
                self.skip_rounds();
            }
        }
    }

    /// The next class has its turn.
    fn end_turn(&mut self) {
        self.granted = false;
        self.turn = if self.turn + 1 < self.count { self.turn + 1 } else { 0 };
    }

    /// Skips all rounds that end without a packet at once.
    #[cold]
    fn skip_rounds(&mut self) {
        let rounds = self.queues().filter_map(ClassQueue::rounds_to_go).min();
        // In the round before this one's packet nobody has one.
        let fruitless = rounds.unwrap_or(0).saturating_sub(1);
        for queue in self.classes.as_mut().iter_mut().flatten() {
            if queue.head_len().is_some() {
                queue.deficit += fruitless * queue.quantum;
            }
        }
    }

    /// A class without packets has no deficit and no turn.
    fn leave_if_empty(&mut self, class: usize) {
        let Some(queue) = self.queue_mut(class).filter(|queue| queue.choke.fifo().is_empty()) else { return };
        queue.deficit = 0;
        if self.turn == class {
            self.end_turn();
        }
    }
}

impl<H, S: Storage<Slot<H>>, C: Storage<Option<ClassQueue<H, S>>>> Discipline<H> for ClassChoke<H, S, C> {
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        let class = self.place_of(packet.meta.class);
        let Some(queue) = self.queue_mut(class) else { return };
        let waited = !queue.choke.fifo().is_empty();
        let before = *queue.choke.stats();
        queue.choke.enqueue(packet, env);
        let after = *queue.choke.stats();
        self.stats.add_since(&before, &after);
        if waited {
            // Its last packet may have been the candidate.
            self.leave_if_empty(class);
        }
    }

    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        // To a class without packets the link is idle.
        for queue in self.classes.as_mut().iter_mut().flatten() {
            if queue.choke.fifo().is_empty() {
                queue.choke.dequeue(env);
            }
        }
        let class = self.next_class()?;
        let packet = self.queue_mut(class)?.choke.dequeue(env)?;
        self.stats.departed.add(packet.meta.len);
        self.leave_if_empty(class);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.queues().fold(Backlog::default(), |sum, queue| {
            let Backlog { packets, bytes } = queue.choke.backlog();
            Backlog { packets: sum.packets + packets, bytes: sum.bytes + bytes }
        })
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn departures_change_internals(&self) -> bool {
        false
    }

    /// Of all classes together.
    fn average_packets(&self) -> Option<f64> {
        Some(self.queues().filter_map(|queue| queue.choke.average_packets()).sum())
    }
}
