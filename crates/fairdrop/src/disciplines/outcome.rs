//! The fates of a packet and their counters: dropped, marked, queued or sent.

use crate::contract::{Action, DropCause, Ecn, Env, Meta, Packet, Stats};
use crate::storage::{LeakyFifo, Slot, Storage};

/// Counts a drop and hands the packet back to the host: the one way out other than through the link.
#[inline(always)]
pub(super) fn drop_packet<H, E: Env<H>>(stats: &mut Stats, env: &mut E, packet: Packet<H>, cause: DropCause) {
    count_drop(stats, packet.meta.len, cause);
    env.dropped(packet, cause);
}

/// Counts a drop of `len` bytes.
#[inline(always)]
pub(super) fn count_drop(stats: &mut Stats, len: u32, cause: DropCause) {
    if let Some(count) = stats.dropped.get_mut(cause as usize) {
        count.add(len);
    }
}

/// Counts a mark on a packet of `len` bytes.
#[inline(always)]
pub(super) fn count_mark(stats: &mut Stats, len: u32, cause: DropCause) {
    if let Some(count) = stats.marked.get_mut(cause as usize) {
        count.add(len);
    }
}

/// Does with an arrival what was decided and counted; a packet that is to be queued has room. Returns whether it was queued.
#[inline(always)]
pub(super) fn carry_out<H, S, E>(
    action: Action,
    packet: Packet<H>,
    fifo: &mut LeakyFifo<H, S>,
    env: &mut E,
) -> bool
where
    S: Storage<Slot<H>>,
    E: Env<H>,
{
    // In parts: a whole that may be handed out of line is put together in memory, part by part, and read back at once.
    let Packet { meta: Meta { flow, len, class, mut ecn, label }, enqueued, handle } = packet;
    if let Action::Drop(cause) = action {
        env.dropped(Packet { meta: Meta { flow, len, class, ecn, label }, enqueued, handle }, cause);
        return false;
    }
    if let Action::Mark(_) = action {
        ecn = Ecn::Ce;
    }
    fifo.place(Packet { meta: Meta { flow, len, class, ecn, label }, enqueued, handle });
    true
}

/// Marks the packet where `ecn` is set and it is ECN-capable (RFC 3168), and gives it back; otherwise drops it.
#[inline]
pub(super) fn mark_or_drop<H, E: Env<H>>(
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
pub(super) fn mark<H>(stats: &mut Stats, packet: &mut Packet<H>, cause: DropCause) {
    packet.meta.ecn = Ecn::Ce;
    count_mark(stats, packet.meta.len, cause);
}

/// Appends `packet`, or drops it when `limit` packets wait. Returns whether it was queued.
#[inline(always)]
pub(super) fn append_or_overflow<H, S, E>(
    fifo: &mut LeakyFifo<H, S>,
    limit: u32,
    stats: &mut Stats,
    packet: Packet<H>,
    env: &mut E,
) -> bool
where
    S: Storage<Slot<H>>,
    E: Env<H>,
{
    let has_room = fifo.has_room(limit);
    // In parts: a whole that may be handed out of line is put together in memory, part by part, and read back at once.
    let Packet { meta: Meta { flow, len, class, ecn, label }, enqueued, handle } = packet;
    let meta = Meta { flow, len, class, ecn, label };
    if has_room {
        fifo.place(Packet { meta, handle, enqueued });
    } else {
        drop_packet(stats, env, Packet { meta, handle, enqueued }, DropCause::Overflow);
    }
    has_room
}

/// Takes the head for transmission and counts it.
#[inline(always)]
pub(super) fn depart<H, S>(fifo: &mut LeakyFifo<H, S>, stats: &mut Stats) -> Option<Packet<H>>
where
    S: Storage<Slot<H>>,
{
    let packet = fifo.take_head()?;
    // Apart from each other: side by side the two additions become one on vectors, of more instructions.
    stats.departed.packets += 1;
    fifo.trim_head();
    stats.departed.bytes += u64::from(packet.meta.len);
    Some(packet)
}

/// [`crate::Discipline::head`] of a FIFO whose departures nothing decides.
macro_rules! head_leaves_next {
    ($($field:ident).+) => {
        fn head(&self) -> Option<&$crate::Packet<H>> {
            self.$($field).+.iter().next()
        }
    };
}
pub(super) use head_leaves_next;

/// The calls of [`crate::Discipline`] that follow from `self.fifo` and `self.stats`.
macro_rules! fifo_calls {
    () => {
        $crate::disciplines::outcome::head_leaves_next!(fifo);

        $crate::disciplines::outcome::fifo_calls!(except head);
    };
    (except head) => {
        fn backlog(&self) -> $crate::Backlog {
            self.fifo.backlog()
        }

        fn stats(&self) -> &$crate::Stats {
            &self.stats
        }
    };
}
pub(super) use fifo_calls;
