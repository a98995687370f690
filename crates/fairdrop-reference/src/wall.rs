//! RED that a test can fill: for what stands before RED and acts on its drops.

use fairdrop::{AnyParams, RedParams};

use crate::host::Bottleneck;

/// RED that drops every packet that finds ten waiting, and no other.
pub fn wall() -> RedParams {
    RedParams { limit: 20, min_th: 9.5, max_th: 10.0, max_p: 0.0, w_q: 1.0, ..RedParams::default() }
}

/// Ten packets of flow 9 behind a busy transmitter, so that RED drops whatever comes.
pub fn filled(params: AnyParams) -> Bottleneck {
    let mut link = Bottleneck::blocked(params);
    (0..10).for_each(|_| assert_eq!(link.arrive(9).causes(), []));
    link
}
