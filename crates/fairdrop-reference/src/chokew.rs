//! `CHOKeW` as slowly and obviously as it can be written: figures 1 and 2 of the paper line by line over a plain list.
//!
//! What an arrival meets that no drawn packet matched, DropTail or RED, is the common reference. Which packets were drawn
//! comes from the implementation under test, is checked against the rules, and is then used.

use fairdrop::{AnyDiscipline, ChokeWParams, Discipline, DropCause, Packet, RedParams, Stream, Time};

use crate::broken::Broken;
use crate::compare::{close, is_mistaken};
use crate::host::Queue;
use crate::red::{Handed, Reference, Scheme};
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// The scheme as the paper writes it, its weights by class and the class of all others.
#[derive(Clone, Debug)]
pub struct Paper {
    pub red: RedParams,
    pub l_th: f64,
    pub l_minus: f64,
    pub l_plus: f64,
    pub p_plus: f64,
    pub p_minus: f64,
    pub weights: Vec<f64>,
    pub max_draws: u32,
    pub uncapped: bool,
    pub with_red: bool,
}

pub struct ChokeWReference {
    paper: Paper,
    /// The plain list, with DropTail or RED for unmatched arrivals.
    pub rest: Reference,
    pub p_0: f64,
    broken: Option<Broken>,
}

impl ChokeWReference {
    pub fn new(paper: Paper) -> Self {
        let limit = paper.red.limit;
        let scheme = if paper.with_red { Scheme::Red(paper.red.clone()) } else { Scheme::DropTail { limit } };
        Self { paper, rest: Reference::new(scheme), p_0: 0.0, broken: None }
    }

    pub fn of(params: &ChokeWParams) -> Self {
        Self::new(paper(params))
    }

    /// The same with a mistake.
    #[must_use]
    pub fn broken(self, form: Broken) -> Self {
        Self { broken: Some(form), ..self }
    }

    fn weight(&self, class: u8) -> f64 {
        match self.paper.weights.get(usize::from(class)) {
            Some(weight) => *weight,
            None => self.paper.weights.iter().copied().fold(f64::INFINITY, f64::min),
        }
    }

    /// A packet arrives; `v` and `draw` yield the next 64 bits of the fraction's stream and of RED's.
    pub fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: Time,
        handed: &Handed,
        v: &mut dyn FnMut() -> u64,
        draw: &mut dyn FnMut() -> u64,
    ) -> Decided {
        let length = self.rest.queue.len();
        // Figure 2.
        if (length as f64) < self.paper.l_minus {
            self.p_0 -= self.paper.p_minus;
            if self.p_0 < 0.0 {
                self.p_0 = 0.0;
            }
        }
        if length as f64 > self.paper.l_plus {
            self.p_0 += self.paper.p_plus;
        }
        // Figure 1. The fraction is drawn only where it is used.
        let mut drawn = handed.drawn.iter();
        if length as f64 > self.paper.l_th {
            let weight = self.weight(packet.meta.class);
            let is_broken = self.broken == Some(Broken::ChokeWMultipliesByWeight);
            let p_i = if is_broken { self.p_0 * weight } else { self.p_0 / weight };
            let mut m = p_i.floor();
            let f = p_i - m;
            if ((v() >> 11) as f64 / 2_f64.powi(53)) < f {
                m += 1.0;
            }
            let cap = if self.paper.uncapped { length.max(65_536) } else { length };
            m = m.min(cap as f64);
            if self.paper.max_draws > 0 {
                m = m.min(f64::from(self.paper.max_draws));
            }
            while m > 0.0 {
                m -= 1.0;
                let handle = drawn.next().ok_or("drew too few")?;
                let at = self.rest.queue.iter().position(|waiting| waiting.handle == *handle);
                let at = at.ok_or_else(|| format!("drew {handle}, which does not wait"))?;
                if self.rest.queue[at].meta.flow == packet.meta.flow {
                    self.match_moves_the_average(length, handed)?;
                    none_left(drawn)?;
                    let queued = self.rest.queue.remove(at);
                    return Ok(vec![(queued, DropCause::MatchQueued), (packet, DropCause::MatchArriving)]);
                }
            }
        }
        none_left(drawn)?;
        self.rest.arrive(packet, now, &Handed { drawn: &[], average: handed.average }, draw)
    }

    /// Under CHOKeW-RED a matched arrival moves the average by the queue before the removal. The queue is not empty, so
    /// no idle time is involved.
    fn match_moves_the_average(&mut self, length: usize, handed: &Handed) -> Result<(), String> {
        if self.paper.with_red {
            let w = self.paper.red.w_q;
            self.rest.average = (1.0 - w) * self.rest.average + w * length as f64;
            if handed.average != Some(self.rest.average) && !is_mistaken() {
                return Err(format!("average {:?}, should be {}", handed.average, self.rest.average));
            }
        }
        Ok(())
    }
}

fn none_left<'a>(mut drawn: impl Iterator<Item = &'a u32>) -> Result<(), String> {
    if drawn.next().is_none() { Ok(()) } else { Err("drew too many".into()) }
}

pub fn reference(params: ChokeWParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(ChokeWReference::of(&params)))
}

impl Slow for ChokeWReference {
    fn arrive(&mut self, Arrival { packet, now, step, fast }: Arrival, random: Random) -> Decided {
        let handed = Handed { drawn: &step.drawn, average: fast.average_packets() };
        let random = std::cell::RefCell::new(random);
        let mut fraction = || random.borrow_mut()(Stream::DrawingFraction);
        let mut draw = || random.borrow_mut()(Stream::EarlyDrop);
        ChokeWReference::arrive(self, packet, Time::from_ns(now), &handed, &mut fraction, &mut draw)
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        Ok((Vec::new(), self.rest.dequeue(Time::from_ns(now))))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.rest.queue.clone()
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::ChokeW(queue) = fast else { return Err("this is not CHOKeW".into()) };
        close("drawing factor", queue.drawing_factor(), self.p_0, 0.0)
    }
}

fn paper(params: &ChokeWParams) -> Paper {
    Paper {
        red: params.red.clone(),
        l_th: params.l_th,
        l_minus: params.l_minus,
        l_plus: params.l_plus,
        p_plus: params.p_plus,
        p_minus: params.p_minus,
        weights: params.weights.as_slice().to_vec(),
        max_draws: params.max_draws,
        uncapped: params.uncapped,
        with_red: params.with_red,
    }
}
