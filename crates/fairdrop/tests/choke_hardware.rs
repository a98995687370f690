//! CHOKe over linked lists with mark bits: against a plain list with immediate removal, at the corners of its draws,
//! and what its memory costs.

use std::collections::{HashMap, HashSet};

use fairdrop::DropCause::{MatchArriving, MatchQueued, Overflow, RedEarly};
use fairdrop::{
    Addresses, AnyParams, AverageIn, Candidates, ChokeHardware, ChokeHardwareParams, Discipline, DrawFrom,
    DropCause, Linux, ListEntry, MarkBit, MarkedEntry, Meta, Order, Packet, Philox, RedParams, Sampling,
    Schedule, Slot, Stream, siphash, slots_for, uniform_below,
};
use fairdrop_reference::arbitrary::{events, red_params, red_params_of_linux};
use fairdrop_reference::compare::compare;
use fairdrop_reference::host::{Bits, Bottleneck, Event, World, mixed};
use fairdrop_reference::properties;
use fairdrop_reference::red::{ChokeScheme, Plan, Reference, Scheme};
use proptest::prelude::*;

/// Compares every arrival, and nothing but matches and full memories drops.
fn always(limit: u32) -> RedParams {
    let red = RedParams { limit, min_th: 0.0, max_th: f64::INFINITY, max_p: 0.0, ..RedParams::default() };
    RedParams { w_q: 1.0, ..red }
}

fn hardware(limit: u32) -> ChokeHardwareParams {
    ChokeHardwareParams { red: always(limit), ..ChokeHardwareParams::default() }
}

/// The discipline with its own type, and classes.
struct Lists {
    queue: ChokeHardware<u32, Vec<Slot<u32>>, Vec<ListEntry>>,
    world: World,
    arrivals: u32,
}

impl Lists {
    fn new(params: ChokeHardwareParams, seed: u64) -> Self {
        let slots = vec![None; slots_for(params.red.limit)];
        let entries = vec![ListEntry::default(); usize::from(params.list_limit)];
        let queue = ChokeHardware::new(params, slots, entries).expect("parameters are valid");
        Self { queue, world: World::new(seed), arrivals: 0 }
    }

    /// Draws that read always the same numbers.
    fn scripted(params: ChokeHardwareParams, bits: &[u64]) -> Self {
        let mut lists = Self::new(params, 1);
        lists.world.bits[Stream::Candidate as usize] = Bits::Script(bits.iter().copied().collect());
        lists
    }

    /// Drops that a packet causes: handle and cause.
    fn arrive(&mut self, flow: u64, class: u8, len: u32) -> Vec<(u32, DropCause)> {
        let packet = Packet::new(Meta { class, ..Meta::of_flow(flow, len) }, self.world.now, self.arrivals);
        self.arrivals += 1;
        self.queue.enqueue(packet, &mut self.world);
        self.world.dropped.drain(..).map(|(packet, cause)| (packet.handle, cause)).collect()
    }

    fn dequeue(&mut self) -> Option<Packet<u32>> {
        self.queue.dequeue(&mut self.world)
    }

    fn waiting(&self) -> Vec<u32> {
        self.queue.fifo().iter().map(|packet| packet.handle).collect()
    }
}

/// 64 bits that `uniform_below(count)` turns into `number`.
fn bits_for(number: u64, count: u64) -> u64 {
    let step = u64::MAX / count;
    let bits = number * step + step / 2;
    assert_eq!(uniform_below(count, || bits), number);
    bits
}

/// Draws, which end at live entries.
fn all_addresses() -> impl Strategy<Value = Addresses> {
    prop_oneof![
        Just(Addresses::Live),
        Just(Addresses::Occupied),
        Just(Addresses::Memory),
        Just(Addresses::Linux),
        Just(Addresses::LinuxHoles)
    ]
}

fn any_addresses() -> impl Strategy<Value = Addresses> {
    prop_oneof![
        4 => all_addresses(),
        1 => Just(Addresses::Head),
        1 => Just(Addresses::Tail),
        1 => Just(Addresses::Linux6_12)
    ]
}

fn any_candidates() -> impl Strategy<Value = Candidates> {
    prop_oneof![
        4 => (0_u8..6).prop_map(Candidates::Fixed),
        1 => (1_u8..6).prop_map(|regions| Candidates::Regions(Schedule::odd(regions))),
    ]
}

fn any_hardware() -> impl Strategy<Value = ChokeHardwareParams> {
    let marked = prop_oneof![Just(MarkedEntry::Reject), Just(MarkedEntry::Miss), Just(MarkedEntry::Blind)];
    let sizes = (1_u16..200, 0_u32..20, prop_oneof![Just(0_u32), 1_u32..3000], 0_u32..20);
    let parts = (any_candidates(), 1_u8..6, 1_u8..=8);
    let switches = prop::array::uniform6(any::<bool>());
    let ids = (prop_oneof![3 => Just(0), 2 => 1_u8..4, 1 => 1_u8..=32], any::<u64>());
    ((red_params(), red_params_of_linux()), any_addresses(), marked, sizes, parts, switches, ids).prop_map(
        |(
            (red, red_of_linux),
            addresses,
            marked,
            sizes,
            (candidates, banks, fifos),
            switches,
            (id_bits, salt),
        )| {
            let (list_limit, quota, cell_size, max_tries) = sizes;
            let [unoccupied_misses, physical_length, mark_one_cell, count_on_match, packet_bit, again] =
                switches;
            let by_kernel = addresses == Addresses::Linux6_12;
            let linux = by_kernel || matches!(addresses, Addresses::Linux | Addresses::LinuxHoles);
            let lone = linux || matches!(addresses, Addresses::Head | Addresses::Tail);
            ChokeHardwareParams {
                red: if by_kernel { red_of_linux } else { red },
                candidates,
                banks: if lone { 1 } else { banks.min(list_limit as u8) },
                replacement: again || linux,
                addresses,
                mark_bit: if packet_bit && !linux { MarkBit::Packet } else { MarkBit::Entry },
                marked,
                unoccupied_misses,
                max_tries,
                count_on_match: count_on_match && !by_kernel,
                physical_length,
                list_limit,
                fifos: if linux { 1 } else { fifos },
                quota,
                cell_size,
                mark_one_cell,
                id_bits,
                salt,
            }
        },
    )
}

properties! {
    /// Section 9: with draws that end at live entries and the live length, a mark bit is immediate removal, event by
    /// event, whatever the draws read on their way.
    #[test]
    fn mark_bits_are_immediate_removal(
        red in red_params(), trace in events(5), seed in any::<u64>(), candidates in 0_u8..5,
        addresses in all_addresses(), mark_one_cell in any::<bool>(), count_on_match in any::<bool>(),
        again in any::<bool>(),
    ) {
        let replacement = again || matches!(addresses, Addresses::Linux | Addresses::LinuxHoles);
        let params = ChokeHardwareParams {
            red: red.clone(), candidates: Candidates::Fixed(candidates), addresses, mark_one_cell, count_on_match,
            replacement, ..ChokeHardwareParams::default()
        };
        let scheme = ChokeScheme {
            plan: Plan::Fixed(candidates),
            draw: DrawFrom::Uniform,
            replacement,
            sampling: Sampling::Packet,
            average_in: AverageIn::Packets,
            order: Order::MatchFirst,
            count_on_match,
        };
        // Eight FIFOs have an average each, seven of which stay 0.
        let fast = mixed(AnyParams::ChokeHardware(params), seed);
        let result = compare(fast, &mut Reference::new(Scheme::Choke(red, scheme)), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// Every form, event by event, against cells in plain lists.
    #[test]
    fn every_form_agrees_with_the_reference(params in any_hardware(), trace in events(4), seed in any::<u64>()) {
        let with_class = |event| match event {
            Event::Arrive { flow, len } => Event::Offer(Meta { class: flow as u8, ..Meta::of_flow(flow, len) }),
            other => other,
        };
        let trace: Vec<Event> = trace.into_iter().map(with_class).collect();
        let params = AnyParams::ChokeHardware(params);
        let mut slow = fairdrop_reference::reference_of(&params).expect("every form has one");
        let result = compare(mixed(params, seed), slow.as_mut(), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// The same with the draws on both sides: the rank of a live packet from the same random number.
    #[test]
    fn draws_of_live_ranks_are_those_of_a_list(trace in events(4), seed in any::<u64>(), limit in 1_u32..40) {
        let params = ChokeHardwareParams { addresses: Addresses::Live, ..hardware(limit) };
        let mut fast = Bottleneck::new(AnyParams::ChokeHardware(params), seed);
        let mut ranks = Philox::new(seed, 0, Stream::Candidate as u32);
        let mut list: Vec<(u32, u64)> = Vec::new();
        for event in &trace {
            let step = fast.step(event);
            if let Some(packet) = &step.arrived {
                let flow = packet.meta.flow;
                let mut rank = 0;
                if !list.is_empty() {
                    rank = uniform_below(list.len() as u64, || ranks.next_u64()) as usize;
                }
                if list.get(rank).is_some_and(|&(_, candidate)| candidate == flow) {
                    list.remove(rank);
                } else if list.len() < limit as usize {
                    list.push((packet.handle, flow));
                }
            }
            if let Some(packet) = step.departed {
                prop_assert_eq!(list.remove(0).0, packet.handle);
            }
            prop_assert!(fast.waiting().into_iter().eq(list.iter().map(|&(handle, _)| handle)));
        }
    }

    /// Sections 20.1, 20.2 and 20.5 for every combination: nothing lost, order kept in each FIFO, no packet dropped
    /// for an arrival of another FIFO, and entries for every cell of every packet.
    #[test]
    fn invariants_hold(
        params in any_hardware(), trace in events(4), seed in any::<u64>(), classes in 1_u8..9,
    ) {
        let mut lists = Lists::new(params.clone(), seed);
        let mut random = Philox::new(seed, 9, 9);
        let mut waiting: HashMap<u32, (u64, u8)> = HashMap::new();
        let mut last: HashMap<u8, u32> = HashMap::new();
        let id = |flow: u64| match params.id_bits {
            0 => flow,
            bits => siphash([params.salt, 0], &flow.to_le_bytes()) >> (64 - bits),
        };
        let cells = |len: u32| if params.cell_size == 0 { 1 } else { len.div_ceil(params.cell_size).max(1) as usize };
        for event in &trace {
            match *event {
                Event::Arrive { flow, len } => {
                    let class = (random.next_u64() % u64::from(classes)) as u8;
                    let handle = lists.arrivals;
                    waiting.insert(handle, (flow, class % params.fifos));
                    for (dropped, cause) in lists.arrive(flow, class, len) {
                        prop_assert_eq!(cause == MatchQueued, dropped != handle);
                        let entry = waiting.remove(&dropped);
                        let drawn = entry.map(|(candidate, fifo)| (id(candidate), fifo));
                        prop_assert!(cause != MatchQueued || drawn == Some((id(flow), class % params.fifos)));
                    }
                }
                Event::Finish => {
                    let departed = lists.dequeue();
                    prop_assert_eq!(departed.is_none(), waiting.is_empty());
                    prop_assert!(departed.is_some() || lists.queue.entries() == 0);
                    if let Some(packet) = departed {
                        let (flow, fifo) = waiting.remove(&packet.handle).unwrap();
                        prop_assert_eq!(flow, packet.meta.flow);
                        prop_assert!(last.insert(fifo, packet.handle) < Some(packet.handle));
                    }
                }
                Event::Offer(_) | Event::Wait(_) => {}
            }
            let left: HashSet<u32> = lists.waiting().into_iter().collect();
            prop_assert!(left.len() == waiting.len() && left.iter().all(|handle| waiting.contains_key(handle)));
            let live: usize = lists.queue.fifo().iter().map(|packet| cells(packet.meta.len)).sum();
            prop_assert!(live <= lists.queue.entries() && lists.queue.entries() <= usize::from(params.list_limit));
            prop_assert!(left.len() <= params.red.limit as usize);
            if waiting.is_empty() && params.mark_bit == MarkBit::Entry {
                prop_assert_eq!(lists.queue.entries(), 0, "the head is never a marked entry");
            }
            let seen = lists.queue.list_stats();
            let ended = seen.draws - seen.empty_handed;
            prop_assert!(matches!(params.addresses, Addresses::Linux | Addresses::LinuxHoles) || seen.tries >= ended);
        }
        let stats = lists.queue.stats();
        prop_assert_eq!(
            stats.arrived.packets,
            stats.departed.packets + stats.dropped_total().packets + waiting.len() as u64
        );
        if params.marked != MarkedEntry::Blind && params.mark_bit == MarkBit::Entry {
            prop_assert_eq!(lists.queue.list_stats().dropped_alone, 0);
        }
    }

    /// Section 20.7: one FIFO of a shared memory that the others do not use is a private one; one bank is no bank.
    #[test]
    fn a_shared_memory_used_by_one_is_private(params in any_hardware(), trace in events(4), seed in any::<u64>()) {
        let run = |fifos| {
            let params = ChokeHardwareParams { fifos, addresses: Addresses::Memory, ..params.clone() };
            let mut link = Bottleneck::new(AnyParams::ChokeHardware(params), seed);
            trace.iter().map(|event| link.step(event)).collect::<Vec<_>>()
        };
        prop_assert_eq!(run(1), run(8));
    }
}

// Draws that meet marked entries, A-14.

/// Packets of flows 1, 2, 3, 2 with handles 0 to 3, and the one at address 1 dropped by an arrival with handle 4. The
/// draws that led there take one number each; `then` come after them.
fn with_a_marked_entry(params: ChokeHardwareParams, then: &[u64]) -> Lists {
    let mut bits = vec![bits_for(0, 1), bits_for(0, 2), bits_for(0, 3), bits_for(1, 4)];
    bits.extend(then);
    let mut lists = Lists::scripted(params, &bits);
    for flow in [1, 2, 3, 2] {
        assert_eq!(lists.arrive(flow, 0, 1000), []);
    }
    assert_eq!(lists.arrive(2, 0, 1000), [(1, MatchQueued), (4, MatchArriving)]);
    assert_eq!((lists.waiting(), lists.queue.entries()), (vec![0, 2, 3], 4));
    lists
}

#[test]
fn a_marked_entry_is_rejected() {
    let mut lists = with_a_marked_entry(hardware(10), &[bits_for(1, 4), bits_for(1, 4), bits_for(3, 4)]);
    assert_eq!(lists.arrive(2, 0, 1000), [(3, MatchQueued), (5, MatchArriving)]);
    let seen = lists.queue.list_stats();
    assert_eq!((seen.draws, seen.tries, seen.marked, seen.empty_handed), (5, 4 + 3, 2, 0));
}

#[test]
fn a_marked_entry_is_a_miss() {
    let params = ChokeHardwareParams { marked: MarkedEntry::Miss, ..hardware(10) };
    let mut lists = with_a_marked_entry(params, &[bits_for(1, 4)]);
    assert_eq!(lists.arrive(2, 0, 1000), []);
    assert_eq!(lists.waiting(), [0, 2, 3, 5]);
    assert_eq!(lists.queue.stats().drawn, 4);
}

#[test]
fn a_marked_entry_is_compared_blindly() {
    let params = ChokeHardwareParams { marked: MarkedEntry::Blind, ..hardware(10) };
    let mut lists = with_a_marked_entry(params, &[bits_for(1, 4), bits_for(1, 4)]);
    // The pair rule breaks: the arrival alone.
    assert_eq!(lists.arrive(2, 0, 1000), [(5, MatchArriving)]);
    assert_eq!(lists.arrive(3, 0, 1000), []);
    assert_eq!(lists.waiting(), [0, 2, 3, 6]);
    assert_eq!((lists.queue.list_stats().dropped_alone, lists.queue.list_stats().marked), (1, 2));
}

/// with replacement the second draw of address 0 is lost; without, it is made again, and meets the flow.
#[test]
fn draws_of_one_arrival_are_distinct_on_request() {
    for (replacement, dropped) in [(true, vec![]), (false, vec![(2, MatchQueued), (3, MatchArriving)])] {
        let params = ChokeHardwareParams { replacement, candidates: Candidates::Fixed(2), ..hardware(10) };
        let mut lists = Lists::new(params, 1);
        for flow in [1, 2, 3] {
            assert_eq!(lists.arrive(flow, 0, 1000), []);
        }
        let bits = [0, 0, 2].map(|number| bits_for(number, 3));
        lists.world.bits[Stream::Candidate as usize] = Bits::Script(bits.into());
        assert_eq!(lists.arrive(3, 0, 1000), dropped, "{replacement}");
    }
}

#[test]
fn distinct_draws_of_a_short_queue_are_the_whole_queue() {
    let candidates = Candidates::Fixed(5);
    for addresses in [Addresses::Live, Addresses::Occupied, Addresses::Memory] {
        let params = ChokeHardwareParams { replacement: false, candidates, addresses, ..hardware(10) };
        let mut lists = Lists::new(params, 1);
        for flow in [1, 2, 2, 1] {
            lists.arrive(flow, 0, 1000);
        }
        // The third packet dropped the second, the fourth the first.
        assert_eq!((lists.waiting(), lists.queue.stats().drawn), (vec![], 1 + 2 + 1));
    }
}

#[test]
fn tries_are_bounded() {
    //
    let params = ChokeHardwareParams { max_tries: 3, ..hardware(10) };
    let mut lists = with_a_marked_entry(params, &[bits_for(1, 4); 3]);
    assert_eq!(lists.arrive(2, 0, 1000), []);
    assert_eq!(lists.queue.list_stats().tries, 4 + 3);
}

#[test]
fn marked_entries_go_when_they_reach_the_head() {
    let mut lists = with_a_marked_entry(hardware(10), &[]);
    assert_eq!(lists.dequeue().map(|packet| packet.handle), Some(0));
    assert_eq!(lists.queue.entries(), 2);
    assert_eq!(lists.dequeue().map(|packet| packet.handle), Some(2));
    assert_eq!(lists.dequeue().map(|packet| packet.handle), Some(3));
    assert_eq!((lists.dequeue(), lists.queue.entries()), (None, 0));
}

#[test]
fn marked_entries_fill_the_list_but_not_the_data_memory() {
    //
    let mut full_list =
        with_a_marked_entry(ChokeHardwareParams { list_limit: 4, ..hardware(10) }, &[bits_for(0, 4)]);
    assert_eq!(full_list.arrive(9, 0, 1000), [(5, Overflow)]);
    let mut room = with_a_marked_entry(hardware(4), &[bits_for(0, 4), bits_for(0, 5)]);
    assert_eq!(room.arrive(9, 0, 1000), []);
    assert_eq!(room.arrive(9, 0, 1000), [(6, Overflow)]);
}

#[test]
fn the_average_counts_marked_packets_on_request() {
    for (physical_length, expected) in [(false, 3.0), (true, 4.0)] {
        let params = ChokeHardwareParams { physical_length, ..hardware(10) };
        let mut lists = with_a_marked_entry(params, &[bits_for(0, 4)]);
        lists.arrive(9, 0, 1000);
        assert_eq!(lists.queue.average_packets(), Some(expected));
    }
}

/// What was marked and has gone at the head counts no longer: not in the length, not as data that waits to be freed.
#[test]
fn what_is_discarded_counts_no_longer() {
    let any_draw = || Bits::Stream(Philox::new(1, 0, 0));
    for physical_length in [false, true] {
        let params = ChokeHardwareParams { physical_length, ..hardware(10) };
        let mut lists = with_a_marked_entry(params, &[]);
        assert_eq!(lists.dequeue().map(|packet| packet.handle), Some(0));
        lists.world.bits[Stream::Candidate as usize] = any_draw();
        lists.arrive(9, 0, 1000);
        assert_eq!(lists.queue.average_packets(), Some(2.0), "physical {physical_length}");
    }
    let params = ChokeHardwareParams {
        mark_one_cell: true,
        cell_size: 400,
        addresses: Addresses::Live,
        ..hardware(3)
    };
    let mut lists = Lists::scripted(params, &[bits_for(0, 1), bits_for(1, 2)]);
    assert_eq!([lists.arrive(1, 0, 1000), lists.arrive(2, 0, 1000)], [[], []]);
    assert_eq!(lists.arrive(2, 0, 1000), [(1, MatchQueued), (2, MatchArriving)]);
    lists.world.bits[Stream::Candidate as usize] = any_draw();
    while lists.dequeue().is_some() {}
    assert_eq!(lists.queue.entries(), 0);
    for (flow, fits) in [(3, true), (4, true), (5, true), (6, false)] {
        assert_eq!(lists.arrive(flow, 0, 1000).is_empty(), fits, "flow {flow}");
    }
}

/// Ranks go on at the beginning of the memory where the list has gone around its end.
#[test]
fn ranks_go_around_the_end() {
    let params = ChokeHardwareParams { addresses: Addresses::Live, list_limit: 4, ..hardware(10) };
    for rank in 0..4 {
        let mut lists = Lists::new(params.clone(), 1);
        for flow in 0..3 {
            assert_eq!(lists.arrive(flow, 0, 1000), []);
        }
        let gone: Vec<_> = (0..2).filter_map(|_| lists.dequeue()).collect();
        assert_eq!(gone.len(), 2);
        for flow in 3..6 {
            assert_eq!(lists.arrive(flow, 0, 1000), []);
        }
        lists.world.bits[Stream::Candidate as usize] = Bits::Script([bits_for(rank, 4)].into());
        let flow = 2 + rank as u32;
        assert_eq!(lists.arrive(flow.into(), 0, 1000), [(flow, MatchQueued), (6, MatchArriving)]);
    }
}

#[test]
fn linux_tries_three_times_and_takes_the_head() {
    let params = ChokeHardwareParams { addresses: Addresses::Linux, ..hardware(10) };
    let mut lists = with_a_marked_entry(params, &[bits_for(1, 4), bits_for(1, 4), bits_for(1, 4)]);
    assert_eq!(lists.arrive(1, 0, 1000), [(0, MatchQueued), (5, MatchArriving)]);
    assert_eq!(lists.queue.list_stats().marked, 3);
    // The marked entry was behind the head and is gone with it; from the head on there are two.
    assert_eq!((lists.waiting(), lists.queue.entries()), (vec![2, 3], 2));
}

#[test]
fn linux_does_not_see_holes_at_the_tail() {
    let params = ChokeHardwareParams { addresses: Addresses::Linux, ..hardware(10) };
    let bits = [bits_for(0, 1), bits_for(0, 2), bits_for(2, 3), bits_for(1, 2)];
    let mut lists = Lists::scripted(params, &bits);
    for flow in [1, 2, 3] {
        assert_eq!(lists.arrive(flow, 0, 1000), []);
    }
    assert_eq!(lists.arrive(3, 0, 1000), [(2, MatchQueued), (3, MatchArriving)]);
    assert_eq!(lists.arrive(2, 0, 1000), [(1, MatchQueued), (4, MatchArriving)]);
}

/// The hole at the tail is a place like others, and three of them lead to the head.
#[test]
fn linux_of_today_sees_holes_at_the_tail() {
    let params = ChokeHardwareParams { addresses: Addresses::LinuxHoles, ..hardware(10) };
    let holes = [bits_for(2, 3); 3];
    let bits = [&[bits_for(0, 1), bits_for(0, 2), bits_for(2, 3)], &holes[..]].concat();
    let mut lists = Lists::scripted(params, &bits);
    for flow in [1, 2, 3] {
        assert_eq!(lists.arrive(flow, 0, 1000), []);
    }
    assert_eq!(lists.arrive(3, 0, 1000), [(2, MatchQueued), (3, MatchArriving)]);
    assert_eq!(lists.arrive(1, 0, 1000), [(0, MatchQueued), (4, MatchArriving)]);
}

// Candidates at the ends of a FIFO, A-14 and section 9.

/// Flows 1, 2, 3 with handles 0 to 2 and two candidates, and the middle one dropped by an arrival with handle 3.
fn with_the_middle_marked(params: ChokeHardwareParams) -> Lists {
    let mut lists = Lists::new(ChokeHardwareParams { candidates: Candidates::Fixed(2), ..params }, 1);
    for flow in [1, 2, 3] {
        assert_eq!(lists.arrive(flow, 0, 1000), []);
    }
    assert_eq!(lists.arrive(2, 0, 1000), [(1, MatchQueued), (3, MatchArriving)]);
    assert_eq!((lists.waiting(), lists.queue.entries()), (vec![0, 2], 3));
    lists
}

#[test]
fn head_and_tail_pass_over_marked_entries_or_meet_them() {
    // Nearest the head, then the tail: what two candidates are beside a marked one.
    for (addresses, near, far) in [(Addresses::Head, (1, 0), (3, 2)), (Addresses::Tail, (3, 2), (1, 0))] {
        let arrival = |marked, flow| {
            let mut lists = with_the_middle_marked(ChokeHardwareParams { addresses, marked, ..hardware(10) });
            lists.arrive(flow, 0, 1000)
        };
        let pair = |handle| vec![(handle, MatchQueued), (4, MatchArriving)];
        for marked in [MarkedEntry::Reject, MarkedEntry::Miss, MarkedEntry::Blind] {
            assert_eq!(arrival(marked, near.0), pair(near.1), "{addresses:?} {marked:?}");
        }
        assert_eq!(arrival(MarkedEntry::Reject, far.0), pair(far.1), "{addresses:?}");
        assert_eq!(arrival(MarkedEntry::Reject, 2), []);
        assert_eq!([arrival(MarkedEntry::Miss, far.0), arrival(MarkedEntry::Miss, 2)], [[], []]);
        assert_eq!(arrival(MarkedEntry::Blind, far.0), []);
        assert_eq!(arrival(MarkedEntry::Blind, 2), [(4, MatchArriving)]);
    }
}

#[test]
fn candidates_at_the_ends_are_compared_from_there_on() {
    for (addresses, expected) in [(Addresses::Head, [0, 1, 2]), (Addresses::Tail, [5, 4, 3])] {
        // Packets of three cells each are one candidate each.
        let params = ChokeHardwareParams {
            addresses,
            candidates: Candidates::Fixed(3),
            cell_size: 400,
            fifos: 2,
            ..hardware(20)
        };
        let mut lists = Lists::new(params, 1);
        for flow in 0..6 {
            assert_eq!(lists.arrive(flow, 0, 1200), []);
            assert_eq!(lists.arrive(flow, 1, 1200), [], "another FIFO");
        }
        lists.world.drawn.clear();
        assert_eq!(lists.arrive(99, 0, 1200), []);
        assert_eq!(lists.world.drawn, expected.map(|packet| 2 * packet), "{addresses:?}");
    }
}

#[test]
fn a_schedule_says_how_many_are_compared() {
    // Regions from 2, 5 and 8 packets on.
    let red = RedParams { min_th: 2.0, max_th: 11.0, ..always(20) };
    let candidates = Candidates::Regions(Schedule::odd(3));
    let params = ChokeHardwareParams { red, candidates, addresses: Addresses::Tail, ..hardware(20) };
    let mut lists = Lists::new(params, 1);
    for (flow, expected) in (0..).zip([0, 0, 1, 1, 1, 3, 3, 3, 5, 5]) {
        lists.world.drawn.clear();
        assert_eq!(lists.arrive(flow, 0, 1000), []);
        assert_eq!(lists.world.drawn.len(), expected, "with {flow} packets");
    }
}

// The bit in the packet: section II.A of the paper at INFOCOM.

#[test]
fn a_marked_packet_stays_until_its_turn() {
    let params = ChokeHardwareParams { mark_bit: MarkBit::Packet, ..hardware(5) };
    // Two packets wait, and the one at the head is drawn: its entry would go at once.
    let bits =
        [bits_for(0, 1), bits_for(0, 2), bits_for(0, 2), bits_for(0, 3), bits_for(0, 4), bits_for(0, 5)];
    let mut lists = Lists::scripted(params, &bits);
    assert_eq!([lists.arrive(1, 0, 1000), lists.arrive(2, 0, 1000)], [[], []]);
    assert_eq!(lists.arrive(1, 0, 1000), [(0, MatchQueued), (2, MatchArriving)]);
    assert_eq!((lists.waiting(), lists.queue.entries()), (vec![1], 2));
    // It is drawn again, drops the arrival alone, and counts in the average and in the memory.
    assert_eq!(lists.arrive(1, 0, 1000), [(3, MatchArriving)]);
    assert_eq!(lists.queue.average_packets(), Some(2.0));
    assert_eq!(lists.queue.list_stats().dropped_alone, 1);
    assert_eq!([lists.arrive(3, 0, 1000), lists.arrive(4, 0, 1000)], [[], []]);
    assert_eq!(lists.queue.average_packets(), Some(3.0));
    assert_eq!(lists.arrive(5, 0, 1000), []);
    assert_eq!(lists.queue.entries(), 5);
    lists.world.bits[Stream::Candidate as usize] = Bits::Script([bits_for(4, 5)].into());
    assert_eq!(lists.arrive(6, 0, 1000), [(7, Overflow)], "five of five packets, one of them marked");
    // Its turn: discarded in no time.
    assert_eq!(lists.dequeue().map(|packet| packet.handle), Some(1));
    assert_eq!(lists.queue.entries(), 3);
    let left: Vec<u32> = std::iter::from_fn(|| lists.dequeue()).map(|packet| packet.handle).collect();
    assert_eq!((left, lists.queue.entries()), (vec![4, 5, 6], 0));
}

/// A marked packet that has become the head stays there while the one before it is sent.
#[test]
fn a_marked_packet_at_the_head_waits_for_the_link() {
    for (mark_bit, left) in [(MarkBit::Entry, 1), (MarkBit::Packet, 2)] {
        let params = ChokeHardwareParams { mark_bit, ..hardware(10) };
        let bits = [bits_for(0, 1), bits_for(0, 2), bits_for(1, 3)];
        let mut lists = Lists::scripted(params, &bits);
        assert_eq!(
            [lists.arrive(1, 0, 1000), lists.arrive(2, 0, 1000), lists.arrive(3, 0, 1000)],
            [[], [], []]
        );
        assert_eq!(lists.arrive(2, 0, 1000), [(1, MatchQueued), (3, MatchArriving)]);
        assert_eq!(lists.dequeue().map(|packet| packet.handle), Some(0));
        assert_eq!(lists.queue.entries(), left);
        assert_eq!(lists.dequeue().map(|packet| packet.handle), Some(2));
    }
}

/// A queue of marked packets alone is compared with, and is empty once the link asks.
#[test]
fn marked_packets_alone_are_compared_and_then_gone() {
    let params = ChokeHardwareParams { mark_bit: MarkBit::Packet, ..hardware(10) };
    let mut lists = Lists::scripted(params, &[bits_for(0, 1); 2]);
    assert_eq!(lists.arrive(1, 0, 1000), []);
    assert_eq!(lists.arrive(1, 0, 1000), [(0, MatchQueued), (1, MatchArriving)]);
    assert_eq!(lists.arrive(1, 0, 1000), [(2, MatchArriving)]);
    assert_eq!((lists.queue.entries(), lists.dequeue(), lists.queue.entries()), (1, None, 0));
    assert_eq!(lists.arrive(1, 0, 1000), []);
}

// Long lists.

#[test]
fn a_list_may_have_more_than_1024_entries() {
    let red = RedParams { limit: 60_000, min_th: 59_000.0, ..always(60_000) };
    let params = ChokeHardwareParams { red, list_limit: u16::MAX, ..ChokeHardwareParams::default() };
    let mut lists = Lists::new(params, 1);
    for flow in 0..59_000 {
        assert_eq!(lists.arrive(flow, 0, 1000), []);
    }
    // The last address of those in use, beyond 16 bits with a sign.
    lists.world.bits[Stream::Candidate as usize] = Bits::Script([bits_for(58_999, 59_000)].into());
    assert_eq!(lists.arrive(58_999, 0, 1000), [(58_999, MatchQueued), (59_000, MatchArriving)]);
    assert_eq!(lists.queue.entries(), 59_000);
}

// Banks, section 10.

#[test]
fn every_bank_gives_one_candidate() {
    let params = ChokeHardwareParams { candidates: Candidates::Fixed(4), banks: 4, ..hardware(100) };
    let mut lists = Lists::new(params, 3);
    for flow in 0..60 {
        lists.arrive(flow, 0, 1000);
    }
    let mut seen = [0_u64; 60];
    for _ in 0..20_000 {
        lists.world.drawn.clear();
        let mut copy = Lists { queue: lists.queue.clone(), world: lists.world.clone(), arrivals: 60 };
        copy.arrive(99, 0, 1000);
        lists.world.bits = copy.world.bits;
        // Handles are addresses here: candidates are distinct, one of each bank.
        let mut banks: Vec<u32> = copy.world.drawn.iter().map(|handle| handle % 4).collect();
        banks.sort_unstable();
        assert_eq!(banks, [0, 1, 2, 3]);
        copy.world.drawn.iter().for_each(|&handle| seen[handle as usize] += 1);
    }
    // Inclusion probability 1 / 15, the live entries of a bank.
    assert_uniform(&seen);
}

#[test]
fn fewer_candidates_than_banks_take_turns() {
    let params = ChokeHardwareParams { candidates: Candidates::Fixed(2), banks: 3, ..hardware(100) };
    let mut lists = Lists::new(params, 3);
    for flow in 0..30 {
        lists.arrive(flow, 0, 1000);
    }
    let mut banks = Vec::new();
    for flow in 100..103 {
        lists.world.drawn.clear();
        lists.arrive(flow, 0, 1000);
        banks.extend(lists.world.drawn.iter().map(|handle| handle % 3));
    }
    let turns: Vec<u32> = (0..6).map(|turn| (banks[0] + turn) % 3).collect();
    assert_eq!(banks, turns);
}

// Shared memory, section 11.

/// Five standard deviations of the chi-squared statistic, either way.
fn assert_uniform(counts: &[u64]) {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let chi_squared: f64 = counts.iter().map(|&n| (n as f64 - expected).powi(2) / expected).sum();
    let freedom = (counts.len() - 1) as f64;
    let deviations = (chi_squared - freedom) / (2.0 * freedom).sqrt();
    assert!(deviations.abs() < 5.0, "{counts:?}: {deviations} standard deviations");
}

#[test]
fn accepted_draws_are_uniform_over_own_live_entries_and_tries_are_geometric() {
    // Nothing is compared before 49 packets of a FIFO wait, marked ones included.
    let params = ChokeHardwareParams {
        red: RedParams { min_th: 49.0, ..always(300) },
        addresses: Addresses::Memory,
        fifos: 3,
        list_limit: 400,
        physical_length: true,
        ..ChokeHardwareParams::default()
    };
    let mut lists = Lists::new(params, 5);
    for packet in 0..147 {
        assert_eq!(lists.arrive(7, (packet % 3) as u8, 1000), []);
    }
    let marked = |lists: &Lists| lists.queue.entries() - lists.waiting().len();
    while marked(&lists) < 10 {
        lists.arrive(7, 0, 1000);
    }
    let waiting = lists.queue.fifo().iter().filter(|packet| packet.meta.class == 0).count();
    let before = *lists.queue.list_stats();
    let mut seen: HashMap<u32, u64> = HashMap::new();
    let draws = 40_000;
    for _ in 0..draws {
        let mut copy =
            Lists { queue: lists.queue.clone(), world: lists.world.clone(), arrivals: lists.arrivals };
        copy.world.drawn.clear();
        copy.arrive(9999, 0, 1000);
        *seen.entry(copy.world.drawn[0]).or_default() += 1;
        lists.world.bits = copy.world.bits;
        let (tries, total) = (copy.queue.list_stats().tries, before.tries);
        *seen.entry(u32::MAX).or_default() += tries - total;
    }
    let tries = seen.remove(&u32::MAX).unwrap() as f64;
    assert_eq!(seen.len(), waiting);
    assert_uniform(&seen.into_values().collect::<Vec<_>>());
    // Geometric with p = own / all: mean 1 / p, variance (1 - p) / p^2.
    let p = waiting as f64 / 400.0;
    let deviation = ((1.0 - p) / (p * p) * f64::from(draws)).sqrt();
    assert!((tries - f64::from(draws) / p).abs() < 5.0 * deviation, "{tries} tries, p = {p}");
}

#[test]
fn fifos_are_served_in_turn() {
    let mut lists = Lists::new(ChokeHardwareParams { fifos: 3, ..hardware(100) }, 1);
    for (flow, class) in [(1, 0), (2, 0), (3, 0), (4, 1), (5, 5), (6, 1)] {
        assert_eq!(lists.arrive(flow, class, 1000), []);
    }
    let order: Vec<u64> = std::iter::from_fn(|| lists.dequeue()).map(|packet| packet.meta.flow).collect();
    assert_eq!(order, [1, 4, 5, 2, 6, 3]);
}

#[test]
fn a_quota_holds_one_fifo() {
    let mut lists = Lists::new(ChokeHardwareParams { fifos: 2, quota: 2, ..hardware(3) }, 1);
    assert_eq!(lists.arrive(1, 0, 1000), []);
    assert_eq!(lists.arrive(2, 0, 1000), []);
    assert_eq!(lists.arrive(3, 0, 1000), [(2, Overflow)]);
    assert_eq!(lists.arrive(4, 1, 1000), []);
    assert_eq!(lists.arrive(5, 1, 1000), [(4, Overflow)], "the shared memory is full");
}

// Chopped packets, section 8 and A-46.

#[test]
fn draws_are_by_cells() {
    let params = ChokeHardwareParams { cell_size: 400, ..hardware(100) };
    let mut lists = Lists::new(params, 8);
    let lengths = [400, 401, 1200, 1500, 40];
    for (flow, &len) in (0..).zip(&lengths) {
        lists.arrive(flow, 0, len);
    }
    assert_eq!(lists.queue.entries(), 1 + 2 + 3 + 4 + 1);
    let draws = 110_000;
    let mut seen = [0_u64; 5];
    for _ in 0..draws {
        let mut copy = Lists { queue: lists.queue.clone(), world: lists.world.clone(), arrivals: 5 };
        copy.world.drawn.clear();
        copy.arrive(99, 0, 40);
        seen[copy.world.drawn[0] as usize] += 1;
        lists.world.bits = copy.world.bits;
    }
    for (count, cells) in seen.into_iter().zip([1.0, 2.0, 3.0, 4.0, 1.0]) {
        let p = cells / 11.0;
        let deviation = (f64::from(draws) * p * (1.0 - p)).sqrt();
        assert!((count as f64 - f64::from(draws) * p).abs() < 5.0 * deviation, "{seen:?}");
    }
}

#[test]
fn a_packet_of_which_one_cell_is_marked_holds_its_data() {
    for (mark_one_cell, fate) in [(false, vec![]), (true, vec![(4, Overflow)])] {
        let params = ChokeHardwareParams { cell_size: 400, mark_one_cell, ..hardware(2) };
        // Cells: flow 1 has one, flow 2 three. The second of the three is drawn.
        let bits = [bits_for(0, 1), bits_for(2, 4), bits_for(0, 4), bits_for(0, 5)];
        let mut lists = Lists::scripted(params, &bits);
        assert_eq!(lists.arrive(1, 0, 400), []);
        assert_eq!(lists.arrive(2, 0, 1200), []);
        assert_eq!(lists.arrive(2, 0, 400), [(1, MatchQueued), (2, MatchArriving)]);
        assert_eq!((lists.waiting(), lists.queue.entries()), (vec![0], 4));
        let expected = if mark_one_cell { (2, 1) } else { (0, 0) };
        let seen = lists.queue.list_stats();
        assert_eq!((seen.wasted_cells, seen.most_wasted_packets), expected);
        if mark_one_cell {
            // The data memory has room for two packets, and one of them is dead.
            lists.arrivals = 4;
            assert_eq!(lists.arrive(3, 0, 400), fate);
            lists.dequeue();
            assert_eq!(lists.arrive(3, 0, 400), [], "put together and thrown away at the head");
        } else {
            assert_eq!(lists.arrive(3, 0, 400), fate);
        }
    }
}

#[test]
fn a_packet_needs_entries_for_all_its_cells() {
    let params = ChokeHardwareParams { cell_size: 400, list_limit: 3, ..hardware(10) };
    let mut lists = Lists::new(params, 1);
    assert_eq!(lists.arrive(1, 0, 1201), [(0, Overflow)]);
    assert_eq!(lists.arrive(1, 0, 1200), []);
    assert_eq!(lists.arrive(2, 0, 1), [(2, Overflow)]);
}

// Short ids.

/// The id under a key of zeros and a salt.
fn id(salt: u64, flow: u64, bits: u32) -> u64 {
    siphash([salt, 0], &flow.to_le_bytes()) >> (64 - bits)
}

/// The first flow after 1 whose id is that of flow 1, and the first whose id is another.
fn same_and_other(salt: u64, bits: u32) -> (u64, u64) {
    let first =
        |same| (2..10_000_000).find(|&flow| (id(salt, flow, bits) == id(salt, 1, bits)) == same).unwrap();
    (first(true), first(false))
}

#[test]
fn flows_with_the_same_id_match() {
    for (id_bits, salt) in [(1, 0), (8, 0), (8, 5), (12, 0), (16, 3)] {
        let (same, other) = same_and_other(salt, id_bits.into());
        let lists = || {
            let params = ChokeHardwareParams { id_bits, salt, ..hardware(10) };
            let mut lists = Lists::new(params, 1);
            assert_eq!(lists.arrive(1, 0, 1000), []);
            lists
        };
        assert_eq!(lists().arrive(same, 0, 1000), [(0, MatchQueued), (1, MatchArriving)], "{id_bits} {salt}");
        assert_eq!(lists().arrive(other, 0, 1000), [], "{id_bits} {salt}");
        let mut whole = Lists::new(ChokeHardwareParams { salt, ..hardware(10) }, 1);
        assert_eq!([whole.arrive(1, 0, 1000), whole.arrive(same, 0, 1000)], [[], []]);
    }
}

/// A marked entry is legible with its short id alone.
#[test]
fn marked_entries_are_compared_by_short_ids() {
    let (same, other) = same_and_other(0, 4);
    for (arrival, expected) in [(same, vec![(3, MatchArriving)]), (other, vec![])] {
        let params = ChokeHardwareParams { id_bits: 4, marked: MarkedEntry::Blind, ..hardware(10) };
        let mut lists = Lists::scripted(params, &[bits_for(0, 1), bits_for(1, 2), bits_for(1, 2)]);
        let head = (2..1_000).find(|&flow| ![1, other].map(|flow| id(0, flow, 4)).contains(&id(0, flow, 4)));
        assert_eq!([lists.arrive(head.unwrap(), 0, 1000), lists.arrive(1, 0, 1000)], [[], []]);
        assert_eq!(lists.arrive(1, 0, 1000), [(1, MatchQueued), (2, MatchArriving)]);
        assert_eq!(lists.arrive(arrival, 0, 1000), expected);
    }
}

/// Two flows have the same id of b bits with probability 2^-b over salts.
#[test]
fn salts_collide_as_often_as_random_ids() {
    let salts = 20_000;
    for bits in [2_u8, 4] {
        let collides = |salt| {
            let params = ChokeHardwareParams { id_bits: bits, salt, ..hardware(10) };
            let mut lists = Lists::new(params, 1);
            assert_eq!(lists.arrive(1, 0, 1000), []);
            !lists.arrive(2, 0, 1000).is_empty()
        };
        let seen = (0..salts).filter(|&salt| collides(salt)).count() as f64;
        let p = 0.5_f64.powi(bits.into());
        let deviation = (salts as f64 * p * (1.0 - p)).sqrt();
        assert!((seen - salts as f64 * p).abs() < 5.0 * deviation, "{bits} bits: {seen} of {salts}");
    }
}

/// As `sch_choke`: the first arrival over `min_th` is compared, and only draws for RED; a match leaves the count.
#[test]
fn linux_6_12_has_red_as_the_kernel_has_it() {
    let red =
        RedParams { min_th: 1.0, max_th: 20.0, max_p: 1.0, w_q: 0.5, limit: 10, ..RedParams::default() };
    let params =
        ChokeHardwareParams { red, addresses: Addresses::Linux6_12, ..ChokeHardwareParams::default() };
    let mut lists = Lists::scripted(params, &[bits_for(0, 2), bits_for(2, 3), bits_for(0, 3)]);
    lists.world.bits[Stream::EarlyDrop as usize] = Bits::Always(0);
    // Averages in halves: 0, 1, 3, 5, and after the match 5 again.
    for flow in 0..2 {
        assert_eq!(lists.arrive(flow, 0, 1000), []);
    }
    assert_eq!(lists.queue.list_stats().draws, 0);
    assert_eq!((lists.arrive(2, 0, 1000), lists.queue.average_packets()), (vec![], Some(1.5)));
    assert_eq!(lists.queue.list_stats().draws, 1);
    assert_eq!(lists.world.used[Stream::EarlyDrop as usize], 1, "the first over min_th draws for the next");
    // A match leaves the count and draws nothing for RED; the next is due, since the number drawn is 0.
    assert_eq!(lists.arrive(2, 0, 1000), [(2, MatchQueued), (3, MatchArriving)]);
    assert_eq!(lists.world.used[Stream::EarlyDrop as usize], 1);
    assert_eq!(lists.arrive(9, 0, 1000), [(4, RedEarly)]);
    assert_eq!(lists.world.used[Stream::EarlyDrop as usize], 2);
}

// Parameters.

#[test]
fn errors_name_the_parameter() {
    let check = |change: fn(&mut ChokeHardwareParams)| {
        let mut params = ChokeHardwareParams::default();
        change(&mut params);
        params.validate().map_err(|error| error.name)
    };
    assert_eq!(check(|_| ()), Ok(()));
    assert_eq!(check(|params| params.candidates = Candidates::Fixed(33)), Err("candidates"));
    assert_eq!(check(|params| params.banks = 0), Err("banks"));
    assert_eq!(check(|params| (params.banks, params.list_limit) = (8, 7)), Err("banks"));
    assert_eq!(check(|params| params.list_limit = u16::MAX), Ok(()));
    assert_eq!(check(|params| params.list_limit = 0), Err("list_limit"));
    assert_eq!(check(|params| params.fifos = 9), Err("fifos"));
    assert_eq!(check(|params| (params.addresses, params.banks) = (Addresses::Linux, 2)), Err("banks"));
    assert_eq!(check(|params| (params.addresses, params.fifos) = (Addresses::Linux, 2)), Err("fifos"));
    assert_eq!(check(|params| (params.addresses, params.banks) = (Addresses::Head, 2)), Err("banks"));
    assert_eq!(check(|params| (params.addresses, params.banks) = (Addresses::Tail, 2)), Err("banks"));
    assert_eq!(check(|params| (params.addresses, params.fifos) = (Addresses::Tail, 2)), Ok(()));
    let linux_packet = |params: &mut ChokeHardwareParams| {
        (params.addresses, params.mark_bit) = (Addresses::Linux, MarkBit::Packet);
    };
    assert_eq!(check(linux_packet), Err("mark_bit"));
    let linux_distinct = |params: &mut ChokeHardwareParams| {
        (params.addresses, params.replacement) = (Addresses::Linux, false);
    };
    assert_eq!(check(linux_distinct), Err("replacement"));
    let by_kernel = |change: fn(&mut ChokeHardwareParams)| {
        let mut params =
            ChokeHardwareParams { addresses: Addresses::Linux6_12, ..ChokeHardwareParams::default() };
        params.red.w_q = 0.25;
        change(&mut params);
        params.validate().map_err(|error| error.name)
    };
    assert_eq!(by_kernel(|_| ()), Ok(()));
    assert_eq!(by_kernel(|params| params.red.w_q = 0.2), Err("w_q"));
    assert_eq!(by_kernel(|params| params.count_on_match = true), Err("count_on_match"));
    assert_eq!(by_kernel(|params| params.red.gentle = true), Err("gentle"));
    assert_eq!(by_kernel(|params| params.fifos = 2), Err("fifos"));
    assert_eq!(check(|params| params.red.linux = Linux::V6_12), Err("w_q"));
    assert_eq!(check(|params| (params.red.linux, params.red.w_q) = (Linux::V6_12, 0.25)), Err("linux"));
    assert_eq!(check(|params| params.id_bits = 32), Ok(()));
    assert_eq!(check(|params| params.id_bits = 33), Err("id_bits"));
    assert_eq!(check(|params| params.red.limit = 0), Err("limit"));
    let slots: Vec<Slot<u32>> = vec![None; slots_for(10)];
    let too_few = vec![ListEntry::default(); 1023];
    assert_eq!(
        ChokeHardware::new(hardware(10), slots, too_few).err().map(|error| error.name),
        Some("entries")
    );
}
