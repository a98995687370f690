//! Eras: named sets of defaults.

use fairdrop::Time;

/// Defaults of the fields that all TCPs have, under a name that scenarios give as `era`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Era {
    pub name: &'static str,
    /// Packets.
    pub initial_window: f64,
    pub handshake: bool,
    pub limited_transmit: bool,
    pub delayed_ack: bool,
    pub tick: Time,
    pub min_rto: Time,
    pub initial_rto: Time,
    pub max_rto: Time,
    pub max_doublings: u8,
    /// RFC 6675 is of 2012; RFC 3517 before it had no rule 4.
    pub rescue: bool,
}

impl Era {
    /// Defaults of today's RFCs.
    pub const MODERN: Self = Self {
        name: "modern",
        initial_window: 10.0,
        handshake: true,
        limited_transmit: true,
        delayed_ack: false,
        tick: Time::from_ms(1),
        min_rto: Time::from_ms(1000),
        initial_rto: Time::from_ms(1000),
        max_rto: Time::from_ms(64_000),
        max_doublings: 32,
        rescue: true,
    };
}
