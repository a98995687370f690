//! Numbers: functions with the same bits on every platform, random generators for hosts, a token bucket, a shaper's clock.

pub(crate) mod elementary;
pub(crate) mod exp;
pub(crate) mod philox;
pub(crate) mod small_random;
pub(crate) mod token_bucket;
pub(crate) mod virtual_clock;
