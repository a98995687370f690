//! `red.h` of Linux 6.12 in whole numbers without bounds, and the table of shifts that `tc` hands to it.

use fairdrop::{DropCause, RedParams};

/// `struct red_parms` and `struct red_vars`.
pub struct Vars {
    qth_min: i128,
    qth_max: i128,
    wlog: u32,
    reciprocal: i128,
    scell_log: u32,
    stab: Vec<u32>,
    qavg: i128,
    pub qcount: i128,
    qr: i128,
    qidlestart: Option<u64>,
    per_packet: u32,
    /// Whether a length equal to a threshold is below it.
    equal_is_below: bool,
}

impl Vars {
    /// With thresholds in bytes.
    pub fn of_red(params: &RedParams) -> Self {
        Self::new(params, params.mean_packet_size, false)
    }

    /// With thresholds in packets.
    pub fn of_choke(params: &RedParams) -> Self {
        Self::new(params, 1, true)
    }

    fn new(params: &RedParams, per_packet: u32, equal_is_below: bool) -> Self {
        let mut wlog = 1;
        while 0.5_f64.powi(wlog as i32) > params.w_q {
            wlog += 1;
        }
        let units = |packets: f64| (packets * f64::from(per_packet)).floor() as i128;
        let (low, high) = (units(params.min_th), units(params.max_th));
        let delta = if high > low { high - low } else { 1 };
        let max_p = ((params.max_p * 2_f64.powi(32)).floor() as i128).min(i128::from(u32::MAX));
        let ticks = (params.mean_packet_time.ns() as f64 / 64.0).ceil();
        let shifts = -(1.0 - 0.5_f64.powi(wlog as i32)).ln() / ticks;
        let mut scell_log = 0;
        while 31.0 / shifts / 2_f64.powi(scell_log) >= 512.0 {
            scell_log += 1;
        }
        let mut stab: Vec<u32> =
            (0..255).map(|at| (f64::from(at) * 2_f64.powi(scell_log) * shifts).min(31.0) as u32).collect();
        stab.push(31);
        Self {
            qth_min: low << wlog,
            qth_max: high << wlog,
            wlog,
            reciprocal: (max_p / delta).max(1),
            scell_log: scell_log as u32,
            stab,
            qavg: 0,
            qcount: -1,
            qr: 0,
            qidlestart: None,
            per_packet,
            equal_is_below,
        }
    }

    pub fn average(&self) -> f64 {
        self.qavg as f64 / 2_f64.powi(self.wlog as i32) / f64::from(self.per_packet)
    }

    pub fn idle(&mut self, now: u64) {
        if self.qidlestart.is_none() {
            self.qidlestart = Some(now);
        }
    }

    pub fn update(&mut self, backlog: u64, now: u64) {
        let Some(since) = self.qidlestart.take() else {
            self.qavg += i128::from(backlog) - self.qavg / (1 << self.wlog);
            return;
        };
        let longest = (255_i128 << self.scell_log) % (1 << 32);
        let us = i128::from((now - since) / 1000).min(longest);
        let shift = self.stab[(us >> self.scell_log) as usize % 256];
        if shift > 0 {
            self.qavg /= 1 << shift;
            return;
        }
        let less = ((self.qavg * us) % (1 << 64)) >> self.scell_log;
        self.qavg = if less < self.qavg / 2 { self.qavg - less } else { self.qavg / 2 };
    }

    pub fn is_below(&self) -> bool {
        self.qavg < self.qth_min || (self.equal_is_below && self.qavg == self.qth_min)
    }

    fn is_above(&self) -> bool {
        self.qavg > self.qth_max || (!self.equal_is_below && self.qavg == self.qth_max)
    }

    pub fn action(&mut self, draw: &mut dyn FnMut() -> u64) -> Option<DropCause> {
        if self.is_below() {
            self.qcount = -1;
            return None;
        }
        if self.is_above() {
            self.qcount = -1;
            return Some(DropCause::RedForced);
        }
        self.qcount += 1;
        if self.qcount == 0 {
            self.qr = i128::from(draw() >> 32) / self.reciprocal;
            return None;
        }
        if (self.qavg - self.qth_min) / (1 << self.wlog) * self.qcount < self.qr {
            return None;
        }
        self.qcount = 0;
        self.qr = i128::from(draw() >> 32) / self.reciprocal;
        Some(DropCause::RedEarly)
    }
}
