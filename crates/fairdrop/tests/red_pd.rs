//! RED-PD: boundaries, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{Filter, Overflow, RedEarly, RedForced};
use fairdrop::{AnyDiscipline, AnyParams, ParamValue, RedParams, RedPdParams, Stream, Time};
use fairdrop_reference::arbitrary::{greedy_events, red_params};
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::host::{Bits, Bottleneck, Event, KEEP};
use fairdrop_reference::red_pd::RedPdModel;
use fairdrop_reference::wall::{filled, wall};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// Lists of 100 ms while there is no loss, then of 20 ms.
fn quick() -> RedPdParams {
    RedPdParams { red: wall(), target_rtt: Time::from_ms(10), ..RedPdParams::default() }
}

fn probability(link: &Bottleneck, flow: u64) -> f64 {
    let AnyDiscipline::RedPd(pd) = &link.queue else { panic!("this is not RED-PD") };
    pd.probability(flow)
}

/// One drop of flow 1 in each of `lists` lists; the first ends at 100 ms.
fn dropped_in(lists: u32) -> Bottleneck {
    let mut link = filled(AnyParams::RedPd(quick()));
    link.wait(90 * MS);
    for _ in 0..lists {
        assert_eq!(link.arrive(1).causes(), [RedForced]);
        link.wait(20 * MS);
    }
    link
}

/// The same with three, and a filter that keeps.
fn monitored() -> Bottleneck {
    let mut link = dropped_in(3);
    link.world.bits[Stream::FilterCoin as usize] = KEEP;
    link.arrive(1);
    link
}

#[test]
fn defaults_and_names() {
    let mut read =
        RedPdParams { target_rtt: Time::ZERO, lists: 1, appearances: 1, max_flows: 1, ..Default::default() };
    let values = [("target_rtt", 0.04), ("lists", 5.0), ("appearances", 3.0), ("max_flows", 250.0)];
    assert!(values.iter().all(|&(name, value)| read.set(name, ParamValue::Number(value))));
    assert!(!read.set("min_th", ParamValue::Number(1.0)), "RED's are set on RED");
    assert_eq!(read, RedPdParams::default());
}

#[test]
fn errors_name_the_parameter() {
    let name = |params: RedPdParams| params.validate().expect_err("out of range").name;
    assert_eq!(name(RedPdParams { red: RedParams { w_q: 0.0, ..wall() }, ..quick() }), "w_q");
    assert_eq!(name(RedPdParams { target_rtt: Time::ZERO, ..quick() }), "target_rtt");
    assert_eq!(name(RedPdParams { lists: 9, ..quick() }), "lists");
    assert_eq!(name(RedPdParams { appearances: 6, ..quick() }), "appearances");
    assert_eq!(name(RedPdParams { max_flows: 0, ..quick() }), "max_flows");
}

/// sqrt(3/2) / (R sqrt(p)): at a loss of 6 % and 100 ms, 50 packets per second.
#[test]
fn the_reference_rate_is_that_of_tcp() {
    let params = RedPdParams { target_rtt: Time::from_ms(100), ..quick() };
    assert!((params.reference_rate(0.06) - 50.0).abs() < 1e-9);
    assert!((params.reference_rate(0.015) - 100.0).abs() < 1e-9);
}

/// Two lists are not enough, three are; the third must have ended.
#[test]
fn a_flow_in_three_lists_is_monitored() {
    for (lists, monitored) in [(2, false), (3, true)] {
        let mut link = dropped_in(lists);
        link.arrive(7);
        assert_eq!(probability(&link, 1) > 0.0, monitored, "{lists}");
        assert_eq!(probability(&link, 9), 0.0);
    }
    let mut link = dropped_in(2);
    link.arrive(1);
    link.wait(10 * MS - 1);
    link.arrive(7);
    assert_eq!(probability(&link, 1), 0.0);
    link.wait(MS * 10);
    link.arrive(7);
    assert!(probability(&link, 1) > 0.0);
}

/// One list: flow 1 loses a packet, nine others pass.
fn one_of_ten(link: &mut Bottleneck) {
    assert_eq!(link.arrive(1).causes(), [RedForced]);
    for _ in 0..9 {
        link.finish();
        assert_eq!(link.arrive(9).causes(), []);
    }
    link.wait(20 * MS);
}

/// One drop of 20 packets in the first list, of 10 in the next two: averages 0.05, 0.075 and 0.0875, the last of which
/// is below the newest loss; and the flow is the average one of those that are in three lists.
#[test]
fn it_begins_with_the_loss_of_red() {
    let mut link = filled(AnyParams::RedPd(quick()));
    link.wait(90 * MS);
    (0..3).for_each(|_| one_of_ten(&mut link));
    link.arrive(7);
    assert!((probability(&link, 1) - 0.0875).abs() < 1e-12, "{}", probability(&link, 1));
}

/// The random draw is compared with the probability; RED never hears of what the filter drops.
#[test]
fn the_filter_drops_before_red() {
    let mut link = monitored();
    assert_eq!(probability(&link, 1), 0.5);
    for (draw, cause) in [(0, Filter), ((1 << 63) - 1, Filter), (1 << 63, RedForced)] {
        link.world.bits[Stream::FilterCoin as usize] = Bits::Always(draw);
        assert_eq!(link.arrive(1).causes(), [cause]);
    }
    let (before, used) = (link.average(), link.world.used[Stream::FilterCoin as usize]);
    (0..11).for_each(|_| drop(link.finish()));
    link.world.bits[Stream::FilterCoin as usize] = Bits::Always(0);
    assert_eq!(link.arrive(1).causes(), [Filter]);
    assert_eq!((link.average(), link.world.used[Stream::FilterCoin as usize]), (before, used + 1));
    assert_eq!(link.arrive(2).causes(), []);
    assert_eq!(link.world.used[Stream::FilterCoin as usize], used + 1, "others need no draw");
}

/// A flow that RED goes on dropping is dropped more, every four lists; one that it does not, less, every three.
#[test]
fn probabilities_rise_and_fall() {
    let mut link = filled(AnyParams::RedPd(quick()));
    link.world.bits[Stream::FilterCoin as usize] = KEEP;
    link.wait(90 * MS);
    let mut seen = Vec::new();
    for _ in 0..12 {
        one_of_ten(&mut link);
        seen.push(probability(&link, 1));
    }
    let rises: Vec<usize> = (1..12).filter(|&at| seen[at] > seen[at - 1]).collect();
    assert_eq!(rises, [3, 7, 11], "{seen:?}");
    assert!((seen[3] - 0.0875).abs() < 1e-12 && seen[7] == 2.0 * seen[3], "no more than twice: {seen:?}");
    assert!((seen[11] - seen[7] - 0.1).abs() < 1e-3, "by the loss of RED: {seen:?}");
    let mut seen = vec![probability(&link, 1)];
    while probability(&link, 1) > 0.0 {
        link.wait(20 * MS);
        link.arrive(7);
        assert!(seen.len() < 200, "{seen:?}");
        seen.push(probability(&link, 1));
    }
    assert!(seen.windows(2).all(|pair| pair[1] <= pair[0] && pair[1] >= pair[0] / 2.0 - 0.005), "{seen:?}");
    assert!(seen.iter().filter(|&&p| p > 0.0).all(|&p| p > 0.0025), "{seen:?}");
}

/// Silence lets everyone go.
#[test]
fn silence_forgets() {
    let mut link = monitored();
    link.wait(100_000 * MS);
    link.arrive(7);
    assert_eq!(probability(&link, 1), 0.0);
    link.world.now = Time::NEVER;
    link.arrive(7);
}

/// With room for one flow the second is not noted.
#[test]
fn without_room_drops_are_not_noted() {
    let mut link = filled(AnyParams::RedPd(RedPdParams { max_flows: 1, ..quick() }));
    link.wait(90 * MS);
    for _ in 0..4 {
        link.arrive(1);
        link.arrive(2);
        link.wait(20 * MS);
    }
    link.arrive(7);
    assert!(probability(&link, 1) > 0.0 && probability(&link, 2) == 0.0);
}

fn params() -> impl Strategy<Value = RedPdParams> {
    let max_flows = prop_oneof![Just(250_u32), 1_u32..6];
    (red_params(), MS..50 * MS, 1_u32..=8, 1_u32..=8, max_flows).prop_map(
        |(red, rtt, lists, appearances, max_flows)| RedPdParams {
            red,
            target_rtt: Time::from_ns(rtt),
            lists,
            appearances: appearances.min(lists),
            max_flows,
        },
    )
}

properties! {
    #[test]
    fn red_pd_agrees(params in params(), trace in greedy_events(300), seed in any::<u64>()) {
        let result = compare(Bottleneck::new(AnyParams::RedPd(params.clone()), seed), &mut RedPdModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        check_conservation(&AnyParams::RedPd(params), &trace, seed, InOrder::All)?;
    }

    /// Before the first list has ended nobody is monitored, and it is RED.
    #[test]
    fn with_nobody_identified_it_is_red(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        let red = AnyParams::Red(params.red.clone());
        let params = RedPdParams { target_rtt: Time::from_ms(1_000_000), ..params };
        same_links(Bottleneck::new(AnyParams::RedPd(params), seed), Bottleneck::new(red, seed), &trace)?;
    }

    /// Flows that send one packet each are in one list at most.
    #[test]
    fn of_distinct_flows_it_is_red(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        let red = AnyParams::Red(params.red.clone());
        let lists = params.lists.max(2);
        let params = RedPdParams { lists, appearances: params.appearances.max(2), ..params };
        let trace: Vec<Event> = trace.into_iter().enumerate().map(|(at, event)| match event {
            Event::Arrive { len, .. } => Event::Arrive { flow: at as u64, len },
            other => other,
        }).collect();
        same_links(Bottleneck::new(AnyParams::RedPd(params), seed), Bottleneck::new(red, seed), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(
        1000,
        &(params(), greedy_events(300), any::<u64>()),
        &[Overflow, RedEarly, RedForced, Filter],
        |(params, events, seed)| {
            compare(
                Bottleneck::new(AnyParams::RedPd(params.clone()), seed),
                &mut RedPdModel::new(params),
                &events,
            )
        },
    );
}
