//! The vectors against the slow references of `fairdrop`, which share nothing with the library but random numbers and,
//! where places in a ring mean nothing to a plain list, the packets that were drawn.
//!
//! Everything comes from the files: arrivals, random numbers, outcomes. The library runs beside, since some references
//! compare internal values with it.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::Path;

use fairdrop::{
    Addresses, AnyParams, AverageIn, BackChokeMemoryParams, Candidates, ChokeHardwareParams, ChokeParams,
    ChokeWParams, Discipline, DrawFrom, DropCause, MarkedEntry, Meta, Order, Packet, Sampling, Stream, Time,
    uniform_below,
};
use fairdrop_conformance::{Action, Event, Vector, apply, ecn_of, stream_name, stream_named};
use fairdrop_reference::compare::{Drops, every_stream, filters, one_stream, several_queues};
use fairdrop_reference::host::{Bits, Bottleneck, Queue, Step};
use fairdrop_reference::red::{ChokeScheme, Handed, Plan, Reference, Scheme};
use fairdrop_reference::{
    afd, blue, chokew, codel, csfq, drr, dualpi2, flow_valve, fq, fq_codel, fred, penalty_box, pie, red_pd,
    rio, sfb, sred, ward,
};

type Random<'a> = &'a mut dyn FnMut(Stream) -> u64;

/// A reference, whichever it is. `step` and `fast` are what the library did, and its state after that.
trait Slow {
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

/// `DropTail`, RED, `CHOKe`.
impl Slow for Reference {
    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        step: &Step,
        fast: &Queue,
        random: Random,
    ) -> Result<Drops, String> {
        let handed = Handed { drawn: &step.drawn, average: fast.average_packets() };
        Reference::arrive(self, packet, Time::from_ns(now), &handed, &mut || random(Stream::EarlyDrop))
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Result<(Drops, Option<Packet<u32>>), String> {
        Ok((Vec::new(), Reference::dequeue(self, Time::from_ns(now))))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }
}

impl Slow for ward::WardReference {
    fn arrive(
        &mut self,
        packet: Packet<u32>,
        _: u64,
        step: &Step,
        _: &Queue,
        random: Random,
    ) -> Result<Drops, String> {
        let mut tenths = || uniform_below(10, || random(Stream::WardCoin));
        ward::WardReference::arrive(self, packet, &step.drawn, &mut tenths)
    }

    fn dequeue(&mut self, _: u64, _: &Queue, _: Random) -> Result<(Drops, Option<Packet<u32>>), String> {
        Ok((Vec::new(), ward::WardReference::dequeue(self)))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }
}

impl Slow for chokew::ChokeWReference {
    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        step: &Step,
        fast: &Queue,
        random: Random,
    ) -> Result<Drops, String> {
        let handed = Handed { drawn: &step.drawn, average: fast.average_packets() };
        let random = std::cell::RefCell::new(random);
        let mut fraction = || random.borrow_mut()(Stream::DrawingFraction);
        let mut coin = || random.borrow_mut()(Stream::EarlyDrop);
        chokew::ChokeWReference::arrive(self, packet, Time::from_ns(now), &handed, &mut fraction, &mut coin)
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Result<(Drops, Option<Packet<u32>>), String> {
        Ok((Vec::new(), self.rest.dequeue(Time::from_ns(now))))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.rest.queue.clone()
    }
}

/// RED behind the flows of the last admissions.
struct Memory {
    params: BackChokeMemoryParams,
    red: Reference,
    flows: Vec<u64>,
}

impl Slow for Memory {
    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        step: &Step,
        fast: &Queue,
        random: Random,
    ) -> Result<Drops, String> {
        let flow = packet.meta.flow;
        let average = fast.average_packets();
        let active = average.is_some_and(|average| average >= self.params.red.min_th);
        if !active {
            self.flows.clear();
        }
        if self.flows.contains(&flow) {
            let rounding = self.red.decay_if_idle(&self.params.red, Time::from_ns(now));
            self.red.sample(&self.params.red, self.red.queue.len());
            self.red.go_on_with(average, rounding)?;
            return Ok(vec![(packet, DropCause::Memory)]);
        }
        let drops = Slow::arrive(&mut self.red, packet, now, step, fast, random)?;
        if active && drops.is_empty() {
            self.flows.push(flow);
            if self.flows.len() > usize::from(self.params.memory) {
                self.flows.remove(0);
            }
        }
        Ok(drops)
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Result<(Drops, Option<Packet<u32>>), String> {
        Ok((Vec::new(), self.red.dequeue(Time::from_ns(now))))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.red.queue.clone()
    }
}

/// CoDel, PIE, BLUE.
struct OneStream<M>(M, Option<Stream>);

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
struct EveryStream<M>(M);

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
struct Filter<M>(M);

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
struct SeveralQueues<M>(M);

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

/// The reference of a discipline; `None` where there is none for these parameters.
fn reference_of(params: &AnyParams) -> Option<Box<dyn Slow>> {
    Some(match params.clone() {
        AnyParams::DropTail(params) => Box::new(Reference::new(Scheme::DropTail { limit: params.limit })),
        AnyParams::Red(params) => Box::new(Reference::new(Scheme::Red(params))),
        AnyParams::Choke(params) => Box::new(choke(params)),
        AnyParams::BackChokeMemory(params) => {
            let red = Reference::new(Scheme::Red(params.red.clone()));
            Box::new(Memory { params, red, flows: Vec::new() })
        }
        AnyParams::ChokeHardware(params) => Box::new(hardware(params)?),
        AnyParams::ChokeW(params) => Box::new(chokew::ChokeWReference::new(paper(&params))),
        AnyParams::Ward(params) => Box::new(ward::WardReference::new(params.limit, params.full_case3)),
        AnyParams::Fred(params) => Box::new(EveryStream(fred::FredModel::new(params))),
        AnyParams::Rio(params) => Box::new(EveryStream(rio::RioModel::new(params))),
        AnyParams::Sred(params) => Box::new(EveryStream(sred::SredModel::new(params))),
        AnyParams::Csfq(params) => Box::new(EveryStream(csfq::CsfqModel::new(params))),
        AnyParams::Blue(params) => Box::new(OneStream(blue::BlueModel::new(params), Some(Stream::BlueCoin))),
        AnyParams::Pie(params) => Box::new(OneStream(pie::PieModel::new(params), Some(Stream::PieCoin))),
        AnyParams::CoDel(params) => Box::new(OneStream(codel::CoDelModel::new(params), None)),
        AnyParams::Sfb(params) => Box::new(Filter(sfb::SfbModel::new(params))),
        AnyParams::Afd(params) => Box::new(Filter(afd::AfdModel::new(params))),
        AnyParams::RedPd(params) => Box::new(Filter(red_pd::RedPdModel::new(params))),
        AnyParams::PenaltyBox(params) => Box::new(Filter(penalty_box::PenaltyModel::new(params))),
        AnyParams::FlowValve(params) => Box::new(Filter(flow_valve::ValveModel::new(params))),
        AnyParams::Sfq(params) => Box::new(SeveralQueues(drr::RoundRobin::sfq(&params))),
        AnyParams::Drr(params) => Box::new(SeveralQueues(drr::RoundRobin::drr(params.limit, params.quantum))),
        AnyParams::Fq(params) => Box::new(SeveralQueues(fq::FqModel::new(params))),
        AnyParams::FqCoDel(params) => Box::new(SeveralQueues(fq_codel::FqCoDelModel::new(params))),
        AnyParams::DualPi2(params) => Box::new(SeveralQueues(dualpi2::DualPi2Model::new(params))),
    })
}

fn choke(params: ChokeParams) -> Reference {
    let plan = match params.candidates {
        Candidates::Fixed(count) => Plan::Fixed(count),
        Candidates::Regions(schedule) => Plan::Custom(schedule.as_slice().to_vec()),
    };
    let ChokeParams { red, draw, replacement, sampling, average_in, order, count_on_match, .. } = params;
    let scheme = ChokeScheme { plan, draw, replacement, sampling, average_in, order, count_on_match };
    Reference::new(Scheme::Choke(red, scheme))
}

/// In hardware it is `CHOKe`, where a marked address is drawn again and packets are entries of one list.
fn hardware(params: ChokeHardwareParams) -> Option<Reference> {
    let plain = params.marked == MarkedEntry::Reject
        && matches!(params.addresses, Addresses::Live | Addresses::Occupied)
        && (params.banks, params.fifos, params.cell_size) == (1, 1, 0)
        && !params.physical_length;
    let scheme = ChokeScheme {
        plan: Plan::Fixed(params.candidates),
        draw: DrawFrom::Uniform,
        replacement: true,
        sampling: Sampling::Packet,
        average_in: AverageIn::Packets,
        order: Order::MatchFirst,
        count_on_match: false,
    };
    plain.then(|| Reference::new(Scheme::Choke(params.red, scheme)))
}

fn paper(params: &ChokeWParams) -> chokew::Paper {
    chokew::Paper {
        red: params.red.clone(),
        l_th: params.l_th,
        l_minus: params.l_minus,
        l_plus: params.l_plus,
        p_plus: params.p_plus,
        p_minus: params.p_minus,
        weights: params.weights.as_slice().to_vec(),
        max_draws: params.max_draws,
        with_red: params.with_red,
    }
}

/// Plays an event to the library alone.
fn play(fast: &mut Bottleneck, event: &Event) -> Step {
    fast.world.now = Time::from_ns(event.time_ns);
    match event.action {
        Action::Enqueue { flow, len, class, ecn, label, .. } => {
            fast.busy = true;
            fast.offer(Meta { flow, len, class, ecn: ecn_of(ecn).expect("an ECN field"), label })
        }
        Action::Dequeue => fast.finish(),
        Action::Tick => {
            fast.queue.tick(&mut fast.world);
            Step::default()
        }
    }
}

/// Compares a reference with a vector; returns the first difference.
fn compare(vector: &Vector, params: AnyParams, slow: &mut dyn Slow) -> Result<(), String> {
    let mut fast = Bottleneck::new(params, 0);
    let mut numbers: BTreeMap<&str, VecDeque<u64>> = BTreeMap::new();
    for (stream, digits) in vector.events.iter().flat_map(|event| &event.random) {
        let bits = digits.iter().map(|digits| u64::from_str_radix(digits, 16).expect("hexadecimal digits"));
        numbers.entry(stream).or_default().extend(bits);
    }
    for (stream, bits) in numbers {
        fast.world.bits[stream_named(stream).expect("a stream") as usize] = Bits::Script(bits);
    }
    let mut bits = fast.world.bits.clone();
    for event in &vector.events {
        let step = play(&mut fast, event);
        compare_event(event, &step, &fast, slow, &mut bits)
            .map_err(|what| format!("event {}: {what}; {event:?}", event.event))?;
    }
    Ok(())
}

fn compare_event(
    event: &Event,
    step: &Step,
    fast: &Bottleneck,
    slow: &mut dyn Slow,
    bits: &mut [Bits; Stream::COUNT],
) -> Result<(), String> {
    let mut used = BTreeMap::new();
    let mut random = |stream: Stream| {
        *used.entry(stream_name(stream)).or_insert(0) += 1;
        bits[stream as usize].next_u64()
    };
    let (drops, departed) = match (&event.action, step.arrived.clone()) {
        (Action::Enqueue { .. }, Some(packet)) => {
            (slow.arrive(packet, event.time_ns, step, &fast.queue, &mut random)?, None)
        }
        (Action::Dequeue, _) => slow.dequeue(event.time_ns, &fast.queue, &mut random)?,
        // The references have no timer: they make up for it.
        _ => return Ok(()),
    };
    let dropped: Vec<_> =
        drops.iter().map(|(packet, cause)| (packet.handle, cause.name().to_string())).collect();
    let waiting = slow.waiting();
    let bytes: u64 = waiting.iter().map(|packet| u64::from(packet.meta.len)).sum();
    let backlog = (waiting.len() as u32, bytes);
    let departed = departed.map(|packet| packet.handle);
    let outcome = &event.outcome;
    if (&dropped, departed, backlog) != (&outcome.dropped, outcome.departed, outcome.backlog) {
        return Err(format!("the reference drops {dropped:?}, sends {departed:?}, keeps {backlog:?}"));
    }
    if step.drawn != outcome.compared {
        return Err(format!("the library compared {:?}", step.drawn));
    }
    // Packets by number with all they carry, marks included.
    let by_handle = |mut packets: Vec<Packet<u32>>| {
        packets.sort_by_key(|packet| packet.handle);
        packets
    };
    if by_handle(waiting) != by_handle(fast.queued()) {
        return Err("other packets wait".into());
    }
    for (stream, numbers) in &event.random {
        let theirs = used.remove(stream.as_str()).unwrap_or(0);
        if stream != "candidate" && theirs != numbers.len() {
            return Err(format!("the reference takes {theirs} numbers of {stream}"));
        }
    }
    if used.is_empty() { Ok(()) } else { Err(format!("the reference takes other numbers: {used:?}")) }
}

/// A comparison that cannot fail is worth nothing.
#[test]
fn a_coin_that_falls_otherwise_is_noticed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/vectors");
    for (name, stream) in [("red/basic", "early_drop"), ("pie/gain", "pie_coin"), ("csfq/edge", "csfq_coin")]
    {
        let text = fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap();
        let mut vector = Vector::parse(&text).unwrap();
        // The last coin that fell, turned so that it does not.
        let fell = |event: &Event| event.random.contains_key(stream) && !event.outcome.dropped.is_empty();
        let at = vector.events.iter().rposition(fell).unwrap();
        vector.events[at].random.insert(stream.into(), vec!["f".repeat(16)]);
        let params = apply(&vector.header).unwrap();
        let mut slow = reference_of(&params).unwrap();
        let error = compare(&vector, params, slow.as_mut()).unwrap_err();
        assert!(error.starts_with(&format!("event {at}: ")), "{name}: {error}");
    }
}

/// Vectors of what no reference covers: forms of CHOKe in hardware that are no CHOKe.
const WITHOUT: &[&str] = &[
    "choke_hardware/banks",
    "choke_hardware/cells",
    "choke_hardware/fifos",
    "choke_hardware/linux",
    "choke_hardware/mark-one-cell",
    "choke_hardware/marked-blind",
    "choke_hardware/marked-miss",
    "choke_hardware/memory",
    "choke_hardware/memory-misses",
    "choke_hardware/physical-length",
];

#[test]
fn the_slow_references_decide_as_the_vectors_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/vectors");
    let (mut compared, mut without, mut wrong) = (0, Vec::new(), Vec::new());
    for discipline in fs::read_dir(folder).expect("the vectors are there") {
        for file in fs::read_dir(discipline.unwrap().path()).unwrap() {
            let vector = Vector::parse(&fs::read_to_string(file.unwrap().path()).unwrap()).unwrap();
            let name = format!("{}/{}", vector.header.discipline, vector.header.case);
            let params = apply(&vector.header).unwrap();
            match reference_of(&params) {
                None => without.push(name),
                Some(mut slow) => match compare(&vector, params, slow.as_mut()) {
                    Ok(()) => compared += 1,
                    Err(what) => wrong.push(format!("{name}: {what}")),
                },
            }
        }
    }
    without.sort();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(without, WITHOUT);
    assert!(compared >= 100, "{compared}");
}
