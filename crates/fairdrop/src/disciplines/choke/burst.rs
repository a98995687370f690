//! CHOKe's decisions on bursts. Matches and early drops are rare, so arrivals are taken as queued, up to the first that is not:
//! tests that hold for a whole run of them are made once, and a comparison touches an id of four bytes.

use super::ChokeDecision;
use crate::contract::{Action, DropCause, Env, Hosts, Meta, Packet, Stream, Time};
use crate::disciplines::red::burst::{Run, Where};
use crate::storage::{Arrivals, IdRing};

/// Why a run of queued arrivals ends.
#[derive(Clone, Copy)]
enum End {
    /// All of them are queued.
    Queued,
    /// What is known of the average does not reach the next one.
    Open,
    /// The next one drew this number, and its candidate may match, or may be none.
    Drawn(u64),
    /// RED drops the next one.
    Early(DropCause),
}

/// An environment whose next number for a candidate was drawn already.
pub(super) struct Resumed<'e, E> {
    pub(super) env: &'e mut E,
    pub(super) number: Option<u64>,
}

impl<H, E: Env<H>> Env<H> for Resumed<'_, E> {
    fn now(&self) -> Time {
        self.env.now()
    }

    #[inline]
    fn random(&mut self, stream: Stream) -> u64 {
        let drawn = if stream == Stream::Candidate { self.number.take() } else { None };
        drawn.unwrap_or_else(|| self.env.random(stream))
    }

    fn flow_key(&self) -> [u64; 2] {
        self.env.flow_key()
    }

    fn hosts(&self, packet: &Packet<H>) -> Hosts {
        self.env.hosts(packet)
    }

    fn dropped(&mut self, packet: Packet<H>, cause: DropCause) {
        self.env.dropped(packet, cause);
    }
}

impl ChokeDecision {
    /// What becomes of a burst of arrivals at `ring`, one for each of `actions`: exactly what [`Self::arrival`] decides on one after
    /// the other, all at the time of `env`. The ring then has the arrivals to be queued, and lists the packets to be dropped.
    #[inline]
    pub fn burst<H, E: Env<H>>(
        &mut self,
        arrivals: Arrivals<'_>,
        ring: &mut IdRing<'_>,
        env: &mut E,
        actions: &mut [Action],
    ) {
        actions.fill(Action::Queue);
        let (mut rest, mut at) = (arrivals.first(actions.len()), 0);
        while !rest.is_empty() {
            let (queued, end) = self.queue_all(&rest, ring, env);
            (rest, at) = (rest.from(queued), at + queued);
            if queued > 0 && matches!(end, End::Open) {
                continue;
            }
            let (Some(meta), Some(action)) = (rest.next(), actions.get_mut(at)) else { return };
            *action = self.alone(end, &meta, ring, env);
            (rest, at) = (rest.from(1), at + 1);
        }
    }

    /// Queues arrivals up to the first that is not.
    #[inline(always)]
    fn queue_all<H, E: Env<H>>(
        &mut self,
        arrivals: &Arrivals<'_>,
        ring: &mut IdRing<'_>,
        env: &mut E,
    ) -> (usize, End) {
        let (waiting, room) = (ring.occupied().packets, arrivals.len().min(ring.free()));
        let run = if self.basic { self.state.run(&self.params.red, waiting, room) } else { None };
        let Some((most, place)) = run.filter(|_| room > 0) else { return (0, End::Open) };
        if place == Where::Below {
            return self.queue_below(&arrivals.first(most), ring);
        }
        let Self { params, state, stats, .. } = self;
        let (red, bound) = (&params.red, state.bounded_to());
        let Some(slots) = ring.write_ahead(&arrivals.first(most)) else { return (0, End::Open) };
        let most = most.min(slots.named);
        let mut run = Run::new(state, red, waiting);
        let (mut end, mut queued) = (if most < arrivals.len() { End::Open } else { End::Queued }, 0);
        for &id in arrivals.ids.iter().take(most) {
            let number = env.random(Stream::Candidate);
            if slots.may_match(number, queued, id) {
                end = End::Drawn(number);
                break;
            }
            run.sample();
            let bits = env.random(Stream::EarlyDrop);
            queued += 1;
            if run.keeps(bits) {
                continue;
            }
            let early = state.decide_in(red, run.now(), bits);
            run = Run::new(state, red, waiting + queued as u32);
            if let Some(cause) = early {
                (end, queued) = (End::Early(cause), queued - 1);
                break;
            }
            if state.bounded_to() != bound {
                end = End::Open;
                break;
            }
        }
        run.end(state);
        let bytes = arrivals.bytes(queued);
        stats.drawn += queued as u64 + u64::from(matches!(end, End::Early(_)));
        stats.arrived.packets += queued as u64;
        ring.advance(queued as u32, bytes);
        stats.arrived.bytes += bytes;
        (queued, end)
    }

    /// Queues arrivals that all find the average below `min_th`.
    #[inline(never)]
    fn queue_below(&mut self, arrivals: &Arrivals<'_>, ring: &mut IdRing<'_>) -> (usize, End) {
        let Some(slots) = ring.write_ahead(arrivals) else { return (0, End::Open) };
        let queued = slots.named;
        self.state.pass_below(&self.params.red, ring.occupied().packets, queued);
        let bytes = arrivals.bytes(queued);
        self.stats.arrived.packets += queued as u64;
        self.stats.arrived.bytes += bytes;
        ring.advance(queued as u32, bytes);
        (queued, End::Open)
    }

    /// Decides on one arrival by itself, or carries out RED's decision to drop it early.
    #[inline(never)]
    fn alone<H, E: Env<H>>(&mut self, end: End, meta: &Meta, ring: &mut IdRing<'_>, env: &mut E) -> Action {
        let action = if let End::Early(cause) = end {
            self.stats.arrived.add(meta.len);
            self.settle::<H>(Some(cause), meta, ring)
        } else {
            let number = if let End::Drawn(number) = end { Some(number) } else { None };
            self.arrival(meta, &mut ring.drawn_from(None), &mut Resumed { env, number })
        };
        if !matches!(action, Action::Drop(_)) {
            ring.push(meta);
        }
        action
    }
}
