//! What a plug-in gives: the file, and the table in it.

use fairdrop_extension::{check_object, check_table};
use fairdrop_ffi::{Plugin, PluginParameter};
use std::ffi::{CString, c_char, c_void};
use std::mem::{MaybeUninit, offset_of};
use std::ptr;

/// Values of an array that are there, whatever a count says of them.
const ROOM: usize = 1001;

/// The rest of the bytes; each value takes some, and zeros when none are left.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.0.split_at(N.min(self.0.len()));
        self.0 = rest;
        std::array::from_fn(|at| taken.get(at).copied().unwrap_or(0))
    }

    fn byte(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    /// Mostly few, sometimes anything.
    fn count(&mut self) -> usize {
        let few = self.byte();
        if few < 240 { usize::from(few % 4) } else { usize::from_le_bytes(self.take()) }
    }

    /// A text with an end, or NULL.
    fn text(&mut self, texts: &mut Vec<CString>) -> *const c_char {
        let len = usize::from(self.byte());
        if len % 8 == 0 {
            return ptr::null();
        }
        let text: Vec<u8> = (0..len % 8).map(|_| self.byte().max(1)).collect();
        texts.push(CString::new(text).expect("no NUL is in it"));
        texts[texts.len() - 1].as_ptr()
    }

    /// A function that nobody calls, or NULL.
    fn function(&mut self) -> usize {
        if self.byte().is_multiple_of(2) { 0 } else { nothing as *const () as usize }
    }
}

extern "C" fn nothing(_queue: *mut c_void) {}

/// Looks at the bytes as at a file, and at a table that they make: pointers in it are NULL or good, all else is anything. What is
/// refused is refused with reasons; what is taken has names, and as much as its counts say.
pub fn plugin(data: &[u8]) {
    let _ = check_object(data).map_err(|why| assert!(!why.is_empty()));
    let (mut bytes, mut texts) = (Bytes(data), Vec::new());
    let words: Vec<_> = (0..3).map(|_| bytes.text(&mut texts)).chain([ptr::null()]).collect();
    let parameters: Vec<_> = (0..4).map(|_| parameter(&mut bytes, &mut texts, &words)).collect();
    let mut array: Vec<MaybeUninit<PluginParameter>> = Vec::with_capacity(ROOM);
    array.extend((0..ROOM).map(|at| copy(&parameters[at % parameters.len()])));
    let names: Vec<_> = (0..4).map(|_| bytes.text(&mut texts)).collect();
    let internals: Vec<_> = (0..ROOM).map(|at| names[at % names.len()]).collect();
    let table = table(&mut bytes, &mut texts, &array, &internals);
    // SAFETY: pointers are null or good, and arrays have room for every count that is valid.
    let checked = unsafe { check_table(table.as_ptr()) };
    let _ = checked.map_err(|why| assert!(!why.is_empty()));
}

fn copy(parameter: &MaybeUninit<PluginParameter>) -> MaybeUninit<PluginParameter> {
    let mut copy = MaybeUninit::uninit();
    // SAFETY: of both there is one.
    unsafe { ptr::copy_nonoverlapping(parameter.as_ptr(), copy.as_mut_ptr(), 1) };
    copy
}

/// A kind may be none: only bytes are written.
fn parameter(
    bytes: &mut Bytes<'_>,
    texts: &mut Vec<CString>,
    words: &[*const c_char],
) -> MaybeUninit<PluginParameter> {
    let mut made = MaybeUninit::<PluginParameter>::zeroed();
    let place = made.as_mut_ptr();
    let limit = |bytes: &mut Bytes<'_>| match bytes.byte() {
        0..200 => f64::from(bytes.byte()),
        _ => f64::from_le_bytes(bytes.take()),
    };
    // SAFETY: the fields are there to be written to.
    unsafe {
        (&raw mut (*place).name).write(bytes.text(texts));
        (&raw mut (*place).unit).write(bytes.text(texts));
        (&raw mut (*place).default_text).write(bytes.text(texts));
        (&raw mut (*place).doc).write(bytes.text(texts));
        (&raw mut (*place).kind).cast::<u32>().write(u32::from(bytes.byte() % 16));
        (&raw mut (*place).low).write(limit(bytes));
        (&raw mut (*place).high).write(limit(bytes));
        (&raw mut (*place).words).write(if bytes.byte().is_multiple_of(2) {
            ptr::null()
        } else {
            words.as_ptr()
        });
    }
    made
}

fn table(
    bytes: &mut Bytes<'_>,
    texts: &mut Vec<CString>,
    parameters: &[MaybeUninit<PluginParameter>],
    internals: &[*const c_char],
) -> MaybeUninit<Plugin> {
    let mut made = MaybeUninit::<Plugin>::zeroed();
    let place = made.as_mut_ptr();
    let functions = [
        offset_of!(Plugin, make),
        offset_of!(Plugin, release),
        offset_of!(Plugin, enqueue),
        offset_of!(Plugin, dequeue),
        offset_of!(Plugin, deadline),
        offset_of!(Plugin, tick),
        offset_of!(Plugin, backlog),
        offset_of!(Plugin, show),
        offset_of!(Plugin, admit),
        offset_of!(Plugin, idle),
    ];
    // SAFETY: the fields are there to be written to; functions are as large as addresses.
    unsafe {
        (&raw mut (*place).version).write(u32::from(bytes.byte() % 5));
        (&raw mut (*place).name).write(bytes.text(texts));
        (&raw mut (*place).doc).write(bytes.text(texts));
        (&raw mut (*place).source).write(bytes.text(texts));
        let parameters =
            if bytes.byte().is_multiple_of(4) { ptr::null() } else { parameters.as_ptr().cast() };
        (&raw mut (*place).parameters).write(parameters);
        (&raw mut (*place).parameter_count).write(bytes.count());
        (&raw mut (*place).internals).write(if bytes.byte().is_multiple_of(4) {
            ptr::null()
        } else {
            internals.as_ptr()
        });
        (&raw mut (*place).internal_count).write(bytes.count());
        for at in functions {
            place.cast::<u8>().add(at).cast::<usize>().write(bytes.function());
        }
        (&raw mut (*place).departures_change_internals).cast::<u8>().write(bytes.byte() % 3);
    }
    made
}
