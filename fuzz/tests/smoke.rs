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

/// Half of them begin as Ethernet frames with IP and a protocol that is cut do.
#[test]
fn frames_on_random_bytes() {
    let seeds = std::env::var("FUZZ_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let mut random = Philox::new(7, 1, 0);
    let mut data = vec![0; 256];
    for seed in 0..seeds {
        let len = random.next_u64() as usize % data.len();
        for bytes in data[..len].chunks_mut(8) {
            bytes.copy_from_slice(&random.next_u64().to_le_bytes()[..bytes.len()]);
        }
        if seed % 2 == 0 && len > 80 {
            let (kind, version) = if seed % 4 == 0 { ([8, 0], 0x45) } else { ([0x86, 0xdd], 0x60) };
            let protocol = [6, 17, 0, 43][random.next_u64() as usize % 4];
            (data[0], data[2]) = (0, 14);
            data[16..18].copy_from_slice(&kind);
            (data[18], data[24], data[27]) = (version, protocol, protocol);
        }
        fairdrop_fuzz::frame(&data[..len]);
    }
}
