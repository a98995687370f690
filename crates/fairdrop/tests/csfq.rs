//! CSFQ: boundaries, shares of steady flows, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{Csfq as AboveFair, Overflow};
use fairdrop::{
    AnyDiscipline, AnyParams, Csfq, CsfqParams, DropTailParams, Meta, RateEstimate, RateLabel, Stream, Time,
};
use fairdrop_reference::arbitrary::timed_events;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation_of, same_links};
use fairdrop_reference::csfq::CsfqModel;
use fairdrop_reference::host::{Bits, Bottleneck, DROP, KEEP};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const DRAW: usize = Stream::CsfqCoin as usize;
/// 2^20 bit/s, so that halves of it are exact, as labels too.
const LINK: f64 = 1_048_576.0;

type CsfqQueue = Csfq<u32, Box<[fairdrop::Slot<u32>]>, Box<[fairdrop::FlowPlace<RateEstimate>]>>;

fn csfq(link: &Bottleneck) -> &CsfqQueue {
    let AnyDiscipline::Csfq(queue) = &link.queue else { panic!("not CSFQ") };
    queue
}

/// The rate of flow n is n times the link's, written on its packets; flow 0 comes without a label.
fn labelled(flow: u64, len: u32) -> Meta {
    let label = if flow == 0 { RateLabel::NONE } else { RateLabel::encode(flow as f64 * LINK) };
    Meta { label: label.0, ..Meta::of_flow(flow, len) }
}

/// Labels are used, not made; congestion does not wait for a queue.
fn core() -> CsfqParams {
    CsfqParams { limit: 50, rate_bps: LINK as u64, edge: false, threshold: 0.0, ..CsfqParams::default() }
}

fn link_of(params: CsfqParams, meta: fn(u64, u32) -> Meta) -> Bottleneck {
    let mut link = Bottleneck { meta, ..Bottleneck::blocked(AnyParams::Csfq(params)) };
    link.world.bits[DRAW] = KEEP;
    link
}

/// Packets at one instant, of 80 kb/s each, that together exceed the link's rate: congestion.
fn congested() -> Bottleneck {
    let mut link = link_of(core(), labelled);
    link.wait(1000 * MS);
    (0..15).for_each(|_| assert_eq!(link.arrive(1).causes(), []));
    assert!(csfq(&link).congested());
    assert_eq!(csfq(&link).fair_rate(), LINK, "the fair rate begins as the link's");
    link
}

fn label_of_last(link: &Bottleneck) -> u16 {
    link.fifo().iter().last().expect("one was queued").meta.label
}

#[test]
fn an_arrival_above_the_fair_rate_is_dropped_by_what_it_is_above() {
    for (flow, number, dropped) in
        [(2, (1_u64 << 63) - 1, true), (2, 1 << 63, false), (4, (3 << 62) - 1, true), (4, 3 << 62, false)]
    {
        let mut link = congested();
        link.world.bits[DRAW] = Bits::Always(number);
        assert_eq!(link.arrive(flow).causes() == [AboveFair], dropped, "flow {flow}, {number:x}");
    }
    let mut link = congested();
    link.world.bits[DRAW] = DROP;
    assert_eq!(link.arrive(1).causes(), [], "at the fair rate exactly");
    assert_eq!(link.arrive(0).causes(), [], "without a label");
    assert_eq!(link.world.used[DRAW], 0);
}

#[test]
fn what_is_forwarded_carries_the_fair_rate_at_most() {
    let mut link = congested();
    for (flow, label) in [(1, RateLabel::encode(LINK)), (2, RateLabel::encode(LINK)), (0, RateLabel::NONE)] {
        link.arrive(flow);
        assert_eq!(label_of_last(&link), label.0, "flow {flow}");
    }
}

/// Nothing is dropped but by overflow while the link is not congested, and labels stay.
#[test]
fn a_link_without_congestion_drops_nothing() {
    let mut link = link_of(core(), labelled);
    link.world.bits[DRAW] = DROP;
    link.wait(1000 * MS);
    assert_eq!(link.arrive(8).causes(), []);
    assert_eq!(label_of_last(&link), RateLabel::encode(8.0 * LINK).0);
}

/// When `k_c` has passed in congestion alpha becomes alpha C / F; with nothing dropped F is what arrives.
#[test]
fn congestion_corrects_the_fair_rate_by_what_was_accepted() {
    let mut link = congested();
    (0..30).for_each(|_| drop(link.arrive(1)));
    link.wait(100 * MS - 1);
    assert_eq!(link.arrive(1).causes(), []);
    assert!(csfq(&link).congested() && csfq(&link).fair_rate() == LINK);
    link.wait(1);
    assert_eq!(link.arrive(1).causes(), []);
    let f = csfq(&link).accepted_rate();
    assert!(f > 1.3 * LINK && f == csfq(&link).arrival_rate());
    assert_eq!(csfq(&link).fair_rate(), LINK * LINK / f);
    link.wait(99 * MS);
    (0..3).for_each(|_| drop(link.arrive(1)));
    assert_eq!(csfq(&link).fair_rate(), LINK * LINK / f, "not before another k_c");
}

/// Without congestion alpha becomes, after `k_c`, the highest rate seen meanwhile, the link's at most.
#[test]
fn without_congestion_the_fair_rate_is_the_highest_label() {
    let small: fn(u64, u32) -> Meta =
        |flow, len| Meta { label: RateLabel::encode(flow as f64).0, ..Meta::of_flow(flow, len) };
    let mut link = link_of(core(), small);
    link.wait(1000 * MS);
    link.arrive(4096);
    assert_eq!(csfq(&link).fair_rate(), 4096.0, "more than k_c since the beginning");
    link.wait(99 * MS);
    link.arrive(8192);
    assert_eq!(csfq(&link).fair_rate(), 4096.0);
    link.wait(MS);
    link.arrive(1024);
    assert_eq!(csfq(&link).fair_rate(), 8192.0);
    link.wait(100 * MS);
    link.arrive(1 << 30);
    assert_eq!(csfq(&link).fair_rate(), LINK);
}

/// Each overflow takes 1 % off, all of them 25 % until alpha is estimated again.
#[test]
fn overflows_lower_the_fair_rate() {
    let mut link = link_of(CsfqParams { limit: 1, k_alpha: Time::from_ms(1_000_000), ..core() }, labelled);
    link.arrive(0);
    assert_eq!(link.arrive(0).causes(), [Overflow]);
    assert_eq!(csfq(&link).fair_rate(), 0.99 * LINK);
    (0..27).for_each(|_| drop(link.arrive(0)));
    assert!((csfq(&link).fair_rate() / LINK - 0.99_f64.powi(28)).abs() < 1e-12);
    (0..10).for_each(|_| drop(link.arrive(0)));
    assert_eq!(csfq(&link).fair_rate(), 0.75 * LINK);
}

/// A queue below the threshold is no congestion, unless there was one already.
#[test]
fn congestion_needs_a_queue() {
    let mut link = link_of(CsfqParams { threshold: 0.5, ..core() }, labelled);
    link.wait(1000 * MS);
    for waiting in 0..30 {
        assert!(!csfq(&link).congested(), "{waiting} of 50 wait");
        link.arrive(1);
        if waiting >= 25 {
            break;
        }
    }
    assert!(csfq(&link).congested() && csfq(&link).arrival_rate() > LINK);
    (0..20).for_each(|_| drop(link.finish()));
    link.busy = true;
    link.arrive(1);
    assert!(csfq(&link).congested());
}

#[test]
fn the_edge_labels_what_comes_without() {
    let mut link = link_of(CsfqParams { edge: true, ..core() }, Meta::of_flow);
    link.wait(1000 * MS);
    link.arrive(7);
    assert_eq!(label_of_last(&link), RateLabel::LOWEST.0, "one packet has no rate");
    link.arrive(7);
    assert_eq!(label_of_last(&link), RateLabel::encode(80_000.0).0, "8000 bits in 100 ms");
    let mut link = link_of(CsfqParams { edge: true, ..core() }, labelled);
    link.arrive(3);
    assert_eq!((label_of_last(&link), csfq(&link).flows()), (RateLabel::encode(3.0 * LINK).0, 0));
}

/// A full table forgets flows that have been idle for 20 K, at most once in K; flows beyond it are taken for one.
#[test]
fn flows_beyond_the_table_are_taken_for_one() {
    let mut link = link_of(CsfqParams { edge: true, flows: 2, limit: 1000, ..core() }, Meta::of_flow);
    link.wait(10_000 * MS);
    for flow in [1, 2] {
        link.arrive(flow);
    }
    link.wait(1900 * MS);
    link.arrive(2);
    // Long since anything came of the others; then two packets of two flows are a burst of one.
    link.arrive(3);
    let first = RateLabel(label_of_last(&link)).decode();
    link.arrive(4);
    let second = RateLabel(label_of_last(&link)).decode();
    assert!(first < 1000.0 && second > 80_000.0, "{first}, {second}");
    assert!(csfq(&link).flow(3).is_none() && csfq(&link).flows() == 2);
    link.wait(100 * MS);
    link.arrive(3);
    assert!(csfq(&link).flow(1).is_none(), "idle for 2 s");
    assert_eq!((csfq(&link).flows(), csfq(&link).flow(3).is_some()), (2, true));
}

/// Steady flows of 2, 0.6 and 0.2 of the link's rate: max-min shares are 0.4, 0.4 and 0.2.
#[test]
fn steady_flows_get_their_max_min_shares() {
    let params = CsfqParams { limit: 300, rate_bps: 1_000_000, ..CsfqParams::default() };
    let mut link = Bottleneck::new(AnyParams::Csfq(params), 5);
    let mut arrivals: Vec<(u64, u64)> = Vec::new();
    for (flow, gap) in [(0, 4_000_000), (1, 13_333_333), (2, 40_000_000)] {
        arrivals.extend((1..120_000_000_000 / gap).map(|n| (n * gap + flow, flow)));
    }
    arrivals.sort_unstable();
    let (mut free_at, mut sent) = (0, [0_u32; 3]);
    for (time, flow) in arrivals {
        while link.busy && free_at <= time {
            link.world.now = Time::from_ns(free_at);
            if let Some(packet) = link.finish().departed
                && free_at > 20_000 * MS
            {
                sent[packet.meta.flow as usize] += 1;
            }
            free_at += 8 * MS;
        }
        link.world.now = Time::from_ns(time);
        if link.arrive(flow).departed.is_some() {
            free_at = time + 8 * MS;
        }
    }
    let share = sent.map(|n| f64::from(n) / 12_500.0);
    for (share, fair) in share.iter().zip([0.4, 0.4, 0.2]) {
        assert!((share - fair).abs() < 0.04, "{share:?} of {fair}");
    }
}

/// Flow 3 comes with a label, the others without.
fn mixed(flow: u64, len: u32) -> Meta {
    let label = if flow == 3 { RateLabel::encode(500_000.0) } else { RateLabel::NONE };
    Meta { label: label.0, ..Meta::of_flow(flow, len) }
}

fn params() -> impl Strategy<Value = CsfqParams> {
    let rate = prop_oneof![Just(30_000_u64), Just(200_000), Just(1_000_000), 1_u64..10_000_000];
    let k = || prop_oneof![Just(100 * MS), MS..500 * MS, Just(3_u64)].prop_map(Time::from_ns);
    let threshold = prop_oneof![Just(0.0), Just(0.5), 0.0..=1.0];
    (1_u32..20, rate, any::<bool>(), 1_u32..5, k(), k(), k(), threshold).prop_map(
        |(limit, rate_bps, edge, flows, k, k_alpha, k_c, threshold)| CsfqParams {
            limit,
            rate_bps,
            edge,
            flows,
            k,
            k_alpha,
            k_c,
            threshold,
        },
    )
}

fn random_link(params: &CsfqParams, seed: u64) -> Bottleneck {
    Bottleneck { meta: mixed, ..Bottleneck::new(AnyParams::Csfq(params.clone()), seed) }
}

properties! {
    #[test]
    fn csfq_agrees(params in params(), trace in timed_events(300), seed in any::<u64>()) {
        let result = compare(random_link(&params, seed), &mut CsfqModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        check_conservation_of(random_link(&params, seed), params.limit, &trace, InOrder::All)?;
    }

    /// The fair rate is between the lowest label and the link; random drops are of packets above it, in
    /// congestion; no packet queued then has a label above it.
    #[test]
    fn drops_keep_the_rules(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        let mut link = random_link(&params, seed);
        for event in &trace {
            let (congested, alpha) = (csfq(&link).congested(), csfq(&link).fair_rate());
            let before = link.world.used[DRAW];
            let step = link.step(event);
            let now = csfq(&link).fair_rate();
            prop_assert!(now >= 0.75 * RateLabel::LOWEST.decode() && now <= params.rate_bps as f64 * 1.001 + 1.0);
            prop_assert!(csfq(&link).flows() <= params.flows);
            prop_assert!(link.world.used[DRAW] == before || congested);
            for (packet, cause) in &step.dropped {
                prop_assert!(*cause == Overflow || congested);
                if *cause == AboveFair {
                    // Relabelled, as what is forwarded is.
                    let most = RateLabel::encode(now.max(alpha));
                    prop_assert!(packet.meta.label <= most.0);
                }
            }
        }
    }

    /// A link that is never congested is a FIFO.
    #[test]
    fn an_endless_link_is_droptail(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        let params = CsfqParams { rate_bps: u64::MAX, ..params };
        let droptail = Bottleneck::new(AnyParams::DropTail(DropTailParams { limit: params.limit }), seed);
        let mut one = random_link(&params, seed);
        let mut other = Bottleneck { meta: mixed, ..droptail };
        for event in &trace {
            let (one, other) = (one.step(event), other.step(event));
            prop_assert_eq!(one.causes(), other.causes());
            prop_assert_eq!(one.departed.map(|packet| packet.handle), other.departed.map(|packet| packet.handle));
        }
    }

    /// As is one inside a network whose edges write no labels.
    #[test]
    fn without_labels_it_is_droptail(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        let params = CsfqParams { edge: false, ..params };
        same_links(Bottleneck::new(AnyParams::Csfq(params), seed), Bottleneck::new(droptail, seed), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(
        1000,
        &(params(), timed_events(300), any::<u64>()),
        &[AboveFair, Overflow],
        |(params, trace, seed)| compare(random_link(&params, seed), &mut CsfqModel::new(params), &trace),
    );
}
