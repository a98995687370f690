//! Conservation of packets: every packet that entered the network has left it, in one of four ways, or is under way.
//! Counted in builds with debug assertions only, and checked at every event there.

/// How a packet leaves the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A host took it.
    Delivered,
    /// A discipline dropped it.
    Dropped,
    /// A link lost it at random.
    LinkLoss,
    /// The buffer of a link that is not under study was full.
    Stray,
}

/// How many packets entered, and how many left in each way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conservation {
    entered: u64,
    left: [u64; 4],
}

impl Conservation {
    #[inline]
    pub fn enter(&mut self) {
        if cfg!(debug_assertions) {
            self.entered += 1;
        }
    }

    #[inline]
    pub fn leave(&mut self, fate: Fate) {
        if cfg!(debug_assertions) {
            self.left[fate as usize] += 1;
        }
    }

    /// Conservation.
    #[inline]
    pub fn check(&self, under_way: usize) {
        if cfg!(debug_assertions) {
            let left: u64 = self.left.iter().sum();
            assert_eq!(self.entered, left + under_way as u64, "conservation of packets: {self:?}");
        }
    }
}

// Without debug assertions nothing is counted.
#[cfg(debug_assertions)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_entered_left_or_is_under_way() {
        let mut conservation = Conservation::default();
        (0..5).for_each(|_| conservation.enter());
        for fate in [Fate::Delivered, Fate::Dropped, Fate::LinkLoss, Fate::Stray] {
            conservation.leave(fate);
        }
        conservation.check(1);
    }

    #[test]
    #[should_panic(expected = "conservation of packets")]
    fn a_packet_that_vanished() {
        let mut conservation = Conservation::default();
        (0..3).for_each(|_| conservation.enter());
        conservation.leave(Fate::Delivered);
        conservation.check(1);
    }
}
