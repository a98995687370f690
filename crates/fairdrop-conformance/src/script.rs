//! What happens to the queue of a vector: packets of a mix of flows before a link, phase by phase.

use fairdrop::{Ecn, Meta, Philox, Stream};

use crate::{Numbers, stream_named};

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
    /// Modes in which bursts are decided; none where arrivals are decided one by one.
    pub burst_mode: Vec<&'static str>,
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
#[allow(missing_docs, reason = "each variant says what its fields are")]
#[derive(Clone, Copy, Debug)]
pub enum Phase {
    /// Arrivals at `percent` of the link's rate on average; gaps are uniform from 0 to twice the mean.
    Load { arrivals: u32, percent: u64 },
    /// Arrivals at one instant.
    Burst { arrivals: u32 },
    /// Arrivals a fixed time apart, so that what is measured meets its thresholds exactly.
    Even { arrivals: u32, gap_ns: u64 },
    /// Bursts of 1 to `most` arrivals at one instant, after which a free link asks; all of them bring `percent` of its rate.
    Bursts { bursts: u32, most: u32, percent: u64 },
    /// Arrivals of one length a fixed time apart, the first of `flow`, each next one of the flow `step` further on.
    Flow { flow: u64, step: u64, len: u32, arrivals: u32, gap_ns: u64 },
    /// The link stands still while arrivals come at its own rate.
    Stall { arrivals: u32 },
    /// No arrivals for a time.
    Silence { ns: u64 },
    /// No arrivals while a link that has nothing to send asks again and again.
    Poll { times: u32, every_ns: u64 },
    /// Nothing arrives until nothing waits, and the link has asked in vain.
    Drain,
    /// Events one by one, in words (see [`Word`]): times, packets, and random numbers.
    Events(&'static str),
}

/// A word of [`Phase::Events`]. The words between `[` and `]*20` are there 20 times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// `@500`: 500 nanoseconds pass.
    Wait(u64),
    /// `+7:1500`, `+7:1500:1`: a packet of this flow, length, and ECN field.
    Packet(u64, u32, u8),
    /// `-`: the link asks.
    Ask,
    /// `pie_coin=80000000`: the upper 32 bits of all further numbers of this stream. The lower bits follow after a point, or are 0.
    Number(Stream, u64),
}

impl Word {
    /// All words of a text, repetitions written out.
    pub(crate) fn all(text: &str) -> Option<Vec<Self>> {
        let mut open = vec![Vec::new()];
        for word in text.split_whitespace() {
            if word == "[" {
                open.push(Vec::new());
            } else if let Some(times) = word.strip_prefix("]*") {
                let (words, times) = (open.pop()?, times.parse().ok()?);
                open.last_mut()?.extend(words.repeat(times));
            } else {
                open.last_mut()?.push(Self::of(word)?);
            }
        }
        let words = open.pop()?;
        open.is_empty().then_some(words)
    }

    fn of(word: &str) -> Option<Self> {
        if word == "-" {
            return Some(Self::Ask);
        }
        if let Some(ns) = word.strip_prefix('@') {
            return ns.parse().ok().map(Self::Wait);
        }
        if let Some(packet) = word.strip_prefix('+') {
            let mut fields = packet.split(':');
            let (flow, len) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
            let ecn = fields.next().map_or(Some(0), |ecn| ecn.parse().ok())?;
            return fields.next().is_none().then_some(Self::Packet(flow, len, ecn));
        }
        let (stream, number) = word.split_once('=')?;
        let (upper, lower) = number.split_once('.').unwrap_or((number, "0"));
        let half = |digits| u32::from_str_radix(digits, 16).ok().map(u64::from);
        Some(Self::Number(stream_named(stream)?, half(upper)? << 32 | half(lower)?))
    }
}

impl Phase {
    /// A stretch of time in words, lengths of time in microseconds: `burst:5`, `even:40:500`, `load:20:150`, `stall:9`,
    /// `silence:3000`, `silence:0.064`, `poll:3:1000`, `drain`.
    pub fn of_words(words: &str) -> Option<Self> {
        let fields: Vec<&str> = words.split(':').collect();
        let number = |digits: &str| digits.parse::<u32>().ok();
        Some(match *fields.as_slice() {
            ["burst", arrivals] => Self::Burst { arrivals: number(arrivals)? },
            ["even", arrivals, us] => Self::Even { arrivals: number(arrivals)?, gap_ns: ns_of(us)? },
            ["load", arrivals, percent] => {
                Self::Load { arrivals: number(arrivals)?, percent: number(percent)?.into() }
            }
            ["stall", arrivals] => Self::Stall { arrivals: number(arrivals)? },
            ["silence", us] => Self::Silence { ns: ns_of(us)? },
            ["poll", times, us] => Self::Poll { times: number(times)?, every_ns: ns_of(us)? },
            ["drain"] => Self::Drain,
            _ => return None,
        })
    }
}

/// Nanoseconds of microseconds with at most three decimals.
fn ns_of(us: &str) -> Option<u64> {
    let (whole, part) = us.split_once('.').unwrap_or((us, ""));
    let part = format!("{part:0<3}");
    (part.len() == 3).then(|| Some(whole.parse::<u64>().ok()? * 1000 + part.parse::<u64>().ok()?))?
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

    /// A packet of a flow, which has the class that the mix gives it.
    pub(crate) fn packet_of(&mut self, flow: u64, len: u32) -> Meta {
        let class = self.mix.flows.iter().find(|known| known.0 == flow).map_or(0, |known| known.2);
        Meta { flow, len, class, ..self.packet() }
    }

    /// From 1 to `most`.
    pub(crate) fn size(&mut self, most: u32) -> u64 {
        1 + self.below(u64::from(most))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_from_words() {
        let read = Word::all("pie_coin=80000000 candidate=1.a [ @500 [ +7:1500:3 ]*2 - ]*2").unwrap();
        let packet = Word::Packet(7, 1500, 3);
        let round = [Word::Wait(500), packet, packet, Word::Ask];
        let numbers =
            [Word::Number(Stream::PieCoin, 1 << 63), Word::Number(Stream::Candidate, (1 << 32) + 10)];
        assert_eq!(read, [&numbers[..], &round, &round].concat());
        for wrong in ["+7", "+7:1:2:3", "@", "[ -", "- ]*2", "pie=1", "pie_coin=100000000", "x"] {
            assert_eq!(Word::all(wrong), None, "{wrong}");
        }
    }
}
