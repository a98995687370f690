//! A caller of the C interface, as a C program would be one.

use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use fairdrop::{DropCause, Stream};
use fairdrop_ffi::{
    Count, Counters, Error, Host, Hosts, Packet, Params, Queue, Status, fairdrop_init, fairdrop_params_init,
    fairdrop_params_set, fairdrop_size,
};

/// The text that a pointer of the library leads to.
pub fn text_of(text: *const c_char) -> &'static str {
    assert!(!text.is_null());
    // SAFETY: the texts of the library are constants that end with NUL.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap()
}

/// The failure that a call reported: parameter and message.
pub fn failure(error: &Error) -> (String, String) {
    let text = |chars: &[c_char]| {
        let bytes: Vec<u8> = chars.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
        assert!(bytes.len() < chars.len(), "there is a NUL");
        String::from_utf8(bytes).unwrap()
    };
    (text(&error.parameter), text(&error.message))
}

/// Runs `call` with a place for its error.
pub fn with_error<T>(call: impl FnOnce(*mut Error) -> T) -> (T, Error) {
    let mut error = Error { status: Status::Ok, parameter: [0; 32], message: [0; 476] };
    let value = call(&raw mut error);
    (value, error)
}

/// Parameters of a discipline, set from texts; the first failure otherwise.
pub fn params_of(
    discipline: &str,
    link_bps: u64,
    settings: &[(&str, &str)],
) -> Result<Params, (String, String)> {
    let name = CString::new(discipline).unwrap();
    let mut params = MaybeUninit::<Params>::uninit();
    let (status, error) = with_error(|error| {
        // SAFETY: the pointers are valid, and the name ends with NUL.
        unsafe { fairdrop_params_init(params.as_mut_ptr(), name.as_ptr(), link_bps, error) }
    });
    if status != Status::Ok {
        assert_eq!(status, error.status);
        return Err(failure(&error));
    }
    // SAFETY: the call has filled them.
    let mut params = unsafe { params.assume_init() };
    for (name, value) in settings {
        let (name, value) = (CString::new(*name).unwrap(), CString::new(*value).unwrap());
        let (status, error) = with_error(|error| {
            // SAFETY: the pointers are valid, and the texts end with NUL.
            unsafe { fairdrop_params_set(&raw mut params, name.as_ptr(), value.as_ptr(), error) }
        });
        if status != Status::Ok {
            assert_eq!(status, error.status);
            return Err(failure(&error));
        }
    }
    Ok(params)
}

/// Bytes that a queue needs; what was wrong.
pub fn size_of(params: &Params) -> Result<usize, (String, String)> {
    // SAFETY: the pointers are valid.
    let (size, error) = with_error(|error| unsafe { fairdrop_size(params, error) });
    if size > 0 { Ok(size) } else { Err(failure(&error)) }
}

/// What the callbacks saw, and where their random numbers come from.
#[derive(Default)]
pub struct Seen {
    pub dropped: Vec<(Packet, DropCause)>,
    pub drawn: Vec<u64>,
    /// Numbers by stream, for a host that has its own.
    pub random: Option<Box<dyn FnMut(Stream) -> u64>>,
}

unsafe extern "C" fn dropped(context: *mut c_void, packet: *const Packet, cause: DropCause) {
    // SAFETY: the context is a `Seen`, and the packet is valid until this returns.
    unsafe { (*context.cast::<Seen>()).dropped.push((*packet, cause)) };
}

unsafe extern "C" fn drawn(context: *mut c_void, candidate: *const Packet) {
    // SAFETY: as above.
    unsafe { (*context.cast::<Seen>()).drawn.push((*candidate).cookie) };
}

unsafe extern "C" fn random(context: *mut c_void, stream: Stream) -> u64 {
    // SAFETY: as above.
    let seen = unsafe { &mut *context.cast::<Seen>() };
    seen.random.as_mut().expect("the host has numbers of its own")(stream)
}

/// The hosts of a flow that several have in common.
pub fn ends_of(flow: u64) -> Hosts {
    Hosts { source: flow % 3, destination: flow / 3 }
}

unsafe extern "C" fn hosts(_context: *mut c_void, packet: *const Packet, hosts: *mut Hosts) {
    // SAFETY: the library gives a packet to read and hosts to write.
    unsafe {
        assert_eq!((*hosts).source, (*packet).flow, "the flow's alone, until this writes others");
        hosts.write(ends_of((*packet).flow));
    }
}

/// A queue in a block of its own, and what its callbacks saw.
pub struct Caller {
    pub queue: *mut Queue,
    seen: *mut Seen,
    block: *mut [u64],
}

impl Caller {
    pub fn new(params: &Params, seed: u64, own: Option<Box<dyn FnMut(Stream) -> u64>>) -> Self {
        let size = size_of(params).expect("parameters are valid");
        // What was in the block before must not matter.
        let block = Box::into_raw(vec![u64::MAX; size.div_ceil(8)].into_boxed_slice());
        let mut host = host();
        if own.is_some() {
            host.random = Some(random);
        }
        let records = Box::into_raw(Box::new(Seen { random: own, ..Seen::default() }));
        host.context = records.cast();
        host.hosts = Some(hosts);
        host.seed = seed;
        let (queue, error) = with_error(|error| {
            // SAFETY: the block has `size` bytes and stays; the others are valid.
            unsafe { fairdrop_init(block.cast(), size, params, &raw const host, error) }
        });
        assert!(!queue.is_null(), "{:?}", failure(&error));
        Self { queue, seen: records, block }
    }

    /// What the callbacks saw since this was last asked.
    pub fn seen(&mut self) -> (Vec<(Packet, DropCause)>, Vec<u64>) {
        // SAFETY: no call is running.
        let seen = unsafe { &mut *self.seen };
        (std::mem::take(&mut seen.dropped), std::mem::take(&mut seen.drawn))
    }

    /// What `call` writes; `None` when there is none.
    pub fn read<T: Default>(&self, call: unsafe extern "C" fn(*const Queue, *mut T) -> Status) -> Option<T> {
        let mut value = T::default();
        // SAFETY: the queue and the place for the value are valid.
        match unsafe { call(self.queue, &raw mut value) } {
            Status::Ok => Some(value),
            Status::None => None,
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        // SAFETY: both were boxes, and the queue is not used any more.
        unsafe {
            drop(Box::from_raw(self.seen));
            drop(Box::from_raw(self.block));
        }
    }
}

/// The simulator's key.
static KEY: [u64; 2] = [0, 0];

/// A host without context that records.
pub fn host() -> Host {
    let (context, flow_key) = (ptr::null_mut(), KEY.as_ptr());
    let (dropped, drawn) = (Some(dropped as _), Some(drawn as _));
    Host { context, dropped, flow_key, random: None, drawn, seed: 0, queue: 0, hosts: None, reserved: [0; 4] }
}

/// Packets and bytes in the order of a tuple.
pub fn pair(count: Count) -> (u64, u64) {
    (count.packets, count.bytes)
}

/// Every packet that arrived has left, was dropped or waits.
pub fn assert_balance(stats: &Counters, backlog: Count) {
    assert_eq!(
        (stats.arrived.packets, stats.arrived.bytes),
        (
            stats.departed.packets + stats.dropped.packets + backlog.packets,
            stats.departed.bytes + stats.dropped.bytes + backlog.bytes
        )
    );
}
