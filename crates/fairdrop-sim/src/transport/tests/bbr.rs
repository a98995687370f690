//! BBR over whole simulated paths.

use super::network::run;
use crate::RunResult;

/// A bottleneck of 10 Mb/s with 20 ms each way: 50 packets of 1000 bytes in flight fill it.
fn path(buffer: u32, seconds: u32, groups: &str) -> RunResult {
    let text = format!(
        "duration = {seconds}\nwarm_up = 5\nsample = 0\n[dumbbell]\nrate = \"10mbit\"\ndelay = \"20ms\"\n\
         access_rate = \"1gbit\"\n[queue]\ndiscipline = \"droptail\"\nlimit = \"{buffer}p\"\n{groups}"
    );
    run(&text, 1)
}

fn group(name: &str, transport: &str, count: u32) -> String {
    format!("[[groups]]\nname = \"{name}\"\ntransport = \"{transport}\"\ncount = {count}\nmax_window = \"10000p\"\n")
}

#[test]
fn explore() {
    for t in ["bbr", "bbr3", "cubic"] {
        for (buffer, count) in [(1000, 1), (1000, 2), (25, 1), (25,2)] {
            let r = path(buffer, 35, &group("a", t, count));
            println!("{t} {buffer} {count}: {:?} util {} queue {:?} sojourn {:?}", r.flows.iter().map(|f| (f.measured.goodput_bps.unwrap() as u64, f.measured.transport)).collect::<Vec<_>>(), r.utilisation, r.queues[0].mean_packets, r.queues[0].sojourn_s.mean);
        }
    }
    for t in ["bbr", "bbr3"] {
        for buffer in [12, 25, 50, 100, 200, 400, 800] {
            let r = path(buffer, 125, &(group("a", t, 1) + &group("b", "cubic", 1)+"era=\"linux\"\n"));
            println!("{t} beside cubic {buffer}: {:?} util {} queue {:?} sojourn {:?}", r.flows.iter().map(|f| (f.measured.goodput_bps.unwrap() as u64, f.measured.transport.retransmissions)).collect::<Vec<_>>(), r.utilisation, r.queues[0].mean_packets, r.queues[0].sojourn_s.mean);
        }
    }
}
