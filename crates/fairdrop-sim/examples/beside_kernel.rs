//! The simulator's sender beside the kernel's, ACK by ACK: plays a recording of `experiments/fidelity/recording.py`.
//!
//!     cargo run --release --package fairdrop-sim --example beside_kernel -- TRANSPORT RECORDING [field=value ...]

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (transport, file) = arguments
        .next()
        .zip(arguments.next())
        .ok_or("usage: beside_kernel TRANSPORT RECORDING [field=value ...]")?;
    let settings: Vec<_> = arguments.collect();
    let recording = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let table = fairdrop_sim::beside_kernel(&transport, &settings, &recording)
        .map_err(|error| format!("{file}: {error}"))?;
    print!("{table}");
    Ok(())
}
