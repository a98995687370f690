//! A slow reference in the place of the library's discipline.

use fairdrop::{AnyParams, Backlog, Discipline, Env, Packet};
use fairdrop_reference::host::{Queue, Step};
use fairdrop_reference::slow::{Arrival, Slow};

/// A reference that decides for itself. The library's queue of the same parameters is beside it only to say how flows are
/// hashed.
pub struct Slowly<M> {
    model: M,
    hashes: Option<Queue>,
    params: AnyParams,
    backlog: Backlog,
}

impl<M: Slow> Slowly<M> {
    pub fn new(model: M, params: AnyParams) -> Self {
        Self { model, hashes: None, params, backlog: Backlog::default() }
    }

    fn left(&mut self, packet: &Packet<u32>) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.meta.len);
    }
}

impl<M: Slow> Discipline<u32> for Slowly<M> {
    fn enqueue<E: Env<u32>>(&mut self, packet: Packet<u32>, env: &mut E) {
        let params = &self.params;
        let hashes = self.hashes.get_or_insert_with(|| {
            // Its first packet has it ask for the host's key.
            let mut queue = Queue::new(params.clone(), &mut fairdrop::Heap).expect("parameters are valid");
            queue.enqueue(packet.clone(), env);
            queue
        });
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.meta.len);
        let arrival = Arrival { packet, now: env.now().ns(), step: &Step::default(), fast: hashes };
        let drops = self.model.arrive(arrival, &mut |stream| env.random(stream));
        for (packet, cause) in drops.expect("it is compared with nothing") {
            self.left(&packet);
            env.dropped(packet, cause);
        }
    }

    fn dequeue<E: Env<u32>>(&mut self, env: &mut E) -> Option<Packet<u32>> {
        let now = env.now().ns();
        let hashes = self.hashes.as_ref()?;
        let departure = self.model.dequeue(now, hashes, &mut |stream| env.random(stream));
        let (_, packet) = departure.expect("it is compared with nothing");
        if let Some(packet) = &packet {
            self.left(packet);
        }
        packet
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
