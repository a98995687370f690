//! Senders modelled on the agents of ns-2 (2.35). Tahoe, Reno and NewReno are the sender of [`rfc`](super::rfc) under the
//! rules of ns-2 (`reno.rs`), and so is any other congestion control in an era of ns-2. `Sack1` and `Vegas` are separate
//! agents. Names of variables are those of ns-2's `tcp/tcp.cc`, `tcp-sack1.cc`, `scoreboard-rq.cc` and `tcp-vegas.cc`.

mod agent;
mod config;
mod reno;
mod sack1;
mod state;
mod vegas;

pub use config::Ns2Config as Settings;

use super::config::Config;
use super::congestion::{Control, MIN_SSTHRESH};
use super::connection::{Connection, Phase};
use super::messages::{Ack, Send};
use super::rfc;
use super::sender::TcpSender;
use agent::{Agent, State};
use config::Ns2Config;
use fairdrop::Time;
use state::{Sack1, Vegas};

/// A sender modelled on one of ns-2's agents.
#[derive(Debug)]
pub enum Sender {
    /// `Agent/TCP`, `Agent/TCP/Reno`, `Agent/TCP/Newreno`.
    Reno(rfc::Sender),
    /// `Agent/TCP/Sack1`.
    Sack1(Box<(State, Sack1)>),
    /// `Agent/TCP/Vegas`.
    Vegas(Box<(State, Vegas)>),
}

/// Evaluates `$call` with the state of the sender, or for an agent with an [`Agent`].
macro_rules! each {
    ($sender:expr, ($now:ident, $config:ident, $out:ident), $reno:ident => $of_reno:expr, $own:ident, $agent:ident => $of_agent:expr) => {
        match $sender {
            Sender::Reno($reno) => $of_reno,
            Sender::Sack1(all) => {
                let (state, $own) = &mut **all;
                let $agent = &mut Agent { state, now: $now, config: $config, out: $out };
                $of_agent
            }
            Sender::Vegas(all) => {
                let (state, $own) = &mut **all;
                let $agent = &mut Agent { state, now: $now, config: $config, out: $out };
                $of_agent
            }
        }
    };
}

impl TcpSender<Ns2Config> for Sender {
    fn new(config: &Config<Ns2Config>, boot: f64, control: Control) -> Self {
        if config.family.sack1 {
            Self::Sack1(Box::new((State::new(config, boot, control), Sack1::default())))
        } else if config.family.vegas {
            let vegas = Vegas::new(config.congestion.vegas_thresholds(), config.max_window as u32);
            Self::Vegas(Box::new((State::new(config, boot, control), vegas)))
        } else {
            Self::Reno(rfc::Sender::new(config, boot, control))
        }
    }

    #[inline]
    fn connection(&self) -> &Connection {
        match self {
            Self::Reno(sender) => &sender.tcp,
            Self::Sack1(all) => &all.0.tcp,
            Self::Vegas(all) => &all.0.tcp,
        }
    }

    #[inline]
    fn connection_mut(&mut self) -> &mut Connection {
        match self {
            Self::Reno(sender) => &mut sender.tcp,
            Self::Sack1(all) => &mut all.0.tcp,
            Self::Vegas(all) => &mut all.0.tcp,
        }
    }

    fn start(&mut self, now: Time, config: &Config<Ns2Config>, out: &mut Vec<Send>) {
        // ns-2's Vegas sends no SYN; its first segment is data.
        let has_syn = config.handshake && !config.family.vegas;
        each!(self, (now, config, out), reno => reno.start(now, config, out), own, agent => {
            if has_syn {
                agent.send_syn();
                return;
            }
            agent.state.tcp.phase = Phase::Open;
            if config.handshake {
                agent.state.tcp.window.cwnd = 1.0;
            }
            own.send(agent);
        });
    }

    fn on_supply(&mut self, now: Time, config: &Config<Ns2Config>, out: &mut Vec<Send>) {
        each!(self, (now, config, out), reno => reno.on_supply(now, config, out), own, agent => {
            agent.state.tcp.add_supply();
            if !matches!(agent.state.tcp.phase, Phase::Idle | Phase::SynSent) {
                own.send(agent);
            }
        });
    }

    fn on_syn_ack(
        &mut self,
        now: Time,
        stamp: Option<Time>,
        config: &Config<Ns2Config>,
        out: &mut Vec<Send>,
    ) {
        each!(self, (now, config, out), reno => reno.on_syn_ack(now, stamp, config, out), own, agent => {
            if agent.state.tcp.phase == Phase::SynSent {
                agent.state.tcp.on_syn_ack(now, config.family.law(), config);
                own.send(agent);
            }
        });
    }

    #[inline]
    fn on_ack(&mut self, now: Time, ack: Ack<'_>, config: &Config<Ns2Config>, out: &mut Vec<Send>) {
        match self {
            Self::Reno(reno) => reno.on_ack(now, ack, config, out),
            _ => self.on_ack_of_agent(now, ack, config, out),
        }
    }

    fn on_timeout(&mut self, now: Time, config: &Config<Ns2Config>, out: &mut Vec<Send>) {
        each!(self, (now, config, out), reno => reno.on_timeout(now, config, out), own, agent => {
            agent.state.tcp.counted.timeouts += 1;
            if agent.state.tcp.phase == Phase::SynSent {
                let tcp = &mut agent.state.tcp;
                tcp.timer.rto.back_off(config.family.law(), config);
                tcp.send_syn_again(agent.out);
                (tcp.window.cwnd, tcp.window.ssthresh) = (1.0, MIN_SSTHRESH);
                agent.restart_timer();
            } else {
                own.on_timeout(agent);
            }
        });
    }
}

impl Sender {
    #[cold]
    #[inline(never)]
    fn on_ack_of_agent(&mut self, now: Time, ack: Ack<'_>, config: &Config<Ns2Config>, out: &mut Vec<Send>) {
        each!(self, (now, config, out), _reno => {}, own, agent => own.on_ack(agent, ack));
    }
}
