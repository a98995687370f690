//! The contract between a discipline and its host.

use crate::{Backlog, DropCause, Ecn, Env, LeakyFifo, Meta, Packet, ParamSpec, Slot, Stats, Time};

/// What a list of disciplines says of one.
#[derive(Clone, Copy, Debug)]
pub struct DisciplineInfo {
    /// Name in scenarios, tables and documents.
    pub name: &'static str,
    /// Name in prose.
    pub title: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Its own parameters.
    pub params: &'static [ParamSpec],
    /// The discipline whose parameters it uses as well.
    pub also_uses: Option<&'static str>,
    /// Where it was published.
    pub source: &'static str,
}

/// A queue discipline over packets with handles of type `H`.
pub trait Discipline<H> {
    /// Offers a packet. It is queued, or given back through [`Env::dropped`]; queued packets may be dropped with it.
    fn admit<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E);

    /// The packet to transmit next, or `None` when nothing waits. The host calls it when its transmitter is free:
    /// a call that finds the queue empty is how a discipline learns that the link has gone idle.
    fn next<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>>;

    /// A burst of packets is about to be offered, for which [`crate::Stream::Candidate`] will give `numbers`, the first
    /// one first: reads the slots that they will probably be compared with, so that waits for memory overlap. It changes
    /// nothing; where an earlier packet of the burst is dropped the guess for later ones may be the wrong slot, which costs
    /// time and no more. Does nothing by default. See [`crate::DrawnAhead`].
    #[inline]
    fn prepare(&self, numbers: &[u64]) {
        let _ = numbers;
    }

    /// What waits now.
    fn backlog(&self) -> Backlog;

    /// Counters by cause.
    fn stats(&self) -> &Stats;

    /// The average queue in packets that the discipline decides by, where it keeps one.
    fn average_packets(&self) -> Option<f64> {
        None
    }

    /// Gives the values that the discipline decides by to `see`, each with the name that its publication uses
    /// (`avg`, `p0`, `drop_prob`), as of the last call. Always the same names in the same order; by default `avg`, where there is one.
    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        if let Some(average) = self.average_packets() {
            see("avg", average);
        }
    }

    /// Whether `next` may change what `internals` shows. Hosts that watch the values need not look then.
    #[inline]
    fn departures_change_internals(&self) -> bool {
        true
    }

    /// When `tick` wants to be called; `None` for disciplines without timers.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// The deadline has come.
    fn tick<E: Env<H>>(&mut self, env: &mut E) {
        let _ = env;
    }
}

/// Counts a drop and hands the packet back to the host: the one way out other than through the link.
#[inline(always)]
pub(crate) fn drop_packet<H, E: Env<H>>(stats: &mut Stats, env: &mut E, packet: Packet<H>, cause: DropCause) {
    if let Some(count) = stats.dropped.get_mut(cause as usize) {
        count.add(packet.meta.len);
    }
    env.dropped(packet, cause);
}

/// Marks the packet where `ecn` says so and it is ECN-capable (RFC 3168), and gives it back; otherwise drops it.
#[inline]
pub(crate) fn mark_or_drop<H, E: Env<H>>(
    stats: &mut Stats,
    env: &mut E,
    mut packet: Packet<H>,
    cause: DropCause,
    ecn: bool,
) -> Option<Packet<H>> {
    if !ecn || packet.meta.ecn == Ecn::NotCapable {
        drop_packet(stats, env, packet, cause);
        return None;
    }
    mark(stats, &mut packet, cause);
    Some(packet)
}

/// Marks the packet, which is ECN-capable, and counts it.
#[inline]
pub(crate) fn mark<H>(stats: &mut Stats, packet: &mut Packet<H>, cause: DropCause) {
    packet.meta.ecn = Ecn::Ce;
    if let Some(count) = stats.marked.get_mut(cause as usize) {
        count.add(packet.meta.len);
    }
}

/// Appends `packet`, or drops it when `limit` packets wait. Returns whether it was queued.
#[inline(always)]
pub(crate) fn append_or_overflow<H, S, E>(
    fifo: &mut LeakyFifo<H, S>,
    limit: u32,
    stats: &mut Stats,
    packet: Packet<H>,
    env: &mut E,
) -> bool
where
    S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>,
    E: Env<H>,
{
    let has_room = fifo.has_room(limit);
    // In parts: a whole that may be handed out of line is put together in memory, part by part, and read back at once.
    let Packet { meta: Meta { flow, len, class, ecn, label }, enqueued, handle } = packet;
    let meta = Meta { flow, len, class, ecn, label };
    if has_room {
        fifo.place(Packet { meta, enqueued, handle });
    } else {
        drop_packet(stats, env, Packet { meta, enqueued, handle }, DropCause::Overflow);
    }
    has_room
}

/// Takes the head for transmission and counts it.
#[inline(always)]
pub(crate) fn depart<H, S>(fifo: &mut LeakyFifo<H, S>, stats: &mut Stats) -> Option<Packet<H>>
where
    S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>,
{
    let packet = fifo.take_head()?;
    // Apart from each other: side by side the two additions become one on vectors, of more instructions.
    stats.departed.packets += 1;
    fifo.trim_head();
    stats.departed.bytes += u64::from(packet.meta.len);
    Some(packet)
}
