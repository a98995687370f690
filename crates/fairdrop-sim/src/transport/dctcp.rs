//! DCTCP (RFC 8257): marks reduce the window by how many there were, over the loss recovery of SACK.

use super::tcp::Sender;
use crate::scenario::DctcpConfig;

/// The least window that marks leave, packets.
const MIN_WINDOW: f64 = 2.0;

/// What DCTCP remembers of a connection (section 3.3), in segments.
#[derive(Clone, Debug)]
pub struct Dctcp {
    /// Estimate of the fraction of segments that are marked.
    pub alpha: f64,
    acked: u32,
    marked: u32,
    /// The observation window ends when something beyond this is acknowledged.
    end: u32,
}

impl Dctcp {
    pub const fn new(config: DctcpConfig) -> Self {
        Self { alpha: config.initial_alpha, acked: 0, marked: 0, end: 0 }
    }

    /// What marks leave of the window `cwnd` (section 3.3, step 9).
    pub fn reduced(&self, cwnd: f64) -> f64 {
        (cwnd * (1.0 - self.alpha / 2.0)).max(MIN_WINDOW)
    }
}

/// An ACK acknowledges `newly_acked` segments up to `ack`, with or without an echo (section 3.3, steps 1 to 8).
pub fn note_ack(tcp: &mut Sender, ack: u32, echo: bool, config: DctcpConfig) {
    let newly_acked = ack.saturating_sub(tcp.una);
    let Some(dctcp) = tcp.own.dctcp() else { return };
    dctcp.acked += newly_acked;
    dctcp.marked += if echo { newly_acked } else { 0 };
    if ack <= dctcp.end {
        return;
    }
    let fraction = f64::from(dctcp.marked) / f64::from(dctcp.acked.max(1));
    dctcp.alpha = dctcp.alpha * (1.0 - config.g) + config.g * fraction;
    dctcp.end = tcp.next.max(ack);
    (dctcp.acked, dctcp.marked) = (0, 0);
}
