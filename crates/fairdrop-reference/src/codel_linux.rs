//! `codel_dequeue` of Linux 6.12 in whole numbers without bounds, cut to the widths of the kernel's variables after each step.

use fairdrop::{CoDelParams, DropCause, Ecn, LinuxCoDel, Packet};

use crate::compare::bytes;
use crate::slow::Drops;

const WORD: i128 = 1 << 32;

/// `struct codel_vars`.
#[derive(Default)]
pub struct Vars {
    pub count: i128,
    last_count: i128,
    pub dropping: bool,
    root: i128,
    first_above: i128,
    drop_next: i128,
}

/// A difference of times as a signed word.
fn signed(difference: i128) -> i128 {
    (difference + WORD / 2).rem_euclid(WORD) - WORD / 2
}

impl Vars {
    /// Counts drops.
    pub fn raise(&mut self, drops: i128) {
        self.count = (self.count + drops).rem_euclid(WORD);
    }

    fn newton_step(&mut self) {
        let root = self.root << 16;
        let square = (root * root) / WORD;
        let rest = (3 * WORD - self.count * square).rem_euclid(WORD * WORD);
        let next = ((rest / 4) * root).rem_euclid(WORD * WORD);
        self.root = (next / (1 << 47)).rem_euclid(1 << 16);
    }

    fn law(&self, from: i128, interval: i128) -> i128 {
        (from + interval * (self.root << 16) / WORD).rem_euclid(WORD)
    }
}

/// Whether the packet is marked instead of dropped.
pub fn mark(params: &CoDelParams, packet: Option<&mut Packet<u32>>) -> bool {
    let capable = packet.filter(|packet| params.ecn && packet.meta.ecn != Ecn::NotCapable);
    capable.map(|packet| packet.meta.ecn = Ecn::Ce).is_some()
}

fn interval(params: &CoDelParams) -> i128 {
    i128::from(params.interval.ns() / 1024).rem_euclid(WORD)
}

/// A queue, the bytes that wait elsewhere and count, and its parameters.
pub struct Waiting<'a> {
    pub params: &'a CoDelParams,
    pub queue: &'a mut Vec<Packet<u32>>,
    pub elsewhere: u64,
}

impl Vars {
    fn take(&mut self, waiting: &mut Waiting, now: i128) -> (Option<Packet<u32>>, bool) {
        if waiting.queue.is_empty() {
            self.first_above = 0;
            return (None, false);
        }
        let packet = waiting.queue.remove(0);
        let waited = (now - i128::from(packet.enqueued.ns() / 1024)).rem_euclid(WORD);
        let target = i128::from(waiting.params.target.ns() / 1024).rem_euclid(WORD);
        let is_low = signed(waited - target) < 0;
        if is_low || bytes(waiting.queue) + waiting.elsewhere <= u64::from(waiting.params.mtu) {
            self.first_above = 0;
            return (Some(packet), false);
        }
        if self.first_above == 0 {
            self.first_above = (now + interval(waiting.params)).rem_euclid(WORD);
            return (Some(packet), false);
        }
        (Some(packet), signed(now - self.first_above) > 0)
    }

    pub fn depart(&mut self, waiting: &mut Waiting, now: u64) -> (Drops, Option<Packet<u32>>) {
        let now = i128::from(now / 1024).rem_euclid(WORD);
        let interval = interval(waiting.params);
        let mut drops = Vec::new();
        if waiting.queue.is_empty() {
            if waiting.params.linux != LinuxCoDel::V6_17 {
                self.first_above = 0;
            }
            self.dropping = false;
            return (drops, None);
        }
        let (mut packet, ripe) = self.take(waiting, now);
        if self.dropping {
            self.dropping = ripe;
            while self.dropping && signed(now - self.drop_next) >= 0 {
                self.raise(1);
                self.newton_step();
                if mark(waiting.params, packet.as_mut()) {
                    self.drop_next = self.law(self.drop_next, interval);
                    break;
                }
                drops.extend(packet.take().map(|packet| (packet, DropCause::Codel)));
                let (next, ripe) = self.take(waiting, now);
                packet = next;
                self.dropping = ripe;
                if ripe {
                    self.drop_next = self.law(self.drop_next, interval);
                }
            }
        } else if ripe {
            if !mark(waiting.params, packet.as_mut()) {
                drops.extend(packet.take().map(|packet| (packet, DropCause::Codel)));
                packet = self.take(waiting, now).0;
            }
            let delta = (self.count - self.last_count).rem_euclid(WORD);
            let since = (now - self.drop_next).rem_euclid(WORD);
            if delta > 1 && signed(since - (16 * interval).rem_euclid(WORD)) < 0 {
                self.count = delta;
                self.newton_step();
            } else {
                (self.count, self.root) = (1, (1 << 16) - 1);
            }
            self.dropping = true;
            self.last_count = self.count;
            self.drop_next = self.law(now, interval);
        }
        (drops, packet)
    }
}
