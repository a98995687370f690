//! Errors, reported in the caller's buffer: a code, the parameter, and a sentence.

use core::ffi::{CStr, c_char};
use core::fmt::{self, Write};

use fairdrop::{CATALOGUE, ChangeError, Kind, ParamError};

/// Result of a call. Below 0 nothing was done, unless the function documents otherwise.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// There is none: no packet, no average, no deadline.
    None = 1,
    /// A pointer is null, or an argument is none of the values it may have.
    BadArgument = -1,
    /// No discipline has that name.
    UnknownDiscipline = -2,
    /// The discipline has no parameter of that name, or two.
    UnknownParameter = -3,
    /// The value is of another kind, or out of range, or does not go with the others.
    BadValue = -4,
    /// The block is smaller than `fairdrop_size` requires.
    NoRoom = -5,
    /// The block is not aligned to `FAIRDROP_ALIGN`.
    Misaligned = -6,
    /// This was not made by `fairdrop_params_init` or `fairdrop_init`.
    NotReady = -7,
    /// A callback called the queue that called it.
    Reentered = -8,
    /// The discipline does not do this.
    Unsupported = -9,
}

/// What went wrong. Written by calls that fail, and by no others.
#[repr(C)]
pub struct Error {
    /// What the call returned, or would have.
    pub status: Status,
    /// The parameter concerned, empty when it is none. Ends with NUL.
    pub parameter: [c_char; 32],
    /// The problem and the valid values, in English. Ends with NUL; cut where it is longer.
    pub message: [c_char; 476],
}

/// An error, with the values that its message needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Problem<'a> {
    Null(&'static str),
    NotText(&'static str),
    Argument(&'static str, u64, &'static str),
    Discipline(&'a str),
    Parameter {
        name: &'a str,
        discipline: &'static str,
    },
    Ambiguous {
        name: &'a str,
        tables: [&'static str; 2],
    },
    Value {
        name: &'static str,
        value: Shown<'a>,
        kind: Kind,
    },
    Refused(ParamError),
    Room {
        needed: usize,
        given: usize,
    },
    Misaligned,
    NotReady(&'static str),
    Change(ChangeError),
    /// The discipline is not a decision apart from its queue.
    Undecided,
}

/// A value as its caller gave it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shown<'a> {
    Number(f64),
    Switch(bool),
    Text(&'a str),
    Numbers(&'a [f64]),
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Switch(on) => write!(f, "{on}"),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Numbers(numbers) => write!(f, "{numbers:?}"),
        }
    }
}

impl Problem<'_> {
    pub const fn status(&self) -> Status {
        match self {
            Self::Null(_)
            | Self::NotText(_)
            | Self::Argument(..)
            | Self::Change(ChangeError::OtherDiscipline { .. }) => Status::BadArgument,
            Self::Discipline(_) | Self::Undecided => Status::UnknownDiscipline,
            Self::Parameter { .. } | Self::Ambiguous { .. } => Status::UnknownParameter,
            Self::Value { .. } | Self::Refused(_) | Self::Change(ChangeError::Param(_)) => Status::BadValue,
            Self::Room { .. } => Status::NoRoom,
            Self::Misaligned => Status::Misaligned,
            Self::NotReady(_) => Status::NotReady,
            Self::Change(ChangeError::Fixed(_)) => Status::Unsupported,
        }
    }

    const fn parameter(&self) -> &str {
        match self {
            Self::Parameter { name, .. } | Self::Ambiguous { name, .. } | Self::Value { name, .. } => name,
            Self::Refused(error) | Self::Change(ChangeError::Param(error)) => error.name,
            _ => "",
        }
    }

    /// Reports it to a caller who passed a buffer.
    ///
    /// # Safety
    /// `error` is null or may be written.
    pub unsafe fn report(&self, error: *mut Error) -> Status {
        let status = self.status();
        if !error.is_null() {
            let mut report = Error { status, parameter: [0; 32], message: [0; 476] };
            let _ = Buffer::new(&mut report.parameter).write_str(self.parameter());
            let _ = write!(Buffer::new(&mut report.message), "{self}");
            // SAFETY: the caller's promise.
            unsafe { error.write(report) };
        }
        status
    }
}

impl fmt::Display for Problem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Null(what) => write!(f, "{what} is a null pointer"),
            Self::NotText(what) => write!(f, "{what} is not UTF-8"),
            Self::Argument(name, value, valid) => write!(f, "{name} = {value} is not valid: {valid}"),
            Self::Discipline(name) => {
                write!(f, "there is no discipline \"{name}\"; there are")?;
                CATALOGUE.iter().try_for_each(|info| write!(f, " {}", info.name))
            }
            Self::Parameter { name, discipline } => write!(f, "{discipline} has no parameter \"{name}\""),
            Self::Ambiguous { name, tables: [one, other] } => {
                write!(f, "there are two parameters \"{name}\": write {one}.{name} or {other}.{name}")
            }
            Self::Value { name, value, kind } => write!(f, "{name} = {value} is not valid: {kind}"),
            Self::Refused(error) => write!(f, "{error}"),
            Self::Change(error) => write!(f, "{error}"),
            Self::Room { needed, given } => write!(f, "the block has {given} bytes, {needed} are needed"),
            Self::Misaligned => write!(f, "the block is not aligned to {} bytes", crate::FAIRDROP_ALIGN),
            Self::Undecided => {
                f.write_str("this discipline keeps its own queue; decisions are those of red, choke, chokew, ward, collar")
            }
            Self::NotReady(made_by) => write!(f, "this was not made by {made_by}"),
        }
    }
}

/// Text in an array of characters that ends with NUL; what does not fit is cut, between characters.
pub struct Buffer<'a> {
    to: &'a mut [c_char],
    /// Length of the whole text, in bytes.
    pub wanted: usize,
    /// Bytes written, without the NUL.
    written: usize,
}

impl<'a> Buffer<'a> {
    pub fn new(to: &'a mut [c_char]) -> Self {
        if let Some(first) = to.first_mut() {
            *first = 0;
        }
        Self { to, wanted: 0, written: 0 }
    }
}

impl Write for Buffer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let cut = self.written < self.wanted;
        self.wanted += text.len();
        let room = self.to.len().saturating_sub(self.written + 1);
        let fits = if cut {
            0
        } else {
            (0..=room.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
        };
        let places = self.to.iter_mut().skip(self.written);
        for (place, byte) in places.zip(text.bytes().take(fits).chain([0])) {
            *place = byte as c_char;
        }
        self.written += fits;
        Ok(())
    }
}

/// Text that ends with NUL.
///
/// # Safety
/// `text` is null or ends with NUL, and does not change during the call.
pub unsafe fn text<'a>(text: *const c_char, what: &'static str) -> Result<&'a str, Problem<'a>> {
    if text.is_null() {
        return Err(Problem::Null(what));
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Problem::NotText(what))
}
