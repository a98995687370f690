//! Decisions on bursts, for rings with ids and lengths beside them.

use core::convert::Infallible;
use core::mem::{align_of, offset_of, size_of};
use core::slice;

use fairdrop::{Action as Fate, Arrivals, DropCause, Ecn, IdRing, MAX_LEN, Occupied};

use crate::decision::{Action, Decision, Parts, Rule, Victim, enter};
use crate::problem::Status;

/// Id of a slot whose packet was dropped in its place.
pub const FAIRDROP_NO_ID: u32 = u32::MAX;

const _: () = assert!(FAIRDROP_NO_ID == fairdrop::NO_ID, "the header has it as a number");

/// Packets that arrive at the same time.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Burst {
    /// Ids of their flows, compared for equality only, for example the hash that a network card gives. `FAIRDROP_NO_ID` counts as the
    /// id below it.
    pub ids: *const u32,
    /// Their lengths on the wire, in bytes: at most `FAIRDROP_MAX_LEN`.
    pub lens: *const u32,
    /// Their ECN fields, as in `fairdrop_packet`; NULL where none is ECN-capable.
    pub ecn: *const u8,
    /// How many there are.
    pub packets: u32,
    /// Zeros, which the library checks: members of later versions take their places.
    pub reserved: [usize; 2],
}

/// A ring that its owner keeps, with an id and a length for each slot beside it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IdsBeside {
    /// Ids of the packets in the slots, `FAIRDROP_NO_ID` where a packet was dropped in its place: a draw that meets it is made again.
    pub ids: *mut u32,
    /// Lengths of these packets, in bytes.
    pub lens: *mut u32,
    /// Slots of the ring: a power of two, at most 2^31.
    pub slots: u32,
    /// Sequence number of the oldest slot. The slot itself is this modulo `slots`.
    pub head: u32,
    /// Sequence number after that of the newest slot.
    pub tail: u32,
    /// Packets waiting: slots between the two that are not empty.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u64,
    /// Room for the waiting packets that are to be dropped, for each packet of a burst as many as the decision compares it with;
    /// their slots are those of `ids`.
    pub victim: *mut Victim,
    /// How many fit there.
    pub victim_room: u32,
    /// How many the last burst set.
    pub victims: u32,
    /// Zeros, which the library checks: members of later versions take their places.
    pub reserved: [usize; 2],
}

/// What is to become of a packet of a burst.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What is to become of it.
    pub action: Action,
    /// Cause of the mark or drop; without meaning where it is queued.
    pub cause: DropCause,
}

const QUEUED: Outcome = Outcome { action: Action::Queue, cause: DropCause::Overflow };

// A list of victims is one for the library as well.
const _: () = assert!(size_of::<Victim>() == size_of::<fairdrop::Victim>());
const _: () = assert!(align_of::<Victim>() == align_of::<fairdrop::Victim>());
const _: () = assert!(offset_of!(Victim, cause) == offset_of!(fairdrop::Victim, cause));

/// Packets whose outcomes are written at once.
const CHUNK: usize = 64;

/// Decides on packets that arrive together at `now_ns`, exactly as `fairdrop_decide` does on one after the other, unless
/// `fairdrop_decision_set_modes` has set other modes, and writes an outcome for each. In modes a burst has at most 64 packets; a longer
/// one is decided as several. The caller carries it out: puts the packets that are queued or marked into the slots from `tail` on, in order, and then
/// drops the packets of `victim`, some of which may have come with the burst. `tail`, `packets`, `bytes`, `victims`, ids and lengths
/// of the ring are brought up to date. For `red` and `choke`; RED takes no notice of `ids`, `lens` and `victim` of the ring, which may be
/// NULL. When this returns below 0 nothing was decided: `FAIRDROP_STATUS_BAD_ARGUMENT` for another decision, an `ecn` above 3, a `len`
/// above `FAIRDROP_MAX_LEN`, slots that are no power of two, more of them occupied or more packets than there are, and too few
/// `victim_room`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_decide_burst(
    decision: *mut Decision,
    burst: *const Burst,
    ring: *mut IdsBeside,
    now_ns: u64,
    outcome: *mut Outcome,
) -> Status {
    // SAFETY: null, or the caller's to be read and written; nobody else uses them.
    let (burst, ring) = unsafe { (burst.as_ref(), ring.as_mut()) };
    let (Some(burst), Some(ring)) = (burst, ring) else { return Status::BadArgument };
    // SAFETY: the caller's promise.
    let Some(arrivals) = (unsafe { burst.arrivals() }) else { return Status::BadArgument };
    if outcome.is_null() || ring.reserved != [0; 2] {
        return Status::BadArgument;
    }
    // SAFETY: the caller has room for an outcome of each packet; `QUEUED` makes them valid.
    let outcomes = unsafe {
        (0..arrivals.len()).for_each(|at| outcome.add(at).write(QUEUED));
        slice::from_raw_parts_mut(outcome, arrivals.len())
    };
    let decide = |parts: &mut Parts| {
        // SAFETY: the caller's promise.
        let decided = unsafe { ring.decide(parts, arrivals, now_ns, outcomes) };
        decided.map_or(Status::BadArgument, |()| Status::Ok)
    };
    // SAFETY: the caller's promise.
    unsafe { enter(decision, decide) }
}

impl Burst {
    /// The arrivals; `None` where a value is none that it may have.
    ///
    /// # Safety
    /// The pointers are null or point to `packets` values each, which nobody writes.
    unsafe fn arrivals(&self) -> Option<Arrivals<'_>> {
        let packets = self.packets as usize;
        if self.ids.is_null() || self.lens.is_null() || self.reserved != [0; 2] {
            return None;
        }
        // SAFETY: not null, and the caller's promise.
        let (ids, lens) =
            unsafe { (slice::from_raw_parts(self.ids, packets), slice::from_raw_parts(self.lens, packets)) };
        let longest = lens.iter().fold(0, |longest, &len| longest.max(len));
        let ecn: &[Ecn] = if self.ecn.is_null() {
            &[]
        } else {
            // SAFETY: not null, and the caller's promise.
            let fields = unsafe { slice::from_raw_parts(self.ecn, packets) };
            if fields.iter().any(|&field| field > 3) {
                return None;
            }
            // SAFETY: `Ecn` is one byte, and each of 0 to 3 is one of its values.
            unsafe { slice::from_raw_parts(self.ecn.cast(), packets) }
        };
        (longest <= MAX_LEN).then_some(Arrivals { ids, lens, ecn })
    }
}

impl IdsBeside {
    /// Decides on `arrivals`; `None` where the ring is none, or the decision is of another kind.
    ///
    /// # Safety
    /// The pointers of the ring are null or point to as many values as it has slots and room, which nobody else uses.
    unsafe fn decide(
        &mut self,
        parts: &mut Parts,
        arrivals: Arrivals<'_>,
        now_ns: u64,
        outcomes: &mut [Outcome],
    ) -> Option<()> {
        let mut occupied =
            Occupied { head: self.head, tail: self.tail, packets: self.packets, bytes: self.bytes };
        let (rule, mut env) = parts.at(now_ns);
        match rule {
            Rule::Red(red) => {
                if self.packets > self.tail.wrapping_sub(self.head) {
                    return None;
                }
                in_chunks(arrivals, outcomes, |arrivals, actions| {
                    red.burst::<Infallible, _>(arrivals, occupied.packets, &mut env, actions);
                    for (&len, _) in
                        arrivals.lens.iter().zip(&*actions).filter(|(_, action)| is_kept(**action))
                    {
                        occupied.tail = occupied.tail.wrapping_add(1);
                        occupied.packets += 1;
                        occupied.bytes += u64::from(len);
                    }
                });
                self.victims = 0;
            }
            Rule::Choke(choke) => {
                let candidates = choke.decision().most_candidates() * arrivals.len();
                let is_null = self.ids.is_null() || self.lens.is_null() || self.victim.is_null();
                if is_null || (self.victim_room as usize) < candidates {
                    return None;
                }
                let slots = self.slots as usize;
                // SAFETY: not null, and the caller's promise. Victims are written before they are lent.
                let (ids, lens, victims) = unsafe {
                    let none = Victim { slot: u32::MAX, cause: DropCause::Overflow };
                    (0..candidates).for_each(|at| self.victim.add(at).write(none));
                    (
                        slice::from_raw_parts_mut(self.ids, slots),
                        slice::from_raw_parts_mut(self.lens, slots),
                        slice::from_raw_parts_mut(self.victim.cast::<fairdrop::Victim>(), candidates),
                    )
                };
                let mut ring = IdRing::new(ids, lens, occupied, victims)?;
                in_chunks(arrivals, outcomes, |arrivals, actions| {
                    choke.burst::<Infallible, _>(arrivals, &mut ring, &mut env, actions);
                });
                occupied = ring.occupied();
                self.victims = ring.victims().len() as u32;
            }
            Rule::ChokeW(_) | Rule::Ward(_) | Rule::Collar(..) => return None,
        }
        (self.tail, self.packets, self.bytes) = (occupied.tail, occupied.packets, occupied.bytes);
        Some(())
    }
}

fn is_kept(action: Fate) -> bool {
    !matches!(action, Fate::Drop(_))
}

/// Decides by chunks, and writes the outcomes that are not to be queued.
fn in_chunks(
    arrivals: Arrivals<'_>,
    outcomes: &mut [Outcome],
    mut decide: impl FnMut(Arrivals<'_>, &mut [Fate]),
) {
    let columns = arrivals.ids.chunks(CHUNK).zip(arrivals.lens.chunks(CHUNK)).zip(outcomes.chunks_mut(CHUNK));
    for (at, ((ids, lens), outcomes)) in columns.enumerate() {
        let ecn = arrivals.ecn.get(at * CHUNK..).unwrap_or(&[]);
        let mut actions = [Fate::Queue; CHUNK];
        let Some(actions) = actions.get_mut(..ids.len()) else { return };
        decide(Arrivals { ids, lens, ecn }, actions);
        for (outcome, action) in outcomes.iter_mut().zip(&*actions) {
            match *action {
                Fate::Queue => {}
                Fate::Mark(cause) => *outcome = Outcome { action: Action::Mark, cause },
                Fate::Drop(cause) => *outcome = Outcome { action: Action::Drop, cause },
            }
        }
    }
}
