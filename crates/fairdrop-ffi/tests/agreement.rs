//! Every discipline through the C interface does what it does when a Rust host calls it: the same arrivals and seed give
//! the same departures, drops, candidates, counters and values, after every call.

#[allow(dead_code, reason = "each test file uses a part of the host")]
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::rc::Rc;

use crate::host::{self, Caller, assert_balance, pair, params_of};
use fairdrop::{
    AnyDiscipline, AnyParams, CATALOGUE, Discipline, DisciplineInfo, DropCause, Ecn, Env, Heap, Meta,
    ParamValue, Philox, Stream, Time,
};
use fairdrop_ffi::{
    Packet, Params, Queue, Status, fairdrop_average, fairdrop_backlog, fairdrop_deadline, fairdrop_dequeue,
    fairdrop_dropped, fairdrop_enqueue, fairdrop_for_each_waiting, fairdrop_internals, fairdrop_marked,
    fairdrop_stats, fairdrop_tick,
};

const LINK_BPS: u64 = 10_000_000;
const LIMIT: u32 = 20;
/// Events of one run; few where every access is checked.
const EVENTS: u64 = if cfg!(miri) { 40 } else { 20_000 };

/// A Rust host.
struct World {
    now: Time,
    random: [Philox; Stream::COUNT],
    dropped: Vec<(Packet, DropCause)>,
    drawn: Vec<u64>,
}

impl Env<u64> for World {
    fn now(&self) -> Time {
        self.now
    }

    fn flow_key(&self) -> [u64; 2] {
        [0, 0]
    }

    fn hosts(&self, packet: &fairdrop::Packet<u64>) -> fairdrop::Hosts {
        let ends = host::ends_of(packet.meta.flow);
        fairdrop::Hosts { source: ends.source, destination: ends.destination }
    }

    fn random(&mut self, stream: Stream) -> u64 {
        self.random[stream as usize].next_u64()
    }

    fn dropped(&mut self, packet: fairdrop::Packet<u64>, cause: DropCause) {
        self.dropped.push((for_c(&packet), cause));
    }

    fn drawn(&mut self, candidate: &fairdrop::Packet<u64>) {
        self.drawn.push(candidate.handle);
    }
}

fn for_c(packet: &fairdrop::Packet<u64>) -> Packet {
    let meta = packet.meta;
    Packet {
        flow: meta.flow,
        cookie: packet.handle,
        enqueued_ns: packet.enqueued.ns(),
        len: meta.len,
        label: meta.label,
        traffic_class: meta.class,
        ecn: meta.ecn as u8,
    }
}

/// The same parameters twice: small, so that every discipline drops.
fn params(info: &DisciplineInfo) -> (Params, AnyParams) {
    let red = info.name == "red" || info.also_uses == Some("red");
    let mut settings = vec![("limit", "20")];
    let mut direct = AnyParams::of(info.name).unwrap();
    if red {
        settings.extend([
            ("red.min_th", "2"),
            ("red.max_th", "15p"),
            ("red.w_q", "0.2"),
            ("red.ecn", "true"),
        ]);
        let numbers = [("min_th", 2.0), ("max_th", 15.0), ("w_q", 0.2)];
        assert!(numbers.iter().all(|&(name, value)| direct.set("red", name, ParamValue::Number(value))));
        assert!(direct.set("red", "ecn", ParamValue::Switch(true)));
    }
    if info.name == "csfq" {
        settings.push(("edge", "true"));
        assert!(direct.set("csfq", "edge", ParamValue::Switch(true)));
    }
    direct.set_link(LIMIT, LINK_BPS);
    (params_of(info.name, LINK_BPS, &settings).unwrap(), direct)
}

struct Both {
    c: Caller,
    direct: AnyDiscipline<u64, Heap>,
    world: World,
}

unsafe extern "C" fn see(context: *mut c_void, name: *const c_char, value: f64) {
    // SAFETY: the context is the vector below, and the name ends with NUL.
    let (values, name) = unsafe { (&mut *context.cast::<Vec<(String, u64)>>(), CStr::from_ptr(name)) };
    values.push((name.to_str().unwrap().to_owned(), value.to_bits()));
}

unsafe extern "C" fn visit(context: *mut c_void, packet: *const Packet) {
    // SAFETY: the context is the vector below, and the packet is valid until this returns.
    unsafe { (*context.cast::<Vec<Packet>>()).push(*packet) };
}

impl Both {
    fn new(info: &DisciplineInfo, seed: u64) -> Self {
        let (params, direct) = params(info);
        let random = std::array::from_fn(|stream| Philox::new(seed, 0, stream as u32));
        let world = World { now: Time::ZERO, random, dropped: Vec::new(), drawn: Vec::new() };
        let direct = AnyDiscipline::new(direct, &mut Heap).unwrap();
        Self { c: Caller::new(&params, seed, None), direct, world }
    }

    fn enqueue(&mut self, meta: Meta, cookie: u64) {
        let packet = fairdrop::Packet::new(meta, self.world.now, cookie);
        let given = Packet { enqueued_ns: 99, ..for_c(&packet) };
        self.direct.enqueue(packet, &mut self.world);
        // SAFETY: the queue and the packet are valid.
        let status = unsafe { fairdrop_enqueue(self.c.queue, &raw const given, self.world.now.ns()) };
        assert_eq!(status, Status::Ok);
    }

    fn dequeue(&mut self) {
        let expected = self.direct.dequeue(&mut self.world).map(|packet| for_c(&packet));
        let mut packet =
            Packet { flow: 0, cookie: 0, enqueued_ns: 0, len: 0, label: 0, traffic_class: 0, ecn: 0 };
        // SAFETY: the queue and the packet are valid.
        let status = unsafe { fairdrop_dequeue(self.c.queue, self.world.now.ns(), &raw mut packet) };
        let got = match status {
            Status::Ok => Some(packet),
            Status::None => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(got, expected);
    }

    fn tick(&mut self) {
        self.direct.tick(&mut self.world);
        // SAFETY: the queue is valid.
        assert_eq!(unsafe { fairdrop_tick(self.c.queue, self.world.now.ns()) }, Status::Ok);
    }

    fn compare(&mut self) {
        let (dropped, drawn) = self.c.seen();
        assert_eq!(dropped, std::mem::take(&mut self.world.dropped));
        assert_eq!(drawn, std::mem::take(&mut self.world.drawn));
        let backlog = self.c.read(fairdrop_backlog).unwrap();
        let expected = self.direct.backlog();
        assert_eq!(pair(backlog), (u64::from(expected.packets), expected.bytes));
        assert_balance(&self.c.read(fairdrop_stats).unwrap(), backlog);
        assert_eq!(self.c.read(fairdrop_deadline), self.direct.deadline().map(Time::ns));
        let average = self.c.read(fairdrop_average).map(f64::to_bits);
        assert_eq!(average, self.direct.average_packets().map(f64::to_bits));
    }

    /// What need not be compared after every call.
    fn compare_at_the_end(&self) {
        let (mut values, mut expected) = (Vec::<(String, u64)>::new(), Vec::new());
        // SAFETY: the queue is valid, and the context is what `see` takes it for.
        unsafe { fairdrop_internals(self.c.queue, Some(see), (&raw mut values).cast()) };
        self.direct.internals(|name, value| expected.push((name.to_owned(), value.to_bits())));
        assert_eq!(values, expected);
        let (mut waiting, mut expected) = (Vec::<Packet>::new(), Vec::new());
        // SAFETY: as above.
        unsafe { fairdrop_for_each_waiting(self.c.queue, Some(visit), (&raw mut waiting).cast()) };
        self.direct.for_each_waiting(|packet| expected.push(for_c(packet)));
        assert_eq!(waiting, expected);
        let (stats, expected) = (self.c.read(fairdrop_stats).unwrap(), self.direct.stats());
        assert_eq!(pair(stats.arrived), (expected.arrived.packets, expected.arrived.bytes));
        assert_eq!(pair(stats.departed), (expected.departed.packets, expected.departed.bytes));
        assert_eq!(pair(stats.dropped), {
            let total = expected.dropped_total();
            (total.packets, total.bytes)
        });
        assert_eq!((stats.marked.packets, stats.drawn), (expected.marked_total().packets, expected.drawn));
        for cause in DropCause::ALL {
            for (call, expected) in [
                (
                    fairdrop_dropped
                        as unsafe extern "C" fn(*const Queue, u8, *mut fairdrop_ffi::Count) -> Status,
                    expected.dropped_for(cause),
                ),
                (fairdrop_marked, expected.marked_for(cause)),
            ] {
                let mut count = fairdrop_ffi::Count::default();
                // SAFETY: the queue and the count are valid.
                assert_eq!(unsafe { call(self.c.queue, cause as u8, &raw mut count) }, Status::Ok);
                assert_eq!(pair(count), (expected.packets, expected.bytes));
            }
        }
    }
}

/// Overload by a handful of flows, one of which sends a third, with pauses in which the queue drains.
fn drive(both: &mut Both, seed: u64) {
    let mut script = Philox::new(seed, 1, 0);
    for event in 0..EVENTS {
        let bits = script.next_u64();
        both.world.now = both.world.now.after(Time::from_ns(bits % 1_000_000));
        while both.direct.deadline().is_some_and(|deadline| deadline <= both.world.now) {
            both.tick();
        }
        let draining = event % 1000 > 900;
        if (bits >> 32) % 5 < 3 && !draining {
            let flow = if (bits >> 40).is_multiple_of(3) { 0 } else { (bits >> 44) % 8 };
            let ecn = [Ecn::NotCapable, Ecn::Ect0, Ecn::Ect1, Ecn::NotCapable][(bits >> 48) as usize % 4];
            let len = 64 + (bits >> 52) as u32 % 1437;
            let meta = Meta { ecn, class: (flow % 3) as u8, label: 1, ..Meta::of_flow(flow, len) };
            both.enqueue(meta, event << 32 | 7);
        } else {
            both.dequeue();
        }
        both.compare();
    }
    both.compare_at_the_end();
}

#[test]
fn every_discipline_agrees_with_a_rust_host() {
    let mut causes = [0; DropCause::COUNT];
    for info in CATALOGUE {
        let mut both = Both::new(info, 42);
        drive(&mut both, 7);
        let stats = both.direct.stats();
        assert!(
            cfg!(miri) || stats.dropped_total().packets + stats.marked_total().packets > 0,
            "{}",
            info.name
        );
        causes.iter_mut().zip(stats.dropped).for_each(|(sum, count)| *sum += count.packets);
    }
    let never: Vec<_> = DropCause::ALL.iter().filter(|&&cause| causes[cause as usize] == 0).collect();
    assert!(cfg!(miri) || never.len() <= 3, "the script reaches few causes: {never:?} are missing");
}

/// What a conformance checker does: it hands out the numbers of each stream itself.
#[test]
fn numbers_of_the_caller_are_used_stream_by_stream() {
    for info in CATALOGUE {
        let mut both = Both::new(info, 3);
        let mut streams: [Philox; Stream::COUNT] =
            std::array::from_fn(|stream| Philox::new(3, 0, stream as u32));
        let asked = Rc::new(RefCell::new([0_u64; Stream::COUNT]));
        let count = Rc::clone(&asked);
        let own = Box::new(move |stream: Stream| {
            count.borrow_mut()[stream as usize] += 1;
            streams[stream as usize].next_u64()
        });
        // The seed is another: it must not matter.
        both.c = Caller::new(&params(info).0, 4, Some(own));
        drive(&mut both, 8);
        let draws = both.direct.stats().drawn > 0 && info.name == "choke";
        assert!(!draws || asked.borrow()[Stream::Candidate as usize] > 0);
    }
}
