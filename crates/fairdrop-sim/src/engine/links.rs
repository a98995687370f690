//! Links: ports under study, and plain FIFOs whose departures are arithmetic.

use super::carrier::Carrier;
use super::flows::Flows;
use crate::control::Control;
use crate::meter::QueueMeter;
use crate::port::Port;
use crate::scenario::{Group, Link, QueueError, Scenario};
use crate::trace::Tracer;
use crate::watch::HostNumbers;
use fairdrop::Time;
use fairdrop_link::{Pace, Rate, Wire};

/// A plain link that several flows share.
#[derive(Debug)]
pub struct SharedPlain {
    wire: Wire,
    /// The largest packet so far, bytes.
    largest: u32,
    rate: Rate,
    delay: Time,
}

impl SharedPlain {
    #[inline]
    pub fn carry(&mut self, at: Time, bytes: u32) -> Option<Time> {
        self.largest = self.largest.max(bytes);
        let Self { wire, largest, rate, delay } = self;
        Carrier { wire, rate: Some(rate), largest: *largest, delay: *delay }.carry(at, bytes)
    }
}

/// One link.
#[derive(Debug)]
pub enum LinkState<T> {
    Port { port: Box<Port<T>>, delay: Time },
    Plain(SharedPlain),
}

/// All links, by their number in the scenario.
#[derive(Debug)]
pub struct Links<T> {
    states: Vec<LinkState<T>>,
    /// Every change of a rate: when, of which link, to how many bit/s.
    changes: Vec<(Time, u32, u64)>,
    /// For each link, the deadline of its discipline that a call is scheduled for.
    armed: Vec<Option<Time>>,
}

impl<T: Tracer> Links<T> {
    /// `tracer` makes the tracer of the link with the given number. `None` when `control` stopped that.
    pub fn new(
        scenario: &Scenario,
        flows: &Flows<'_>,
        seed: u64,
        control: &Control,
        mut tracer: impl FnMut(usize) -> T,
    ) -> Result<Option<Self>, QueueError> {
        let sizes = common_sizes(scenario);
        let mut link = |(index, link): (usize, &Link)| -> Result<LinkState<T>, QueueError> {
            let delay = link.delay;
            let Some(queue) = scenario.queue_of(link) else {
                let rate = Rate::new(link.rate_bps, sizes);
                return Ok(LinkState::Plain(SharedPlain { wire: Wire::default(), largest: 0, rate, delay }));
            };
            let groups = flows.group_numbers();
            let meter = QueueMeter::new(groups, scenario.groups.len(), queue.limit);
            let from = scenario.positions_from;
            let meter = if scenario.positions.is_some() { meter.with_positions(from) } else { meter };
            let pace = match &link.trace {
                Some(trace) => Pace::Trace(trace.chances.clone()),
                None => Pace::Rate(link.rate_bps),
            };
            let (config, tracer) = ((queue, link.rate_bps), tracer(index));
            let port = Port::new(config, (pace, sizes), meter, tracer, seed, index as u32)?;
            let port = port.with_hosts(hosts_on(scenario, index));
            let port = Box::new(match link.token_bucket {
                Some(bucket) => port.shaped(bucket),
                None => port,
            });
            Ok(LinkState::Port { port, delay })
        };
        let mut links = Vec::new();
        for each in scenario.links.iter().enumerate() {
            links.push(link(each)?);
            // Storage for a million packets takes a while.
            if control.is_stopped() {
                return Ok(None);
            }
        }
        let steps = scenario.links.iter().enumerate().flat_map(|(index, link)| {
            link.rate_schedule.iter().map(move |&(at, bps)| (at, index as u32, bps))
        });
        let armed = vec![None; links.len()];
        Ok(Some(Self { states: links, changes: steps.collect(), armed }))
    }

    /// When each change of a rate is due.
    pub fn changes(&self) -> impl Iterator<Item = Time> {
        self.changes.iter().map(|(at, ..)| *at)
    }

    /// Makes change number `change`.
    pub fn change(&mut self, change: u32) {
        let (at, link, bps) = self.changes[change as usize];
        self.port(link).0.set_rate(bps, at);
    }

    /// Number of links.
    pub fn len(&self) -> u32 {
        self.states.len() as u32
    }

    /// Whether some discipline has a timer, or a trace paces some link.
    pub fn any_tended(&self) -> bool {
        self.ports().any(|port| port.has_timer() || port.is_traced())
    }

    /// The deadline of the discipline on `link`, when no call as early is scheduled; from now on one is.
    pub fn nearer_deadline(&mut self, link: u32) -> Option<Time> {
        let at = self.port_ref(link as usize)?.deadline()?;
        let armed = self.armed.get_mut(link as usize)?;
        if armed.is_some_and(|before| before <= at) {
            return None;
        }
        *armed = Some(at);
        Some(at)
    }

    /// Whether the call that is scheduled for `link` is due, which it is no more after that.
    pub fn is_due(&mut self, link: u32, now: Time) -> bool {
        let armed = self.armed.get_mut(link as usize);
        armed.and_then(|armed| armed.take_if(|at| *at <= now)).is_some()
    }

    #[inline]
    pub fn get(&mut self, link: u32) -> &mut LinkState<T> {
        &mut self.states[link as usize]
    }

    /// The port of `link`, which has one, and the link's delay.
    #[inline]
    pub fn port(&mut self, link: u32) -> (&mut Port<T>, Time) {
        match &mut self.states[link as usize] {
            LinkState::Port { port, delay } => (port, *delay),
            LinkState::Plain(_) => unreachable!("only ports schedule the end of a transmission"),
        }
    }

    pub fn port_ref(&self, link: usize) -> Option<&Port<T>> {
        match self.states.get(link) {
            Some(LinkState::Port { port, .. }) => Some(port),
            _ => None,
        }
    }

    pub fn ports(&self) -> impl Iterator<Item = &Port<T>> {
        (0..self.states.len()).filter_map(|link| self.port_ref(link))
    }

    pub fn ports_mut(&mut self) -> impl Iterator<Item = &mut Port<T>> {
        self.states.iter_mut().filter_map(|link| match link {
            LinkState::Port { port, .. } => Some(&mut **port),
            LinkState::Plain(_) => None,
        })
    }
}

impl<T: Tracer> Links<T> {
    /// The tracers of links with ports, in their order.
    pub fn into_tracers(self) -> impl Iterator<Item = T> {
        self.states.into_iter().filter_map(|link| match link {
            LinkState::Port { port, .. } => Some(port.into_tracer()),
            LinkState::Plain(_) => None,
        })
    }
}

/// The hosts of each group as packets on `link` have them: those of its ACKs, where the link is on its way back, come from where
/// its data goes. Nothing where no group names one.
fn hosts_on(scenario: &Scenario, link: usize) -> Vec<HostNumbers> {
    let mut names: Vec<&String> =
        scenario.groups.iter().flat_map(|group| group.hosts.iter().flatten()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    names.sort_unstable();
    // Behind the numbers of flows, which stand for hosts without a name.
    let number = |host: &String| (1 << 32) + names.partition_point(|name| *name < host) as u64;
    let hosts = |group: &Group| {
        let [source, destination] = group.hosts.each_ref().map(|host| host.as_ref().map(number));
        if group.backward.contains(&link) { [destination, source] } else { [source, destination] }
    };
    scenario.groups.iter().map(hosts).collect()
}

/// The sizes of data packets and ACKs of the first groups: what most packets are.
fn common_sizes(scenario: &Scenario) -> [u32; 2] {
    let data = scenario.groups.first().map_or(0, |group| group.packet_size);
    let ack = scenario.groups.iter().find_map(|group| group.transport.tcp()).map_or(0, |tcp| tcp.ack_size);
    [data, ack]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_change_places_on_the_way_back() {
        let group = |name: &str, hosts: &str| {
            format!("[[groups]]\nname = \"{name}\"\ntransport = \"newreno\"\n{hosts}\n")
        };
        let hosts = |from: &str, to: &str| format!("source_host = \"{from}\"\ndestination_host = \"{to}\"");
        let none = Scenario::parse(&group("a", ""), "t", &[]).unwrap();
        assert!(hosts_on(&none, 0).is_empty());
        let groups = [group("a", &hosts("x", "y")), group("b", &hosts("y", "z")), group("c", "")].concat();
        let some = Scenario::parse(&groups, "t", &[]).unwrap();
        let (there, back) = (some.groups[0].forward[0], some.groups[0].backward[0]);
        let [a, b, c] = hosts_on(&some, there).try_into().unwrap();
        assert_eq!((a[1], c), (b[0], [None, None]), "one host by one name");
        assert!(a[0] != a[1] && b[0] != b[1] && a[0] != b[1], "{a:?}, {b:?}");
        assert!(a[0] > Some(u64::from(u32::MAX)), "it is no flow's");
        let [a_back, b_back, c_back] = hosts_on(&some, back).try_into().unwrap();
        assert_eq!((a_back, b_back, c_back), ([a[1], a[0]], [b[1], b[0]], c));
    }
}
