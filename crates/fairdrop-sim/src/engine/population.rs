//! Populations: groups whose connections come and go. The flow number of a finished connection is given to another
//! once none of its packets is under way, so memory is bounded by the connections that are open at once.

use crate::random::{self, BoundedPareto, FlowPurpose, Gaps};
use crate::scenario::Group;
use fairdrop::{Philox, Time};
use fairdrop_tcp::{Connections, SizeLaw};

/// The connections of one group.
#[derive(Debug)]
pub struct Population {
    arrivals: Gaps,
    sizes: Philox,
    /// Where sizes follow Pareto's law.
    law: Option<BoundedPareto>,
    /// When the next connection begins.
    next: Time,
    /// Flow numbers to be given out again.
    free: Vec<u32>,
}

impl Population {
    /// The population of group number `number`, whose first connection begins a gap after the group's start.
    pub fn new(number: u32, group: &Group, seed: u64) -> Option<Self> {
        let connections = group.transport.tcp()?.connections.as_ref()?;
        let law = match connections.sizes {
            SizeLaw::Pareto { mean, high, shape } => Some(BoundedPareto::with_mean(mean, high, shape)),
            SizeLaw::Constant(_) | SizeLaw::Exponential(_) => None,
        };
        let mut population = Self {
            arrivals: Gaps::new(random::of_flow(seed, number, FlowPurpose::Connection)),
            sizes: random::of_flow(seed, number, FlowPurpose::Size),
            law,
            next: group.start,
            free: Vec::new(),
        };
        population.advance(connections);
        Some(population)
    }

    /// When the next connection begins.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Begins the next connection: how many bytes it sends.
    pub fn begin(&mut self, connections: &Connections) -> u64 {
        self.advance(connections);
        let bytes = match (connections.sizes, &self.law) {
            (SizeLaw::Constant(bytes), _) => bytes,
            (SizeLaw::Exponential(mean), _) => mean * random::exponential(&mut self.sizes),
            (SizeLaw::Pareto { mean, .. }, law) => law.map_or(mean, |law| law.sample(&mut self.sizes)),
        };
        (bytes.ceil() as u64).max(1)
    }

    fn advance(&mut self, connections: &Connections) {
        self.next = self.next.after(self.arrivals.next_at(connections.per_s));
    }

    /// A flow number that was used before, if one is free.
    pub fn reuse(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Flow numbers that are free.
    #[cfg(test)]
    pub fn free(&self) -> &[u32] {
        &self.free
    }

    /// Flow number `flow` may be given out again.
    pub fn release(&mut self, flow: u32) {
        self.free.push(flow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    const COUNT: u32 = 100_000;

    /// Gaps are exponential and sizes follow their law: means and variances over 100000 connections.
    #[test]
    fn gaps_and_sizes() {
        let text = "[[groups]]\nname = \"web\"\ntransport = \"reno\"\nconnections = 5\ncount = 4\n\
            transfer = \"10kB\"\nsizes = \"exponential\"\n";
        let scenario = Scenario::parse(text, "test", &[]).unwrap();
        let group = &scenario.groups[0];
        let connections = group.transport.tcp().unwrap().connections.as_ref().unwrap();
        let mut population = Population::new(0, group, 1).unwrap();
        let (mut last, mut gaps, mut sizes) = (Time::ZERO, Vec::new(), Vec::new());
        for _ in 0..COUNT {
            gaps.push(population.next().since(last).seconds());
            last = population.next();
            sizes.push(population.begin(connections) as f64);
        }
        for (values, expected) in [(gaps, 0.05), (sizes, 10_000.5)] {
            let mean = values.iter().sum::<f64>() / f64::from(COUNT);
            let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(COUNT);
            assert!((mean / expected - 1.0).abs() < 5.0 / f64::from(COUNT).sqrt(), "{mean}");
            // The variance of an exponential's sample variance is 8 m^4 / n.
            assert!(
                (variance.sqrt() / expected - 1.0).abs() < 5.0 * (2.0 / f64::from(COUNT)).sqrt(),
                "{variance}"
            );
        }
    }
}
