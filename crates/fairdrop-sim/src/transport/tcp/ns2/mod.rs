//! Senders as the agents of ns-2 (2.35), where they are no RFC's with other settings: `Sack1` and `Vegas`, each whole. Names
//! of variables are those of ns-2's `tcp/tcp.cc`, `tcp-sack1.cc`, `scoreboard-rq.cc` and `tcp-vegas.cc`.

mod agent;
mod config;
mod sack1;
mod state;
mod vegas;

pub use config::Ns2Config;
pub use state::{Sack1, Vegas};

use super::config::TcpConfig;
use super::connection::{Kept, Phase, Sender};
use super::messages::{Ack, Send};
use agent::Agent;
use fairdrop::Time;

/// Something happens to the agent that the sender is.
fn with_agent(
    tcp: &mut Sender,
    now: Time,
    config: &TcpConfig,
    out: &mut Vec<Send>,
    event: impl FnOnce(&mut Kept, &mut Agent<'_>),
) {
    if let Some(mut kept) = tcp.kept.take() {
        event(&mut kept, &mut Agent { tcp, now, config, out });
        tcp.kept = Some(kept);
    }
}

/// The connection has opened, or the application has written something.
pub fn on_supply(tcp: &mut Sender, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
    if tcp.phase != Phase::Idle && tcp.phase != Phase::SynSent {
        with_agent(tcp, now, config, out, |kept, agent| match kept {
            Kept::Sack1(sack1) => sack1.send(agent),
            Kept::Vegas(vegas) => vegas.send(agent),
            Kept::Board(_) | Kept::Linux(_) => {}
        });
    }
}

/// An ACK has come.
pub fn on_ack(tcp: &mut Sender, now: Time, ack: Ack<'_>, config: &TcpConfig, out: &mut Vec<Send>) {
    with_agent(tcp, now, config, out, |kept, agent| match kept {
        Kept::Sack1(sack1) => sack1.on_ack(agent, ack),
        Kept::Vegas(vegas) => vegas.on_ack(agent, ack),
        Kept::Board(_) | Kept::Linux(_) => {}
    });
}

/// The retransmission timer ran out, of data.
pub fn on_timeout(tcp: &mut Sender, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
    tcp.counted.timeouts += 1;
    with_agent(tcp, now, config, out, |kept, agent| match kept {
        Kept::Sack1(sack1) => sack1.on_timeout(agent),
        Kept::Vegas(vegas) => vegas.on_timeout(agent),
        Kept::Board(_) | Kept::Linux(_) => {}
    });
}
