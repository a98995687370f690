//! A reference, whichever it is, for what compares all of them. Each file of a discipline has a function `reference`, from
//! which [`crate::reference_of`] is made.

use std::collections::BTreeMap;

use fairdrop::{DropCause, Hosts, Packet, Stream};

use crate::host::{Queue, Step};

/// The next 64 bits of a stream.
pub type Random<'a> = &'a mut dyn FnMut(Stream) -> u64;

/// Packets that a discipline drops, in order.
pub type Drops = Vec<(Packet<u32>, DropCause)>;

/// The drops of an arrival; an error where what the library did cannot be right.
pub type Decided = Result<Drops, String>;

/// The packet that the transmitter gets, and the packets dropped before it.
pub type Departure = Result<(Drops, Option<Packet<u32>>), String>;

/// A packet that arrives, at a time in nanoseconds.
pub struct Arrival<'a> {
    pub packet: Packet<u32>,
    pub now: u64,
    /// What the library did with it.
    pub step: &'a Step,
    /// The library's queue after that.
    pub fast: &'a Queue,
}

/// A reference, time in nanoseconds. Where two choices are both right, it takes the one of the library if it is one of them.
pub trait Slow {
    /// Before anything else: the hosts of flows.
    fn set_hosts(&mut self, _hosts: &BTreeMap<u64, Hosts>) {}
    /// A packet arrives.
    fn arrive(&mut self, arrival: Arrival, random: Random) -> Decided;
    /// The transmitter is free and asks for a packet.
    fn dequeue(&mut self, now: u64, fast: &Queue, random: Random) -> Departure;
    /// The waiting packets, in the order of departure where they wait in one FIFO.
    fn waiting(&self) -> Vec<Packet<u32>>;
    /// After either of the two: compares the state that neither drops nor the queue show, and goes on with the numbers that
    /// the library computes in another order, once they are within rounding of its own.
    fn same_state(&mut self, _fast: &Queue) -> Result<(), String> {
        Ok(())
    }
}
