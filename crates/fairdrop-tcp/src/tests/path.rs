//! A sender and a receiver over a bottleneck that a test changes under way.

use super::super::receiver::{Blocks, Receiver};
use super::super::{Ack, Send, Sender, TcpConfig};
use super::config_of;
use fairdrop::Time;
use std::collections::{BTreeMap, HashMap};

/// What becomes of a segment at the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Passes,
    Lost,
    /// It arrives so much later than it would, and others pass it.
    Late(Time),
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrives(u32, Time),
    AckArrives(u32, Option<Blocks>, Option<Time>),
    AckDue,
    Write,
}

/// A path of one bottleneck.
pub struct Path {
    pub sender: Sender,
    config: TcpConfig,
    receiver: Receiver,
    pub now: Time,
    /// Of the bottleneck, segments per second.
    pub per_s: f64,
    /// Segments that may wait.
    pub buffer: f64,
    pub one_way: Time,
    /// By time, segment and copy (from 1).
    pub fate: Box<dyn FnMut(Time, u32, u32) -> Fate>,
    /// ACKs come at multiples of this only, one for all that is acknowledged until then.
    pub batch: Option<Time>,
    /// Segments that the application writes per second; without end when 0.
    app: f64,
    pub lost: u32,
    pub sent: u32,
    pub delivered: u32,
    copies: HashMap<u32, u32>,
    events: BTreeMap<(Time, u64), Event>,
    order: u64,
    free_at: Time,
    ack_due: Time,
    last_ack: Time,
    out: Vec<Send>,
}

impl Path {
    /// A bottleneck of `per_s` segments per second, a round trip of `rtt_ms`, and room for `buffer` segments.
    pub fn new(transport: &str, per_s: f64, rtt_ms: u64, buffer: f64) -> Self {
        let config = config_of(transport, "max_window=100000p handshake=false");
        let mut path = Self {
            sender: Sender::new(&config, 0.0),
            config,
            receiver: Receiver::default(),
            now: Time::ZERO,
            per_s,
            buffer,
            one_way: Time::from_ns(rtt_ms * 500_000),
            fate: Box::new(|_, _, _| Fate::Passes),
            batch: None,
            app: 0.0,
            lost: 0,
            sent: 0,
            delivered: 0,
            copies: HashMap::new(),
            events: BTreeMap::new(),
            order: 0,
            free_at: Time::ZERO,
            ack_due: Time::NEVER,
            last_ack: Time::ZERO,
            out: Vec::new(),
        };
        path.sender.start(Time::ZERO, &path.config, &mut path.out);
        path.put();
        path
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.events.insert((at, self.order), event);
    }

    /// The application writes `per_s` segments a second from now on; 0: nothing, infinity: without end.
    pub fn write(&mut self, per_s: f64) {
        self.app = per_s;
        if per_s == f64::INFINITY {
            self.sender.supply = u32::MAX - 1;
            self.sender.on_supply(self.now, &self.config, &mut self.out);
            self.put();
        } else {
            self.sender.supply = self.sender.high;
            self.schedule(self.now, Event::Write);
        }
    }

    fn put(&mut self) {
        for send in std::mem::take(&mut self.out) {
            let segment = send.segment().expect("there is no handshake");
            let copy = self.copies.entry(segment).or_default();
            *copy += 1;
            let copy = *copy;
            self.sent += 1;
            let waiting = self.free_at.since(self.now).seconds() * self.per_s;
            let fate = (self.fate)(self.now, segment, copy);
            if fate == Fate::Lost || waiting > self.buffer {
                self.lost += 1;
                continue;
            }
            self.free_at = self.free_at.max(self.now).after(Time::from_ns((1e9 / self.per_s) as u64));
            let more = if let Fate::Late(by) = fate { by } else { Time::ZERO };
            self.schedule(self.free_at.after(self.one_way).after(more), Event::Arrives(segment, self.now));
        }
    }

    fn acknowledge(&mut self) {
        let blocks = self.receiver.blocks_as_linux(self.config.sack.sack_blocks);
        let mut at = self.now.after(self.one_way);
        if let Some(batch) = self.batch {
            at = Time::from_ns(at.ns().div_ceil(batch.ns()) * batch.ns());
            self.events.retain(|(due, _), event| *due != at || !matches!(event, Event::AckArrives(..)));
        }
        self.last_ack = self.last_ack.max(at);
        self.schedule(self.last_ack, Event::AckArrives(self.receiver.next, blocks, self.receiver.echoed()));
    }

    /// The next event.
    pub fn step(&mut self) {
        let next = self.events.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
        if self.sender.deadline < next {
            self.now = self.sender.deadline;
            self.sender.on_timeout(self.now, &self.config, &mut self.out);
        } else {
            let ((at, _), event) = self.events.pop_first().expect("a timer or a packet is under way");
            self.now = at;
            self.handle(event);
        }
        self.put();
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrives(segment, sent) => {
                let before = self.receiver.next;
                let (_, wait) = self.receiver.take_as_linux(self.now, segment, Some(sent), &self.config);
                self.delivered += self.receiver.next - before;
                match wait {
                    None => self.acknowledge(),
                    Some(wait) => {
                        self.ack_due = self.now.after(wait);
                        self.schedule(self.ack_due, Event::AckDue);
                    }
                }
            }
            Event::AckDue => {
                if self.ack_due == self.now && std::mem::take(&mut self.receiver.ack_pending) {
                    self.receiver.note_late_ack(&self.config);
                    self.acknowledge();
                }
            }
            Event::AckArrives(next, blocks, echoed) => {
                let ack = Ack { next, echo: false, blocks: blocks.as_ref(), stamp: echoed, marks: None };
                self.sender.on_ack(self.now, ack, &self.config, &mut self.out);
            }
            Event::Write if self.app > 0.0 && self.app < f64::INFINITY => {
                self.schedule(self.now.after(Time::from_ns((1e9 / self.app) as u64)), Event::Write);
                self.sender.on_supply(self.now, &self.config, &mut self.out);
            }
            Event::Write => {}
        }
    }

    /// Runs until `is_so`, for `most_s` seconds at most.
    pub fn until(&mut self, what: &str, most_s: f64, mut is_so: impl FnMut(&Sender) -> bool) {
        let end = self.now.seconds() + most_s;
        while !is_so(&self.sender) {
            assert!(self.now.seconds() < end, "not {what} by {end} s: {:?}", self.sender.control);
            self.step();
        }
    }

    /// Runs for `seconds`.
    pub fn run(&mut self, seconds: f64, mut each: impl FnMut(&Sender)) {
        let end = self.now.seconds() + seconds;
        while self.now.seconds() < end {
            self.step();
            each(&self.sender);
        }
    }
}
