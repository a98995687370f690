//! The header that is checked in is the one that the code gives. `make header` writes it anew.

#![cfg(not(miri))]

use std::fmt::Write;
use std::path::Path;

use cbindgen::{Builder, Config};
use fairdrop::{CATALOGUE, Kind, LIMIT, places_for, slots_for};
use fairdrop_ffi::FAIRDROP_ALIGN;

use crate::host;

const END: &str = "#endif  /* FAIRDROP_H */\n";

#[test]
fn the_header_is_that_of_the_code() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let core = here.join("../fairdrop/src");
    let config = Config::from_file(here.join("cbindgen.toml")).expect("cbindgen.toml is valid");
    let mut builder = Builder::new().with_config(config);
    for file in ["contract/env.rs", "contract/stats.rs"] {
        builder = builder.with_src(core.join(file));
    }
    for file in [
        "version.rs",
        "arena.rs",
        "problem.rs",
        "params.rs",
        "queue.rs",
        "decision.rs",
        "burst.rs",
        "catalogue.rs",
        "hash.rs",
        "plugin.rs",
    ] {
        builder = builder.with_src(here.join("src").join(file));
    }
    let mut generated = Vec::new();
    builder.generate().expect("the interface can be written in C").write(&mut generated);
    let generated = String::from_utf8(generated).expect("the header is text");
    for (name, value) in [
        ("ABI_VERSION", i64::from(fairdrop_ffi::FAIRDROP_ABI_VERSION)),
        ("PLUGIN_VERSION", i64::from(fairdrop_ffi::FAIRDROP_PLUGIN_VERSION)),
        ("ADMIT", i64::from(fairdrop_ffi::FAIRDROP_ADMIT)),
        ("ALIGN", fairdrop_ffi::FAIRDROP_ALIGN as i64),
        ("MAX_LEN", i64::from(fairdrop_ffi::FAIRDROP_MAX_LEN)),
        ("MOST_VICTIMS", fairdrop_ffi::FAIRDROP_MOST_VICTIMS as i64),
    ] {
        assert!(generated.contains(&format!("#define FAIRDROP_{name} {value}\n")), "{name} in cbindgen.toml");
    }
    for (name, value) in [
        ("NO_ID", fairdrop_ffi::FAIRDROP_NO_ID),
        ("BURST_AVERAGE_ONCE", fairdrop_ffi::FAIRDROP_BURST_AVERAGE_ONCE),
        ("BURST_SNAPSHOT", fairdrop_ffi::FAIRDROP_BURST_SNAPSHOT),
        ("BURST_COUNT_DOWN", fairdrop_ffi::FAIRDROP_BURST_COUNT_DOWN),
        ("GENERATOR_PHILOX", fairdrop_ffi::FAIRDROP_GENERATOR_PHILOX),
        ("GENERATOR_XOROSHIRO", fairdrop_ffi::FAIRDROP_GENERATOR_XOROSHIRO),
    ] {
        assert!(
            generated.contains(&format!("#define FAIRDROP_{name} {value}u\n")),
            "{name} in cbindgen.toml"
        );
    }
    let interface = generated.strip_suffix(END).expect("the header ends with its guard");
    let generated = format!("{interface}{}\n{END}", memory_macros());
    let path = here.join("include/fairdrop.h");
    if std::env::var_os("FAIRDROP_WRITE_HEADER").is_some() {
        std::fs::write(&path, &generated).expect("the header can be written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == generated, "include/fairdrop.h is not that of the code: make header");
}

/// Bytes of a queue by its limit: a sum of what there is once, per packet, per slot of a ring and per place of a table.
struct Bound {
    once: usize,
    packet: usize,
    slot: usize,
    place: usize,
}

impl Bound {
    /// The least bound of this form on a discipline's sizes, from the limits below.
    fn of(name: &str) -> Self {
        let step = |limit| size(name, limit + 1) - size(name, limit);
        // Between these limits neither rings nor tables grow.
        let packet = [10, 100, 1000, 30_000, 900_000].map(step).into_iter().max().unwrap_or(0);
        // Here a ring grows, and then a table.
        let (ring, table) = ((1 << 12) - 4, 3 << 12);
        let slot = (step(ring) - packet.min(step(ring))) / (slots_for(ring + 1) - slots_for(ring));
        let place = (step(table) - packet.min(step(table))) / (places_for(table + 1) - places_for(table));
        let mut bound = Self { once: 0, packet, slot, place };
        let most = limits().map(|limit| size(name, limit).saturating_sub(bound.at(limit))).max().unwrap_or(0);
        // Another compiler may lay a queue out a little differently.
        bound.once = (most + 64).next_multiple_of(64);
        bound
    }

    fn at(&self, limit: u32) -> usize {
        self.once
            + self.packet * limit as usize
            + self.slot * slots_for(limit)
            + self.place * places_for(limit)
    }

    /// As C says it.
    fn in_c(&self) -> String {
        let mut sum = self.once.to_string();
        for (each, count) in [
            (self.packet, "(limit)"),
            (self.slot, "FAIRDROP_SLOTS(limit)"),
            (self.place, "FAIRDROP_PLACES(limit)"),
        ] {
            if each > 0 {
                write!(sum, " + {each} * (size_t){count}").expect("a string takes it");
            }
        }
        format!("({sum})")
    }
}

fn most() -> u32 {
    let Kind::Packets(_, most) = LIMIT.kind else { panic!("limits are counted in packets") };
    most as u32
}

/// All short limits, those beside powers of two, and the longest.
fn limits() -> impl Iterator<Item = u32> {
    let beside = (11..23).flat_map(|power| {
        let power = 1 << power;
        [power / 4 * 3, power - 4, power].into_iter().flat_map(|near| [near - 1, near, near + 1])
    });
    (1..3000).chain(beside).chain([most() - 1, most()])
}

fn size(name: &str, limit: u32) -> usize {
    let params = host::params_of(name, 10_000_000, &[("limit", &limit.to_string())]);
    host::size_of(&params.expect("a limit within its range")).expect("defaults go with every limit")
}

fn memory_macros() -> String {
    let power = |text: String, power: u32| format!("{text} \\\n    (n) <= {0}u ? {0}u :", 1_u32 << power);
    let powers = (0..25).fold(String::new(), power);
    let mut text = format!(
        "\
// Memory that is set aside when a program is compiled: FAIRDROP_CHOKE_BYTES(limit), and one such macro for each discipline,
// is a constant that is at least fairdrop_size() for `limit` packets (1 to {most}) and defaults for what else there is. Other
// parameters may need more, and so may a shared library that is newer than this header; fairdrop_init then says how much.
//
//     static FAIRDROP_MEMORY(block, FAIRDROP_CHOKE_BYTES(100));
//     queue = fairdrop_init(block, sizeof block, &params, &host, &error);
#define FAIRDROP_MEMORY(name, bytes) uint64_t name[((bytes) + {align} - 1) / {align}]

// Smallest power of two that is not below `n`; slots of a ring, and places of a table, for `limit` packets.
#define FAIRDROP_POWER_OF_TWO(n) ({powers} \\\n    {last}u)
#define FAIRDROP_SLOTS(limit) FAIRDROP_POWER_OF_TWO(2 * (size_t)(limit) + 8)
#define FAIRDROP_PLACES(limit) FAIRDROP_POWER_OF_TWO((4 * (size_t)(limit) + 2) / 3)

",
        most = most(),
        align = FAIRDROP_ALIGN,
        last = 1_u32 << 25,
    );
    for info in CATALOGUE {
        let bytes = Bound::of(info.name).in_c();
        writeln!(text, "#define FAIRDROP_{}_BYTES(limit) {bytes}", info.name.to_uppercase())
            .expect("a string takes it");
    }
    text
}

/// `tests/c` has the compiler evaluate the macros; here is what they are made of.
#[test]
fn macros_bound_the_sizes_of_queues_from_above_and_not_far() {
    for info in CATALOGUE {
        let bound = Bound::of(info.name);
        for limit in limits().chain([3_333, 77_777, 1_234_567]) {
            let (size, most) = (size(info.name, limit), bound.at(limit));
            assert!(size > 0 && size <= most, "{} {limit}: {size} of {most}", info.name);
            assert!(most <= size + size / 2 + 128, "{} {limit}: {size} of {most}", info.name);
        }
    }
}
