//! How many cases the property tests run.

use proptest::prelude::ProptestConfig;

/// 10,000 cases, or what `PROPTEST_CASES` says.
pub fn cases() -> ProptestConfig {
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig { cases: wanted.unwrap_or(10_000), failure_persistence: None, ..ProptestConfig::default() }
}
