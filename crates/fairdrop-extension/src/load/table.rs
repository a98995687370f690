//! The functions of a plug-in.

use fairdrop_ffi::{Packet, Plugin, PluginHost};
use std::ffi::c_void;
use std::mem::offset_of;

/// From this version on plug-ins may write their internals themselves.
const WRITES_VALUES: u32 = 3;

/// What a plug-in does with arrivals.
#[derive(Clone, Copy)]
pub enum Arrivals {
    /// All of it.
    Enqueue(unsafe extern "C" fn(*mut c_void, *const Packet, u64)),
    /// It says whether the host is to add them to its FIFO.
    Admit(unsafe extern "C" fn(*mut c_void, *mut Packet, u64) -> i32),
}

/// What is sent.
#[derive(Clone, Copy)]
pub enum Departures {
    /// What the plug-in gives.
    Dequeue(unsafe extern "C" fn(*mut c_void, *mut Packet, u64) -> bool),
    /// The head of the host's FIFO. The plug-in may want to know when there is none.
    Head(Option<unsafe extern "C" fn(*mut c_void, u64)>),
}

/// The functions of a table that has all that it needs. They stay: its library is never closed.
#[derive(Clone, Copy)]
pub struct Functions {
    pub make: unsafe extern "C" fn(*const PluginHost) -> *mut c_void,
    pub release: unsafe extern "C" fn(*mut c_void),
    pub arrivals: Arrivals,
    pub departures: Departures,
    /// Both or none.
    pub deadline: Option<unsafe extern "C" fn(*mut c_void) -> u64>,
    pub tick: Option<unsafe extern "C" fn(*mut c_void, u64)>,
    pub backlog: Option<unsafe extern "C" fn(*mut c_void, *mut u32, *mut u64)>,
    /// There when there are internals, unless the plug-in writes them to the host's `values`.
    pub show: Option<unsafe extern "C" fn(*mut c_void, *mut f64)>,
    pub departures_change_internals: bool,
}

impl Functions {
    /// Those of `table`.
    ///
    /// # Errors
    /// One is missing, or one too many is there.
    pub fn of(table: &Plugin) -> Result<Self, String> {
        let missing = |name: &str| format!("its table has no {name}");
        if table.show.is_none() && table.internal_count > 0 && table.version < WRITES_VALUES {
            return Err(missing("show"));
        }
        if table.tick.is_some() != table.deadline.is_some() {
            return Err(missing(if table.tick.is_none() { "tick" } else { "deadline" }));
        }
        let arrivals = match (table.enqueue, table.admit) {
            (Some(enqueue), None) => Arrivals::Enqueue(enqueue),
            (None, Some(admit)) => Arrivals::Admit(admit),
            (None, None) => return Err(missing("enqueue and no admit")),
            (Some(_), Some(_)) => return Err("its table has enqueue and admit; valid: one of them".into()),
        };
        let departures = match (table.dequeue, table.idle, arrivals) {
            (Some(_), Some(_), _) => return Err("its table has dequeue and idle; valid: one of them".into()),
            (Some(dequeue), None, _) => Departures::Dequeue(dequeue),
            (None, idle, Arrivals::Admit(_)) => Departures::Head(idle),
            (None, ..) => return Err(missing("dequeue")),
        };
        if table.backlog.is_some() && matches!(arrivals, Arrivals::Admit(_)) {
            return Err("its table has admit and backlog; valid: one of them".into());
        }
        Ok(Self {
            make: table.make.ok_or_else(|| missing("make"))?,
            release: table.release.ok_or_else(|| missing("release"))?,
            arrivals,
            departures,
            deadline: table.deadline,
            tick: table.tick,
            backlog: table.backlog,
            show: table.show,
            departures_change_internals: table.departures_change_internals,
        })
    }
}

/// Bytes of a table of `version`, when there is such a version.
pub fn table_bytes(version: u32) -> Option<usize> {
    match version {
        1 => Some(offset_of!(Plugin, admit)),
        2 | 3 => Some(size_of::<Plugin>()),
        _ => None,
    }
}
