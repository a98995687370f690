//! Addresses inside, and what they stand for outside.

use crate::os::Prefix;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Name servers that a resolver asks (resolv.conf(5)).
const MOST_NAME_SERVERS: usize = 3;

/// The port of name servers.
const DNS: u16 = 53;

/// The subnet of one shell. `.1` is the gateway and stands for the loopback of the outside, `.2` is the inside, and from `.3`
/// on are the name servers of the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    number: u8,
    name_servers: Vec<IpAddr>,
}

impl Addresses {
    /// A subnet of 100.64.0.0/10 (RFC 6598), and one of an own unique local prefix (RFC 4193), which nothing outside has a route
    /// to: shells in shells have different ones.
    pub fn free(routed: &[Prefix], resolv_conf: &str) -> Option<Self> {
        let name_servers = name_servers(resolv_conf);
        let mut all = (0..=255).map(|number| Self { number, name_servers: name_servers.clone() });
        all.find(|one| {
            !one.prefixes().iter().any(|prefix| routed.iter().any(|&other| overlaps(*prefix, other)))
        })
    }

    fn v4(&self, host: u8) -> Ipv4Addr {
        Ipv4Addr::new(100, 64, self.number, host)
    }

    fn v6(&self, host: u8) -> Ipv6Addr {
        Ipv6Addr::new(0xfd66, 0x6472, 0x6f70, u16::from(self.number), 0, 0, 0, u16::from(host))
    }

    fn prefixes(&self) -> [Prefix; 2] {
        [Prefix::new(self.v4(0), 24), Prefix::new(self.v6(0), 64)]
    }

    /// The address of the outer end of the link: IPv6 or IPv4.
    pub fn gateway(&self, v6: bool) -> Prefix {
        self.at(1, v6)
    }

    /// The address of its inner end.
    pub fn inside(&self, v6: bool) -> Prefix {
        self.at(2, v6)
    }

    fn at(&self, host: u8, v6: bool) -> Prefix {
        if v6 { Prefix::new(self.v6(host), 64) } else { Prefix::new(self.v4(host), 24) }
    }

    /// Whether the outer end answers for this address itself.
    pub fn is_gateway(&self, address: IpAddr) -> bool {
        [false, true].iter().any(|&v6| self.gateway(v6).address == address)
    }

    /// What a destination stands for outside; `None`: nothing.
    pub fn outside(&self, to: SocketAddr) -> Option<SocketAddr> {
        let ip = to.ip();
        if self.is_gateway(ip) {
            let loopback: IpAddr =
                if ip.is_ipv6() { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
            return Some(SocketAddr::new(loopback, to.port()));
        }
        for (at, server) in (3..).zip(&self.name_servers) {
            if ip == self.v4(at) {
                return (to.port() == DNS).then_some(SocketAddr::new(*server, DNS));
            }
        }
        let ours = self.prefixes().iter().any(|prefix| prefix.overlaps(Prefix::host(ip)));
        (!ours).then_some(to)
    }

    /// The outside's configuration of the resolver with name servers that can be reached inside.
    pub fn resolv_conf(&self, outside: &str) -> String {
        let others = outside.lines().filter(|line| !line.trim_start().starts_with("nameserver"));
        let servers = (3..).zip(&self.name_servers).map(|(at, _)| format!("nameserver {}", self.v4(at)));
        others.map(str::to_owned).chain(servers).map(|line| line + "\n").collect()
    }
}

/// Whether a route is in the way of a prefix: one to much more, such as a default in two halves, is not.
fn overlaps(prefix: Prefix, route: Prefix) -> bool {
    route.length >= 8 && prefix.overlaps(route)
}

/// Without any, the resolver asks this host.
fn name_servers(resolv_conf: &str) -> Vec<IpAddr> {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace();
        (words.next() == Some("nameserver")).then(|| words.next()?.parse().ok())?
    };
    let mut servers: Vec<IpAddr> = resolv_conf.lines().filter_map(of_line).take(MOST_NAME_SERVERS).collect();
    if servers.is_empty() {
        servers.push(Ipv4Addr::LOCALHOST.into());
    }
    servers
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESOLV_CONF: &str =
        "search example\nnameserver 192.0.2.53\n nameserver fd00::53\nnameserver x\n#nameserver 1.1.1.1\n";

    fn first() -> Addresses {
        Addresses::free(&[], RESOLV_CONF).unwrap()
    }

    #[test]
    fn a_subnet_that_nothing_has_a_route_to() {
        let routed = [
            Prefix::new(Ipv4Addr::UNSPECIFIED, 1),
            Prefix::new(Ipv4Addr::new(100, 64, 0, 2), 32),
            Prefix::new(Ipv6Addr::from_bits(first().v6(0).to_bits() + (1 << 64)), 64),
        ];
        assert_eq!(first().number, 0);
        assert_eq!(Addresses::free(&routed, "").unwrap().number, 2);
        assert_eq!(Addresses::free(&[Prefix::new(Ipv4Addr::new(100, 64, 0, 0), 10)], ""), None);
    }

    #[test]
    fn the_gateway_is_the_outside_and_resolvers_are_its_name_servers() {
        let all = first();
        let outside = |text: &str| all.outside(text.parse().unwrap()).map(|address| address.to_string());
        assert_eq!(outside("100.64.0.1:80").unwrap(), "127.0.0.1:80");
        assert_eq!(outside("[fd66:6472:6f70::1]:80").unwrap(), "[::1]:80");
        assert_eq!(outside("100.64.0.3:53").unwrap(), "192.0.2.53:53");
        assert_eq!(outside("100.64.0.4:53").unwrap(), "[fd00::53]:53");
        assert_eq!(outside("192.0.2.1:80").unwrap(), "192.0.2.1:80");
        for nothing in ["100.64.0.3:80", "100.64.0.5:53", "100.64.0.2:53", "[fd66:6472:6f70::7]:1"] {
            assert_eq!(outside(nothing), None, "{nothing}");
        }
        let inside = all.resolv_conf(RESOLV_CONF);
        assert_eq!(
            inside,
            "search example\n#nameserver 1.1.1.1\nnameserver 100.64.0.3\nnameserver 100.64.0.4\n"
        );
        assert_eq!(name_servers(""), [IpAddr::from(Ipv4Addr::LOCALHOST)]);
    }
}
