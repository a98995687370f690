//! Completion times of finite transfers.

use super::times::Times;
use fairdrop::Time;

/// Upper ends of the classes of size, in bytes; the last class has none.
pub const CLASS_ENDS: [u64; 3] = [10_000, 100_000, 1_000_000];

/// Transfers of one class of size.
#[derive(Clone, Debug, Default)]
pub struct SizeClass {
    completion: Times,
    sum_ns: u128,
    bytes: u128,
}

impl SizeClass {
    /// Completion times.
    pub fn completion_ns(&self) -> &Times {
        &self.completion
    }

    /// Mean completion time in seconds.
    pub fn mean_s(&self) -> f64 {
        let count = self.completion.len();
        if count == 0 { 0.0 } else { self.sum_ns as f64 / count as f64 / 1e9 }
    }

    /// Bytes of all its transfers together.
    pub fn bytes(&self) -> f64 {
        self.bytes as f64
    }
}

/// The transfers of one group that began or ended within the measuring window.
#[derive(Clone, Debug)]
pub struct TransferMeter {
    begun: u64,
    classes: [SizeClass; CLASS_ENDS.len() + 1],
}

impl TransferMeter {
    pub fn new() -> Self {
        Self { begun: 0, classes: Default::default() }
    }

    /// A transfer begins.
    pub fn begin(&mut self) {
        self.begun += 1;
    }

    /// A transfer of `bytes` is complete, `time` after it began.
    pub fn complete(&mut self, bytes: u64, time: Time) {
        let class = &mut self.classes[CLASS_ENDS.partition_point(|&end| end < bytes)];
        class.completion.record(time.ns());
        class.sum_ns += u128::from(time.ns());
        class.bytes += u128::from(bytes);
    }

    /// Transfers that began.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// The classes of size, small first.
    pub fn classes(&self) -> &[SizeClass] {
        &self.classes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_at_the_ends_of_classes() {
        let mut meter = TransferMeter::new();
        for (bytes, ms) in [(1, 2), (10_000, 4), (10_001, 7), (1_000_000, 9), (1_000_001, 11)] {
            meter.begin();
            meter.complete(bytes, Time::from_ms(ms));
        }
        let counts: Vec<_> = meter.classes().iter().map(|class| class.completion_ns().len()).collect();
        assert_eq!((meter.begun(), counts), (5, vec![2, 1, 1, 1]));
        assert_eq!(meter.classes()[0].mean_s(), 0.003);
        assert_eq!(meter.classes()[0].bytes(), 10_001.0);
    }
}
