//! How many cases the property tests run, and whether random ones are worth something.

use fairdrop::DropCause;
use proptest::prelude::{ProptestConfig, Strategy};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// What is seen in fewer random cases than these is not tested well.
const OFTEN: u32 = 50;

/// 2,000 cases, or `PROPTEST_CASES`. Mutation testing needs 48 to find what it finds.
pub fn cases() -> ProptestConfig {
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig { cases: wanted.unwrap_or(2_000), failure_persistence: None, ..ProptestConfig::default() }
}

/// Of a number of random cases, the same each time, at least `OFTEN` have each of `wanted` among the causes that `seen` finds.
pub fn reach<T>(
    cases: u32,
    strategy: &impl Strategy<Value = T>,
    wanted: &[DropCause],
    seen: impl Fn(T) -> Result<Vec<DropCause>, String>,
) {
    let mut runner = TestRunner::deterministic();
    let mut reached = vec![0; wanted.len()];
    for _ in 0..cases {
        let found = seen(strategy.new_tree(&mut runner).unwrap().current()).unwrap();
        for (cause, times) in wanted.iter().zip(&mut reached) {
            *times += u32::from(found.contains(cause));
        }
    }
    assert!(reached.iter().all(|&times| times >= OFTEN), "of {cases}, by cause: {reached:?}");
}
