//! Counters of a program: `struct fd_counters` of `bpf/kernel/qdisc.h`.

use super::settings::LAYOUT;
use serde::Serialize;

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// Packets.
    pub packets: u64,
    /// Bytes, as the kernel counts them for the device.
    pub bytes: u64,
}

/// Drops by cause (`enum fd_cause`), the one that stands for none left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Drops {
    /// RED, at random.
    pub red_early: Amount,
    /// RED, above its upper threshold.
    pub red_forced: Amount,
    /// An arrival of the flow of a packet that it was compared with.
    pub match_arriving: Amount,
    /// The packet that it was compared with.
    pub match_queued: Amount,
    /// WARD: both of two compared packets of one flow.
    pub ward_pair_queued: Amount,
    /// No room.
    pub overflow: Amount,
    /// COLLAR: a suspect above its limit.
    pub filter: Amount,
    /// COLLAR: a flow that was met in the memory.
    pub memory: Amount,
    /// COLLAR: its controller.
    pub pie: Amount,
}

/// What a program has counted since it was attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Slots of the ring.
    pub slots: u32,
    /// Whether a qdisc uses the program.
    pub attached: bool,
    /// Arrived.
    pub arrived: Amount,
    /// Handed to the device.
    pub departed: Amount,
    /// Taken away: the device went down.
    pub flushed: Amount,
    /// Dropped.
    pub dropped: Drops,
    /// Waiting packets that arrivals were compared with.
    pub compared: u64,
    /// Draws given up.
    pub stuck_draws: u64,
    /// Arrivals that a plain FIFO took, since the settings in the map are out of range.
    pub unchecked: u64,
}

impl Counters {
    /// The counters in the content of a map; none where it is of another form.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut words =
            bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        let (layout, slots, attached) = (words.next()?, words.next()?, words.next()? != 0);
        let mut longs = bytes
            .get(16..)?
            .chunks_exact(8)
            .map(|long| u64::from_ne_bytes(std::array::from_fn(|at| long[at])));
        let mut amount = || Some(Amount { packets: longs.next()?, bytes: longs.next()? });
        let [arrived, departed, flushed, _no_cause] = [amount()?, amount()?, amount()?, amount()?];
        let dropped = Drops {
            red_early: amount()?,
            red_forced: amount()?,
            match_arriving: amount()?,
            match_queued: amount()?,
            ward_pair_queued: amount()?,
            overflow: amount()?,
            filter: amount()?,
            memory: amount()?,
            pie: amount()?,
        };
        let (compared, stuck_draws, unchecked) = (longs.next()?, longs.next()?, longs.next()?);
        (layout == LAYOUT).then_some(Self {
            slots,
            attached,
            arrived,
            departed,
            flushed,
            dropped,
            compared,
            stuck_draws,
            unchecked,
        })
    }

    /// Drops by the name of their cause.
    pub fn drops(&self) -> [(&'static str, Amount); 9] {
        let Drops {
            red_early,
            red_forced,
            match_arriving,
            match_queued,
            ward_pair_queued,
            overflow,
            filter,
            memory,
            pie,
        } = self.dropped;
        [
            ("red_early", red_early),
            ("red_forced", red_forced),
            ("match_arriving", match_arriving),
            ("match_queued", match_queued),
            ("ward_pair_queued", ward_pair_queued),
            ("overflow", overflow),
            ("filter", filter),
            ("memory", memory),
            ("pie", pie),
        ]
    }

    /// Packets that wait: what neither left nor was dropped.
    pub fn waiting(&self) -> Amount {
        let gone = self.drops().into_iter().map(|(_, amount)| amount).chain([self.departed, self.flushed]);
        gone.fold(self.arrived, |left, gone| Amount {
            packets: left.packets.wrapping_sub(gone.packets),
            bytes: left.bytes.wrapping_sub(gone.bytes),
        })
    }
}
