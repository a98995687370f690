//! What must hold of DropTail, RED and `CHOKe` for every trace and every valid parameter.

use std::collections::HashMap;

use fairdrop::{AnyParams, ChokeParams, Count, Discipline, DropCause, DropTailParams, Ecn, Packet, Stats};
use fairdrop_reference::arbitrary::{choke_scheme, choke_with, events, red_params};
use fairdrop_reference::host::{Event, decisions, mixed, run, waiting_of};
use fairdrop_reference::properties;
use proptest::prelude::*;

fn choke_params() -> impl Strategy<Value = ChokeParams> {
    (red_params(), choke_scheme()).prop_map(|(red, scheme)| choke_with(&red, &scheme))
}

fn any_params() -> impl Strategy<Value = AnyParams> {
    prop_oneof![
        1 => (1_u32..40).prop_map(|limit| AnyParams::DropTail(DropTailParams { limit })),
        2 => red_params().prop_map(AnyParams::Red),
        4 => choke_params().prop_map(AnyParams::Choke),
    ]
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ledger {
    arrived: Count,
    departed: Count,
    dropped: Count,
}

impl Ledger {
    fn waiting(&self) -> (u64, u64) {
        let packets = self.arrived.packets - self.departed.packets - self.dropped.packets;
        (packets, self.arrived.bytes - self.departed.bytes - self.dropped.bytes)
    }
}

/// The packet that was offered, but for an ECN mark on one that can bear it.
fn is_same(offered: &Packet<u32>, packet: &Packet<u32>) -> bool {
    let mut expected = offered.clone();
    if expected.meta.ecn != Ecn::NotCapable && packet.meta.ecn == Ecn::Ce {
        expected.meta.ecn = Ecn::Ce;
    }
    expected == *packet
}

properties! {
    /// Section 20.1: in packets and bytes, for every flow, after every event; and no packet is altered on its way.
    #[test]
    fn nothing_is_lost(params in any_params(), trace in events(4), seed in any::<u64>()) {
        let mut link = mixed(params, seed);
        let mut flows: HashMap<u64, Ledger> = HashMap::new();
        let mut offered: HashMap<u32, Packet<u32>> = HashMap::new();
        for event in &trace {
            let step = link.step(event);
            if let Some(packet) = step.arrived {
                flows.entry(packet.meta.flow).or_default().arrived.add(packet.meta.len);
                offered.insert(packet.handle, packet);
            }
            for (packet, _) in &step.dropped {
                flows.get_mut(&packet.meta.flow).unwrap().dropped.add(packet.meta.len);
                prop_assert!(offered.remove(&packet.handle).is_some_and(|offered| is_same(&offered, packet)));
            }
            if let Some(packet) = &step.departed {
                flows.get_mut(&packet.meta.flow).unwrap().departed.add(packet.meta.len);
                prop_assert!(offered.remove(&packet.handle).is_some_and(|offered| is_same(&offered, packet)));
            }
            for (flow, ledger) in &flows {
                prop_assert_eq!(ledger.waiting(), waiting_of(&link, |packet| packet.meta.flow == *flow));
            }
            let backlog = link.queue.backlog();
            prop_assert_eq!((u64::from(backlog.packets), backlog.bytes), waiting_of(&link, |_| true));
            prop_assert_eq!(backlog.packets as usize, offered.len());
        }
    }

    /// Sections 20.2, 20.4 and 20.5.
    #[test]
    fn survivors_leave_in_order_and_the_link_never_rests(
        params in any_params(), trace in events(4), seed in any::<u64>(),
    ) {
        let limit = params.limit();
        let mut link = mixed(params, seed);
        let mut last = None;
        for event in &trace {
            let step = link.step(event);
            if let Some(packet) = step.departed {
                prop_assert!(last < Some(packet.handle));
                last = Some(packet.handle);
            }
            let waiting = link.waiting();
            prop_assert!(waiting.is_sorted() && (last < waiting.first().copied() || waiting.is_empty()));
            prop_assert!(waiting.len() <= limit as usize);
            prop_assert!(link.busy || waiting.is_empty());
        }
    }

    /// Section 20.3.
    #[test]
    fn same_seed_same_run(params in any_params(), trace in events(4), seed in any::<u64>()) {
        prop_assert_eq!(run(params.clone(), &trace, seed), run(params, &trace, seed));
    }

    /// Section 20.6: flow labels are compared for equality only.
    #[test]
    fn other_labels_same_run(
        params in any_params(), trace in events(6), seed in any::<u64>(), shift in any::<u64>(), mask in any::<u64>(),
    ) {
        let renamed = |flow: u64| flow.wrapping_add(shift).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ mask;
        let relabelled: Vec<Event> = trace.iter().cloned().map(|event| match event {
            Event::Arrive { flow, len } => Event::Arrive { flow: renamed(flow), len },
            other => other,
        }).collect();
        let (one, other) = (run(params.clone(), &trace, seed), run(params, &relabelled, seed));
        prop_assert_eq!(decisions(&one), decisions(&other));
    }

    /// Section 20.9.
    #[test]
    fn counters_are_the_sum_of_what_happened(params in any_params(), trace in events(4), seed in any::<u64>()) {
        let mut link = mixed(params, seed);
        let mut expected = Stats::default();
        for event in &trace {
            let step = link.step(event);
            step.arrived.iter().for_each(|packet| expected.arrived.add(packet.meta.len));
            step.departed.iter().for_each(|packet| expected.departed.add(packet.meta.len));
            for (packet, cause) in &step.dropped {
                expected.dropped[*cause as usize].add(packet.meta.len);
            }
            expected.drawn += step.drawn.len() as u64;
            // Marks leave no trace in an event; the reference counts them.
            expected.marked = link.queue.stats().marked;
            prop_assert_eq!(link.queue.stats(), &expected);
        }
        let total = DropCause::ALL.map(|cause| link.queue.stats().dropped_for(cause));
        let packets: u64 = total.iter().map(|count| count.packets).sum();
        prop_assert_eq!(link.queue.stats().dropped_total().packets, packets);
    }
}
