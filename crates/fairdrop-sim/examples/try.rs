use fairdrop_sim::*;
fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let sets: Vec<String> = std::env::args().skip(2).collect();
    let s = match scenario::Scenario::parse(&text, "x.toml", &sets) {
        Ok(s) => s,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(2)
        }
    };
    for d in ["droptail", "red", "choke"] {
        let s = s.with_discipline(d).unwrap();
        let t = std::time::Instant::now();
        let r = simulate(&s, s.seed, &Control::default()).unwrap().unwrap();
        let dt = t.elapsed();
        for g in &r.groups {
            println!(
                "{d} {} share {:.4} goodput {:?} drop {:.3} {:?} {:?} jain {:?}",
                g.name,
                g.sums.share,
                g.sums.goodput_bps,
                g.sums.drop_fraction,
                g.sums.drops.0,
                g.sums.transport,
                g.jain_index
            );
        }
        let q = &r.queues[0];
        println!(
            "   util {:.4} mean {:.1} max {} events {} time {:?} ns/event {:.1} sojourn {:?} {:?}",
            r.utilisation,
            q.mean_packets,
            q.max_packets,
            r.events,
            dt,
            dt.as_nanos() as f64 / r.events as f64,
            q.sojourn_s,
            q.mean_packets_by_group
        );
    }
}
