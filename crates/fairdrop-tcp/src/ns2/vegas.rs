//! `Agent/TCP/Vegas`, made after the Vegas of NetBSD (USC). It differs from the paper: the window grows by 1/cwnd for each ACK
//! of a round trip, the backlog in queues is rounded, a loss reduces it by a quarter, and a timeout begins with two segments.
//! It has no SYN: in eras with a SYN, it begins with one segment, and has its initial window from the second ACK on.

use super::agent::Agent;
use super::state::Vegas;
use crate::connection::DUPLICATE_ACKS;
use crate::messages::Ack;

/// The window after a timeout (`v_slowstart_`), and the least that Vegas itself shrinks to.
const SMALL_WINDOW: f64 = 2.0;

impl Vegas {
    fn time(&self, agent: &Agent<'_>) -> f64 {
        agent.now.since(self.began).ns() as f64 / 1e9
    }

    fn slot(&mut self, segment: u32) -> &mut (f64, u32) {
        let size = self.sent.len();
        &mut self.sent[segment as usize % size]
    }

    /// `VegasTcpAgent::output`.
    fn output(&mut self, agent: &mut Agent<'_>, segment: u32) {
        if segment >= agent.state.tcp.supply {
            return;
        }
        if segment == 0 {
            self.sent.fill((-1.0, 0));
        }
        let now = self.time(agent);
        let slot = self.slot(segment);
        *slot = (now, slot.1 + 1);
        agent.output(segment, false);
    }

    /// `send_much`.
    pub fn send(&mut self, agent: &mut Agent<'_>) {
        if agent.state.tcp.next == 0 {
            self.began = agent.now;
        }
        let end = agent.state.tcp.una.saturating_add(agent.window()).min(agent.state.tcp.supply);
        while agent.state.tcp.next < end {
            let segment = agent.state.tcp.next;
            self.output(agent, segment);
            agent.state.tcp.next = segment + 1;
        }
    }

    /// An ACK has arrived (`VegasTcpAgent::recv`).
    pub fn on_ack(&mut self, agent: &mut Agent<'_>, ack: Ack<'_>) {
        let now = self.time(agent);
        if self.base.is_none() {
            self.base = Some(now);
            self.smoothed = (now * 8.0, now);
            self.timeout = f64::midpoint(now * 2.0, now);
        }
        if ack.next > agent.state.tcp.una {
            self.on_new_ack(agent, now, ack.next);
        } else if ack.next == agent.state.tcp.una && ack.next > 0 {
            self.on_duplicate(agent, now);
        }
        if agent.state.duplicate_acks == 0 || agent.state.duplicate_acks >= DUPLICATE_ACKS {
            self.send(agent);
        }
    }

    fn on_new_ack(&mut self, agent: &mut Agent<'_>, now: f64, next: u32) {
        let before = agent.state.tcp.una;
        if before == 1 && agent.config.handshake {
            agent.state.tcp.window.cwnd = agent.config.initial_window;
        }
        if agent.state.duplicate_acks > DUPLICATE_ACKS && agent.state.tcp.window.cwnd > self.reduced {
            agent.state.tcp.window.cwnd = self.reduced;
            agent.state.tcp.window.ssthresh = SMALL_WINDOW;
        }
        agent.acknowledge(next);
        if next > self.end {
            self.end_round_trip(agent, now);
        }
        let window = &mut agent.state.tcp.window;
        if self.increment == 1.0 && window.cwnd >= window.ssthresh {
            self.increment = 0.0;
        }
        // Not where it could not keep up with the window.
        let outstanding = f64::from(agent.state.tcp.next - agent.state.tcp.una + 1);
        if self.increment > 0.0 && window.cwnd - outstanding <= 2.0 {
            window.cwnd += self.increment;
        }
        self.measure(now, before, next);
        if self.worried > 0 {
            self.worried -= 1;
            if self.is_overdue(now, next) {
                agent.state.duplicate_acks = DUPLICATE_ACKS;
                self.output(agent, next);
            } else {
                self.worried = 0;
            }
        }
    }

    /// Once per round trip the window is compared with the capacity of the path.
    fn end_round_trip(&mut self, agent: &mut Agent<'_>, now: f64) {
        let (sum, count) = std::mem::take(&mut self.samples);
        let round_trip = if count > 0 { sum / f64::from(count) } else { now - self.round_began };
        let length = f64::from(agent.state.tcp.next - self.end);
        if round_trip > 0.0 {
            let base = self.base.filter(|&base| round_trip >= base && length > 1.0).unwrap_or(round_trip);
            self.base = Some(base);
            let outstanding = f64::from(agent.state.tcp.next - agent.state.tcp.una + 1);
            // Segments in queues, to the nearest; cut towards 0 as C does it.
            let backlog = ((outstanding / base - length / round_trip) * base + 0.5).trunc();
            self.adapt(agent, backlog);
        }
        (self.end, self.round_began) = (agent.state.tcp.next, now);
    }

    fn adapt(&mut self, agent: &mut Agent<'_>, backlog: f64) {
        let (alpha, beta, gamma) = self.thresholds;
        let window = &mut agent.state.tcp.window;
        if window.in_slow_start() {
            self.grows = !self.grows;
            self.increment = if self.grows && backlog <= gamma { 1.0 } else { 0.0 };
            if self.grows && backlog > gamma {
                window.ssthresh = SMALL_WINDOW;
                window.cwnd = (window.cwnd - window.cwnd / 8.0).max(SMALL_WINDOW);
            }
        } else if backlog > beta {
            window.cwnd = (window.cwnd - 1.0).max(SMALL_WINDOW);
            self.increment = 0.0;
        } else {
            self.increment = if backlog < alpha { 1.0 / window.cwnd } else { 0.0 };
        }
    }

    /// The segment before `next` is acknowledged: what it says of the round trip, and the slots up to it are free.
    fn measure(&mut self, now: f64, before: u32, next: u32) {
        let (sent, transmits) = *self.slot(next - 1);
        // Where the numbers of the slots begin again, ns-2 leaves those in between as they are.
        let size = self.sent.len() as u32;
        let (first, last) = (before % size, (next - 1) % size);
        let mut range = next - before;
        let mut slot = first;
        while slot <= last && range > 0 {
            self.sent[slot as usize] = (-1.0, 0);
            slot = (slot + 1) % size;
            range -= 1;
        }
        if sent == 0.0 || transmits != 1 {
            return;
        }
        let round_trip = now - sent;
        self.samples = (self.samples.0 + round_trip, self.samples.1 + 1);
        if round_trip > 0.0 {
            self.base = self.base.map(|base| base.min(round_trip));
            let (smoothed, deviation) = &mut self.smoothed;
            let error = round_trip - *smoothed / 8.0;
            *smoothed += error;
            *deviation += error.abs() - *deviation / 4.0;
            self.timeout = f64::midpoint(*smoothed / 4.0, *deviation);
            self.timeout += self.timeout / 16.0;
        }
    }

    /// `vegas_expire`: also a segment that was never sent.
    fn is_overdue(&mut self, now: f64, segment: u32) -> bool {
        now - self.slot(segment).0 >= self.timeout
    }

    fn on_duplicate(&mut self, agent: &mut Agent<'_>, now: f64) {
        agent.state.duplicate_acks += 1;
        let una = agent.state.tcp.una;
        if !self.is_overdue(now, una) && agent.state.duplicate_acks != DUPLICATE_ACKS {
            if agent.state.duplicate_acks > DUPLICATE_ACKS {
                agent.state.tcp.window.cwnd += 1.0;
            }
            return;
        }
        let (sent, transmits) = *self.slot(una);
        if self.after_timeout && una <= agent.state.recover {
            return;
        }
        self.after_timeout = false;
        agent.state.recover = agent.state.tcp.high;
        self.worried = (agent.state.tcp.next - una + 1).min(2);
        self.timeout += if transmits > 1 { self.timeout } else { self.timeout / 8.0 };
        // Once for what was sent since the window last shrank.
        if self.reduced_at < sent {
            let window = agent.window();
            let window = match (window, transmits) {
                (0..=3, _) => 2,
                (_, 0 | 1) => window - window / 4,
                _ => window / 2,
            };
            self.reduced = f64::from(window);
            self.reduced_at = now;
            agent.state.tcp.window.cwnd = self.reduced + f64::from(agent.state.duplicate_acks);
        }
        agent.state.tcp.counted.fast_retransmits += 1;
        agent.reset_timer(true);
        self.output(agent, una);
        if transmits == 1 {
            agent.state.duplicate_acks = DUPLICATE_ACKS;
        }
    }

    /// The retransmission timer ran out.
    pub fn on_timeout(&mut self, agent: &mut Agent<'_>) {
        (agent.state.duplicate_acks, agent.state.recover) = (0, agent.state.tcp.high);
        self.after_timeout = true;
        agent.reset_timer(true);
        agent.state.tcp.next = agent.state.tcp.una;
        agent.slow_down();
        agent.state.tcp.window.cwnd = SMALL_WINDOW;
        (self.reduced, self.reduced_at) = (0.0, self.time(agent));
        self.send(agent);
    }
}
