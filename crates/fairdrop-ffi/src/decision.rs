//! Decisions for queues that the caller keeps: a ring of its own, whose packets a callback reads.

use core::ffi::c_void;
use core::mem::{align_of, size_of};
use core::ptr::{self, NonNull};

use fairdrop::{
    AnyParams, BurstModes, ChokeBursts, ChokeWDecision, CollarDecision, DropCause, Memory, Philox, RedBursts,
    RingEnv, Stream, Streams, SuspectSet, Time, WardDecision, Xoroshiro,
};

use crate::arena::{Arena, FAIRDROP_ALIGN, Piece};
use crate::params::{Params, borrow};
use crate::problem::{Error, Problem, Status};
use crate::queue::{Host, Lent, Packet, arena_behind, block_of};

/// Most waiting packets that are dropped for one arrival.
pub const FAIRDROP_MOST_VICTIMS: usize = 32;

const _: () = assert!(FAIRDROP_MOST_VICTIMS == fairdrop::MOST_VICTIMS, "the header has it as a number");

/// A waiting packet, as far as a decision compares it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Its flow, as in `fairdrop_packet`.
    pub flow: u64,
    /// Its length on the wire, in bytes.
    pub len: u32,
}

/// The ring that an arrival finds.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Ring {
    /// Handed to `packet`.
    pub context: *mut c_void,
    /// Reads the packet in slot `slot`, below `slots`, counted from the head. Returns false where the slot is empty, as in a ring
    /// whose packets are dropped in their places: a draw that meets it is made again. Must not call its decision.
    pub packet: Option<unsafe extern "C" fn(context: *mut c_void, slot: u32, waiting: *mut Waiting) -> bool>,
    /// Slots from the head to the tail, empty ones included.
    pub slots: u32,
    /// Packets waiting in them.
    pub packets: u32,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Zeros, which the library checks: members of later versions take their places.
    pub reserved: [usize; 2],
}

/// What is to become of an arrival.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is queued.
    Queue = 0,
    /// It is marked (RFC 3168) and queued.
    Mark = 1,
    /// It is dropped.
    Drop = 2,
}

/// A waiting packet that is to be dropped.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Its slot in the ring that the decision was given.
    pub slot: u32,
    /// Cause of the drop.
    pub cause: DropCause,
}

/// A decision on one arrival.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Decided {
    /// What is to become of the arrival.
    pub action: Action,
    /// Cause of the mark or drop; without meaning where the arrival is queued.
    pub cause: DropCause,
    /// Waiting packets to drop: how many of `victim` are set.
    pub victims: usize,
    /// These packets, each once.
    pub victim: [Victim; FAIRDROP_MOST_VICTIMS],
}

/// State of a decision. It lies at the beginning of the block given to `fairdrop_decision_init`, which must stay where it is.
pub struct Decision {
    state: u32,
    parts: Parts,
}

const _: () = assert!(align_of::<Decision>() <= FAIRDROP_ALIGN);
const _: () = assert!(size_of::<Decision>().is_multiple_of(FAIRDROP_ALIGN), "the arena behind it is aligned");

/// No call is running.
const READY: u32 = 0x6664_6472;
/// A call is running, and the callback may be.
const BUSY: u32 = 0x6664_6462;

pub(crate) struct Parts {
    rule: Rule,
    host: Host,
    flow_key: [u64; 2],
    random: Random,
    now: Time,
}

/// The library's generators, for a host without one.
#[expect(clippy::large_enum_variant, reason = "nothing is allocated, so a block has room for either")]
enum Random {
    Philox(Streams<Philox>),
    Xoroshiro(Streams<Xoroshiro>),
}

impl Random {
    /// Streams of the generator that a host chose by its number; `None` where there is none.
    #[inline(never)]
    fn of(generator: u32, host: &Host) -> Option<Self> {
        match generator {
            FAIRDROP_GENERATOR_PHILOX => Some(Self::Philox(Streams::new(host.seed, host.queue))),
            FAIRDROP_GENERATOR_XOROSHIRO => Some(Self::Xoroshiro(Streams::new(host.seed, host.queue))),
            _ => None,
        }
    }

    #[inline(never)]
    fn next(&mut self, stream: Stream) -> u64 {
        match self {
            Self::Philox(streams) => streams.next(stream),
            Self::Xoroshiro(streams) => streams.next(stream),
        }
    }
}

pub(crate) enum Rule {
    Red(RedBursts),
    Choke(ChokeBursts),
    ChokeW(ChokeWDecision),
    Ward(WardDecision),
    Collar(CollarDecision<Piece<u32>, Piece<SuspectSet>>, u32),
}

impl Rule {
    fn new(params: AnyParams, arena: &mut Arena) -> Result<Self, Problem<'static>> {
        let room = Problem::Room { needed: usize::MAX, given: usize::MAX };
        let rule = match params {
            AnyParams::Red(params) => RedBursts::new(params, BurstModes::default()).map(Self::Red),
            AnyParams::Choke(params) => ChokeBursts::new(params, BurstModes::default()).map(Self::Choke),
            AnyParams::ChokeW(params) => ChokeWDecision::new(params).map(Self::ChokeW),
            AnyParams::Ward(params) => WardDecision::new(params).map(Self::Ward),
            AnyParams::Collar(params) => {
                let limit = params.limit;
                let ids = arena.take(params.ids as usize).ok_or(room)?;
                let suspects = arena.take(params.sets as usize).ok_or(room)?;
                CollarDecision::new(params, ids, suspects).map(|decision| Self::Collar(decision, limit))
            }
            _ => return Err(Problem::Undecided),
        };
        rule.map_err(Problem::Refused)
    }
}

fn size_of_decision(params: &Params) -> Result<usize, Problem<'static>> {
    let mut arena = Arena::counting();
    let made = Rule::new(params.any()?, &mut arena);
    // COLLAR is refused for the pieces, which are empty.
    if let Err(problem) = made
        && arena.used() == 0
    {
        return Err(problem);
    }
    Ok(size_of::<Decision>() + arena.used())
}

/// Bytes that a decision with these parameters needs; 0 when there is no such decision, or the parameters do not go together
/// (see `error`). Decisions apart from a queue are those of `red`, `choke`, `chokew`, `ward` and `collar`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_decision_size(params: *const Params, error: *mut Error) -> usize {
    // SAFETY: the caller's promise.
    match unsafe { borrow(params) }.and_then(size_of_decision) {
        Ok(size) => size,
        Err(problem) => {
            // SAFETY: the caller's promise.
            unsafe { problem.report(error) };
            0
        }
    }
}

/// Makes a decision for an empty ring in `memory`, a block of `size` bytes, at least `fairdrop_decision_size(params)`, aligned to
/// `FAIRDROP_ALIGN`. Returns NULL when it cannot (see `error`). Of `host` it uses `context`, `random`, `seed`, `queue` and
/// `flow_key`, which only COLLAR needs; `dropped` may be NULL. The block must not be moved or copied; there is nothing to close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_decision_init(
    memory: *mut c_void,
    size: usize,
    params: *const Params,
    host: *const Host,
    error: *mut Error,
) -> *mut Decision {
    // SAFETY: the caller's promise.
    match unsafe { make(memory, size, params, host) } {
        Ok(decision) => decision,
        Err(problem) => {
            // SAFETY: the caller's promise.
            unsafe { problem.report(error) };
            ptr::null_mut()
        }
    }
}

/// # Safety
/// As the header requires of `fairdrop_decision_init`.
unsafe fn make(
    memory: *mut c_void,
    size: usize,
    params: *const Params,
    host: *const Host,
) -> Result<*mut Decision, Problem<'static>> {
    // SAFETY: the caller's promise.
    let (block, params) = unsafe { (block_of(memory)?, borrow(params)?) };
    let any = params.any()?;
    // SAFETY: the caller's promise.
    let lent = unsafe { Lent::by(host, matches!(any, AnyParams::Collar(_)))? };
    // SAFETY: the caller gives `size` bytes; the first are the decision's.
    let mut arena = unsafe { arena_behind::<Decision>(block, size, size_of_decision(params)?)? };
    let rule = Rule::new(any, &mut arena)?;
    let decision = block.cast::<Decision>();
    let random = Random::Philox(Streams::new(lent.host.seed, lent.host.queue));
    let parts = Parts { rule, host: lent.host, flow_key: lent.flow_key, random, now: Time::ZERO };
    // SAFETY: the block is aligned and large enough.
    unsafe { decision.write(Decision { state: READY, parts }) };
    Ok(decision.as_ptr())
}

/// Does something with a decision, unless it cannot be used.
///
/// # Safety
/// `decision` is null or points to the beginning of a block given to `fairdrop_decision_init`, and no other thread uses it.
pub(crate) unsafe fn enter(decision: *mut Decision, call: impl FnOnce(&mut Parts) -> Status) -> Status {
    let Some(decision) = NonNull::new(decision) else { return Status::BadArgument };
    // SAFETY: the caller's promise. A call that is running has borrowed `parts` alone.
    let state = unsafe { &raw mut (*decision.as_ptr()).state };
    // SAFETY: as above.
    match unsafe { state.read() } {
        READY => {}
        BUSY => return Status::Reentered,
        _ => return Status::NotReady,
    }
    // SAFETY: as above.
    unsafe { state.write(BUSY) };
    // SAFETY: `state` guarantees that this call alone uses them.
    let status = call(unsafe { &mut (*decision.as_ptr()).parts });
    // SAFETY: as above.
    unsafe { state.write(READY) };
    status
}

impl Parts {
    /// At `now_ns`, or when the call before was, if that is later: the rule, and the clock and random numbers that it borrows.
    pub(crate) fn at(&mut self, now_ns: u64) -> (&mut Rule, RingEnv<impl FnMut(Stream) -> u64>) {
        self.now = self.now.max(Time::from_ns(now_ns));
        let Self { rule, host, random, .. } = self;
        let next = move |stream| match host.random {
            // SAFETY: the host's function, called as it was promised to be.
            Some(random) => unsafe { random(host.context, stream) },
            None => random.next(stream),
        };
        (rule, RingEnv::new(self.now, next).keyed(self.flow_key))
    }
}

/// Mode of bursts: the average moves once a burst, for the queue that its first packet finds, and holds for all of its packets.
pub const FAIRDROP_BURST_AVERAGE_ONCE: u32 = 1;
/// Mode of bursts: candidates are drawn from the packets that waited as the burst began.
pub const FAIRDROP_BURST_SNAPSHOT: u32 = 2;
/// Mode of bursts, and of decisions one by one: the random draw of RED is a count-down, with the same law.
pub const FAIRDROP_BURST_COUNT_DOWN: u32 = 4;

/// Generator of random numbers: Philox4x32-10, from which each decision starts.
pub const FAIRDROP_GENERATOR_PHILOX: u32 = 0;
/// Generator of random numbers: xoroshiro128++, with a fifth of the instructions.
pub const FAIRDROP_GENERATOR_XOROSHIRO: u32 = 1;

/// Sets the modes of the bursts of a decision of `red` or `choke` to a sum of `FAIRDROP_BURST_AVERAGE_ONCE`, `..._SNAPSHOT` and
/// `..._COUNT_DOWN`, or to 0, with which bursts are decided as their packets are one after the other. Call it between two bursts. When
/// this returns below 0 nothing has changed: `FAIRDROP_STATUS_BAD_ARGUMENT` for another mode, or another decision.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_decision_set_modes(decision: *mut Decision, modes: u32) -> Status {
    let all = FAIRDROP_BURST_AVERAGE_ONCE | FAIRDROP_BURST_SNAPSHOT | FAIRDROP_BURST_COUNT_DOWN;
    if modes & !all != 0 {
        return Status::BadArgument;
    }
    let modes = BurstModes {
        average_once: modes & FAIRDROP_BURST_AVERAGE_ONCE != 0,
        snapshot: modes & FAIRDROP_BURST_SNAPSHOT != 0,
        count_down: modes & FAIRDROP_BURST_COUNT_DOWN != 0,
    };
    let set = |parts: &mut Parts| {
        match &mut parts.rule {
            Rule::Red(red) => red.set_modes(modes),
            Rule::Choke(choke) => choke.set_modes(modes),
            Rule::ChokeW(_) | Rule::Ward(_) | Rule::Collar(..) => return Status::BadArgument,
        }
        Status::Ok
    };
    // SAFETY: the caller's promise.
    unsafe { enter(decision, set) }
}

/// Chooses the library's generator for a decision whose host has no `random` of its own, and starts its streams from `seed` and
/// `queue` of that host. Returns `FAIRDROP_STATUS_BAD_ARGUMENT` for another generator, with which nothing changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_decision_set_generator(decision: *mut Decision, generator: u32) -> Status {
    let set = |parts: &mut Parts| {
        let Some(random) = Random::of(generator, &parts.host) else { return Status::BadArgument };
        parts.random = random;
        Status::Ok
    };
    // SAFETY: the caller's promise.
    unsafe { enter(decision, set) }
}

/// Decides on a packet that arrives at `ring` at `now_ns`, and writes the decision to `decided`. The caller carries it out: drops the
/// packets of `victim`, then queues, marks or drops the arrival. When this returns below 0 nothing was decided:
/// `FAIRDROP_STATUS_BAD_ARGUMENT` for an `ecn` above 3, a `len` above `FAIRDROP_MAX_LEN`, more `packets` than `slots`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_decide(
    decision: *mut Decision,
    packet: *const Packet,
    ring: *const Ring,
    now_ns: u64,
    decided: *mut Decided,
) -> Status {
    // SAFETY: null, or the caller's to be read.
    let (packet, ring) = unsafe { (packet.as_ref(), ring.as_ref()) };
    let (Some(meta), Some(ring)) = (packet.and_then(Packet::meta), ring) else { return Status::BadArgument };
    let Some(packet_at) = ring.packet else { return Status::BadArgument };
    if decided.is_null() || ring.packets > ring.slots || ring.reserved != [0; 2] {
        return Status::BadArgument;
    }
    let waiting_at = |slot| {
        let mut waiting = Waiting::default();
        // SAFETY: the caller's function, called as it was promised to be.
        unsafe { packet_at(ring.context, slot, &raw mut waiting) }.then_some((waiting.flow, waiting.len))
    };
    let decide = |parts: &mut Parts| {
        let (rule, mut env) = parts.at(now_ns);
        let mut queue = fairdrop::Ring::new(ring.slots, ring.packets, ring.bytes, waiting_at);
        let action = match rule {
            Rule::Red(red) => red.arrival(&meta, &mut queue, &mut env),
            Rule::Choke(choke) => choke.arrival(&meta, &mut queue, &mut env),
            Rule::ChokeW(chokew) => chokew.arrival(&meta, &mut queue, &mut env),
            Rule::Ward(ward) => ward.arrival(&meta, &mut queue, &mut env),
            Rule::Collar(collar, limit) => match collar.arrival(&meta, ring.packets, &mut env) {
                fairdrop::Action::Drop(cause) => fairdrop::Action::Drop(cause),
                _ if ring.packets >= *limit => fairdrop::Action::Drop(DropCause::Overflow),
                kept => kept,
            },
        };
        // SAFETY: not null, and the caller's to be written.
        unsafe { decided.write(Decided::of(action, queue.victims())) };
        Status::Ok
    };
    // SAFETY: the caller's promise.
    unsafe { enter(decision, decide) }
}

impl Decided {
    fn of(action: fairdrop::Action, victims: &[fairdrop::Victim]) -> Self {
        let (action, cause) = match action {
            fairdrop::Action::Queue => (Action::Queue, DropCause::Overflow),
            fairdrop::Action::Mark(cause) => (Action::Mark, cause),
            fairdrop::Action::Drop(cause) => (Action::Drop, cause),
        };
        let none = Victim { slot: u32::MAX, cause: DropCause::Overflow };
        let mut decided =
            Self { action, cause, victims: victims.len(), victim: [none; FAIRDROP_MOST_VICTIMS] };
        for (place, victim) in decided.victim.iter_mut().zip(victims) {
            *place = Victim { slot: victim.slot, cause: victim.cause };
        }
        decided
    }
}

/// The ring's packet `packet` was sent at `now_ns`, with `waiting` others behind it. Of the packet it reads `flow`, `len` and
/// `enqueued_ns`, the time of its arrival, which the caller keeps. COLLAR decides by what is sent; for the others it may be left out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_decision_sent(
    decision: *mut Decision,
    packet: *const Packet,
    waiting: u32,
    now_ns: u64,
) -> Status {
    // SAFETY: null, or the caller's to be read.
    let Some(packet) = (unsafe { packet.as_ref() }) else { return Status::BadArgument };
    let Some(meta) = packet.meta() else { return Status::BadArgument };
    let sent = |parts: &mut Parts| {
        let (rule, mut env) = parts.at(now_ns);
        match rule {
            Rule::Red(red) => red.departed(meta.len),
            Rule::Choke(choke) => choke.departed(meta.len),
            Rule::ChokeW(chokew) => chokew.departed(meta.len),
            Rule::Ward(ward) => ward.departed(meta.len),
            Rule::Collar(collar, _) => {
                let waited = Time::from_ns(now_ns.saturating_sub(packet.enqueued_ns));
                collar.departure(meta.flow, meta.len, waited, waiting, &mut env);
            }
        }
        Status::Ok
    };
    // SAFETY: the caller's promise.
    unsafe { enter(decision, sent) }
}

/// The transmitter is free at `now_ns` and nothing waits: averages of RED, CHOKe and CHOKeW decay from then on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_decision_idle(decision: *mut Decision, now_ns: u64) -> Status {
    let idle = |parts: &mut Parts| {
        parts.now = parts.now.max(Time::from_ns(now_ns));
        match &mut parts.rule {
            Rule::Red(red) => red.idle(parts.now),
            Rule::Choke(choke) => choke.idle(parts.now),
            Rule::ChokeW(chokew) => chokew.idle(parts.now),
            Rule::Ward(_) | Rule::Collar(..) => {}
        }
        Status::Ok
    };
    // SAFETY: the caller's promise.
    unsafe { enter(decision, idle) }
}
