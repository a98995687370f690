//! Flow valve: boundaries, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{Filter, Overflow, RedEarly, RedForced};
use fairdrop::{AnyDiscipline, AnyParams, FlowValveParams, ParamValue, RedParams, Time};
use fairdrop_reference::arbitrary::{greedy_events, red_params};
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::flow_valve::ValveModel;
use fairdrop_reference::host::{Bottleneck, Event};
use fairdrop_reference::wall::{filled, wall};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A valve may shut at any loss.
fn quick() -> FlowValveParams {
    FlowValveParams { red: wall(), ..FlowValveParams::default() }
}

fn state(link: &Bottleneck, flow: u64) -> (bool, Option<(f64, f64)>) {
    let AnyDiscipline::FlowValve(valve) = &link.queue else { panic!("this is no flow valve") };
    (valve.is_shut(flow), valve.loss_and_part(flow))
}

/// Flow 1 sends, and RED drops it, until its valve is shut.
fn shut() -> Bottleneck {
    let mut link = filled(AnyParams::FlowValve(quick()));
    for _ in 0..200 {
        if link.arrive(1).causes() == [Filter] {
            return link;
        }
    }
    panic!("the valve did not shut: {:?}", state(&link, 1));
}

#[test]
fn defaults_and_names() {
    let mut read = FlowValveParams {
        back_off: Time::ZERO,
        forget_after: Time::ZERO,
        max_flows: 1,
        ..Default::default()
    };
    let values = [("back_off", 1.0), ("forget_after", 3.0), ("max_flows", 64.0)];
    assert!(values.iter().all(|&(name, value)| read.set(name, ParamValue::Number(value))));
    assert!(!read.set("tea", ParamValue::Number(1.0)));
    assert_eq!(read, FlowValveParams::default());
}

#[test]
fn errors_name_the_parameter() {
    let name = |params: FlowValveParams| params.validate().expect_err("out of range").name;
    assert_eq!(name(FlowValveParams { red: RedParams { w_q: 0.0, ..wall() }, ..quick() }), "w_q");
    assert_eq!(name(FlowValveParams { back_off: Time::NEVER, ..quick() }), "back_off");
    assert_eq!(name(FlowValveParams { forget_after: Time::from_ms(10), ..quick() }), "forget_after");
    assert_eq!(name(FlowValveParams { max_flows: 0, ..quick() }), "max_flows");
}

/// Of a link with room for 100 packets, at a loss of 3 % and of 75 %, by hand: 1 / (0.2 + 0.45 * 0.03 * 1.0288) and
/// 1 / (1 + 0.75 * 19).
#[test]
fn the_fair_part_is_that_of_tcp() {
    let params = FlowValveParams { red: RedParams { max_th: 95.0, ..wall() }, ..quick() };
    assert!((params.fair_part(0.03) - 0.01 / (0.2 + 0.45 * 0.03 * 1.0288)).abs() < 1e-12);
    assert!((params.fair_part(0.75) - 0.01 / 15.25).abs() < 1e-12);
}

/// After n drops in a row the loss is 1 - (127/128)^n; the part is measured with every tenth packet.
#[test]
fn loss_and_part_are_averages() {
    let mut link =
        filled(AnyParams::FlowValve(FlowValveParams { red: RedParams { max_p: 1.0, ..wall() }, ..quick() }));
    for n in 1..=25 {
        link.arrive(1);
        let (loss, part) = state(&link, 1).1.expect("it has been dropped");
        assert!((loss - (1.0 - (127.0_f64 / 128.0).powi(n))).abs() < 1e-12, "{n}: {loss}");
        // The packet of the first drop is not counted, and the ones before it are not known of.
        let measured = (n - 1) / 10;
        let expected = [0.0, 10.0 / 11.0 / 32.0, 10.0 / 11.0 / 32.0 * 31.0 / 32.0 + 1.0 / 32.0];
        assert!((part - expected[measured as usize]).abs() < 1e-12, "{n}: {part}");
    }
    assert_eq!(state(&link, 9).1, None, "a flow that was never dropped");
}

/// Part and loss must both be high: RED whose `max_p` is above the loss never shuts a valve.
#[test]
fn the_valve_shuts_on_loss_and_part() {
    let link = shut();
    let (loss, part) = state(&link, 1).1.expect("it is remembered");
    assert!(loss > 0.0 && part > quick().fair_part(loss));
    let patient = FlowValveParams { red: RedParams { max_p: 1.0, ..wall() }, ..quick() };
    let mut link = filled(AnyParams::FlowValve(patient));
    (0..2000).for_each(|_| assert_eq!(link.arrive(1).causes(), [RedForced]));
    let roomy = FlowValveParams { red: RedParams { min_th: 9.5, max_th: 10.0, ..wall() }, ..quick() };
    let mut link = filled(AnyParams::FlowValve(roomy));
    for other in 0..2000_u64 {
        (0..200).for_each(|flow| drop(link.arrive(1000 * other + flow + 10)));
        assert_ne!(link.arrive(1).causes(), [Filter], "one packet in 200 is not too much");
        if other > 20 {
            break;
        }
    }
}

/// Shut for everything, though the queue is empty; others pass.
#[test]
fn a_shut_valve_drops_everything() {
    let mut link = shut();
    while link.finish().departed.is_some() {}
    (0..100).for_each(|_| assert_eq!(link.arrive(1).causes(), [Filter]));
    assert_eq!(link.arrive(2).causes(), []);
}

/// Silence of exactly `back_off` is not enough, and each packet in between begins it anew.
#[test]
fn silence_opens_the_valve() {
    let mut link = shut();
    for wait in [1000 * MS, 1000 * MS, 500 * MS, 999 * MS] {
        link.wait(wait);
        assert_eq!(link.arrive(1).causes(), [Filter], "{wait}");
    }
    link.wait(1000 * MS + 1);
    assert_ne!(link.arrive(1).causes(), [Filter]);
    let (shut, kept) = state(&link, 1);
    assert!(!shut && kept.is_some_and(|(loss, part)| loss == 1.0 / 128.0 && part > 0.0), "{kept:?}");
}

/// The flow is forgotten more than three seconds after its last drop.
#[test]
fn a_flow_is_forgotten() {
    for (wait, forgotten) in [(3000 * MS, false), (3000 * MS + 1, true)] {
        let mut link = shut();
        (0..10).for_each(|_| drop(link.finish()));
        link.busy = true;
        link.wait(wait);
        link.arrive(1);
        assert_eq!(state(&link, 1).1.is_none(), forgotten, "{wait}");
    }
}

/// The flow whose last drop is longest ago makes room.
#[test]
fn the_last_dropped_are_remembered() {
    let mut link = filled(AnyParams::FlowValve(FlowValveParams { max_flows: 2, ..quick() }));
    for flow in [1, 2, 1, 3] {
        link.arrive(flow);
    }
    let known: Vec<u64> = (1..4).filter(|&flow| state(&link, flow).1.is_some()).collect();
    assert_eq!(known, [1, 3]);
}

fn params() -> impl Strategy<Value = FlowValveParams> {
    let red = red_params().prop_map(|red| RedParams { max_p: red.max_p * red.max_p, ..red });
    let max_flows = prop_oneof![Just(64_u32), 1_u32..5];
    (red, 0_u64..1000 * MS, 0_u64..2000 * MS, max_flows).prop_map(|(red, back_off, more, max_flows)| {
        FlowValveParams {
            red,
            back_off: Time::from_ns(back_off),
            forget_after: Time::from_ns(back_off + more),
            max_flows,
        }
    })
}

properties! {
    #[test]
    fn flow_valve_agrees(params in params(), trace in greedy_events(500), seed in any::<u64>()) {
        let result = compare(Bottleneck::new(AnyParams::FlowValve(params.clone()), seed), &mut ValveModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        check_conservation(&AnyParams::FlowValve(params), &trace, seed, InOrder::All)?;
    }

    /// No loss is above 1, so a valve that needs more never shuts, and it is RED.
    #[test]
    fn with_open_valves_it_is_red(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        let red = RedParams { max_p: 1.0, ..params.red.clone() };
        let params = FlowValveParams { red: red.clone(), ..params };
        same_links(Bottleneck::new(AnyParams::FlowValve(params), seed), Bottleneck::new(AnyParams::Red(red), seed), &trace)?;
    }

    /// The filter drops packets whose valve is shut and no other; loss and part are between 0 and 1.
    #[test]
    fn only_shut_valves_drop(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        let mut link = Bottleneck::new(AnyParams::FlowValve(params.clone()), seed);
        for event in &trace {
            let step = link.step(event);
            let Event::Arrive { flow, .. } = event else { continue };
            let (shut, kept) = state(&link, *flow);
            prop_assert_eq!(shut, step.causes() == [Filter]);
            prop_assert!(kept.is_none_or(|(p, f)| (0.0..=1.0).contains(&p) && (0.0..=1.0).contains(&f)));
        }
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(
        1000,
        &(params(), greedy_events(500), any::<u64>()),
        &[Overflow, RedEarly, RedForced, Filter],
        |(params, events, seed)| {
            compare(
                Bottleneck::new(AnyParams::FlowValve(params.clone()), seed),
                &mut ValveModel::new(params),
                &events,
            )
        },
    );
}
