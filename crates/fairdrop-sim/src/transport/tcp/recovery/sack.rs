//! Loss recovery with selective acknowledgements (RFC 6675).

use crate::transport::receiver::Blocks;
use crate::transport::tcp::config::TcpConfig;
use crate::transport::tcp::connection::{DUPLICATE_ACKS, Phase, Sender};
use crate::transport::tcp::messages::Send;
use crate::transport::tcp::scoreboard::Next;
use fairdrop::Time;

/// An ACK has come: the scoreboard learns from it. Returns whether it reports anything new.
pub fn update(tcp: &mut Sender, ack: u32, blocks: Option<&Blocks>) -> bool {
    let una = tcp.una.max(ack);
    if let Some(board) = &mut tcp.board {
        board.acknowledge(una);
    }
    let Some(blocks) = blocks.filter(|blocks| blocks.len() > 0) else { return false };
    tcp.board.get_or_insert_default().update(una, tcp.high, blocks)
}

/// Gives the scoreboard back when nothing is left on it and no recovery needs it.
pub fn tidy(tcp: &mut Sender) {
    if tcp.phase == Phase::Open && tcp.board.as_ref().is_some_and(|board| board.is_empty()) {
        tcp.board = None;
    }
}

/// Whether a duplicate ACK outside recovery, already counted, means a loss (section 5, steps 1 and 2).
pub fn is_lost(tcp: &Sender) -> bool {
    let Some(board) = &tcp.board else { return false };
    let lost = tcp.duplicate_acks >= DUPLICATE_ACKS || board.is_lost(tcp.una);
    lost && tcp.una >= tcp.recover
}

/// The first unacknowledged segment is lost (section 5, step 4).
pub fn begin(tcp: &mut Sender, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
    tcp.board.get_or_insert_default().retransmitted = tcp.una + 1;
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
    let Some(mut board) = tcp.board.take() else { return };
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
    tcp.board = Some(board);
}
