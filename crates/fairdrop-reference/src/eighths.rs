//! Queues under RED whose probability of an early drop goes up in eighths, and what it is at a moment. The average
//! follows the queue at once (`w_q` 1), so that "queue" and "average" are the same number.

use fairdrop::DropCause::RedEarly;
use fairdrop::{AnyParams, Candidates, ChokeParams, RedParams, Stream, Time};

use crate::host::{Bits, Bottleneck, Event, KEEP};

/// Early-drop probability 1/8 for each packet over `min_th` = 10, up to 1 at `max_th` = 18.
pub fn eighths() -> RedParams {
    RedParams {
        limit: 100,
        min_th: 10.0,
        max_th: 18.0,
        max_p: 1.0,
        w_q: 1.0,
        mean_packet_time: Time::from_ns(1000),
        mean_packet_size: 1000,
        ..RedParams::default()
    }
}

/// RED alone.
pub fn red(params: RedParams) -> AnyParams {
    AnyParams::Red(params)
}

/// `CHOKe` in front of it.
pub fn choke(red: RedParams, candidates: Candidates) -> AnyParams {
    AnyParams::Choke(ChokeParams { red, candidates, ..ChokeParams::default() })
}

/// Basic `CHOKe`.
pub fn basic(red: RedParams) -> AnyParams {
    choke(red, Candidates::Fixed(1))
}

/// A queue behind a busy transmitter, filled with `n` packets of flows 1000, 1001, ... none of them dropped.
pub fn filled(params: AnyParams, n: u64) -> Bottleneck {
    let mut link = Bottleneck::blocked(params);
    link.world.bits[Stream::EarlyDrop as usize] = KEEP;
    for flow in 0..n {
        assert_eq!(link.arrive(1000 + flow).causes(), []);
    }
    link
}

pub fn early_bits(link: &mut Bottleneck) -> &mut Bits {
    &mut link.world.bits[Stream::EarlyDrop as usize]
}

/// The probability with which RED drops an arrival of `len` bytes now: the smallest draw that keeps it.
pub fn bias_for(link: &Bottleneck, len: u32) -> f64 {
    let dropped = |draw: u64| {
        let mut copy = link.clone();
        *early_bits(&mut copy) = Bits::Always(draw << 11);
        let step = copy.step(&Event::Arrive { flow: u64::MAX, len });
        step.causes() == [RedEarly]
    };
    let (mut low, mut high) = (0_u64, 1 << 53);
    while low < high {
        let middle = u64::midpoint(low, high);
        if dropped(middle) { low = middle + 1 } else { high = middle }
    }
    low as f64 / (1_u64 << 53) as f64
}

pub fn bias(link: &Bottleneck) -> f64 {
    bias_for(link, 1000)
}

pub fn assert_close(left: f64, right: f64) {
    assert!((left - right).abs() < 1e-12, "{left} is not {right}");
}

/// Fills to 16 packets with average weight 1/2, then leaves `left` of them.
pub fn lagging(params: &RedParams, left: usize) -> Bottleneck {
    let mut link = filled(basic(RedParams { w_q: 0.5, max_p: 0.01, max_th: 100.0, ..params.clone() }), 16);
    while link.waiting().len() > left {
        link.finish();
    }
    link
}
