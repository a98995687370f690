//! What the table of a plug-in says of itself, checked before anything relies on it.

use crate::kept;
use fairdrop::{Kind, ParamSpec};
use fairdrop_ffi::{FAIRDROP_PLUGIN_VERSION, Kind as Declared, Plugin, PluginParameter};
use std::ffi::{CStr, c_char};
use std::mem::{MaybeUninit, offset_of};
use std::slice;

use super::table::{Functions, table_bytes};

/// More parameters, internals or words of a choice than anybody has: a count that was never set.
const MOST: usize = 1000;
/// Kinds that plug-ins do not have.
const NOT_HERE: [Declared; 3] = [Declared::Schedule, Declared::Numbers, Declared::Key];

/// A table that is as `fairdrop.h` says.
pub struct Checked {
    pub table: Plugin,
    pub functions: Functions,
}

impl Checked {
    /// What `table` points to.
    ///
    /// # Errors
    /// Which field is not valid, and what would be.
    ///
    /// # Safety
    /// `table` is null, or points to a table of the version that it begins with. Its pointers are null, or point to as much as their
    /// counts and the header say, which stays as it is.
    pub unsafe fn of(table: *const Plugin) -> Result<Self, String> {
        if table.is_null() {
            return Err("fairdrop_plugin_table returned NULL; valid: a table, as in fairdrop.h".into());
        }
        // SAFETY: the version is the first field of the table in every version.
        let version = unsafe { table.cast::<u32>().read() };
        let bytes = table_bytes(version).ok_or_else(|| {
            format!(
                "it is a plug-in of version {version}; valid: 1 to {FAIRDROP_PLUGIN_VERSION}, those of this program's fairdrop.h"
            )
        })?;
        let mut known = MaybeUninit::<Plugin>::zeroed();
        // SAFETY: a table of this version is that long, and is the beginning of a table of the last version.
        unsafe { table.cast::<u8>().copy_to_nonoverlapping(known.as_mut_ptr().cast(), bytes) };
        // SAFETY: all bytes are there.
        let switch = unsafe {
            known.as_ptr().cast::<u8>().add(offset_of!(Plugin, departures_change_internals)).read()
        };
        if switch > 1 {
            return Err(format!("its departures_change_internals is {switch}; valid: true or false"));
        }
        // SAFETY: numbers, pointers that may be null, and a switch that was looked at.
        let table = unsafe { known.assume_init() };
        let functions = Functions::of(&table)?;
        named(table.name, "name")?;
        // SAFETY: by the caller.
        unsafe {
            check_parameters(&table)?;
            check_internals(&table)?;
        }
        Ok(Self { table, functions })
    }

    /// Its parameters.
    pub fn parameters(&self) -> &'static [PluginParameter] {
        // SAFETY: they were looked at, and stay.
        unsafe { array(self.table.parameters, self.table.parameter_count) }
    }

    /// Names of the values that it shows.
    pub fn internals(&self) -> Vec<&'static str> {
        // SAFETY: they were looked at, and stay.
        unsafe { array(self.table.internals, self.table.internal_count) }
            .iter()
            .map(|name| text(*name))
            .collect()
    }
}

/// `field` is a text, and not an empty one.
fn named(name: *const c_char, field: &str) -> Result<(), String> {
    // SAFETY: texts of tables end with NUL.
    let is_there = !name.is_null() && !unsafe { CStr::from_ptr(name) }.is_empty();
    if is_there {
        Ok(())
    } else {
        Err(format!("its {field} is {}; valid: a name", if name.is_null() { "NULL" } else { "empty" }))
    }
}

/// An array of `count` values, refused where there are too many.
fn check_array<T>(first: *const T, count: usize, fields: [&str; 2]) -> Result<(), String> {
    let [field, count_field] = fields;
    if count > MOST {
        return Err(format!("its {count_field} is {count}; valid: 0 to {MOST}"));
    }
    if first.is_null() && count > 0 {
        return Err(format!(
            "its {field} is NULL, where {count_field} is {count}; valid: as many, or a count of 0"
        ));
    }
    if !first.is_aligned() {
        return Err(format!(
            "its {field} is no address of such values; valid: what the compiler makes of an array"
        ));
    }
    Ok(())
}

/// # Safety
/// As that of [`Checked::of`].
unsafe fn check_parameters(table: &Plugin) -> Result<(), String> {
    check_array(table.parameters, table.parameter_count, ["parameters", "parameter_count"])?;
    for number in 0..table.parameter_count {
        // SAFETY: there are as many; what is no kind is not read as one.
        let kind = unsafe { (&raw const (*table.parameters.add(number)).kind).cast::<u32>().read() };
        if kind > Declared::Rate as u32 {
            return Err(format!("its parameters[{number}].kind is {kind}; valid: one of fairdrop_kind"));
        }
        // SAFETY: as above, and its kind is one.
        check_parameter(unsafe { &*table.parameters.add(number) }, number)?;
    }
    Ok(())
}

fn check_parameter(parameter: &PluginParameter, number: usize) -> Result<(), String> {
    let field = |name: &str| format!("parameters[{number}].{name}");
    named(parameter.name, &field("name"))?;
    let PluginParameter { kind, low, high, .. } = *parameter;
    let its = |name: &str| format!("its {} ({})", field(name), borrowed(parameter.name));
    if NOT_HERE.contains(&kind) {
        return Err(format!(
            "{} is one that plug-ins do not have; valid: not a schedule, numbers or a key",
            its("kind")
        ));
    }
    if parameter.default_text.is_null() {
        return Err(format!(
            "{} is NULL; valid: the default, as a scenario would have it",
            its("default_text")
        ));
    }
    if kind == Declared::Choice {
        return if (1..=MOST).contains(&words_of(parameter).count()) {
            Ok(())
        } else {
            Err(format!("{} has no word, or too many; valid: 1 to {MOST} words, and NULL", its("words")))
        };
    }
    for (name, value) in [("low", low), ("high", high)] {
        if kind != Declared::Switch && !value.is_finite() {
            return Err(format!("{} is {value}; valid: a finite number", its(name)));
        }
    }
    if kind != Declared::Switch && low > high {
        return Err(format!("{} is {low}, above high, {high}; valid: at most that", its("low")));
    }
    Ok(())
}

/// # Safety
/// As that of [`Checked::of`].
unsafe fn check_internals(table: &Plugin) -> Result<(), String> {
    check_array(table.internals, table.internal_count, ["internals", "internal_count"])?;
    // SAFETY: there are as many.
    let names = unsafe { array(table.internals, table.internal_count) };
    names.iter().enumerate().try_for_each(|(number, name)| named(*name, &format!("internals[{number}]")))
}

/// A text of a table, as long as nobody keeps it.
fn borrowed(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: texts of tables end with NUL.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// A text of a table; empty for NULL.
pub fn text(text: *const c_char) -> &'static str {
    kept(&borrowed(text))
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

/// The words of a choice, one more than there may be at most.
fn words_of(parameter: &PluginParameter) -> impl Iterator<Item = *const c_char> {
    let first = parameter.words;
    // SAFETY: the words end with NULL, behind which nobody looks.
    let word = move |number| unsafe { first.add(number).read() };
    let most = if first.is_null() { 0 } else { MOST + 1 };
    (0..most).map(word).take_while(|word| !word.is_null())
}

/// The words of a choice.
pub fn words(parameter: &PluginParameter) -> Vec<&'static str> {
    words_of(parameter).map(text).collect()
}

/// The specification of a checked parameter, for scenarios.
pub fn spec(parameter: &PluginParameter) -> ParamSpec {
    let PluginParameter { low, high, .. } = *parameter;
    let kind = match parameter.kind {
        Declared::Integer => Kind::Integer(low as i64, high as i64),
        Declared::NumberAbove => Kind::NumberAbove(low, high),
        Declared::Packets => Kind::Packets(low, high),
        Declared::Bytes => Kind::Bytes(low as u64, high as u64),
        Declared::Seconds => Kind::Seconds(low, high),
        Declared::Rate => Kind::Rate(low, high),
        Declared::Switch => Kind::Switch,
        Declared::Choice => Kind::Choice(words(parameter).leak()),
        Declared::Number | Declared::Schedule | Declared::Numbers | Declared::Key => Kind::Number(low, high),
    };
    ParamSpec {
        name: text(parameter.name),
        unit: text(parameter.unit),
        kind,
        default: text(parameter.default_text),
        alias: None,
        doc: text(parameter.doc),
        source: "",
    }
}
