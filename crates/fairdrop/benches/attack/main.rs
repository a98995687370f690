//! What flows cost that a sender has chosen to crowd together: nanoseconds per packet for every discipline that finds
//! flows by a hash, under 20,000 random flow numbers and under as many chosen ones. `cargo bench --bench attack`; names of
//! disciplines after `--` choose some.
//!
//! Chosen are numbers that fall into one place of a table under the multiplier that tables had in place of a key, and
//! numbers that do so under this hash with a key that is not the host's. Where the hash has no key, or the host's is known,
//! a search goes through thousands of flows; otherwise the three columns are alike.

use std::time::Instant;

use fairdrop::{
    AnyDiscipline, AnyParams, CATALOGUE, Discipline, DropCause, Env, Heap, Meta, Packet, ParamValue, Philox,
    Stream, Time, siphash,
};

const FLOWS: usize = 20_000;
/// Packets that may wait, and that are kept waiting: one of each flow.
const LIMIT: u32 = 26_000;
const ROUNDS: usize = 9;
/// Packets that are timed together: few enough that other work on the machine spares some of them.
const CHUNK: usize = 1000;
/// Most places of a table: numbers that share one of these share one of fewer, in both hashes.
const PLACES: u32 = 1 << 16;
const KNOWN: [u64; 2] = [1, 2];

/// A host with a key of its own.
struct World {
    now: Time,
    key: [u64; 2],
    random: [Philox; Stream::COUNT],
}

impl Env<u64> for World {
    #[inline]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn flow_key(&self) -> [u64; 2] {
        self.key
    }

    #[inline]
    fn random(&mut self, stream: Stream) -> u64 {
        self.random[stream as usize].next_u64()
    }

    fn dropped(&mut self, _: Packet<u64>, _: DropCause) {}
}

/// Parameters with room for all flows, where the discipline keeps some, and with drops, which some remember flows by.
fn params(name: &str) -> AnyParams {
    let mut params = AnyParams::of(name).expect("a discipline");
    params.set_link(LIMIT, 10_000_000_000);
    let limit = f64::from(LIMIT);
    for (owner, parameter, value) in [
        ("red", "min_th", limit * 0.5),
        ("red", "max_th", limit),
        ("red", "max_p", 0.1),
        ("csfq", "flows", 24_000.0),
        ("afd", "shadow", 20_000.0),
        ("afd", "sample_every", 1.0),
        ("red_pd", "max_flows", 24_000.0),
        ("penalty_box", "max_flows", 24_000.0),
        ("flow_valve", "max_flows", 4096.0),
    ] {
        // A discipline has some of these, and `set` passes over the others.
        params.set(owner, parameter, ParamValue::Number(value));
    }
    params
}

/// Nanoseconds per packet, of the fastest thousand: one arrives, and one leaves when one of each flow waits.
fn measure(name: &str, flows: &[u64]) -> f64 {
    let mut queue = AnyDiscipline::new(params(name), &mut Heap).expect("parameters are valid");
    let random = std::array::from_fn(|stream| Philox::new(1, 0, stream as u32));
    let mut world = World { now: Time::ZERO, key: [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210], random };
    let mut fastest = f64::INFINITY;
    for round in 0..ROUNDS {
        for some in flows.chunks(CHUNK) {
            let start = Instant::now();
            for &flow in some {
                world.now = Time::from_ns(world.now.ns() + 1000);
                queue.enqueue(Packet::new(Meta::of_flow(flow, 1000), world.now, flow), &mut world);
                if queue.backlog().packets as usize >= FLOWS {
                    queue.dequeue(&mut world);
                }
            }
            // The first round fills the queue.
            if round > 0 {
                fastest = fastest.min(start.elapsed().as_nanos() as f64 / some.len() as f64);
            }
        }
    }
    fastest
}

/// As many numbers as there are flows that `hash` puts into one place.
fn in_one_place(seed: u64, hash: impl Fn(u64) -> u64) -> Vec<u64> {
    let mut random = seed;
    let numbers = std::iter::repeat_with(|| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random ^ (random >> 29)
    });
    numbers.filter(|&flow| hash(flow) == 0).take(FLOWS).collect()
}

fn folded(one: u64, other: u64) -> u64 {
    let wide = u128::from(one) * u128::from(other);
    (wide >> 64) as u64 ^ wide as u64
}

/// The place in a table under [`KNOWN`]: what `FlowTable` computes with that key.
fn place_under_known_key() -> impl Fn(u64) -> u64 {
    let [mask, first, second] = [0, 1, 2].map(|purpose| siphash(KNOWN, &[purpose]));
    move |flow| folded(flow ^ mask, first | 1).wrapping_mul(second | 1) / (1 << 48)
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let places = u64::from(PLACES - 1);
    let fixed = |flow: u64| folded(flow ^ (flow >> 32), 0x9E37_79B9_7F4A_7C15) & places;
    let sets = [in_one_place(1, |_| 0), in_one_place(2, fixed), in_one_place(3, place_under_known_key())];
    println!(
        "| | random flows | chosen for the fixed multiplier | chosen for another key |\n|---|---:|---:|---:|"
    );
    let tables =
        ["fred", "sfb", "red_pd", "penalty_box", "flow_valve", "csfq", "afd", "sfq", "drr", "fq", "fq_codel"];
    for info in CATALOGUE.iter().filter(|info| tables.contains(&info.name)) {
        if wanted.is_empty() || wanted.iter().any(|name| name == info.name) {
            let [random, fixed, other] = [0, 1, 2].map(|set| measure(info.name, &sets[set]));
            println!("| {} | {random:.0} ns | {fixed:.0} ns | {other:.0} ns |", info.title);
        }
    }
}
