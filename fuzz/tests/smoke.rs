//! The bodies of the fuzz targets on random bytes, with stable Rust: they stay in working order, and every discipline
//! has one.

use fairdrop::{CATALOGUE, Philox};

fn bytes(seed: u64, most: u64) -> Vec<u8> {
    let mut random = Philox::new(seed, 0, 0);
    let words = random.next_u64() % (most / 8);
    (0..words).flat_map(|_| random.next_u64().to_le_bytes()).collect()
}

#[test]
fn every_discipline_has_a_target() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz_targets");
    for name in CATALOGUE.iter().map(|info| info.name).chain(["capture", "scenario"]) {
        let text = std::fs::read_to_string(format!("{directory}/{name}.rs")).expect(name);
        assert!(text.contains(name), "{name}");
    }
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), CATALOGUE.len() + 2);
}

#[test]
fn disciplines_on_random_bytes() {
    let seeds = std::env::var("FUZZ_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    for info in CATALOGUE {
        (0..seeds).for_each(|seed| fairdrop_fuzz::discipline(info.name, &bytes(seed, 4096)));
    }
}

#[test]
fn readers_on_random_bytes() {
    for seed in 0..300 {
        fairdrop_fuzz::capture(&bytes(seed, 512));
        fairdrop_fuzz::scenario(String::from_utf8_lossy(&bytes(seed, 512)).as_bytes());
    }
}
