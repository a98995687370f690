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

/// Bytes that mean something to TOML or JSON.
const ODD: &[u8] = b"[]{}\"'.=,#\n0-eE\\";

/// Files of this repository in which bytes are changed, cut out, repeated, or nested.
#[test]
fn readers_on_files_that_were_changed() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let file = |path: &str| std::fs::read(format!("{root}/{path}")).expect(path);
    type Reader = fn(&[u8]);
    let readers: [(Reader, Vec<u8>); 3] = [
        (fairdrop_fuzz::study, file("fuzz/seeds/study/red.toml")),
        (fairdrop_fuzz::paper, file("python/fairdrop/papers/choke/choke-fig5.toml")),
        (fairdrop_fuzz::result, file("fuzz/seeds/result/small.json")),
    ];
    let mut random = Philox::new(9, 1, 0);
    for (read, whole) in readers {
        read(&whole);
        for _ in 0..300 {
            let mut below = |most: usize| random.next_u64() as usize % most.max(1);
            let mut data = whole.clone();
            for _ in 0..1 + below(4) {
                let (at, length) = (below(data.len()), below(40));
                let end = (at + length).min(data.len());
                match below(5) {
                    0 => data[at] = ODD[below(ODD.len())],
                    1 => drop(data.drain(at..end)),
                    2 => drop(data.splice(at..at, data[at..end].to_vec())),
                    3 => drop(data.splice(at..at, b"[{.".repeat(100))),
                    _ => drop(data.splice(at..at, b"9".repeat(1000))),
                }
                data.push(b'\n');
            }
            read(String::from_utf8_lossy(&data).as_bytes());
        }
    }
}

/// Files that begin as shared objects do, and tables of all kinds.
#[test]
fn plug_ins_on_random_bytes() {
    let seeds = std::env::var("FUZZ_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    for seed in 0..seeds {
        let mut data = bytes(seed, 1024);
        fairdrop_fuzz::plugin(&data);
        // An ELF header with few program headers; all after the type is random.
        let header = [&b"\x7fELF\x02\x01\x01"[..], &[0; 9], &[3, 0]].concat();
        if data.len() > 64 {
            data[..header.len()].copy_from_slice(&header);
            data[32..40].copy_from_slice(&[64, 0, 0, 0, 0, 0, 0, 0]);
            data[54..58].copy_from_slice(&[56, 0, (seed % 4) as u8, 0]);
            fairdrop_fuzz::plugin(&data);
        }
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

/// Frames of which much is as it mostly is.
#[test]
fn rings_on_random_bytes() {
    let seeds = std::env::var("FUZZ_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000);
    let mut random = Philox::new(8, 1, 0);
    for seed in 0..seeds {
        let mut data = vec![(seed % 2) as u8, 200];
        for _ in 0..1 + random.next_u64() % 9 {
            let (word, len) = (random.next_u64().to_le_bytes(), random.next_u64() % 300);
            data.extend(word);
            let header = random.next_u64().to_le_bytes();
            data.extend(if word[7] & 1 == 0 { [0; 10] } else { [1, 1, 54, 0, header[0], 0, 34, 0, 16, 0] });
            data.extend((0..len).map(|at| if at == 12 { 8 } else { header[at as usize % 8] }));
        }
        fairdrop_fuzz::ring(&data);
    }
}

/// A frame that a host could have made, as `offload` takes it: ACK and some of PSH, CWR and ECE.
fn super_packet(random: &mut Philox, v6: bool, protocol: u8) -> Vec<u8> {
    let mut below = |most: u64| (random.next_u64() % most) as usize;
    let (size, payload) = (1 + below(400), below(3000));
    let transport = if v6 { 40 } else { 20 };
    let header = if protocol == 6 { 32 } else { 8 };
    let mut data = vec![
        below(2) as u8,
        1,
        if protocol == 17 {
            5
        } else if v6 {
            4
        } else {
            1
        },
    ];
    for word in [transport + header, size, transport, if protocol == 6 { 16 } else { 6 }] {
        data.extend((word as u16).to_ne_bytes());
    }
    let at = data.len();
    data.resize(at + transport + header + payload, 0);
    let frame = &mut data[at..];
    let length = (header + payload + if v6 { 0 } else { 20 }) as u16;
    let (place, version, next) = if v6 { (4, 0x60, 6) } else { (2, 0x45, 9) };
    frame[place..place + 2].copy_from_slice(&length.to_be_bytes());
    (frame[0], frame[next]) = (version, protocol);
    if protocol == 6 {
        (frame[transport + 12], frame[transport + 13]) = (0x80, 0x10 | [0, 8, 0x80, 0x40][below(4)]);
    }
    data
}

/// Hostile values of every field of the header, frames that were cut short, and extension headers; the rest is random.
#[test]
fn super_packets_on_hostile_bytes() {
    let seeds = std::env::var("FUZZ_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let mut random = Philox::new(8, 1, 0);
    for seed in 0..seeds {
        let (v6, protocol) =
            (random.next_u64().is_multiple_of(2), [6, 6, 17, 0, 43, 60][random.next_u64() as usize % 6]);
        let mut data = super_packet(&mut random, v6, protocol);
        let mut below = |most: usize| random.next_u64() as usize % most;
        // Flags, kind, header length, size, begin of the checksum, its place: hardly ever more than one of them.
        let field = below(12);
        if (2..10).contains(&field) {
            data[1 + field] = [0, 1, 0x80, 0xff, below(256) as u8][below(5)];
        } else if field < 2 {
            data[1 + field] = below(256) as u8;
        }
        for _ in 0..below(4) {
            let at = 11 + below((data.len() - 11).min(90));
            data[at] = [0, 1, 0xff, below(256) as u8][below(4)];
        }
        let len = if seed % 3 == 0 { below(data.len() + 1) } else { data.len() };
        fairdrop_fuzz::offload(&data[..len]);
    }
}

/// Lines of requests, mostly well formed.
#[test]
fn lines_to_the_control_socket() {
    let seeds = std::env::var("FUZZ_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let mut random = Philox::new(9, 1, 0);
    let mut below = |most: usize| random.next_u64() as usize % most;
    let paths = [
        "rate",
        "up.rate",
        "queue",
        "queue.limit",
        "choke.candidates",
        "down.queue.red.max_p",
        "trace",
        "seed",
        "loss",
        "up",
        "",
        "queue.red.min_th",
        "delay",
        "buffers",
        "..",
        "limit",
        "direction",
    ];
    let values = [
        "20mbit",
        "-1",
        "fq_codel",
        "5p",
        "0.1",
        "nan",
        "1e999",
        "\\u0000",
        "[1, 2]",
        "{ a = 1 }",
        "",
        "\\\\",
        "none",
    ];
    for seed in 0..seeds {
        let settings: Vec<_> = (0..below(4))
            .map(|_| {
                format!(
                    "\"{}{}{}\"",
                    paths[below(paths.len())],
                    ["=", " = ", ""][below(3)],
                    values[below(values.len())]
                )
            })
            .collect();
        let direction =
            ["", ", \"direction\": \"up\"", ", \"direction\": \"left\"", ", \"direction\": 3"][below(4)];
        let line = format!("{{\"do\": \"set\", \"settings\": [{}]{direction}}}", settings.join(", "));
        let line = line.as_bytes();
        let len = if seed % 4 == 0 { below(line.len() + 1) } else { line.len() };
        fairdrop_fuzz::control(&line[..len]);
    }
    fairdrop_fuzz::control(b"{\"do\": \"show\"}\nnonsense");
    (0..300).for_each(|seed| fairdrop_fuzz::control(&bytes(seed, 256)));
}

/// Heads in pieces, mostly well formed: some as long as a head may be.
#[test]
fn heads_of_requests() {
    let seeds = std::env::var("FUZZ_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000);
    let mut random = Philox::new(10, 1, 0);
    let mut below = |most: usize| random.next_u64() as usize % most;
    let parts = [
        "Host: localhost",
        "host: [::1]:9000",
        "HOST: evil.example",
        "Authorization: Bearer x",
        "authorization: y",
        "X: y",
        "a",
        ":",
        " folded: 1",
        "Host : a",
        "Content-Length: 5",
        "\0",
        "",
    ];
    for seed in 0..seeds {
        let mut head = format!(
            "{}{} /{} HTTP/1.{}{}",
            ["", "\r\n", "\n"][below(3)],
            ["GET", "GET", "HEAD", "POST", ""][below(5)],
            ["", "api?x=1", "metrics", " a", "?"][below(5)],
            below(3),
            ["\r\n", "\n"][below(2)]
        );
        for _ in 0..below(6) {
            head += parts[below(parts.len())];
            head += if below(9) == 0 { "\n" } else { "\r\n" };
        }
        if below(8) == 0 {
            head += &format!("x: {}\r\n", "y".repeat(8000 + below(400)));
        }
        head += "\r\n";
        let mut data = vec![below(256) as u8];
        data.extend(head.as_bytes());
        let len = if seed % 4 == 0 { below(data.len() + 1) } else { data.len() };
        fairdrop_fuzz::http(&data[..len]);
    }
    (0..300).for_each(|seed| fairdrop_fuzz::http(&bytes(seed, 512)));
}
