//! The queue disciplines from C: what `include/fairdrop.h` declares.
//!
//! A queue lives in a block of memory that the caller gives; nothing is allocated, and no standard library is needed. The
//! header is generated from this crate. Its beginning, in `cbindgen.toml`, has the rules that callers keep to; every
//! `unsafe` here relies on them or states on what else.
#![no_std]

mod arena;
mod burst;
mod catalogue;
mod decision;
mod hash;
#[cfg(feature = "panic-handler")]
mod panic_handler;
mod params;
mod plugin;
mod problem;
mod queue;
mod version;

pub use arena::FAIRDROP_ALIGN;
pub use burst::{Burst, FAIRDROP_NO_ID, IdsBeside, Outcome, fairdrop_decide_burst};
pub use catalogue::{
    Discipline, Kind, Parameter, fairdrop_cause_count, fairdrop_cause_name, fairdrop_discipline_at,
    fairdrop_discipline_count, fairdrop_parameter_at, fairdrop_parameter_valid, fairdrop_parameter_word,
};
pub use decision::{
    Action, Decided, Decision, FAIRDROP_BURST_AVERAGE_ONCE, FAIRDROP_BURST_COUNT_DOWN,
    FAIRDROP_BURST_SNAPSHOT, FAIRDROP_GENERATOR_PHILOX, FAIRDROP_GENERATOR_XOROSHIRO, FAIRDROP_MOST_VICTIMS,
    Ring, Victim, Waiting, fairdrop_decide, fairdrop_decision_idle, fairdrop_decision_init,
    fairdrop_decision_sent, fairdrop_decision_set_generator, fairdrop_decision_set_modes,
    fairdrop_decision_size,
};
pub use hash::fairdrop_hash;
pub use params::{
    Params, fairdrop_params_init, fairdrop_params_set, fairdrop_params_set_list, fairdrop_params_set_number,
    fairdrop_params_set_switch, fairdrop_params_set_word,
};
pub use plugin::{FAIRDROP_ADMIT, FAIRDROP_PLUGIN_VERSION, Plugin, PluginHost, PluginParameter};
pub use problem::{Error, Status};
pub use queue::{
    Count, Counters, FAIRDROP_MAX_LEN, Host, Hosts, Packet, Queue, fairdrop_average, fairdrop_backlog,
    fairdrop_change, fairdrop_deadline, fairdrop_dequeue, fairdrop_dropped, fairdrop_enqueue,
    fairdrop_for_each_waiting, fairdrop_init, fairdrop_internals, fairdrop_marked, fairdrop_peek,
    fairdrop_size, fairdrop_stats, fairdrop_tick,
};
pub use version::{FAIRDROP_ABI_VERSION, fairdrop_abi_version};
