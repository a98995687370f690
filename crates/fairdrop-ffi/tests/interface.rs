//! The corners of the C interface: parameters by name, refusals and their messages, and the catalogue.

use std::ffi::{CString, c_char, c_void};
use std::ptr::{self, NonNull};

use crate::host::{
    self, Caller, assert_balance, failure, host, pair, params_of, size_of, text_of, with_error,
};
use fairdrop::{CATALOGUE, DropCause, Philox, Stream};
use fairdrop_ffi::{
    Count, Counters, Discipline, FAIRDROP_ABI_VERSION, FAIRDROP_ALIGN, FAIRDROP_MAX_LEN, Host, Kind, Packet,
    Parameter, Params, Queue, Status, fairdrop_abi_version, fairdrop_average, fairdrop_backlog,
    fairdrop_cause_count, fairdrop_cause_name, fairdrop_change, fairdrop_deadline, fairdrop_dequeue,
    fairdrop_discipline_at, fairdrop_discipline_count, fairdrop_dropped, fairdrop_enqueue,
    fairdrop_for_each_waiting, fairdrop_hash, fairdrop_init, fairdrop_internals, fairdrop_marked,
    fairdrop_parameter_at, fairdrop_parameter_valid, fairdrop_parameter_word, fairdrop_params_init,
    fairdrop_params_set, fairdrop_params_set_list, fairdrop_params_set_number, fairdrop_params_set_switch,
    fairdrop_params_set_word, fairdrop_peek, fairdrop_size, fairdrop_stats, fairdrop_tick,
};

const PACKET: Packet =
    Packet { flow: 7, cookie: 1, enqueued_ns: 0, len: 1000, label: 0, traffic_class: 0, ecn: 0 };

fn enqueue(queue: *mut Queue, packet: Packet, now_ns: u64) -> Status {
    // SAFETY: the queue and the packet are valid.
    unsafe { fairdrop_enqueue(queue, &raw const packet, now_ns) }
}

fn dequeue(queue: *mut Queue, now_ns: u64) -> Option<Packet> {
    let mut packet = PACKET;
    // SAFETY: the queue and the packet are valid.
    match unsafe { fairdrop_dequeue(queue, now_ns, &raw mut packet) } {
        Status::Ok => Some(packet),
        Status::None => None,
        other => panic!("{other:?}"),
    }
}

fn refused(discipline: &str, settings: &[(&str, &str)]) -> (String, String) {
    params_of(discipline, 1_000_000, settings).err().expect("it is refused")
}

// Parameters.

#[test]
fn refusals_name_the_parameter_and_what_is_valid() {
    for (settings, name, message) in [
        (&[("min_th", "-1")][..], "min_th", "min_th = \"-1\" is not valid: packets from 0"),
        (&[("red.min_th", "5ms")], "min_th", "min_th = \"5ms\" is not valid: packets from 0"),
        (
            &[("candidates", "1.5")],
            "candidates",
            "candidates = \"1.5\" is not valid: a whole number from 0 to 32",
        ),
        (
            &[("draw", "tea")],
            "draw",
            "draw = \"tea\" is not valid: one of \"uniform\", \"head\", \"tail\", \"spread\"",
        ),
        (&[("replacement", "1")], "replacement", "replacement = \"1\" is not valid: true or false"),
        (&[("schedule", "[2, 1]")], "schedule", "schedule = \"[2, 1]\" is not valid: one of"),
        (&[("schedule", "[1, 2.5]")], "schedule", "schedule = \"[1, 2.5]\" is not valid: one of"),
        (&[("schedule", "[-1, 2]")], "schedule", "schedule = \"[-1, 2]\" is not valid: one of"),
        (&[("limit", "0")], "limit", "limit = \"0\" is not valid: packets from 1 to 8000000"),
        (&[("limit", "nan")], "limit", "limit = \"nan\" is not valid: packets from 1 to 8000000"),
        (&[("tea", "1")], "tea", "choke has no parameter \"tea\""),
        (&[("blue.d1", "1")], "blue.d1", "choke has no parameter \"blue.d1\""),
    ] {
        let (parameter, text) = refused("choke", settings);
        assert_eq!(parameter, name, "{settings:?}");
        assert!(text.starts_with(message), "{text}");
    }
    let (parameter, message) = refused("rio", &[("ns2_compat", "true")]);
    assert_eq!(parameter, "ns2_compat");
    assert_eq!(message, "there are two parameters \"ns2_compat\": write rio.ns2_compat or red.ns2_compat");
    assert!(params_of("rio", 1, &[("rio.ns2_compat", "true"), ("red.ns2_compat", "false")]).is_ok());
    let (parameter, message) = refused("chock", &[]);
    assert!(
        parameter.is_empty()
            && message.starts_with("there is no discipline \"chock\"; there are ")
            && CATALOGUE.iter().all(|info| message.contains(info.name))
    );
    let (_, message) = params_of("red", 0, &[]).err().unwrap();
    assert_eq!(message, "link_bps = 0 is not valid: a rate above 0, in bit/s");
}

#[test]
fn what_does_not_go_together_is_refused_when_the_size_is_asked() {
    let params = params_of("red", 1, &[("min_th", "30"), ("max_th", "20")]).unwrap();
    let (parameter, message) = size_of(&params).unwrap_err();
    assert_eq!(parameter, "max_th");
    assert!(message.starts_with("max_th = 20 is not valid: "), "{message}");
}

#[test]
fn long_messages_are_cut_and_end() {
    let name = "x".repeat(1000);
    let (parameter, message) = refused("choke", &[(&name, "1")]);
    assert_eq!((parameter.len(), message.len()), (31, 475));
    let umlauts = "ä".repeat(100);
    let (parameter, _) = refused("choke", &[(&umlauts, "1")]);
    assert_eq!(parameter, "ä".repeat(15), "cut between characters");
}

/// A queue that drops for `steps` arrivals: the cookies that are left.
fn left(params: &Params, steps: u64) -> Vec<u64> {
    let caller = Caller::new(params, 5, None);
    for cookie in 0..steps {
        enqueue(caller.queue, Packet { flow: cookie % 3, cookie, ..PACKET }, cookie * 1_000_000);
    }
    std::iter::from_fn(|| dequeue(caller.queue, steps * 1_000_000)).map(|packet| packet.cookie).collect()
}

#[test]
fn the_order_of_settings_does_not_matter() {
    let thresholds = [("limit", "60"), ("min_th", "1"), ("max_th", "40"), ("w_q", "1")];
    let one = [
        &thresholds[..],
        &[("schedule", "odd"), ("regions", "5"), ("sampling", "cell"), ("cell_size", "64")],
    ]
    .concat();
    let other: Vec<_> = one.iter().copied().rev().collect();
    let [one, other, fewer] = [one, other, thresholds.to_vec()]
        .map(|settings| left(&params_of("choke", 1_000_000, &settings).unwrap(), 200));
    assert_eq!(one, other);
    assert_ne!(one, fewer, "the settings do something");
}

/// Of two names of a parameter the one that was set last counts.
#[test]
fn drops_are_another_name_of_candidates() {
    let thresholds = [("limit", "60"), ("min_th", "1"), ("max_th", "40"), ("w_q", "1")];
    let with = |settings: &[(&str, &str)]| {
        left(&params_of("choke", 1_000_000, &[&thresholds[..], settings].concat()).unwrap(), 200)
    };
    let (three, none) = (with(&[("candidates", "3")]), with(&[("candidates", "0")]));
    assert_ne!(three, none, "the number of candidates does something");
    assert_eq!(with(&[("drops", "4")]), three);
    assert_eq!(with(&[("candidates", "0"), ("choke.drops", "4")]), three);
    assert_eq!(with(&[("choke.drops", "4"), ("candidates", "0")]), none);
    let (parameter, message) = refused("choke", &[("drops", "0")]);
    assert_eq!(parameter, "drops");
    assert!(message.starts_with("drops = \"0\" is not valid: a whole number from 1 to 33"), "{message}");
}

#[test]
fn typed_setters_do_what_texts_do() {
    let texts =
        [("limit", "60"), ("min_th", "1"), ("schedule", "[1, 2, 9]"), ("draw", "tail"), ("gentle", "true")];
    let by_text = params_of("choke", 1_000_000, &texts).unwrap();
    let mut typed = params_of("choke", 1_000_000, &[]).unwrap();
    let name = |name: &str| CString::new(name).unwrap();
    let (params, none) = (&raw mut typed, ptr::null_mut());
    let schedule = [1.0, 2.0, 9.0];
    // SAFETY: the pointers are valid, and the texts end with NUL.
    unsafe {
        assert_eq!(fairdrop_params_set_number(params, name("limit").as_ptr(), 60.0, none), Status::Ok);
        assert_eq!(fairdrop_params_set_number(params, name("min_th").as_ptr(), 1.0, none), Status::Ok);
        assert_eq!(
            fairdrop_params_set_list(params, name("schedule").as_ptr(), schedule.as_ptr(), 3, none),
            Status::Ok
        );
        assert_eq!(
            fairdrop_params_set_word(params, name("draw").as_ptr(), name("tail").as_ptr(), none),
            Status::Ok
        );
        assert_eq!(fairdrop_params_set_switch(params, name("gentle").as_ptr(), true, none), Status::Ok);
        // Each of the wrong kind.
        assert_eq!(fairdrop_params_set_number(params, name("gentle").as_ptr(), 1.0, none), Status::BadValue);
        assert_eq!(fairdrop_params_set_switch(params, name("min_th").as_ptr(), true, none), Status::BadValue);
        assert_eq!(
            fairdrop_params_set_word(params, name("limit").as_ptr(), name("tail").as_ptr(), none),
            Status::BadValue
        );
        assert_eq!(
            fairdrop_params_set_list(params, name("draw").as_ptr(), schedule.as_ptr(), 3, none),
            Status::BadValue
        );
        assert_eq!(
            fairdrop_params_set_list(params, name("schedule").as_ptr(), [1.0; 17].as_ptr(), 17, none),
            Status::BadValue
        );
    }
    assert_eq!(left(&by_text, 150), left(&typed, 150), "what was refused changed nothing");
}

// Queues.

#[test]
fn blocks_must_be_large_and_aligned() {
    let params = params_of("sfq", 1_000_000, &[("limit", "30")]).unwrap();
    let size = size_of(&params).unwrap();
    let mut block = vec![0_u64; size / 8 + 1];
    let start = block.as_mut_ptr().cast::<u8>();
    let host = host();
    let make = |offset: usize, size: usize| {
        with_error(|error| {
            // SAFETY: what is refused is not written to, and the rest has the stated size.
            unsafe {
                fairdrop_init(start.add(offset).cast(), size, &raw const params, &raw const host, error)
            }
        })
    };
    let (queue, error) = make(0, size - 1);
    assert!(queue.is_null() && error.status == Status::NoRoom);
    assert_eq!(failure(&error).1, format!("the block has {} bytes, {size} are needed", size - 1));
    let (queue, error) = make(1, size);
    assert!(queue.is_null() && error.status == Status::Misaligned);
    assert_eq!(failure(&error).1, format!("the block is not aligned to {FAIRDROP_ALIGN} bytes"));
    assert!(!make(0, size).0.is_null());
}

/// Every discipline uses exactly the size that is reported, also for limits that are no round numbers.
#[test]
fn every_discipline_fits_into_the_size_that_is_reported() {
    for info in CATALOGUE {
        for limit in if cfg!(miri) { &["3"][..] } else { &["1", "3", "300", "1001"] } {
            let params = params_of(info.name, 1_000_000, &[("limit", limit)]).unwrap();
            let size = size_of(&params).unwrap();
            // `Caller` has no more, and a byte less is refused: `blocks_must_be_large_and_aligned`.
            let caller = Caller::new(&params, 1, None);
            enqueue(caller.queue, PACKET, 0);
            assert!(size > 0 && dequeue(caller.queue, 0).is_some(), "{}", info.name);
        }
    }
}

#[test]
fn enormous_queues_are_refused_not_wrapped_around() {
    let params = params_of("fq", 1_000_000, &[("limit", "8000000")]).unwrap();
    assert!(size_of(&params).unwrap() > 1_000_000_000 || usize::BITS < 64);
}

#[test]
fn null_pointers_are_refused() {
    let params = params_of("red", 1, &[]).unwrap();
    let caller = Caller::new(&params, 1, None);
    let (queue, none) = (caller.queue, ptr::null_mut::<c_void>());
    let mut packet = PACKET;
    let size = size_of(&params).unwrap();
    let mut block = vec![0_u64; size.div_ceil(8)];
    let own = host();
    // SAFETY: every pointer is null or valid.
    unsafe {
        assert_eq!(
            fairdrop_params_init(none.cast(), c"red".as_ptr(), 1, ptr::null_mut()),
            Status::BadArgument
        );
        assert_eq!(
            fairdrop_params_set(none.cast(), c"limit".as_ptr(), c"1".as_ptr(), ptr::null_mut()),
            Status::BadArgument
        );
        let mut copy = params.clone();
        assert_eq!(
            fairdrop_params_set(&raw mut copy, ptr::null(), c"1".as_ptr(), ptr::null_mut()),
            Status::BadArgument
        );
        assert_eq!(
            fairdrop_params_set(&raw mut copy, c"limit".as_ptr(), ptr::null(), ptr::null_mut()),
            Status::BadArgument
        );
        assert_eq!(fairdrop_size(ptr::null(), ptr::null_mut()), 0);
        for (memory, params, host, what) in [
            (ptr::null_mut(), &raw const params, &raw const own, "memory"),
            (block.as_mut_ptr().cast::<c_void>(), ptr::null(), &raw const own, "params"),
            (block.as_mut_ptr().cast(), &raw const params, ptr::null(), "host"),
            (block.as_mut_ptr().cast(), &raw const params, &Host { dropped: None, ..own }, "host.dropped"),
            (
                block.as_mut_ptr().cast(),
                &raw const params,
                &Host { flow_key: ptr::null(), ..own },
                "host.flow_key",
            ),
        ] {
            let (queue, error) = with_error(|error| fairdrop_init(memory, size, params, host, error));
            assert!(queue.is_null() && error.status == Status::BadArgument);
            assert_eq!(failure(&error).1, format!("{what} is a null pointer"));
        }
        let later = Host { reserved: [0, 7, 0, 0], ..own };
        let (queue_of_later, error) = with_error(|error| {
            fairdrop_init(block.as_mut_ptr().cast(), size, &raw const params, &raw const later, error)
        });
        assert!(queue_of_later.is_null() && error.status == Status::BadArgument);
        assert_eq!(failure(&error).1, "host.reserved = 7 is not valid: 0 in a library of this version");
        assert_eq!(fairdrop_enqueue(none.cast(), &raw const packet, 0), Status::BadArgument);
        assert_eq!(fairdrop_enqueue(queue, ptr::null(), 0), Status::BadArgument);
        assert_eq!(fairdrop_dequeue(none.cast(), 0, &raw mut packet), Status::BadArgument);
        assert_eq!(fairdrop_dequeue(queue, 0, ptr::null_mut()), Status::BadArgument);
        assert_eq!(fairdrop_tick(none.cast(), 0), Status::BadArgument);
        assert_eq!(fairdrop_deadline(queue, ptr::null_mut()), Status::BadArgument);
        assert_eq!(fairdrop_backlog(queue, ptr::null_mut()), Status::BadArgument);
        assert_eq!(fairdrop_stats(ptr::null(), &mut Counters::default()), Status::BadArgument);
        assert_eq!(fairdrop_average(queue, ptr::null_mut()), Status::BadArgument);
        assert_eq!(fairdrop_internals(queue, None, ptr::null_mut()), Status::BadArgument);
        assert_eq!(fairdrop_for_each_waiting(queue, None, ptr::null_mut()), Status::BadArgument);
        assert_eq!(fairdrop_dropped(queue, 18, &mut Count::default()), Status::None);
        assert_eq!(fairdrop_marked(queue, 255, &mut Count::default()), Status::None);
    }
    assert_eq!(enqueue(queue, Packet { ecn: 4, ..PACKET }, 0), Status::BadArgument);
    assert_eq!(enqueue(queue, Packet { len: FAIRDROP_MAX_LEN + 1, ..PACKET }, 0), Status::BadArgument);
    assert_eq!(pair(caller.read(fairdrop_stats).unwrap().arrived), (0, 0), "nothing was taken");
}

fn peek(queue: *mut Queue, now_ns: u64) -> Option<Packet> {
    let mut packet = PACKET;
    // SAFETY: the queue and the packet are valid.
    match unsafe { fairdrop_peek(queue, now_ns, &raw mut packet) } {
        Status::Ok => Some(packet),
        Status::None => None,
        other => panic!("{other:?}"),
    }
}

/// A packet that is seen belongs to the queue until it is taken, wherever the discipline keeps it.
#[test]
fn a_packet_is_seen_before_it_is_taken() {
    for discipline in ["droptail", "choke", "codel", "fq_codel", "drr"] {
        let caller = Caller::new(&params_of(discipline, 1_000_000, &[]).expect("valid"), 1, None);
        let queue = caller.queue;
        assert_eq!(peek(queue, 0), None, "{discipline}");
        for cookie in 0..3 {
            enqueue(queue, Packet { flow: 7 + cookie, cookie, ..PACKET }, 0);
        }
        let waiting = pair(caller.read(fairdrop_backlog).unwrap());
        for _ in 0..2 {
            assert_eq!(peek(queue, 1000).map(|packet| packet.cookie), Some(0), "{discipline}");
        }
        assert_eq!(pair(caller.read(fairdrop_backlog).unwrap()), waiting, "{discipline}");
        assert_eq!(pair(caller.read(fairdrop_stats).unwrap().departed), (0, 0), "{discipline}");
        assert_balance(&caller.read(fairdrop_stats).unwrap(), caller.read(fairdrop_backlog).unwrap());
        let mut shown = 0_u64;
        // SAFETY: the queue is valid, and the count is there for the function.
        unsafe { fairdrop_for_each_waiting(queue, Some(count_one), (&raw mut shown).cast()) };
        assert_eq!(shown, waiting.0, "{discipline}");
        assert_eq!(dequeue(queue, 1000).map(|packet| packet.cookie), Some(0), "{discipline}");
        assert_eq!(pair(caller.read(fairdrop_stats).unwrap().departed).0, 1, "{discipline}");
        assert_balance(&caller.read(fairdrop_stats).unwrap(), caller.read(fairdrop_backlog).unwrap());
    }
}

unsafe extern "C" fn count_one(count: *mut c_void, _packet: *const Packet) {
    // SAFETY: the count of the test that passed it.
    unsafe { *count.cast::<u64>() += 1 };
}

#[test]
fn parameters_change_while_packets_wait() {
    let params = params_of("choke", 1_000_000, &[("limit", "10"), ("min_th", "9")]).expect("valid");
    let caller = Caller::new(&params, 1, None);
    let queue = caller.queue;
    for cookie in 0..10 {
        enqueue(queue, Packet { flow: cookie, cookie, ..PACKET }, 0);
    }
    let change = |params: &Params| {
        // SAFETY: the queue and the parameters are valid.
        with_error(|error| unsafe { fairdrop_change(queue, &raw const *params, error) })
    };
    let smaller = params_of("choke", 1_000_000, &[("limit", "5"), ("min_th", "4")]).expect("valid");
    assert_eq!(change(&smaller).0, Status::Ok);
    assert_eq!(pair(caller.read(fairdrop_backlog).unwrap()).0, 10, "packets stay");
    enqueue(queue, PACKET, 0);
    assert_eq!(pair(caller.read(fairdrop_stats).unwrap().dropped).0, 1, "and no other joins them");
    for (discipline, settings, status, parameter, message) in [
        (
            "choke",
            &[("limit", "4000")][..],
            Status::BadValue,
            "limit",
            "limit = 4000 is not valid: what the storage",
        ),
        ("red", &[], Status::BadArgument, "", "these are parameters of red, and the queue is of choke"),
    ] {
        let params = params_of(discipline, 1_000_000, settings).expect("valid in themselves");
        let (refused, error) = change(&params);
        assert_eq!((refused, error.status), (status, status));
        let (named, text) = failure(&error);
        assert!(named == parameter && text.starts_with(message), "{named}: {text}");
    }
    let params = params_of("fred", 1_000_000, &[]).expect("valid");
    let fixed = Caller::new(&params, 1, None);
    // SAFETY: the queue and the parameters are valid.
    let (refused, error) =
        with_error(|error| unsafe { fairdrop_change(fixed.queue, &raw const params, error) });
    assert_eq!(refused, Status::Unsupported);
    assert_eq!(failure(&error).1, "fred takes its parameters when a queue is made: make another queue");
    // SAFETY: null is what is tested.
    unsafe {
        assert_eq!(fairdrop_change(queue, ptr::null(), ptr::null_mut()), Status::BadArgument);
        assert_eq!(fairdrop_change(ptr::null_mut(), &raw const params, ptr::null_mut()), Status::BadArgument);
        assert_eq!(fairdrop_peek(queue, 0, ptr::null_mut()), Status::BadArgument);
    }
}

#[test]
fn what_was_not_made_is_no_queue_and_no_parameters() {
    let mut block = vec![0_u64; 8000];
    assert_eq!(enqueue(block.as_mut_ptr().cast(), PACKET, 0), Status::NotReady);
    // SAFETY: every pattern of bits is a `Params`.
    let mut nothing: Params = unsafe { std::mem::zeroed() };
    assert_eq!(size_of(&nothing).unwrap_err().1, "this was not made by fairdrop_params_init");
    // SAFETY: the pointers are valid.
    let status =
        unsafe { fairdrop_params_set(&raw mut nothing, c"limit".as_ptr(), c"1".as_ptr(), ptr::null_mut()) };
    assert_eq!(status, Status::NotReady);
}

/// A random source that is stuck hangs no discipline and loses no packet, and those that draw again say that it is.
#[test]
fn stuck_random_sources_are_reported() {
    let mut stuck = Vec::new();
    for info in CATALOGUE {
        let red = info.name == "red" || info.also_uses == Some("red");
        let mut settings = vec![("limit", "60")];
        if red {
            settings.extend([
                ("red.min_th", "1"),
                ("red.max_th", "50"),
                ("red.max_p", "0.01"),
                ("red.w_q", "0.5"),
            ]);
        }
        match info.name {
            "choke" => settings.push(("candidates", "3")),
            "choke_hardware" => settings.push(("addresses", "memory")),
            "chokew" => {
                settings.extend([("l_th", "1"), ("l_minus", "2"), ("l_plus", "3"), ("p_plus", "0.5")]);
            }
            "sred" => settings.push(("zombies", "7")),
            "afd" => settings.extend([("shadow", "7"), ("sample_every", "1")]),
            _ => {}
        }
        let params = params_of(info.name, 8_000_000, &settings).unwrap();
        for number in [0, u64::MAX, 1, u64::MAX / 3] {
            let caller = Caller::new(&params, 0, Some(Box::new(move |_| number)));
            for cookie in 0..400 {
                let packet = Packet { flow: cookie % 5, cookie, ..PACKET };
                assert_eq!(enqueue(caller.queue, packet, cookie * 400_000), Status::Ok);
                if cookie % 3 > 0 {
                    dequeue(caller.queue, cookie * 400_000);
                }
            }
            let counters = caller.read(fairdrop_stats).unwrap();
            assert_balance(&counters, caller.read(fairdrop_backlog).unwrap());
            if counters.stuck_draws > 0 && stuck.last() != Some(&info.name) {
                stuck.push(info.name);
            }
        }
    }
    stuck.sort_unstable();
    let drawing =
        ["afd", "choke", "choke_hardware", "choke_service", "chokew", "gchoke", "mlc", "sred", "ward"];
    assert_eq!(stuck, drawing);
}

/// The longest packets that may be offered leave in a call each, whatever the quantum.
#[test]
fn the_longest_packets_are_served() {
    for name in ["drr", "sfq", "fq_codel", "fq", "choke", "afd"] {
        let quantum: &[_] =
            if ["drr", "sfq", "fq_codel"].contains(&name) { &[("quantum", "1")] } else { &[] };
        let caller = Caller::new(&params_of(name, 1_000_000_000, quantum).unwrap(), 1, None);
        for cookie in 0..8 {
            let packet = Packet { flow: cookie, cookie, len: FAIRDROP_MAX_LEN, ..PACKET };
            assert_eq!(enqueue(caller.queue, packet, 0), Status::Ok);
        }
        assert_eq!(std::iter::from_fn(|| dequeue(caller.queue, 0)).count(), 8, "{name}");
    }
}

/// Every bit of a key counts, and each way of writing it is the same key; the host's own key counts as well.
#[test]
fn keys_have_sixty_four_bits() {
    let order = |salt: &str, flow_key: [u64; 2]| {
        let params = params_of("sfq", 1_000_000, &[("queues", "16"), ("salt", salt)]).unwrap();
        let size = size_of(&params).unwrap();
        let mut block = vec![0_u64; size.div_ceil(8)];
        let mut seen = host::Seen::default();
        let host = Host { context: (&raw mut seen).cast(), flow_key: flow_key.as_ptr(), ..host() };
        // SAFETY: the block has `size` bytes and stays; the others are valid.
        let queue = unsafe {
            let (memory, none) = (block.as_mut_ptr().cast(), ptr::null_mut());
            fairdrop_init(memory, size, &raw const params, &raw const host, none)
        };
        for cookie in 0..60 {
            assert_eq!(enqueue(queue, Packet { flow: cookie % 30, cookie, ..PACKET }, 0), Status::Ok);
        }
        std::iter::from_fn(|| dequeue(queue, 0)).map(|packet| packet.cookie).collect::<Vec<_>>()
    };
    let none = [0, 0];
    assert_eq!(order("4294967296", none), order("0x100000000", none));
    assert_eq!(order("18446744073709551615", none), order("\"0xFFFFffffFFFFffff\"", none));
    let salts = ["0", "1", "0x100000000", "0x8000000000000000"].map(|salt| order(salt, none));
    let keys = [[1, 0], [1 << 63, 0], [0, 1], [0, 1 << 63]].map(|key| order("7", key));
    let all: std::collections::BTreeSet<_> = salts.iter().chain(&keys).collect();
    // Bit 63 of the first word of the host's key is bit 63 of `salt`.
    assert_eq!(all.len(), 8);
    let (parameter, message) = refused("sfq", &[("salt", "0x10000000000000000")]);
    assert_eq!(parameter, "salt");
    assert!(
        message.ends_with("a whole number below 2^64, or \"0x\" and up to 16 hexadecimal digits"),
        "{message}"
    );
}

/// What calls from inside a callback return.
struct Meddler {
    queue: *mut Queue,
    returned: Vec<Status>,
}

unsafe extern "C" fn meddle(context: *mut c_void, _packet: *const Packet, _cause: DropCause) {
    // SAFETY: the context is a `Meddler`.
    let meddler = unsafe { &mut *context.cast::<Meddler>() };
    let mut packet = PACKET;
    // SAFETY: the queue is valid, and refuses.
    unsafe {
        meddler.returned.push(fairdrop_enqueue(meddler.queue, &raw const packet, 0));
        meddler.returned.push(fairdrop_dequeue(meddler.queue, 0, &raw mut packet));
        meddler.returned.push(fairdrop_stats(meddler.queue, &mut Counters::default()));
    }
}

#[test]
fn callbacks_must_not_call_their_queue() {
    let params = params_of("droptail", 1, &[("limit", "1")]).unwrap();
    let size = size_of(&params).unwrap();
    let mut block = vec![0_u64; size.div_ceil(8)];
    let meddler = Box::into_raw(Box::new(Meddler { queue: ptr::null_mut(), returned: Vec::new() }));
    let host = Host { context: meddler.cast(), dropped: Some(meddle), drawn: None, ..host() };
    // SAFETY: the block has `size` bytes and stays; the others are valid.
    let queue = unsafe {
        fairdrop_init(block.as_mut_ptr().cast(), size, &raw const params, &raw const host, ptr::null_mut())
    };
    // SAFETY: no call is running.
    unsafe { (*meddler).queue = queue };
    assert_eq!([enqueue(queue, PACKET, 0), enqueue(queue, PACKET, 0)], [Status::Ok; 2]);
    // SAFETY: no call is running, and it was a box.
    let meddler = unsafe { Box::from_raw(meddler) };
    assert_eq!(meddler.returned, [Status::Reentered; 3]);
    assert!(dequeue(queue, 0).is_some() && dequeue(queue, 0).is_none(), "the queue works as before");
}

#[test]
fn time_does_not_run_backwards() {
    let caller = Caller::new(&params_of("codel", 1_000_000, &[]).unwrap(), 1, None);
    assert_eq!(enqueue(caller.queue, PACKET, 5_000), Status::Ok);
    assert_eq!(enqueue(caller.queue, PACKET, 4_000), Status::Ok);
    let times =
        [dequeue(caller.queue, 0), dequeue(caller.queue, 0)].map(|packet| packet.unwrap().enqueued_ns);
    assert_eq!(times, [5_000, 5_000]);
}

#[test]
fn marks_come_back_on_the_packet() {
    let settings = [("min_th", "0"), ("max_th", "1"), ("w_q", "1"), ("ecn", "true")];
    let caller = Caller::new(&params_of("red", 1_000_000, &settings).unwrap(), 1, None);
    for _ in 0..3 {
        enqueue(caller.queue, Packet { ecn: 2, ..PACKET }, 0);
    }
    let fields: Vec<_> = std::iter::from_fn(|| dequeue(caller.queue, 0)).map(|packet| packet.ecn).collect();
    assert_eq!(fields, [2, 3, 3]);
    let mut count = Count::default();
    // SAFETY: the queue and the count are valid.
    let status = unsafe { fairdrop_marked(caller.queue, DropCause::RedForced as u8, &raw mut count) };
    assert_eq!(status, Status::Ok);
    let counters = caller.read(fairdrop_stats).unwrap();
    assert_eq!((pair(count), pair(counters.marked)), ((2, 2000), (2, 2000)));
    assert_balance(&counters, caller.read(fairdrop_backlog).unwrap());
}

/// Streams differ by queue as well as by seed, as in the simulator.
#[test]
fn queues_with_one_seed_draw_different_numbers() {
    let settings = [("limit", "50"), ("min_th", "0"), ("max_th", "50"), ("max_p", "0.5"), ("w_q", "1")];
    let params = params_of("red", 1_000_000, &settings).unwrap();
    let size = size_of(&params).unwrap();
    let run = |number: u32| {
        let mut block = vec![0_u64; size.div_ceil(8)];
        let mut seen = host::Seen::default();
        let host = Host { context: (&raw mut seen).cast(), seed: 9, queue: number, ..host() };
        // SAFETY: the block has `size` bytes and stays; the others are valid.
        let queue = unsafe {
            fairdrop_init(
                block.as_mut_ptr().cast(),
                size,
                &raw const params,
                &raw const host,
                ptr::null_mut(),
            )
        };
        (0..60).for_each(|cookie| assert_eq!(enqueue(queue, Packet { cookie, ..PACKET }, 0), Status::Ok));
        std::iter::from_fn(|| dequeue(queue, 0)).map(|packet| packet.cookie).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

// The catalogue.

fn discipline(index: usize) -> Discipline {
    let mut place = std::mem::MaybeUninit::uninit();
    // SAFETY: the place is valid, and written when the status says so.
    unsafe {
        assert_eq!(fairdrop_discipline_at(index, place.as_mut_ptr()), Status::Ok);
        place.assume_init()
    }
}

fn parameter(discipline: usize, index: usize) -> Option<Parameter> {
    let mut place = std::mem::MaybeUninit::uninit();
    // SAFETY: the place is valid, and written when the status says so.
    unsafe {
        match fairdrop_parameter_at(discipline, index, place.as_mut_ptr()) {
            Status::Ok => Some(place.assume_init()),
            Status::None => None,
            other => panic!("{other:?}"),
        }
    }
}

fn valid(discipline: usize, index: usize) -> String {
    let mut buffer = [1 as c_char; 300];
    // SAFETY: the buffer has the stated size.
    let length = unsafe { fairdrop_parameter_valid(discipline, index, buffer.as_mut_ptr(), buffer.len()) };
    // SAFETY: it ends with NUL.
    let text = unsafe { std::ffi::CStr::from_ptr(buffer.as_ptr()) }.to_str().unwrap();
    assert_eq!(text.len(), length);
    text.to_owned()
}

#[test]
fn the_catalogue_is_that_of_the_library() {
    assert_eq!(fairdrop_discipline_count(), CATALOGUE.len());
    for (number, info) in CATALOGUE.iter().enumerate() {
        let found = discipline(number);
        let texts = [found.name, found.title, found.doc, found.source].map(text_of);
        assert_eq!(texts, [info.name, info.title, info.doc, info.source]);
        let also = info.also_uses.and_then(fairdrop::info);
        let specs: Vec<_> = std::iter::once(("", &fairdrop::LIMIT))
            .chain(info.params.iter().map(|spec| (info.name, spec)))
            .chain(also.into_iter().flat_map(|also| also.shared().map(|spec| (also.name, spec))))
            .collect();
        assert_eq!(found.parameters, specs.len(), "{}", info.name);
        assert!(parameter(number, specs.len()).is_none());
        for (index, (table, spec)) in specs.into_iter().enumerate() {
            let found = parameter(number, index).unwrap();
            let texts = [found.table, found.name, found.unit, found.default_text, found.doc, found.source]
                .map(text_of);
            assert_eq!(texts, [table, spec.name, spec.unit, spec.default, spec.doc, spec.source]);
            assert_eq!(valid(number, index), spec.kind.to_string());
            let words = (0..found.words).map(|word| text_of(fairdrop_parameter_word(number, index, word)));
            match spec.kind {
                fairdrop::Kind::Choice(expected) | fairdrop::Kind::Schedule(expected, ..) => {
                    assert!(words.eq(expected.iter().copied()));
                }
                _ => assert_eq!(words.count(), 0),
            }
            assert!(fairdrop_parameter_word(number, index, found.words).is_null());
        }
    }
    let red = CATALOGUE.iter().position(|info| info.name == "red").unwrap();
    let min_th = parameter(red, 1).unwrap();
    assert_eq!(
        (text_of(min_th.name), min_th.kind, min_th.low, min_th.high),
        ("min_th", Kind::Packets, 0.0, f64::INFINITY)
    );
    let place = NonNull::dangling().as_ptr();
    // SAFETY: nothing is written beyond the last discipline.
    assert_eq!(unsafe { fairdrop_discipline_at(CATALOGUE.len(), place) }, Status::None);
}

#[test]
fn causes_have_their_names() {
    assert_eq!(fairdrop_cause_count(), DropCause::COUNT);
    for cause in DropCause::ALL {
        assert_eq!(text_of(fairdrop_cause_name(cause as u8)), cause.name());
    }
    assert!(fairdrop_cause_name(DropCause::COUNT as u8).is_null());
}

/// Every parameter of every discipline can be set to its default by text, and that is what it is without.
#[test]
fn defaults_of_the_catalogue_are_those_of_the_code() {
    for (number, info) in CATALOGUE.iter().enumerate() {
        let settings: Vec<_> = (0..discipline(number).parameters)
            .map(|index| parameter(number, index).unwrap())
            // Other names have none.
            .filter(|found| !text_of(found.default_text).is_empty())
            .map(|found| {
                let table = text_of(found.table);
                let dot = if table.is_empty() { "" } else { "." };
                (format!("{table}{dot}{}", text_of(found.name)), text_of(found.default_text))
            })
            .collect();
        let settings: Vec<_> = settings.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        let set = params_of(info.name, 1_000_000, &settings).unwrap();
        let unset = params_of(info.name, 1_000_000, &[]).unwrap();
        let steps = if cfg!(miri) { 10 } else { 2_000 };
        assert_eq!(size_of(&set), size_of(&unset), "{}", info.name);
        assert_eq!(left(&set, steps), left(&unset, steps), "{}", info.name);
    }
}

#[test]
fn the_rest() {
    assert_eq!(fairdrop_abi_version(), FAIRDROP_ABI_VERSION);
    let bytes = *b"192.0.2.1";
    // SAFETY: the bytes are there.
    let hash = unsafe { fairdrop_hash(1, 2, bytes.as_ptr(), bytes.len()) };
    assert_eq!(hash, fairdrop::siphash([1, 2], &bytes));
    // SAFETY: no bytes are none.
    assert_eq!(unsafe { fairdrop_hash(1, 2, ptr::null(), 0) }, fairdrop::siphash([1, 2], &[]));
    let mut philox = Philox::new(1, 0, Stream::Candidate as u32);
    let own = Box::new(move |_| philox.next_u64());
    let mut caller = Caller::new(&params_of("choke", 1, &[("min_th", "0")]).unwrap(), 0, Some(own));
    (0..2).for_each(|cookie| assert_eq!(enqueue(caller.queue, Packet { cookie, ..PACKET }, 0), Status::Ok));
    let (dropped, drawn) = caller.seen();
    let causes: Vec<_> = dropped.iter().map(|(packet, cause)| (packet.cookie, *cause)).collect();
    assert_eq!(causes, [(0, DropCause::MatchQueued), (1, DropCause::MatchArriving)]);
    assert_eq!(drawn, [0]);
}
