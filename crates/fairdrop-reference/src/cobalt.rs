//! COBALT as slowly and obviously as it can be written: a plain list, and times as signed numbers that never end.

use fairdrop::{AnyDiscipline, CobaltParams, DropCause, Ecn, Packet, Stream};

use crate::compare::{close, unit};
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Drops, Random, Slow};

const WORD: i128 = 1 << 32;

/// `inv_sqrt_cache`.
const ROOTS: [i128; 16] = [
    4_294_967_295,
    4_294_967_295,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

/// Hoeiland-Joergensen, Taht, Morton 2018, III; Linux, `net/sched/sch_cake.c`.
pub struct CobaltModel {
    params: CobaltParams,
    pub(crate) queue: Vec<Packet<u32>>,
    pub(crate) count: u64,
    dropping: bool,
    drop_next: i128,
    pub(crate) p_drop: f64,
    blue_timer: Option<i128>,
    /// `rec_inv_sqrt` of the kernel, where its roots are asked for.
    root: i128,
}

impl CobaltModel {
    pub fn new(params: CobaltParams) -> Self {
        let (count, dropping, drop_next, p_drop) = (0, false, 0, 0.0);
        let blue_timer = params.kernel_roots.then_some(0);
        Self { params, queue: Vec::new(), count, dropping, drop_next, p_drop, blue_timer, root: 0 }
    }

    /// `t + interval / sqrt(count)`, to the nanosecond below; a count of 0 is as one of 1.
    fn control_law(&self, t: i128) -> i128 {
        if self.params.kernel_roots {
            return t + i128::from(self.params.interval.ns()).rem_euclid(WORD) * self.root / WORD;
        }
        let interval = i128::from(self.params.interval.ns());
        let square = (interval * interval) as u128 / u128::from(self.count.max(1));
        t + square.isqrt() as i128
    }

    /// The count changes; `cobalt_invsqrt` in numbers without bounds.
    fn count_to(&mut self, count: u64) {
        self.count = count;
        if let Some(root) = usize::try_from(count).ok().and_then(|count| ROOTS.get(count)) {
            self.root = *root;
            return;
        }
        let square = self.root * self.root / WORD;
        let rest = (3 * WORD - i128::from(count) * square).rem_euclid(WORD * WORD) / 4;
        self.root = ((rest * self.root).rem_euclid(WORD * WORD) / (WORD / 2)).rem_euclid(WORD);
    }

    fn change(&mut self, now: i128, by: f64) {
        if self.blue_timer.is_none_or(|last| now - last > i128::from(self.params.target.ns())) {
            let most = if self.params.kernel_roots { 1.0 - 0.5_f64.powi(32) } else { 1.0 };
            self.p_drop = (self.p_drop + by).clamp(0.0, most);
            self.blue_timer = Some(now);
        }
    }

    /// Whether the packet at the head is to be dropped, for which reason, and whether it is to be marked.
    fn should_drop(&mut self, now: i128, draw: &mut dyn FnMut() -> u64) -> (Option<DropCause>, bool) {
        let packet = &self.queue[0];
        let capable = self.params.ecn && packet.meta.ecn != Ecn::NotCapable;
        let sojourn = now - i128::from(packet.enqueued.ns());
        let mut schedule = now - self.drop_next;
        let mut next_due = self.count > 0 && schedule >= 0;
        let late = sojourn > i128::from(self.params.target.ns())
            && sojourn > 4 * i128::from(self.params.mtu_time.ns());
        if late {
            if !self.dropping {
                self.drop_next = self.control_law(now);
            }
            self.count = self.count.max(1);
        }
        self.dropping = late;
        let mut cause = None;
        let mut marked = false;
        if next_due && self.dropping {
            marked = capable;
            cause = (!capable).then_some(DropCause::Codel);
            self.count_to((self.count + 1).min(u64::from(u32::MAX)));
            self.drop_next = self.control_law(self.drop_next);
            schedule = now - self.drop_next;
        } else {
            while next_due {
                self.count_to(self.count - 1);
                self.drop_next = self.control_law(self.drop_next);
                schedule = now - self.drop_next;
                next_due = self.count > 0 && schedule >= 0;
            }
        }
        if self.p_drop > 0.0 && unit(draw()) < self.p_drop {
            cause = cause.or(Some(DropCause::Blue));
        }
        if self.count == 0 {
            self.drop_next = now + i128::from(self.params.interval.ns());
        } else if schedule > 0 && cause.is_none() {
            self.drop_next = now;
        }
        (cause, marked)
    }

    /// There was no room for a packet.
    pub(crate) fn found_full(&mut self, now: u64) {
        self.change(i128::from(now), self.params.p_inc);
        self.dropping = true;
        self.drop_next = i128::from(now);
        self.count = self.count.max(1);
    }

    /// It was to be served and had no packet.
    pub(crate) fn found_empty(&mut self, now: u64) {
        let now = i128::from(now);
        if self.p_drop > 0.0 {
            self.change(now, -self.params.p_dec);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count_to(self.count - 1);
            self.drop_next = self.control_law(self.drop_next);
        }
    }

    /// Whether its state is that of the beginning, but for times that are over.
    pub(crate) fn is_at_rest(&self, now: u64) -> bool {
        self.p_drop == 0.0 && self.count == 0 && i128::from(now) >= self.drop_next
    }

    /// The first packet that is let go, and what is dropped before it; nothing only where none waits.
    pub(crate) fn depart(&mut self, now: u64, draw: &mut dyn FnMut() -> u64) -> (Drops, Option<Packet<u32>>) {
        let mut drops = Vec::new();
        while !self.queue.is_empty() {
            let (cause, marked) = self.should_drop(i128::from(now), draw);
            let mut packet = self.queue.remove(0);
            match cause {
                Some(cause) if !self.queue.is_empty() => drops.push((packet, cause)),
                _ => {
                    if marked {
                        packet.meta.ecn = Ecn::Ce;
                    }
                    return (drops, Some(packet));
                }
            }
        }
        (drops, None)
    }
}

impl Slow for CobaltModel {
    fn arrive(&mut self, Arrival { packet, now, .. }: Arrival, _: Random) -> Decided {
        if self.queue.len() < self.params.limit as usize {
            self.queue.push(packet);
            return Ok(Vec::new());
        }
        self.found_full(now);
        Ok(vec![(packet, DropCause::Overflow)])
    }

    fn dequeue(&mut self, now: u64, _: &Queue, random: Random) -> Departure {
        let (drops, packet) = self.depart(now, &mut || random(Stream::BlueCoin));
        if packet.is_none() {
            self.found_empty(now);
        }
        Ok((drops, packet))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::Cobalt(cobalt) = fast else { return Err("this is not COBALT".into()) };
        close("probability", cobalt.probability(), self.p_drop, 0.0)?;
        close("count", f64::from(cobalt.count()), self.count as f64, 0.0)
    }
}

pub fn reference(params: CobaltParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(CobaltModel::new(params)))
}
