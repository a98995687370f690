//! Wrong forms of the references of RED, `CHOKeW`, `CoDel` and PIE: mistakes that implementations make. What is meant to notice a
//! mistake is played to them.

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// RED: each `dequeue` that finds nothing starts the idle time anew, and not the first alone.
    RedRestartsIdleClock,
    /// RED: a forced drop sets count to -1 in place of 0.
    RedForgetsCountWhenForced,
    /// RED with `ns2_compat`: a forced drop uses up the pass of the first arrival over `min_th`.
    RedForcedUsesFreePass,
    /// `CoDel`: `if` in place of `while`, so that one `dequeue` drops one packet at most.
    CoDelDropsOnce,
    /// `CoDel`: a dropping state that ended 8 intervals ago or more is forgotten, in place of 16.
    CoDelForgetsEarly,
    /// `CoDel`: `first_above_time` stays when the last packet is taken.
    CoDelKeepsClockAtLastPacket,
    /// `CoDel`: `first_above_time` stays when the queue runs empty: neither the last packet clears it nor that there is none.
    CoDelKeepsClockWhenEmpty,
    /// FQ-CoDel: `first_above_time` stays when there is no packet to take. In a FIFO this is no mistake, since the last packet
    /// has cleared it (RFC 8289, 5.6); where the bytes of other queues count as well it has not.
    FqCoDelKeepsClockWhenEmpty,
    /// PIE: spares an arrival while at most two packets wait, and not two mean packets' bytes.
    PieCountsPackets,
    /// PIE: spares an arrival below two mean packets, and not at exactly two.
    PieDropsAtTwoPackets,
    /// PIE: low delay spares an arrival, however high the probability is.
    PieSparesWhateverTheProbability,
    /// PIE: low delay spares no arrival.
    PieNeverSparesLowDelay,
    /// PIE: the burst allowance is that of the beginning alone.
    PieNeverRearms,
    /// PIE: nothing is dropped for certain, however much the probabilities since the last drop add up to.
    PieHasNoLatestDrop,
    /// CHOKeW: the drawing factor is multiplied by the weight, and not divided.
    ChokeWMultipliesByWeight,
}

impl Broken {
    pub const ALL: [Self; 15] = [
        Self::RedRestartsIdleClock,
        Self::RedForgetsCountWhenForced,
        Self::RedForcedUsesFreePass,
        Self::CoDelDropsOnce,
        Self::CoDelForgetsEarly,
        Self::CoDelKeepsClockAtLastPacket,
        Self::CoDelKeepsClockWhenEmpty,
        Self::FqCoDelKeepsClockWhenEmpty,
        Self::PieCountsPackets,
        Self::PieDropsAtTwoPackets,
        Self::PieSparesWhateverTheProbability,
        Self::PieNeverSparesLowDelay,
        Self::PieNeverRearms,
        Self::PieHasNoLatestDrop,
        Self::ChokeWMultipliesByWeight,
    ];

    /// The discipline whose vectors have to notice.
    pub fn discipline(self) -> &'static str {
        match self {
            Self::RedRestartsIdleClock | Self::RedForgetsCountWhenForced | Self::RedForcedUsesFreePass => {
                "red"
            }
            Self::CoDelDropsOnce
            | Self::CoDelForgetsEarly
            | Self::CoDelKeepsClockAtLastPacket
            | Self::CoDelKeepsClockWhenEmpty => "codel",
            Self::FqCoDelKeepsClockWhenEmpty => "fq_codel",
            Self::PieCountsPackets
            | Self::PieDropsAtTwoPackets
            | Self::PieSparesWhateverTheProbability
            | Self::PieNeverSparesLowDelay
            | Self::PieNeverRearms
            | Self::PieHasNoLatestDrop => "pie",
            Self::ChokeWMultipliesByWeight => "chokew",
        }
    }
}
