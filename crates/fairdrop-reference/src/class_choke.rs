//! `CHOKe` per class as slowly and obviously as it can be written: a list of queues, each done by [`crate::red`], and a
//! round robin that walks from class to class and round to round.

use fairdrop::Stream::EarlyDrop;
use fairdrop::{AnyDiscipline, ClassChokeParams, Discipline, DrawFrom, Packet, RedParams, Time};

use crate::host::Queue;
use crate::red::{ChokeScheme, Handed, Reference, Scheme};
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

pub fn reference(params: ClassChokeParams) -> Option<Box<dyn Slow>> {
    let classes = params.weights.as_slice().len() as u32;
    let class = |(number, weight): (u32, &f64)| {
        let more = u32::from(number < params.red.limit % classes);
        let red = RedParams { limit: params.red.limit / classes + more, ..params.red.clone() };
        let choke =
            Reference::new(Scheme::Choke(red, ChokeScheme::plain(params.candidates, DrawFrom::Uniform)));
        Class { choke, quantum: (f64::from(params.quantum) * weight).round() as u64, deficit: 0 }
    };
    let classes = (0..).zip(params.weights.as_slice()).map(class).collect();
    Some(Box::new(ClassChokeModel { classes, turn: 0, granted: false }))
}

struct Class {
    choke: Reference,
    quantum: u64,
    deficit: u64,
}

struct ClassChokeModel {
    classes: Vec<Class>,
    turn: usize,
    granted: bool,
}

impl ClassChokeModel {
    fn end_turn(&mut self) {
        self.turn = (self.turn + 1) % self.classes.len();
        self.granted = false;
    }

    fn forget_deficit_of_empty(&mut self, class: usize) {
        if self.classes[class].choke.queue.is_empty() {
            self.classes[class].deficit = 0;
            if self.turn == class {
                self.end_turn();
            }
        }
    }
}

impl Slow for ClassChokeModel {
    fn arrive(&mut self, Arrival { packet, now, step, fast }: Arrival, random: Random) -> Decided {
        let class = usize::from(packet.meta.class).min(self.classes.len() - 1);
        let AnyDiscipline::ClassChoke(theirs) = fast else { return Err("another discipline".into()) };
        let average = theirs.class(packet.meta.class).and_then(Discipline::average_packets);
        let handed = Handed { drawn: &step.drawn, average };
        let waited = !self.classes[class].choke.queue.is_empty();
        let choke = &mut self.classes[class].choke;
        let drops = choke.arrive(packet, Time::from_ns(now), &handed, &mut || random(EarlyDrop))?;
        if waited {
            self.forget_deficit_of_empty(class);
        }
        Ok(drops)
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        for class in &mut self.classes {
            if class.choke.queue.is_empty() {
                class.choke.dequeue(Time::from_ns(now));
            }
        }
        while self.classes.iter().any(|class| !class.choke.queue.is_empty()) {
            let turn = self.turn;
            let class = &mut self.classes[turn];
            if let Some(head) = class.choke.queue.first() {
                let len = u64::from(head.meta.len);
                if !self.granted {
                    class.deficit += class.quantum;
                    self.granted = true;
                }
                if len <= class.deficit {
                    class.deficit -= len;
                    let packet = class.choke.dequeue(Time::from_ns(now));
                    self.forget_deficit_of_empty(turn);
                    return Ok((Vec::new(), packet));
                }
            }
            self.end_turn();
        }
        Ok((Vec::new(), None))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.classes.iter().flat_map(|class| class.choke.queue.clone()).collect()
    }
}
