//! AFQ as slowly and obviously as it can be written: a list of packets with their rounds, and a sketch as lists of lists.

use fairdrop::{AfqParams, AnyDiscipline, DropCause, Packet, siphash};

use crate::compare::close;
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// Sharma, Liu, Atreya, Krishnamurthy 2018.
pub struct AfqModel {
    params: AfqParams,
    /// In the order of their arrival, each with its round.
    queue: Vec<(u64, Packet<u32>)>,
    sketch: Vec<Vec<u64>>,
    round: u64,
}

impl AfqModel {
    pub fn new(params: AfqParams) -> Self {
        let sketch = vec![vec![0; params.columns as usize]; 4];
        Self { params, queue: Vec::new(), sketch, round: 0 }
    }

    /// The flow's column in each row: 16 bits of its hash under a key of zeros, scaled.
    fn columns(&self, flow: u64) -> [usize; 4] {
        let hash = siphash([0, 0], &flow.to_le_bytes());
        [0, 16, 32, 48].map(|shift| {
            let part = (hash >> shift) % 65_536;
            (part * u64::from(self.params.columns) / 65_536) as usize
        })
    }
}

impl Slow for AfqModel {
    fn arrive(&mut self, Arrival { packet, .. }: Arrival, _: Random) -> Decided {
        let columns = self.columns(packet.meta.flow);
        let sent = columns.iter().zip(&self.sketch).map(|(column, row)| row[*column]).min();
        let per_round = u64::from(self.params.bytes_per_round);
        let bid = sent.ok_or("no rows")?.max(self.round * per_round) + u64::from(packet.meta.len);
        let round = bid / per_round;
        if round >= self.round + u64::from(self.params.queues) {
            return Ok(vec![(packet, DropCause::Filter)]);
        }
        if self.queue.len() >= self.params.limit as usize {
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        for (column, row) in columns.iter().zip(&mut self.sketch) {
            row[*column] = row[*column].max(bid);
        }
        self.queue.push((round, packet));
        Ok(Vec::new())
    }

    fn dequeue(&mut self, _: u64, _: &Queue, _: Random) -> Departure {
        let Some(first) = self.queue.iter().map(|(round, _)| *round).min() else {
            return Ok((Vec::new(), None));
        };
        self.round = first;
        let at = self.queue.iter().position(|(round, _)| *round == first).ok_or("it is there")?;
        Ok((Vec::new(), Some(self.queue.remove(at).1)))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.iter().map(|(_, packet)| packet.clone()).collect()
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::Afq(fast) = fast else { return Err("this is not AFQ".into()) };
        close("round", fast.round() as f64, self.round as f64, 0.0)
    }
}

pub fn reference(params: AfqParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(AfqModel::new(params)))
}
