//! Bursts of 32 packets over a ring that the caller keeps: the decisions of RED and CHOKe alone, under the load of `load.rs`.
//! Departures are not counted, as around `rte_red`.

use std::convert::Infallible;
use std::hint::black_box;

use fairdrop::{
    Action, Arrivals, BurstModes, ChokeBursts, ChokeDecision, ChokeParams, DropCause, IdRing, Meta, NO_ID,
    Occupied, RedBursts, RedDecision, RedParams, RingEnv, Stream, Time, Victim,
};

use crate::load::{LENGTH, Lcg, held, step_ns};

const BURST: usize = 32;

/// A packet in the ring: as large as `rte.c` has it.
#[derive(Clone, Copy, Default)]
struct Queued {
    meta: Meta,
    /// Written, as there, and read by nobody.
    _enqueued: u64,
    handle: u64,
}

/// RED as `rte_red` has it in `rte.c`, but for `max_p`.
pub fn red_params(limit: u32, max_p: f64) -> RedParams {
    let (min_th, max_th) = (f64::from(limit) * 0.5, f64::from(limit));
    RedParams { limit, min_th, max_th, max_p, ..RedParams::default() }
}

/// The average once a burst and a count-down, and draws from a `snapshot` or not.
pub const fn modes(snapshot: bool) -> BurstModes {
    BurstModes { average_once: true, snapshot, count_down: true }
}

/// What decides on bursts.
pub trait Rule {
    /// Whether waiting packets are dropped in their places.
    const LEAVES_HOLES: bool;

    /// Decides on a burst; returns how many of `victims` are set.
    fn burst(
        &mut self,
        burst: Arrivals<'_>,
        ring: Beside<'_>,
        env: &mut Lent<'_>,
        actions: &mut [Action],
    ) -> usize;
}

/// What a caller keeps beside its ring.
pub struct Beside<'a> {
    ids: &'a mut [u32],
    lens: &'a mut [u32],
    occupied: &'a mut Occupied,
    victims: &'a mut [Victim; BURST],
}

/// Clock and random numbers.
pub struct Lent<'a> {
    now: Time,
    random: &'a mut [Lcg; Stream::COUNT],
}

/// The same calls of a decision, whether it has modes. Each has an environment of its own type, so that it is compiled as in a program
/// that has no other.
macro_rules! rules {
    ($red:ty, $choke:ty) => {
        impl Rule for $red {
            const LEAVES_HOLES: bool = false;

            #[inline(always)]
            fn burst(
                &mut self,
                burst: Arrivals<'_>,
                ring: Beside<'_>,
                env: &mut Lent<'_>,
                actions: &mut [Action],
            ) -> usize {
                let mut env = RingEnv::new(env.now, |stream| env.random[stream as usize].next());
                self.burst::<Infallible, _>(burst, ring.occupied.packets, &mut env, actions);
                let queued =
                    actions.iter().filter(|action| !matches!(action, Action::Drop(_))).count() as u32;
                ring.occupied.packets += queued;
                ring.occupied.tail = ring.occupied.tail.wrapping_add(queued);
                0
            }
        }

        impl Rule for $choke {
            const LEAVES_HOLES: bool = true;

            #[inline(always)]
            fn burst(
                &mut self,
                burst: Arrivals<'_>,
                ring: Beside<'_>,
                env: &mut Lent<'_>,
                actions: &mut [Action],
            ) -> usize {
                let Beside { ids, lens, occupied, victims } = ring;
                let mut ring = IdRing::new(ids, lens, *occupied, victims).expect("a ring");
                let mut env = RingEnv::new(env.now, |stream| env.random[stream as usize].next());
                self.burst::<Infallible, _>(burst, &mut ring, &mut env, actions);
                *occupied = ring.occupied();
                ring.victims().len()
            }
        }
    };
}

rules!(RedDecision, ChokeDecision);
rules!(RedBursts, ChokeBursts);

/// CHOKe with one candidate over that RED.
pub fn choke_params(red: RedParams) -> ChokeParams {
    ChokeParams { red, ..ChokeParams::default() }
}

/// A ring, the ids and lengths beside it, and its load.
pub struct BurstLoad<R> {
    rule: R,
    slots: Box<[Queued]>,
    ids: Box<[u32]>,
    lens: Box<[u32]>,
    occupied: Occupied,
    random: [Lcg; Stream::COUNT],
    arrivals: Lcg,
    now: u64,
    step: u64,
    flows: u64,
    held: u32,
    offered: u64,
    dropped: u64,
    seen: u64,
}

impl<R: Rule> BurstLoad<R> {
    pub fn new(rule: R, limit: u32, flows: u32) -> Self {
        // Room for packets, empty slots among them, and a burst.
        let slots = (2 * limit as usize + BURST).next_power_of_two();
        Self {
            rule,
            slots: vec![Queued::default(); slots].into(),
            ids: vec![NO_ID; slots].into(),
            lens: vec![0; slots].into(),
            occupied: Occupied::default(),
            random: std::array::from_fn(|stream| Lcg(stream as u64 + 3)),
            arrivals: Lcg(2),
            now: 0,
            step: step_ns(limit),
            flows: u64::from(flows),
            held: held(limit) as u32,
            offered: 0,
            dropped: 0,
            seen: 0,
        }
    }

    /// Fills the queue and turns it over.
    pub fn settle(&mut self, turns: u64) {
        self.cycle(turns * u64::from(self.held) + 20_000);
        (self.offered, self.dropped) = (0, 0);
    }

    /// Packets dropped in a hundred arrivals since it settled.
    pub fn dropped_percent(&self) -> f64 {
        100.0 * self.dropped as f64 / self.offered as f64
    }

    /// What is timed and counted.
    #[inline(never)]
    pub fn measured_loop(&mut self, arrivals: u64) {
        self.cycle(arrivals);
        black_box(self.seen);
    }

    #[inline(never)]
    fn cycle(&mut self, arrivals: u64) {
        for _ in 0..arrivals / BURST as u64 {
            self.arrive();
            self.depart();
        }
        self.offered += arrivals / BURST as u64 * BURST as u64;
    }

    #[inline(always)]
    fn arrive(&mut self) {
        let ids: [u32; BURST] = std::array::from_fn(|_| {
            ((u128::from(self.arrivals.next()) * u128::from(self.flows)) >> 64) as u32
        });
        let lens = [LENGTH; BURST];
        let mut actions = [Action::Queue; BURST];
        let mut victims = [Victim { slot: 0, cause: DropCause::Overflow }; BURST];
        let now = Time::from_ns(self.now);
        let Self { rule, ids: waiting, lens: waiting_lens, occupied, random, .. } = self;
        let tail = occupied.tail;
        let ring = Beside { ids: waiting, lens: waiting_lens, occupied, victims: &mut victims };
        let arrivals = Arrivals { ids: &ids, lens: &lens, ecn: &[] };
        let dropped = rule.burst(arrivals, ring, &mut Lent { now, random }, &mut actions);
        self.place(&ids, &lens, &actions, tail);
        for victim in &victims[..dropped] {
            self.seen ^= self.slots[victim.slot as usize].handle;
            self.dropped += 1;
        }
    }

    /// Puts the packets of a burst into their slots from `tail` on, as was decided.
    #[inline(always)]
    fn place(&mut self, ids: &[u32; BURST], lens: &[u32; BURST], actions: &[Action; BURST], tail: u32) {
        let (mut tail, mut now, step) = (tail, self.now, self.step);
        let slots = &mut self.slots[..];
        let mask = slots.len() - 1;
        for ((&id, &len), action) in ids.iter().zip(lens).zip(actions) {
            if matches!(action, Action::Drop(_)) {
                self.seen ^= now;
                self.dropped += 1;
            } else {
                let meta = Meta::of_flow(u64::from(id), len);
                slots[tail as usize & mask] = Queued { meta, _enqueued: now, handle: now };
                tail = tail.wrapping_add(1);
            }
            now += step;
        }
        self.now = now;
    }

    /// Those that wait over the length to hold depart.
    #[inline(always)]
    fn depart(&mut self) {
        let Self { slots, ids, occupied, held, seen, .. } = self;
        let (mut left, mut unseen, mut bytes) = (*occupied, *seen, 0);
        let (slots, ids, mask) = (&slots[..], &ids[..], slots.len() - 1);
        while left.packets > *held {
            let head = left.head as usize & mask;
            left.head = left.head.wrapping_add(1);
            if R::LEAVES_HOLES && ids[head] == NO_ID {
                continue;
            }
            let Queued { meta, handle, .. } = slots[head];
            unseen ^= handle;
            left.packets -= 1;
            bytes += u64::from(meta.len);
        }
        left.bytes = left.bytes.wrapping_sub(bytes);
        (*occupied, *seen) = (left, unseen);
    }
}
