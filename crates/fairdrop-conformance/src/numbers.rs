//! Random numbers by stream, and the names of the streams.

use fairdrop::{Philox, Stream};

/// Every stream with its name in the files.
const STREAMS: [(Stream, &str); Stream::COUNT] = [
    (Stream::Candidate, "candidate"),
    (Stream::EarlyDrop, "early_drop"),
    (Stream::DrawingFraction, "drawing_fraction"),
    (Stream::WardCoin, "ward_coin"),
    (Stream::BlueCoin, "blue_coin"),
    (Stream::PieCoin, "pie_coin"),
    (Stream::SredCoin, "sred_coin"),
    (Stream::Zombie, "zombie"),
    (Stream::ZombieOverwrite, "zombie_overwrite"),
    (Stream::CsfqCoin, "csfq_coin"),
    (Stream::FilterCoin, "filter_coin"),
    (Stream::AfdCoin, "afd_coin"),
    (Stream::AfdSample, "afd_sample"),
    (Stream::SfbCoin, "sfb_coin"),
    (Stream::DualPi2Coin, "dualpi2_coin"),
    (Stream::Service, "service"),
    (Stream::CountDown, "count_down"),
];

/// The name of a stream in the files.
pub fn stream_name(stream: Stream) -> &'static str {
    STREAMS[stream as usize].1
}

/// The stream with this name.
pub fn stream_named(name: &str) -> Option<Stream> {
    STREAMS.iter().find(|(_, known)| *known == name).map(|(stream, _)| *stream)
}

/// How the random numbers of a vector are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// Uniform.
    #[default]
    Uniform,
    /// Multiples of 1/8 for random draws: they often equal a probability, and "below" then differs from "at most". Draws of
    /// places stay uniform, since eight of them may all be holes.
    Eighths,
    /// A quarter each of the lowest and of the highest number: draws that must be drawn again.
    Ends,
    /// From 7/8 up: what happens without random drops, and must happen at last.
    High,
    /// This number every time: one that equals a probability, or 0, with which every departure is a sample of COLLAR.
    Same(u64),
}

/// The random numbers of a vector.
#[derive(Clone, Debug)]
pub(crate) struct Dice {
    numbers: Numbers,
    streams: [Philox; Stream::COUNT],
    /// By stream, in place of its numbers.
    given: [Option<u64>; Stream::COUNT],
}

impl Dice {
    pub(crate) fn new(numbers: Numbers, seed: u64) -> Self {
        let streams = std::array::from_fn(|stream| Philox::new(seed, 0, stream as u32));
        Self { numbers, streams, given: [None; Stream::COUNT] }
    }

    /// Gives all further numbers of a stream.
    pub(crate) fn give(&mut self, stream: Stream, bits: u64) {
        self.given[stream as usize] = Some(bits);
    }

    pub(crate) fn next(&mut self, stream: Stream) -> u64 {
        if let Some(given) = self.given[stream as usize] {
            return given;
        }
        let bits = self.streams[stream as usize].next_u64();
        match self.numbers {
            Numbers::Uniform => bits,
            Numbers::Eighths if matches!(stream, Stream::Candidate | Stream::Zombie) => bits,
            Numbers::Eighths => bits & (7 << 61),
            Numbers::High => bits | (7 << 61),
            Numbers::Same(number) => number,
            Numbers::Ends => match self.streams[stream as usize].next_u64() >> 62 {
                0 => 0,
                1 => u64::MAX,
                _ => bits,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stream_has_its_name() {
        for (number, (stream, name)) in STREAMS.into_iter().enumerate() {
            assert_eq!((stream as usize, stream_name(stream)), (number, name));
            assert_eq!(stream_named(name), Some(stream));
        }
        assert_eq!(stream_named("none"), None);
    }
}
