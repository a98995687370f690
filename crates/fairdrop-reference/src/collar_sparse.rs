//! COLLAR with two FIFOs, from the pseudo-code of its page: the model of COLLAR before two lists.

use fairdrop::{CollarSparseParams, Packet};

use crate::collar::{CollarModel, id_of};
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

pub struct CollarSparseModel {
    params: CollarSparseParams,
    collar: CollarModel,
    short: Vec<Packet<u32>>,
    long: Vec<Packet<u32>>,
    /// Ids of the flows of `long`.
    ids: Vec<u32>,
    /// Bytes that have overtaken, less those that the long list has sent since.
    ahead: u64,
}

impl CollarSparseModel {
    pub fn new(params: CollarSparseParams) -> Self {
        let collar = CollarModel::new(params.collar.clone());
        Self { params, collar, short: Vec::new(), long: Vec::new(), ids: Vec::new(), ahead: 0 }
    }

    /// Whether packets of `long` have the lowest ten bits of this id, and its highest ten: its own have both.
    fn may_wait_in_long(&self, id: u32) -> bool {
        let alike = |part: fn(u32) -> u32| self.ids.iter().any(|&other| part(other) == part(id));
        alike(|id| id & 0x3ff) && alike(|id| id >> 22)
    }
}

impl Slow for CollarSparseModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        [self.short.clone(), self.long.clone()].concat()
    }

    fn arrive(&mut self, Arrival { mut packet, now, fast, .. }: Arrival, random: Random) -> Decided {
        let id = id_of(packet.meta.flow, fast);
        let waiting = self.short.len() + self.long.len();
        let (over, dropped) = self.collar.decide(&mut packet, id, waiting, now, random);
        if let Some(cause) = dropped {
            return Ok(vec![(packet, cause)]);
        }
        let sparse = match over {
            Some(over) => over < self.params.sparse,
            None => self.collar.is_rare(id),
        };
        let room = self.short.len() < self.params.short as usize;
        if sparse && room && !self.may_wait_in_long(id) {
            self.short.push(packet);
        } else {
            self.long.push(packet);
            self.ids.push(id);
        }
        Ok(Vec::new())
    }

    fn dequeue(&mut self, now: u64, fast: &Queue, random: Random) -> Departure {
        let wait = self.long.first().map_or(0, |oldest| now - oldest.enqueued.ns());
        let overtakes = match (self.short.first(), self.long.first()) {
            (Some(short), Some(long)) => short.enqueued > long.enqueued,
            _ => false,
        };
        let waits = overtakes && self.ahead >= 3000;
        let short_goes = !self.short.is_empty() && !waits;
        let from = if short_goes { &mut self.short } else { &mut self.long };
        if from.is_empty() {
            return Ok((Vec::new(), None));
        }
        let packet = from.remove(0);
        if !short_goes {
            self.ids.remove(0);
        }
        let len = u64::from(packet.meta.len);
        match (short_goes, overtakes) {
            (true, true) => self.ahead += len,
            (true, false) => {}
            (false, _) => self.ahead = self.ahead.saturating_sub(len),
        }
        let id = id_of(packet.meta.flow, fast);
        self.collar.leaves(&packet, id, wait, self.short.len() + self.long.len(), now, random);
        Ok((Vec::new(), Some(packet)))
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        self.collar.same_state(fast)
    }
}

pub fn reference(params: CollarSparseParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(CollarSparseModel::new(params)))
}
