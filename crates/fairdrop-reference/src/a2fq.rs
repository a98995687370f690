//! A2FQ as slowly and obviously as it can be written: a list of packets with their rounds, a sketch as lists of lists, and the
//! steps of the authors' program one after another.

use fairdrop::{A2fqParams, AnyDiscipline, DropCause, Packet, siphash};

use crate::compare::close;
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// `A2FQ.p4` of the authors.
pub struct A2fqModel {
    params: A2fqParams,
    /// In the order of their arrival, each with its round.
    queue: Vec<(u64, Packet<u32>)>,
    sketch: Vec<Vec<u64>>,
    round: u64,
    q_num: u64,
    has_reduced: bool,
}

impl A2fqModel {
    pub fn new(params: A2fqParams) -> Self {
        let sketch = vec![vec![0; params.columns as usize]; 4];
        let q_num = u64::from(params.queues);
        Self { params, queue: Vec::new(), sketch, round: 0, q_num, has_reduced: false }
    }

    /// The flow's column in each row: 16 bits of its hash under a key of zeros, scaled.
    fn columns(&self, flow: u64) -> [usize; 4] {
        let hash = siphash([0, 0], &flow.to_le_bytes());
        [0, 16, 32, 48].map(|shift| {
            let part = (hash >> shift) % 65_536;
            (part * u64::from(self.params.columns) / 65_536) as usize
        })
    }

    /// Bytes that wait for this round.
    fn bytes(&self, round: u64) -> u64 {
        let of_round = self.queue.iter().filter(|(of, _)| *of == round);
        of_round.map(|(_, packet)| u64::from(packet.meta.len)).sum()
    }

    fn update_round_number(&mut self) -> bool {
        let empty = self.queue.iter().all(|(round, _)| *round != self.round);
        if empty {
            self.round += 1;
        }
        empty
    }

    fn update_queue_number(&mut self, threshold: u64, cur_queue_empty: bool) {
        let q_low = threshold / u64::from(self.params.part);
        let q_high = threshold.saturating_sub(u64::from(self.params.margin));
        let q2 = self.bytes(self.round + 1);
        if q2 > q_high {
            if !self.has_reduced {
                if self.q_num > 2 {
                    self.q_num -= 1;
                }
                self.has_reduced = true;
            }
        } else if q2 < q_low && q2 != 0 && self.q_num < u64::from(self.params.queues) {
            self.q_num += 1;
        }
        if cur_queue_empty {
            self.has_reduced = false;
        }
    }
}

impl Slow for A2fqModel {
    fn arrive(&mut self, Arrival { packet, .. }: Arrival, _: Random) -> Decided {
        let cur_queue_empty = self.update_round_number();
        let used: u64 = self.queue.iter().map(|(_, packet)| u64::from(packet.meta.len)).sum();
        let buffer = u64::from(self.params.buffer);
        let threshold = ((buffer - used) as f64 * self.params.alpha).floor() as u64;
        self.update_queue_number(threshold, cur_queue_empty);

        let columns = self.columns(packet.meta.flow);
        let len = u64::from(packet.meta.len);
        let sent = columns.iter().zip(&self.sketch).map(|(column, row)| row[*column]).min();
        let per_round = u64::from(self.params.bytes_per_round);
        let bid = sent.ok_or("no rows")?.max(self.round * per_round) + len;
        let round = bid / per_round;
        if round - self.round >= self.q_num {
            return Ok(vec![(packet, DropCause::Filter)]);
        }
        for (column, row) in columns.iter().zip(&mut self.sketch) {
            row[*column] = row[*column].max(bid);
        }
        let full = self.queue.len() >= self.params.limit as usize;
        if full || used + len > buffer || self.bytes(round) + len > threshold {
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        self.queue.push((round, packet));
        Ok(Vec::new())
    }

    fn dequeue(&mut self, _: u64, _: &Queue, _: Random) -> Departure {
        let Some(first) = self.queue.iter().map(|(round, _)| *round).min() else {
            return Ok((Vec::new(), None));
        };
        if first != self.round {
            self.round = first;
            self.has_reduced = false;
        }
        let at = self.queue.iter().position(|(round, _)| *round == first).ok_or("it is there")?;
        Ok((Vec::new(), Some(self.queue.remove(at).1)))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.iter().map(|(_, packet)| packet.clone()).collect()
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::A2fq(fast) = fast else { return Err("this is not A2FQ".into()) };
        close("round", fast.round() as f64, self.round as f64, 0.0)?;
        close("q_num", f64::from(fast.queue_num()), self.q_num as f64, 0.0)
    }
}

pub fn reference(params: A2fqParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(A2fqModel::new(params)))
}
