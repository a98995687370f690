//! RED and `CHOKe` on bursts in every mode, as slowly and obviously as they can be written: one packet after the other, a list of
//! slots, and for a count-down one number for each gap. One candidate, from anywhere.

use fairdrop::{Action, BurstModes, DropCause, Ecn, Meta, RedParams, Stream, Time, uniform_below};

use crate::compare::unit;

/// A packet that waits: a number that its owner gave it, and what it carries.
pub type Waiting = (u32, Meta);

/// What one arrival did.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    pub action: Action,
    /// The packet that was compared, and how many waited before it.
    pub compared: Option<(u32, usize)>,
    /// The packet that was dropped with it.
    pub matched: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct BurstReference {
    red: RedParams,
    /// `CHOKe`, otherwise RED.
    compares: bool,
    modes: BurstModes,
    /// From the head on; `None` where a packet was dropped in its place.
    pub slots: Vec<Option<Waiting>>,
    pub average: f64,
    pub count: i64,
    idle_since: Option<Time>,
    /// Exponent of the bound, and arrivals left in the gap.
    gap: Option<(i32, u64)>,
    /// Slots as the burst began.
    older: usize,
}

impl BurstReference {
    pub fn new(red: RedParams, compares: bool, modes: BurstModes) -> Self {
        let idle_since = Some(Time::ZERO);
        Self { red, compares, modes, slots: vec![], average: 0.0, count: -1, idle_since, gap: None, older: 0 }
    }

    pub fn packets(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// The next packet, or the beginning of an idle time.
    pub fn dequeue(&mut self, now: Time) -> Option<Waiting> {
        while !self.slots.is_empty() {
            if let Some(packet) = self.slots.remove(0) {
                return Some(packet);
            }
        }
        self.idle_since = self.idle_since.or(Some(now));
        None
    }

    /// A packet arrives, the `first` of its burst or a later one.
    pub fn arrive(
        &mut self,
        packet: Waiting,
        first: bool,
        now: Time,
        random: &mut dyn FnMut(Stream) -> u64,
    ) -> Done {
        if first {
            self.older = self.slots.len();
        }
        if first || !self.modes.average_once {
            self.update_average(now);
        }
        let (mut compared, mut matched) = (None, None);
        let mut cause = None;
        if self.average < self.red.min_th {
            self.count = -1;
        } else {
            if self.compares {
                compared = self.candidate(random);
            }
            if let Some(place) = compared
                && self.slots[place].is_some_and(|(_, meta)| meta.flow == packet.1.flow)
            {
                matched = self.slots[place].map(|(id, _)| id);
                cause = Some(DropCause::MatchArriving);
            } else {
                cause = self.red_decision(packet.1.len, random);
            }
        }
        let shown = compared.map(|place| {
            let before = self.slots[..place].iter().flatten().count();
            (self.slots[place].expect("drawn").0, before)
        });
        if let Some(id) = matched {
            let slot = self.slots.iter_mut().find(|slot| slot.is_some_and(|(other, _)| other == id));
            *slot.expect("it waits") = None;
        }
        Done { action: self.carry_out(packet, cause), compared: shown, matched }
    }

    fn update_average(&mut self, now: Time) {
        let red = &self.red;
        if self.packets() == 0
            && let Some(since) = self.idle_since.take()
        {
            let missed = (now.ns() - since.ns()) / red.mean_packet_time.ns();
            // Squares, since the products round and every number is compared bit by bit.
            let (mut factor, mut power, mut left) = (1.0, 1.0 - red.w_q, missed);
            while left > 0 {
                if left % 2 == 1 {
                    factor *= power;
                }
                power *= power;
                left /= 2;
            }
            self.average *= factor;
            if red.idle_decay_only {
                return;
            }
        }
        self.average = (1.0 - red.w_q) * self.average + red.w_q * self.packets() as f64;
    }

    /// The place of a packet drawn from all, or from those that waited as the burst began.
    fn candidate(&self, random: &mut dyn FnMut(Stream) -> u64) -> Option<usize> {
        let drawn = if self.modes.snapshot { self.older } else { self.slots.len() };
        if self.slots[..drawn].iter().all(Option::is_none) {
            return None;
        }
        loop {
            let place = uniform_below(drawn as u64, || random(Stream::Candidate)) as usize;
            if self.slots[place].is_some() {
                return Some(place);
            }
        }
    }

    fn red_decision(&mut self, len: u32, random: &mut dyn FnMut(Stream) -> u64) -> Option<DropCause> {
        let (red, avg) = (self.red.clone(), self.average);
        if red.ns2_compat && self.packets() <= 1 {
            self.count = -1;
            return None;
        }
        let mut p = red.max_p * (avg - red.min_th) / (red.max_th - red.min_th);
        if avg >= red.max_th {
            if !red.gentle || avg >= 2.0 * red.max_th {
                self.count = if red.ns2_compat && self.count == -1 { -1 } else { 0 };
                return Some(DropCause::RedForced);
            }
            p = red.max_p + (1.0 - red.max_p) * (avg - red.max_th) / red.max_th;
        }
        if red.ns2_compat && self.count == -1 {
            self.count = 1;
            return None;
        }
        self.count += 1;
        if red.byte_mode {
            p *= f64::from(len) / f64::from(red.mean_packet_size);
        }
        let progress = self.count as f64 * p;
        let spaced = if red.independent {
            p
        } else if red.wait && progress < 1.0 {
            0.0
        } else if red.wait && progress < 2.0 {
            p / (2.0 - progress)
        } else if !red.wait && progress < 1.0 {
            p / (1.0 - progress)
        } else {
            1.0
        };
        if self.is_early(spaced.min(1.0), random) {
            self.count = 0;
            return Some(DropCause::RedEarly);
        }
        None
    }

    /// An event of probability `p`, by a number of its own or by a count-down.
    fn is_early(&mut self, p: f64, random: &mut dyn FnMut(Stream) -> u64) -> bool {
        if !self.modes.count_down {
            return unit(random(Stream::EarlyDrop)) < p;
        }
        let is_over = self.gap.is_none_or(|(k, _)| p > 0.5_f64.powi(k));
        if is_over {
            let k = (0..=20).rev().find(|&k| 0.5_f64.powi(k) >= p).expect("at most 1");
            let kept = (-0.5_f64.powi(k)).ln_1p();
            self.gap = Some((k, ((1.0 - unit(random(Stream::CountDown))).ln() / kept).floor() as u64));
        }
        let (k, left) = self.gap.expect("begun");
        if left > 0 {
            self.gap = Some((k, left - 1));
            return false;
        }
        self.gap = None;
        unit(random(Stream::CountDown)) < p / 0.5_f64.powi(k)
    }

    fn carry_out(&mut self, packet: Waiting, cause: Option<DropCause>) -> Action {
        let has_room = self.packets() < self.red.limit as usize;
        let marks =
            self.red.ecn && packet.1.ecn != Ecn::NotCapable && cause != Some(DropCause::MatchArriving);
        match cause {
            Some(cause) if !marks => Action::Drop(cause),
            _ if !has_room => {
                self.count = self.count.min(0);
                Action::Drop(DropCause::Overflow)
            }
            Some(cause) => {
                self.slots.push(Some(packet));
                Action::Mark(cause)
            }
            None => {
                self.slots.push(Some(packet));
                Action::Queue
            }
        }
    }
}
