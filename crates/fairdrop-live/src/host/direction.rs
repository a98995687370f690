//! The loop of one direction: read, classify, offer to the link, hand on what is due, sleep.

use crate::frame::{self, FramePool, Unsummed};
use crate::host::command::Command;
use crate::host::report::Aside;
use crate::host::train::Train;
use crate::host::waits::Waits;
use crate::host::{Change, Commands, Group, Lateness, Leaving, Ports, Report, SHORTEST_SLEEP, Watch};
use fairdrop::{AnyDiscipline, AnyParams, Ecn, Heap, Meta, ParamError, Time};
use fairdrop_capture::{Classified, Classifier, KeyKind, LinkType, Protocol};
use fairdrop_link::{Cause, Fate, HostCause, Link, LinkConfig, Outcome};
use std::collections::BTreeMap;
use std::io;

/// Frames read between two looks at the clock, and at most, when the last of them came together.
const BATCH: usize = 64;
const LONGEST_BATCH: usize = 2 * BATCH;

/// What a direction is made of, beside its ports.
#[derive(Clone, Debug)]
pub struct DirectionConfig {
    /// The link.
    pub link: LinkConfig,
    /// Its discipline, whose limit and rate are set.
    pub queue: AnyParams,
    /// Link type of the frames.
    pub link_type: LinkType,
    /// What makes a flow.
    pub flow_key: KeyKind,
    /// Priority class by DSCP.
    pub classes: [u8; 64],
    /// Bytes that a packet takes on the emulated link beyond those of its frame.
    pub overhead: u32,
    /// The longest frame, bytes.
    pub frame_bytes: usize,
}

/// In place of where the IP header begins: there is none.
const NO_IP: u16 = u16::MAX;

/// The headers of a waiting frame.
#[derive(Clone, Copy)]
struct Note {
    ip: u16,
    protocol: Protocol,
    left: Option<Unsummed>,
}

const NOTHING: Note = Note { ip: NO_IP, protocol: Protocol::NonIp, left: None };

#[inline]
fn leaving<'a>(pool: &'a FramePool, notes: &[Note], handle: u32) -> Leaving<'a> {
    Leaving { frame: pool.frame(handle), left: notes[handle as usize].left }
}

/// A direction.
pub struct Direction<W> {
    link: Link,
    queue: AnyParams,
    pool: FramePool,
    classifier: Classifier,
    classes: [u8; 64],
    overhead: u32,
    /// By frame buffer.
    notes: Vec<Note>,
    train: Train,
    groups: [Group; Protocol::ALL.len()],
    rate_bps: Option<u64>,
    watch: W,
    commands: Commands,
    lateness: Lateness,
    waits: Waits,
    begun: Time,
    lost_before: u64,
    lost_behind: u64,
    stopping: bool,
}

impl<W: Watch> Direction<W> {
    /// A direction whose time begins at `now`.
    ///
    /// # Errors
    /// The discipline refuses its parameters, or there is no memory for its queue.
    pub fn new(config: DirectionConfig, commands: Commands, watch: W, now: Time) -> Result<Self, ParamError> {
        let frames = config.link.frames;
        let discipline = AnyDiscipline::new(config.queue.clone(), &mut Heap)?;
        Ok(Self {
            queue: config.queue,
            pool: FramePool::new(frames, config.frame_bytes),
            classifier: Classifier::new(config.link_type, config.flow_key, config.link.flow_key),
            classes: config.classes,
            overhead: config.overhead,
            notes: vec![NOTHING; frames as usize],
            train: Train::default(),
            groups: [Group::default(); Protocol::ALL.len()],
            rate_bps: config.link.pace.mean_bps(),
            watch,
            commands,
            lateness: Lateness::default(),
            waits: Waits::new(),
            begun: now,
            lost_before: 0,
            lost_behind: 0,
            stopping: false,
            link: Link::new(discipline, config.link, now),
        })
    }

    /// Runs until it is stopped, or its ports end. Packets left in the link then are dropped and counted. Returns how it
    /// was at the end.
    ///
    /// # Errors
    /// A port failed.
    pub fn run(mut self, ports: &mut impl Ports) -> io::Result<Report> {
        let ended = loop {
            match self.turn(ports) {
                Ok(()) if self.stopping => break Ok(()),
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.link.shut_down(ports.now());
        let settled = self.settle(ports, ended.is_ok()).and(self.send_train(ports));
        let flushed = settled.and_then(|()| ports.flush());
        self.lateness.look(|| ports.now());
        match flushed {
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
            _ => ended.map(|()| self.report(ports)),
        }
    }

    fn turn(&mut self, ports: &mut impl Ports) -> io::Result<()> {
        let read = self.read(ports)?;
        // Frames that are not read yet came before now: what they find in the link must not have left it already. The clock is
        // not read for a link in which nothing is.
        if read < BATCH && self.link.next_event().is_some() {
            self.link.advance(ports.now());
            self.settle(ports, true)?;
        }
        self.send_train(ports)?;
        ports.flush()?;
        self.lateness.look(|| ports.now());
        self.answer(ports);
        if read >= BATCH || self.stopping { Ok(()) } else { self.wait(ports) }
    }

    /// Sleeps until something happens. Departures that follow each other too fast to sleep in between are waited for together,
    /// where the ports have patience.
    fn wait(&self, ports: &mut impl Ports) -> io::Result<()> {
        let next = self.link.next_event();
        let patience = ports.patience();
        if let Some(next) = next
            && patience > Time::ZERO
            && self.link.backlog().packets > 0
            && next <= ports.now().after(SHORTEST_SLEEP)
        {
            return ports.doze(next.after(patience));
        }
        ports.wait(next)
    }

    /// Reads the frames at hand, at most a batch; packets that fall due meanwhile are handed on.
    fn read(&mut self, ports: &mut impl Ports) -> io::Result<usize> {
        let mut read = 0;
        while read < BATCH || (ports.has_more() && read < LONGEST_BATCH) {
            // Packets that arrive together may leave together; none waits for a later one, nor for a buffer.
            if !ports.has_more() || self.pool.free() == 0 {
                self.send_train(ports)?;
            }
            let Some(buffer) = self.pool.next_buffer() else { return self.overrun(ports).map(|()| read) };
            let room = buffer.len();
            let Some(received) = ports.receive(buffer)? else { return Ok(read) };
            let len = self.wire_len(received.len);
            let handle = if received.len > room { None } else { self.pool.take(received.len) };
            // Earlier departures are reported first.
            self.link.advance(received.at);
            let settled = self.settle(ports, true);
            // It was read: it is counted, whatever the ports still take.
            match handle {
                Some(handle) => self.offer(handle, received.at, ports.unsummed()),
                None => {
                    self.link.refuse(len, HostCause::TooLong);
                    self.watch.refused(received.at, HostCause::TooLong, len, &[]);
                }
            }
            settled?;
            // What leaves at once does so now, and not when the next frame comes.
            self.link.advance(received.at);
            self.settle(ports, true)?;
            read += 1;
        }
        Ok(read)
    }

    /// No buffer is free: a frame is read and dropped, so that the port's own queue does not hide ours.
    fn overrun(&mut self, ports: &mut impl Ports) -> io::Result<()> {
        let mut nowhere = [0; 2048];
        for _ in 0..BATCH {
            let Some(received) = ports.receive(&mut nowhere)? else { return Ok(()) };
            let len = self.wire_len(received.len);
            self.link.refuse(len, HostCause::NoBuffer);
            let read = &nowhere[..received.len.min(nowhere.len())];
            self.watch.refused(received.at, HostCause::NoBuffer, len, read);
        }
        Ok(())
    }

    fn wire_len(&self, frame_len: usize) -> u32 {
        (frame_len as u32).saturating_add(self.overhead).min(fairdrop::MAX_LEN)
    }

    /// The frame in buffer `handle` is offered to the link.
    fn offer(&mut self, handle: u32, at: Time, left: Option<Unsummed>) {
        let frame = self.pool.frame(handle);
        let len = frame.len();
        let Classified { flow, ip, dscp, ecn, protocol } = self.classifier.classify(frame, at.ns());
        let class = self.classes[usize::from(dscp & 63)];
        let meta = Meta { class, ecn, ..Meta::of_flow(flow, self.wire_len(len)) };
        self.watch.arrived(at, &meta, frame);
        let ip = ip.and_then(|ip| u16::try_from(ip).ok()).unwrap_or(NO_IP);
        self.notes[handle as usize] = Note { ip, protocol, left };
        self.groups[protocol as usize].arrived.add(meta.len);
        offer_to(&mut self.link, at, meta, handle, &self.classifier);
    }

    /// Hands on due packets and frees the buffers of those gone. Once the ports take nothing more, the rest is dropped.
    #[inline]
    fn settle(&mut self, ports: &mut impl Ports, open: bool) -> io::Result<()> {
        if self.link.outcomes().is_empty() { Ok(()) } else { self.settle_outcomes(ports, open) }
    }

    fn settle_outcomes(&mut self, ports: &mut impl Ports, mut open: bool) -> io::Result<()> {
        let (mut ended, mut at) = (Ok(()), 0);
        while let Some(&outcome) = self.link.outcomes().get(at) {
            at += 1;
            let taken = match outcome.fate {
                Fate::Delivered { taken, .. } => taken,
                Fate::Dropped(_) => {
                    self.conclude(&outcome);
                    continue;
                }
                Fate::Duplicated => {
                    if let Err(error) = self.hand_on_copy(&outcome, ports, open) {
                        (open, ended) = (false, Err(error));
                    }
                    continue;
                }
            };
            self.waits.record(taken, taken.since(outcome.arrived));
            self.mark(&outcome);
            // Behind the last of what is due, while nothing more is at hand, there is nothing that it could leave together with.
            let alone = at == self.link.outcomes().len() && self.train.is_empty() && !ports.has_more();
            let handed_on = if alone {
                self.hand_on_alone(&outcome, ports, open)
            } else {
                self.hand_on(&outcome, ports, open)
            };
            if let Err(error) = handed_on {
                (open, ended) = (false, Err(error));
            }
        }
        self.link.outcomes().clear();
        ended
    }

    fn mark(&mut self, outcome: &Outcome) {
        if outcome.meta.ecn != Ecn::Ce {
            return;
        }
        let ip = self.notes[outcome.handle as usize].ip;
        if ip != NO_IP && frame::mark(self.pool.frame_mut(outcome.handle), usize::from(ip)) {
            self.link.marked(outcome.meta.len);
        }
    }

    /// Hands on the first of two copies; the buffer is kept for the other.
    #[cold]
    fn hand_on_copy(&mut self, outcome: &Outcome, ports: &mut impl Ports, open: bool) -> io::Result<()> {
        self.mark(outcome);
        let sent = self.send_train(ports);
        let taken = if open && sent.is_ok() { self.deliver_alone(outcome.handle, ports) } else { Ok(false) };
        if !matches!(taken, Ok(true)) {
            self.link.undeliver(outcome.meta.len);
        }
        sent.and(taken.map(drop))
    }

    /// Hands on a packet, by itself or with others that are due now.
    #[inline]
    fn hand_on(&mut self, outcome: &Outcome, ports: &mut impl Ports, open: bool) -> io::Result<()> {
        let Note { ip, left, .. } = self.notes[outcome.handle as usize];
        let joined = left.filter(|_| ip != NO_IP && ports.joins());
        let together = ports.together().min(Train::MOST);
        if !open || (joined.is_none() && together == 1) {
            let sent = self.send_train(ports);
            let alone = self.hand_on_alone(outcome, ports, open && sent.is_ok());
            return sent.and(alone);
        }
        let joined = joined.map(|left| (usize::from(ip), left));
        if self.train.take(&self.pool, outcome, joined, together) {
            return if self.train.is_full(together) { self.send_apart(ports) } else { Ok(()) };
        }
        let begun = !self.train.is_empty();
        let sent = self.send_train(ports);
        if begun && sent.is_ok() && self.train.take(&self.pool, outcome, joined, together) {
            return Ok(());
        }
        let alone = self.hand_on_alone(outcome, ports, sent.is_ok());
        sent.and(alone)
    }

    #[inline]
    fn hand_on_alone(&mut self, outcome: &Outcome, ports: &mut impl Ports, open: bool) -> io::Result<()> {
        let taken = if open { self.deliver_alone(outcome.handle, ports) } else { Ok(false) };
        self.lateness.handed_on(outcome.at, || ports.now());
        self.handed_on(outcome, matches!(taken, Ok(true)));
        taken.map(drop)
    }

    #[inline]
    fn deliver_alone(&self, handle: u32, ports: &mut impl Ports) -> io::Result<bool> {
        ports.deliver_one(leaving(&self.pool, &self.notes, handle))
    }

    /// Hands on the packets kept to leave together.
    #[inline]
    fn send_train(&mut self, ports: &mut impl Ports) -> io::Result<()> {
        if self.train.is_empty() {
            Ok(())
        } else if self.train.is_joined() {
            self.send_joined(ports)
        } else {
            self.send_apart(ports)
        }
    }

    /// As frames of their own.
    fn send_apart(&mut self, ports: &mut impl Ports) -> io::Result<()> {
        let outcomes = self.train.unload();
        let (mut rest, mut ended) = (&outcomes[..], Ok(()));
        while !rest.is_empty() {
            let frames = rest.iter().map(|outcome| leaving(&self.pool, &self.notes, outcome.handle));
            let (taken, tried) = match ports.deliver_all(frames) {
                Ok(taken) => (taken, taken.max(1)),
                Err(error) => {
                    ended = Err(error);
                    (0, rest.len())
                }
            };
            let (tried, others) = rest.split_at(tried);
            for (place, outcome) in tried.iter().enumerate() {
                self.lateness.handed_on(outcome.at, || ports.now());
                self.handed_on(outcome, place < taken);
            }
            rest = others;
        }
        self.train.reuse(outcomes);
        ended
    }

    /// As one frame.
    fn send_joined(&mut self, ports: &mut impl Ports) -> io::Result<()> {
        let mut sent = self.train.hand_on(&self.pool, ports);
        let outcomes = self.train.unload();
        // One frame that a port refuses is not one drop for many.
        let alone = matches!(sent, Ok(false)) && outcomes.len() > 1;
        for &outcome in &outcomes {
            if alone {
                sent = self.deliver_alone(outcome.handle, ports);
            }
            self.lateness.handed_on(outcome.at, || ports.now());
            self.handed_on(&outcome, matches!(sent, Ok(true)));
        }
        self.train.reuse(outcomes);
        sent.map(drop)
    }

    /// The port took a packet, or not.
    #[inline]
    fn handed_on(&mut self, outcome: &Outcome, taken: bool) {
        if taken {
            return self.conclude(outcome);
        }
        self.link.undeliver(outcome.meta.len);
        self.conclude(&Outcome { fate: Fate::Dropped(Cause::Host(HostCause::Output)), ..*outcome });
    }

    /// A packet is gone.
    #[inline]
    fn conclude(&mut self, outcome: &Outcome) {
        let group = &mut self.groups[self.notes[outcome.handle as usize].protocol as usize];
        match outcome.fate {
            Fate::Delivered { .. } | Fate::Duplicated => group.delivered.add(outcome.meta.len),
            Fate::Dropped(_) => group.dropped.add(outcome.meta.len),
        }
        self.watch.gone(outcome, self.pool.frame(outcome.handle));
        self.pool.release(outcome.handle);
    }

    fn answer(&mut self, ports: &mut impl Ports) {
        while let Ok(command) = self.commands.receiver.try_recv() {
            match command {
                // Nobody waits for the answer any more: nothing to do.
                Command::Report(reply) => drop(reply.try_send(self.report(ports))),
                Command::Change(change, reply) => {
                    let changed = self.change(change, ports.now());
                    drop(reply.try_send(changed));
                }
            }
        }
    }

    fn change(&mut self, change: Change, now: Time) -> Result<(), String> {
        match change {
            Change::Pace(pace) => {
                self.rate_bps = pace.mean_bps();
                self.link.set_pace(pace, now);
            }
            Change::Channel(channel) => self.link.set_channel(channel),
            Change::Queue(params) => {
                let discipline = AnyDiscipline::new(params.clone(), &mut Heap);
                self.link.set_queue(discipline.map_err(|error| error.to_string())?, params.limit(), now);
                self.queue = params;
            }
            Change::Buffers(frames) => {
                self.pool.grow(frames);
                self.notes.resize(self.pool.frames() as usize, NOTHING);
            }
            Change::Stop => self.stopping = true,
        }
        Ok(())
    }

    fn report(&mut self, ports: &mut impl Ports) -> Report {
        self.lost_before += ports.lost_before();
        self.lost_behind += ports.lost_behind();
        let now = ports.now();
        let wait_last_second = self.waits.last_second(now);
        let mut report = Report::of(
            &self.link,
            Aside {
                uptime: now.since(self.begun),
                discipline: self.queue.name(),
                limit: self.queue.limit(),
                rate_bps: self.rate_bps,
                groups: self.groups(),
                lost_before: self.lost_before,
                lost_behind: self.lost_behind,
                wait_last_second,
                waits: &self.waits,
                lateness: &self.lateness,
                buffers: (self.pool.frames(), self.pool.free()),
            },
        );
        self.watch.fill(&mut report);
        report
    }

    fn groups(&self) -> BTreeMap<&'static str, Group> {
        let mut groups = self.groups;
        self.link.for_each_queued(|meta, handle| {
            groups[self.notes[handle as usize].protocol as usize].queued.add(meta.len);
        });
        let named = Protocol::ALL.into_iter().map(|protocol| (protocol.name(), groups[protocol as usize]));
        named.filter(|(_, group)| group.arrived.packets > 0).collect()
    }
}

/// Of no type of watch, so that every discipline is compiled into this crate once.
fn offer_to(link: &mut Link, at: Time, meta: Meta, handle: u32, classifier: &Classifier) {
    link.arrive(at, meta, handle, || classifier.hosts());
}
