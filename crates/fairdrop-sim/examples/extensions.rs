//! A queue discipline and a user-defined congestion control: a FIFO that drops its oldest packet, and Reno.
//!
//!     cargo run --release --package fairdrop-sim --example extensions

use fairdrop_sim::extension::prelude::*;

/// The packets that wait, and how many may.
pub struct DropOldest(pub std::collections::VecDeque<Packet<u32>>, pub usize);

impl Discipline<u32> for DropOldest {
    fn enqueue<E: Env<u32>>(&mut self, packet: Packet<u32>, env: &mut E) {
        self.0.push_back(packet);
        let excess = self.0.len().saturating_sub(self.1);
        self.0.drain(..excess).for_each(|oldest| env.dropped(oldest, DropCause::Overflow));
    }

    fn dequeue<E: Env<u32>>(&mut self, _env: &mut E) -> Option<Packet<u32>> {
        self.0.pop_front()
    }

    fn backlog(&self) -> Backlog {
        self.0.iter().collect()
    }
}

/// Half of what is in flight after a loss; the rest is Reno by default.
pub struct MyReno;

impl CongestionControl for MyReno {
    fn ssthresh(&mut self, _window: Window, flight: f64) -> f64 {
        (flight / 2.0).max(2.0)
    }
}

pub(crate) fn main() -> Result<(), FileError> {
    let oldest = DisciplineExtension::named("drop_oldest", |it| DropOldest([].into(), it.limit as usize));
    let reno = CongestionExtension::named("my_reno", LossRecovery::Reno, |_connection| MyReno);
    let extensions = Extensions::default().with(oldest)?.with(reno)?;
    let settings = ["queue.discipline=drop_oldest", "groups.tcp.transport=my_reno"];
    let run = run_file("scenarios/headline.toml", &settings, &extensions)?;
    run.groups.iter().for_each(|group| println!("{:4} {:.3} of the link", group.name, group.sums.share));
    Ok(())
}
