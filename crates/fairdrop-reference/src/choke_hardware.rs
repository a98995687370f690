//! `CHOKe` in hardware as slowly and obviously as it can be written: a plain list of cells for each FIFO, with the address
//! that each has and its mark. RED is that of [`crate::red`]. Draws read the numbers that the library read.

use std::collections::BTreeMap;

use fairdrop::{
    Addresses, AnyDiscipline, Candidates, ChokeHardwareParams, Discipline, DropCause, Ecn, MarkBit,
    MarkedEntry, Packet, Stream, Time, siphash, uniform_below,
};

use crate::compare::is_mistaken;
use crate::host::{Queue, Step};
use crate::red::{Plan, Reference, Scheme};
use crate::red_linux::Vars;
use crate::slow::{Arrival, Decided, Departure, Drops, Random, Slow};

/// A cell of a packet that was the `number`th to be admitted.
#[derive(Clone)]
struct Cell {
    packet: Packet<u32>,
    number: u64,
    address: usize,
    marked: bool,
}

struct Hardware {
    params: ChokeHardwareParams,
    plan: Plan,
    lists: Vec<Vec<Cell>>,
    red: Vec<Reference>,
    /// With `linux_6.12`, what decides in place of `red`.
    kernel: Option<Vars>,
    admitted: u64,
    cursor: usize,
    bank: usize,
    turn: usize,
}

pub fn reference(params: ChokeHardwareParams) -> Option<Box<dyn Slow>> {
    let plan = match params.candidates {
        Candidates::Fixed(count) => Plan::Fixed(count),
        Candidates::Regions(schedule) => Plan::Custom(schedule.as_slice().to_vec()),
    };
    let fifos = usize::from(params.fifos);
    let red = (0..fifos).map(|_| Reference::new(Scheme::Red(params.red.clone()))).collect();
    let lists = vec![Vec::new(); fifos];
    let kernel = (params.addresses == Addresses::Linux6_12).then(|| Vars::of_choke(&params.red));
    Some(Box::new(Hardware { params, plan, lists, red, kernel, admitted: 0, cursor: 0, bank: 0, turn: 0 }))
}

/// What is compared of a flow: all of it, or the first bits of its hash under the key of the host, which is zero, and salt.
fn id_of(params: &ChokeHardwareParams, flow: u64) -> u64 {
    match params.id_bits {
        0 => flow,
        bits => siphash([params.salt, 0], &flow.to_le_bytes()) / 2_u64.pow(64 - u32::from(bits)),
    }
}

/// The first cell of each packet of a list.
fn packets(list: &[Cell]) -> Vec<&Cell> {
    let mut firsts: Vec<&Cell> = Vec::new();
    for cell in list {
        if firsts.last().is_none_or(|last| last.number != cell.number) {
            firsts.push(cell);
        }
    }
    firsts
}

impl Hardware {
    fn stays(&self) -> bool {
        self.params.mark_bit == MarkBit::Packet
    }

    /// What a marked entry does to a draw.
    fn on_marked(&self) -> MarkedEntry {
        if self.stays() { MarkedEntry::Blind } else { self.params.marked }
    }

    /// The packets that count: with those that are marked where they stay.
    fn counted(&self, fifo: usize) -> Vec<Packet<u32>> {
        let counts = |cell: &&Cell| !cell.marked || self.stays();
        packets(&self.lists[fifo]).into_iter().filter(counts).map(|cell| cell.packet.clone()).collect()
    }

    fn cells(&self, packet: &Packet<u32>) -> usize {
        match self.params.cell_size {
            0 => 1,
            size => (f64::from(packet.meta.len) / f64::from(size)).ceil().max(1.0) as usize,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Cell> {
        self.lists.iter().flatten()
    }

    fn in_bank(&self, address: usize, bank: usize) -> bool {
        address % usize::from(self.params.banks) == bank
    }

    /// The cells that candidates belong to; `None` for those in vain.
    fn candidates(&mut self, wanted: usize, fifo: usize, random: Random) -> Vec<Cell> {
        let mut found: Vec<Cell> = Vec::new();
        // The packets that this arrival must not draw again.
        let mut seen: Vec<u64> = Vec::new();
        let drawn: Vec<Option<Cell>> = match self.params.addresses {
            Addresses::Head | Addresses::Tail => self.nearest(wanted, fifo),
            _ => (0..wanted)
                .map(|_| {
                    let bank = self.bank;
                    self.bank = (bank + 1) % usize::from(self.params.banks);
                    let met = self.draw(bank, fifo, &seen, random)?;
                    if !self.params.replacement {
                        seen.push(met.number);
                    }
                    let in_vain = met.marked && self.on_marked() == MarkedEntry::Miss;
                    (!in_vain).then_some(met)
                })
                .collect(),
        };
        for cell in drawn.into_iter().flatten() {
            if found.iter().all(|other| other.number != cell.number) {
                found.push(cell);
            }
        }
        found
    }

    fn nearest(&self, wanted: usize, fifo: usize) -> Vec<Option<Cell>> {
        let mut line = packets(&self.lists[fifo]);
        if self.params.addresses == Addresses::Tail {
            line.reverse();
        }
        line.retain(|cell| !cell.marked || self.on_marked() != MarkedEntry::Reject);
        let in_vain = |cell: &Cell| cell.marked && self.on_marked() == MarkedEntry::Miss;
        line.into_iter().take(wanted).map(|cell| (!in_vain(cell)).then(|| cell.clone())).collect()
    }

    /// The cell that ends a draw, marked or not.
    fn draw(&self, bank: usize, fifo: usize, seen: &[u64], random: Random) -> Option<Cell> {
        let mut below = |count: usize| uniform_below(count as u64, || random(Stream::Candidate)) as usize;
        let size = usize::from(self.params.list_limit);
        let list = &self.lists[fifo];
        let from_head = |address: usize| (address + size - list[0].address) % size;
        let any = self.on_marked() != MarkedEntry::Reject;
        match self.params.addresses {
            Addresses::Live => {
                let mut live: Vec<&Cell> = list
                    .iter()
                    .filter(|cell| !cell.marked && self.in_bank(cell.address, bank))
                    .filter(|cell| !seen.contains(&cell.number))
                    .collect();
                live.sort_by_key(|cell| from_head(cell.address));
                if live.is_empty() { None } else { Some(live[below(live.len())].clone()) }
            }
            Addresses::Linux | Addresses::LinuxHoles | Addresses::Linux6_12 => {
                let holes = self.params.addresses != Addresses::Linux;
                let live = list.iter().filter(|cell| holes || !cell.marked);
                let span = live.map(|cell| from_head(cell.address) + 1).max()?;
                for _ in 0..3 {
                    let place = below(span);
                    let hit = list.iter().find(|cell| from_head(cell.address) == place && !cell.marked);
                    if let Some(cell) = hit {
                        return Some(cell.clone());
                    }
                }
                Some(list[0].clone())
            }
            Addresses::Occupied | Addresses::Memory => {
                let whole = self.params.addresses == Addresses::Memory;
                let used = |address: usize| self.all().any(|cell| cell.address == address);
                let places: Vec<usize> = (0..size)
                    .filter(|&address| self.in_bank(address, bank) && (whole || used(address)))
                    .collect();
                let serves = |cell: &Cell| {
                    (any || !cell.marked) && self.in_bank(cell.address, bank) && !seen.contains(&cell.number)
                };
                let unbounded = self.params.max_tries == 0;
                if places.is_empty() || (unbounded && !list.iter().any(serves)) {
                    return None;
                }
                let mut tries = 0;
                while unbounded || tries < self.params.max_tries {
                    tries += 1;
                    let address = places[below(places.len())];
                    if !used(address) && self.params.unoccupied_misses {
                        return None;
                    }
                    let met = list.iter().find(|cell| cell.address == address && serves(cell));
                    if let Some(cell) = met {
                        return Some(cell.clone());
                    }
                }
                None
            }
            Addresses::Head | Addresses::Tail => unreachable!("nothing is drawn"),
        }
    }

    /// Marked cells go from the head on.
    fn discard(&mut self, fifo: usize) {
        while self.lists[fifo].first().is_some_and(|cell| cell.marked) {
            self.lists[fifo].remove(0);
        }
    }

    /// Whether both memories and the quota have room.
    fn has_room(&self, packet: &Packet<u32>, fifo: usize) -> bool {
        let holds_data = |cell: &&Cell| {
            let partly = self.params.mark_one_cell && self.cells(&cell.packet) > 1;
            !cell.marked || self.stays() || partly
        };
        let held: usize =
            self.lists.iter().map(|list| packets(list).into_iter().filter(holds_data).count()).sum();
        let quota = self.params.quota as usize;
        held < self.params.red.limit as usize
            && self.all().count() + self.cells(packet) <= usize::from(self.params.list_limit)
            && (quota == 0 || self.counted(fifo).len() < quota)
    }

    fn append(&mut self, packet: &Packet<u32>, fifo: usize) {
        let size = usize::from(self.params.list_limit);
        for _ in 0..self.cells(packet) {
            while self.all().any(|cell| cell.address == self.cursor) {
                self.cursor = (self.cursor + 1) % size;
            }
            let (number, address) = (self.admitted, self.cursor);
            self.lists[fifo].push(Cell { packet: packet.clone(), number, address, marked: false });
            self.cursor = (self.cursor + 1) % size;
        }
        self.admitted += 1;
    }

    /// Compares the candidates; returns those dropped, and whether the arrival is to be.
    fn matches(
        &mut self,
        flow: u64,
        fifo: usize,
        step: &Step,
        random: Random,
    ) -> Result<(Drops, bool), String> {
        let (average, red) = (self.red[fifo].average, self.params.red.clone());
        let below = self.kernel.as_ref().map_or(average < red.min_th, Vars::is_below);
        if below || self.counted(fifo).is_empty() {
            return if step.drawn.is_empty() {
                Ok((Vec::new(), false))
            } else {
                Err("compared below min_th".into())
            };
        }
        let wanted = self.plan.candidates(average, red.min_th, red.max_th);
        let found = self.candidates(wanted, fifo, random);
        let live = found.iter().filter(|cell| !cell.marked);
        if !live.map(|cell| cell.packet.handle).eq(step.drawn.iter().copied()) {
            return Err(format!("compared {:?}", step.drawn));
        }
        let id = |flow: u64| id_of(&self.params, flow);
        let matched: Vec<&Cell> = found.iter().filter(|cell| id(cell.packet.meta.flow) == id(flow)).collect();
        let mut drops = Vec::new();
        for cell in &matched {
            if !cell.marked {
                drops.push((cell.packet.clone(), DropCause::MatchQueued));
            }
            self.lists[fifo]
                .iter_mut()
                .filter(|other| other.number == cell.number)
                .for_each(|cell| cell.marked = true);
        }
        if !self.stays() {
            self.discard(fifo);
        }
        Ok((drops, !matched.is_empty()))
    }
}

impl Slow for Hardware {
    fn arrive(&mut self, Arrival { mut packet, now, step, fast }: Arrival, random: Random) -> Decided {
        let fifo = usize::from(packet.meta.class % self.params.fifos);
        let red = self.params.red.clone();
        let all = packets(&self.lists[fifo]).len();
        let counted = self.counted(fifo);
        let length = if self.params.physical_length { all } else { counted.len() };
        self.red[fifo].queue = counted;
        let theirs = fast.average_packets().ok_or("no average")?;
        let others: f64 =
            (0..self.red.len()).filter(|&other| other != fifo).map(|other| self.red[other].average).sum();
        if let Some(kernel) = &mut self.kernel {
            kernel.update(length as u64, now);
            self.red[fifo].average = kernel.average();
            self.red[fifo].go_on_with(Some(theirs), 0.0)?;
        } else if self.red.len() == 1 {
            self.red[fifo].update_average(&red, length as f64, Time::from_ns(now), Some(theirs))?;
        } else {
            // Of several, the sum is known; after an idle time they are the same but for rounding.
            self.red[fifo].decay_or_follow(&red, length as f64, Time::from_ns(now));
            let sum = self.red[fifo].average + others;
            if (sum - theirs).abs() > 1e-9 * (1.0 + theirs) && !is_mistaken() {
                return Err(format!("averages {theirs}, should be {sum}"));
            }
        }
        let (mut drops, matched) = self.matches(packet.meta.flow, fifo, step, random)?;
        if matched {
            self.red[fifo].count_matched(self.params.count_on_match);
            drops.push((packet, DropCause::MatchArriving));
            return Ok(drops);
        }
        let draw = &mut || random(Stream::EarlyDrop);
        let decision = match &mut self.kernel {
            Some(kernel) => kernel.action(draw),
            None => self.red[fifo].red_decision(&red, &packet, Some(draw)),
        };
        let is_marked = red.ecn && packet.meta.ecn != Ecn::NotCapable;
        if let Some(cause) = decision.filter(|_| !is_marked) {
            return Ok(vec![(packet, cause)]);
        }
        if !self.has_room(&packet, fifo) {
            self.red[fifo].overflowed();
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        if let Some(cause) = decision {
            packet.meta.ecn = Ecn::Ce;
            self.red[fifo].marked[cause as usize] += 1;
        }
        self.append(&packet, fifo);
        Ok(Vec::new())
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        for step in 0..self.lists.len() {
            let fifo = (self.turn + step) % self.lists.len();
            self.discard(fifo);
            let Some(head) = self.lists[fifo].first().cloned() else { continue };
            self.lists[fifo].retain(|cell| cell.number != head.number);
            if !self.stays() {
                self.discard(fifo);
            }
            self.turn = (fifo + 1) % self.lists.len();
            return Ok((Vec::new(), Some(head.packet)));
        }
        if let Some(kernel) = &mut self.kernel {
            kernel.idle(now);
        }
        for red in &mut self.red {
            red.idle_since = red.idle_since.or(Some(Time::from_ns(now)));
        }
        Ok((Vec::new(), None))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        let live = self.all().filter(|cell| !cell.marked);
        let in_order: BTreeMap<_, _> = live.map(|cell| (cell.number, cell.packet.clone())).collect();
        in_order.into_values().collect()
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::ChokeHardware(fast_lists) = fast else {
            return Err("not CHOKe in hardware".into());
        };
        if fast_lists.entries() != self.all().count() {
            return Err(format!("{} entries, should be {}", fast_lists.entries(), self.all().count()));
        }
        let mut marked = [0; DropCause::COUNT];
        self.red
            .iter()
            .for_each(|red| marked.iter_mut().zip(red.marked).for_each(|(sum, count)| *sum += count));
        if fast_lists.stats().marked.map(|count| count.packets) != marked {
            return Err(format!("marked {:?}, should be {marked:?}", fast_lists.stats().marked));
        }
        Ok(())
    }
}
