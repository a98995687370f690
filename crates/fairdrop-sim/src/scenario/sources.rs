//! How the sources of a group send, from its table.

use super::fields::MARK_EXCESS;
use super::{
    BurstConfig, CbrConfig, Connections, CubicConfig, DctcpConfig, Flavour, LedbatConfig, MarkExcess,
    OnOffConfig, PeriodLaw, PoissonConfig, SackConfig, SizeLaw, TcpConfig, Transport, VegasConfig, trace,
};
use crate::input::{Node, Report, Section};
use crate::random::BoundedPareto;
use fairdrop::Time;

/// The largest Pareto transfer, when nothing else is said, in means.
const MAX_OVER_MEAN: f64 = 1000.0;
/// Most packets of one transfer.
const MAX_SEGMENTS: u64 = 1 << 31;

/// The transport called `name` with the settings of `section`; `None` when something is wrong with them.
pub fn transport(name: &str, section: &Section, report: &mut Report) -> Option<Transport> {
    if let Some(flavour) = Flavour::ALL.into_iter().find(|flavour| flavour.name() == name) {
        return Some(Transport::Tcp(tcp(flavour, section, report)));
    }
    Some(match name {
        "poisson" => Transport::Poisson(PoissonConfig { rate_bps: section.number_or_zero("rate") as u64 }),
        "on_off" => Transport::OnOff(on_off(section)),
        "burst" => Transport::Burst(BurstConfig {
            burst_packets: section.number_or_zero("burst_packets") as u32,
            period: section.time("period").unwrap_or(Time::ZERO),
            phase: section.time("phase"),
        }),
        "trace" => Transport::Trace(trace::config(section, report)?),
        _ => Transport::Cbr(CbrConfig {
            rate_bps: section.number_or_zero("rate") as u64,
            jitter: section.number_or_zero("jitter"),
        }),
    })
}

fn on_off(section: &Section) -> OnOffConfig {
    let law = match section.text("law") {
        Some("pareto") => PeriodLaw::Pareto { shape: section.number("shape").unwrap_or(1.5) },
        _ => PeriodLaw::Exponential,
    };
    OnOffConfig {
        peak_rate_bps: section.number_or_zero("peak_rate") as u64,
        mean_on: section.time("mean_on").unwrap_or(Time::ZERO),
        mean_off: section.time("mean_off").unwrap_or(Time::ZERO),
        law,
    }
}

fn tcp(flavour: Flavour, section: &Section, report: &mut Report) -> TcpConfig {
    let (initial_window, modern, tick_ms, min_rto_ms, initial_rto_ms) = match section.text("era") {
        Some("ns2-1998") => (1.0, false, 100, 200, 6000),
        Some("ns2-2005") => (2.0, true, 10, 200, 3000),
        _ => (10.0, true, 1, 1000, 1000),
    };
    // RFC 6817, section 2.5: INIT_CWND.
    let initial_window =
        if flavour == Flavour::Ledbat { f64::min(initial_window, 2.0) } else { initial_window };
    let time = |name, ms| section.time(name).unwrap_or(Time::from_ms(ms));
    TcpConfig {
        flavour,
        max_window: section.number("max_window").unwrap_or(300.0).floor(),
        initial_window: section.number("initial_window").unwrap_or(initial_window).floor(),
        handshake: section.switch("handshake").unwrap_or(modern),
        limited_transmit: section.switch("limited_transmit").unwrap_or(modern),
        delayed_ack: section.switch("delayed_ack").unwrap_or(false),
        ecn: ecn(flavour, section, report),
        ack_size: section.number_or_zero("ack_size") as u32,
        tick: time("tick", tick_ms),
        tick_phase: section.number("tick_phase"),
        min_rto: time("min_rto", min_rto_ms),
        initial_rto: time("initial_rto", initial_rto_ms),
        max_rto: time("max_rto", 64_000),
        ns2_compat: section
            .switch("ns2_compat")
            .unwrap_or(matches!(section.text("era"), Some("ns2-1998" | "ns2-2005"))),
        max_doublings: if section.is_set("max_doublings") {
            section.integer("max_doublings") as u8
        } else if section.text("era") == Some("ns2-1998") {
            6
        } else {
            32
        },
        transfer_bytes: transfer(section, report),
        app_rate_bps: section.number("app_rate").map(|rate| rate as u64),
        connections: connections(section, report),
        sack: SackConfig {
            sack_blocks: if section.is_set("sack_blocks") { section.integer("sack_blocks") as u8 } else { 3 },
            // RFC 6675 is of 2012; RFC 3517 before it had no rule 4.
            rescue: section.switch("rescue").unwrap_or(section.text("era") == Some("modern")),
        },
        vegas: vegas(section),
        cubic: CubicConfig {
            fast_convergence: section.switch("fast_convergence").unwrap_or(true),
            tcp_friendly: section.switch("tcp_friendly").unwrap_or(true),
        },
        ledbat: ledbat(section),
        dctcp: DctcpConfig {
            g: section.number("g").unwrap_or(1.0 / 16.0),
            initial_alpha: section.number("initial_alpha").unwrap_or(1.0),
        },
    }
}

/// DCTCP is nothing without it.
fn ecn(flavour: Flavour, section: &Section, report: &mut Report) -> bool {
    let on = section.switch("ecn").unwrap_or(false);
    if flavour == Flavour::Dctcp && section.is_set("ecn") && !on {
        report.add(section.origin("ecn"), &section.path("ecn"), "false", "true with dctcp");
    }
    on || flavour == Flavour::Dctcp
}

fn ledbat(section: &Section) -> LedbatConfig {
    LedbatConfig {
        target: section.time("target").unwrap_or(Time::from_ms(100)),
        gain: section.number("gain").unwrap_or(1.0),
        base_history: section.number("base_history").unwrap_or(10.0) as u16,
        current_filter: section.number("current_filter").unwrap_or(4.0) as u16,
        allowed_increase: section.number("allowed_increase").unwrap_or(1.0),
        min_window: section.number("min_window").unwrap_or(2.0),
    }
}

fn vegas(section: &Section) -> VegasConfig {
    let repairs = section.switch("vegas_repairs").unwrap_or(false);
    VegasConfig {
        alpha: section.number("alpha").unwrap_or(1.0),
        beta: section.number("beta").unwrap_or(3.0),
        gamma: section.number("gamma").unwrap_or(1.0),
        sample_duplicates: section.switch("sample_duplicates").unwrap_or(!repairs),
        newreno_recovery: section.switch("newreno_recovery").unwrap_or(repairs),
        halve_on_loss: section.switch("halve_on_loss").unwrap_or(!repairs),
    }
}

fn transfer(section: &Section, report: &mut Report) -> Option<u64> {
    let bytes = section.number("transfer")? as u64;
    let packet = section.number("packet_size").unwrap_or(1000.0) as u64;
    if bytes / packet.max(1) >= MAX_SEGMENTS {
        let valid = format!("fewer than {MAX_SEGMENTS} packets of {packet} bytes");
        report.add(section.origin("transfer"), &section.path("transfer"), &format!("{bytes} bytes"), &valid);
    }
    Some(bytes)
}

fn connections(section: &Section, report: &mut Report) -> Option<Connections> {
    let Some(rate) = section.number("connections") else {
        for name in ["sizes", "size_shape", "max_transfer"] {
            if section.is_set(name) {
                let what = format!("{} has no effect", section.path(name));
                report.add(section.origin(name), "", &what, "with connections");
            }
        }
        return None;
    };
    let Some(mean) = section.number("transfer") else {
        let what = format!("{} is missing", section.path("transfer"));
        report.add(section.origin("connections"), "", &what, "with connections, their mean size");
        return None;
    };
    let sizes = match section.text("sizes") {
        Some("exponential") => SizeLaw::Exponential(mean),
        Some("pareto") => {
            let high = section.number("max_transfer").unwrap_or(MAX_OVER_MEAN * mean);
            if high <= mean {
                let field = section.path("max_transfer");
                let valid = format!("more than transfer ({mean} bytes)");
                report.add(section.origin("max_transfer"), &field, &high.to_string(), &valid);
                return None;
            }
            let shape = section.number("size_shape").unwrap_or(1.2);
            SizeLaw::Pareto(BoundedPareto::with_mean(mean, high, shape))
        }
        _ => SizeLaw::Constant(mean),
    };
    Some(Connections { per_s: rate * section.integer("count") as f64, sizes })
}

/// The edge meter of a group.
pub fn mark_excess(group: &Node, path: &str, report: &mut Report) -> Option<MarkExcess> {
    let section = Section::read(
        Some(group.get("mark_excess")?),
        &format!("{path}.mark_excess"),
        MARK_EXCESS,
        &[],
        report,
    );
    Some(MarkExcess {
        rate_bps: section.number_or_zero("rate") as u64,
        burst_bytes: section.number_or_zero("burst") as u32,
        class: section.integer("class") as u8,
    })
}
