//! What a sender, a parameter or a broken host may do to a discipline: no call does more than a bounded number of steps.
//! Steps and random numbers are counted, not timed.

use std::cell::Cell;
use std::rc::Rc;

use fairdrop::{
    AnyParams, CATALOGUE, Discipline, Drr, DrrParams, Env, FqCoDel, FqCoDelParams, Heap, MAX_LEN,
    MOST_REDRAWS, Meta, Packet, ParamValue, Sfq, SfqParams, Stream, Time, lengths_for, places_for,
};
use fairdrop_reference::host::{Bits, Bottleneck, Event, Queue, World};

/// Storage that counts how often it is looked into.
struct Counted<T> {
    places: Vec<T>,
    looks: Rc<Cell<u64>>,
}

impl<T> Counted<T> {
    /// Far above every bound below: a call without one ends here.
    fn look(&self) {
        self.looks.set(self.looks.get() + 1);
        assert!(self.looks.get() < 1 << 20, "a call without a bound");
    }
}

impl<T> AsRef<[T]> for Counted<T> {
    fn as_ref(&self) -> &[T] {
        self.look();
        &self.places
    }
}

impl<T> AsMut<[T]> for Counted<T> {
    fn as_mut(&mut self) -> &mut [T] {
        self.look();
        &mut self.places
    }
}

fn places<T: Default>(count: usize) -> Vec<T> {
    std::iter::repeat_with(T::default).take(count).collect()
}

fn counted<T: Default>(count: u32, looks: &Rc<Cell<u64>>) -> Counted<T> {
    Counted { places: places(count as usize), looks: looks.clone() }
}

const FLOWS: u32 = 50;

/// Looks into the records of queues that one call may take for each queue, in three rounds at most: to walk, to see how
/// many rounds to leave out, to leave them out and to walk on.
const LOOKS_PER_QUEUE: u64 = 60;

/// Two packets of each of 50 flows arrive and all leave; the records of queues are looked into a bounded number of times
/// in each call.
fn drained<D: Discipline<u32>>(mut queue: D, looks: &Cell<u64>, lens: impl Fn(u32) -> u32) -> Vec<u32> {
    let mut world = World::new(1);
    let mut departed = Vec::new();
    for handle in 0..2 * FLOWS {
        let meta = Meta::of_flow(u64::from(handle % FLOWS), lens(handle));
        queue.enqueue(Packet::new(meta, Time::ZERO, handle), &mut world);
    }
    loop {
        looks.set(0);
        let packet = queue.dequeue(&mut world);
        assert!(looks.get() <= LOOKS_PER_QUEUE * u64::from(FLOWS), "{} looks in one call", looks.get());
        match packet {
            Some(packet) => departed.push(packet.handle),
            None => return departed,
        }
    }
}

/// Whatever the quantum and the packets are, a departure costs no more than a few looks at each queue.
#[test]
fn departures_of_rounds_have_a_bound() {
    let limit = 2 * FLOWS;
    let lens: [fn(u32) -> u32; 4] =
        [|_| MAX_LEN, |handle| MAX_LEN - 7919 * handle, |_| u32::MAX, |handle| 1 + handle % 2 * MAX_LEN];
    for (quantum, lens) in
        [1, 1500, 1_000_000].into_iter().flat_map(|quantum| lens.map(|lens| (quantum, lens)))
    {
        let looks = Rc::new(Cell::new(0));
        let drr = DrrParams { limit, quantum };
        let (lists, flows) = (places(limit as usize), places(places_for(limit)));
        let drr = Drr::new(drr, places(limit as usize), counted(limit, &looks), lists, flows).expect("valid");
        let by_drr = drained(drr, &looks, lens);
        assert_eq!(by_drr.len(), limit as usize);
        let first = (0..FLOWS).min_by_key(|&flow| (lens(flow).div_ceil(quantum), flow));
        assert_eq!(by_drr.first().copied(), first, "the first round that suffices for a packet");

        let sfq = SfqParams { limit, queues: 64, quantum, perturb: Time::ZERO, salt: 0 };
        let lists = places(lengths_for(limit, 64));
        let sfq = Sfq::new(sfq, places(limit as usize), counted(64, &looks), lists).expect("valid");
        assert_eq!(drained(sfq, &looks, lens).len(), limit as usize);

        let mut params = FqCoDelParams { queues: 64, quantum, ..FqCoDelParams::default() };
        params.codel.limit = limit;
        let fq_codel =
            FqCoDel::new(params, places(limit as usize + 1), counted(64, &looks), places(64)).expect("valid");
        assert_eq!(drained(fq_codel, &looks, lens).len(), limit as usize);
    }
}

/// Queues that long packets left deep in debt, each more than the one before, and empty: one call finds all of them empty,
/// without a round for each.
#[test]
fn empty_queues_in_debt_leave_together() {
    let looks = Rc::new(Cell::new(0));
    let records = counted(1024, &looks);
    let mut params = FqCoDelParams { queues: 1024, quantum: 1, ..FqCoDelParams::default() };
    params.codel.limit = 1000;
    let mut queue = FqCoDel::new(params, places(1001), records, places(1024)).expect("valid");
    let mut world = World::new(1);
    let mut offer = |queue: &mut FqCoDel<u32, _, _, _>, flow: u32, len: u32| {
        queue.enqueue(Packet::new(Meta::of_flow(u64::from(flow), len), Time::ZERO, flow), &mut world);
    };
    (0..400).for_each(|flow| offer(&mut queue, flow, 1000 * (flow + 2)));
    // One that owes most, so that all others would leave before it.
    (0..2).for_each(|_| offer(&mut queue, 1000, MAX_LEN));
    let mut world = World::new(1);
    let mut most = 0;
    for _ in 0..403 {
        looks.set(0);
        queue.dequeue(&mut world);
        most = most.max(looks.get());
    }
    assert_eq!(queue.backlog().packets, 0);
    assert!(most <= LOOKS_PER_QUEUE * 401, "{most} looks in one call");
}

/// A host whose random source never gives anything else, or gives a few numbers in turn.
fn stuck(numbers: &[u64]) -> impl Fn() -> Bits + use<'_> {
    move || Bits::Cycle(numbers.to_vec(), 0)
}

/// Parameters under which a discipline draws as much as it can.
fn drawing(name: &str) -> Vec<AnyParams> {
    let base = || {
        let mut params = AnyParams::of(name).expect("a discipline of the catalogue");
        params.set_link(60, 8_000_000);
        for (owner, parameter, value) in [
            ("red", "min_th", 1.0),
            ("red", "max_th", 50.0),
            ("red", "max_p", 0.01),
            ("red", "w_q", 0.5),
            ("chokew", "l_th", 1.0),
            ("chokew", "l_minus", 2.0),
            ("chokew", "l_plus", 3.0),
            ("chokew", "p_plus", 0.5),
            ("choke", "candidates", 3.0),
            ("choke_hardware", "candidates", 3.0),
            ("sred", "zombies", 7.0),
            ("afd", "shadow", 7.0),
            ("afd", "sample_every", 1.0),
        ] {
            params.set(owner, parameter, ParamValue::Number(value));
        }
        params
    };
    let word = |owner, parameter, word| {
        let mut params = base();
        params.set(owner, parameter, ParamValue::Word(word)).then_some(params)
    };
    let variants = [
        word("choke", "sampling", "byte"),
        word("choke", "draw", "spread"),
        word("choke_hardware", "addresses", "memory"),
        word("choke_hardware", "addresses", "live"),
        word("choke_hardware", "addresses", "linux"),
    ];
    std::iter::once(base()).chain(variants.into_iter().flatten()).collect()
}

/// Overload by five flows: how many random numbers the hungriest call took, and how many draws were given up.
fn starved(params: AnyParams, bits: impl Fn() -> Bits) -> (u64, u64) {
    let mut link = Bottleneck::new(params, 1);
    link.world.bits = std::array::from_fn(|_| bits());
    let mut most = 0;
    for round in 0..400_u64 {
        let mut play = |event: &Event| {
            let before: u64 = link.world.used.iter().sum();
            link.step(event);
            most = most.max(link.world.used.iter().sum::<u64>() - before);
        };
        play(&Event::Arrive { flow: round % 5, len: 100 + (round * 97 % 1400) as u32 });
        play(&Event::Wait(400_000));
        if round % 3 > 0 {
            play(&Event::Finish);
        }
    }
    (most, link.queue.stats().stuck_draws)
}

/// Every discipline lives with a random source that is stuck or goes round in a short circle: no call takes more numbers
/// than a bound, and draws that were given up are counted, so that the host sees it.
#[test]
fn stuck_random_sources_end_every_draw() {
    let third = u64::MAX / 3;
    let sources: [&[u64]; 8] = [
        &[0],
        &[u64::MAX],
        &[1],
        &[1 << 63],
        &[third],
        &[0, u64::MAX],
        &[0, 1, 2],
        &[third, 2 * third, 1 << 32],
    ];
    // Of `choke_hardware`, which may meet a single entry among 1,024, 64 times as many; of others each draw for itself.
    let bound = |name| match name {
        "choke_hardware" => 70_000 + u64::from(MOST_REDRAWS),
        "chokew" => 60 + u64::from(MOST_REDRAWS) + 2,
        _ => 100 + 2 * u64::from(MOST_REDRAWS),
    };
    let mut counted = Vec::new();
    for info in CATALOGUE {
        for (params, numbers) in
            drawing(info.name).into_iter().flat_map(|params| sources.map(|numbers| (params.clone(), numbers)))
        {
            let (most, given_up) = starved(params, stuck(numbers));
            assert!(most <= bound(info.name), "{}: {most} numbers in one call of {numbers:x?}", info.name);
            if given_up > 0 && counted.last() != Some(&info.name) {
                counted.push(info.name);
            }
        }
        for params in drawing(info.name) {
            let honest = std::cell::Cell::new(0);
            let (_, given_up) = starved(params, || {
                honest.set(honest.get() + 1);
                Bits::Stream(fairdrop::Philox::new(honest.get(), 0, 0))
            });
            assert_eq!(given_up, 0, "{}: an honest source is never given up", info.name);
        }
    }
    for name in ["choke", "choke_hardware", "chokew", "gchoke", "mlc", "ward", "black", "sred", "afd"] {
        assert!(counted.contains(&name), "{name}: {counted:?}");
    }
}

/// A host that counts how often its key is asked for.
struct Keyed {
    world: World,
    key: [u64; 2],
    asked: Cell<u32>,
}

impl Env<u32> for Keyed {
    fn now(&self) -> Time {
        self.world.now
    }

    fn flow_key(&self) -> [u64; 2] {
        self.asked.set(self.asked.get() + 1);
        self.key
    }

    fn random(&mut self, stream: Stream) -> u64 {
        self.world.random(stream)
    }

    fn dropped(&mut self, packet: Packet<u32>, cause: fairdrop::DropCause) {
        self.world.dropped(packet, cause);
    }
}

/// Handles in the order of departures and of drops, and how often the key was asked for.
fn keyed(name: &str, key: [u64; 2]) -> (Vec<u32>, Vec<u32>, u32) {
    let mut params = AnyParams::of(name).expect("a discipline of the catalogue");
    params.set_link(60, 8_000_000);
    for (owner, parameter, value) in
        [("red", "min_th", 5.0), ("red", "max_th", 30.0), ("red", "max_p", 0.2), ("red", "w_q", 0.1)]
            .into_iter()
            .chain([("sfb", "bin_size", 2.0), ("sfb", "increment", 0.05)])
    {
        params.set(owner, parameter, ParamValue::Number(value));
    }
    params.set(name, "queues", ParamValue::Number(8.0));
    let mut queue = Queue::new(params, &mut Heap).expect("valid");
    let mut host = Keyed { world: World::new(3), key, asked: Cell::new(0) };
    let mut departed = Vec::new();
    for handle in 0..3000_u32 {
        host.world.now = Time::from_ns(u64::from(handle) * 700_000);
        let meta = Meta::of_flow(u64::from(handle * handle % 23), 100 + handle % 1400);
        queue.enqueue(Packet::new(meta, host.world.now, handle), &mut host);
        if handle % 4 > 0 {
            departed.extend(queue.dequeue(&mut host).map(|packet| packet.handle));
        }
    }
    let dropped = host.world.dropped.iter().map(|(packet, _)| packet.handle).collect();
    (departed, dropped, host.asked.get())
}

/// The key is the host's in every discipline that finds flows by a hash, and is asked for once. Results depend on it only
/// where flows share a queue or a bin by design.
#[test]
fn keys_come_from_the_host() {
    let tables = [
        "fred",
        "red_pd",
        "penalty_box",
        "flow_valve",
        "csfq",
        "afd",
        "a2fq",
        "afq",
        "ahab",
        "care",
        "cebinae",
        "collar",
        "collarw",
        "collar_sparse",
        "collar_hosts",
        "collar_integer",
        "fair_drop",
        "drr",
        "fq",
    ];
    let buckets = ["codel_af", "fair_policer", "sfb", "sfq", "fq_codel", "fq_pie", "cake"];
    for info in CATALOGUE {
        let (one, other) = (keyed(info.name, [0, 0]), keyed(info.name, [0x1234_5678_9abc_def0, 42]));
        let hashes = tables.contains(&info.name) || buckets.contains(&info.name);
        assert_eq!(one.2, u32::from(hashes), "{}", info.name);
        assert_eq!((&one.0, &one.1) != (&other.0, &other.1), buckets.contains(&info.name), "{}", info.name);
    }
}
