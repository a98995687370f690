//! WARD as slowly and obviously as it can be written: a plain list and the four cases one by one.
//!
//! Which packets were drawn comes from the implementation under test, is checked against the rules, and is then used.

use fairdrop::{DropCause, FullCase3, Packet, Stream, WardParams, uniform_below};

use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Drops, Random, Slow};

pub struct WardReference {
    limit: usize,
    full_case3: FullCase3,
    pub queue: Vec<Packet<u32>>,
}

impl WardReference {
    pub fn new(limit: u32, full_case3: FullCase3) -> Self {
        Self { limit: limit as usize, full_case3, queue: Vec::new() }
    }

    pub fn dequeue(&mut self) -> Option<Packet<u32>> {
        if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) }
    }

    /// The first digit after the point of position / limit, found by long division; 10 for the last position on.
    pub fn tenths(&self, position: usize) -> u64 {
        if position >= self.limit {
            return 10;
        }
        let mut rest = 10 * position;
        let mut digit = 0;
        while rest >= self.limit {
            rest -= self.limit;
            digit += 1;
        }
        digit
    }

    /// A packet arrives; `draw` yields the next whole number of tenths, uniform on 0 to 9.
    pub fn arrive(&mut self, packet: Packet<u32>, drawn: &[u32], draw: &mut dyn FnMut() -> u64) -> Decided {
        let waiting = self.queue.len();
        let full = waiting >= self.limit;
        let weight = self.tenths(waiting + 1);
        let compared = weight == 10 || (weight > 0 && draw() < weight);
        let expected = if compared { waiting.min(2) } else { 0 };
        if drawn.len() != expected {
            return Err(format!(
                "drew {drawn:?}, should be {expected} of {waiting} waiting at weight {weight}"
            ));
        }
        let mut places = Vec::new();
        for handle in drawn {
            let place = self.queue.iter().position(|waiting| waiting.handle == *handle);
            let place = place.ok_or_else(|| format!("drew {handle}, which does not wait"))?;
            if places.contains(&place) {
                return Err(format!("drew {handle} twice"));
            }
            places.push(place);
        }
        let flows: Vec<u64> = places.iter().map(|&place| self.queue[place].meta.flow).collect();
        let k = packet.meta.flow;
        match flows[..] {
            [i, j] if i == k && j == k => {
                let mut drops = self.take(drawn, DropCause::MatchQueued);
                drops.push((packet, DropCause::MatchArriving));
                Ok(drops)
            }
            [i, j] if i == k || j == k => {
                let one = if i == k { drawn[0] } else { drawn[1] };
                let mut drops = self.take(&[one], DropCause::MatchQueued);
                drops.push((packet, DropCause::MatchArriving));
                Ok(drops)
            }
            [i] if i == k => {
                let mut drops = self.take(drawn, DropCause::MatchQueued);
                drops.push((packet, DropCause::MatchArriving));
                Ok(drops)
            }
            [i, j] if i == j => {
                let mut drops = self.take(drawn, DropCause::WardPairQueued);
                if full && self.full_case3 == FullCase3::Drop {
                    drops.push((packet, DropCause::Overflow));
                } else {
                    self.queue.push(packet);
                }
                Ok(drops)
            }
            _ if full => Ok(vec![(packet, DropCause::Overflow)]),
            _ => {
                self.queue.push(packet);
                Ok(Vec::new())
            }
        }
    }

    fn take(&mut self, handles: &[u32], cause: DropCause) -> Drops {
        let mut drops = Vec::new();
        for handle in handles {
            let place =
                self.queue.iter().position(|waiting| waiting.handle == *handle).expect("found before");
            drops.push((self.queue.remove(place), cause));
        }
        drops
    }
}

pub fn reference(params: WardParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(WardReference::new(params.limit, params.full_case3)))
}

impl Slow for WardReference {
    fn arrive(&mut self, Arrival { packet, step, .. }: Arrival, random: Random) -> Decided {
        let mut tenths = || uniform_below(10, || random(Stream::WardCoin));
        WardReference::arrive(self, packet, &step.drawn, &mut tenths)
    }

    fn dequeue(&mut self, _: u64, _: &Queue, _: Random) -> Departure {
        Ok((Vec::new(), WardReference::dequeue(self)))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }
}
