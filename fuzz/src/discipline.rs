//! A discipline before a transmitter: parameters, events and random bits from bytes; the invariants after each event.

use arbitrary::{Result, Unstructured};
use fairdrop::{
    AnyDiscipline, AnyParams, CATALOGUE, Departures, Discipline, Ecn, Linux, Meta, Packet, Philox, Time,
};

use crate::host::{BoundedHeap, Host, Ledger};
use crate::params::params;

/// Runs the discipline that the first byte chooses on the rest, or with `FAIRDROP_FUZZ=name` that one on all of them.
///
/// # Panics
/// An invariant does not hold, or no discipline has that name.
pub fn any_discipline(data: &[u8]) {
    if let Ok(name) = std::env::var("FAIRDROP_FUZZ") {
        discipline(&name, data);
    } else if let Some((choice, rest)) = data.split_first() {
        discipline(CATALOGUE[usize::from(*choice) % CATALOGUE.len()].name, rest);
    }
}

/// Runs the discipline called `name` on what the bytes say, for as long as they last.
///
/// # Panics
/// An invariant does not hold.
pub fn discipline(name: &str, data: &[u8]) {
    // Bytes that end are the end of the run.
    let _ = run(name, &mut Unstructured::new(data));
}

fn run(name: &str, bytes: &mut Unstructured) -> Result<()> {
    let params = params(name, bytes)?;
    let Ok(queue) = AnyDiscipline::new(params.clone(), &mut BoundedHeap) else { return Ok(()) };
    assert_eq!(params.validate(), Ok(()), "a queue was made from parameters that are not valid");
    let chosen = (0..bytes.int_in_range(0..=16)?).map(|_| bytes.arbitrary()).collect::<Result<_>>()?;
    let random = Philox::new(bytes.arbitrary::<u16>()?.into(), 0, 0);
    let order = params.info().departures;
    let host = Host { now: Time::ZERO, chosen, random, ledger: Ledger::default() };
    let (limit, longest) = (params.limit(), longest(&params));
    let mut link = Link { queue, host, order, limit, longest, busy: false, arrivals: 0 };
    while !bytes.is_empty() {
        link.event(bytes)?;
        link.check();
    }
    Ok(())
}

/// Bytes of the longest packet. CAKE with `linux` and FairPolicer take turns one by one: a thousand turns a packet walk the same
/// code as a gigabyte in turns of one byte, which takes a minute.
fn longest(params: &AnyParams) -> u32 {
    match params {
        AnyParams::Cake(cake) if cake.linux != Linux::None => cake.quantum.saturating_mul(1000),
        AnyParams::FairPolicer(policer) => policer.turn.saturating_mul(1000),
        _ => u32::MAX,
    }
}

struct Link {
    queue: AnyDiscipline<u32, BoundedHeap>,
    host: Host,
    order: Departures,
    limit: u32,
    longest: u32,
    busy: bool,
    arrivals: u32,
}

impl Link {
    fn event(&mut self, bytes: &mut Unstructured) -> Result<()> {
        match bytes.int_in_range(0..=7)? {
            0..=3 => {
                let meta = meta(bytes)?;
                self.arrive(Meta { len: meta.len.min(self.longest), ..meta });
            }
            4..=5 => {
                self.busy = false;
                self.transmit();
            }
            6 => {
                let wait = match bytes.int_in_range(0..=3)? {
                    0 => bytes.arbitrary::<u8>()?.into(),
                    1 => u64::from(bytes.arbitrary::<u16>()?) * 1000,
                    2 => u64::from(bytes.arbitrary::<u8>()?) * 10_000_000,
                    _ => bytes.arbitrary::<u64>()? >> bytes.int_in_range(0..=63)?,
                };
                self.host.now = self.host.now.after(Time::from_ns(wait));
                self.tick();
            }
            _ => {
                self.host.now = self.queue.deadline().map_or(self.host.now, |at| at.max(self.host.now));
                self.tick();
            }
        }
        Ok(())
    }

    fn arrive(&mut self, meta: Meta) {
        let packet = Packet::new(meta, self.host.now, self.arrivals);
        self.arrivals += 1;
        self.host.ledger.enter(&packet);
        self.queue.enqueue(packet, &mut self.host);
        self.transmit();
    }

    /// The transmitter takes a packet if it is free; there is none only where none waits, or a shaper says when one may leave.
    fn transmit(&mut self) {
        if self.busy {
            return;
        }
        match self.queue.dequeue(&mut self.host) {
            Some(packet) => {
                self.busy = true;
                self.host.ledger.depart(&packet, self.order);
            }
            None => {
                let held =
                    self.queue.holds_back() && self.queue.deadline().is_some_and(|at| at > self.host.now);
                let rests = self.queue.backlog().packets == 0 || held;
                assert!(rests, "the link rests while packets wait");
            }
        }
    }

    fn tick(&mut self) {
        if self.queue.deadline().is_some_and(|at| at <= self.host.now) {
            self.queue.tick(&mut self.host);
            self.transmit();
        }
    }

    fn check(&self) {
        let (ledger, backlog) = (&self.host.ledger, self.queue.backlog());
        let mut waiting = 0;
        self.queue.for_each_waiting(|packet| {
            waiting += 1;
            assert!(ledger.inside.contains_key(&packet.handle), "a packet waits that came out");
        });
        assert_eq!(waiting, ledger.inside.len(), "packets waiting");
        assert_eq!(backlog.packets as usize, waiting, "backlog in packets");
        let bytes: u64 = ledger.inside.values().map(|packet| u64::from(packet.meta.len)).sum();
        assert_eq!(backlog.bytes, bytes, "backlog in bytes");
        assert!(backlog.packets <= self.limit, "more than the limit");

        let (stats, counted) = (self.queue.stats(), &ledger.counters);
        assert_eq!((stats.arrived, stats.departed), (counted.arrived, counted.departed));
        assert_eq!((stats.dropped, stats.drawn), (counted.dropped, counted.drawn));
        assert!(stats.marked_total().packets <= stats.arrived.packets);

        let average = self.queue.average_packets();
        assert!(average.is_none_or(|packets| packets.is_finite() && packets >= 0.0), "{average:?}");
        self.queue.internals(|name, value| assert!(!value.is_nan(), "{name}"));
    }
}

fn meta(bytes: &mut Unstructured) -> Result<Meta> {
    let flow = if bytes.ratio(1, 16)? { bytes.arbitrary()? } else { bytes.int_in_range(0..=7)? };
    let len = match bytes.int_in_range(0..=7)? {
        0 => bytes.arbitrary()?,
        1..=3 => bytes.int_in_range(0..=9000)?,
        _ => 1000,
    };
    let ecn = *bytes.choose(&[Ecn::NotCapable, Ecn::Ect0, Ecn::Ect1, Ecn::Ce])?;
    let label = if bytes.ratio(1, 4)? { bytes.arbitrary()? } else { 0 };
    Ok(Meta { flow, len, class: bytes.int_in_range(0..=20)?, ecn, label })
}
