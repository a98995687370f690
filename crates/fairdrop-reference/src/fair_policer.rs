//! `FairPolicer` as slowly and obviously as it can be written: lists, and the rules of the bucket one after another.

use std::collections::VecDeque;

use fairdrop::{AnyDiscipline, DropCause, FairPolicerParams, Packet, siphash};

use crate::compare::close;
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

pub struct FairPolicerModel {
    params: FairPolicerParams,
    queue: Vec<Packet<u32>>,
    /// Four rows of counters of bytes.
    sketch: Vec<Vec<u32>>,
    /// Flows whose turns come.
    turns: VecDeque<u64>,
    free: f64,
    due: f64,
    last: u64,
}

impl FairPolicerModel {
    pub fn new(params: FairPolicerParams) -> Self {
        let sketch = vec![vec![0; params.columns as usize]; 4];
        let free = params.depth_bytes();
        Self { params, queue: Vec::new(), sketch, turns: VecDeque::new(), free, due: 0.0, last: 0 }
    }

    /// The flow's column in each row: 16 bits of its hash under a key of zeros, scaled.
    fn columns(&self, flow: u64) -> [usize; 4] {
        let hash = siphash([0, 0], &flow.to_le_bytes());
        [0, 16, 32, 48].map(|shift| {
            let part = (hash >> shift) % 65_536;
            (part * u64::from(self.params.columns) / 65_536) as usize
        })
    }

    fn occupied(&self, flow: u64) -> u32 {
        let columns = self.columns(flow);
        (0..4).map(|row| self.sketch[row][columns[row]]).min().expect("there are four rows")
    }

    fn set(&mut self, flow: u64, to: impl Fn(u32) -> u32) {
        let columns = self.columns(flow);
        for (row, column) in columns.into_iter().enumerate() {
            self.sketch[row][column] = to(self.sketch[row][column]);
        }
    }

    fn refill(&mut self, now: u64) {
        let seconds = (now - self.last) as f64 / 1e9;
        let bytes = seconds * (self.params.rate_bps as f64 * self.params.fraction / 8.0);
        self.last = now;
        self.free = (self.free + bytes).min(self.params.depth_bytes());
        self.due += bytes;
        while self.due >= f64::from(self.params.turn) {
            let Some(flow) = self.turns.pop_front() else {
                self.due = 0.0;
                return;
            };
            self.due -= f64::from(self.params.turn);
            let turn = self.params.turn;
            if self.occupied(flow) > turn {
                self.set(flow, |counter| counter - turn);
                self.turns.push_back(flow);
            } else {
                self.set(flow, |_| 0);
            }
        }
    }
}

impl Slow for FairPolicerModel {
    fn arrive(&mut self, Arrival { packet, now, .. }: Arrival, _: Random) -> Decided {
        self.refill(now);
        let (flow, len) = (packet.meta.flow, packet.meta.len);
        let occupied = self.occupied(flow);
        let too_much = f64::from(occupied) > self.params.alpha * self.free;
        let no_tokens = f64::from(len) > self.free;
        let no_place = occupied == 0 && self.turns.len() == self.params.flows as usize;
        if too_much || no_tokens || no_place {
            return Ok(vec![(packet, DropCause::Filter)]);
        }
        if self.queue.len() == self.params.limit as usize {
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        self.free -= f64::from(len);
        self.set(flow, |counter| counter + len);
        if occupied == 0 {
            self.turns.push_back(flow);
        }
        self.queue.push(packet);
        Ok(Vec::new())
    }

    fn dequeue(&mut self, _: u64, _: &Queue, _: Random) -> Departure {
        Ok((Vec::new(), if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) }))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::FairPolicer(fast) = fast else { return Err("this is not FairPolicer".into()) };
        close("occupying", f64::from(fast.occupying()), self.turns.len() as f64, 0.0)?;
        close("free", fast.free(), self.free, 0.0)
    }
}

pub fn reference(params: FairPolicerParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(FairPolicerModel::new(params)))
}
