//! Queues in the caller's memory.

use core::ffi::{c_char, c_void};
use core::fmt::Write;
use core::mem::{align_of, size_of};
use core::ptr::{self, NonNull};

use fairdrop::{
    AnyDiscipline, Discipline, DropCause, Ecn, Env, MAX_LEN, Meta, Peekable, Philox, Stream, Time,
};

use crate::arena::{Arena, FAIRDROP_ALIGN};
use crate::params::{Params, borrow};
use crate::problem::{Buffer, Error, Problem, Status};

/// Bytes of the longest packet: 16 MiB, well above what offloading to network cards puts together.
pub const FAIRDROP_MAX_LEN: u32 = 1 << 24;

const _: () = assert!(FAIRDROP_MAX_LEN == MAX_LEN, "they are one bound; the header has it as a number");

/// A packet, as far as a discipline knows it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Identity of the flow, compared for equality only: what the caller makes of the packet's headers, for example with
    /// `fairdrop_hash`.
    pub flow: u64,
    /// The caller's reference to the packet: a pointer, an index. Comes back as it was given.
    pub cookie: u64,
    /// When the packet was admitted, in ns. Written by the library; `fairdrop_enqueue` does not read it.
    pub enqueued_ns: u64,
    /// Length on the wire, in bytes: at most `FAIRDROP_MAX_LEN`.
    pub len: u32,
    /// The rate that an edge wrote on the packet, as CSFQ encodes it; 0 when none did.
    pub label: u16,
    /// Priority class (the DS field), which CHOKeW, RIO and FQ use; otherwise 0.
    pub traffic_class: u8,
    /// ECN field of the IP header (RFC 3168), 0 to 3: not capable, ECT(1), ECT(0), congestion experienced. A packet that
    /// comes from `fairdrop_dequeue` with 3 is to leave with 3.
    pub ecn: u8,
}

/// The hosts at the ends of a packet; compared for equality only.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// Where it comes from.
    pub source: u64,
    /// Where it goes to.
    pub destination: u64,
}

/// What a queue asks of its host, and gives back to it. Callbacks run during calls of the library, in the thread of the
/// caller; they must return, and must not call the queue that called them. A packet that they are given a pointer to is
/// theirs to read until they return.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Host {
    /// Handed to the callbacks.
    pub context: *mut c_void,
    /// Takes back a packet that is dropped. Required: the caller frees the buffer here. May be called many times during one
    /// call, also for packets that were admitted before.
    pub dropped: Option<unsafe extern "C" fn(context: *mut c_void, packet: *const Packet, cause: DropCause)>,
    /// The key of every hash that finds the state, the queue or the bins of a flow: 128 secret bits, which are copied.
    /// Required. Whoever knows them can send under flow numbers that all fall into one place, where each packet then costs
    /// a search through all of them: take them from the system's random source (`getrandom`), anew for each run. Two zeros
    /// are the key of the simulator and of the conformance vectors.
    pub flow_key: *const u64,
    /// 64 random bits of a stream. NULL for the generator of the library, which `seed` and `queue` start. A draw whose
    /// numbers are refused 1024 times in a row (in `choke_hardware` 64 times the addresses that it takes on average), as those
    /// of a source that is stuck may be, is given up and counted in `stuck_draws`; the arrival then meets fewer candidates.
    pub random: Option<unsafe extern "C" fn(context: *mut c_void, stream: Stream) -> u64>,
    /// Sees each candidate before it is compared, for traces; NULL when nobody looks.
    pub drawn: Option<unsafe extern "C" fn(context: *mut c_void, candidate: *const Packet)>,
    /// Seed of the library's generator. Whoever can guess it can foresee which packets are drawn: it belongs with
    /// `flow_key`.
    pub seed: u64,
    /// Distinguishes queues with the same seed. The streams are those of the simulator's queue of that number.
    pub queue: u32,
    /// Writes the hosts of a packet that arrives, for disciplines that share among hosts (CAKE, `collar_hosts`). It finds the
    /// packet's flow at both ends; NULL leaves that, so that each flow has its hosts to itself.
    pub hosts: Option<unsafe extern "C" fn(context: *mut c_void, packet: *const Packet, hosts: *mut Hosts)>,
    /// Zeros, which the library checks: members of later versions take their places.
    pub reserved: [usize; 4],
}

/// Packets and their bytes on the wire.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Counters of a queue since it was made. arrived = departed + dropped + backlog.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Given to `fairdrop_enqueue`.
    pub arrived: Count,
    /// Handed out by `fairdrop_dequeue`.
    pub departed: Count,
    /// Dropped, for any cause.
    pub dropped: Count,
    /// Marked (RFC 3168) where a packet that is not ECN-capable would have been dropped, for any cause.
    pub marked: Count,
    /// Candidates drawn and compared.
    pub drawn: u64,
    /// Draws given up because `host.random` repeats itself. Above 0 it is broken.
    pub stuck_draws: u64,
    /// Zeros: counters of later versions take their places.
    pub reserved: [u64; 6],
}

/// No call is running.
const READY: u32 = 0x6664_7264;
/// A call is running, and callbacks may be.
const BUSY: u32 = 0x6664_6279;

/// A queue. It lies at the beginning of the block given to `fairdrop_init`, which must stay where it is.
pub struct Queue {
    /// Beside what calls borrow, so that a callback's call finds it.
    state: u32,
    parts: Parts,
}

const _: () = assert!(align_of::<Queue>() <= FAIRDROP_ALIGN);

/// A discipline in a block, and the packet that `fairdrop_peek` took out of it.
type Held = Peekable<u64, AnyDiscipline<u64, Arena>>;

struct Parts {
    discipline: Held,
    world: World,
}

/// Streams that a queue draws from: count-downs are of decisions alone.
const STREAMS: usize = Stream::CountDown as usize;

/// What the discipline borrows.
struct World {
    host: Host,
    flow_key: [u64; 2],
    random: [Philox; STREAMS],
    now: Time,
}

impl Env<u64> for World {
    #[inline]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn flow_key(&self) -> [u64; 2] {
        self.flow_key
    }

    fn hosts(&self, packet: &fairdrop::Packet<u64>) -> fairdrop::Hosts {
        let flow = packet.meta.flow;
        let mut ends = Hosts { source: flow, destination: flow };
        if let Some(hosts) = self.host.hosts {
            // SAFETY: the host's function, called as it was promised to be.
            unsafe { hosts(self.host.context, &Packet::from(packet), &raw mut ends) };
        }
        fairdrop::Hosts { source: ends.source, destination: ends.destination }
    }

    #[inline]
    fn random(&mut self, stream: Stream) -> u64 {
        match self.host.random {
            // SAFETY: the host's function, called as it was promised to be.
            Some(random) => unsafe { random(self.host.context, stream) },
            None => self.random.get_mut(stream as usize).map_or(0, Philox::next_u64),
        }
    }

    #[inline]
    fn dropped(&mut self, packet: fairdrop::Packet<u64>, cause: DropCause) {
        if let Some(dropped) = self.host.dropped {
            // SAFETY: the host's function, called as it was promised to be.
            unsafe { dropped(self.host.context, &Packet::from(&packet), cause) };
        }
    }

    #[inline]
    fn drawn(&mut self, candidate: &fairdrop::Packet<u64>) {
        if let Some(drawn) = self.host.drawn {
            // SAFETY: the host's function, called as it was promised to be.
            unsafe { drawn(self.host.context, &Packet::from(candidate)) };
        }
    }
}

impl From<&fairdrop::Packet<u64>> for Packet {
    fn from(packet: &fairdrop::Packet<u64>) -> Self {
        let Meta { flow, len, class, ecn, label } = packet.meta;
        let (cookie, enqueued_ns) = (packet.handle, packet.enqueued.ns());
        Self { flow, cookie, enqueued_ns, len, label, traffic_class: class, ecn: ecn as u8 }
    }
}

impl Packet {
    pub(crate) fn meta(&self) -> Option<Meta> {
        let ecn = match self.ecn {
            0 => Ecn::NotCapable,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            3 => Ecn::Ce,
            _ => return None,
        };
        if self.len > MAX_LEN {
            return None;
        }
        Some(Meta { flow: self.flow, len: self.len, class: self.traffic_class, ecn, label: self.label })
    }
}

impl From<fairdrop::Count> for Count {
    fn from(count: fairdrop::Count) -> Self {
        Self { packets: count.packets, bytes: count.bytes }
    }
}

/// A queue during a call; while there is one, other calls of the queue are refused.
struct Entered {
    queue: NonNull<Queue>,
}

impl Entered {
    /// # Safety
    /// `queue` is null or points to the beginning of a block given to `fairdrop_init`, and no other thread uses it.
    unsafe fn new(queue: *mut Queue) -> Result<Self, Status> {
        let queue = NonNull::new(queue).ok_or(Status::BadArgument)?;
        // SAFETY: the caller's promise. A call that is running has borrowed `parts` alone.
        let state = unsafe { &raw mut (*queue.as_ptr()).state };
        // SAFETY: as above.
        match unsafe { state.read() } {
            READY => {
                // SAFETY: as above.
                unsafe { state.write(BUSY) };
                Ok(Self { queue })
            }
            BUSY => Err(Status::Reentered),
            _ => Err(Status::NotReady),
        }
    }

    /// At `now_ns`, or when the call before was, if that is later: time never runs backwards.
    fn at(&mut self, now_ns: u64) -> (&mut Held, &mut World) {
        let Parts { discipline, world } = self.parts();
        world.now = world.now.max(Time::from_ns(now_ns));
        (discipline, world)
    }

    fn parts(&mut self) -> &mut Parts {
        // SAFETY: `state` guarantees that this call alone uses them, since `new`.
        unsafe { &mut (*self.queue.as_ptr()).parts }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // SAFETY: as in `new`.
        unsafe { (&raw mut (*self.queue.as_ptr()).state).write(READY) };
    }
}

/// Does something with a queue, unless it cannot be used.
///
/// # Safety
/// As [`Entered::new`].
#[inline]
unsafe fn enter(queue: *mut Queue, call: impl FnOnce(&mut Entered) -> Status) -> Status {
    // SAFETY: the caller's promise.
    match unsafe { Entered::new(queue) } {
        Ok(mut entered) => call(&mut entered),
        Err(status) => status,
    }
}

/// Reads something of a queue into `to`; `None` is `Status::None`.
///
/// # Safety
/// As [`Entered::new`]; `to` is null or may be written.
unsafe fn read<T>(queue: *const Queue, to: *mut T, value: impl FnOnce(&Held) -> Option<T>) -> Status {
    if to.is_null() {
        return Status::BadArgument;
    }
    let read = |entered: &mut Entered| match value(&entered.parts().discipline) {
        Some(value) => {
            // SAFETY: not null, and the caller's to be written.
            unsafe { to.write(value) };
            Status::Ok
        }
        None => Status::None,
    };
    // SAFETY: the caller's promise. The block is the queue's to write; a reader sets `state` and sets it back.
    unsafe { enter(queue.cast_mut(), read) }
}

fn size_of_queue(params: &Params) -> Result<usize, Problem<'static>> {
    let mut arena = Arena::counting();
    // It is refused for the pieces, which are empty.
    let _ = AnyDiscipline::<u64, _>::new(params.any()?, &mut arena);
    let room = Problem::Room { needed: usize::MAX, given: usize::MAX };
    size_of::<Queue>().checked_add(arena.used()).ok_or(room)
}

/// Bytes that a queue with these parameters needs; 0 when the parameters do not go together (see `error`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_size(params: *const Params, error: *mut Error) -> usize {
    // SAFETY: the caller's promise.
    match unsafe { borrow(params) }.and_then(size_of_queue) {
        Ok(size) => size,
        Err(problem) => {
            // SAFETY: the caller's promise.
            unsafe { problem.report(error) };
            0
        }
    }
}

/// Makes an empty queue in `memory`, a block of `size` bytes, at least `fairdrop_size(params)`, aligned to
/// `FAIRDROP_ALIGN`. Returns NULL when it cannot (see `error`). `params` and `host` are copied. The block is the queue's until
/// the caller makes no more calls with it: there is nothing to close. It must not be moved or copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_init(
    memory: *mut c_void,
    size: usize,
    params: *const Params,
    host: *const Host,
    error: *mut Error,
) -> *mut Queue {
    // SAFETY: the caller's promise.
    match unsafe { make(memory, size, params, host) } {
        Ok(queue) => queue,
        Err(problem) => {
            // SAFETY: the caller's promise.
            unsafe { problem.report(error) };
            ptr::null_mut()
        }
    }
}

/// The block that a caller lends.
pub(crate) fn block_of(memory: *mut c_void) -> Result<NonNull<u8>, Problem<'static>> {
    let block = NonNull::new(memory.cast::<u8>()).ok_or(Problem::Null("memory"))?;
    let aligned = block.as_ptr().align_offset(FAIRDROP_ALIGN) == 0;
    if aligned { Ok(block) } else { Err(Problem::Misaligned) }
}

/// The rest of a block of `size` bytes that begins with a `T`, where it has the bytes that are `needed` in all.
///
/// # Safety
/// The block has `size` bytes, may be written, and is used by nobody else.
pub(crate) unsafe fn arena_behind<T>(
    block: NonNull<u8>,
    size: usize,
    needed: usize,
) -> Result<Arena, Problem<'static>> {
    const { assert!(size_of::<T>().is_multiple_of(FAIRDROP_ALIGN), "the arena behind it is aligned") };
    if size < needed {
        return Err(Problem::Room { needed, given: size });
    }
    let begin = size_of::<T>();
    // SAFETY: `needed` counts the `T`, so that `begin` is within the block; it keeps the block's alignment.
    Ok(unsafe { Arena::over(block.add(begin), size - begin) })
}

/// What a caller lends beside the block.
pub(crate) struct Lent {
    pub host: Host,
    /// Zeros where there is none and none is required.
    pub flow_key: [u64; 2],
}

impl Lent {
    /// Copies of the host and its key.
    ///
    /// # Safety
    /// `host` is null or valid, and so is its key.
    pub(crate) unsafe fn by(host: *const Host, key_required: bool) -> Result<Self, Problem<'static>> {
        // SAFETY: the caller's promise.
        let host = *unsafe { host.as_ref() }.ok_or(Problem::Null("host"))?;
        // What a later version takes from there would be left undone without a word.
        if let Some(&set) = host.reserved.iter().find(|&&word| word != 0) {
            return Err(Problem::Argument("host.reserved", set as u64, "0 in a library of this version"));
        }
        if host.flow_key.is_null() {
            let none = Self { host, flow_key: [0, 0] };
            return if key_required { Err(Problem::Null("host.flow_key")) } else { Ok(none) };
        }
        // SAFETY: not null, and the caller promises two words there.
        let flow_key = unsafe { host.flow_key.cast::<[u64; 2]>().read() };
        Ok(Self { host, flow_key })
    }

    /// The library's generators, as the host starts them.
    fn random(&self) -> [Philox; STREAMS] {
        core::array::from_fn(|stream| Philox::new(self.host.seed, self.host.queue, stream as u32))
    }
}

/// # Safety
/// As the header requires of `fairdrop_init`.
unsafe fn make(
    memory: *mut c_void,
    size: usize,
    params: *const Params,
    host: *const Host,
) -> Result<*mut Queue, Problem<'static>> {
    // SAFETY: the caller's promise.
    let (block, params, lent) = unsafe { (block_of(memory)?, borrow(params)?, Lent::by(host, true)?) };
    if lent.host.dropped.is_none() {
        return Err(Problem::Null("host.dropped"));
    }
    // SAFETY: the caller gives `size` bytes; the first are the queue's.
    let mut arena = unsafe { arena_behind::<Queue>(block, size, size_of_queue(params)?)? };
    let discipline = AnyDiscipline::new(params.any()?, &mut arena).map_err(Problem::Refused)?;
    let discipline = Peekable::new(discipline);
    let queue = block.cast::<Queue>();
    let random = lent.random();
    let world = World { host: lent.host, flow_key: lent.flow_key, random, now: Time::ZERO };
    // SAFETY: the block is aligned and large enough.
    unsafe { queue.write(Queue { state: READY, parts: Parts { discipline, world } }) };
    Ok(queue.as_ptr())
}

/// Offers a packet that arrives at `now_ns`. It is queued, or dropped, and packets that wait may be dropped with it: each
/// drop is a call of `host.dropped`. When this returns below 0 the packet was not taken: `FAIRDROP_STATUS_BAD_ARGUMENT` for an
/// `ecn` above 3 and a `len` above `FAIRDROP_MAX_LEN`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_enqueue(queue: *mut Queue, packet: *const Packet, now_ns: u64) -> Status {
    // SAFETY: null, or the caller's to be read.
    let packet = unsafe { packet.as_ref() };
    let Some((meta, cookie)) = packet.and_then(|packet| Some((packet.meta()?, packet.cookie))) else {
        return Status::BadArgument;
    };
    let offer = |entered: &mut Entered| {
        let (discipline, world) = entered.at(now_ns);
        discipline.enqueue(fairdrop::Packet::new(meta, world.now, cookie), world);
        Status::Ok
    };
    // SAFETY: the caller's promise.
    unsafe { enter(queue, offer) }
}

/// Takes the packet to transmit next into `packet`; `FAIRDROP_STATUS_NONE` when nothing waits, or a shaper (CAKE with a `rate`)
/// holds back what waits: then call `fairdrop_tick` at `fairdrop_deadline`, and this after it. Call it when the transmitter is
/// free, even when nothing waits: a call that finds the queue empty is how a discipline learns that the link is idle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_dequeue(queue: *mut Queue, now_ns: u64, packet: *mut Packet) -> Status {
    if packet.is_null() {
        return Status::BadArgument;
    }
    let next = |entered: &mut Entered| {
        let (discipline, world) = entered.at(now_ns);
        let Some(next) = discipline.dequeue(world) else { return Status::None };
        // SAFETY: not null, and the caller's to be written.
        unsafe { packet.write(Packet::from(&next)) };
        Status::Ok
    };
    // SAFETY: the caller's promise.
    unsafe { enter(queue, next) }
}

/// Copies into `packet` what `fairdrop_dequeue` would give at `now_ns`; `FAIRDROP_STATUS_NONE` when it would give nothing. For
/// schedulers that compare the heads of several queues. In a FIFO whose departures nothing decides the packet stays where it is:
/// until it is taken, an arrival may still drop it. A discipline that decides at departure (CoDel, the fair queues) gives it up, and
/// the queue keeps it for the next `fairdrop_dequeue`, as part of the backlog.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_peek(queue: *mut Queue, now_ns: u64, packet: *mut Packet) -> Status {
    if packet.is_null() {
        return Status::BadArgument;
    }
    let look = |entered: &mut Entered| {
        let (discipline, world) = entered.at(now_ns);
        let Some(next) = discipline.peek(world) else { return Status::None };
        // SAFETY: not null, and the caller's to be written.
        unsafe { packet.write(Packet::from(next)) };
        Status::Ok
    };
    // SAFETY: the caller's promise.
    unsafe { enter(queue, look) }
}

/// Sets other parameters of the queue's discipline while packets wait: packets, counters and state stay, and packets beyond a smaller
/// limit leave as they would have. Refused, with nothing changed, for parameters of another discipline, for those that need more
/// storage than the block has, and with `FAIRDROP_STATUS_UNSUPPORTED` by disciplines that take their parameters once (see `error`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_change(
    queue: *mut Queue,
    params: *const Params,
    error: *mut Error,
) -> Status {
    let change = |entered: &mut Entered| {
        // SAFETY: the caller's promise.
        let changed = unsafe { borrow(params) }.and_then(Params::any).and_then(|params| {
            entered.parts().discipline.discipline_mut().change(params).map_err(Problem::Change)
        });
        match changed {
            Ok(()) => Status::Ok,
            // SAFETY: the caller's promise.
            Err(problem) => unsafe { problem.report(error) },
        }
    };
    // SAFETY: the caller's promise.
    unsafe { enter(queue, change) }
}

/// When `fairdrop_tick` wants to be called; `FAIRDROP_STATUS_NONE` when the discipline has no timer, and while a
/// shaper holds nothing back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_deadline(queue: *const Queue, deadline_ns: *mut u64) -> Status {
    // SAFETY: the caller's promise.
    unsafe { read(queue, deadline_ns, |discipline| discipline.deadline().map(Time::ns)) }
}

/// The deadline has come. If the transmitter is free, call `fairdrop_dequeue` next.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_tick(queue: *mut Queue, now_ns: u64) -> Status {
    let tick = |entered: &mut Entered| {
        let (discipline, world) = entered.at(now_ns);
        discipline.tick(world);
        Status::Ok
    };
    // SAFETY: the caller's promise.
    unsafe { enter(queue, tick) }
}

/// What waits now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_backlog(queue: *const Queue, backlog: *mut Count) -> Status {
    let value = |discipline: &Held| {
        let backlog = discipline.backlog();
        Some(Count { packets: u64::from(backlog.packets), bytes: backlog.bytes })
    };
    // SAFETY: the caller's promise.
    unsafe { read(queue, backlog, value) }
}

/// Counters since the queue was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_stats(queue: *const Queue, stats: *mut Counters) -> Status {
    let value = |discipline: &Held| {
        let stats = discipline.stats();
        let mut departed = Count::from(stats.departed);
        if let Some(held) = discipline.held() {
            departed.packets -= 1;
            departed.bytes -= u64::from(held.meta.len);
        }
        Some(Counters {
            arrived: stats.arrived.into(),
            departed,
            dropped: stats.dropped_total().into(),
            marked: stats.marked_total().into(),
            drawn: stats.drawn,
            stuck_draws: stats.stuck_draws,
            reserved: [0; 6],
        })
    };
    // SAFETY: the caller's promise.
    unsafe { read(queue, stats, value) }
}

/// Packets dropped for `cause`; `FAIRDROP_STATUS_NONE` when there is no such cause.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_dropped(queue: *const Queue, cause: u8, count: *mut Count) -> Status {
    let value =
        |discipline: &Held| discipline.stats().dropped.get(usize::from(cause)).copied().map(Count::from);
    // SAFETY: the caller's promise.
    unsafe { read(queue, count, value) }
}

/// Packets marked for `cause`; `FAIRDROP_STATUS_NONE` when there is no such cause.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_marked(queue: *const Queue, cause: u8, count: *mut Count) -> Status {
    let value =
        |discipline: &Held| discipline.stats().marked.get(usize::from(cause)).copied().map(Count::from);
    // SAFETY: the caller's promise.
    unsafe { read(queue, count, value) }
}

/// The average queue in packets that the discipline decides by; `FAIRDROP_STATUS_NONE` when it keeps none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_average(queue: *const Queue, packets: *mut f64) -> Status {
    // SAFETY: the caller's promise.
    unsafe { read(queue, packets, Discipline::average_packets) }
}

/// Gives the values that the discipline decides by to `see`, each with the name that its publication uses (`avg`, `p`), as of
/// the last call. The name is valid until `see` returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_internals(
    queue: *mut Queue,
    see: Option<unsafe extern "C" fn(context: *mut c_void, name: *const c_char, value: f64)>,
    context: *mut c_void,
) -> Status {
    let Some(see) = see else { return Status::BadArgument };
    let give = |entered: &mut Entered| {
        entered.parts().discipline.internals(|name, value| {
            let mut text = [0; 32];
            let _ = Buffer::new(&mut text).write_str(name);
            // SAFETY: the caller's function, called as it was promised to be.
            unsafe { see(context, text.as_ptr(), value) };
        });
        Status::Ok
    };
    // SAFETY: the caller's promise.
    unsafe { enter(queue, give) }
}

/// Shows every waiting packet to `visit`: in the order of departure where they wait in one FIFO, otherwise queue by queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_for_each_waiting(
    queue: *mut Queue,
    visit: Option<unsafe extern "C" fn(context: *mut c_void, packet: *const Packet)>,
    context: *mut c_void,
) -> Status {
    let Some(visit) = visit else { return Status::BadArgument };
    let show = |entered: &mut Entered| {
        let show_one = |packet: &fairdrop::Packet<u64>| {
            // SAFETY: the caller's function, called as it was promised to be.
            unsafe { visit(context, &Packet::from(packet)) };
        };
        let discipline = &entered.parts().discipline;
        discipline.held().into_iter().for_each(show_one);
        discipline.discipline().for_each_waiting(show_one);
        Status::Ok
    };
    // SAFETY: the caller's promise.
    unsafe { enter(queue, show) }
}
