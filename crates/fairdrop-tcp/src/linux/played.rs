//! A sender replayed beside the kernel's: it gets the kernel's ACKs at the same times, and the segments that both send after
//! each are compared. Where they differ it is synchronised, so that each ACK is an independent test.

use super::config::LinuxConfig;
use super::outstanding::Outstanding;
use super::state::{Linux, State, Timer};
use super::{Event, Sender};
use crate::config::Config;
use crate::congestion::BbrInfo;
use crate::messages::{Ack, Send};
use crate::receiver::Blocks;
use crate::sender::TcpSender;
use fairdrop::Time;
use std::fmt::Write as _;

mod paced;

/// Content of `TCP_INFO` between two ACKs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Info {
    cwnd: u32,
    ssthresh: u32,
    state: u32,
    sacked: u32,
    lost: u32,
    again: u32,
    reordering: u32,
    srtt_us: u32,
    rto_us: u32,
    bbr: Option<BbrInfo>,
}

/// An event, a segment sent, or a state.
#[derive(Clone, Debug)]
enum Line {
    Syn(Time),
    SynAck(Time),
    Sent(Time, u32),
    Ack(Time, u32, Time, Option<Blocks>),
    Info(Info),
}

impl Line {
    /// A line of a recording.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let kind = words.next()?;
        if kind == "info" {
            let mut value = || words.next()?.parse().ok();
            let info = Info {
                cwnd: value()?,
                ssthresh: value()?,
                state: value()?,
                sacked: value()?,
                lost: value()?,
                again: value()?,
                reordering: value()?,
                srtt_us: value()?,
                rto_us: value()?,
                bbr: None,
            };
            let rest: Vec<_> = words.collect();
            let bbr = if rest.is_empty() { None } else { Some(of_bbr(&rest)?) };
            return Some(Self::Info(Info { bbr, ..info }));
        }
        let at = Time::from_ns(words.next()?.parse().ok()?);
        Some(match kind {
            "syn" => Self::Syn(at),
            "syn-ack" => Self::SynAck(at),
            "sent" => Self::Sent(at, words.next()?.parse().ok()?),
            "ack" => {
                let next = words.next()?.parse().ok()?;
                let echoed = Time::from_ms(words.next()?.parse().ok()?);
                let mut blocks = Blocks::default();
                for block in words {
                    let (first, last) = block.split_once('-')?;
                    let range = (first.parse().ok()?, last.parse::<u32>().ok()? + 1);
                    blocks.insert(blocks.len(), range, Blocks::MOST);
                }
                Self::Ack(at, next, echoed, (!blocks.is_empty()).then_some(blocks))
            }
            _ => return None,
        })
    }
}

/// BBR's state in a recording.
fn of_bbr(words: &[&str]) -> Option<BbrInfo> {
    let &[pacing_rate, bw, min_rtt_us, pacing_gain, cwnd_gain] = words else { return None };
    Some(BbrInfo {
        pacing_rate: pacing_rate.parse().ok()?,
        bw: bw.parse().ok()?,
        min_rtt: Time::from_ns(1000 * min_rtt_us.parse::<u64>().ok()?),
        pacing_gain: pacing_gain.parse().ok()?,
        cwnd_gain: cwnd_gain.parse().ok()?,
        phase: None,
    })
}

impl Line {
    fn at(&self) -> Option<Time> {
        match *self {
            Self::Syn(at) | Self::SynAck(at) | Self::Sent(at, _) | Self::Ack(at, ..) => Some(at),
            Self::Info(_) => None,
        }
    }

    fn no_earlier_than(mut self, now: Time) -> Self {
        match &mut self {
            Self::Syn(at) | Self::SynAck(at) | Self::Sent(at, _) | Self::Ack(at, ..) => *at = now.max(*at),
            Self::Info(_) => {}
        }
        self
    }
}

/// An ACK, or the answer to the SYN, and the kernel's actions before the next.
struct Step {
    at: Time,
    /// When the next ACK comes.
    end: Time,
    ack: Option<(u32, Time, Option<Blocks>)>,
    sent: Vec<(Time, u32)>,
    info: Option<Info>,
}

/// Time of the SYN, and all later events.
fn steps(recording: &str) -> Result<(Time, Vec<Step>), String> {
    let (mut syn, mut steps) = (None, Vec::<Step>::new());
    let lines = recording.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    let mut now = Time::ZERO;
    for (at, text) in lines {
        let wrong = || format!("line {}: not a line of a recording in its place: {text}", at + 1);
        // The order in which they were captured counts.
        let line = Line::parse(text).ok_or_else(wrong)?.no_earlier_than(now);
        now = line.at().unwrap_or(now);
        if matches!(line, Line::Ack(at, _, echoed, _) if echoed > at) {
            return Err(format!("line {}: echoes what was sent later: {text}", at + 1));
        }
        let new = |at, ack| Step { at, end: Time::NEVER, ack, sent: Vec::new(), info: None };
        match line {
            Line::Syn(at) => syn = Some(at),
            Line::SynAck(at) if steps.is_empty() => steps.push(new(at, None)),
            Line::Ack(at, next, echoed, blocks) => {
                let last = steps.last_mut().ok_or_else(wrong)?;
                last.end = at;
                steps.push(new(at, Some((next, echoed, blocks))));
            }
            Line::Sent(at, segment) => steps.last_mut().ok_or_else(wrong)?.sent.push((at, segment)),
            Line::Info(info) => steps.last_mut().ok_or_else(wrong)?.info = Some(info),
            Line::SynAck(_) => return Err(wrong()),
        }
    }
    // What follows the last ACK may be cut off.
    steps.pop();
    Ok((syn.ok_or("there is no SYN")?, steps))
}

/// Largest time by which a kernel timer may run out early: it counts whole ticks, from the current one.
const GRANULARITY: Time = Time::from_ms(4);

/// Largest distance of segments sent for one event.
const BURST: Time = Time::from_ns(500_000);

/// Columns of the result.
const HEAD: &str = "time_us,acked,sacked_blocks,kernel_sent,model_sent,timer,known,kernel_cwnd,model_cwnd,kernel_ssthresh,\
model_ssthresh,kernel_state,model_state,kernel_lost,model_lost,kernel_again,model_again,in_flight,reordering,srtt_us,rto_us,model_srtt_us,model_rto_us";

/// Plays `recording` against a sender with `config`. Returns, as CSV, a line for each ACK: the segments that the kernel and
/// the sender sent after it, and the state of each.
///
/// A recording has lines `syn TIME`, `syn-ack TIME`, `sent TIME SEGMENT`, `ack TIME NEXT STAMP [FIRST-LAST ...]`, and after an ACK
/// perhaps `info CWND SSTHRESH STATE SACKED LOST RETRANS REORDERING SRTT RTO`, with BBR followed by `PACING_RATE BW MIN_RTT PACING_GAIN
/// CWND_GAIN`. Times are in ns, those of `info` in us, stamps in ms, rates in segments per second, gains in 256ths.
///
/// # Errors
///
/// The problem of the recording or the settings.
pub fn beside_kernel(config: &Config<LinuxConfig>, recording: &str) -> Result<String, String> {
    let (syn, steps) = steps(recording)?;
    let control = config.congestion.control();
    control.copied().ok_or_else(|| format!("{}: only reno, cubic and bbr are played", config.name))?;
    let is_paced = control.bbr().is_some();
    let begin = |later| {
        let sender = Sender::new(config, 0.0, config.congestion.control());
        let mut played = Played { sender, config, table: HEAD.to_owned(), later };
        played.sender.start(syn, config, &mut Vec::new());
        played
    };
    if is_paced {
        let later = begin(Time::ZERO).play_paced(&steps);
        let mut played = begin(later);
        played.play_paced(&steps);
        return Ok(played.table);
    }
    let mut played = begin(Time::ZERO);
    played.table.push('\n');
    for step in &steps {
        played.play(step);
    }
    Ok(played.table)
}

/// A sender beside the kernel's.
struct Played<'c> {
    sender: Sender,
    config: &'c Config<LinuxConfig>,
    table: String,
    /// The kernel's delay in processing a captured ACK.
    later: Time,
}

/// Outcome of the sender's timer between two ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fired {
    /// It did not run out, or caused no segment.
    No,
    /// Both sent the same for it.
    Both,
    /// The kernel's ran out later than the sender's.
    Early,
    /// The kernel's ran out first.
    Late,
}

impl Played<'_> {
    fn linux(&self) -> &Linux {
        &self.sender.0.linux
    }

    fn copy(&self) -> Sender {
        paced::copy_of(&self.sender)
    }

    fn on(&mut self, now: Time, each: impl FnOnce(&mut Linux, &mut Event<'_>)) {
        self.sender.on(now, self.config, &mut Vec::new(), each);
    }

    fn play(&mut self, step: &Step) {
        let before = self.linux().clone();
        let una = self.sender.0.tcp.una;
        let mut out = Vec::new();
        match &step.ack {
            None => self.sender.on_syn_ack(step.at, None, self.config, &mut out),
            Some((next, echoed, blocks)) => {
                let ack = Ack {
                    next: *next,
                    echo: false,
                    blocks: blocks.as_ref(),
                    stamp: Some(*echoed),
                    marks: None,
                };
                self.sender.on_ack(step.at, ack, self.config, &mut out);
            }
        }
        let fired = self.fire_timers(step, &mut out);
        let own: Vec<_> = out.iter().filter_map(|send| send.segment()).collect();
        self.note(step, una, &own, fired);
        self.table.push('\n');
        self.correct(step, &own, &before);
    }

    /// Lets the timer run out as long as the kernel sends the same segments.
    fn fire_timers(&mut self, step: &Step, out: &mut Vec<Send>) -> Fired {
        let mut fired = Fired::No;
        for _ in 0..100 {
            let rest = rest_of(&step.sent, out);
            let deadline = self.sender.0.tcp.deadline;
            let is_due = deadline < step.end;
            if !is_due && rest.is_none() {
                return fired;
            }
            // The kernel may have sent this earlier, on its timer.
            let at = if is_due { deadline } else { rest.unwrap_or(deadline) };
            if deadline == Time::NEVER || deadline > at.after(GRANULARITY) {
                return fired;
            }
            let (before, sent) = (self.copy(), out.len());
            self.sender.on_timeout(at, self.config, out);
            if out.len() == sent && is_due {
                continue;
            }
            if out.len() > sent && is_like(&step.sent, out) {
                fired = if is_due { Fired::Both } else { Fired::Late };
                continue;
            }
            self.sender = before;
            out.truncate(sent);
            if is_due {
                // The kernel's will run out later.
                self.sender.0.tcp.deadline = step.end;
                fired = Fired::Early;
            }
            return fired;
        }
        fired
    }

    fn note(&mut self, step: &Step, una: u32, own: &[u32], fired: Fired) {
        let kernels: Vec<_> = step.sent.iter().map(|&(_, segment)| segment).collect();
        let Window { cwnd, ssthresh } = self.window();
        let linux = self.linux();
        let blocks = step.ack.as_ref().and_then(|(_, _, blocks)| blocks.as_ref()).map_or(0, Blocks::len);
        let infinite = self.config.max_window as u32;
        let info = step.info.unwrap_or(Info {
            cwnd,
            ssthresh,
            state: linux.state as u32,
            sacked: 0,
            lost: linux.outstanding.lost(),
            again: linux.outstanding.again(),
            reordering: linux.reordering,
            srtt_us: 0,
            rto_us: 0,
            bbr: None,
        });
        let _ = write!(
            self.table,
            "{},{},{blocks},{},{},{},{},{},{cwnd},{},{ssthresh},{},{},{},{},{},{},{},{},{},{},{},{}",
            step.at.ns() / 1000,
            self.sender.0.tcp.una - una,
            ranges(&kernels),
            ranges(own),
            match fired {
                Fired::No => "",
                Fired::Both => "both",
                Fired::Early => "early",
                Fired::Late => "late",
            },
            u8::from(step.info.is_some()),
            info.cwnd,
            info.ssthresh.min(infinite),
            info.state,
            linux.state as u32,
            info.lost,
            linux.outstanding.lost(),
            info.again,
            linux.outstanding.again(),
            linux.outstanding.in_flight(),
            info.reordering,
            info.srtt_us,
            info.rto_us,
            linux.round_trip.smoothed().map_or(0, |srtt| srtt.ns() / 1000),
            linux.round_trip.timeout(self.config).ns() / 1000,
        );
    }

    fn window(&self) -> Window {
        Window {
            cwnd: self.sender.0.tcp.window.cwnd as u32,
            ssthresh: self.sender.0.tcp.window.ssthresh as u32,
        }
    }

    /// Synchronises the sender: its segments, their times and its windows become the kernel's.
    fn correct(&mut self, step: &Step, own: &[u32], before: &Linux) {
        let mut extra = own.to_vec();
        let mut missing = Vec::new();
        for &(at, segment) in &step.sent {
            match extra.iter().position(|&other| other == segment) {
                Some(found) => drop(extra.remove(found)),
                None => missing.push((at, segment)),
            }
        }
        self.on(step.at, |linux, event| {
            for &segment in extra.iter().rev() {
                linux.take_back(event, segment, &before.outstanding);
            }
        });
        for &(at, segment) in &missing {
            self.on(at, |linux, event| linux.send_as_recorded(event, segment));
        }
        self.on(step.at, |linux, event| {
            // What is sent for one event has one time in the kernel.
            let mut stamp = Time::ZERO;
            for &(at, segment) in &step.sent {
                if at.since(stamp) > BURST {
                    stamp = at;
                }
                linux.outstanding.restamp(segment, stamp);
            }
            if let Some(info) = step.info {
                linux.follow(event, info, before.usage.arrived);
            }
            if event.tcp.deadline == Time::NEVER && !linux.outstanding.is_empty() {
                linux.timer = Timer::Retransmission;
                linux.rearm(event);
            }
        });
    }
}

struct Window {
    cwnd: u32,
    ssthresh: u32,
}

/// When the kernel sent what the sender has not, if it has.
fn rest_of(kernels: &[(Time, u32)], own: &[Send]) -> Option<Time> {
    let mut own: Vec<_> = own.iter().filter_map(|send| send.segment()).collect();
    kernels.iter().find_map(|&(at, segment)| match own.iter().position(|&other| other == segment) {
        Some(found) => {
            own.remove(found);
            None
        }
        None => Some(at),
    })
}

/// Whether the kernel has sent all that the sender has.
fn is_like(kernels: &[(Time, u32)], own: &[Send]) -> bool {
    let mut kernels: Vec<_> = kernels.iter().map(|&(_, segment)| segment).collect();
    own.iter().filter_map(|send| send.segment()).all(|segment| {
        kernels.iter().position(|&other| other == segment).map(|found| kernels.remove(found)).is_some()
    })
}

/// `4-6 9`
fn ranges(segments: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = segments;
    while let Some(&first) = rest.first() {
        let run = rest.iter().enumerate().take_while(|&(at, &segment)| segment == first + at as u32).count();
        let space = if text.is_empty() { "" } else { " " };
        let _ = if run == 1 {
            write!(text, "{space}{first}")
        } else {
            write!(text, "{space}{first}-{}", first + run as u32 - 1)
        };
        rest = &rest[run..];
    }
    text
}

impl Linux {
    /// A segment that the sender sent, and the kernel did not.
    fn take_back(&mut self, event: &mut Event<'_>, segment: u32, before: &Outstanding) {
        if segment >= before.end() {
            self.outstanding.take_back_new();
            (event.tcp.high, event.tcp.next) = (event.tcp.high - 1, event.tcp.high - 1);
        } else if self.outstanding.is_missing(segment) {
            self.outstanding.take_back_again(segment, before);
            self.undo.take_back();
        }
        if self.is_reducing() {
            self.prr.sent = self.prr.sent.saturating_sub(1);
        }
    }

    /// A segment that the kernel sent, and the sender did not.
    fn send_as_recorded(&mut self, event: &mut Event<'_>, segment: u32) {
        while segment >= event.tcp.high {
            self.send_one(event);
            if self.is_reducing() {
                self.prr.sent += 1;
            }
            if segment + 1 == event.tcp.high {
                return;
            }
        }
        if self.outstanding.is_missing(segment) {
            if !self.outstanding.waits(segment) {
                self.outstanding.lose(segment);
            }
            self.send_again(event, segment);
            if self.is_reducing() {
                self.prr.sent += 1;
            }
        }
    }

    /// Copies the kernel's windows and state.
    fn follow(&mut self, event: &mut Event<'_>, info: Info, arrived_before: u32) {
        let state = [State::Open, State::Disorder, State::Reducing, State::Recovery, State::Loss]
            [info.state.min(4) as usize];
        if state != self.state {
            match state {
                State::Recovery if self.state < State::Recovery => self.enter_recovery(event, false),
                State::Reducing if self.state < State::Reducing => self.begin_reduction(event),
                State::Loss => self.recover = event.tcp.high,
                State::Open | State::Disorder => self.undo.forget(),
                _ => {}
            }
            self.set_state(event, state);
        }
        if info.lost == 0 && self.outstanding.lost() > 0 {
            self.outstanding.forget_losses();
        }
        self.reordering = info.reordering;
        let most = event.config.max_window;
        let (cwnd, ssthresh) = (f64::from(info.cwnd).min(most), f64::from(info.ssthresh).min(most));
        let own = event.tcp.window;
        let is_growth = !self.is_reducing() && ssthresh == own.ssthresh && !own.in_slow_start();
        if is_growth && cwnd > own.cwnd {
            self.usage.arrived = 0;
        } else if is_growth && cwnd < own.cwnd {
            // It grows with the next segment that arrives, then.
            self.usage.arrived = arrived_before + 1;
        }
        (event.tcp.window.cwnd, event.tcp.window.ssthresh) = (cwnd, ssthresh);
    }
}
