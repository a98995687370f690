//! A reference, whichever it is, for what compares all of them. Each file of a discipline has a function `reference`, from
//! which [`crate::reference_of`] is made.

use fairdrop::{Packet, Stream};

use crate::compare::{Drops, every_stream, filters, one_stream, several_queues};
use crate::host::{Queue, Step};

/// The next 64 bits of a stream.
pub type Random<'a> = &'a mut dyn FnMut(Stream) -> u64;

/// A reference. `step` and `fast` are what the library did, and its state after that.
pub trait Slow {
    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        step: &Step,
        fast: &Queue,
        random: Random,
    ) -> Result<Drops, String>;
    fn dequeue(
        &mut self,
        now: u64,
        fast: &Queue,
        random: Random,
    ) -> Result<(Drops, Option<Packet<u32>>), String>;
    fn waiting(&self) -> Vec<Packet<u32>>;
}

/// CoDel, PIE, BLUE.
pub struct OneStream<M>(pub M, pub Option<Stream>);

impl<M: one_stream::Model> Slow for OneStream<M> {
    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        _: &Step,
        fast: &Queue,
        random: Random,
    ) -> Result<Drops, String> {
        let stream = self.1;
        let drops = self.0.arrive(packet, now, &mut || random(stream.expect("no random numbers")));
        self.0.probability(one_stream::probability(fast)).map(|()| drops)
    }

    fn dequeue(&mut self, now: u64, fast: &Queue, _: Random) -> Result<(Drops, Option<Packet<u32>>), String> {
        let done = self.0.dequeue(now);
        self.0.probability(one_stream::probability(fast)).map(|()| done)
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.0.queue().clone()
    }
}

/// FRED, RIO, SRED, CSFQ.
pub struct EveryStream<M>(pub M);

impl<M: every_stream::Model> Slow for EveryStream<M> {
    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        _: &Step,
        fast: &Queue,
        random: Random,
    ) -> Result<Drops, String> {
        let drops = self.0.arrive(packet, now, fast, random)?;
        self.0.same_state(fast).map(|()| drops)
    }

    fn dequeue(&mut self, now: u64, fast: &Queue, _: Random) -> Result<(Drops, Option<Packet<u32>>), String> {
        let departed = self.0.dequeue(now);
        self.0.same_state(fast).map(|()| (Vec::new(), departed))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.0.queue().to_vec()
    }
}

/// AFD, SFB, RED-PD, penalty box, flow valve.
pub struct Filter<M>(pub M);

impl<M: filters::Model> Slow for Filter<M> {
    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        _: &Step,
        fast: &Queue,
        random: Random,
    ) -> Result<Drops, String> {
        self.0.arrive(packet, now, fast, random)
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Result<(Drops, Option<Packet<u32>>), String> {
        Ok((Vec::new(), self.0.dequeue(now)))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.0.queue().clone()
    }
}

/// SFQ, DRR, FQ, FQ-CoDel, `DualPI2`.
pub struct SeveralQueues<M>(pub M);

impl<M: several_queues::Model> Slow for SeveralQueues<M> {
    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        step: &Step,
        _: &Queue,
        _: Random,
    ) -> Result<Drops, String> {
        Ok(self.0.arrive(packet, now, &step.dropped))
    }

    fn dequeue(
        &mut self,
        now: u64,
        _: &Queue,
        random: Random,
    ) -> Result<(Drops, Option<Packet<u32>>), String> {
        Ok(self.0.dequeue(now, &mut || random(Stream::DualPi2Coin)))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.0.waiting()
    }
}
