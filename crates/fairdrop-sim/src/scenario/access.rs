//! The rate of the hosts' own links.

use super::Link;
use crate::transport::Transport;

/// A host's own link is this many times as fast as the fastest link behind it, unless the scenario says otherwise.
const TIMES_LINK: u64 = 10;

/// And this many times as fast as its flow sends: gaps drawn at random then leave no queue there.
const TIMES_PEAK: f64 = 2.0;

/// The fastest link that can be written, bit/s.
const FASTEST: u64 = 10_000_000_000_000;

/// What the topology says of the rate of the hosts' own links.
#[derive(Clone, Copy, Debug)]
pub enum AccessRate {
    /// Bit/s.
    Given(u64),
    /// Nothing is lost there, nor waits there for long.
    Wide,
    /// Packets take no time.
    Unlimited,
}

impl AccessRate {
    /// Bit/s for a group whose packets of `packet_size` bytes cross the links of `path`; `None`: unlimited.
    pub fn of(self, path: &[usize], links: &[Link], transport: &Transport, packet_size: u32) -> Option<u64> {
        match self {
            Self::Given(bps) => Some(bps),
            Self::Unlimited => None,
            Self::Wide => {
                let fastest = path.iter().map(|&link| links[link].fastest_bps()).max().unwrap_or(0);
                let peak = transport.peak_bps(packet_size).unwrap_or(0.0);
                let wide = fastest.saturating_mul(TIMES_LINK).max((TIMES_PEAK * peak).ceil() as u64);
                Some(wide.clamp(1, FASTEST))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    /// The rates of the groups' own links.
    fn rates(topology: &str, groups: &[&str]) -> Vec<Option<u64>> {
        let group = |(number, rest): (usize, &&str)| format!("[[groups]]\nname = \"g{number}\"\n{rest}\n");
        let groups: String = groups.iter().enumerate().map(group).collect();
        let scenario = Scenario::parse(&format!("duration = 10\n{topology}\n{groups}"), "test", &[]);
        let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
        scenario.groups.iter().map(|group| group.access_rate_bps).collect()
    }

    const TCP: &str = "transport = \"reno\"";

    #[test]
    fn hosts_are_ten_times_as_fast_as_the_fastest_link_behind_them() {
        let rate = |topology: &str| rates(topology, &[TCP])[0];
        assert_eq!(rate(""), Some(10_000_000));
        assert_eq!(rate("[dumbbell]\nrate = \"50mbit\""), Some(500_000_000));
        assert_eq!(rate("[dumbbell]\nrate_schedule = [[5, \"3mbit\"]]"), Some(30_000_000));
        assert_eq!(rate("[dumbbell]\nrate = 1e13"), Some(10_000_000_000_000), "nothing is faster");
        let chain = "[chain]\nrates = [\"1mbit\", \"4mbit\", \"2mbit\"]";
        let inner = format!("{TCP}\nenter = 3\nleave = 4");
        assert_eq!(rates(chain, &[TCP, &inner]), [Some(40_000_000), Some(20_000_000)]);
    }

    #[test]
    fn hosts_are_twice_as_fast_as_their_flow_sends() {
        let groups = [
            "transport = \"cbr\"\nrate = \"2mbit\"\ncount = 9",
            "transport = \"cbr\"\nrate = \"30mbit\"",
            "transport = \"poisson\"\nrate = \"30mbit\"",
            "transport = \"on_off\"\npeak_rate = \"40mbit\"\nmean_on = \"1ms\"\nmean_off = \"1s\"",
            // 100 packets of 1000 B in 10 ms are 80 Mb/s.
            "transport = \"burst\"\nburst_packets = 100\nperiod = \"10ms\"",
        ];
        let expected = [10, 60, 60, 80, 160].map(|mbit| Some(mbit * 1_000_000));
        assert_eq!(rates("", &groups), expected);
    }

    #[test]
    fn what_is_written_holds() {
        let flood = "transport = \"cbr\"\nrate = \"30mbit\"";
        let own = format!("{flood}\naccess_rate = \"7mbit\"");
        let dumbbell = "[dumbbell]\naccess_rate = \"20mbit\"";
        assert_eq!(rates(dumbbell, &[flood, &own]), [Some(20_000_000), Some(7_000_000)]);
        assert_eq!(rates("", &[&own]), [Some(7_000_000)]);
        let ends = format!("{flood}\nfrom = \"a\"\nto = \"b\"");
        assert_eq!(rates("[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = 1e6\nqueue = true", &[&ends]), [None]);
    }
}
