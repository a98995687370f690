//! Addresses: each flow has a host on either side, whose address names the flow.

use std::net::{Ipv4Addr, SocketAddrV4};

/// Groups that addresses can distinguish.
pub const MOST_GROUPS: usize = 64;
/// Flows of a group that addresses can distinguish.
pub const MOST_FLOWS: u32 = 1 << 16;
/// The port to which datagrams are sent.
pub const UDP_PORT: u16 = 4000;
/// The port of the first group's sinks; every group has its own.
const FIRST_TCP_PORT: u16 = 5000;

/// A side of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where the sources are: 10.0.0.0/10.
    Left,
    /// Where the sinks are: 10.64.0.0/10.
    Right,
}

impl Side {
    /// All addresses of this side.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Left => "10.0.0.0/10",
            Self::Right => "10.64.0.0/10",
        }
    }

    /// The other side.
    pub const fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }

    /// All addresses of a group on this side.
    pub fn group_prefix(self, group: usize) -> String {
        format!("{}/16", self.host(Place { group, index: 0 }))
    }

    const fn first(self) -> u8 {
        match self {
            Self::Left => 0,
            Self::Right => MOST_GROUPS as u8,
        }
    }

    /// The host of a flow.
    pub fn host(self, Place { group, index }: Place) -> Ipv4Addr {
        let [high, low] = index.to_be_bytes();
        Ipv4Addr::new(10, self.first() + group as u8, high, low)
    }

    /// Whose host has the address; `None` when it is none of this side.
    pub fn place(self, address: [u8; 4]) -> Option<Place> {
        let [ten, group, high, low] = address;
        let group = usize::from(group.checked_sub(self.first())?);
        (ten == 10 && group < MOST_GROUPS).then(|| Place { group, index: u16::from_be_bytes([high, low]) })
    }
}

/// A flow: the number of its group, and which flow of the group it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of the group.
    pub group: usize,
    /// Its number within the group; those of connections come round again.
    pub index: u16,
}

/// The port of a group's sinks.
pub const fn tcp_port(group: usize) -> u16 {
    FIRST_TCP_PORT + group as u16
}

/// The sink of a TCP flow.
pub fn tcp_sink(place: Place) -> SocketAddrV4 {
    SocketAddrV4::new(Side::Right.host(place), tcp_port(place.group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_flows() {
        for side in [Side::Left, Side::Right] {
            for place in [Place { group: 0, index: 0 }, Place { group: 63, index: 65535 }] {
                assert_eq!(side.place(side.host(place).octets()), Some(place));
                assert_eq!(side.other().place(side.host(place).octets()), None);
            }
        }
        assert_eq!(Side::Right.host(Place { group: 1, index: 258 }), Ipv4Addr::new(10, 65, 1, 2));
        assert_eq!(Side::Left.place([11, 0, 0, 0]), None);
    }
}
