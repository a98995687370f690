//! RED as Linux has it (`include/net/red.h`): an average in whole 2^-log of a packet or byte, a random number that is drawn before the
//! drop it is for, and idle time by a table of shifts, which `tc` makes (`tc_red_eval_idle_damping` in `iproute2`).

use core::num::NonZeroU32;

use crate::contract::{DropCause, Env, ParamError, Stream, Time, require};

/// Most bits of a threshold in whole 2^-log (`red_check_params`).
const MOST_BITS: u32 = 31;
/// Shifts of an idle time (`RED_STAB_SIZE`); the last is the greatest.
const SHIFTS: u64 = 256;
const GREATEST_SHIFT: u64 = 31;
/// `tc` makes the table in ticks of the packet scheduler, and the kernel looks it up in microseconds: the average decays more slowly
/// than by the arrivals that the link missed, by a factor of 15.6.
const TICK_NS: u64 = 64;

/// The parameters of RED that the kernel has.
#[derive(Clone, Copy, Debug)]
pub(in crate::disciplines) struct LinuxParams {
    pub min_th: f64,
    pub max_th: f64,
    pub max_p: f64,
    pub w_q: f64,
    pub mean_packet_size: u32,
    pub mean_packet_time: Time,
    /// A switch that is on, and that the kernel lacks.
    pub foreign: Option<&'static str>,
}

/// What the average counts. A length equal to a threshold is below it for CHOKe (`choke_enqueue`), not for RED (`red_cmp_thresh`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::disciplines) enum Unit {
    /// Packets, as `sch_choke` does.
    Packets,
    /// Bytes, as `sch_red` does; thresholds are multiples of the mean packet size.
    Bytes,
}

/// RED's average and the spacing of its drops, in the kernel's integers (`struct red_parms`, `struct red_vars`).
#[derive(Clone, Debug)]
pub(in crate::disciplines) struct LinuxRed {
    /// In whole 2^-log, as `max_th` and `avg` are.
    min_th: u64,
    max_th: u64,
    avg: u64,
    log: u32,
    /// Units of a packet.
    per_packet: u32,
    /// 1 where a length equal to a threshold is below it.
    edge: u64,
    /// Divisor of random numbers (`max_P_reciprocal`).
    divisor: NonZeroU32,
    /// Arrivals over `min_th` since a random number was drawn; -1 before the first (`qcount`).
    count: i64,
    /// The random number of the next drop (`qR`).
    drawn: u32,
    /// 2^cell microseconds have a shift of their own (`Scell_log`).
    cell: u32,
    /// Shifts of a microsecond.
    rate: f64,
    idle_since: Option<Time>,
}

/// The number of halvings that make `w_q`; `None` where there is none.
fn log_of(w_q: f64) -> Option<u32> {
    (1..MOST_BITS).find(|&log| w_q * (1_u64 << log) as f64 == 1.0)
}

/// -ln(1 - 2^-log), by its series.
fn damping(log: u32) -> f64 {
    let weight = 1.0 / (1_u64 << log) as f64;
    let (mut sum, mut power) = (0.0, 1.0);
    for term in 1..=60_u32 {
        power *= weight;
        sum += power / f64::from(term);
    }
    sum
}

/// Checks that `params` are some that `tc` and the kernel take.
///
/// # Errors
/// Names the first that is not.
pub(in crate::disciplines) fn check(params: &LinuxParams, unit: Unit) -> Result<(), ParamError> {
    if let Some(name) = params.foreign {
        require(false, name, 1.0, "false by the kernel's rules")?;
    }
    let log = log_of(params.w_q).unwrap_or(MOST_BITS);
    require(log < MOST_BITS, "w_q", params.w_q, "1/2, 1/4, 1/8, ..., 2^-30 by the kernel's rules")?;
    let most = (1_u64 << (MOST_BITS - log)) as f64;
    let in_units = params.max_th * f64::from(per_packet(params, unit));
    require(
        in_units < most,
        "max_th",
        params.max_th,
        "below 2^31 w_q packets, or bytes, by the kernel's rules",
    )?;
    require(scaled(params.max_p) > 0, "max_p", params.max_p, "2^-32 or more by the kernel's rules")?;
    let is_tabled = cell_of(31.0 / rate(params, log)).is_some();
    require(
        is_tabled,
        "w_q",
        params.w_q,
        "more by the kernel's rules: the table of idle times ends at 2^40 us",
    )
}

fn per_packet(params: &LinuxParams, unit: Unit) -> u32 {
    match unit {
        Unit::Packets => 1,
        Unit::Bytes => params.mean_packet_size,
    }
}

/// A probability in 2^-32.
fn scaled(probability: f64) -> u32 {
    (probability * 4_294_967_296.0) as u32
}

/// Shifts of a microsecond, for the kernel; of a tick, for `tc`.
fn rate(params: &LinuxParams, log: u32) -> f64 {
    damping(log) / params.mean_packet_time.ns().div_ceil(TICK_NS).max(1) as f64
}

/// The least cell of which 512 reach `longest`.
fn cell_of(longest: f64) -> Option<u32> {
    (0..u32::BITS).find(|&cell| longest / ((1_u64 << cell) as f64) < 512.0)
}

impl LinuxRed {
    /// An average of 0. The parameters have been checked.
    pub(in crate::disciplines) fn new(params: &LinuxParams, unit: Unit) -> Self {
        let per_packet = per_packet(params, unit);
        let log = log_of(params.w_q).unwrap_or(1);
        let [min_th, max_th] =
            [params.min_th, params.max_th].map(|packets| (packets * f64::from(per_packet)) as u64);
        let width = (max_th - min_th.min(max_th)).max(1);
        let rate = rate(params, log);
        Self {
            min_th: min_th << log,
            max_th: max_th << log,
            avg: 0,
            log,
            per_packet,
            edge: u64::from(unit == Unit::Packets),
            divisor: NonZeroU32::new((u64::from(scaled(params.max_p)) / width) as u32)
                .unwrap_or(NonZeroU32::MIN),
            count: -1,
            drawn: 0,
            cell: cell_of(31.0 / rate).unwrap_or(0),
            rate,
            idle_since: None,
        }
    }

    /// The same under other parameters; average and count begin anew (`red_set_vars`).
    pub(in crate::disciplines) fn under(&self, params: &LinuxParams, unit: Unit) -> Self {
        Self { idle_since: self.idle_since, ..Self::new(params, unit) }
    }

    pub(in crate::disciplines) fn average_packets(&self) -> f64 {
        self.avg as f64 / (1_u64 << self.log) as f64 / f64::from(self.per_packet)
    }

    pub(in crate::disciplines) fn count(&self) -> i64 {
        self.count
    }

    /// An empty queue was asked for a packet.
    pub(in crate::disciplines) fn idle(&mut self, now: Time) {
        self.idle_since.get_or_insert(now);
    }

    /// Moves the average for an arrival that finds `backlog` units: a step, or the decay of an idle time (`red_calc_qavg`).
    pub(in crate::disciplines) fn update(&mut self, backlog: u64, now: Time) {
        self.avg = match self.idle_since.take() {
            Some(since) => self.decayed(now.since(since).ns() / 1000),
            None => self.avg + backlog - (self.avg >> self.log),
        };
    }

    /// The average after `us` idle microseconds (`red_calc_qavg_from_idle_time`).
    fn decayed(&self, us: u64) -> u64 {
        let us = us.min(u64::from((SHIFTS as u32 - 1) << self.cell));
        let shift = self.shift(us >> self.cell);
        if shift > 0 {
            return self.avg >> shift;
        }
        let less = self.avg.wrapping_mul(us) >> self.cell;
        let half = self.avg >> 1;
        if less < half { self.avg - less } else { half }
    }

    /// The shift of idle times from `cells` on (`Stab`).
    fn shift(&self, cells: u64) -> u64 {
        if cells >= SHIFTS - 1 {
            return GREATEST_SHIFT;
        }
        (((cells << self.cell) as f64 * self.rate) as u64).min(GREATEST_SHIFT)
    }

    /// Below `min_th`: no packet is dropped early, and the next over it only draws.
    pub(in crate::disciplines) fn below_min_th(&mut self) -> bool {
        let below = self.avg < self.min_th + self.edge;
        if below {
            self.count = -1;
        }
        below
    }

    /// The decision on an arrival; `None` keeps it (`red_action`).
    pub(in crate::disciplines) fn decision<H, E: Env<H>>(&mut self, env: &mut E) -> Option<DropCause> {
        if self.below_min_th() {
            return None;
        }
        if self.avg >= self.max_th + self.edge {
            self.count = -1;
            return Some(DropCause::RedForced);
        }
        self.count += 1;
        let over = (self.avg - self.min_th.min(self.avg)) >> self.log;
        let is_early = self.count > 0 && over * self.count as u64 >= u64::from(self.drawn);
        if self.count > 0 && !is_early {
            return None;
        }
        self.count = 0;
        self.drawn = (env.random(Stream::EarlyDrop) >> 32) as u32 / self.divisor;
        is_early.then_some(DropCause::RedEarly)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::contract::Packet;
    use std::vec;
    use std::vec::Vec;

    /// Numbers of RED's stream, 32 bits each, which must not be asked for more.
    struct Script(Vec<u32>);

    impl Env<()> for Script {
        fn now(&self) -> Time {
            Time::ZERO
        }
        fn flow_key(&self) -> [u64; 2] {
            [0, 0]
        }
        fn random(&mut self, _: Stream) -> u64 {
            u64::from(self.0.remove(0)) << 32
        }
        fn dropped(&mut self, _: Packet<()>, _: DropCause) {}
    }

    /// Thresholds of 4 and 8, weight 1/2, and 2^-3 for each packet over `min_th`: random numbers are divided by 2^27.
    fn params() -> LinuxParams {
        let mean_packet_time = Time::from_ms(8);
        LinuxParams {
            min_th: 4.0,
            max_th: 8.0,
            max_p: 0.125,
            w_q: 0.5,
            mean_packet_size: 1000,
            mean_packet_time,
            foreign: None,
        }
    }

    /// At an average of `halves` of a packet.
    fn at(halves: u64, unit: Unit) -> LinuxRed {
        let red = LinuxRed::new(&LinuxParams { mean_packet_size: 1, ..params() }, unit);
        LinuxRed { avg: halves, ..red }
    }

    #[test]
    fn a_length_equal_to_a_threshold_is_below_it_for_choke_alone() {
        let mut none = Script(vec![]);
        for (unit, below, forced) in [(Unit::Packets, 8, 17), (Unit::Bytes, 7, 16)] {
            assert!(at(below, unit).below_min_th() && !at(below + 1, unit).below_min_th());
            assert_eq!(at(below, unit).decision(&mut none), None);
            assert_eq!(at(forced, unit).decision(&mut none), Some(DropCause::RedForced));
            assert_eq!(at(forced - 1, unit).decision(&mut Script(vec![0])), None, "the first draws");
        }
    }

    /// Twice 2^28 is 2 each time: with two packets over, in whole packets, the next is due; with one and a half, the second.
    #[test]
    fn the_first_packet_over_min_th_draws_for_the_next() {
        for (halves, kept) in [(12, 0), (13, 0), (11, 1), (10, 1), (9, 5)] {
            let (mut red, mut draws) = (at(halves, Unit::Bytes), Script(vec![1 << 28, 7 << 29]));
            assert_eq!(red.decision(&mut draws), None);
            assert_eq!((red.count(), red.drawn), (0, 2));
            for count in 1..=kept {
                assert_eq!((red.decision(&mut draws), red.count()), (None, count), "{halves}");
            }
            if halves > 9 {
                assert_eq!(red.decision(&mut draws), Some(DropCause::RedEarly), "{halves}");
                assert_eq!((red.count(), red.drawn), (0, 28), "a new number, for the next drop");
            }
        }
    }

    /// After a forced drop the next packet between the thresholds only draws; after one below `min_th` as well.
    #[test]
    fn a_forced_drop_sets_the_count_to_minus_one() {
        for halves in [16, 7] {
            let (mut red, mut draws) = (at(12, Unit::Bytes), Script(vec![0, 0]));
            assert_eq!((red.decision(&mut draws), red.count()), (None, 0));
            red.avg = halves;
            assert_eq!(red.decision(&mut draws).is_some(), halves == 16);
            red.avg = 12;
            assert_eq!((red.count(), red.decision(&mut draws), draws.0.len()), (-1, None, 0));
            assert_eq!(red.decision(&mut Script(vec![0])), Some(DropCause::RedEarly));
        }
    }

    /// A whole number of `w_q`, rounded down: from 3 halves towards 2 packets 3 + 2 - 1, and there it stays.
    #[test]
    fn the_average_is_a_whole_number_of_weights() {
        let mut red = at(3, Unit::Packets);
        red.update(2, Time::ZERO);
        assert_eq!((red.avg, red.average_packets()), (4, 2.0));
        let mut red = at(5, Unit::Packets);
        red.update(2, Time::ZERO);
        assert_eq!(red.avg, 5, "half a packet is rounded away");
    }

    /// With `w_q` 1/2 and 64 us a packet, 1000 ticks: 31 shifts are 44,723.6 ticks, so cells are 2^7, and a shift is 11.3 of them.
    #[test]
    fn idle_time_shifts_the_average_by_a_table() {
        let params = LinuxParams { mean_packet_time: Time::from_ns(64_000), ..params() };
        let idle = |us: u64| {
            let mut red = LinuxRed { avg: 4096, ..LinuxRed::new(&params, Unit::Packets) };
            red.idle(Time::from_ns(5000));
            red.idle(Time::from_ns(70_000));
            red.update(100, Time::from_ns((5 + us) * 1000));
            assert_eq!(red.idle_since, None);
            red.avg
        };
        assert_eq!(LinuxRed::new(&params, Unit::Packets).cell, 7);
        // Before the first shift, linear up to a half: 4096 us / 2^7 less.
        assert_eq!([0, 1, 3, 63, 64, 127].map(idle), [4096, 4064, 4000, 2080, 2048, 2048]);
        assert_eq!([12 * 128 - 1, 12 * 128, 23 * 128, 254 * 128].map(idle), [2048, 2048, 1024, 0]);
        assert_eq!([11 * 128, 22 * 128, 23 * 128 - 1, 34 * 128].map(idle), [2048, 2048, 2048, 512]);
        assert_eq!(idle(1 << 40), 0);
    }
}
