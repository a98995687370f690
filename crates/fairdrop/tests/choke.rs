//! `CHOKe`: every corner that the papers leave open and this project has decided, one test each, and agreement with the
//! slow reference, event by event.

use fairdrop::DropCause::{MatchArriving, MatchQueued, Overflow, RedEarly, RedForced};
use fairdrop::{
    AnyParams, AverageIn, Candidates, ChokeParams, Discipline, DrawFrom, DropCause, Ecn, Order, ParamValue,
    RedParams, Sampling, Schedule, Stream,
};
use fairdrop_reference::arbitrary::{choke_scheme, choke_with, events, red_params};
use fairdrop_reference::compare::compare;
use fairdrop_reference::eighths::{assert_close, bias, choke, early_bits, eighths, filled, lagging, red};
use fairdrop_reference::host::{Bits, Bottleneck, DROP, Event, KEEP, mixed};
use fairdrop_reference::red::{Reference, Scheme};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

#[test]
fn matched_arrival_moves_the_average_by_the_queue_before_removal() {
    let mut link = lagging(&eighths(), 11);
    let before = link.average();
    link.arrive(1);
    let after = 0.5 * before + 0.5 * 11.0;
    assert_eq!(link.average(), after);
    let mut link = filled(choke(eighths(), Candidates::Fixed(32)), 12);
    assert_eq!(link.arrive(1003).causes(), [MatchQueued, MatchArriving]);
    assert_eq!((link.average(), link.waiting().len()), (12.0, 11));
}

// Comparisons.

#[test]
fn nothing_is_compared_below_min_th() {
    let params = choke(eighths(), Candidates::Fixed(32));
    let mut link = Bottleneck::blocked(params);
    for n in 0..10 {
        let step = link.arrive(7);
        assert_eq!((step.causes(), step.drawn.len()), (vec![], 0), "{n} packets wait");
    }
    assert_eq!(link.arrive(7).count(MatchQueued), 10);
}

#[test]
fn comparison_goes_on_above_max_th() {
    // the pair on a match, the arrival alone otherwise.
    let params = RedParams { max_p: 0.0, ..eighths() };
    let link = filled(choke(params, Candidates::Fixed(32)), 18);
    let step = link.clone().arrive(1);
    assert_eq!((step.causes(), step.drawn.len()), (vec![RedForced], 18));
    let step = link.clone().arrive(1017);
    assert_eq!((step.causes(), step.drawn.len()), (vec![MatchQueued, MatchArriving], 18));
    assert_eq!(step.dropped[0].0.handle, 17);
}

#[test]
fn empty_queue_with_a_high_average_goes_on_to_red() {
    //
    let mut link = lagging(&RedParams { min_th: 1.0, ..eighths() }, 0);
    *early_bits(&mut link) = DROP;
    let step = link.arrive(1015);
    assert_eq!((step.causes(), step.drawn.len()), (vec![RedEarly], 0));
}

#[test]
fn a_lone_packet_is_the_candidate() {
    for _ in 0..20 {
        let mut link = lagging(&RedParams { min_th: 1.0, ..eighths() }, 1);
        let step = link.arrive(1015);
        assert_eq!(step.causes(), [MatchQueued, MatchArriving]);
        assert_eq!(link.waiting(), []);
    }
}

#[test]
fn the_packet_in_transmission_and_the_arrival_are_no_candidates() {
    let mut link = lagging(&RedParams { min_th: 1.0, ..eighths() }, 1);
    let in_transmission = link.finish().departed.unwrap();
    let step = link.arrive(in_transmission.meta.flow);
    assert_eq!((step.causes(), step.drawn), (vec![], vec![]));
}

#[test]
fn matched_arrival_leaves_the_count_of_red() {
    // Packets that found 10 and 11 took counts 0 and 1; the next unmatched one has 2.
    let mut link = filled(choke(eighths(), Candidates::Fixed(32)), 12);
    assert_eq!(link.arrive(1005).causes(), [MatchQueued, MatchArriving]);
    assert_close(bias(&link), 0.125 / (1.0 - 2.0 * 0.125));
    assert_eq!(link.world.used[Stream::EarlyDrop as usize], 2);
}

#[test]
fn survivors_keep_their_order_and_unmatched_candidates_their_place() {
    let mut link = Bottleneck::blocked(choke(eighths(), Candidates::Fixed(32)));
    for flow in [1, 2, 1, 3, 3, 1, 2, 4, 1, 5] {
        link.arrive(flow);
    }
    *early_bits(&mut link) = KEEP;
    assert_eq!(link.arrive(6).drawn.len(), 10);
    assert_eq!(link.waiting(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let step = link.arrive(1);
    assert_eq!(step.causes(), [MatchQueued, MatchQueued, MatchQueued, MatchQueued, MatchArriving]);
    assert_eq!(link.waiting(), [1, 3, 4, 6, 7, 9, 10]);
    let departures: Vec<u32> =
        std::iter::from_fn(|| link.finish().departed).map(|packet| packet.handle).collect();
    assert_eq!(departures, [1, 3, 4, 6, 7, 9, 10]);
}

#[test]
fn as_many_candidates_as_packets_are_all_packets() {
    for m in [10, 11, 32] {
        let mut link = filled(choke(eighths(), Candidates::Fixed(m)), 10);
        let mut drawn = link.arrive(1).drawn;
        drawn.sort_unstable();
        assert_eq!(drawn, (0..10).collect::<Vec<_>>());
        assert_eq!(link.world.used[Stream::Candidate as usize], 0, "nothing is left to chance");
    }
    let mut link = filled(choke(eighths(), Candidates::Fixed(9)), 10);
    assert_eq!(link.arrive(1).drawn.len(), 9);
}

#[test]
fn a_packet_drawn_twice_counts_once() {
    // A-9, the switch.
    let params = ChokeParams {
        red: eighths(),
        candidates: Candidates::Fixed(5),
        replacement: true,
        ..ChokeParams::default()
    };
    let mut link = filled(AnyParams::Choke(params), 10);
    // A sixteenth of the range: the first of up to 16 packets, every time.
    link.world.bits[Stream::Candidate as usize] = Bits::Always(1 << 60);
    let step = link.arrive(1000);
    assert_eq!((step.drawn.clone(), step.causes()), (vec![0], vec![MatchQueued, MatchArriving]));
    assert_eq!(link.world.used[Stream::Candidate as usize], 5);
    assert_eq!(link.queue.stats().drawn, 1);
}

#[test]
fn candidates_at_the_head_need_no_random_numbers() {
    for replacement in [false, true] {
        let params = ChokeParams {
            red: eighths(),
            candidates: Candidates::Fixed(3),
            draw: DrawFrom::Head,
            replacement,
            ..ChokeParams::default()
        };
        let mut link = filled(AnyParams::Choke(params), 12);
        assert_eq!(link.arrive(1).drawn, [0, 1, 2]);
        link.finish();
        assert_eq!(link.arrive(1003).dropped[0].0.handle, 3);
        assert_eq!(link.arrive(1).drawn, [1, 2, 4]);
        assert_eq!(link.world.used[Stream::Candidate as usize], 0);
    }
}

#[test]
fn candidates_at_the_tail_go_backwards() {
    let params = ChokeParams {
        red: eighths(),
        candidates: Candidates::Fixed(3),
        draw: DrawFrom::Tail,
        ..ChokeParams::default()
    };
    let mut link = filled(AnyParams::Choke(params), 11);
    assert_eq!(link.arrive(1).drawn, [10, 9, 8]);
    assert_eq!(link.arrive(1).dropped[0].0.handle, 11);
    assert_eq!(link.arrive(2).drawn, [10, 9, 8], "a removed packet leaves no gap");
    assert_eq!(link.world.used[Stream::Candidate as usize], 0);
}

#[test]
fn full_buffer_with_a_match_drops_the_pair_and_no_more() {
    let params = choke(RedParams { limit: 12, ..eighths() }, Candidates::Fixed(32));
    let link = filled(params, 12);
    let mut matched = link.clone();
    assert_eq!(matched.arrive(1004).causes(), [MatchQueued, MatchArriving]);
    assert_eq!(matched.waiting().len(), 11);
    assert_eq!(link.clone().arrive(1).causes(), [Overflow]);
}

// Self-adjusting: candidates by region.

/// Candidates compared at averages 10, 11, ... 21.
fn candidates_by_average(schedule: Schedule) -> Vec<usize> {
    let params = RedParams { max_th: 22.0, max_p: 0.0, ..eighths() };
    let mut link = filled(choke(params, Candidates::Regions(schedule)), 10);
    (10..22).map(|flow| link.arrive(flow).drawn.len()).collect()
}

#[test]
fn regions_are_half_open_upward() {
    assert_eq!(candidates_by_average(Schedule::two()), [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
    assert_eq!(candidates_by_average(Schedule::odd(3)), [1, 1, 1, 1, 3, 3, 3, 3, 5, 5, 5, 5]);
    assert_eq!(candidates_by_average(Schedule::even(3)), [2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6]);
    assert_eq!(candidates_by_average(Schedule::odd(1)), [1; 12]);
    let custom = Schedule::custom(&[0, 0, 1, 7]).unwrap();
    assert_eq!(candidates_by_average(custom), [0, 0, 0, 0, 0, 0, 1, 1, 1, 7, 7, 7]);
}

#[test]
fn last_region_goes_on_above_max_th() {
    // Footnote 7 of the paper: m stays. The slow average lets the queue grow far over max_th first.
    for schedule in [Schedule::odd(3), Schedule::custom(&[1, 5]).unwrap()] {
        let params = RedParams { w_q: 0.1, max_p: 0.0, ..eighths() };
        let mut link = Bottleneck::blocked(choke(params, Candidates::Regions(schedule)));
        for flow in 0..200 {
            let step = link.arrive(flow);
            if link.average() >= 18.0 {
                assert_eq!((step.drawn.len(), step.causes()), (5, vec![RedForced]));
            }
        }
        assert!(link.average() > 25.0);
    }
}

#[test]
fn an_infinite_max_th_leaves_only_the_first_region() {
    let params = RedParams { max_th: f64::INFINITY, ..eighths() };
    assert_eq!(filled(choke(params, Candidates::Regions(Schedule::odd(3))), 90).arrive(1).drawn.len(), 1);
}

#[test]
fn schedules_as_numbers() {
    assert_eq!(Schedule::two().as_slice(), [1, 2]);
    assert_eq!(Schedule::odd(4).as_slice(), [1, 3, 5, 7]);
    assert_eq!(Schedule::even(4).as_slice(), [2, 4, 6, 8]);
    assert_eq!(Schedule::even(16).as_slice().last(), Some(&32));
    assert_eq!(Schedule::odd(200).as_slice().len(), 16);
}

#[test]
fn errors_name_candidates_and_schedule() {
    let name = |candidates| choke(eighths(), candidates).validate().map_err(|error| error.name);
    assert_eq!(name(Candidates::Fixed(0)), Ok(()));
    assert_eq!(name(Candidates::Fixed(32)), Ok(()));
    assert_eq!(name(Candidates::Fixed(33)), Err("candidates"));
    assert_eq!(name(Candidates::Regions(Schedule::odd(0))), Err("schedule"));
    assert_eq!(name(Candidates::Regions(Schedule::even(16))), Ok(()));
    let schedule = |list: &[u8]| Schedule::custom(list).map(|_| ()).map_err(|error| error.name);
    assert_eq!(schedule(&[]), Err("schedule"));
    assert_eq!(schedule(&[1; 17]), Err("schedule"));
    assert_eq!(schedule(&[1; 16]), Ok(()));
    assert_eq!(schedule(&[1, 33]), Err("schedule"));
    assert_eq!(schedule(&[2, 1]), Err("schedule"));
    assert_eq!(schedule(&[0, 0, 32]), Ok(()));
}

// The variants: candidates spread along the queue, RED first, ECN, RED's count.

/// Handles drawn by an arrival that matches nothing, with `m` candidates spread over `n` packets.
fn spread(m: u8, n: u64) -> Vec<u32> {
    let params = ChokeParams {
        red: RedParams { min_th: 0.0, max_th: f64::INFINITY, max_p: 0.0, ..eighths() },
        candidates: Candidates::Fixed(m),
        draw: DrawFrom::Spread,
        ..ChokeParams::default()
    };
    filled(AnyParams::Choke(params), n).arrive(1).drawn
}

#[test]
fn spread_candidates_are_evenly_spaced_from_the_head() {
    assert_eq!(spread(1, 10), [0]);
    assert_eq!(spread(2, 10), [0, 5]);
    assert_eq!(spread(3, 10), [0, 3, 6]);
    assert_eq!(spread(4, 10), [0, 2, 5, 7]);
    assert_eq!(spread(10, 10), (0..10).collect::<Vec<_>>());
    // More pointers than packets fall together, and every packet is compared once.
    assert_eq!(spread(7, 3), [0, 1, 2]);
    assert_eq!(spread(32, 1), [0]);
}

#[test]
fn spread_candidates_count_waiting_packets_only() {
    let params = ChokeParams {
        red: eighths(),
        candidates: Candidates::Fixed(2),
        draw: DrawFrom::Spread,
        ..ChokeParams::default()
    };
    let mut link = filled(AnyParams::Choke(params), 12);
    assert_eq!(link.arrive(1006).causes(), [MatchQueued, MatchArriving]);
    assert_eq!(link.arrive(1).drawn, [0, 5], "11 wait, with a hole after the first six");
    assert_eq!(link.waiting(), [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 13]);
    assert_eq!(link.world.used[Stream::Candidate as usize], 0);
}

#[test]
fn red_first_compares_only_what_red_keeps() {
    //
    let params = ChokeParams {
        red: eighths(),
        candidates: Candidates::Fixed(32),
        order: Order::RedFirst,
        ..ChokeParams::default()
    };
    let mut link = filled(AnyParams::Choke(params), 12);
    *early_bits(&mut link) = DROP;
    let step = link.arrive(1005);
    assert_eq!((step.causes(), step.drawn.len()), (vec![RedEarly], 0));
    *early_bits(&mut link) = KEEP;
    assert_eq!(link.arrive(1005).causes(), [MatchQueued, MatchArriving]);
    // The kept and matched arrival has been counted: 1 since the drop, so the next has 2.
    assert_close(bias(&link), 0.125 / (1.0 - 2.0 * 0.125));
}

#[test]
fn a_matched_arrival_counts_on_request() {
    // A-10, the switch: as `matched_arrival_leaves_the_count_of_red`, one more.
    let params = ChokeParams {
        red: eighths(),
        candidates: Candidates::Fixed(32),
        count_on_match: true,
        ..ChokeParams::default()
    };
    let mut link = filled(AnyParams::Choke(params), 12);
    assert_eq!(link.arrive(1005).causes(), [MatchQueued, MatchArriving]);
    assert_close(bias(&link), 0.125 / (1.0 - 3.0 * 0.125));
}

/// ns-2's `old`: matches before the first unmatched arrival of an excursion are counted, and leave its free pass.
#[test]
fn a_match_leaves_the_free_pass_of_ns2() {
    for (ns2_compat, causes) in [(true, vec![]), (false, vec![RedEarly])] {
        let params = ChokeParams {
            red: RedParams { ns2_compat, w_q: 0.5, ..eighths() },
            candidates: Candidates::Fixed(32),
            count_on_match: true,
            ..ChokeParams::default()
        };
        // The average is a packet behind: the last of these finds it at 9.001, the next at 10.0005.
        let mut link = filled(AnyParams::Choke(params), 11);
        *early_bits(&mut link) = DROP;
        assert_eq!(link.arrive(1005).causes(), [MatchQueued, MatchArriving]);
        assert_eq!(link.arrive(1).causes(), causes, "ns2_compat {ns2_compat}");
    }
}

/// A queue of 12 packets under RED with ECN; the next arrivals have these fields in turn.
fn with_ecn(red: &RedParams, ecn: Ecn, n: u64) -> Bottleneck {
    let mut link = filled(choke(RedParams { ecn: true, ..red.clone() }, Candidates::Fixed(32)), n);
    link.ecn = [ecn; 4];
    link
}

#[test]
fn capable_packets_are_marked_where_others_are_dropped() {
    for (ecn, capable) in [(Ecn::NotCapable, false), (Ecn::Ect0, true), (Ecn::Ect1, true), (Ecn::Ce, true)] {
        for (n, cause) in [(12, RedEarly), (18, RedForced)] {
            let mut link = with_ecn(&RedParams { max_p: 0.5, independent: true, ..eighths() }, ecn, n);
            *early_bits(&mut link) = DROP;
            let step = link.arrive(1);
            let marked = link.queue.stats().marked_for(cause);
            assert_eq!(step.causes(), if capable { vec![] } else { vec![cause] }, "{ecn:?}");
            assert_eq!((marked.packets, marked.bytes), if capable { (1, 1000) } else { (0, 0) });
            if capable {
                assert_eq!(link.fifo().iter().last().unwrap().meta.ecn, Ecn::Ce);
            }
        }
    }
}

#[test]
fn nothing_is_marked_without_the_switch_or_a_reason() {
    let mut off = filled(red(eighths()), 12);
    off.ecn = [Ecn::Ect0; 4];
    *early_bits(&mut off) = DROP;
    assert_eq!(off.arrive(1).causes(), [RedEarly]);
    let mut kept = with_ecn(&eighths(), Ecn::Ect0, 12);
    *early_bits(&mut kept) = KEEP;
    assert_eq!(kept.arrive(1).causes(), []);
    assert_eq!(kept.fifo().iter().last().unwrap().meta.ecn, Ecn::Ect0);
    assert_eq!(kept.queue.stats().marked_total().packets, 0);
}

#[test]
fn matches_and_overflows_are_dropped_whatever_the_ecn_field() {
    let mut matched = with_ecn(&eighths(), Ecn::Ect0, 12);
    assert_eq!(matched.arrive(1003).causes(), [MatchQueued, MatchArriving]);
    let mut full = with_ecn(&RedParams { limit: 12, ..eighths() }, Ecn::Ect0, 12);
    *early_bits(&mut full) = DROP;
    let step = full.arrive(1);
    assert_eq!(step.causes(), [Overflow]);
    assert_eq!(step.dropped[0].0.meta.ecn, Ecn::Ect0, "dropped as it came");
    assert_eq!(matched.queue.stats().marked_total().packets, 0);
    assert_eq!(full.queue.stats().marked_total().packets, 0);
}

#[test]
fn a_mark_resets_the_count_as_a_drop_does() {
    let mut link = with_ecn(&eighths(), Ecn::Ect0, 11);
    *early_bits(&mut link) = DROP;
    assert_eq!(link.arrive(1).causes(), []);
    assert_eq!(link.queue.stats().marked_for(RedEarly).packets, 1);
    link.finish();
    link.ecn = [Ecn::NotCapable; 4];
    assert_close(bias(&link), 0.125 / (1.0 - 0.125));
}

#[test]
fn an_average_in_cells_or_bytes_counts_them() {
    let bytes = AverageIn::Bytes;
    for (sampling, average_in, expected) in [
        (Sampling::Cell(400), AverageIn::Cells, 3.0 + 1.0 + 4.0),
        (Sampling::Byte, AverageIn::Cells, 2501.0),
        // In packets of mean size, whatever is sampled.
        (Sampling::Packet, bytes, 5.0),
        (Sampling::Cell(400), bytes, 5.0),
        (Sampling::Byte, bytes, 5.0),
    ] {
        let params = ChokeParams {
            red: RedParams { min_th: 1e6, max_th: 2e6, mean_packet_size: 500, ..eighths() },
            sampling,
            average_in,
            ..ChokeParams::default()
        };
        let mut link = Bottleneck::blocked(AnyParams::Choke(params));
        for len in [1000, 0, 1500] {
            link.step(&Event::Arrive { flow: 1, len });
        }
        link.arrive(1);
        assert_eq!(link.average(), expected);
        (0..4).for_each(|_| drop(link.finish()));
        link.arrive(1);
        assert_eq!(link.average(), 0.0, "{sampling:?}");
    }
}

#[test]
fn without_chopping_there_are_no_cells_to_count() {
    let check = |sampling, average_in| {
        let params = ChokeParams { sampling, average_in, ..ChokeParams::default() };
        params.validate().map_err(|error| error.name)
    };
    assert_eq!(check(Sampling::Packet, AverageIn::Cells), Err("average_in"));
    assert_eq!(check(Sampling::Byte, AverageIn::Cells), Ok(()));
    assert_eq!(check(Sampling::Packet, AverageIn::Bytes), Ok(()));
}

#[test]
fn errors_name_the_cell_size() {
    let check = |size| {
        ChokeParams { sampling: Sampling::Cell(size), ..ChokeParams::default() }
            .validate()
            .map_err(|error| error.name)
    };
    assert_eq!(
        [check(0), check(1), check(65_535), check(65_536)],
        [Err("cell_size"), Ok(()), Ok(()), Err("cell_size")]
    );
}

#[test]
fn choke_parameters_by_name() {
    let mut params = ChokeParams::default();
    for (name, word) in
        [("draw", "spread"), ("sampling", "cell"), ("average_in", "cells"), ("order", "red_first")]
    {
        assert!(params.set(name, ParamValue::Word(word)), "{name}");
        assert!(!params.set(name, ParamValue::Word("no such word")));
    }
    assert!(params.set("cell_size", ParamValue::Number(64.0)));
    assert!(params.set("count_on_match", ParamValue::Switch(true)));
    let expected = ChokeParams {
        draw: DrawFrom::Spread,
        sampling: Sampling::Cell(64),
        average_in: AverageIn::Cells,
        order: Order::RedFirst,
        count_on_match: true,
        ..ChokeParams::default()
    };
    assert_eq!(params, expected);
    // A cell size is for sampling by cell.
    assert!(
        params.set("sampling", ParamValue::Word("byte")) && params.set("cell_size", ParamValue::Number(9.0))
    );
    assert_eq!(params.sampling, Sampling::Byte);
}

/// A packet counts once at least, also without bytes and whatever a cell is.
#[test]
fn packets_weigh_something() {
    let weights = |len| [Sampling::Packet, Sampling::Byte, Sampling::Cell(400)].map(|by| by.weight(len));
    assert_eq!([0, 1, 400, 401].map(weights), [[1, 1, 1], [1, 1, 1], [1, 400, 1], [1, 401, 2]]);
    assert_eq!(Sampling::Cell(0).weight(7), 7);
}

/// Two candidates by bytes, without replacement, of three packets are never the same one.
#[test]
fn a_packet_is_drawn_by_weight_once() {
    for seed in 0..50 {
        let params = ChokeParams {
            red: RedParams { min_th: 0.0, ..eighths() },
            candidates: Candidates::Fixed(2),
            sampling: Sampling::Byte,
            ..ChokeParams::default()
        };
        let mut link = Bottleneck { busy: true, ..Bottleneck::new(AnyParams::Choke(params), seed) };
        link.world.bits[Stream::EarlyDrop as usize] = KEEP;
        assert!((5..8).all(|flow| link.arrive(flow).causes().is_empty()));
        let drawn = link.arrive(9).drawn;
        assert!(drawn.len() == 2 && drawn[0] != drawn[1], "seed {seed}: {drawn:?}");
    }
}

/// A packet of 1,500 bytes is drawn 97 times in a hundred, although one of 40 came after it.
#[test]
fn weights_are_bounded_by_the_heaviest() {
    let red = RedParams { min_th: 0.0, ..eighths() };
    let params = ChokeParams { red, sampling: Sampling::Byte, ..ChokeParams::default() };
    let drawn = |seed| {
        let choke = AnyParams::Choke(params.clone());
        let mut link = Bottleneck { busy: true, ..Bottleneck::new(choke, seed) };
        link.world.bits[Stream::EarlyDrop as usize] = KEEP;
        link.step(&Event::Arrive { flow: 5, len: 1500 });
        link.step(&Event::Arrive { flow: 6, len: 40 });
        link.arrive(9).drawn
    };
    let heavy = (0..400).filter(|&seed| drawn(seed) == [0]).count();
    assert!((376..400).contains(&heavy), "{heavy} of 400, where 390 are expected");
}

properties! {
    #[test]
    fn choke_agrees(red in red_params(), choke in choke_scheme(), trace in events(5), seed in any::<u64>()) {
        let params = AnyParams::Choke(choke_with(&red, &choke));
        let result = compare(mixed(params, seed), &mut Reference::new(Scheme::Choke(red, choke)), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }
}

const CHOKE_CAUSES: [DropCause; 5] = [
    DropCause::Overflow,
    DropCause::RedEarly,
    DropCause::RedForced,
    DropCause::MatchArriving,
    DropCause::MatchQueued,
];

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(
        1000,
        &(red_params(), choke_scheme(), events(5), any::<u64>()),
        &CHOKE_CAUSES,
        |(red, choke, trace, seed)| {
            let params = AnyParams::Choke(choke_with(&red, &choke));
            compare(mixed(params, seed), &mut Reference::new(Scheme::Choke(red, choke)), &trace)
        },
    );
}
