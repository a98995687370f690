//! Compiled disciplines of one's own in the simulator: shared objects that give a table of functions (`fairdrop.h`,
//! `fairdrop_plugin`). The code that runs is theirs: load what you trust.

mod bench;
mod hosted;
mod table;

use bench::Words;
use fairdrop::{DisciplineInfo, Kind, ParamSpec};
use fairdrop_ffi::{FAIRDROP_PLUGIN_VERSION, Plugin, PluginParameter};
use fairdrop_sim::own::{Desk, OwnDiscipline, Setup, kept};
use hosted::Hosted;
use libloading::{Library, Symbol};
use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::{CStr, c_char};
use std::mem;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::{Mutex, PoisonError};
use table::{Arrivals, Departures, Functions, table_bytes};

/// What a shared object exports.
const TABLE: &str = "fairdrop_plugin_table";

/// What was loaded, by path.
static LOADED: Mutex<BTreeMap<PathBuf, OwnDiscipline>> = Mutex::new(BTreeMap::new());

/// The discipline in the shared object `path`; the same for the same file.
///
/// # Errors
/// Why it cannot be had, for the person who named it.
pub fn load(path: &Path) -> Result<OwnDiscipline, String> {
    let path = path.canonicalize().map_err(|error| error.to_string())?;
    let identity = identity_of(&path)?;
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = loaded.get(&path) {
        if known.identity == identity {
            return Ok(known.clone());
        }
        return Err("it has changed since it was loaded; valid: start the program anew".into());
    }
    let own = discipline(&table_of(&path)?, identity)?;
    loaded.insert(path, own.clone());
    Ok(own)
}

/// A hash of the file: FNV-1a of 64 bits.
fn identity_of(path: &Path) -> Result<String, String> {
    let content = std::fs::read(path).map_err(|error| error.to_string())?;
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    Ok(format!("c:{:016x}", content.iter().fold(0xcbf2_9ce4_8422_2325, step)))
}

fn table_of(path: &Path) -> Result<Plugin, String> {
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
    // SAFETY: as above; it has no arguments.
    let table = unsafe { table() };
    if table.is_null() {
        return Err(format!("{TABLE} returned NULL"));
    }
    // SAFETY: the version is the first field of the table in every version.
    let version = unsafe { table.cast::<u32>().read() };
    let bytes = table_bytes(version).ok_or_else(|| {
        format!(
            "it is a plug-in of version {version}; valid: 1 to {FAIRDROP_PLUGIN_VERSION}, those of this program's fairdrop.h"
        )
    })?;
    // SAFETY: numbers, and pointers that may be null, are valid where they are zero.
    let mut known: Plugin = unsafe { mem::zeroed() };
    // SAFETY: a table of this version has so many bytes, which are the first of a table of the last.
    unsafe { table.cast::<u8>().copy_to_nonoverlapping((&raw mut known).cast(), bytes) };
    Ok(known)
}

fn discipline(table: &Plugin, identity: String) -> Result<OwnDiscipline, String> {
    let functions = Functions::of(table)?;
    let Plugin { version, name, doc, source, parameters, parameter_count, internals, internal_count, .. } =
        *table;
    // SAFETY: the table has so many of each.
    let (parameters, internals) =
        unsafe { (array(parameters, parameter_count), array(internals, internal_count)) };
    let params = parameters.iter().map(spec).collect::<Result<Vec<_>, _>>()?;
    let info = DisciplineInfo {
        timed: functions.tick.is_some(),
        source: text(source),
        ..DisciplineInfo::named(text(name), text(doc), params.leak())
    };
    let shown: Vec<_> = internals.iter().map(|name| text(*name)).collect();
    let words: Words = parameters.iter().map(|parameter| (text(parameter.name), words(parameter))).collect();
    let info: &'static DisciplineInfo = Box::leak(Box::new(info));
    let make = move |setup: &Setup, desk: &mut Desk| {
        Hosted::new(functions, version, words.clone(), &shown, setup, desk)
    };
    let own = match (functions.arrivals, functions.departures) {
        (Arrivals::Admit(_), Departures::Head(_)) => {
            OwnDiscipline::of_gates(info, move |setup, desk| Ok(Box::new(make(setup, desk)?)))
        }
        _ => OwnDiscipline::of_queues(info, move |setup, desk| {
            desk.make_fifo();
            Ok(Box::new(make(setup, desk)?))
        }),
    };
    Ok(own.with_identity(identity))
}

/// A text of a table; empty for NULL.
fn text(text: *const c_char) -> &'static str {
    if text.is_null() {
        return "";
    }
    // SAFETY: texts of tables end with NUL.
    kept(&unsafe { CStr::from_ptr(text) }.to_string_lossy())
}

/// # Safety
/// `first` is null, or points to `count` values that stay as they are.
unsafe fn array<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: by the caller.
    unsafe { slice::from_raw_parts(first, count) }
}

fn words(parameter: &PluginParameter) -> Vec<&'static str> {
    let mut words = Vec::new();
    let mut next = parameter.words;
    // SAFETY: the words end with NULL.
    while !next.is_null() && !unsafe { *next }.is_null() {
        // SAFETY: as above.
        words.push(text(unsafe { *next }));
        next = next.wrapping_add(1);
    }
    words
}

fn spec(parameter: &PluginParameter) -> Result<ParamSpec, String> {
    use fairdrop_ffi::Kind as Declared;
    let (name, low, high) = (text(parameter.name), parameter.low, parameter.high);
    let kind = match parameter.kind {
        Declared::Integer => Kind::Integer(low as i64, high as i64),
        Declared::Number => Kind::Number(low, high),
        Declared::NumberAbove => Kind::NumberAbove(low, high),
        Declared::Packets => Kind::Packets(low, high),
        Declared::Bytes => Kind::Bytes(low as u64, high as u64),
        Declared::Seconds => Kind::Seconds(low, high),
        Declared::Rate => Kind::Rate(low, high),
        Declared::Switch => Kind::Switch,
        Declared::Choice => Kind::Choice(words(parameter).leak()),
        Declared::Schedule | Declared::Numbers | Declared::Key => {
            return Err(format!("its parameter {name} is of a kind that plug-ins do not have"));
        }
    };
    Ok(ParamSpec {
        name,
        unit: text(parameter.unit),
        kind,
        default: text(parameter.default_text),
        alias: None,
        doc: text(parameter.doc),
        source: "",
    })
}
