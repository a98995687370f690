//! Disciplines in shared objects, which give a table of functions (`fairdrop.h`, `fairdrop_plugin`). The code that runs is
//! theirs: load what you trust.

#![allow(unsafe_code, reason = "functions of other languages, behind the table that the header describes")]
#![warn(clippy::undocumented_unsafe_blocks, unsafe_op_in_unsafe_fn)]

mod bench;
mod described;
mod hosted;
mod object;
mod table;

pub use object::check as check_object;

use crate::{Desk, DisciplineExtension, Setup};
use bench::Words;
use described::{Checked, spec, text, words};
use fairdrop::DisciplineInfo;
use fairdrop_capture::open_regular;
use fairdrop_ffi::Plugin;
use hosted::Hosted;
use libloading::{Library, Symbol};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use table::{Arrivals, Departures};

/// What a shared object exports.
const TABLE: &str = "fairdrop_plugin_table";

/// What was loaded, by path.
static LOADED: Mutex<BTreeMap<PathBuf, DisciplineExtension>> = Mutex::new(BTreeMap::new());

/// The discipline in the shared object `path`; the same for the same file.
///
/// # Errors
/// Why it cannot be had, for the person who named it.
pub fn load(path: &Path) -> Result<DisciplineExtension, String> {
    let path = path.canonicalize().map_err(|error| error.to_string())?;
    let mut content = Vec::new();
    let read = open_regular(&path, MAX_BYTES).and_then(|mut file| file.read_to_end(&mut content));
    read.map_err(|error| error.to_string())?;
    let identity = identity_of(&content);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = loaded.get(&path) {
        if known.identity == identity {
            return Ok(known.clone());
        }
        return Err("it has changed since it was loaded; valid: start the program anew".into());
    }
    object::check(&content)?;
    let discipline = discipline(&table_of(&path)?, identity);
    loaded.insert(path, discipline.clone());
    Ok(discipline)
}

/// The most bytes of a shared object.
const MAX_BYTES: u64 = 1 << 28;

/// A hash of a file's content: FNV-1a of 64 bits.
fn identity_of(content: &[u8]) -> String {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("c:{:016x}", content.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

fn table_of(path: &Path) -> Result<Checked, String> {
    // SAFETY: what its initialisers do is its own affair; whoever names a plug-in trusts it, as the page says.
    let library = unsafe { Library::new(path) }.map_err(|error| {
        let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        format!("it is no shared object for this machine ({why})")
    })?;
    let library: &'static Library = Box::leak(Box::new(library));
    // SAFETY: the header says that a function of this name has this type.
    let table: Symbol<'static, unsafe extern "C" fn() -> *const Plugin> =
        unsafe { library.get(TABLE.as_bytes()) }
            .map_err(|_| format!("it does not export {TABLE}; valid: a plug-in, as in fairdrop.h"))?;
    // SAFETY: as above; it has no arguments, and what it returns is as the header says.
    unsafe { Checked::of(table()) }
}

/// Whether `table` is one that [`load`] would take.
///
/// # Errors
/// Which field is not valid, and what would be.
///
/// # Safety
/// `table` is null, or points to a table of the version that it begins with. Its pointers are null, or point to as much as their
/// counts and the header say, which stays as it is.
pub unsafe fn check_table(table: *const Plugin) -> Result<(), String> {
    // SAFETY: by the caller.
    unsafe { Checked::of(table) }.map(drop)
}

fn discipline(checked: &Checked, identity: String) -> DisciplineExtension {
    let (functions, parameters, shown) = (checked.functions, checked.parameters(), checked.internals());
    let Plugin { version, name, doc, source, .. } = checked.table;
    let params: Vec<_> = parameters.iter().map(spec).collect();
    let info = DisciplineInfo {
        timed: functions.tick.is_some(),
        source: text(source),
        ..DisciplineInfo::named(text(name), text(doc), params.leak())
    };
    let words: Words = parameters.iter().map(|parameter| (text(parameter.name), words(parameter))).collect();
    let info: &'static DisciplineInfo = Box::leak(Box::new(info));
    let make = move |setup: &Setup, desk: &mut Desk| {
        Hosted::new(functions, version, words.clone(), &shown, setup, desk)
    };
    let discipline = match (functions.arrivals, functions.departures) {
        (Arrivals::Admit(_), Departures::Head(_)) => {
            DisciplineExtension::of_gates(info, move |setup, desk| Ok(Box::new(make(setup, desk)?)))
        }
        _ => DisciplineExtension::of_queues(info, move |setup, desk| {
            desk.make_fifo();
            Ok(Box::new(make(setup, desk)?))
        }),
    };
    discipline.with_identity(identity)
}
