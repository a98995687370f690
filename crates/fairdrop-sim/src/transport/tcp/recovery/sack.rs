//! Loss recovery with selective acknowledgements (RFC 6675).

use crate::transport::receiver::Blocks;
use crate::transport::tcp::config::TcpConfig;
use crate::transport::tcp::connection::{DUPLICATE_ACKS, Kept, Phase, Sender};
use crate::transport::tcp::messages::Send;
use crate::transport::tcp::scoreboard::{Next, Scoreboard};
use fairdrop::Time;

/// An ACK has come: the scoreboard learns from it. Returns whether it reports anything new.
pub fn update(tcp: &mut Sender, ack: u32, blocks: Option<&Blocks>) -> bool {
    let una = tcp.una.max(ack);
    if let Some(board) = tcp.board_mut() {
        board.acknowledge(una);
    }
    let Some(blocks) = blocks.filter(|blocks| blocks.len() > 0) else { return false };
    let high = tcp.high;
    open_board(tcp).update(una, high, blocks)
}

/// The scoreboard, which is new when there was none.
fn open_board(tcp: &mut Sender) -> &mut Scoreboard {
    let kept = tcp.kept.get_or_insert_with(|| Box::new(Kept::Board(Scoreboard::default())));
    match &mut **kept {
        Kept::Board(board) => board,
        Kept::Linux(_) | Kept::Sack1(_) | Kept::Vegas(_) => unreachable!("these senders have their own"),
    }
}

/// Gives the scoreboard back when nothing is left on it and no recovery needs it.
pub fn tidy(tcp: &mut Sender) {
    if tcp.phase == Phase::Open && tcp.board().is_some_and(Scoreboard::is_empty) {
        tcp.kept = None;
    }
}

/// Whether a duplicate ACK outside recovery, already counted, means a loss (section 5, steps 1 and 2).
pub fn is_lost(tcp: &Sender) -> bool {
    let Some(board) = tcp.board() else { return false };
    let lost = tcp.duplicate_acks >= DUPLICATE_ACKS || board.is_lost(tcp.una);
    lost && tcp.una >= tcp.recover
}

/// The first unacknowledged segment is lost (section 5, step 4).
pub fn begin(tcp: &mut Sender, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
    let una = tcp.una;
    open_board(tcp).retransmitted = una + 1;
    tcp.enter_recovery(now, config, out);
    tcp.window.cwnd = tcp.window.ssthresh;
}

/// A new ACK in recovery: it ends when everything is acknowledged that was sent before it (section 5, step A).
pub fn on_new_ack(tcp: &mut Sender) {
    if tcp.una >= tcp.recover {
        tcp.window.cwnd = tcp.window.ssthresh;
        tcp.phase = Phase::Open;
        tcp.duplicate_acks = 0;
    }
}

/// Sends what the pipe has room for (section 5, step C).
pub fn fill_window(tcp: &mut Sender, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
    let Some(mut kept) = tcp.kept.take() else { return };
    let Kept::Board(board) = &mut *kept else { return };
    let mut pipe = board.pipe(tcp.una, tcp.high);
    while tcp.window.cwnd - f64::from(pipe) >= 1.0 {
        let new_data = f64::from(tcp.high - tcp.una) + 1.0 <= config.max_window;
        match board.next(tcp.una, tcp.high, new_data, config.sack.rescue) {
            Some(Next::Again(segment)) => {
                board.retransmitted = segment + 1;
                tcp.retransmit(now, segment, out);
            }
            Some(Next::Rescue(segment)) => {
                board.note_rescue(tcp.recover);
                tcp.retransmit(now, segment, out);
            }
            Some(Next::New) => tcp.send_new(now, config, out),
            None => break,
        }
        pipe += 1;
    }
    tcp.kept = Some(kept);
}
