//! The contract of a sender: its interface to a simulator, event by event.

use super::config::{Config, Family};
use super::congestion::Control;
use super::connection::Connection;
use super::messages::{Ack, Send};
use fairdrop::Time;
use std::fmt::Debug;

/// The sending side of a connection. After each event `out` holds the packets for the wire, and the connection has the time
/// of the timer. Its supply of data is endless unless the caller limits it.
pub trait TcpSender<S: Family>: Debug + Sized {
    /// Not started yet, with this congestion control. Its clock was `boot` of a tick old at time 0.
    fn new(config: &Config<S>, boot: f64, control: Control) -> Self;

    fn connection(&self) -> &Connection;

    fn connection_mut(&mut self) -> &mut Connection;

    /// Opens the connection.
    fn start(&mut self, now: Time, config: &Config<S>, out: &mut Vec<Send>);

    /// The application has written another segment.
    fn on_supply(&mut self, now: Time, config: &Config<S>, out: &mut Vec<Send>);

    /// The SYN was answered. With timestamps the answer has the sending time of the SYN that arrived.
    fn on_syn_ack(&mut self, now: Time, stamp: Option<Time>, config: &Config<S>, out: &mut Vec<Send>);

    /// An ACK has arrived.
    fn on_ack(&mut self, now: Time, ack: Ack<'_>, config: &Config<S>, out: &mut Vec<Send>);

    /// The timer ran out.
    fn on_timeout(&mut self, now: Time, config: &Config<S>, out: &mut Vec<Send>);
}
