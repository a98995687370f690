//! What happens to the queue of a vector: packets of a mix of flows before a link, phase by phase.

use fairdrop::{Ecn, Meta, Philox};

use crate::Numbers;

/// One vector to be made.
#[derive(Clone, Debug)]
pub struct Case {
    /// The discipline, as in [`fairdrop::CATALOGUE`].
    pub discipline: &'static str,
    /// The vector among those of its discipline.
    pub name: &'static str,
    /// What it exercises.
    pub description: &'static str,
    /// Where that is specified.
    pub source: &'static str,
    /// Packets that may wait.
    pub limit: u32,
    /// Rate of the link.
    pub link_rate_bps: u64,
    /// Parameters that differ from their defaults: `owner.name`, value as in a scenario.
    pub settings: Vec<(&'static str, &'static str)>,
    /// How random numbers are made.
    pub numbers: Numbers,
    /// Flows that do not have both hosts to themselves: flow, source, destination.
    pub hosts: Vec<(u64, u64, u64)>,
    /// Who sends.
    pub mix: Mix,
    /// When.
    pub phases: Vec<Phase>,
    /// Whether the host calls `tick` at the deadlines; otherwise the discipline catches up with the next event. One that holds
    /// packets back is called in any case, and then asked.
    pub ticks: bool,
}

/// Flows, lengths and fields of packets, drawn for each arrival.
#[derive(Clone, Debug)]
pub struct Mix {
    /// Each flow with its weight among the arrivals and its class.
    pub flows: Vec<(u64, u32, u8)>,
    /// Each length in bytes with its weight.
    pub lengths: Vec<(u32, u32)>,
    /// ECN fields, equally likely.
    pub ecn: Vec<Ecn>,
    /// Rate labels, by place among `flows`; none where it is empty.
    pub labels: Vec<u16>,
}

/// A stretch of time.
#[derive(Clone, Copy, Debug)]
pub enum Phase {
    /// Arrivals at `percent` of the link's rate on average; gaps are uniform from 0 to twice the mean.
    Load { arrivals: u32, percent: u64 },
    /// Arrivals at one instant.
    Burst { arrivals: u32 },
    /// The link stands still while arrivals come at its own rate.
    Stall { arrivals: u32 },
    /// No arrivals for a time.
    Silence { ns: u64 },
    /// No arrivals while a link that has nothing to send asks again and again.
    Poll { times: u32, every_ns: u64 },
    /// Nothing arrives until nothing waits, and the link has asked in vain.
    Drain,
}

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    /// A packet arrives.
    Enqueue(Meta),
    /// The link is free and asks.
    Dequeue,
    /// The deadline of a timer has come.
    Tick,
}

/// Draws packets and gaps.
pub(crate) struct Sender<'a> {
    mix: &'a Mix,
    random: Philox,
}

impl<'a> Sender<'a> {
    pub(crate) fn new(mix: &'a Mix, seed: u64) -> Self {
        Self { mix, random: Philox::new(seed, 1, 0) }
    }

    fn below(&mut self, bound: u64) -> u64 {
        fairdrop::uniform_below(bound, || self.random.next_u64())
    }

    fn place(&mut self, weights: impl Iterator<Item = u32> + Clone) -> usize {
        let mut left = self.below(weights.clone().map(u64::from).sum());
        let place = weights.enumerate().find_map(|(place, weight)| {
            let found = left < u64::from(weight);
            left = left.saturating_sub(u64::from(weight));
            found.then_some(place)
        });
        place.unwrap_or(0)
    }

    pub(crate) fn packet(&mut self) -> Meta {
        let mix = self.mix;
        let place = self.place(mix.flows.iter().map(|(_, weight, _)| *weight));
        let (flow, _, class) = mix.flows[place];
        let len = mix.lengths[self.place(mix.lengths.iter().map(|(_, weight)| *weight))].0;
        let ecn = mix.ecn[self.below(mix.ecn.len() as u64) as usize];
        let label = mix.labels.get(place).copied().unwrap_or(0);
        Meta { flow, len, class, ecn, label }
    }

    /// The gap before an arrival when they bring `percent` of `rate_bps`.
    pub(crate) fn gap(&mut self, rate_bps: u64, percent: u64) -> u64 {
        let weight: u64 = self.mix.lengths.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let bytes: u64 =
            self.mix.lengths.iter().map(|(len, weight)| u64::from(*len) * u64::from(*weight)).sum();
        let mean = bytes * 8_000_000_000 / weight * 100 / (rate_bps * percent);
        self.below(2 * mean + 1)
    }
}
