//! Bursts through the C interface: decided as `fairdrop_decide` decides on one packet after the other, and errors.

use std::convert::Infallible;
use std::ffi::c_void;
use std::ptr;

use crate::host::{host, params_of, with_error};
use fairdrop::{
    Action as Fate, AnyParams, Arrivals, BurstModes, ChokeBursts, DropCause, Ecn, Generator, IdRing,
    Occupied, ParamValue, Philox, RedBursts, RingEnv, Streams, Time, Xoroshiro,
};
use fairdrop_ffi::{
    Action, Burst, Decided, Decision, FAIRDROP_BURST_AVERAGE_ONCE, FAIRDROP_BURST_COUNT_DOWN,
    FAIRDROP_BURST_SNAPSHOT, FAIRDROP_GENERATOR_PHILOX, FAIRDROP_GENERATOR_XOROSHIRO, FAIRDROP_MOST_VICTIMS,
    FAIRDROP_NO_ID, IdsBeside, Outcome, Packet, Ring, Status, Victim, Waiting, fairdrop_decide,
    fairdrop_decide_burst, fairdrop_decision_idle, fairdrop_decision_init, fairdrop_decision_set_generator,
    fairdrop_decision_set_modes, fairdrop_decision_size,
};

const SLOTS: usize = 256;
const MASK: u32 = SLOTS as u32 - 1;
const NONE: Victim = Victim { slot: u32::MAX, cause: DropCause::Overflow };
const QUEUED: Outcome = Outcome { action: Action::Queue, cause: DropCause::Overflow };

/// A decision in a block of its own.
fn make(discipline: &str, settings: &[(&str, &str)]) -> (*mut Decision, Vec<u64>) {
    let params = params_of(discipline, 100_000_000, settings).unwrap();
    // SAFETY: the pointers are valid.
    let (size, _) = with_error(|error| unsafe { fairdrop_decision_size(&raw const params, error) });
    let mut block = vec![u64::MAX; size.div_ceil(8)];
    let mut host = host();
    (host.seed, host.dropped) = (7, None);
    let memory = block.as_mut_ptr().cast();
    let (decision, _) = with_error(|error| {
        // SAFETY: the block has `size` bytes and stays; the others are valid.
        unsafe { fairdrop_decision_init(memory, size, &raw const params, &raw const host, error) }
    });
    assert!(!decision.is_null());
    (decision, block)
}

/// A ring with its ids and lengths.
#[derive(Clone)]
struct Kept {
    ids: [u32; SLOTS],
    lens: [u32; SLOTS],
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u64,
}

impl Kept {
    const EMPTY: Self =
        Self { ids: [FAIRDROP_NO_ID; SLOTS], lens: [0; SLOTS], head: 0, tail: 0, packets: 0, bytes: 0 };

    fn push(&mut self, id: u32, len: u32) {
        let at = (self.tail & MASK) as usize;
        (self.ids[at], self.lens[at]) = (id, len);
        self.tail = self.tail.wrapping_add(1);
        self.packets += 1;
        self.bytes += u64::from(len);
    }

    fn remove(&mut self, at: u32) {
        let at = at as usize;
        assert_ne!(self.ids[at], FAIRDROP_NO_ID);
        self.ids[at] = FAIRDROP_NO_ID;
        self.packets -= 1;
        self.bytes -= u64::from(self.lens[at]);
    }

    fn depart(&mut self) -> bool {
        while self.head != self.tail {
            let at = self.head & MASK;
            self.head = self.head.wrapping_add(1);
            if self.ids[at as usize] != FAIRDROP_NO_ID {
                self.remove(at);
                return true;
            }
        }
        false
    }

    /// Ids and lengths of what waits.
    fn shown(&self) -> (Vec<(u32, u32)>, u32, u64, u32) {
        let slots = (0..self.tail.wrapping_sub(self.head))
            .map(|offset| (self.head.wrapping_add(offset) & MASK) as usize);
        let waiting =
            slots.filter(|&at| self.ids[at] != FAIRDROP_NO_ID).map(|at| (self.ids[at], self.lens[at]));
        (waiting.collect(), self.packets, self.bytes, self.tail)
    }
}

unsafe extern "C" fn read(context: *mut c_void, slot: u32, waiting: *mut Waiting) -> bool {
    // SAFETY: the context is the ring of the caller, which does not change during a decision.
    let kept = unsafe { &*context.cast::<Kept>() };
    let at = (kept.head.wrapping_add(slot) & MASK) as usize;
    // SAFETY: the library gives a place to write.
    unsafe { waiting.write(Waiting { flow: u64::from(kept.ids[at]), len: kept.lens[at] }) };
    kept.ids[at] != FAIRDROP_NO_ID
}

fn one_by_one(
    decision: *mut Decision,
    burst: &[Packet],
    kept: &mut Kept,
    now_ns: u64,
) -> (Vec<Outcome>, Vec<Victim>) {
    let (mut outcomes, mut victims) = (vec![], vec![]);
    for packet in burst {
        let (slots, packets, bytes) = (kept.tail.wrapping_sub(kept.head), kept.packets, kept.bytes);
        let context = ptr::from_mut(kept).cast();
        let ring = Ring { context, packet: Some(read), slots, packets, bytes, reserved: [0; 2] };
        let mut decided = Decided {
            action: Action::Queue,
            cause: NONE.cause,
            victims: 0,
            victim: [NONE; FAIRDROP_MOST_VICTIMS],
        };
        // SAFETY: the decision, the packet, the ring and the place are valid.
        let status = unsafe { fairdrop_decide(decision, packet, &raw const ring, now_ns, &raw mut decided) };
        assert_eq!(status, Status::Ok);
        for victim in &decided.victim[..decided.victims] {
            let slot = kept.head.wrapping_add(victim.slot) & MASK;
            kept.remove(slot);
            victims.push(Victim { slot, cause: victim.cause });
        }
        if decided.action != Action::Drop {
            kept.push(packet.flow as u32, packet.len);
        }
        let cause = if decided.action == Action::Queue { QUEUED.cause } else { decided.cause };
        outcomes.push(Outcome { action: decided.action, cause });
    }
    (outcomes, victims)
}

/// The fields of a burst that the library reads and writes, and its return value.
fn at_once(
    decision: *mut Decision,
    packets: &[Packet],
    kept: &mut Kept,
    now_ns: u64,
) -> (Status, Vec<Outcome>, Vec<Victim>) {
    let ids: Vec<_> = packets.iter().map(|packet| packet.flow as u32).collect();
    let lens: Vec<_> = packets.iter().map(|packet| packet.len).collect();
    let ecn: Vec<_> = packets.iter().map(|packet| packet.ecn).collect();
    let mut victim = vec![NONE; packets.len()];
    let burst = Burst {
        ids: ids.as_ptr(),
        lens: lens.as_ptr(),
        ecn: ecn.as_ptr(),
        packets: packets.len() as u32,
        reserved: [0; 2],
    };
    let mut ring = IdsBeside {
        ids: kept.ids.as_mut_ptr(),
        lens: kept.lens.as_mut_ptr(),
        slots: SLOTS as u32,
        head: kept.head,
        tail: kept.tail,
        packets: kept.packets,
        bytes: kept.bytes,
        victim: victim.as_mut_ptr(),
        victim_room: victim.len() as u32,
        victims: u32::MAX,
        reserved: [0; 2],
    };
    let mut outcomes = vec![QUEUED; packets.len()];
    // SAFETY: the pointers are valid, and each list is as long as it says.
    let status = unsafe {
        fairdrop_decide_burst(decision, &raw const burst, &raw mut ring, now_ns, outcomes.as_mut_ptr())
    };
    (kept.tail, kept.packets, kept.bytes) = (ring.tail, ring.packets, ring.bytes);
    if status == Status::Ok {
        victim.truncate(ring.victims as usize);
    }
    (status, outcomes, victim)
}

/// Bursts of both ways; the number of outcomes that were no queueing.
fn agree(discipline: &str, settings: &[(&str, &str)]) -> usize {
    let ((single, _one), (whole, _other)) = (make(discipline, settings), make(discipline, settings));
    let (mut kept, mut beside) = (Kept::EMPTY, Kept::EMPTY);
    let (mut random, mut others) = (1_u64, 0);
    for number in 0..2000_u64 {
        let now_ns = number * 400_000;
        let mut next = |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % bound
        };
        let packet =
            |flow, len, ecn| Packet { flow, cookie: 0, enqueued_ns: 0, len, label: 0, traffic_class: 0, ecn };
        let burst: Vec<_> =
            (0..next(70)).map(|_| packet(next(30), 100 + next(900) as u32, next(2) as u8 * 2)).collect();
        while kept.tail.wrapping_sub(kept.head) as usize + burst.len() > SLOTS || kept.packets > 60 {
            assert!(kept.depart() && beside.depart());
        }
        let (outcomes, victims) = one_by_one(single, &burst, &mut kept, now_ns);
        assert_eq!(
            at_once(whole, &burst, &mut beside, now_ns),
            (Status::Ok, outcomes.clone(), victims.clone())
        );
        if discipline == "red" {
            // It takes no notice of them: the owner writes them.
            (beside.ids, beside.lens) = (kept.ids, kept.lens);
        }
        assert_eq!(kept.shown(), beside.shown());
        others += outcomes.iter().filter(|&&outcome| outcome != QUEUED).count() + victims.len();
        if number % 100 == 99 {
            while kept.depart() {
                assert!(beside.depart());
            }
            // SAFETY: the decisions are valid.
            let statuses =
                unsafe { [fairdrop_decision_idle(single, now_ns), fairdrop_decision_idle(whole, now_ns)] };
            assert_eq!(statuses, [Status::Ok; 2]);
        }
    }
    others
}

#[test]
fn a_burst_is_decided_as_one_by_one() {
    let settings = [("limit", "120"), ("min_th", "10"), ("max_th", "150"), ("ecn", "true"), ("w_q", "0.01")];
    assert!(agree("choke", &settings) > 1000);
    assert!(agree("red", &settings) > 100);
}

/// Parameters of bursts in modes.
const MODAL: [(&str, &str); 5] =
    [("limit", "120"), ("min_th", "10"), ("max_th", "150"), ("ecn", "true"), ("w_q", "0.01")];

/// A library's decision in modes, for the same bursts.
enum Direct {
    Red(RedBursts),
    Choke(ChokeBursts),
}

impl Direct {
    /// With the parameters of [`MODAL`].
    fn new(discipline: &str, modes: BurstModes) -> Self {
        let mut params = AnyParams::of(discipline).unwrap();
        params.set_link(120, 100_000_000);
        for (name, value) in [("min_th", 10.0), ("max_th", 150.0), ("w_q", 0.01)] {
            assert!(params.set("red", name, ParamValue::Number(value)));
        }
        assert!(params.set("red", "ecn", ParamValue::Switch(true)));
        match params {
            AnyParams::Red(params) => Self::Red(RedBursts::new(params, modes).unwrap()),
            AnyParams::Choke(params) => Self::Choke(ChokeBursts::new(params, modes).unwrap()),
            _ => unreachable!("no bursts"),
        }
    }

    fn burst<G: Generator>(
        &mut self,
        packets: &[Packet],
        kept: &mut Kept,
        now_ns: u64,
        random: &mut Streams<G>,
    ) -> (Vec<Outcome>, Vec<Victim>) {
        let ids: Vec<_> = packets.iter().map(|packet| packet.flow as u32).collect();
        let lens: Vec<_> = packets.iter().map(|packet| packet.len).collect();
        let capable = |packet: &Packet| if packet.ecn == 0 { Ecn::NotCapable } else { Ecn::Ect0 };
        let ecn: Vec<_> = packets.iter().map(capable).collect();
        let arrivals = Arrivals { ids: &ids, lens: &lens, ecn: &ecn };
        let mut fates = vec![Fate::Queue; packets.len()];
        let mut env = RingEnv::new(Time::from_ns(now_ns), |stream| random.next(stream));
        let mut victims = vec![];
        match self {
            Self::Red(red) => {
                red.burst::<Infallible, _>(arrivals, kept.packets, &mut env, &mut fates);
                for (packet, fate) in packets.iter().zip(&fates) {
                    if !matches!(fate, Fate::Drop(_)) {
                        kept.push(packet.flow as u32, packet.len);
                    }
                }
            }
            Self::Choke(choke) => {
                let none = fairdrop::Victim { slot: u32::MAX, cause: DropCause::Overflow };
                let mut room = vec![none; packets.len()];
                let Kept { head, tail, packets, bytes, .. } = *kept;
                let occupied = Occupied { head, tail, packets, bytes };
                let mut ring = IdRing::new(&mut kept.ids, &mut kept.lens, occupied, &mut room).unwrap();
                choke.burst::<Infallible, _>(arrivals, &mut ring, &mut env, &mut fates);
                victims.extend(ring.victims().iter().map(|v| Victim { slot: v.slot, cause: v.cause }));
                let after = ring.occupied();
                (kept.tail, kept.packets, kept.bytes) = (after.tail, after.packets, after.bytes);
            }
        }
        let outcome = |fate: &Fate| match *fate {
            Fate::Queue => QUEUED,
            Fate::Mark(cause) => Outcome { action: Action::Mark, cause },
            Fate::Drop(cause) => Outcome { action: Action::Drop, cause },
        };
        (fates.iter().map(outcome).collect(), victims)
    }
}

/// Bursts in a mode, through the interface and without it; the outcomes.
fn agree_in_modes<G: Generator>(discipline: &str, modes: u32, generator: u32) -> Vec<Outcome> {
    let (decision, _block) = make(discipline, &MODAL);
    // SAFETY: the decision is valid.
    let set = unsafe {
        [fairdrop_decision_set_modes(decision, modes), fairdrop_decision_set_generator(decision, generator)]
    };
    assert_eq!(set, [Status::Ok; 2]);
    let has = |flag| modes & flag != 0;
    let modes = BurstModes {
        average_once: has(FAIRDROP_BURST_AVERAGE_ONCE),
        snapshot: has(FAIRDROP_BURST_SNAPSHOT),
        count_down: has(FAIRDROP_BURST_COUNT_DOWN),
    };
    let (mut direct, mut streams) = (Direct::new(discipline, modes), Streams::<G>::new(7, 0));
    let (mut kept, mut beside) = (Kept::EMPTY, Kept::EMPTY);
    let (mut random, mut all) = (Philox::new(1, 0, 0), vec![]);
    for number in 0..500_u64 {
        let now_ns = number * 400_000;
        let mut next = |bound: u64| random.next_u64() % bound;
        let packet =
            |flow, len, ecn| Packet { flow, cookie: 0, enqueued_ns: 0, len, label: 0, traffic_class: 0, ecn };
        let burst: Vec<_> =
            (0..next(65)).map(|_| packet(next(30), 100 + next(900) as u32, next(2) as u8 * 2)).collect();
        while kept.tail.wrapping_sub(kept.head) as usize + burst.len() > SLOTS || kept.packets > 60 {
            assert!(kept.depart() && beside.depart());
        }
        let (outcomes, victims) = direct.burst(&burst, &mut kept, now_ns, &mut streams);
        assert_eq!(
            at_once(decision, &burst, &mut beside, now_ns),
            (Status::Ok, outcomes.clone(), victims.clone())
        );
        if discipline == "red" {
            (beside.ids, beside.lens) = (kept.ids, kept.lens);
        }
        assert_eq!(kept.shown(), beside.shown());
        all.extend(outcomes);
    }
    all
}

#[test]
fn bursts_in_modes_are_those_of_the_library_with_either_generator() {
    for modes in 0..8 {
        for discipline in ["red", "choke"] {
            let philox = agree_in_modes::<Philox>(discipline, modes, FAIRDROP_GENERATOR_PHILOX);
            let xoroshiro = agree_in_modes::<Xoroshiro>(discipline, modes, FAIRDROP_GENERATOR_XOROSHIRO);
            let others = philox.iter().filter(|&&outcome| outcome != QUEUED).count();
            assert!(others > 100 && philox != xoroshiro, "{discipline} {modes}: {others}");
        }
    }
}

#[test]
fn other_modes_generators_and_decisions_are_refused() {
    let (choke, _block) = make("choke", &[]);
    let (ward, _other) = make("ward", &[]);
    // SAFETY: the decisions are valid.
    let statuses = unsafe {
        [
            fairdrop_decision_set_modes(choke, 8),
            fairdrop_decision_set_modes(ward, FAIRDROP_BURST_SNAPSHOT),
            fairdrop_decision_set_modes(ptr::null_mut(), 0),
            fairdrop_decision_set_generator(choke, 2),
        ]
    };
    assert_eq!(statuses, [Status::BadArgument; 4]);
}

#[test]
fn what_no_burst_may_have_is_refused() {
    let settings = [("limit", "120"), ("min_th", "0"), ("max_th", "150")];
    let (choke, _block) = make("choke", &settings);
    let (ward, _other) = make("ward", &[("limit", "120")]);
    let packet = Packet { flow: 7, cookie: 1, enqueued_ns: 0, len: 1000, label: 0, traffic_class: 0, ecn: 0 };
    let refused = |decision, packet: Packet, change: fn(&mut Kept)| {
        let mut kept = Kept::EMPTY;
        change(&mut kept);
        at_once(decision, &[packet], &mut kept, 0).0 == Status::BadArgument
    };
    assert!(!refused(choke, packet, |_| {}));
    assert!(refused(ward, packet, |_| {}));
    assert!(refused(choke, Packet { ecn: 4, ..packet }, |_| {}));
    assert!(refused(choke, Packet { len: (1 << 24) + 1, ..packet }, |_| {}));
    assert!(refused(choke, packet, |kept| kept.packets = 1));
    assert!(refused(choke, packet, |kept| kept.tail = SLOTS as u32 + 1));

    let none = Burst { ids: ptr::null(), lens: ptr::null(), ecn: ptr::null(), packets: 0, reserved: [0; 2] };
    let (ids, lens, mut outcome) = ([1, 2], [1000, 1000], [QUEUED; 2]);
    let burst = Burst { ids: ids.as_ptr(), lens: lens.as_ptr(), packets: 2, ..none };
    let (mut waiting, mut their, mut victim) = ([FAIRDROP_NO_ID; 16], [0; 16], [NONE; 2]);
    let ring = IdsBeside {
        ids: waiting.as_mut_ptr(),
        lens: their.as_mut_ptr(),
        slots: 16,
        head: 0,
        tail: 0,
        packets: 0,
        bytes: 0,
        victim: victim.as_mut_ptr(),
        victim_room: 2,
        victims: 0,
        reserved: [0; 2],
    };
    let mut status = |burst: Burst, mut ring: IdsBeside| {
        // SAFETY: the pointers are null or valid, and no list is shorter than it says.
        unsafe { fairdrop_decide_burst(choke, &raw const burst, &raw mut ring, 0, outcome.as_mut_ptr()) }
    };
    assert_eq!(status(burst, ring), Status::Ok);
    assert_eq!(status(none, ring), Status::BadArgument);
    assert_eq!(status(Burst { reserved: [1, 0], ..burst }, ring), Status::BadArgument);
    for wrong in [
        IdsBeside { ids: ptr::null_mut(), ..ring },
        IdsBeside { lens: ptr::null_mut(), ..ring },
        IdsBeside { victim: ptr::null_mut(), ..ring },
        IdsBeside { victim_room: 1, ..ring },
        IdsBeside { slots: 12, ..ring },
        IdsBeside { reserved: [0, 1], ..ring },
    ] {
        assert_eq!(status(burst, wrong), Status::BadArgument);
    }
    // SAFETY: null pointers are refused.
    let nothing =
        unsafe { fairdrop_decide_burst(choke, &raw const burst, ptr::null_mut(), 0, ptr::null_mut()) };
    assert_eq!(nothing, Status::BadArgument);
}
