//! Decisions over a caller's ring through the C interface: those of the library's decisions with the same random numbers, and
//! errors that name what is wrong.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr;

use crate::host::{failure, host, params_of, with_error};
use fairdrop::{
    Action as Fate, ChokeDecision, ChokeParams, ChokeWDecision, ChokeWParams, CollarDecision, CollarParams,
    Ecn, Env, Meta, Philox, RedDecision, RedParams, RingEnv, Stream, SuspectSet, Time, Waiting as View,
    WardDecision, WardParams,
};
use fairdrop_ffi::{
    Action, Decided, Decision, FAIRDROP_MOST_VICTIMS, Packet, Params, Ring, Status, Victim, Waiting,
    fairdrop_decide, fairdrop_decision_idle, fairdrop_decision_init, fairdrop_decision_sent,
    fairdrop_decision_size,
};

type Queued = VecDeque<Packet>;

unsafe extern "C" fn read(context: *mut c_void, slot: u32, waiting: *mut Waiting) -> bool {
    // SAFETY: the context is the ring of the caller, which does not change during a decision.
    let ring = unsafe { &*context.cast::<Queued>() };
    let Some(packet) = ring.get(slot as usize) else { return false };
    // SAFETY: the library gives a place to write.
    unsafe { waiting.write(Waiting { flow: packet.flow, len: packet.len }) };
    true
}

fn ring_of(queued: &mut Queued) -> Ring {
    let (slots, bytes) = (queued.len() as u32, queued.iter().map(|packet| u64::from(packet.len)).sum());
    let context = ptr::from_mut(queued).cast();
    Ring { context, packet: Some(read), slots, packets: slots, bytes, reserved: [0; 2] }
}

/// A decision in a block of its own.
struct Caller {
    decision: *mut Decision,
    _block: Vec<u64>,
}

fn make(params: &Params, seed: u64) -> Result<Caller, (Status, String)> {
    // SAFETY: the pointers are valid.
    let (size, error) = with_error(|error| unsafe { fairdrop_decision_size(params, error) });
    if size == 0 {
        return Err((error.status, failure(&error).1));
    }
    let mut block = vec![u64::MAX; size.div_ceil(8)];
    let mut host = host();
    (host.seed, host.dropped) = (seed, None);
    let memory = block.as_mut_ptr().cast();
    let (decision, error) = with_error(|error| {
        // SAFETY: the block has `size` bytes and stays; the others are valid.
        unsafe { fairdrop_decision_init(memory, size, params, &raw const host, error) }
    });
    if decision.is_null() {
        Err((error.status, failure(&error).1))
    } else {
        Ok(Caller { decision, _block: block })
    }
}

const NONE: Victim = Victim { slot: 0, cause: fairdrop::DropCause::Overflow };

impl Caller {
    fn decide(&self, packet: &Packet, ring: &Ring, now_ns: u64) -> Result<Decided, Status> {
        let mut decided = Decided {
            action: Action::Queue,
            cause: NONE.cause,
            victims: 0,
            victim: [NONE; FAIRDROP_MOST_VICTIMS],
        };
        // SAFETY: the decision, the packet, the ring and the place are valid.
        match unsafe { fairdrop_decide(self.decision, packet, ring, now_ns, &raw mut decided) } {
            Status::Ok => Ok(decided),
            status => Err(status),
        }
    }
}

/// The library's decision behind one face.
trait Rule {
    fn arrive<E: Env<std::convert::Infallible>>(
        &mut self,
        meta: &Meta,
        ring: &mut impl View<std::convert::Infallible>,
        env: &mut E,
    ) -> Fate;
    fn sent<E: Env<std::convert::Infallible>>(&mut self, packet: &Packet, waiting: u32, env: &mut E);
    fn idle(&mut self, now: Time);
}

macro_rules! rule {
    ($($decision:ty)*) => {$(
        impl Rule for $decision {
            fn arrive<E: Env<std::convert::Infallible>>(
                &mut self,
                meta: &Meta,
                ring: &mut impl View<std::convert::Infallible>,
                env: &mut E,
            ) -> Fate {
                self.arrival(meta, ring, env)
            }
            fn sent<E: Env<std::convert::Infallible>>(&mut self, packet: &Packet, _: u32, _: &mut E) {
                self.departed(packet.len);
            }
            fn idle(&mut self, now: Time) {
                <$decision>::idle(self, now);
            }
        }
    )*};
}

rule!(RedDecision ChokeDecision ChokeWDecision);

impl Rule for WardDecision {
    fn arrive<E: Env<std::convert::Infallible>>(
        &mut self,
        meta: &Meta,
        ring: &mut impl View<std::convert::Infallible>,
        env: &mut E,
    ) -> Fate {
        self.arrival(meta, ring, env)
    }
    fn sent<E: Env<std::convert::Infallible>>(&mut self, packet: &Packet, _: u32, _: &mut E) {
        self.departed(packet.len);
    }
    fn idle(&mut self, _: Time) {}
}

struct Collar(CollarDecision<Vec<u32>, Vec<SuspectSet>>, u32);

impl Rule for Collar {
    fn arrive<E: Env<std::convert::Infallible>>(
        &mut self,
        meta: &Meta,
        ring: &mut impl View<std::convert::Infallible>,
        env: &mut E,
    ) -> Fate {
        match self.0.arrival(meta, ring.packets(), env) {
            Fate::Queue | Fate::Mark(_) if ring.packets() >= self.1 => {
                Fate::Drop(fairdrop::DropCause::Overflow)
            }
            fate => fate,
        }
    }
    fn sent<E: Env<std::convert::Infallible>>(&mut self, packet: &Packet, waiting: u32, env: &mut E) {
        let wait = env.now().since(Time::from_ns(packet.enqueued_ns));
        self.0.departure(packet.flow, packet.len, wait, waiting, env);
    }
    fn idle(&mut self, _: Time) {}
}

/// Plays 4,000 arrivals of ten flows, the first of which is greedy, to both; a packet is sent for every second one, and
/// the ring runs empty now and then. Returns how many waiting packets were dropped.
fn agree(name: &str, settings: &[(&str, &str)], mut rule: impl Rule) -> usize {
    let params = params_of(name, 1_000_000, settings).unwrap();
    let caller = make(&params, 5).unwrap();
    let mut streams: [Philox; Stream::COUNT] = std::array::from_fn(|stream| Philox::new(5, 0, stream as u32));
    let (mut queued, mut dice, mut dropped) = (Queued::new(), Philox::new(9, 0, 0), 0);
    for number in 0..4000_u64 {
        let now_ns = number * 3_000_000;
        let greedy = dice.next_u64() % 2 == 0;
        let flow = if greedy { 0 } else { dice.next_u64() % 10 };
        let (len, ecn) = (40 + (dice.next_u64() % 1460) as u32, if number % 5 == 0 { 2 } else { 0 });
        let packet = Packet {
            flow,
            cookie: number,
            enqueued_ns: now_ns,
            len,
            label: 0,
            traffic_class: (flow % 2) as u8,
            ecn,
        };
        let ecn = if ecn == 2 { Ecn::Ect0 } else { Ecn::NotCapable };
        let meta = Meta { flow, len, class: packet.traffic_class, ecn, label: 0 };
        let ring = ring_of(&mut queued);
        let decided = caller.decide(&packet, &ring, now_ns).unwrap();
        let mut env = RingEnv::new(Time::from_ns(now_ns), |stream| streams[stream as usize].next_u64());
        let waiting = |slot: u32| queued.get(slot as usize).map(|packet| (packet.flow, packet.len));
        let mut view = fairdrop::Ring::new(ring.slots, ring.packets, ring.bytes, waiting);
        let (action, cause) = match rule.arrive(&meta, &mut view, &mut env) {
            Fate::Queue => (Action::Queue, None),
            Fate::Mark(cause) => (Action::Mark, Some(cause)),
            Fate::Drop(cause) => (Action::Drop, Some(cause)),
        };
        assert_eq!(decided.action, action, "{name}: {number}");
        assert!(cause.is_none_or(|cause| cause == decided.cause));
        let mut victims: Vec<_> = view.victims().iter().map(|victim| (victim.slot, victim.cause)).collect();
        let given: Vec<_> =
            decided.victim[..decided.victims].iter().map(|victim| (victim.slot, victim.cause)).collect();
        assert_eq!(given, victims);
        dropped += victims.len();
        victims.sort_by_key(|(slot, _)| u32::MAX - slot);
        for (slot, _) in &victims {
            queued.remove(*slot as usize);
        }
        if action != Action::Drop {
            queued.push_back(packet);
        }
        let leave = if number % 500 < 20 { queued.len() + 1 } else { usize::from(number % 2 == 0) };
        for _ in 0..leave {
            let mut env = RingEnv::new(Time::from_ns(now_ns), |stream| streams[stream as usize].next_u64());
            // SAFETY: the decision and the packet are valid.
            let status = unsafe {
                if let Some(packet) = queued.pop_front() {
                    rule.sent(&packet, queued.len() as u32, &mut env);
                    fairdrop_decision_sent(caller.decision, &raw const packet, queued.len() as u32, now_ns)
                } else {
                    rule.idle(Time::from_ns(now_ns));
                    fairdrop_decision_idle(caller.decision, now_ns)
                }
            };
            assert_eq!(status, Status::Ok);
        }
    }
    dropped
}

#[test]
fn decisions_are_those_of_the_library() {
    let packet_time = Time::from_ms(4);
    let red = |min_th, max_th| RedParams {
        limit: 100,
        min_th,
        max_th,
        ecn: true,
        mean_packet_time: packet_time,
        ..RedParams::default()
    };
    let sized =
        [("limit", "100"), ("min_th", "10"), ("max_th", "40"), ("ecn", "true"), ("mean_packet_size", "500")];
    assert_eq!(
        agree(
            "red",
            &sized,
            RedDecision::new(RedParams { mean_packet_size: 500, ..red(10.0, 40.0) }).unwrap()
        ),
        0
    );
    let mut choke = ChokeParams { red: red(5.0, 40.0), ..ChokeParams::default() };
    choke.red.mean_packet_size = 500;
    let settings =
        [("limit", "100"), ("min_th", "5"), ("max_th", "40"), ("ecn", "true"), ("mean_packet_size", "500")];
    assert!(agree("choke", &settings, ChokeDecision::new(choke).unwrap()) > 100);
    let mut chokew = ChokeWParams { l_th: 5.0, l_minus: 10.0, l_plus: 20.0, ..ChokeWParams::default() };
    (chokew.red.limit, chokew.p_plus, chokew.p_minus) = (60, 0.1, 0.05);
    let settings = [
        ("limit", "60"),
        ("l_th", "5"),
        ("l_minus", "10"),
        ("l_plus", "20"),
        ("p_plus", "0.1"),
        ("p_minus", "0.05"),
    ];
    assert!(agree("chokew", &settings, ChokeWDecision::new(chokew).unwrap()) > 50);
    let ward = WardParams { limit: 50, ..WardParams::default() };
    assert!(agree("ward", &[("limit", "50")], WardDecision::new(ward).unwrap()) > 100);
    let collar = CollarParams { limit: 60, ..CollarParams::default() };
    let (ids, suspects) = (vec![0; collar.ids as usize], vec![SuspectSet::default(); collar.sets as usize]);
    let collar = Collar(CollarDecision::new(collar, ids, suspects).unwrap(), 60);
    assert_eq!(agree("collar", &[("limit", "60")], collar), 0);
}

#[test]
fn what_is_wrong_is_named() {
    let params = params_of("fq_codel", 1_000_000, &[]).unwrap();
    let (status, message) = make(&params, 1).err().unwrap();
    assert_eq!(status, Status::UnknownDiscipline);
    assert_eq!(
        message,
        "this discipline keeps its own queue; decisions are those of red, choke, chokew, ward, collar"
    );
    let params = params_of("choke", 1_000_000, &[]).unwrap();
    let mut word = [0_u64; 1];
    let host = host();
    let (made, error) = with_error(|error| {
        // SAFETY: the block has 8 bytes.
        unsafe {
            fairdrop_decision_init(word.as_mut_ptr().cast(), 8, &raw const params, &raw const host, error)
        }
    });
    assert!(made.is_null() && error.status == Status::NoRoom);
    let caller = make(&params, 1).unwrap();
    let mut queued = Queued::new();
    let packet = Packet { flow: 7, cookie: 1, enqueued_ns: 0, len: 1000, label: 0, traffic_class: 0, ecn: 0 };
    let ring = ring_of(&mut queued);
    let refused = |packet: Packet, ring: Ring| caller.decide(&packet, &ring, 0).err();
    assert_eq!(refused(packet, ring), None);
    assert_eq!(refused(Packet { ecn: 4, ..packet }, ring), Some(Status::BadArgument));
    assert_eq!(refused(packet, Ring { packets: 1, ..ring }), Some(Status::BadArgument));
    assert_eq!(refused(packet, Ring { packet: None, ..ring }), Some(Status::BadArgument));
    assert_eq!(refused(packet, Ring { reserved: [0, 1], ..ring }), Some(Status::BadArgument));
    // SAFETY: null pointers are refused.
    let statuses = unsafe {
        [
            fairdrop_decide(ptr::null_mut(), &raw const packet, &raw const ring, 0, ptr::null_mut()),
            fairdrop_decision_sent(caller.decision, ptr::null(), 0, 0),
            fairdrop_decision_idle(ptr::null_mut(), 0),
        ]
    };
    assert_eq!(statuses, [Status::BadArgument; 3]);
}

/// A ring whose callback asks its decision.
unsafe extern "C" fn asks(context: *mut c_void, _slot: u32, waiting: *mut Waiting) -> bool {
    // SAFETY: the context is the decision; the library gives a place to write.
    unsafe {
        assert_eq!(fairdrop_decision_idle(context.cast(), 0), Status::Reentered);
        waiting.write(Waiting { flow: 7, len: 1000 });
    }
    true
}

#[test]
fn a_callback_that_calls_its_decision_is_refused() {
    let settings = [("min_th", "0"), ("max_th", "10"), ("limit", "100")];
    let caller = make(&params_of("choke", 1_000_000, &settings).unwrap(), 1).unwrap();
    let packet = Packet { flow: 7, cookie: 1, enqueued_ns: 0, len: 1000, label: 0, traffic_class: 0, ecn: 0 };
    let context = caller.decision.cast();
    let ring = Ring { context, packet: Some(asks), slots: 1, packets: 1, bytes: 1000, reserved: [0; 2] };
    let decided = caller.decide(&packet, &ring, 0).unwrap();
    assert_eq!((decided.action, decided.victims, decided.victim[0].slot), (Action::Drop, 1, 0));
}
