//! A sender and a receiver over a pipe that loses what a test says.

use super::super::TcpConfig;
use super::super::receiver::{Blocks, Reaction, Receiver};
use super::super::{Ack, Send, Sender};
use super::{check_invariants, config_of};
use fairdrop::Time;
use std::collections::BTreeMap;

/// One way.
const DELAY: Time = Time::from_ms(50);
/// Between the segments of a burst.
const GAP: Time = Time::from_ms(1);
/// As the engine's.
const DELAYED_ACK: Time = Time::from_ms(100);

/// What travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Packet {
    Syn,
    SynAck,
    Segment(u32),
    Ack(u32),
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// With the time at which it was sent.
    Arrives(Packet, Time),
    AckArrives(u32, Option<Blocks>, Option<Time>),
    AckDue,
}

pub struct Pipe<L> {
    pub config: TcpConfig,
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Time,
    /// Everything that was put into the pipe, and when.
    pub log: Vec<(Time, Packet)>,
    /// Segments delivered to the application.
    pub delivered: u32,
    /// When the SYN was sent that came first.
    syn_sent: Option<Time>,
    /// Whether to lose the `n`th copy (from 1) of a packet.
    lose: L,
    copies: BTreeMap<Packet, u32>,
    events: BTreeMap<(Time, u64), Event>,
    order: u64,
    free_at: Time,
    ack_due: Time,
    out: Vec<Send>,
}

impl<L: FnMut(Packet, u32) -> bool> Pipe<L> {
    /// Opens a connection at time 0.
    pub fn new(transport: &str, settings: &str, lose: L) -> Self {
        let config = config_of(transport, settings);
        let mut pipe = Self {
            sender: Sender::new(&config, 0.0),
            config,
            receiver: Receiver::default(),
            now: Time::ZERO,
            log: Vec::new(),
            delivered: 0,
            syn_sent: None,
            lose,
            copies: BTreeMap::new(),
            events: BTreeMap::new(),
            order: 0,
            free_at: Time::ZERO,
            ack_due: Time::NEVER,
            out: Vec::new(),
        };
        pipe.sender.start(Time::ZERO, &pipe.config, &mut pipe.out);
        pipe.send_wanted();
        pipe
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.events.insert((at, self.order), event);
    }

    fn put(&mut self, at: Time, packet: Packet) {
        self.log.push((at, packet));
        let copy = self.copies.entry(packet).or_default();
        *copy += 1;
        if !(self.lose)(packet, *copy) {
            let event = match packet {
                Packet::Ack(next) => Event::AckArrives(next, self.blocks(), self.echoed()),
                _ => Event::Arrives(packet, self.now),
            };
            self.schedule(at.after(DELAY), event);
        }
    }

    /// What the timestamp of an ACK says.
    fn echoed(&self) -> Option<Time> {
        self.receiver.echoed().filter(|_| self.config.traits.timestamps)
    }

    fn blocks(&mut self) -> Option<Blocks> {
        if self.config.acknowledges_as_linux() {
            return self.receiver.blocks_as_linux(self.config.sack.sack_blocks);
        }
        let blocks = self.receiver.blocks(self.config.sack.sack_blocks);
        (self.config.has_sack && !blocks.is_empty()).then_some(blocks)
    }

    fn send_wanted(&mut self) {
        for send in std::mem::take(&mut self.out) {
            let at = self.now.max(self.free_at);
            self.free_at = at.after(GAP);
            self.put(at, send.segment().map_or(Packet::Syn, Packet::Segment));
        }
    }

    /// Handles the next event, of the pipe or the sender's timer; checks what must always hold.
    pub fn step(&mut self) {
        let una = self.sender.una;
        let next = self.events.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
        if self.sender.deadline < next {
            self.now = self.sender.deadline;
            self.sender.on_timeout(self.now, &self.config, &mut self.out);
        } else {
            let ((at, _), event) = self.events.pop_first().expect("a timer or a packet is always under way");
            self.now = at;
            match event {
                Event::Arrives(packet, sent) => self.arrive(packet, sent),
                Event::AckArrives(next, blocks, echoed) => {
                    let stamp = echoed.or(self.config.one_way_delays.then_some(DELAY));
                    let ack = Ack { next, echo: false, blocks: blocks.as_ref(), stamp, marks: None };
                    self.sender.on_ack(self.now, ack, &self.config, &mut self.out);
                }
                Event::AckDue => {
                    if self.ack_due == at && std::mem::take(&mut self.receiver.ack_pending) {
                        self.receiver.note_late_ack(&self.config);
                        self.put(at, Packet::Ack(self.receiver.next));
                    }
                }
            }
        }
        self.send_wanted();
        check_invariants(&self.sender, &self.config);
        assert!(self.sender.una >= una, "una never falls: {:?}", self.sender);
        assert!(self.sender.una <= self.receiver.next, "only what arrived is acknowledged");
        assert_eq!(self.delivered, self.receiver.next, "each segment is new once");
    }

    fn arrive(&mut self, packet: Packet, sent: Time) {
        match packet {
            Packet::Syn => {
                if self.config.acknowledges_as_linux() {
                    self.receiver.answer_as_linux(self.now);
                }
                self.syn_sent = self.syn_sent.or(Some(sent));
                self.put(self.now, Packet::SynAck);
            }
            Packet::SynAck => {
                let stamp = self.syn_sent.filter(|_| self.config.traits.timestamps);
                self.sender.on_syn_ack(self.now, stamp, &self.config, &mut self.out);
            }
            Packet::Ack(_) => unreachable!("ACKs arrive with their blocks"),
            Packet::Segment(segment) => {
                let before = self.receiver.next;
                let (is_new, wait) = if self.config.acknowledges_as_linux() {
                    self.receiver.take_as_linux(self.now, segment, Some(sent), &self.config)
                } else {
                    let (is_new, reaction) = self.receiver.take(segment, self.config.delayed_ack);
                    (is_new, (reaction == Reaction::Wait).then_some(DELAYED_ACK))
                };
                assert!(is_new || self.receiver.next == before);
                self.delivered += self.receiver.next - before;
                match wait {
                    None => self.put(self.now, Packet::Ack(self.receiver.next)),
                    Some(wait) => {
                        self.ack_due = self.now.after(wait);
                        self.schedule(self.ack_due, Event::AckDue);
                    }
                }
            }
        }
    }

    /// Runs until `segments` are acknowledged.
    pub fn run_until_acked(&mut self, segments: u32) {
        while self.sender.una < segments {
            self.step();
        }
    }

    /// Times in ms at which copies of `packet` went into the pipe.
    pub fn times_of(&self, packet: Packet) -> Vec<u64> {
        self.log.iter().filter(|(_, sent)| *sent == packet).map(|(at, _)| at.ns() / 1_000_000).collect()
    }
}
