//! The bodies of the fuzz targets on random bytes, with stable Rust: they stay in working order.

use fairdrop::{CATALOGUE, Philox};

fn bytes(seed: u64, most: u64) -> Vec<u8> {
    let mut random = Philox::new(seed, 0, 0);
    let words = random.next_u64() % (most / 8);
    (0..words).flat_map(|_| random.next_u64().to_le_bytes()).collect()
}

/// The first byte chooses, and every discipline can be chosen.
#[test]
fn any_discipline_may_be_chosen() {
    assert!(CATALOGUE.len() <= 256);
    (0..=255_u8).for_each(|choice| fairdrop_fuzz::any_discipline(&[choice; 64]));
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
