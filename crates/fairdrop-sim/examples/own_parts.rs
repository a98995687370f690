//! A queue discipline and a congestion control of one's own: a FIFO that drops its oldest packet, and Reno.
//!
//!     cargo run --release --package fairdrop-sim --example own_parts -- scenarios/headline.toml

use fairdrop::{Backlog, Discipline, DropCause, Env, Packet};
use fairdrop_sim::own::{CongestionControl, LossRecovery, OwnCongestion, OwnDiscipline, Parts, Window};
use std::collections::VecDeque;

struct DropOldest(VecDeque<Packet<u32>>, u32);

impl Discipline<u32> for DropOldest {
    fn enqueue<E: Env<u32>>(&mut self, packet: Packet<u32>, env: &mut E) {
        self.0.push_back(packet);
        if self.backlog().packets > self.1 {
            self.0.pop_front().into_iter().for_each(|oldest| env.dropped(oldest, DropCause::Overflow));
        }
    }
    fn dequeue<E: Env<u32>>(&mut self, _env: &mut E) -> Option<Packet<u32>> {
        self.0.pop_front()
    }
    fn backlog(&self) -> Backlog {
        self.0.iter().collect()
    }
}

#[derive(Debug)]
struct MyReno;

impl CongestionControl for MyReno {
    fn ssthresh(&mut self, _window: Window, flight: f64) -> f64 {
        (flight / 2.0).max(2.0)
    }
}

pub(crate) fn parts() -> Result<Parts, fairdrop_sim::own::PartError> {
    let mut parts = Parts::default();
    parts.add(OwnDiscipline::named("drop_oldest", |setup| DropOldest(VecDeque::new(), setup.limit)))?;
    parts.add(OwnCongestion::named("my_reno", LossRecovery::Reno, |_connection| MyReno))?;
    Ok(parts)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: own_parts SCENARIO.toml")?;
    let settings = ["queue.discipline=drop_oldest", "groups.tcp.transport=my_reno"];
    for group in fairdrop_sim::run_file(&file, &settings, &parts()?)?.groups {
        println!("{:4} {:.3} of the link", group.name, group.sums.share);
    }
    Ok(())
}
