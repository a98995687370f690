//! A paced sender compared with the kernel's. It sends at the kernel's times, each segment alone (the recordings have no
//! segmentation offload); the comparison covers the choice of the segment, the kernel's delay relative to the sender's own
//! pacing, and the control's model of the path.

use super::{Fired, GRANULARITY, Played, Step};
use crate::congestion::BbrInfo;
use crate::connection::Connection;
use crate::linux::pacing::Pacer;
use crate::linux::state::{Linux, Timer};
use crate::linux::{Parts, Sender};
use crate::messages::Ack;
use crate::sender::TcpSender;
use fairdrop::Time;
use std::fmt::Write as _;

/// Columns beside those of all senders.
const MORE: &str = ",late_us,kernel_rate,model_rate,kernel_bw,model_bw,kernel_min_rtt_us,model_min_rtt_us,kernel_pacing_gain,\
model_pacing_gain,kernel_cwnd_gain,model_cwnd_gain\n";

/// A segment due by less than this before the next ACK may leave after it.
const LATE: Time = Time::from_ns(500_000);

/// The gain of the first phase of probing, in 256ths, and how many phases there are.
const PROBING: u32 = 320;
const PHASES: usize = 8;

/// Seeds tried for the first phase; there are seven phases.
const SEEDS: u64 = 1000;

/// Actions of a sender until the next ACK.
struct Answer {
    sent: Vec<u32>,
    /// Delay of the kernel's sending of each common segment relative to the sender's pacing, us.
    late_us: Vec<i64>,
    fired: Fired,
}

impl Played<'_> {
    /// Replays all. Returns the excess of the kernel's least round trip: the kernel timestamps an ACK when it processes it.
    pub(super) fn play_paced(&mut self, steps: &[Step]) -> Time {
        self.table.push_str(MORE);
        self.pacer().most = Some(0);
        let mut longer = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            let una = self.sender.0.tcp.una;
            self.receive_as_the_kernel(step, &steps[at..]);
            let answer = self.answer(step);
            self.note(step, una, &answer.sent, answer.fired);
            self.note_control(step, &answer);
            self.follow(step);
            let kernels = step.info.and_then(|info| info.bbr);
            longer.extend(kernels.map(|kernels| kernels.min_rtt.since(self.control().min_rtt)));
        }
        longer.sort_unstable();
        longer.get(longer.len() / 2).copied().unwrap_or(Time::ZERO)
    }

    fn pacer(&mut self) -> &mut Pacer {
        let paced = &mut self.sender.0.linux.paced;
        &mut paced.as_mut().expect("a control that gets rates").pacer
    }

    fn control(&self) -> BbrInfo {
        self.sender.0.tcp.control.bbr().expect("looked at before")
    }

    /// After an event: the deadline is that of loss recovery, and the replay controls pacing.
    fn calm(&mut self) {
        let pacer = self.pacer();
        pacer.release();
        if let Some(timer) = pacer.held_timer.take() {
            self.sender.0.tcp.deadline = timer;
        }
    }

    /// Takes an ACK. Where probing begins, the phase to begin with is the one that the kernel has drawn.
    fn receive_as_the_kernel(&mut self, step: &Step, rest: &[Step]) {
        let was_probing = self.control().phase.is_some();
        let before = self.copy();
        self.receive(step);
        let Some(drawn) = (!was_probing && self.control().phase.is_some()).then(|| phase(rest)).flatten()
        else {
            return;
        };
        for seed in 0..SEEDS {
            if self.control().phase == Some(drawn) {
                return;
            }
            self.sender = copy_of(&before);
            self.sender.0.tcp.control.seed(seed);
            self.receive(step);
        }
    }

    fn receive(&mut self, step: &Step) {
        let mut out = Vec::new();
        let at = step.at.after(self.later);
        match &step.ack {
            None => {
                // Nothing was written before the connection opened.
                let supply = std::mem::take(&mut self.sender.0.tcp.supply);
                self.sender.on_syn_ack(at, None, self.config, &mut out);
                self.sender.0.tcp.supply = supply;
            }
            Some((next, echoed, blocks)) => {
                let (stamp, blocks) = (Some(*echoed), blocks.as_ref());
                let ack = Ack { next: *next, echo: false, blocks, stamp, marks: None };
                self.sender.on_ack(at, ack, self.config, &mut out);
            }
        }
        self.calm();
    }

    /// The segment that it would send next at `now` without pacing.
    fn would_send(&self, now: Time) -> Option<u32> {
        let mut other = Self { sender: self.copy(), table: String::new(), ..*self };
        let pacer = other.pacer();
        pacer.put_off(Time::ZERO);
        pacer.most = Some(1);
        let mut out = Vec::new();
        other.sender.on(now, self.config, &mut out, Linux::send_paced);
        out.first().and_then(|send| send.segment())
    }

    fn answer(&mut self, step: &Step) -> Answer {
        let mut answer = Answer { sent: Vec::new(), late_us: Vec::new(), fired: Fired::No };
        // When something may have become possible to send.
        let mut since = step.at;
        for &(at, segment) in &step.sent {
            if self.run_timers(step, at, Some(segment), &mut since, &mut answer) {
                continue;
            }
            let would = self.would_send(at);
            let due = self.pacer().next().max(since);
            if would == Some(segment) {
                answer.late_us.push((at.ns() as i64 - due.ns() as i64) / 1000);
            }
            answer.sent.extend(would.filter(|&own| own == segment || due < at));
            self.send(at, segment, would == Some(segment));
            self.pace_as_the_kernel(step);
            since = at;
        }
        self.run_timers(step, step.end, None, &mut since, &mut answer);
        let due = self.pacer().next().max(since).after(LATE);
        if due < step.end {
            answer.sent.extend(self.would_send(step.end));
        }
        answer
    }

    /// Sends `segment` at the kernel's time; `own`: the segment that it would send itself.
    fn send(&mut self, at: Time, segment: u32, own: bool) {
        let pacer = self.pacer();
        pacer.put_off(pacer.next().min(at));
        pacer.most = Some(1);
        let supply = self.sender.0.tcp.supply;
        if own && segment == self.sender.0.tcp.high {
            self.sender.0.tcp.supply = segment + 1;
        }
        self.on(
            at,
            |linux, event| if own { linux.send_paced(event) } else { linux.send_as_recorded(event, segment) },
        );
        self.sender.0.tcp.supply = supply;
        self.pacer().most = Some(0);
        self.calm();
    }

    /// Almost equal rates would let the two drift apart: the next segment is due at the time given by the kernel's rate.
    fn pace_as_the_kernel(&mut self, step: &Step) {
        let Some(kernels) = step.info.and_then(|info| info.bbr) else { return };
        let (kernels, own) = (kernels.pacing_rate, self.control().pacing_rate);
        if (kernels - own).abs() < 0.005 * own {
            let pacer = self.pacer();
            let next = pacer.next().ns() as f64 + 1e9 / kernels - 1e9 / own;
            pacer.put_off(Time::from_ns(next as u64));
        }
    }

    /// Lets timers run out until `until`, as far as what follows is what the kernel did: it sent `segment` then. Returns
    /// whether a timer has sent that.
    fn run_timers(
        &mut self,
        step: &Step,
        until: Time,
        segment: Option<u32>,
        since: &mut Time,
        answer: &mut Answer,
    ) -> bool {
        for _ in 0..100 {
            let deadline = self.sender.0.tcp.deadline;
            let is_due = deadline < until;
            let may_be_early = segment.is_some() && deadline <= until.after(GRANULARITY);
            if !is_due && (!may_be_early || self.would_send(until) == segment) {
                return false;
            }
            let before = self.copy();
            let at = deadline.min(until);
            let has_sent = self.fire(at).is_some();
            if has_sent && segment.is_some() {
                // What a timer sends, it sends when the kernel's did.
                self.sender = copy_of(&before);
                if self.fire(until) == segment {
                    answer.sent.extend(segment);
                    answer.fired = if is_due { Fired::Both } else { Fired::Late };
                    *since = until;
                    return true;
                }
            } else if !has_sent && self.is_followed(step, until, segment, at) {
                *since = (*since).max(at);
                continue;
            }
            self.sender = before;
            if is_due {
                self.sender.0.tcp.deadline = step.end;
                answer.fired = Fired::Early;
            }
            return false;
        }
        false
    }

    /// The timer runs out. Returns the segment that is sent for it.
    fn fire(&mut self, at: Time) -> Option<u32> {
        self.sender.0.tcp.deadline = at;
        let mut out = Vec::new();
        self.sender.on_timeout(at, self.config, &mut out);
        self.calm();
        out.first().and_then(|send| send.segment())
    }

    /// Whether the kernel did what follows from a timer that ran out at `at` and has sent nothing itself.
    fn is_followed(&mut self, step: &Step, until: Time, segment: Option<u32>, at: Time) -> bool {
        let would = self.would_send(until);
        would == segment || (segment.is_none() && self.pacer().next().max(at).after(LATE) >= step.end)
    }

    fn note_control(&mut self, step: &Step, answer: &Answer) {
        let late: Vec<_> = answer.late_us.iter().map(ToString::to_string).collect();
        let own = self.control();
        let kernels = step.info.and_then(|info| info.bbr);
        let columns = |info: BbrInfo| {
            let BbrInfo { pacing_rate, bw, min_rtt, pacing_gain, cwnd_gain, .. } = info;
            [
                format!("{pacing_rate:.3}"),
                format!("{bw:.3}"),
                (min_rtt.ns() / 1000).to_string(),
                pacing_gain.to_string(),
                cwnd_gain.to_string(),
            ]
        };
        let kernels = kernels.map_or_else(Default::default, columns);
        let _ = write!(self.table, ",{}", late.join(" "));
        for (kernel, own) in kernels.iter().zip(columns(own)) {
            let _ = write!(self.table, ",{kernel},{own}");
        }
        self.table.push('\n');
    }

    /// Synchronises the windows and the state of loss recovery; the control keeps its own model of the path.
    fn follow(&mut self, step: &Step) {
        self.on(step.at, |linux, event| {
            if let Some(info) = step.info {
                linux.follow(event, info, 0);
            }
            if event.tcp.deadline == Time::NEVER && !linux.outstanding.is_empty() {
                linux.timer = Timer::Retransmission;
                linux.rearm(event);
            }
        });
        self.calm();
    }
}

/// The phase with which the kernel begins to probe, by when it first probes for more; `None` if it does not.
fn phase(steps: &[Step]) -> Option<usize> {
    let mut began = steps.first()?.at;
    let mut phases = 0;
    for step in steps {
        let Some(info) = step.info.and_then(|info| info.bbr) else { continue };
        // A phase ends with the first ACK after the least round trip.
        if step.at.since(began) > info.min_rtt {
            (began, phases) = (step.at, phases + 1);
        }
        if info.pacing_gain == PROBING {
            return Some(if phases == 0 { 0 } else { PHASES - phases.min(PHASES - 2) });
        }
    }
    None
}

pub(super) fn copy_of(sender: &Sender) -> Sender {
    let Parts { tcp, linux } = &*sender.0;
    let control = tcp.control.copied().expect("looked at before");
    let tcp = Connection { control, ..*tcp };
    Sender(Box::new(Parts { tcp, linux: linux.clone() }))
}
