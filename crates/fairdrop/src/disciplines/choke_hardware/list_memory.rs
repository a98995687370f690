//! The memory that linked lists of packets lie in: entries at addresses, each the cell of a packet of one FIFO.

use crate::storage::Storage;

/// Most entries of a list memory: addresses have 16 bits.
pub const MAX_ENTRIES: usize = 65_535;
/// Most FIFOs that share one.
pub const MAX_FIFOS: usize = 8;

/// Content of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing.
    #[default]
    Free,
    /// A cell of a packet that waits, the first one or another.
    Live { first: bool },
    /// A cell of a packet that was dropped; discarded at the head.
    Marked,
}

/// One entry of the list memory; the default is a free one.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListEntry {
    /// Id of the packet's flow, legible until the entry is discarded.
    pub(super) id: u64,
    /// Number of the packet by admission; wraps around.
    pub(super) packet: u32,
    next: u16,
    pub(super) fifo: u8,
    pub(super) state: State,
}

/// Where a linked list begins and ends; meaningless while it has no entries.
#[derive(Clone, Copy, Debug, Default)]
struct List {
    head: u16,
    tail: u16,
    entries: u16,
}

/// Entries, and the linked lists through them.
#[derive(Clone, Debug)]
pub(super) struct ListMemory<L> {
    entries: L,
    lists: [List; MAX_FIFOS],
    size: usize,
    occupied: usize,
    /// Where the search for a free entry begins: entry t of a lone FIFO has address t modulo the size.
    cursor: usize,
}

impl<L: Storage<ListEntry>> ListMemory<L> {
    /// A memory of `size` entries, which are the first of `entries`.
    pub(super) fn new(mut entries: L, size: u16) -> Self {
        entries.as_mut().fill(ListEntry::default());
        let size = usize::from(size).min(entries.as_ref().len());
        Self { entries, lists: [List::default(); MAX_FIFOS], size, occupied: 0, cursor: 0 }
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn occupied(&self) -> usize {
        self.occupied
    }

    /// The entry at `address`; `None` outside the memory and where it is free.
    pub(super) fn get(&self, address: usize) -> Option<&ListEntry> {
        self.entries.as_ref().get(..self.size)?.get(address).filter(|entry| entry.state != State::Free)
    }

    /// Occupied entries with their addresses.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &ListEntry)> {
        let entries = self.entries.as_ref().iter().take(self.size).enumerate();
        entries.filter(|(_, entry)| entry.state != State::Free)
    }

    /// Entries of a list, from its head on.
    fn walk(&self, fifo: u8) -> impl Iterator<Item = &ListEntry> {
        let list = self.lists.get(usize::from(fifo)).copied().unwrap_or_default();
        let mut address = list.head;
        (0..list.entries).map_while(move |_| {
            let entry = self.get(usize::from(address))?;
            address = entry.next;
            Some(entry)
        })
    }

    /// An entry of each packet of a list, from its head on, marked or not.
    pub(super) fn packets(&self, fifo: u8) -> impl Iterator<Item = &ListEntry> {
        let mut last = None;
        self.walk(fifo).filter(move |entry| last.replace(entry.packet) != Some(entry.packet))
    }

    /// Number of occupied addresses that are `bank` modulo `banks`.
    pub(super) fn occupied_in(&self, bank: usize, banks: usize) -> usize {
        if banks == 1 { self.occupied } else { self.in_bank(bank, banks).count() }
    }

    /// The one of these addresses with `nth` lower ones. The entries of a `lone` FIFO lie side by side, and are not searched.
    pub(super) fn occupied_at(&self, nth: usize, bank: usize, banks: usize, lone: bool) -> Option<usize> {
        if !lone {
            return self.in_bank(bank, banks).nth(nth);
        }
        let head = self.head_address(0)?;
        let banks = banks.max(1);
        let below = |end: usize| (end + banks - 1 - bank) / banks;
        // What has gone around the end has the lowest addresses.
        let around = below((head + self.occupied).saturating_sub(self.size));
        Some(bank + banks * if nth < around { nth } else { below(head) + nth - around })
    }

    /// Occupied addresses that are `bank` modulo `banks`.
    fn in_bank(&self, bank: usize, banks: usize) -> impl Iterator<Item = usize> {
        self.iter().map(|(address, _)| address).filter(move |address| address % banks.max(1) == bank)
    }

    /// Appends the cells of a packet to a list. The caller has seen that they fit.
    pub(super) fn append(&mut self, fifo: u8, id: u64, packet: u32, cells: usize) {
        for cell in 0..cells.min(self.size - self.occupied) {
            while self.get(self.cursor).is_some() {
                self.step();
            }
            let address = self.cursor as u16;
            if let Some(entry) = self.entries.as_mut().get_mut(self.cursor) {
                *entry = ListEntry { id, packet, next: 0, fifo, state: State::Live { first: cell == 0 } };
            }
            self.link(fifo, address);
            self.occupied += 1;
            self.step();
        }
    }

    fn step(&mut self) {
        self.cursor = if self.cursor + 1 >= self.size { 0 } else { self.cursor + 1 };
    }

    fn link(&mut self, fifo: u8, address: u16) {
        let Some(list) = self.lists.get_mut(usize::from(fifo)) else { return };
        if list.entries == 0 {
            list.head = address;
        } else if let Some(last) = self.entries.as_mut().get_mut(usize::from(list.tail)) {
            last.next = address;
        }
        list.tail = address;
        list.entries += 1;
    }

    /// Sets the flags of all cells of a packet; returns how many.
    pub(super) fn mark(&mut self, packet: u32) -> usize {
        let cells = self.entries.as_mut().iter_mut().take(self.size);
        let cells = cells.filter(|entry| entry.packet == packet && matches!(entry.state, State::Live { .. }));
        cells.map(|entry| entry.state = State::Marked).count()
    }

    /// The entry at the head of a list.
    pub(super) fn head(&self, fifo: u8) -> Option<&ListEntry> {
        self.get(self.head_address(fifo)?)
    }

    /// The address of the head of a list.
    pub(super) fn head_address(&self, fifo: u8) -> Option<usize> {
        let list = self.lists.get(usize::from(fifo)).filter(|list| list.entries > 0)?;
        Some(usize::from(list.head))
    }

    /// Frees the head of a list and all cells of the same packet after it; returns how many.
    pub(super) fn discard_head(&mut self, fifo: u8) -> usize {
        let Some(packet) = self.head(fifo).map(|entry| entry.packet) else { return 0 };
        let mut cells = 0;
        while self.head(fifo).is_some_and(|entry| entry.packet == packet) {
            let Some(list) = self.lists.get_mut(usize::from(fifo)) else { break };
            let Some(entry) = self.entries.as_mut().get_mut(usize::from(list.head)) else { break };
            entry.state = State::Free;
            list.head = entry.next;
            list.entries -= 1;
            cells += 1;
        }
        self.occupied -= cells;
        cells
    }

    /// Live packets of all lists that were admitted before `packet`.
    pub(super) fn live_before(&self, packet: u32) -> u32 {
        // Numbers wrap around, and there are never half as many packets as numbers.
        let before = |entry: &ListEntry| (entry.packet.wrapping_sub(packet) as i32) < 0;
        let firsts = self.iter().filter(|(_, entry)| entry.state == State::Live { first: true });
        firsts.filter(|(_, entry)| before(entry)).count() as u32
    }
}
