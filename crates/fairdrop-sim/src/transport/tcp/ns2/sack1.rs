//! `Agent/TCP/Sack1`: older than RFC 6675. The pipe is a counter that each ACK lowers and each segment raises; a segment is
//! sent again as soon as anything above it is reported, in order, once per recovery.

use super::super::connection::{DUPLICATE_ACKS, Phase};
use super::super::messages::Ack;
use super::super::scoreboard::Reported;
use super::agent::Agent;
use super::state::Sack1;
use crate::transport::receiver::Blocks;

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

    /// An ACK has come (`Sack1TcpAgent::recv`).
    pub fn on_ack(&mut self, agent: &mut Agent<'_>, ack: Ack<'_>) {
        if agent.tcp.phase == Phase::Recovery {
            self.on_ack_in_recovery(agent, ack);
            self.send(agent);
            return;
        }
        if ack.next > self.last {
            agent.acknowledge(ack.next);
            (self.last, self.after_timeout) = (ack.next, false);
            let tcp = &mut *agent.tcp;
            tcp.window.grow();
            // ns-2 lets it grow on, and looks at the smaller of both; a float that never shrinks says no more.
            tcp.window.cwnd = tcp.window.cwnd.min(agent.config.max_window);
            self.clear();
        } else if ack.next == self.last && !self.after_timeout && self.update(agent.tcp.una, ack.blocks) {
            self.on_duplicate(agent);
        }
        if agent.tcp.duplicate_acks == 0 {
            self.send(agent);
        }
    }

    fn on_duplicate(&mut self, agent: &mut Agent<'_>) {
        agent.tcp.duplicate_acks += 1;
        let duplicates = agent.tcp.duplicate_acks;
        if duplicates == DUPLICATE_ACKS {
            if agent.tcp.recover == 0 || agent.tcp.una > agent.tcp.recover {
                self.begin(agent);
            }
        } else if duplicates < DUPLICATE_ACKS && agent.config.limited_transmit {
            // `send_one`.
            let end = (agent.tcp.window.cwnd + f64::from(duplicates)).min(agent.config.max_window) as u32;
            let next = agent.tcp.next;
            if next < agent.tcp.una.saturating_add(end) && next < agent.tcp.supply {
                agent.output(next, true);
                agent.tcp.next = next + 1;
            }
        }
    }

    /// `dupack_action`.
    fn begin(&mut self, agent: &mut Agent<'_>) {
        let tcp = &mut *agent.tcp;
        tcp.recover = tcp.high;
        self.pipe = i64::from(tcp.high - tcp.una) - i64::from(DUPLICATE_ACKS);
        tcp.counted.fast_retransmits += 1;
        agent.reset_timer(false);
        self.retransmitted = self.retransmitted.max(agent.tcp.una + 1);
        agent.tcp.window.cwnd = agent.slow_down();
        agent.tcp.phase = Phase::Recovery;
        agent.output(self.last, true);
    }

    fn on_ack_in_recovery(&mut self, agent: &mut Agent<'_>, ack: Ack<'_>) {
        self.pipe -= 1;
        if ack.next >= agent.tcp.recover {
            agent.tcp.recover = 0;
            agent.tcp.phase = Phase::Open;
            agent.acknowledge(ack.next);
            (self.last, self.after_timeout) = (ack.next, false);
            self.clear();
        } else if ack.next > agent.tcp.una {
            // A partial ACK: `last_ack_` stays.
            agent.tcp.una = ack.next;
            self.update(ack.next, ack.blocks);
            self.pipe -= 1;
            agent.restart_or_cancel_timer(ack.next);
            agent.tcp.rto.end_back_off();
        } else if self.update(agent.tcp.una, ack.blocks) && agent.tcp.duplicate_acks > 0 {
            agent.tcp.duplicate_acks += 1;
        }
    }

    /// `send_much`.
    pub fn send(&mut self, agent: &mut Agent<'_>) {
        let recovering = agent.tcp.phase == Phase::Recovery;
        let largest = agent.largest_window();
        let mut window = agent.window();
        loop {
            let room = if recovering {
                self.pipe < agent.tcp.window.cwnd as i64
            } else {
                agent.tcp.next < self.last.saturating_add(window)
            };
            if !room || self.last >= agent.tcp.supply {
                return;
            }
            let (una, next) = (agent.tcp.una, agent.tcp.next);
            let segment = match self.next_again() {
                None => {
                    let most = if recovering { largest } else { window };
                    if next >= una.saturating_add(most) || next >= agent.tcp.supply {
                        return;
                    }
                    next
                }
                Some(segment) if agent.tcp.recover > 0 && segment < una.saturating_add(largest) => {
                    self.retransmitted = segment + 1;
                    window = agent.window();
                    segment
                }
                Some(_) => return,
            };
            agent.output(segment, true);
            agent.tcp.next = next.max(segment + 1);
            self.pipe += 1;
        }
    }

    /// The retransmission timer ran out.
    pub fn on_timeout(&mut self, agent: &mut Agent<'_>) {
        self.after_timeout = true;
        self.last = self.last.max(agent.tcp.una);
        self.clear();
        let tcp = &mut *agent.tcp;
        (tcp.duplicate_acks, tcp.phase, tcp.recover) = (0, Phase::Open, tcp.high);
        agent.slow_down();
        agent.tcp.window.cwnd = 1.0;
        agent.reset_timer(true);
        agent.tcp.next = agent.tcp.una;
        self.send(agent);
    }
}
