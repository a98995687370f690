//! Cebinae as slowly and obviously as it can be written: plain lists, and every round ended by itself.

use fairdrop::{AnyDiscipline, CebinaeParams, DropCause, Packet, Time, siphash};

use crate::compare::close;
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// Yu, Sonchack, Liu 2022, by the authors' program for ns-3. Two of everything: FIFOs, groups (the top one second), hash
/// functions.
pub struct CebinaeModel {
    params: CebinaeParams,
    round: u64,
    queues: [Vec<Packet<u32>>; 2],
    head: usize,
    /// By group, then by FIFO.
    rates: [[u64; 2]; 2],
    next: [u64; 2],
    bytes: [u64; 2],
    began: u64,
    ended: u64,
    sent: u64,
    cache: [Vec<Option<(u64, u64)>>; 2],
    top: Vec<u64>,
}

impl CebinaeModel {
    pub fn new(params: CebinaeParams) -> Self {
        let mut round = params.dt.ns();
        if params.dt == Time::ZERO {
            let full = u128::from(params.limit) * 12_000_000_000_000 / u128::from(params.rate_bps);
            round = 1;
            while u128::from(round) < full && round < 1 << 40 {
                round *= 2;
            }
        }
        let link = params.rate_bps;
        Self {
            round,
            queues: [Vec::new(), Vec::new()],
            head: 0,
            rates: [[link; 2], [0; 2]],
            next: [link, 0],
            bytes: [0; 2],
            began: 0,
            ended: 0,
            sent: 0,
            cache: [0, 1].map(|_| vec![None; params.slots as usize]),
            top: Vec::new(),
            params,
        }
    }

    fn bytes_in(ns: u64, rate: u64) -> u64 {
        (u128::from(ns) * u128::from(rate) / 8_000_000_000) as u64
    }

    fn advance(&mut self, now: u64) {
        while self.began + self.round <= now {
            self.began += self.round;
            self.ended += 1;
            if self.ended.is_multiple_of(u64::from(self.params.p)) {
                self.look();
            }
            for group in 0..2 {
                let budget = Self::bytes_in(self.round, self.rates[group][self.head]);
                self.bytes[group] = self.bytes[group].saturating_sub(budget);
                self.rates[group][self.head] = self.next[group];
            }
            self.head = 1 - self.head;
        }
    }

    fn look(&mut self) {
        let CebinaeParams { p, tau, delta_port, delta_flow, rate_bps, .. } = self.params;
        let ns = (self.round * u64::from(p)) as f64;
        self.top.clear();
        self.next = [rate_bps, 0];
        if self.sent as f64 > rate_bps as f64 * ns / 8e9 * (1.0 - delta_port) {
            let counted: Vec<(u64, u64)> = self.cache.iter().flatten().flatten().copied().collect();
            let most = counted.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
            let mut total = 0;
            for (flow, bytes) in counted {
                if bytes as f64 > most as f64 * (1.0 - delta_flow) {
                    self.top.push(flow);
                    total += bytes;
                }
            }
            let rate = total as f64 * (1.0 - tau) * 8e9 / ns;
            self.next[1] = f64::min(rate, rate_bps as f64 * (1.0 - tau)) as u64;
            self.next[0] = rate_bps - self.next[1];
        }
        self.sent = 0;
        self.cache.iter_mut().flatten().for_each(|place| *place = None);
    }
}

impl Slow for CebinaeModel {
    fn arrive(&mut self, Arrival { packet, now, .. }: Arrival, _: Random) -> Decided {
        self.advance(now);
        let group = usize::from(self.top.contains(&packet.meta.flow));
        let budget = |queue: usize| Self::bytes_in(self.round, self.rates[group][queue]);
        let (head, tail) = (self.head, 1 - self.head);
        let past_head = self.bytes[group].saturating_sub(budget(head));
        let past_tail = past_head.saturating_sub(budget(tail));
        let gone = Self::bytes_in(now - self.began, self.rates[group][head]);
        self.bytes[group] = self.bytes[group].max(gone) + u64::from(packet.meta.len);
        if past_tail > 0 {
            return Ok(vec![(packet, DropCause::Filter)]);
        }
        if self.queues[0].len() + self.queues[1].len() >= self.params.limit as usize {
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        self.queues[if past_head > 0 { tail } else { head }].push(packet);
        Ok(Vec::new())
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        self.advance(now);
        let queue = if self.queues[self.head].is_empty() { 1 - self.head } else { self.head };
        if self.queues[queue].is_empty() {
            return Ok((Vec::new(), None));
        }
        let packet = self.queues[queue].remove(0);
        self.sent += u64::from(packet.meta.len);
        let hash = siphash([0, 0], &packet.meta.flow.to_le_bytes());
        for (cache, part) in self.cache.iter_mut().zip([hash % (1 << 32), hash >> 32]) {
            let place = &mut cache[(part * u64::from(self.params.slots) / (1 << 32)) as usize];
            let (flow, bytes) = place.get_or_insert((packet.meta.flow, 0));
            if *flow == packet.meta.flow {
                *bytes += u64::from(packet.meta.len);
                break;
            }
        }
        Ok((Vec::new(), Some(packet)))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queues.concat()
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::Cebinae(fast) = fast else { return Err("this is not Cebinae".into()) };
        for flow in 0..8 {
            if fast.is_top(flow) != self.top.contains(&flow) {
                return Err(format!("flow {flow} is in another group"));
            }
        }
        close("rate of the top group", fast.top_rate() as f64, self.next[1] as f64, 0.0)
    }
}

pub fn reference(params: CebinaeParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(CebinaeModel::new(params)))
}
