//! Numbers: functions with the same bits on every platform, a random generator for hosts, a token bucket, a shaper's clock.

pub(crate) mod elementary;
pub(crate) mod exp;
pub(crate) mod philox;
pub(crate) mod token_bucket;
pub(crate) mod virtual_clock;
