//! User-defined disciplines, compiled, for the simulator: the tables that a shared object and its host exchange. There is no
//! code here; the host is `fairdrop-extension`.

use core::ffi::{c_char, c_void};

use crate::catalogue::Kind;
use crate::queue::Packet;

/// Version of these tables. The host takes tables of versions 1 and 2 as well, and refuses others. Those of version 1 end before
/// what came with version 2; those of version 2 know of less in the host's table.
pub const FAIRDROP_PLUGIN_VERSION: u32 = 3;

/// What `admit` of a plug-in returns to let a packet in.
pub const FAIRDROP_ADMIT: i32 = -1;

/// A parameter of a plug-in, which scenarios set and the host checks.
#[repr(C)]
pub struct PluginParameter {
    /// Name: letters, digits and underscores.
    pub name: *const c_char,
    /// Unit; NULL or empty when it has none.
    pub unit: *const c_char,
    /// Default, as a scenario would have it: "0.02", "5ms", "true".
    pub default_text: *const c_char,
    /// What it does, in a sentence.
    pub doc: *const c_char,
    /// What values it takes: not `Schedule`, `Numbers` or `Key`.
    pub kind: Kind,
    /// Lowest value.
    pub low: f64,
    /// Highest value.
    pub high: f64,
    /// The words of a choice, ended by NULL; otherwise NULL.
    pub words: *const *const c_char,
}

/// What a queue of a plug-in has of its host. It stays where it is as long as the queue is there. The functions take `context`,
/// and may be called during calls of the queue only, in the same thread.
///
/// There is a FIFO with uniform draws to let packets wait in; a plug-in with queues of its own reports what waits through `backlog`.
#[repr(C)]
pub struct PluginHost {
    /// The version of the plug-in's table, which the host keeps to.
    pub version: u32,
    /// Packets that may wait, as in the scenario.
    pub limit: u32,
    /// Rate of the link at first, bit/s.
    pub rate_bps: u64,
    /// For the functions.
    pub context: *mut c_void,
    /// A parameter that is a number or a switch (0 or 1), in the unit of its kind; NaN when there is none of that name.
    pub number: unsafe extern "C" fn(context: *mut c_void, name: *const c_char) -> f64,
    /// The number of the word that a choice is set to, from 0; -1 when there is none of that name.
    pub word: unsafe extern "C" fn(context: *mut c_void, name: *const c_char) -> i32,
    /// 64 random bits of a `fairdrop_stream`: those that the library's disciplines would get. 0 when there is none.
    pub random: unsafe extern "C" fn(context: *mut c_void, stream: u8) -> u64,
    /// Adds a packet at the tail. False when `limit` packets wait: drop it then.
    pub push: unsafe extern "C" fn(context: *mut c_void, packet: *const Packet) -> bool,
    /// Takes the packet at the head. False when nothing waits.
    pub pop: unsafe extern "C" fn(context: *mut c_void, packet: *mut Packet) -> bool,
    /// Shows a waiting packet, each with the same probability, by the stream of candidates; it stays. False when nothing waits.
    pub draw: unsafe extern "C" fn(context: *mut c_void, packet: *mut Packet) -> bool,
    /// Shows the packet at the head. False when nothing waits.
    pub head: unsafe extern "C" fn(context: *mut c_void, packet: *mut Packet) -> bool,
    /// Shows the packet at the tail. False when nothing waits.
    pub tail: unsafe extern "C" fn(context: *mut c_void, packet: *mut Packet) -> bool,
    /// Takes the packet with this cookie out, wherever it waits. False when it does not wait.
    pub remove: unsafe extern "C" fn(context: *mut c_void, cookie: u64) -> bool,
    /// Packets that wait.
    pub length: unsafe extern "C" fn(context: *mut c_void) -> u32,
    /// Bytes that wait.
    pub bytes: unsafe extern "C" fn(context: *mut c_void) -> u64,
    /// Drops a packet for a `fairdrop_cause`: the arriving one, or one that was taken out.
    pub drop: unsafe extern "C" fn(context: *mut c_void, packet: *const Packet, cause: u8),
    /// Marks a packet in place of a drop (RFC 3168): writes its ECN field. False when it is not ECN-capable.
    pub mark: unsafe extern "C" fn(context: *mut c_void, packet: *mut Packet, cause: u8) -> bool,
    /// Ends the run, with a sentence for its user.
    pub fail: unsafe extern "C" fn(context: *mut c_void, what: *const c_char),
    /// Drops the packet that `draw`, `head` or `tail` showed last, wherever it waits in the FIFO, for a `fairdrop_cause`. False when
    /// none was shown in this call, or it waits no more. Since version 3.
    pub drop_shown: unsafe extern "C" fn(context: *mut c_void, cause: u8) -> bool,
    /// Packets in the FIFO as a call of the queue begins: what `length` would return. Since version 3.
    pub packets: u32,
    /// Bytes in the FIFO as a call of the queue begins. Since version 3.
    pub bytes_waiting: u64,
    /// Where to write the internals, in their order, as they change; only during calls. Since version 3.
    pub values: *mut f64,
}

/// A discipline in a shared object, which gives it from a function that it exports:
///
/// ```c
/// const fairdrop_plugin *fairdrop_plugin_table(void);
/// ```
///
/// The table and what it points to stay as they are. Queues are independent, and may be used by different threads: keep what
/// changes in what `make` returns.
#[repr(C)]
pub struct Plugin {
    /// `FAIRDROP_PLUGIN_VERSION`. The first field in every version.
    pub version: u32,
    /// Name in scenarios: letters, digits and underscores.
    pub name: *const c_char,
    /// One sentence.
    pub doc: *const c_char,
    /// Where it was published; NULL or empty when it was not.
    pub source: *const c_char,
    /// Its parameters.
    pub parameters: *const PluginParameter,
    /// How many.
    pub parameter_count: usize,
    /// Names of the values that it decides by, which results show; `avg` is the average queue.
    pub internals: *const *const c_char,
    /// How many.
    pub internal_count: usize,
    /// A queue for a host that is there as long as it is. NULL when there is no memory.
    pub make: Option<unsafe extern "C" fn(host: *const PluginHost) -> *mut c_void>,
    /// The queue is used no more.
    pub release: Option<unsafe extern "C" fn(queue: *mut c_void)>,
    /// A packet arrives. NULL where there is `admit`.
    pub enqueue: Option<unsafe extern "C" fn(queue: *mut c_void, packet: *const Packet, now_ns: u64)>,
    /// The packet to send next, if any. Called when nothing waits as well: the link is idle then. NULL, where there is `admit`, for
    /// the head of the host's FIFO.
    pub dequeue: Option<unsafe extern "C" fn(queue: *mut c_void, packet: *mut Packet, now_ns: u64) -> bool>,
    /// When `tick` is to be called, ns; `UINT64_MAX` for never. NULL for disciplines without timers.
    pub deadline: Option<unsafe extern "C" fn(queue: *mut c_void) -> u64>,
    /// The deadline has come. NULL for disciplines without timers.
    pub tick: Option<unsafe extern "C" fn(queue: *mut c_void, now_ns: u64)>,
    /// Packets and bytes that wait. NULL when all wait in the host's FIFO.
    pub backlog: Option<unsafe extern "C" fn(queue: *mut c_void, packets: *mut u32, bytes: *mut u64)>,
    /// Writes as many values as there are internals. NULL when there are none, or, since version 3, when the queue writes them to
    /// the host's `values`.
    pub show: Option<unsafe extern "C" fn(queue: *mut c_void, values: *mut f64)>,
    /// Whether `dequeue` changes the internals.
    pub departures_change_internals: bool,
    /// In place of `enqueue`, where all packets wait in the host's FIFO: `FAIRDROP_ADMIT` for the host to add this one at the tail,
    /// or the `fairdrop_cause` for which it drops it. The packet may be marked; where `limit` packets wait it is dropped all the
    /// same. Since version 2.
    pub admit: Option<unsafe extern "C" fn(queue: *mut c_void, packet: *mut Packet, now_ns: u64) -> i32>,
    /// Nothing waits, and the link is idle. Called where there is no `dequeue`; NULL if that makes no difference. Since version 2.
    pub idle: Option<unsafe extern "C" fn(queue: *mut c_void, now_ns: u64)>,
}
