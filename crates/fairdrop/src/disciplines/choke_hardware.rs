//! CHOKe as a switch would build it: packets in one memory, linked lists of them in another, and a mark bit in place of
//! removal. A model for studies of its cost; use [`crate::Choke`] to forward packets.
//!
//! Each FIFO is a linked list of entries in a list memory. A random address is drawn from it. A match sets the flag of the
//! candidate's entry, frees the candidate's data at once, and leaves the entry to be discarded when it comes to the head. A
//! draw can therefore meet an entry that is flagged, of another FIFO, or free; a parameter decides the effect. With several
//! banks one address of each is drawn in parallel. Packets may be chopped into cells of one entry each, so that draws are
//! by cells. Alternatively the packet itself carries the bit: it then stays in the queue until its turn to be sent, counts
//! as waiting, and can be drawn again.
//!
//! Source: the article of R. Pan, B. Prabhakar, K. Psounis and others in IEEE Micro 21(3), 2001, "Implementation issues"
//! and figure 10. The bit in the packet is that of their paper at INFOCOM 2000, section II.A. The `linux` draw is that of
//! `net/sched/sch_choke.c`: three tries in a ring with holes, then the head.

use super::choke::{Candidates, MAX_CANDIDATES, MAX_REGIONS};
use super::droptail::fifo_in;
use super::outcome::drop_packet;
use super::red::linux::{self as red_linux, LinuxRed, Unit};
use super::red::{RedParams, RedState};
use super::sfq::salted;
use crate::contract::flow_key::siphash;
use crate::contract::{
    Backlog, Departures, Discipline, DisciplineInfo, DropCause, Ecn, Env, Family, Packet, ParamError,
    ParamValue, Stats, Stream, Time, draw_below, require,
};
use crate::declare::{Registered, facts, in_storage, params, words};
use crate::storage::{LeakyFifo, Slot, Storage};
pub use list_memory::{ListEntry, MAX_ENTRIES, MAX_FIFOS};
use list_memory::{ListMemory, State};

// The build script gives this file by its path, which makes its folder that of the modules below.
#[path = "choke_hardware/list_memory.rs"]
mod list_memory;

/// Most banks.
pub const MAX_BANKS: usize = 32;
/// Most bits of a short id: two of a thousand flows then share one with probability 10^-4. More is a whole id.
pub const MOST_ID_BITS: u8 = 32;
/// Bound of a draw without `max_tries`, as a multiple of the average number of tries. The probability of more tries is below
/// 2^-64; the random source is then stuck.
const MOST_TRIES: usize = 64;
/// Tries of the `linux` draw.
const LINUX_TRIES: u32 = 3;

words! {
    /// Set of addresses drawn from.
    pub enum Addresses {
        /// The live entries of the arrival's own FIFO: no hardware has this set; it is the reference for the others.
        Live = "live",
        /// The entries in use, live or marked.
        Occupied = "occupied",
        /// The whole memory.
        Memory = "memory",
        /// From the head to the last live entry; three tries, then the head.
        Linux = "linux",
        /// The same, from the head to the last entry, live or not.
        LinuxHoles = "linux_holes",
        /// The same, and RED by the rules of Linux 6.12.
        Linux6_12 = "linux_6.12",
        /// Nothing: candidates are the packets of the arrival's own FIFO that are nearest its head.
        Head = "head",
        /// Nothing: candidates are those nearest its tail.
        Tail = "tail",
    }
}

words! {
    /// Effect of drawing an entry whose packet was dropped.
    pub enum MarkedEntry {
        /// It draws again.
        Reject = "reject",
        /// There is no candidate.
        Miss = "miss",
        /// It is compared as if it were not marked: an arrival that matches is dropped alone.
        Blind = "blind",
    }
}

words! {
    /// Owner of the mark bit that a match sets.
    pub enum MarkBit {
        /// The entry of the list: the packet's data is freed at once, and the entry is discarded as it comes to the head.
        Entry = "entry",
        /// The packet: it stays, and is discarded when its turn to be sent comes.
        Packet = "packet",
    }
}

const IMPLEMENTATION: &str = "IEEE Micro 2001, implementation issues";

params! {
    /// Parameters of [`ChokeHardware`].
    pub struct ChokeHardwareParams {
        /// The average, its thresholds, and the early-drop test for unmatched arrivals; the limit is that of the data memory.
        base red: RedParams;
        /// Entries drawn and compared for each arrival, from one bank after the other. Not used when schedule is set.
        candidates = 1, Integer(0, MAX_CANDIDATES as i64) => "packets", IMPLEMENTATION;
        /// Candidates by region of the average (self-adjusting CHOKe): fixed uses candidates; two is 1, 2; odd is 1,
        /// 3, 5, ...; even is 2, 4, 6, ...; a list gives them one by one.
        schedule = "fixed", Schedule(&["fixed", "two", "odd", "even"], 0, MAX_CANDIDATES as i64) => "packets",
            "Pan, Prabhakar, Psounis 2000, II.A and III.C; IEEE Micro 2001";
        /// Equal regions between min_th and max_th, for the schedules odd and even.
        regions = 3, Integer(1, MAX_REGIONS as i64), "IEEE Micro 2001";
        /// Number of memory banks that list addresses alternate between; each is sampled on its own.
        banks: u8 = 1, Integer(1, MAX_BANKS as i64), "IEEE Micro 2001, figure 10b";
        /// Draw with replacement: a packet may be drawn twice, and counts once. Without, a draw that meets a packet drawn
        /// for this arrival is made again; where a bank has no other, there is no candidate.
        replacement: bool = true, Switch, "independent addresses: IEEE Micro 2001; false: as in choke";
        /// Set of addresses drawn from: live entries of the own FIFO (ideal), occupied entries, the whole memory, or as
        /// Linux does it: from the head on, three tries, then the head; linux ends at the last live entry, linux_holes
        /// at the last entry, as today's kernels do. linux_6.12 is linux_holes with RED as that kernel has it as well: the
        /// average is a whole number of w_q packets, and one equal to a threshold is below it; the random number for a drop
        /// is drawn before it, so that the first packet over min_th is kept; and an idle time halves the average by a
        /// table. red.w_q is then a power of 1/2, and red.ecn RED's only switch. Nothing is drawn with head (Front CHOKe)
        /// and tail (Back CHOKe): candidates are the packets of the own FIFO nearest to it.
        addresses: Addresses = "occupied", Choice(Addresses::WORDS),
            "IEEE Micro 2001, implementation issues; Linux sch_choke.c; Pan, Prabhakar, Psounis 2000, IV";
        /// Owner of the mark bit that a match sets. entry: the data is freed at once and the list entry is discarded at
        /// the head. packet: the packet stays until its turn to be sent, counts as waiting in the average, the
        /// thresholds, limit and quota, and is compared when drawn again; marked, physical_length and mark_one_cell are
        /// not used.
        mark_bit: MarkBit = "entry", Choice(MarkBit::WORDS),
            "IEEE Micro 2001, implementation issues; packet: Pan, Prabhakar, Psounis 2000, II.A, to the letter";
        /// Effect of drawing an entry marked as dropped: draw again, no candidate, or compare and drop the arrival
        /// alone. With head and tail the entry is passed over, is a candidate that never matches, or is compared.
        marked: MarkedEntry = "reject", Choice(MarkedEntry::WORDS), "IEEE Micro 2001 leaves it open";
        /// A draw that meets an unoccupied address has no candidate, instead of drawing again.
        unoccupied_misses: bool = false, Switch, "IEEE Micro 2001 leaves it open";
        /// Most tries per draw, after which there is no candidate; 0 for no bound.
        max_tries: u32 = 0, Integer(0, 1_000_000), "chosen here: \"may require drawing samples until\" has no bound";
        /// A matched arrival advances RED's count of packets since the last early drop.
        count_on_match: bool = false, Switch, "left open by Pan, Prabhakar, Psounis 2000, II.A";
        /// The average counts marked packets as well, until they are discarded at the head.
        physical_length: bool = false, Switch, "left open by Pan, Prabhakar, Psounis 2000, II.A";
        /// Entries of the list memory, marked ones included; an arrival that does not fit is dropped.
        list_limit: u16 = 1024, Integer(1, MAX_ENTRIES as i64), IMPLEMENTATION;
        /// FIFOs that share the memories and are served in turn; class c goes to FIFO c modulo this. The thresholds
        /// hold for each.
        fifos: u8 = 1, Integer(1, MAX_FIFOS as i64), IMPLEMENTATION;
        /// Packets that may wait in one FIFO; 0 for all that the memories hold.
        quota: u32 = 0, Integer(0, 1_073_741_816) => "packets", "chosen here";
        /// Bytes of a cell, one list entry each; 0 for one entry per packet.
        cell_size: u32 = 0 B, Bytes(0, 65_535), "IEEE Micro 2001, chopping the packets";
        /// A match marks one cell of the candidate; its data is freed when the cells are put together at the head.
        mark_one_cell: bool = false, Switch, IMPLEMENTATION;
        /// Bits of the flow ids that entries hold and that are compared: the highest of a keyed hash of the flow, so that
        /// two flows have the same id with probability 2^-id_bits; 0 for whole flow ids, which never collide.
        id_bits: u8 = 0, Integer(0, MOST_ID_BITS as i64) => "bits", "Pan, Prabhakar, Psounis 2000, II.A, flow ID comparison";
        /// Hash key of ids of id_bits, combined with that of the host; it determines which flows share an id.
        salt: u64 = 0, Key, "chosen here";
        fields {
            /// Candidates for each arrival.
            candidates: Candidates = Candidates::Fixed(1);
        }
    }
}

impl Registered for ChokeHardwareParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "choke_hardware",
        title: "CHOKe in hardware",
        label: "CHOKe in hardware",
        doc: "CHOKe as a switch would build it: linked lists with mark bits, random addresses in banked or shared \
              memory, chopped packets.",
        report: "CHOKe as a switch would build it: a random address in the packet memory finds the packet to compare \
                 with, and a match is marked and discarded when it reaches the head.",
        family: Family::Choke,
        departures: Departures::InOrderWithinFlows,
        source: "IEEE Micro 2001",
        ..facts::<Self>()
    };

    in_storage!(ChokeHardware, |params| ring, entries: ListEntry = usize::from(params.list_limit));

    fn check(&self) -> Result<(), ParamError> {
        self.candidates.check()?;
        let banks = f64::from(self.banks);
        require(u16::from(self.banks) <= self.list_limit, "banks", banks, "at most list_limit")?;
        let lone_bank = self.banks == 1;
        match self.addresses {
            Addresses::Live | Addresses::Occupied | Addresses::Memory => Ok(()),
            Addresses::Head | Addresses::Tail => {
                require(lone_bank, "banks", banks, "1 with addresses = \"head\" or \"tail\"")
            }
            Addresses::Linux | Addresses::LinuxHoles | Addresses::Linux6_12 => {
                if self.addresses == Addresses::Linux6_12 {
                    red_linux::check(&self.red.as_linux(), Unit::Packets)?;
                    require(
                        !self.count_on_match,
                        "count_on_match",
                        1.0,
                        "false with addresses = \"linux_6.12\"",
                    )?;
                }
                require(lone_bank, "banks", banks, "1 with addresses as in Linux")?;
                require(self.fifos == 1, "fifos", f64::from(self.fifos), "1 with addresses as in Linux")?;
                // Its three tries are bounded, so they cannot find every other packet.
                require(self.replacement, "replacement", 0.0, "true with addresses as in Linux")?;
                // Its packets leave holes: there is no bit.
                let by_entry = self.mark_bit == MarkBit::Entry;
                require(by_entry, "mark_bit", 1.0, "\"entry\" with addresses as in Linux")
            }
        }
    }

    fn set_other(&mut self, name: &str, value: ParamValue<'_>) -> bool {
        self.candidates.set(name, value)
    }
}

impl ChokeHardwareParams {
    /// Entries of a packet of `len` bytes.
    #[inline]
    fn cells(&self, len: u32) -> usize {
        if self.cell_size == 0 { 1 } else { len.div_ceil(self.cell_size).max(1) as usize }
    }

    /// The effect of drawing a marked entry: marked packets that stay are compared like any other.
    #[inline]
    fn on_marked(&self) -> MarkedEntry {
        if self.mark_bit == MarkBit::Packet { MarkedEntry::Blind } else { self.marked }
    }

    #[inline]
    fn holds_data(&self, cells: usize) -> bool {
        self.mark_bit == MarkBit::Packet || (self.mark_one_cell && cells > 1)
    }
}

/// What the draws met and what the marks cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListStats {
    /// Draws, one for each candidate wanted.
    pub draws: u64,
    /// Addresses read for them.
    pub tries: u64,
    /// Of these, unoccupied ones.
    pub unoccupied: u64,
    /// Of these, entries of another FIFO.
    pub foreign: u64,
    /// Of these, marked entries of the own FIFO.
    pub marked: u64,
    /// Draws that ended without a candidate.
    pub empty_handed: u64,
    /// Arrivals dropped alone for the flow of a marked entry.
    pub dropped_alone: u64,
    /// Cells of dropped packets that held their data until the head.
    pub wasted_cells: u64,
    /// Most packets with such cells at one time.
    pub most_wasted_packets: u32,
}

/// Outcome of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    Live { packet: u32, id: u64 },
    Marked { id: u64 },
}

impl ListEntry {
    /// The packet of the entry, as found.
    fn live(&self) -> Found {
        Found::Live { packet: self.packet, id: self.id }
    }
}

/// RED's average and decisions, by the rules that hold.
#[derive(Clone, Debug)]
enum Red {
    Source(RedState),
    Linux(LinuxRed),
}

impl Red {
    fn new(params: &ChokeHardwareParams) -> Self {
        if params.addresses == Addresses::Linux6_12 {
            Self::Linux(LinuxRed::new(&params.red.as_linux(), Unit::Packets))
        } else {
            Self::Source(RedState::new(&params.red))
        }
    }

    fn average_packets(&self) -> f64 {
        match self {
            Self::Source(red) => red.avg,
            Self::Linux(red) => red.average_packets(),
        }
    }

    fn update(&mut self, params: &RedParams, length: u32, now: Time) {
        match self {
            Self::Source(red) => red.update(params, length, now),
            Self::Linux(red) => red.update(length.into(), now),
        }
    }

    fn below_min_th(&mut self, params: &RedParams) -> bool {
        match self {
            Self::Source(red) => red.below_min_th(params),
            Self::Linux(red) => red.below_min_th(),
        }
    }

    fn decision<H, E: Env<H>>(
        &mut self,
        params: &RedParams,
        waiting: u32,
        len: u32,
        env: &mut E,
    ) -> Option<DropCause> {
        match self {
            Self::Source(red) => red.decision(params, waiting, len, env),
            Self::Linux(red) => red.decision(env),
        }
    }

    fn count_matched(&mut self, params: &RedParams) {
        if let Self::Source(red) = self {
            red.count_matched(params);
        }
    }

    fn overflowed(&mut self) {
        if let Self::Source(red) = self {
            red.overflowed();
        }
    }

    fn idle(&mut self, now: Time) {
        match self {
            Self::Source(red) => red.idle(now),
            Self::Linux(red) => red.idle(now),
        }
    }
}

/// One of the FIFOs.
#[derive(Clone, Debug)]
struct Fifo {
    red: Red,
    live: u32,
    /// Packets dropped whose entries are not discarded yet.
    marked: u32,
    /// Of these, packets that hold data.
    wasted: u32,
}

impl Fifo {
    /// The packets that count: marked ones as well where they stay.
    #[inline]
    fn waiting(&self, params: &ChokeHardwareParams) -> u32 {
        self.live + if params.mark_bit == MarkBit::Packet { self.marked } else { 0 }
    }
}

/// Candidates of one arrival, each once.
struct Drawn {
    found: [Found; MAX_CANDIDATES],
    count: usize,
}

impl Drawn {
    const fn none() -> Self {
        Self { found: [Found::Nothing; MAX_CANDIDATES], count: 0 }
    }

    /// Two cells of one packet are one candidate.
    fn add_once(&mut self, drawn: Found) {
        let again = self.found.iter().take(self.count).any(|&before| before == drawn);
        if let Some(place) = self.found.get_mut(self.count).filter(|_| drawn != Found::Nothing && !again) {
            *place = drawn;
            self.count += 1;
        }
    }
}

/// Numbers of the packets that ended a draw of this arrival; none are kept where draws are with replacement.
struct Seen {
    packets: [u32; MAX_CANDIDATES],
    count: usize,
}

impl Seen {
    const fn none() -> Self {
        Self { packets: [0; MAX_CANDIDATES], count: 0 }
    }

    fn contains(&self, packet: u32) -> bool {
        self.packets.iter().take(self.count).any(|&seen| seen == packet)
    }

    fn add(&mut self, packet: u32) {
        if let Some(place) = self.packets.get_mut(self.count) {
            *place = packet;
            self.count += 1;
        }
    }
}

/// CHOKe over linked lists with mark bits.
#[derive(Clone, Debug)]
pub struct ChokeHardware<H, S, L> {
    params: ChokeHardwareParams,
    /// Packets of all FIFOs that wait, in the order of their admission.
    data: LeakyFifo<H, S>,
    list: ListMemory<L>,
    fifos: [Fifo; MAX_FIFOS],
    admitted: u32,
    /// The FIFO to serve next.
    turn: u8,
    /// The bank to draw from next.
    bank: u8,
    /// Key of the hash that short ids are taken from, once known.
    key: Option<[u64; 2]>,
    stats: Stats,
    list_stats: ListStats,
}

impl<H, S: Storage<Slot<H>>, L: Storage<ListEntry>> ChokeHardware<H, S, L> {
    /// Empty queues with their packets in `slots` (see [`crate::slots_for`]) and the list memory in `entries`, at least
    /// `list_limit`.
    ///
    /// # Errors
    /// A parameter is out of range, or there are too few `slots` or `entries`.
    pub fn new(params: ChokeHardwareParams, slots: S, entries: L) -> Result<Self, ParamError> {
        params.validate()?;
        let count = entries.as_ref().len();
        require(count >= usize::from(params.list_limit), "entries", count as f64, "at least list_limit")?;
        let data = fifo_in(slots, params.red.limit)?;
        let list = ListMemory::new(entries, params.list_limit);
        let fifos = core::array::from_fn(|_| Fifo { red: Red::new(&params), live: 0, marked: 0, wasted: 0 });
        Ok(Self {
            params,
            data,
            list,
            fifos,
            admitted: 0,
            turn: 0,
            bank: 0,
            key: None,
            stats: Stats::default(),
            list_stats: ListStats::default(),
        })
    }

    /// The waiting packets of all FIFOs, in the order of their arrival.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.data
    }

    /// Entries in use, of waiting and of marked packets.
    pub fn entries(&self) -> usize {
        self.list.occupied()
    }

    /// What the draws met and what the marks cost.
    pub fn list_stats(&self) -> &ListStats {
        &self.list_stats
    }

    /// The id that entries of `flow` hold.
    fn id_of<E: Env<H>>(&mut self, flow: u64, env: &E) -> u64 {
        let bits = u32::from(self.params.id_bits.min(MOST_ID_BITS));
        if bits == 0 {
            return flow;
        }
        let key = *self.key.get_or_insert_with(|| salted(self.params.salt, env));
        siphash(key, &flow.to_le_bytes()) >> (u64::BITS - bits)
    }

    /// Dropped packets that still hold data until they reach the head.
    fn wasted(&self) -> u32 {
        self.fifos.iter().map(|fifo| fifo.wasted).sum()
    }

    /// Compares as many candidates as the average asks for, and drops those with `id`. Returns whether the arrival is to be
    /// dropped.
    fn drop_matches<E: Env<H>>(&mut self, fifo: u8, id: u64, env: &mut E) -> bool {
        let Some(own) = self.fifos.get(usize::from(fifo)) else { return false };
        let wanted =
            self.params.candidates.at(own.red.average_packets(), &self.params.red).min(MAX_CANDIDATES);
        let drawn = match self.params.addresses {
            Addresses::Head | Addresses::Tail => self.nearest(wanted, fifo),
            _ => self.draw_many(wanted, fifo, env),
        };
        let (mut matched, mut pair) = (false, false);
        for found in drawn.found.into_iter().take(drawn.count) {
            match found {
                Found::Nothing => {}
                Found::Live { packet, id: waiting } => pair |= self.compare(packet, waiting == id, fifo, env),
                Found::Marked { id: marked } => matched |= marked == id,
            }
        }
        self.list_stats.dropped_alone += u64::from(matched && !pair);
        matched || pair
    }

    /// Draws from one bank after the other. All draws of an arrival see the list as it found it. A stuck random source ends
    /// the drawing.
    fn draw_many<E: Env<H>>(&mut self, wanted: usize, fifo: u8, env: &mut E) -> Drawn {
        let (mut drawn, mut seen) = (Drawn::none(), Seen::none());
        let stuck = self.stats.stuck_draws;
        for _ in 0..wanted {
            if self.stats.stuck_draws > stuck {
                break;
            }
            let bank = usize::from(self.bank);
            self.bank = (self.bank + 1) % self.params.banks.max(1);
            let (found, packet) = self.draw(bank, fifo, &seen, env);
            drawn.add_once(found);
            if let Some(packet) = packet.filter(|_| !self.params.replacement) {
                seen.add(packet);
            }
        }
        drawn
    }

    /// The packets nearest the head of a FIFO, or nearest its tail, which are then compared from there on.
    fn nearest(&mut self, wanted: usize, fifo: u8) -> Drawn {
        let (mut drawn, on_marked) = (Drawn::none(), self.params.on_marked());
        let is_live = |entry: &ListEntry| entry.state != State::Marked;
        let serves = |entry: &&ListEntry| on_marked != MarkedEntry::Reject || is_live(entry);
        let is_tail = self.params.addresses == Addresses::Tail;
        let serving = if is_tail { self.list.packets(fifo).filter(serves).count() } else { 0 };
        let (mut passed, mut read, mut marked) = (0, 0, 0);
        let mut left = serving.saturating_sub(wanted);
        for entry in self.list.packets(fifo) {
            if drawn.count + passed >= wanted {
                break;
            }
            if left > 0 {
                left -= usize::from(serves(&entry));
                continue;
            }
            let found = match on_marked {
                _ if is_live(entry) => entry.live(),
                MarkedEntry::Blind => Found::Marked { id: entry.id },
                MarkedEntry::Reject | MarkedEntry::Miss => Found::Nothing,
            };
            read += 1;
            marked += u64::from(!is_live(entry));
            let before = drawn.count;
            drawn.add_once(found);
            passed += usize::from(serves(&entry) && drawn.count == before);
        }
        if let Some(found) = drawn.found.get_mut(..drawn.count).filter(|_| is_tail) {
            found.reverse();
        }
        self.list_stats.draws += wanted as u64;
        self.list_stats.tries += read;
        self.list_stats.marked += marked;
        self.list_stats.empty_handed += wanted.saturating_sub(drawn.count) as u64;
        drawn
    }

    /// Compares a waiting packet; drops it when it `matches`.
    fn compare<E: Env<H>>(&mut self, packet: u32, matches: bool, fifo: u8, env: &mut E) -> bool {
        let rank = self.list.live_before(packet);
        let Some(position) = self.data.at_rank(rank) else { return false };
        let Some(candidate) = self.data.get(position) else { return false };
        self.stats.drawn += 1;
        env.drawn(candidate);
        if !matches {
            return false;
        }
        if let Some(candidate) = self.data.remove(position) {
            drop_packet(&mut self.stats, env, candidate, DropCause::MatchQueued);
        }
        let cells = self.list.mark(packet);
        let Some(own) = self.fifos.get_mut(usize::from(fifo)) else { return true };
        (own.live, own.marked) = (own.live - 1, own.marked + 1);
        if self.params.holds_data(cells) {
            own.wasted += 1;
            // One marked cell holds nothing.
            let freed = u64::from(self.params.mark_bit == MarkBit::Entry);
            self.list_stats.wasted_cells += cells as u64 - freed;
            self.list_stats.most_wasted_packets = self.list_stats.most_wasted_packets.max(self.wasted());
        }
        self.discard_at_head(fifo);
        true
    }

    /// Marked entries are discarded at the head; marked packets wait for their turn.
    fn discard_at_head(&mut self, fifo: u8) {
        if self.params.mark_bit == MarkBit::Entry {
            self.discard_marked(fifo);
        }
    }

    /// Frees marked entries at the head, in no time.
    fn discard_marked(&mut self, fifo: u8) {
        while self.list.head(fifo).is_some_and(|entry| entry.state == State::Marked) {
            let cells = self.list.discard_head(fifo);
            if let Some(own) = self.fifos.get_mut(usize::from(fifo)) {
                own.marked -= 1;
                own.wasted -= u32::from(self.params.holds_data(cells));
            }
        }
    }

    /// Draws one entry from `bank` for an arrival to `fifo`, of a packet that is not in `seen`: the candidate, and the
    /// packet whose entry ended the draw.
    fn draw<E: Env<H>>(&mut self, bank: usize, fifo: u8, seen: &Seen, env: &mut E) -> (Found, Option<u32>) {
        self.list_stats.draws += 1;
        let drawn = match self.params.addresses {
            Addresses::Live => self.draw_live(bank, fifo, seen, env),
            Addresses::Linux | Addresses::LinuxHoles | Addresses::Linux6_12 => {
                (self.draw_as_linux(fifo, env), None)
            }
            _ => self.draw_address(bank, fifo, seen, env),
        };
        self.list_stats.empty_handed += u64::from(drawn.0 == Found::Nothing);
        drawn
    }

    /// Whether `address` lies in `bank`.
    fn in_bank(&self, address: usize, bank: usize) -> bool {
        address % usize::from(self.params.banks.max(1)) == bank
    }

    /// Uniform over the live entries of the FIFO, by rank in the order of admission.
    fn draw_live<E: Env<H>>(
        &mut self,
        bank: usize,
        fifo: u8,
        seen: &Seen,
        env: &mut E,
    ) -> (Found, Option<u32>) {
        let banks = usize::from(self.params.banks.max(1));
        let own = |&(address, entry): &(usize, &ListEntry)| {
            let serves = entry.fifo == fifo && matches!(entry.state, State::Live { .. });
            serves && address % banks == bank && !seen.contains(entry.packet)
        };
        let live = self.list.iter().filter(own).count();
        if live == 0 {
            return (Found::Nothing, None);
        }
        let Some(rank) = self.random_below(live, env) else { return (Found::Nothing, None) };
        // A lone FIFO lies in the memory in the order of admission, from its head on and around the end.
        let head = self.list.head_address(fifo).unwrap_or(0);
        let from_head = self.list.iter().filter(own).filter(|(address, _)| *address >= head);
        let around = self.list.iter().filter(own).filter(|(address, _)| *address < head);
        let drawn = from_head.chain(around).nth(rank);
        let drawn = drawn.map_or((Found::Nothing, None), |(_, entry)| (entry.live(), Some(entry.packet)));
        self.list_stats.tries += 1;
        drawn
    }

    /// Draws addresses until one serves.
    fn draw_address<E: Env<H>>(
        &mut self,
        bank: usize,
        fifo: u8,
        seen: &Seen,
        env: &mut E,
    ) -> (Found, Option<u32>) {
        let nothing = (Found::Nothing, None);
        let count = self.addresses(bank);
        let unbounded = self.params.max_tries == 0;
        let tries = if unbounded {
            let serving = self.serving(bank, fifo, seen);
            if serving == 0 {
                return nothing;
            }
            MOST_TRIES * count.div_ceil(serving)
        } else {
            self.params.max_tries as usize
        };
        for _ in 0..tries {
            if count == 0 {
                return nothing;
            }
            let nth = self.random_below(count, env);
            let Some(address) = nth.and_then(|nth| self.address(nth, bank)) else { return nothing };
            self.list_stats.tries += 1;
            match self.list.get(address) {
                None => {
                    self.list_stats.unoccupied += 1;
                    if self.params.unoccupied_misses {
                        return nothing;
                    }
                }
                Some(entry) if entry.fifo != fifo => self.list_stats.foreign += 1,
                Some(entry) if seen.contains(entry.packet) => {}
                Some(entry) if entry.state == State::Marked => {
                    self.list_stats.marked += 1;
                    match self.params.on_marked() {
                        MarkedEntry::Reject => {}
                        MarkedEntry::Miss => return (Found::Nothing, Some(entry.packet)),
                        MarkedEntry::Blind => return (Found::Marked { id: entry.id }, Some(entry.packet)),
                    }
                }
                Some(entry) => return (entry.live(), Some(entry.packet)),
            }
        }
        self.stats.stuck_draws += u64::from(unbounded);
        nothing
    }

    /// Entries of the bank that end a draw.
    fn serving(&self, bank: usize, fifo: u8, seen: &Seen) -> usize {
        let any = self.params.on_marked() != MarkedEntry::Reject;
        let serves = |entry: &ListEntry| {
            entry.fifo == fifo && (any || entry.state != State::Marked) && !seen.contains(entry.packet)
        };
        self.list.iter().filter(|(address, entry)| serves(entry) && self.in_bank(*address, bank)).count()
    }

    /// A number below `count`; `None` when the random source is stuck.
    fn random_below<E: Env<H>>(&mut self, count: usize, env: &mut E) -> Option<usize> {
        let drawn = draw_below(count as u64, Stream::Candidate, env, &mut self.stats.stuck_draws);
        drawn.map(|number| number as usize)
    }

    /// Number of addresses of `bank` in the drawn set: the whole memory or its occupied part.
    fn addresses(&self, bank: usize) -> usize {
        let banks = usize::from(self.params.banks.max(1));
        match self.params.addresses {
            Addresses::Memory => self.list.size().saturating_sub(bank).div_ceil(banks),
            _ => self.list.occupied_in(bank, banks),
        }
    }

    /// The one of these addresses with `nth` lower ones.
    fn address(&self, nth: usize, bank: usize) -> Option<usize> {
        let banks = usize::from(self.params.banks.max(1));
        match self.params.addresses {
            Addresses::Memory => Some(bank + nth * banks),
            _ => self.list.occupied_at(nth, bank, banks, self.params.fifos == 1),
        }
    }

    /// Three tries from the head to the last entry, then the head.
    fn draw_as_linux<E: Env<H>>(&mut self, fifo: u8, env: &mut E) -> Found {
        let Some(head) = self.list.head_address(fifo) else { return Found::Nothing };
        let size = self.list.size().max(1);
        let from_head = |address: usize| (address + size - head) % size;
        let is_live = |entry: &ListEntry| entry.state != State::Marked;
        let span = match self.params.addresses {
            Addresses::LinuxHoles | Addresses::Linux6_12 => self.list.occupied(),
            _ => {
                let live = self.list.iter().filter(|(_, entry)| is_live(entry));
                live.map(|(address, _)| from_head(address) + 1).max().unwrap_or(1)
            }
        };
        for _ in 0..LINUX_TRIES {
            let Some(offset) = self.random_below(span, env) else { return Found::Nothing };
            self.list_stats.tries += 1;
            match self.list.get((head + offset) % size) {
                Some(entry) if entry.state != State::Marked => return entry.live(),
                _ => self.list_stats.marked += 1,
            }
        }
        self.list.head(fifo).map_or(Found::Nothing, ListEntry::live)
    }

    /// The FIFO in turn, of those with packets to send, and the number of its head. Marked packets before it are
    /// discarded in no time.
    fn next_in_turn(&mut self) -> Option<(u8, u32)> {
        let fifos = self.params.fifos.max(1);
        for step in 0..fifos {
            let fifo = (self.turn + step) % fifos;
            self.discard_marked(fifo);
            if let Some(entry) = self.list.head(fifo) {
                return Some((fifo, entry.packet));
            }
        }
        None
    }

    /// Queues an arrival where both memories have room, marked for `cause` if there is one.
    fn append<E: Env<H>>(
        &mut self,
        mut packet: Packet<H>,
        id: u64,
        fifo: u8,
        mark: Option<DropCause>,
        env: &mut E,
    ) {
        let cells = self.params.cells(packet.meta.len);
        let data_fits = self.data.len() + self.wasted() < self.params.red.limit;
        let list_fits = cells <= self.list.size() - self.list.occupied();
        let Some(own) = self.fifos.get_mut(usize::from(fifo)) else { return };
        let quota_fits = self.params.quota == 0 || own.waiting(&self.params) < self.params.quota;
        if !(data_fits && list_fits && quota_fits) {
            own.red.overflowed();
            drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
            return;
        }
        if let Some(cause) = mark {
            packet.meta.ecn = Ecn::Ce;
            self.stats.marked[cause as usize].add(packet.meta.len);
        }
        own.live += 1;
        self.list.append(fifo, id, self.admitted, cells);
        self.admitted = self.admitted.wrapping_add(1);
        // There is room for `limit` packets.
        self.data.push(packet);
    }
}

impl<H, S: Storage<Slot<H>>, L: Storage<ListEntry>> Discipline<H> for ChokeHardware<H, S, L> {
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        let fifo = packet.meta.class % self.params.fifos.max(1);
        let id = self.id_of(packet.meta.flow, env);
        let Some(own) = self.fifos.get_mut(usize::from(fifo)) else { return };
        let length =
            if self.params.physical_length { own.live + own.marked } else { own.waiting(&self.params) };
        own.red.update(&self.params.red, length, env.now());
        let compared = !own.red.below_min_th(&self.params.red) && own.waiting(&self.params) > 0;
        if compared && self.drop_matches(fifo, id, env) {
            if let Some(own) = self.fifos.get_mut(usize::from(fifo)).filter(|_| self.params.count_on_match) {
                own.red.count_matched(&self.params.red);
            }
            drop_packet(&mut self.stats, env, packet, DropCause::MatchArriving);
            return;
        }
        let Some(own) = self.fifos.get_mut(usize::from(fifo)) else { return };
        match own.red.decision(&self.params.red, own.waiting(&self.params), packet.meta.len, env) {
            Some(cause) if !self.params.red.marks(packet.meta.ecn) => {
                drop_packet(&mut self.stats, env, packet, cause);
            }
            decision => self.append(packet, id, fifo, decision, env),
        }
    }

    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let Some((fifo, number)) = self.next_in_turn() else {
            self.fifos.iter_mut().for_each(|fifo| fifo.red.idle(env.now()));
            return None;
        };
        let rank = self.list.live_before(number);
        let packet = if rank == 0 {
            self.data.pop()?
        } else {
            let position = self.data.at_rank(rank)?;
            self.data.remove(position)?
        };
        self.list.discard_head(fifo);
        if let Some(own) = self.fifos.get_mut(usize::from(fifo)) {
            own.live -= 1;
        }
        self.discard_at_head(fifo);
        self.turn = (fifo + 1) % self.params.fifos.max(1);
        self.stats.departed.add(packet.meta.len);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.data.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Of all FIFOs together.
    fn average_packets(&self) -> Option<f64> {
        Some(self.fifos.iter().map(|fifo| fifo.red.average_packets()).sum())
    }
}
