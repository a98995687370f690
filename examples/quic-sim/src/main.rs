//! The shares of QUIC downloads beside a UDP flow, for each discipline named.

use fairdrop::{AnyParams, CATALOGUE};
use quic_sim::{Setup, run};
use std::process::ExitCode;
use std::time::Duration;

const RATE_BPS: u64 = 10_000_000;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let names = if names.is_empty() {
        ["droptail", "red", "choke", "fq_codel", "collar"].map(Into::into).to_vec()
    } else {
        names
    };
    println!("8 QUIC downloads and 10 Mb/s of UDP over 10 Mb/s, 40 ms, for 20 simulated seconds:");
    println!("{:14} {:>9} {:>10} {:>9} {:>6}", "discipline", "QUIC Mb/s", "least Mb/s", "UDP Mb/s", "drops");
    for name in &names {
        let Some(mut queue) = AnyParams::of(name) else {
            let all: Vec<_> = CATALOGUE.iter().map(|info| info.name).collect();
            eprintln!("quic-sim: no discipline is called {name:?}; there are {}", all.join(", "));
            return ExitCode::from(2);
        };
        queue.set_link(300, RATE_BPS);
        let setup = Setup {
            queue,
            rate_bps: RATE_BPS,
            rtt: Duration::from_millis(40),
            clients: 8,
            udp_bps: RATE_BPS,
            duration: Duration::from_secs(20),
        };
        let outcome = match run(&setup) {
            Ok(outcome) => outcome,
            Err(error) => {
                eprintln!("quic-sim: {name}: {error}");
                return ExitCode::FAILURE;
            }
        };
        let mbps = |bytes: u64| bytes as f64 * 8e-6 / setup.duration.as_secs_f64();
        let least = outcome.received.iter().copied().min().unwrap_or(0);
        println!(
            "{name:14} {:9.2} {:10.3} {:9.2} {:6}",
            mbps(outcome.received.iter().sum()),
            mbps(least),
            mbps(outcome.udp_received),
            outcome.bottleneck.dropped_in_all().packets,
        );
    }
    ExitCode::SUCCESS
}
