//! The packet that leaves next, before it is taken.

use crate::contract::{Backlog, Discipline, Env, Packet, Stats, Time};

/// A discipline whose next packet a host can read before it takes it, for schedulers that compare the heads of several queues.
///
/// Where the head of a FIFO leaves next in any case, [`Self::peek`] shows it in its place: until it is taken, an arrival may
/// still drop it. Elsewhere the discipline decides at departure, as CoDel does, so that `peek` takes the packet out and keeps it
/// for the next `dequeue`: the discipline has counted it as departed, and can neither drop nor compare it any more. Linux's
/// `peek` works in the same two ways (`qdisc_peek_head`, `qdisc_peek_dequeued`).
///
/// ```
/// use fairdrop::{AnyDiscipline, AnyParams, Discipline, Heap, Meta, Packet, Peekable, Time};
/// # struct Host;
/// # impl fairdrop::Env<u32> for Host {
/// #     fn now(&self) -> Time { Time::ZERO }
/// #     fn random(&mut self, _: fairdrop::Stream) -> u64 { 0 }
/// #     fn flow_key(&self) -> [u64; 2] { [0, 0] }
/// #     fn dropped(&mut self, _: Packet<u32>, _: fairdrop::DropCause) {}
/// # }
/// # let mut host = Host;
/// let params = AnyParams::of("fq_codel").expect("a discipline of the catalogue");
/// let mut queue = Peekable::new(AnyDiscipline::new(params, &mut Heap)?);
/// queue.enqueue(Packet::new(Meta::of_flow(7, 1000), Time::ZERO, 1), &mut host);
/// assert_eq!(queue.peek(&mut host).map(|packet| packet.handle), Some(1));
/// assert_eq!(queue.backlog().packets, 1, "it has not left the queue");
/// assert_eq!(queue.dequeue(&mut host).map(|packet| packet.handle), Some(1));
/// # Ok::<(), fairdrop::ParamError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Peekable<H, D> {
    discipline: D,
    /// A packet that has left the discipline, but not this queue.
    held: Option<Packet<H>>,
}

impl<H, D: Discipline<H>> Peekable<H, D> {
    /// `discipline`, with nothing held.
    pub const fn new(discipline: D) -> Self {
        Self { discipline, held: None }
    }

    /// The packet that the next `dequeue` gives at this time; `None` if it would give none.
    pub fn peek<E: Env<H>>(&mut self, env: &mut E) -> Option<&Packet<H>> {
        // An empty queue would take the call for an idle link.
        let undecided = self.held.is_none() && self.discipline.head().is_none();
        if undecided && self.discipline.backlog().packets > 0 {
            self.held = self.discipline.dequeue(env);
        }
        self.head()
    }

    /// The packet that the discipline has given up and that has not been taken: it counts as departed there.
    pub const fn held(&self) -> Option<&Packet<H>> {
        self.held.as_ref()
    }

    /// The discipline, without the packet that is held.
    pub const fn discipline(&self) -> &D {
        &self.discipline
    }

    /// The discipline, for changes of its parameters.
    pub const fn discipline_mut(&mut self) -> &mut D {
        &mut self.discipline
    }
}

impl<H, D: Discipline<H>> Discipline<H> for Peekable<H, D> {
    #[inline(always)]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.discipline.enqueue(packet, env);
    }

    #[inline(always)]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        if self.held.is_some() { self.held.take() } else { self.discipline.dequeue(env) }
    }

    #[inline]
    fn prepare(&self, numbers: &[u64]) {
        self.discipline.prepare(numbers);
    }

    fn head(&self) -> Option<&Packet<H>> {
        self.held.as_ref().or_else(|| self.discipline.head())
    }

    /// With the packet that is held.
    fn backlog(&self) -> Backlog {
        let Backlog { packets, bytes } = self.discipline.backlog();
        let held = self.held.as_ref().map_or(0, |packet| packet.meta.len);
        Backlog { packets: packets + u32::from(self.held.is_some()), bytes: bytes + u64::from(held) }
    }

    fn stats(&self) -> &Stats {
        self.discipline.stats()
    }

    fn average_packets(&self) -> Option<f64> {
        self.discipline.average_packets()
    }

    #[inline]
    fn internals(&self, see: impl FnMut(&'static str, f64)) {
        self.discipline.internals(see);
    }

    fn departures_change_internals(&self) -> bool {
        self.discipline.departures_change_internals()
    }

    fn holds_back(&self) -> bool {
        self.discipline.holds_back()
    }

    fn deadline(&self) -> Option<Time> {
        self.discipline.deadline()
    }

    fn tick<E: Env<H>>(&mut self, env: &mut E) {
        self.discipline.tick(env);
    }
}
