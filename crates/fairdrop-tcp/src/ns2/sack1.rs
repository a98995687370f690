//! `Agent/TCP/Sack1`: older than RFC 6675. The pipe is a counter that each ACK lowers and each segment raises; a segment is
//! retransmitted as soon as any segment above it is reported, in order, once per recovery.

use super::agent::{Agent, State};
use super::state::Sack1;
use crate::connection::{DUPLICATE_ACKS, Phase};
use crate::messages::Ack;
use crate::receiver::Blocks;
use crate::scoreboard::Reported;

impl Sack1 {
    /// `UpdateScoreBoard`: returns whether anything changed.
    fn update(&mut self, una: u32, blocks: Option<&Blocks>) -> bool {
        let before = self.reported.count();
        let mut changed = false;
        if self.first < una {
            self.first = una;
            changed = before > 0;
            self.reported.acknowledge(una);
        }
        for &(first, end) in blocks.map_or(&[][..], Blocks::as_slice) {
            if first.max(una) < end {
                self.reported.insert(first.max(una), end);
            }
        }
        changed || self.reported.count() != before
    }

    /// `ClearScoreBoard`.
    fn clear(&mut self) {
        self.reported = Reported::default();
        self.retransmitted = 0;
    }

    /// `GetNextRetran`: the next segment with something reported above it.
    fn next_again(&mut self) -> Option<u32> {
        let hole = self.reported.first_gap(self.retransmitted.max(self.first));
        if self.reported.end().is_none_or(|end| end <= hole) {
            return None;
        }
        self.retransmitted = hole;
        Some(hole)
    }

    /// An ACK has arrived (`Sack1TcpAgent::recv`).
    pub fn on_ack(&mut self, agent: &mut Agent<'_>, ack: Ack<'_>) {
        if agent.state.tcp.phase == Phase::Recovery {
            self.on_ack_in_recovery(agent, ack);
            self.send(agent);
            return;
        }
        if ack.next > self.last {
            agent.acknowledge(ack.next);
            (self.last, self.after_timeout) = (ack.next, false);
            let window = &mut agent.state.tcp.window;
            window.grow();
            // ns-2 lets it grow on, and looks at the smaller of both; a float that never shrinks says no more.
            window.cwnd = window.cwnd.min(agent.config.max_window);
            self.clear();
        } else if ack.next == self.last && !self.after_timeout && self.update(agent.state.tcp.una, ack.blocks)
        {
            self.on_duplicate(agent);
        }
        if agent.state.duplicate_acks == 0 {
            self.send(agent);
        }
    }

    fn on_duplicate(&mut self, agent: &mut Agent<'_>) {
        agent.state.duplicate_acks += 1;
        let duplicates = agent.state.duplicate_acks;
        if duplicates == DUPLICATE_ACKS {
            if agent.state.recover == 0 || agent.state.tcp.una > agent.state.recover {
                self.begin(agent);
            }
        } else if duplicates < DUPLICATE_ACKS && agent.config.limited_transmit {
            // `send_one`.
            let end =
                (agent.state.tcp.window.cwnd + f64::from(duplicates)).min(agent.config.max_window) as u32;
            let next = agent.state.tcp.next;
            if next < agent.state.tcp.una.saturating_add(end) && next < agent.state.tcp.supply {
                agent.output(next, true);
                agent.state.tcp.next = next + 1;
            }
        }
    }

    /// `dupack_action`.
    fn begin(&mut self, agent: &mut Agent<'_>) {
        let State { tcp, recover, .. } = &mut *agent.state;
        *recover = tcp.high;
        self.pipe = i64::from(tcp.high - tcp.una) - i64::from(DUPLICATE_ACKS);
        tcp.counted.fast_retransmits += 1;
        agent.reset_timer(false);
        self.retransmitted = self.retransmitted.max(agent.state.tcp.una + 1);
        agent.state.tcp.window.cwnd = agent.slow_down();
        agent.state.tcp.phase = Phase::Recovery;
        agent.output(self.last, true);
    }

    fn on_ack_in_recovery(&mut self, agent: &mut Agent<'_>, ack: Ack<'_>) {
        self.pipe -= 1;
        if ack.next >= agent.state.recover {
            agent.state.recover = 0;
            agent.state.tcp.phase = Phase::Open;
            agent.acknowledge(ack.next);
            (self.last, self.after_timeout) = (ack.next, false);
            self.clear();
        } else if ack.next > agent.state.tcp.una {
            // A partial ACK: `last_ack_` stays.
            agent.state.tcp.una = ack.next;
            self.update(ack.next, ack.blocks);
            self.pipe -= 1;
            agent.restart_or_cancel_timer(ack.next);
            agent.state.tcp.timer.rto.end_back_off();
        } else if self.update(agent.state.tcp.una, ack.blocks) && agent.state.duplicate_acks > 0 {
            agent.state.duplicate_acks += 1;
        }
    }

    /// `send_much`.
    pub fn send(&mut self, agent: &mut Agent<'_>) {
        let recovering = agent.state.tcp.phase == Phase::Recovery;
        let largest = agent.largest_window();
        let mut window = agent.window();
        loop {
            let room = if recovering {
                self.pipe < agent.state.tcp.window.cwnd as i64
            } else {
                agent.state.tcp.next < self.last.saturating_add(window)
            };
            if !room || self.last >= agent.state.tcp.supply {
                return;
            }
            let (una, next) = (agent.state.tcp.una, agent.state.tcp.next);
            let segment = match self.next_again() {
                None => {
                    let most = if recovering { largest } else { window };
                    if next >= una.saturating_add(most) || next >= agent.state.tcp.supply {
                        return;
                    }
                    next
                }
                Some(segment) if agent.state.recover > 0 && segment < una.saturating_add(largest) => {
                    self.retransmitted = segment + 1;
                    window = agent.window();
                    segment
                }
                Some(_) => return,
            };
            agent.output(segment, true);
            agent.state.tcp.next = next.max(segment + 1);
            self.pipe += 1;
        }
    }

    /// The retransmission timer ran out.
    pub fn on_timeout(&mut self, agent: &mut Agent<'_>) {
        self.after_timeout = true;
        self.last = self.last.max(agent.state.tcp.una);
        self.clear();
        let State { tcp, duplicate_acks, recover, .. } = &mut *agent.state;
        (*duplicate_acks, tcp.phase, *recover) = (0, Phase::Open, tcp.high);
        agent.slow_down();
        agent.state.tcp.window.cwnd = 1.0;
        agent.reset_timer(true);
        agent.state.tcp.next = agent.state.tcp.una;
        self.send(agent);
    }
}
