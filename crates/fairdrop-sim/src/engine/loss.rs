//! Random loss on links: each packet that has left a link's transmitter is lost with the link's probability,
//! independently of all others (Bernoulli). Each link has a random stream of its own.

use crate::random::{self, FlowPurpose};
use crate::scenario::Scenario;
use fairdrop::{Count, Philox};

/// A link that loses packets, and what it has lost in the measuring window.
#[derive(Debug)]
pub struct LossyLink {
    probability: f64,
    random: Philox,
    /// Packets that the link was given to carry.
    pub offered: Count,
    /// Those that reached its other end.
    pub carried: Count,
    /// Those that did not, by group.
    pub lost: Vec<Count>,
}

impl LossyLink {
    /// Whether the next packet, of `len` bytes and a flow of `group`, is lost.
    fn loses(&mut self, group: usize, len: u32) -> bool {
        let lost = random::uniform(&mut self.random) < self.probability;
        self.offered.add(len);
        if lost { &mut self.lost[group] } else { &mut self.carried }.add(len);
        lost
    }

    /// Lost packets of all groups.
    pub fn all_lost(&self) -> Count {
        self.lost.iter().fold(Count::default(), |all, count| Count {
            packets: all.packets + count.packets,
            bytes: all.bytes + count.bytes,
        })
    }

    /// Conservation: what was offered was carried or lost.
    fn check(&self) {
        let (carried, lost) = (self.carried, self.all_lost());
        let sum = Count { packets: carried.packets + lost.packets, bytes: carried.bytes + lost.bytes };
        assert_eq!(self.offered, sum, "conservation on a link that loses packets");
    }
}

/// The links that lose packets, by their number in the scenario; no entries when none does.
#[derive(Debug, Default)]
pub struct Losses(Vec<Option<LossyLink>>);

impl Losses {
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        if scenario.links.iter().all(|link| link.loss <= 0.0) {
            return Self::default();
        }
        let links = (0_u32..).zip(&scenario.links).map(|(number, link)| {
            (link.loss > 0.0).then(|| LossyLink {
                probability: link.loss,
                random: random::of_flow(seed, number, FlowPurpose::LinkLoss),
                offered: Count::default(),
                carried: Count::default(),
                lost: vec![Count::default(); scenario.groups.len()],
            })
        });
        Self(links.collect())
    }

    /// Whether some link loses packets.
    #[inline]
    pub fn is_some(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether `link` loses the next packet, of `len` bytes and a flow of `group`.
    #[inline]
    pub fn loses(&mut self, link: u32, group: usize, len: u32) -> bool {
        let Some(Some(lossy)) = self.0.get_mut(link as usize) else { return false };
        let lost = lossy.loses(group, len);
        if cfg!(debug_assertions) {
            lossy.check();
        }
        lost
    }

    /// The measuring window opens: counters begin again.
    pub fn open(&mut self) {
        for link in self.0.iter_mut().flatten() {
            (link.offered, link.carried) = (Count::default(), Count::default());
            link.lost.fill(Count::default());
        }
    }

    /// The links that lose packets, with their numbers.
    pub fn links(&self) -> impl Iterator<Item = (usize, &LossyLink)> {
        self.0.iter().enumerate().filter_map(|(number, link)| link.as_ref().map(|link| (number, link)))
    }
}
