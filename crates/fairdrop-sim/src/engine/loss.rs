//! What becomes of packets on links that are not perfect. Random loss: each packet that has left a link's transmitter is lost with the link's probability,
//! independently of all others (Bernoulli). Each link has a random stream of its own.

use crate::scenario::{Link, Scenario};
use fairdrop::Count;
use fairdrop_link::{Impaired, Loss};

/// A link that loses packets, and what it has lost in the measuring window.
#[derive(Debug)]
pub struct LossyLink {
    loss: Loss,
    /// Packets that the link was given to carry.
    pub offered: Count,
    /// Those that reached its other end.
    pub carried: Count,
    /// Those that did not, by group.
    pub lost: Vec<Count>,
}

impl LossyLink {
    /// Whether the next packet, of `len` bytes and a flow of `group`, is lost, which it is in a `bad` phase of the link.
    fn loses(&mut self, group: usize, len: u32, bad: bool) -> bool {
        let lost = self.loss.loses() || bad;
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

/// Links that are not perfect, by their number in the scenario; no entries when all are.
#[derive(Debug, Default)]
pub struct Losses {
    lossy: Vec<Option<LossyLink>>,
    impaired: Vec<Option<Impaired>>,
}

/// Whether a link loses packets.
fn is_lossy(link: &Link) -> bool {
    link.loss > 0.0 || link.impairments.as_ref().is_some_and(|impairments| impairments.bad_enter > 0.0)
}

impl Losses {
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let impairs = |link: &Link| link.impairments.is_some();
        if !scenario.links.iter().any(impairs) && !scenario.links.iter().any(is_lossy) {
            return Self::default();
        }
        let links = (0_u32..).zip(&scenario.links).map(|(number, link)| {
            is_lossy(link).then(|| LossyLink {
                loss: Loss::new(link.loss, seed, number),
                offered: Count::default(),
                carried: Count::default(),
                lost: vec![Count::default(); scenario.groups.len()],
            })
        });
        let impaired = (0..)
            .zip(&scenario.links)
            .map(|(number, link)| link.impairments.map(|settings| Impaired::new(settings, seed, number)));
        Self { lossy: links.collect(), impaired: impaired.collect() }
    }

    /// Whether some link is not perfect.
    #[inline]
    pub fn is_some(&self) -> bool {
        !self.lossy.is_empty()
    }

    /// What `link` does to packets that it does not lose.
    pub fn impaired(&mut self, link: u32) -> Option<&mut Impaired> {
        self.impaired.get_mut(link as usize)?.as_mut()
    }

    /// Whether `link` loses the next packet, of `len` bytes and a flow of `group`.
    #[inline]
    pub fn loses(&mut self, link: u32, group: usize, len: u32) -> bool {
        let bad = self.impaired(link).is_some_and(Impaired::loses);
        let Some(Some(lossy)) = self.lossy.get_mut(link as usize) else { return false };
        let lost = lossy.loses(group, len, bad);
        if cfg!(debug_assertions) {
            lossy.check();
        }
        lost
    }

    /// The measuring window opens: counters begin again.
    pub fn open(&mut self) {
        for link in self.lossy.iter_mut().flatten() {
            (link.offered, link.carried) = (Count::default(), Count::default());
            link.lost.fill(Count::default());
        }
    }

    /// The links that lose packets, with their numbers.
    pub fn links(&self) -> impl Iterator<Item = (usize, &LossyLink)> {
        self.lossy.iter().enumerate().filter_map(|(number, link)| link.as_ref().map(|link| (number, link)))
    }
}
