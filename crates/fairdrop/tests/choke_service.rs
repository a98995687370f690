//! `CHOKe` by order of service: its boundaries, what it has in common with `CHOKe`, and agreement with the slow reference.

use fairdrop::DropCause::{MatchArriving, MatchQueued};
use fairdrop::disciplines::choke_service::Place;
use fairdrop::{
    AnyParams, ChokeParams, ChokeServiceParams, Discipline, DrawFrom, ParamValue, RedParams, Stream,
};
use fairdrop_reference::arbitrary::{events, red_params};
use fairdrop_reference::compare::by_name::compare;
use fairdrop_reference::host::{Bits, Bottleneck, Event, run};
use fairdrop_reference::properties;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const PLACES: [Place; 3] = [Place::Uniform, Place::Head, Place::Tail];

fn service(red: RedParams, draw: Place, serve: Place) -> AnyParams {
    AnyParams::ChokeService(ChokeServiceParams { red, draw, serve })
}

/// The model form: nothing but matches.
fn model(draw: Place, serve: Place) -> AnyParams {
    let red =
        RedParams { limit: 1000, min_th: 0.0, max_th: f64::INFINITY, max_p: 0.0, ..RedParams::default() };
    service(red, draw, serve)
}

fn place() -> impl Strategy<Value = Place> {
    prop::sample::select(PLACES.to_vec())
}

/// Ten packets of ten flows behind a busy transmitter.
fn ten(draw: Place, serve: Place) -> Bottleneck {
    let mut link = Bottleneck::blocked(model(draw, serve));
    (0..10).for_each(|flow| assert_eq!(link.arrive(flow).causes(), []));
    link
}

fn departures(link: &mut Bottleneck) -> Vec<u32> {
    std::iter::from_fn(|| link.finish().departed).map(|packet| packet.handle).collect()
}

#[test]
fn parameters_by_name() {
    let mut params = AnyParams::of("choke_service").unwrap();
    assert_eq!(params, AnyParams::ChokeService(ChokeServiceParams::default()));
    assert!(params.set("choke_service", "draw", ParamValue::Word("head")));
    assert!(params.set("choke_service", "serve", ParamValue::Word("tail")));
    assert!(!params.set("choke_service", "serve", ParamValue::Word("spread")));
    assert!(params.set("red", "min_th", ParamValue::Number(7.0)));
    params.set_link(50, 8_000_000);
    let red = RedParams {
        limit: 50,
        min_th: 7.0,
        mean_packet_time: fairdrop::Time::from_ms(1),
        ..RedParams::default()
    };
    assert_eq!(params, service(red, Place::Head, Place::Tail));
}

#[test]
fn the_newest_leaves_first_or_the_oldest() {
    assert_eq!(departures(&mut ten(Place::Tail, Place::Tail)), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(departures(&mut ten(Place::Tail, Place::Head)), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let mut link = ten(Place::Uniform, Place::Uniform);
    let mut left = departures(&mut link);
    assert!(!left.is_sorted() && !left.iter().rev().is_sorted());
    left.sort_unstable();
    assert_eq!(left, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert!(
        link.world.used[Stream::Service as usize] >= 10,
        "one number at each departure, more where it meets a hole"
    );
}

/// Each place takes its candidate from where it says, and no other.
#[test]
fn candidates_are_at_their_place() {
    for (draw, met) in [(Place::Head, 0), (Place::Tail, 9)] {
        for flow in 0..10 {
            let mut link = ten(draw, Place::Uniform);
            let step = link.arrive(flow);
            assert_eq!(step.drawn, [met]);
            let expected = if flow == u64::from(met) { vec![MatchQueued, MatchArriving] } else { vec![] };
            assert_eq!(step.causes(), expected, "{draw:?}, flow {flow}");
        }
    }
    let matches = (0..10).filter(|&flow| !ten(Place::Uniform, Place::Head).arrive(flow).dropped.is_empty());
    assert_eq!(matches.count(), 1, "the same packet each time, whatever the arrival");
}

/// Every waiting packet leaves next with the same probability: chi-squared of 20,000 departures, with holes in the ring.
#[test]
fn service_at_random_is_uniform() {
    let mut link = ten(Place::Uniform, Place::Uniform);
    // Three leave, which makes holes.
    (0..3).for_each(|_| drop(link.finish()));
    let waiting = link.waiting();
    let mut left = [0_u32; 10];
    for seed in 0..20_000 {
        let mut copy = link.clone();
        copy.world.bits[Stream::Service as usize] =
            Bits::Stream(fairdrop::Philox::new(seed, 0, Stream::Service as u32));
        left[copy.finish().departed.expect("seven wait").handle as usize] += 1;
    }
    let expected = 20_000.0 / 7.0;
    let chi_squared: f64 =
        waiting.iter().map(|&handle| (f64::from(left[handle as usize]) - expected).powi(2) / expected).sum();
    // Six degrees of freedom: 0.999999 quantile.
    assert!(chi_squared < 39.0, "{chi_squared}: {left:?}");
    assert_eq!(waiting.iter().map(|&handle| left[handle as usize]).sum::<u32>(), 20_000);
}

/// A random source that is stuck does not stop the link.
#[test]
fn a_stuck_source_serves_the_oldest() {
    let mut link = ten(Place::Uniform, Place::Uniform);
    // No whole number below ten comes from 0.
    link.world.bits[Stream::Service as usize] = Bits::Always(0);
    assert_eq!(link.finish().departed.map(|packet| packet.handle), Some(0));
    assert_eq!(link.queue.stats().stuck_draws, 1);
}

/// Back CHOKe served from the back: what waits is a stack in which no packet lies on one of its own flow.
#[test]
fn no_neighbours_of_one_flow_in_a_stack() {
    let mut runner = TestRunner::deterministic();
    let strategy = events(3);
    for _ in 0..500 {
        let trace = strategy.new_tree(&mut runner).unwrap().current();
        let mut link = Bottleneck::new(model(Place::Tail, Place::Tail), 1);
        for event in &trace {
            link.step(event);
            let flows: Vec<u64> = link.fifo().iter().map(|packet| packet.meta.flow).collect();
            assert!(flows.windows(2).all(|pair| pair[0] != pair[1]), "{flows:?}");
        }
    }
}

properties! {
    #[test]
    fn agrees_with_the_reference(red in red_params(), draw in place(), serve in place(), trace in events(5), seed in any::<u64>()) {
        let result = compare(&service(red, draw, serve), &trace, seed);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// Served from the head it is CHOKe, event by event: basic, Front and Back.
    #[test]
    fn served_in_order_it_is_choke(red in red_params(), place in place(), trace in events(5), seed in any::<u64>()) {
        let draw = match place {
            Place::Uniform => DrawFrom::Uniform,
            Place::Head => DrawFrom::Head,
            Place::Tail => DrawFrom::Tail,
        };
        let choke = AnyParams::Choke(ChokeParams { red: red.clone(), draw, ..ChokeParams::default() });
        prop_assert_eq!(run(service(red, place, Place::Head), &trace, seed), run(choke, &trace, seed));
    }

    /// The order of service changes neither how many packets come and go nor that none is lost.
    #[test]
    fn nothing_is_lost(red in red_params(), draw in place(), serve in place(), trace in events(5), seed in any::<u64>()) {
        let mut link = Bottleneck::new(service(red.clone(), draw, serve), seed);
        let mut here: Vec<u32> = Vec::new();
        for event in &trace {
            let step = link.step(event);
            here.extend(step.arrived.iter().map(|packet| packet.handle));
            let gone: Vec<u32> = step.dropped.iter().map(|(packet, _)| packet.handle)
                .chain(step.departed.iter().map(|packet| packet.handle)).collect();
            let before = here.len();
            here.retain(|handle| !gone.contains(handle));
            prop_assert_eq!(before - here.len(), gone.len(), "each once");
            prop_assert_eq!(&link.waiting(), &here, "in the order of arrival");
            prop_assert!(here.len() <= red.limit as usize);
            prop_assert!(link.busy || here.is_empty(), "work conservation");
            prop_assert_eq!(step.count(MatchQueued), step.count(MatchArriving));
        }
    }
}

/// The random cases above are worth something only if they reach every cause often, and leave packets to choose from.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (red_params(), place(), place(), events(5));
    let (mut matched, mut overtakes) = (0, 0);
    for _ in 0..1000 {
        let (red, draw, serve, trace) = strategy.new_tree(&mut runner).unwrap().current();
        let params = service(red, draw, serve);
        matched += u32::from(compare(&params, &trace, 1).unwrap().contains(&MatchQueued));
        let mut link = Bottleneck::new(params, 1);
        let any = trace.iter().any(|event: &Event| {
            let oldest = link.waiting().first().copied();
            let left = link.step(event).departed.map(|packet| packet.handle);
            left.is_some_and(|left| oldest.is_some_and(|oldest| left > oldest))
        });
        overtakes += u32::from(any);
    }
    assert!(matched >= 50 && overtakes >= 50, "matches in {matched} of 1000, overtaking in {overtakes}");
}
