//! A congestion control of one's own: Reno once more, from RFC 5681, beside the simulator's. They are the same bit for bit.
//!
//!     cargo run --release --package fairdrop-sim --example own_reno -- scenarios/headline.toml

use fairdrop_sim::own::{AckEvent, CongestionControl, LossRecovery, OwnCongestion, Parts, Variant, Window};
use fairdrop_sim::{Control, scenario::Scenario, simulate};

/// What lists and messages say of it.
pub const MY_RENO: Variant = Variant {
    name: "my_reno",
    title: "Reno, written once more",
    doc: "Slow start, congestion avoidance and a halved window.",
    source: "RFC 5681",
    ..Variant::over(LossRecovery::Reno)
};

/// It remembers nothing: the window is all there is.
#[derive(Debug)]
pub struct MyReno;

impl CongestionControl for MyReno {
    fn open_window(&mut self, window: &mut Window, _ack: &AckEvent) {
        window.cwnd += if window.cwnd < window.ssthresh { 1.0 } else { 1.0 / window.cwnd };
    }

    fn ssthresh(&mut self, _window: Window, flight: f64) -> f64 {
        (flight / 2.0).max(2.0)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: own_reno SCENARIO.toml")?;
    let (mut parts, control) = (Parts::default(), Control::default());
    parts.add(OwnCongestion::new(&MY_RENO, &[], |_| Ok(MyReno)))?;
    for name in ["reno", "my_reno"] {
        let settings = [format!("groups.tcp.transport={name}")];
        let text = std::fs::read_to_string(&file)?;
        let scenario = Scenario::parse_with(&text, &file, &settings, &parts, &control)?;
        let run = simulate(&scenario, scenario.seed, &control)?.ok_or("stopped")?;
        for group in &run.groups {
            println!("{name:8} {:8} {:5.1} % of the link", group.name, 100.0 * group.sums.share);
        }
    }
    Ok(())
}
