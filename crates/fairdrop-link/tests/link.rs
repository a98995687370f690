//! What becomes of packets on a link, at its boundaries and however often its owner looks.

use fairdrop::{AnyDiscipline, AnyParams, Backlog, Count, DropCause, Heap, Meta, ParamValue, Time};
use fairdrop_link::{Cause, Chances, Channel, Fate, HostCause, Impairments, Link, LinkConfig, Outcome, Pace};
use proptest::prelude::*;
use std::sync::Arc;

const MS: u64 = 1_000_000;

fn ms(ms: u64) -> Time {
    Time::from_ns(ms * MS)
}

fn params(name: &str, limit: u32) -> AnyParams {
    let mut params = AnyParams::of(name).unwrap();
    params.set_link(limit, 1_000_000);
    params
}

fn queue(params: AnyParams) -> AnyDiscipline<u32, Heap> {
    AnyDiscipline::new(params, &mut Heap).unwrap()
}

fn link(pace: Pace, channel: Channel) -> Link {
    let config = LinkConfig { pace, channel, seed: 1, number: 0, flow_key: [1, 2], frames: 64 };
    Link::new(queue(params("droptail", 3)), config, Time::ZERO)
}

fn exchange(link: &mut Link, params: AnyParams, now: Time) {
    let limit = params.limit();
    link.set_queue(queue(params), limit, now);
}

fn arrive(link: &mut Link, at: Time, handles: std::ops::Range<u32>) {
    for handle in handles {
        link.arrive(at, Meta::of_flow(7, 1000), handle, crate::no_hosts);
    }
}

/// Handle, time in ns, and whether it was delivered.
fn fates(link: &mut Link) -> Vec<(u32, u64, bool)> {
    let fate =
        |outcome: Outcome| (outcome.handle, outcome.at.ns(), matches!(outcome.fate, Fate::Delivered { .. }));
    link.outcomes().drain(..).map(fate).collect()
}

#[test]
fn packets_leave_at_the_rate_however_late_one_looks() {
    let mut once = link(Pace::Rate(1_000_000), Channel { delay: ms(5), ..Channel::default() });
    arrive(&mut once, Time::ZERO, 0..4);
    assert_eq!(once.next_event(), Some(ms(8)));
    once.advance(ms(1000));
    let times = [(0, 13 * MS, true), (1, 21 * MS, true), (2, 29 * MS, true), (3, 37 * MS, true)];
    assert_eq!(fates(&mut once), times);
    assert_eq!(once.next_event(), None);
    assert!(once.counters().reconcile());
}

#[test]
fn a_full_queue_drops_and_counts() {
    let mut full = link(Pace::Rate(1_000_000), Channel::default());
    arrive(&mut full, Time::ZERO, 0..6);
    assert_eq!(fates(&mut full), [(4, 0, false), (5, 0, false)]);
    let counters = *full.counters();
    assert_eq!(counters.dropped(Cause::Queue(DropCause::Overflow)).packets, 2);
    assert_eq!(counters.waiting, Count { packets: 4, bytes: 4000 });
    full.shut_down(ms(1));
    assert_eq!(full.counters().dropped(Cause::Host(HostCause::Shutdown)).packets, 4);
    assert_eq!((full.counters().waiting.packets, full.counters().reconcile()), (0, true));
}

#[test]
fn a_change_of_rate_counts_from_the_next_packet() {
    let mut changed = link(Pace::Rate(1_000_000), Channel::default());
    arrive(&mut changed, Time::ZERO, 0..3);
    changed.set_pace(Pace::Rate(2_000_000), ms(4));
    changed.advance(ms(100));
    assert_eq!(fates(&mut changed), [(0, 8 * MS, true), (1, 12 * MS, true), (2, 16 * MS, true)]);
}

#[test]
fn packets_that_wait_stay_when_the_discipline_is_exchanged() {
    let mut swapped = link(Pace::Rate(1_000_000), Channel::default());
    arrive(&mut swapped, Time::ZERO, 0..4);
    exchange(&mut swapped, params("choke", 2), ms(1));
    assert_eq!(fates(&mut swapped), [(3, MS, false)], "the limit is smaller: the last is dropped");
    arrive(&mut swapped, ms(2), 4..5);
    assert_eq!(swapped.backlog(), Backlog { packets: 3, bytes: 3000 });
    swapped.advance(ms(100));
    let order: Vec<_> = fates(&mut swapped).iter().map(|fate| fate.0).collect();
    assert_eq!(order, [0, 1, 2, 4]);
    assert!(swapped.counters().reconcile());
    assert_eq!(swapped.counters().dropped(Cause::Host(HostCause::Reconfigured)).packets, 1);
}

/// 1000 bytes take 16 ms at the shaper's rate, 8 ms on the link.
fn shaped() -> AnyParams {
    let mut params = params("cake", 20);
    assert!(params.set("cake", "rate", ParamValue::Number(5e5)));
    params
}

#[test]
fn what_is_held_back_leaves_though_nothing_arrives() {
    let mut link = link(Pace::Rate(1_000_000), Channel { delay: ms(20), ..Channel::default() });
    exchange(&mut link, shaped(), Time::ZERO);
    arrive(&mut link, Time::ZERO, 0..3);
    link.advance(ms(10));
    assert_eq!((link.backlog().packets, link.next_event()), (2, Some(ms(16))), "the link is free");
    link.advance(ms(1000));
    assert_eq!(fates(&mut link), [(0, 28 * MS, true), (1, 44 * MS, true), (2, 60 * MS, true)]);
    assert_eq!(link.next_event(), None);
    assert!(link.counters().reconcile());
}

/// A discipline that holds nothing back takes over while the link is free and packets wait.
#[test]
fn what_was_held_back_leaves_when_the_discipline_is_exchanged() {
    let mut link = link(Pace::Rate(1_000_000), Channel::default());
    exchange(&mut link, shaped(), Time::ZERO);
    arrive(&mut link, Time::ZERO, 0..3);
    exchange(&mut link, params("droptail", 3), ms(10));
    link.advance(ms(1000));
    assert_eq!(fates(&mut link), [(0, 8 * MS, true), (1, 18 * MS, true), (2, 26 * MS, true)]);
    // And shut down while it holds back.
    exchange(&mut link, shaped(), ms(2000));
    arrive(&mut link, ms(2000), 3..5);
    link.shut_down(ms(2010));
    assert_eq!((link.next_event(), link.counters().waiting.packets), (None, 0));
    link.advance(ms(3000));
    assert!(link.counters().reconcile());
}

/// Chances at 2, 4 and 10 ms: 1,000 bytes need one, what is left of it goes to the next packet.
#[test]
fn chances_of_a_trace() {
    let chances = Arc::new(Chances::parse("2\n4\n10\n").unwrap());
    let mut traced = link(Pace::Trace(chances), Channel::default());
    arrive(&mut traced, Time::ZERO, 0..3);
    traced.advance(ms(100));
    assert_eq!(fates(&mut traced), [(0, 2 * MS, true), (1, 4 * MS, true), (2, 4 * MS, true)]);
    // The one at 102 belongs to the 11th round; those before found nothing waiting.
    arrive(&mut traced, ms(101), 3..4);
    traced.advance(ms(200));
    assert_eq!(fates(&mut traced), [(3, 102 * MS, true)]);
}

#[test]
fn losses_have_their_probability_and_their_stream() {
    let mut lossy = link(Pace::Unlimited, Channel { loss: 0.25, ..Channel::default() });
    for packet in 0..10_000 {
        arrive(&mut lossy, ms(packet), 0..1);
        lossy.outcomes().clear();
    }
    lossy.advance(ms(10_000));
    let lost = lossy.counters().dropped(Cause::Host(HostCause::LinkLoss)).packets;
    assert!(lost.abs_diff(2500) < 5 * 44, "{lost} of 10,000, five standard deviations allowed");
}

proptest! {
    /// In whatever way time is cut into pieces, the same happens at the same times; each packet ends once; counters reconcile.
    #[test]
    fn looking_more_often_changes_nothing(
        gaps in prop::collection::vec(0_u64..12_000_000, 1..200),
        looks in prop::collection::vec(1_u64..30_000_000, 0..100),
        jitter_ms in 0_u64..30,
        impairments in prop::sample::select(vec![
            Impairments::NONE,
            Impairments { bad_enter: 0.1, bad_leave: 0.5, duplicate: 0.2, ..Impairments::NONE },
            Impairments { jitter_reorders: true, reorder: 0.1, duplicate: 0.1, ..Impairments::NONE },
            Impairments { slot: Time::from_ms(7), ..Impairments::NONE },
        ]),
        name in prop::sample::select(vec!["droptail", "choke", "codel", "fq_codel", "sfq", "pie", "cake"]),
    ) {
        let make = || {
            let impairments = Impairments { jitter: ms(jitter_ms), ..impairments };
            let channel = Channel { delay: ms(3), loss: 0.05, impairments };
            let (pace, flow_key) = (Pace::Rate(1_000_000), [3, 4]);
            let config = LinkConfig { pace, channel, seed: 5, number: 1, flow_key, frames: 256 };
            let params = if name == "cake" { shaped() } else { params(name, 20) };
            Link::new(queue(params), config, Time::ZERO)
        };
        let (mut seldom, mut often) = (make(), make());
        let (mut now, mut look) = (Time::ZERO, looks.iter());
        let mut seen = Time::ZERO;
        for (handle, &gap) in gaps.iter().enumerate() {
            now = now.after(Time::from_ns(gap));
            for &step in look.by_ref() {
                seen = seen.after(Time::from_ns(step));
                if seen > now { break; }
                often.advance(seen);
                prop_assert!(often.counters().reconcile());
            }
            let meta = Meta::of_flow(handle as u64 % 5, 200 + handle as u32 % 7 * 200);
            seldom.arrive(now, meta, handle as u32, crate::no_hosts);
            often.arrive(now, meta, handle as u32, crate::no_hosts);
        }
        seldom.advance(ms(1_000_000));
        often.advance(ms(1_000_000));
        prop_assert_eq!(seldom.outcomes().clone(), often.outcomes().clone());
        prop_assert!(seldom.outcomes().is_sorted_by_key(|outcome| outcome.at), "time goes on");
        prop_assert!(seldom.counters().reconcile() && seldom.counters().waiting.packets == 0);
        let last = |outcome: &&Outcome| outcome.fate != Fate::Duplicated;
        let mut ended: Vec<_> = seldom.outcomes().iter().filter(last).map(|outcome| outcome.handle).collect();
        ended.sort_unstable();
        prop_assert!(ended.into_iter().eq(0..gaps.len() as u32), "each handle comes back once");
        let copies = seldom.outcomes().iter().filter(|outcome| outcome.fate == Fate::Duplicated).count();
        prop_assert_eq!(copies as u64, seldom.counters().duplicated.packets);
    }
}

#[test]
fn a_duplicated_packet_is_delivered_twice_and_ends_once() {
    let impairments = Impairments { duplicate: 1.0, ..Impairments::NONE };
    let mut twice = link(Pace::Rate(1_000_000), Channel { delay: ms(5), impairments, ..Channel::default() });
    arrive(&mut twice, Time::ZERO, 0..2);
    twice.advance(ms(13));
    let copies: Vec<_> = twice.outcomes().drain(..).map(|outcome| (outcome.handle, outcome.fate)).collect();
    let delivered = Fate::Delivered { taken: Time::ZERO, sent: ms(8) };
    assert_eq!(copies, [(0, Fate::Duplicated), (0, delivered)]);
    // The other is stopped with both its copies under way: they are two drops, and one outcome.
    twice.shut_down(ms(17));
    assert_eq!(fates(&mut twice), [(1, 17 * MS, false)]);
    assert_eq!(twice.counters().dropped(Cause::Host(HostCause::Shutdown)).packets, 2);
    assert_eq!((twice.counters().duplicated.packets, twice.counters().reconcile()), (2, true));
}

/// One that takes no time is at the other end at once, and so are those behind it; one without bytes takes none at any rate.
#[test]
fn packets_that_take_no_time_do_not_wait() {
    let mut unlimited = link(Pace::Unlimited, Channel::default());
    arrive(&mut unlimited, ms(1), 0..5);
    assert_eq!(fates(&mut unlimited), [0, 1, 2, 3, 4].map(|handle| (handle, MS, true)));
    assert_eq!(unlimited.next_event(), None);
    let mut paced = link(Pace::Rate(1_000_000), Channel::default());
    paced.arrive(Time::ZERO, Meta::of_flow(7, 0), 0, crate::no_hosts);
    assert_eq!(fates(&mut paced), [(0, 0, true)]);
}

/// What arrives late arrives when the link has come to.
#[test]
fn the_clock_does_not_go_back() {
    let mut late = link(Pace::Rate(1_000_000), Channel::default());
    late.advance(ms(10));
    arrive(&mut late, ms(2), 0..1);
    assert_eq!(late.next_event(), Some(ms(18)));
    late.advance(ms(5));
    late.advance(ms(18));
    assert_eq!(fates(&mut late), [(0, 18 * MS, true)]);
}

/// A packet that arrives as the transmitter becomes free finds it free: at the edge of a nanosecond, either side.
#[test]
fn an_arrival_at_the_end_of_a_transmission_comes_after_it() {
    for (at_ns, left) in [(8 * MS - 1, 0), (8 * MS, 1)] {
        let mut edge = link(Pace::Rate(1_000_000), Channel::default());
        arrive(&mut edge, Time::ZERO, 0..4);
        edge.arrive(Time::from_ns(at_ns), Meta::of_flow(7, 1000), 4, crate::no_hosts);
        let delivered = fates(&mut edge).into_iter().filter(|fate| fate.2).count();
        assert_eq!(delivered, left, "{at_ns}");
        let dropped = edge.counters().dropped(Cause::Queue(DropCause::Overflow)).packets;
        assert_eq!(dropped, 1 - left as u64, "it finds three waiting, or two");
    }
}
