//! State of a sender modelled on the Linux kernel.

use super::config::LinuxConfig;
use super::outstanding::Outstanding;
use super::pacing::Paced;
use super::prr::Prr;
use super::rack::Rack;
use super::round_trip::RoundTrip;
use crate::accurate_ecn::Reconstruction;
use crate::config::Config;
use crate::congestion::Window;
use fairdrop::Time;

/// Segments reported above one that mean that it is lost, unless segments were seen out of order (`tcp_reordering`).
pub(super) const REORDERING: u32 = 3;

/// State of congestion avoidance (`icsk_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing.
    #[default]
    Open,
    /// A segment is reported out of order.
    Disorder,
    /// The window is being reduced for an echo of congestion.
    Reducing,
    /// Fast recovery.
    Recovery,
    /// The retransmission timer ran out.
    Loss,
}

/// State of this sender, beside that of all senders.
#[derive(Clone, Debug)]
pub struct Linux {
    pub(super) state: State,
    /// `high` when that state began: it ends when this is acknowledged.
    pub(super) recover: u32,
    pub(super) outstanding: Outstanding,
    pub(super) rack: Rack,
    pub(super) round_trip: RoundTrip,
    /// The least round trip so far.
    pub(super) min_rtt: Time,
    /// Which timer runs.
    pub(super) timer: Timer,
    /// Timeouts since the last acknowledgement of new data.
    pub(super) timeouts: u32,
    /// The tail loss probe that was not answered yet.
    pub(super) probe: Option<Probe>,
    /// New data decides whether the timeout was spurious.
    pub(super) frto: bool,
    /// Segments reported above one that mean that it is lost.
    pub(super) reordering: u32,
    pub(super) prr: Prr,
    pub(super) undo: Undo,
    pub(super) usage: Usage,
    /// Marks, where feedback of them is accurate.
    pub(super) marks: Reconstruction,
    /// State for a control that receives rates of delivery, and may pace.
    pub(super) paced: Option<Box<Paced>>,
}

impl Default for Linux {
    fn default() -> Self {
        Self {
            state: State::Open,
            recover: 0,
            outstanding: Outstanding::default(),
            rack: Rack::default(),
            round_trip: RoundTrip::default(),
            min_rtt: Time::NEVER,
            timer: Timer::Retransmission,
            timeouts: 0,
            probe: None,
            frto: false,
            reordering: REORDERING,
            prr: Prr::default(),
            undo: Undo::default(),
            usage: Usage::default(),
            marks: Reconstruction::default(),
            paced: None,
        }
    }
}

impl Linux {
    /// State of a new connection.
    pub fn new(config: &Config<LinuxConfig>) -> Self {
        let mut linux = Self { paced: config.rates.then(Box::default), ..Self::default() };
        linux.outstanding.found = config.rates.then(Vec::new);
        linux.outstanding.leaks = config.family.retrans_leak;
        linux
    }
}

/// Which timer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    Retransmission,
    /// More segments may count as lost by then.
    Reordering,
    /// No ACK has arrived for two round trips.
    Probe,
}

/// A tail loss probe in flight (RFC 8985, section 7.3).
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// `high` after it (`TLP.end_seq`).
    pub high: u32,
    /// It was a segment sent again, not new data.
    pub again: bool,
}

/// The reduction that may be undone, and the evidence needed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// The window before the reduction; `None` where it stays reduced.
    pub before: Option<Window>,
    /// The first unacknowledged segment when recovery began (`undo_marker`).
    pub(super) marker: Option<u32>,
    /// Retransmissions of which no copy was reported; `None` before the first (`undo_retrans`).
    pub(super) unanswered: Option<u32>,
    /// When the first retransmission was sent (`retrans_stamp`).
    pub(super) first: Option<Time>,
    /// Sending time of the segment whose timestamp the last ACK echoes.
    pub(super) echoed: Option<Time>,
}

/// Use of the window (`tcp_cwnd_validate`; RFC 7661).
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// The window was full.
    pub(super) is_full: bool,
    /// Most segments outstanding while it was not.
    pub(super) most: u32,
    /// That counts until this segment is acknowledged.
    pub(super) until: u32,
    /// Segments that have arrived since the window last grew by one (`snd_cwnd_cnt`).
    pub arrived: u32,
}
