//! AFD as slowly and obviously as it can be written: plain lists, samples counted anew, one update after the other.

use fairdrop::{AfdParams, AnyDiscipline, DropCause, Packet, Stream};

use crate::compare::{close, unit};
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// Pan et al. 2003.
pub struct AfdModel {
    params: AfdParams,
    queue: Vec<Packet<u32>>,
    shadow: Vec<u64>,
    m_fair: f64,
    q_old: f64,
    next_update: u64,
    rounding: f64,
}

impl AfdModel {
    pub fn new(params: AfdParams) -> Self {
        let (m_fair, next_update) = (f64::from(params.shadow), params.t_update.ns());
        Self { params, queue: Vec::new(), shadow: Vec::new(), m_fair, q_old: 0.0, next_update, rounding: 0.0 }
    }

    fn updates(&mut self, now: u64) {
        while self.next_update <= now {
            let AfdParams { alpha, beta, q_target, shadow, .. } = self.params;
            let q = self.queue.len() as f64;
            let step = alpha * (self.q_old - q_target) - beta * (q - q_target);
            self.m_fair = (self.m_fair + step).clamp(0.0, f64::from(shadow));
            self.rounding += 1e-15 * (f64::from(shadow) + (alpha + beta) * (q + q_target));
            self.q_old = q;
            self.next_update += self.params.t_update.ns();
        }
    }
}

impl Slow for AfdModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn arrive(&mut self, Arrival { packet, now, fast: theirs, .. }: Arrival, draw: Random) -> Decided {
        self.updates(now);
        let AnyDiscipline::Afd(afd) = theirs else { return Err("this is not AFD".into()) };
        close("fair share", afd.fair_share(), self.m_fair, self.rounding)?;
        (self.m_fair, self.rounding) = (afd.fair_share(), 0.0);
        let flow = packet.meta.flow;
        let m = self.shadow.iter().filter(|&&other| other == flow).count() as f64;
        let len = f64::from(packet.meta.len);
        let mut drops = Vec::new();
        if m > self.m_fair && unit(draw(Stream::AfdCoin)) < 1.0 - self.m_fair / m {
            drops.push((packet, DropCause::Afd));
        } else if self.queue.len() >= self.params.limit as usize {
            drops.push((packet, DropCause::Overflow));
        } else {
            self.queue.push(packet);
        }
        let p = len / f64::from(self.params.mean_packet_size) / self.params.sample_every;
        if unit(draw(Stream::AfdSample)) < p {
            if self.shadow.len() < self.params.shadow as usize {
                self.shadow.push(flow);
            } else {
                let place = u128::from(draw(Stream::AfdSample)) * self.shadow.len() as u128;
                self.shadow[(place >> 64) as usize] = flow;
            }
        }
        let counted = self.shadow.iter().filter(|&&other| other == flow).count();
        if afd.count(flow) as usize != counted {
            return Err(format!("{} samples, should be {counted}", afd.count(flow)));
        }
        Ok(drops)
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        self.updates(now);
        Ok((Vec::new(), if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) }))
    }
}

pub fn reference(params: AfdParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(AfdModel::new(params)))
}
