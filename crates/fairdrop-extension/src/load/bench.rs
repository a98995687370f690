//! What the functions of [`PluginHost`] work on.

use crate::{Desk, Setup, Values};
use fairdrop::{DropCause, Ecn, Meta, Packet, Time};
use fairdrop_config::Value;
use fairdrop_ffi::{FAIRDROP_ADMIT, Packet as CPacket, PluginHost};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

/// The words of each choice, by the name of the parameter.
pub type Words = BTreeMap<&'static str, Vec<&'static str>>;

/// The host's side of one queue.
pub struct Bench {
    /// What the queue reports to the simulator, during a call; it may be gone between calls.
    pub desk: *mut Desk,
    values: Values,
    words: Words,
}

impl Bench {
    /// An empty one, for a first call with `desk`.
    pub fn new(setup: &Setup, words: Words, desk: &mut Desk) -> Self {
        Self { desk, values: setup.values.clone(), words }
    }

    fn value(&self, name: &CStr) -> Option<&Value> {
        let name = name.to_str().ok()?;
        self.values.value(name)
    }
}

/// What `admit` of a plug-in has decided: a cause to drop the arrival for, or none.
#[inline]
pub fn verdict(number: i32, desk: &mut Desk) -> Option<DropCause> {
    (number != FAIRDROP_ADMIT).then(|| cause(number, desk))
}

/// Writes `packet` to `place`. False when there is none, or nowhere to write it.
///
/// # Safety
/// `place` is null, or may be written to.
#[inline]
unsafe fn put(place: *mut CPacket, packet: Option<&Packet<u32>>) -> bool {
    let Some(packet) = packet.filter(|_| !place.is_null()) else { return false };
    // SAFETY: by the caller.
    unsafe { place.write(to_c(packet)) };
    true
}

/// The cause with this number; if there is none, that is wrong.
#[inline]
fn cause(number: i32, desk: &mut Desk) -> DropCause {
    DropCause::ALL.get(number as usize).copied().unwrap_or_else(|| no_cause(number, desk))
}

#[cold]
fn no_cause(number: i32, desk: &mut Desk) -> DropCause {
    desk.fail(format!("there is no cause {number}; valid: those of fairdrop_cause"));
    DropCause::Overflow
}

/// As C has it; the handle is the cookie.
#[inline]
pub fn to_c(packet: &Packet<u32>) -> CPacket {
    let Packet { meta: Meta { flow, len, class, ecn, label }, enqueued, handle } = *packet;
    CPacket {
        flow,
        cookie: u64::from(handle),
        enqueued_ns: enqueued.ns(),
        len,
        label,
        traffic_class: class,
        ecn: ecn as u8,
    }
}

#[inline]
pub fn ecn_of(bits: u8) -> Ecn {
    match bits & 3 {
        0 => Ecn::NotCapable,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// As the simulator has it.
#[inline]
pub fn from_c(packet: &CPacket) -> Packet<u32> {
    let CPacket { flow, enqueued_ns, len, label, traffic_class, ecn, .. } = *packet;
    let meta = Meta { flow, len, class: traffic_class, ecn: ecn_of(ecn), label };
    Packet::new(meta, Time::from_ns(enqueued_ns), handle_of(packet))
}

/// A handle that no packet has where the cookie was none.
#[inline]
fn handle_of(packet: &CPacket) -> u32 {
    u32::try_from(packet.cookie).unwrap_or(u32::MAX)
}

/// The table for `bench`, which must stay where it is, and a plug-in of `version`.
pub fn table(bench: *mut Bench, version: u32, setup: &Setup) -> PluginHost {
    PluginHost {
        version,
        limit: setup.limit,
        rate_bps: setup.rate_bps,
        context: bench.cast(),
        number,
        word,
        random,
        push,
        pop,
        draw,
        head,
        tail,
        remove,
        length,
        bytes,
        drop: drop_packet,
        mark,
        fail,
        drop_shown,
        packets: 0,
        bytes_waiting: 0,
        values: ptr::null_mut(),
    }
}

/// # Safety
/// `context` is that of a table, and nobody else uses its bench now: the host does not between beginning and end of a call of the
/// plug-in, and functions of the table return before the plug-in goes on.
#[inline]
unsafe fn bench<'a>(context: *mut c_void) -> &'a mut Bench {
    // SAFETY: by the caller.
    unsafe { &mut *context.cast::<Bench>() }
}

/// # Safety
/// As that of [`bench`]; a call of the plug-in is running, whose desk this is.
#[inline]
unsafe fn desk<'a>(context: *mut c_void) -> &'a mut Desk {
    // SAFETY: by the caller.
    unsafe { &mut *bench(context).desk }
}

/// # Safety
/// `text` ends with NUL.
unsafe fn text<'a>(text: *const c_char) -> &'a CStr {
    if text.is_null() {
        return c"";
    }
    // SAFETY: by the caller.
    unsafe { CStr::from_ptr(text) }
}

// The rules of fairdrop.h for plug-ins are what the following functions rely on: contexts are passed on as they were given,
// pointers are null or valid, texts end with NUL.

unsafe extern "C" fn number(context: *mut c_void, name: *const c_char) -> f64 {
    // SAFETY: the rules above.
    let value = unsafe { bench(context).value(text(name)) };
    match value {
        Some(Value::Number(number)) => *number,
        Some(Value::Integer(number)) => *number as f64,
        Some(Value::Switch(on)) => f64::from(*on),
        _ => f64::NAN,
    }
}

unsafe extern "C" fn word(context: *mut c_void, name: *const c_char) -> i32 {
    // SAFETY: the rules above.
    let (bench, name) = unsafe { (bench(context), text(name)) };
    let Some(Value::Text(word)) = bench.value(name) else { return -1 };
    let words = name.to_str().ok().and_then(|name| bench.words.get(name));
    words.and_then(|words| words.iter().position(|known| known == word)).map_or(-1, |number| number as i32)
}

unsafe extern "C" fn random(context: *mut c_void, stream: u8) -> u64 {
    // SAFETY: the rules above.
    unsafe { desk(context) }.bits(stream)
}

unsafe extern "C" fn push(context: *mut c_void, packet: *const CPacket) -> bool {
    // SAFETY: the rules above.
    let (desk, packet) = unsafe { (desk(context), packet.as_ref()) };
    packet.is_some_and(|packet| desk.push(from_c(packet)))
}

unsafe extern "C" fn pop(context: *mut c_void, packet: *mut CPacket) -> bool {
    // SAFETY: the rules above.
    unsafe { put(packet, desk(context).pop().as_ref()) }
}

unsafe extern "C" fn draw(context: *mut c_void, packet: *mut CPacket) -> bool {
    // SAFETY: the rules above.
    unsafe { put(packet, desk(context).draw()) }
}

unsafe extern "C" fn head(context: *mut c_void, packet: *mut CPacket) -> bool {
    // SAFETY: the rules above.
    unsafe { put(packet, desk(context).head()) }
}

unsafe extern "C" fn tail(context: *mut c_void, packet: *mut CPacket) -> bool {
    // SAFETY: the rules above.
    unsafe { put(packet, desk(context).tail()) }
}

unsafe extern "C" fn remove(context: *mut c_void, cookie: u64) -> bool {
    // SAFETY: the rules above.
    u32::try_from(cookie).is_ok_and(|handle| unsafe { desk(context) }.remove(handle))
}

unsafe extern "C" fn length(context: *mut c_void) -> u32 {
    // SAFETY: the rules above.
    unsafe { desk(context) }.fifo().len()
}

unsafe extern "C" fn bytes(context: *mut c_void) -> u64 {
    // SAFETY: the rules above.
    unsafe { desk(context) }.fifo().bytes()
}

unsafe extern "C" fn drop_shown(context: *mut c_void, number: u8) -> bool {
    // SAFETY: the rules above.
    let desk = unsafe { desk(context) };
    let cause = cause(number.into(), desk);
    desk.drop_shown(cause)
}

unsafe extern "C" fn drop_packet(context: *mut c_void, packet: *const CPacket, number: u8) {
    // SAFETY: the rules above.
    let (desk, packet) = unsafe { (desk(context), packet.as_ref()) };
    let cause = cause(number.into(), desk);
    let Some(packet) = packet else { return };
    if !desk.refuse(handle_of(packet), cause) {
        desk.drop(&from_c(packet), cause);
    }
}

unsafe extern "C" fn mark(context: *mut c_void, packet: *mut CPacket, number: u8) -> bool {
    // SAFETY: the rules above.
    let (desk, packet) = unsafe { (desk(context), packet.as_mut()) };
    let cause = cause(number.into(), desk);
    let Some(packet) = packet.filter(|packet| packet.ecn & 3 != Ecn::NotCapable as u8) else { return false };
    packet.ecn = Ecn::Ce as u8;
    desk.marked(packet.len, cause);
    true
}

unsafe extern "C" fn fail(context: *mut c_void, what: *const c_char) {
    // SAFETY: the rules above.
    let (desk, what) = unsafe { (desk(context), text(what)) };
    desk.fail(what.to_string_lossy().into_owned());
}
