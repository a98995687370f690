//! Loss recovery with selective acknowledgements (RFC 6675).

use super::super::rules::Rules;
use super::super::state::Sender;
use crate::config::Config;
use crate::connection::DUPLICATE_ACKS;
use crate::messages::Send;
use crate::receiver::Blocks;
use crate::scoreboard::{Next, Scoreboard};
use fairdrop::Time;

/// An ACK has arrived: updates the scoreboard. Returns whether it reports new segments.
pub fn update(sender: &mut Sender, ack: u32, blocks: Option<&Blocks>) -> bool {
    let una = sender.tcp.una.max(ack);
    if let Some(board) = &mut sender.board {
        board.acknowledge(una);
    }
    let Some(blocks) = blocks.filter(|blocks| !blocks.is_empty()) else { return false };
    let high = sender.tcp.high;
    open_board(sender).update(una, high, blocks)
}

/// The scoreboard, which is new when there was none.
fn open_board(sender: &mut Sender) -> &mut Scoreboard {
    sender.board.get_or_insert_default()
}

/// Frees the scoreboard when it is empty and no recovery needs it.
pub fn tidy(sender: &mut Sender) {
    if sender.is_open() && sender.board.as_ref().is_some_and(|board| board.is_empty()) {
        sender.board = None;
    }
}

/// Whether a duplicate ACK outside recovery, already counted, means a loss (section 5, steps 1 and 2).
pub fn is_lost(sender: &Sender) -> bool {
    let Some(board) = &sender.board else { return false };
    let lost = sender.duplicate_acks >= DUPLICATE_ACKS || board.is_lost(sender.tcp.una);
    lost && sender.tcp.una >= sender.recover
}

/// The first unacknowledged segment is lost (section 5, step 4).
pub fn begin<R: Rules>(sender: &mut Sender, now: Time, config: &Config<R>, out: &mut Vec<Send>) {
    let una = sender.tcp.una;
    open_board(sender).retransmitted = una + 1;
    sender.enter_recovery(now, config, out);
    sender.tcp.window.cwnd = sender.tcp.window.ssthresh;
}

/// A new ACK in recovery: it ends when everything is acknowledged that was sent before it (section 5, step A).
pub fn on_new_ack(sender: &mut Sender) {
    if sender.tcp.una >= sender.recover {
        sender.tcp.window.cwnd = sender.tcp.window.ssthresh;
        sender.leave_recovery();
    }
}

/// Sends segments while the pipe has room (section 5, step C).
pub fn fill_window<R: Rules>(sender: &mut Sender, now: Time, config: &Config<R>, out: &mut Vec<Send>) {
    let Some(mut board) = sender.board.take() else { return };
    let mut pipe = board.pipe(sender.tcp.una, sender.tcp.high);
    while sender.tcp.window.cwnd - f64::from(pipe) >= 1.0 {
        let new_data = f64::from(sender.tcp.high - sender.tcp.una) + 1.0 <= config.max_window;
        match board.next(sender.tcp.una, sender.tcp.high, new_data, config.sack.rescue) {
            Some(Next::Again(segment)) => {
                board.retransmitted = segment + 1;
                sender.retransmit(now, segment, out);
            }
            Some(Next::Rescue(segment)) => {
                board.note_rescue(sender.recover);
                sender.retransmit(now, segment, out);
            }
            Some(Next::New) => sender.tcp.send_new(now, config, out),
            None => break,
        }
        pipe += 1;
    }
    sender.board = Some(board);
}
