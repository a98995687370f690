//! Every discipline and parameter, for callers that list them or read them from files of their own.
//!
//! The texts of `fairdrop::CATALOGUE` have no NUL at their ends, which C asks for: they are copied when this is compiled,
//! one after the other, each with its NUL.

use core::ffi::c_char;
use core::fmt::Write;
use core::{ptr, slice};

use fairdrop::{CATALOGUE, DisciplineInfo, DropCause, LIMIT, ParamSpec};

use crate::problem::{Buffer, Status};

/// What values a parameter takes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number from `low` to `high`.
    Integer,
    /// A number from `low` to `high`.
    Number,
    /// A number above `low`, up to `high`.
    NumberAbove,
    /// A number of packets from `low` to `high`.
    Packets,
    /// A number of bytes from `low` to `high`.
    Bytes,
    /// A number of seconds from `low` to `high`.
    Seconds,
    /// A switch.
    Switch,
    /// One of the words.
    Choice,
    /// One of the words, or a list of whole numbers from `low` to `high` that never falls.
    Schedule,
    /// A list of one to `longest` numbers from `low` to `high`.
    Numbers,
    /// A key of 64 bits. As text it may be in hexadecimal digits after `0x`; as a number it is exact up to 2^53.
    Key,
    /// A rate from `low` to `high`, bit/s.
    Rate,
}

/// A discipline. The texts are constants.
#[repr(C)]
pub struct Discipline {
    /// Name, as `fairdrop_params_init` takes it.
    pub name: *const c_char,
    /// Name in prose.
    pub title: *const c_char,
    /// One sentence.
    pub doc: *const c_char,
    /// Where it was published.
    pub source: *const c_char,
    /// Number of parameters, those of another discipline that it uses as well included.
    pub parameters: usize,
    /// Zeros: members of later versions take their places.
    pub reserved: [usize; 2],
}

/// A parameter of a discipline. The texts are constants.
#[repr(C)]
pub struct Parameter {
    /// The discipline that it is described with: this one, another whose parameters it uses as well (`red`), or the empty
    /// text for `limit`, which all have.
    pub table: *const c_char,
    /// Name.
    pub name: *const c_char,
    /// Unit, empty when it has none.
    pub unit: *const c_char,
    /// Default, as `fairdrop_params_set` takes it; empty for another name of a parameter.
    pub default_text: *const c_char,
    /// What it does.
    pub doc: *const c_char,
    /// Where it comes from.
    pub source: *const c_char,
    /// What values it takes.
    pub kind: Kind,
    /// Lowest value; 0 where there is none.
    pub low: f64,
    /// Highest value; 0 where there is none.
    pub high: f64,
    /// Number of words it may be set to.
    pub words: usize,
    /// Most entries of a list; 0 where it takes none.
    pub longest: usize,
    /// Zeros: members of later versions take their places.
    pub reserved: [usize; 2],
}

/// Texts of a discipline before those of its parameters: name, title, doc, source.
const OF_DISCIPLINE: usize = 4;
/// Texts of a parameter before its words: name, unit, default, doc, source.
const OF_PARAMETER: usize = 5;

/// Texts, each with a NUL behind it.
struct Texts<const BYTES: usize, const COUNT: usize> {
    bytes: [u8; BYTES],
    /// Where each begins. Of 32 bits, which saves the C library some kilobytes.
    starts: [u32; COUNT],
    len: usize,
    count: usize,
}

impl<const BYTES: usize, const COUNT: usize> Texts<BYTES, COUNT> {
    /// One more text; where there is no room it is counted only.
    const fn put(mut self, text: &str) -> Self {
        if self.count < COUNT {
            self.starts[self.count] = self.len as u32;
            let mut at = 0;
            while at < text.len() {
                self.bytes[self.len + at] = text.as_bytes()[at];
                at += 1;
            }
        }
        self.len += text.len() + 1;
        self.count += 1;
        self
    }

    const fn put_parameter(self, spec: &ParamSpec) -> Self {
        let mut texts = self.put(spec.name).put(spec.unit).put(spec.default).put(spec.doc).put(spec.source);
        let words = words(spec);
        let mut at = 0;
        while at < words.len() {
            texts = texts.put(words[at]);
            at += 1;
        }
        texts
    }

    /// The causes, `limit`, the empty text, and the catalogue.
    const fn all() -> Self {
        let mut texts = Self { bytes: [0; BYTES], starts: [0; COUNT], len: 0, count: 0 };
        let mut cause = 0;
        while cause < DropCause::COUNT {
            texts = texts.put(DropCause::ALL[cause].name());
            cause += 1;
        }
        texts = texts.put("").put_parameter(&LIMIT);
        let mut at = 0;
        while at < CATALOGUE.len() {
            let info = &CATALOGUE[at];
            texts = texts.put(info.name).put(info.title).put(info.doc).put(info.source);
            let mut own = 0;
            while own < info.params.len() {
                texts = texts.put_parameter(&info.params[own]);
                own += 1;
            }
            at += 1;
        }
        texts
    }
}

const MEASURED: Texts<0, 0> = Texts::all();
static TEXTS: Texts<{ MEASURED.len }, { MEASURED.count }> = Texts::all();
/// Number of the empty text.
const EMPTY: usize = DropCause::COUNT;

/// Text number `number`.
fn c_text(number: usize) -> *const c_char {
    let text = TEXTS.starts.get(number).and_then(|&start| TEXTS.bytes.get(start as usize..));
    text.map_or(ptr::null(), |text| text.as_ptr().cast())
}

const fn words(spec: &ParamSpec) -> &'static [&'static str] {
    match spec.kind {
        fairdrop::Kind::Choice(words) | fairdrop::Kind::Schedule(words, ..) => words,
        _ => &[],
    }
}

fn texts_of(params: &[ParamSpec]) -> usize {
    params.iter().map(|spec| OF_PARAMETER + words(spec).len()).sum()
}

/// Number of the first text of discipline `index`.
fn first_text(index: usize) -> usize {
    let before = CATALOGUE.iter().take(index).map(|info| OF_DISCIPLINE + texts_of(info.params));
    EMPTY + 1 + texts_of(&[LIMIT]) + before.sum::<usize>()
}

/// The place of a discipline in the catalogue.
pub(crate) fn place_of(name: &str) -> Option<usize> {
    CATALOGUE.iter().position(|info| info.name == name)
}

/// A parameter with the place in the catalogue of what describes it (`None` for `limit`), and its place there.
#[derive(Clone, Copy)]
pub(crate) struct Described {
    pub table: Option<usize>,
    at: usize,
    pub spec: &'static ParamSpec,
}

impl Described {
    /// The name of the discipline that it is described with.
    pub fn table_name(&self) -> &'static str {
        self.table.and_then(|table| CATALOGUE.get(table)).map_or("", |info| info.name)
    }

    /// Whether it is another name of `other`, or `other` of it.
    pub fn is_named(&self, other: Self) -> bool {
        let names =
            |one: &Self, other: &Self| one.spec.alias.is_some_and(|alias| alias.of == other.spec.name);
        self.table == other.table && (names(self, &other) || names(&other, self))
    }

    fn first_text(&self) -> usize {
        let Some(table) = self.table else { return EMPTY + 1 };
        let before = CATALOGUE.get(table).and_then(|info| info.params.get(..self.at)).map_or(0, texts_of);
        first_text(table) + OF_DISCIPLINE + before
    }

    fn for_c(&self) -> Parameter {
        let first = self.first_text();
        let (kind, low, high) = shape(self.spec.kind);
        Parameter {
            table: c_text(self.table.map_or(EMPTY, first_text)),
            name: c_text(first),
            unit: c_text(first + 1),
            default_text: c_text(first + 2),
            doc: c_text(first + 3),
            source: c_text(first + 4),
            kind,
            low,
            high,
            words: words(self.spec).len(),
            longest: longest(self.spec.kind),
            reserved: [0; 2],
        }
    }
}

fn shape(kind: fairdrop::Kind) -> (Kind, f64, f64) {
    use fairdrop::Kind as K;
    match kind {
        K::Integer(low, high) => (Kind::Integer, low as f64, high as f64),
        K::Number(low, high) => (Kind::Number, low, high),
        K::NumberAbove(low, high) => (Kind::NumberAbove, low, high),
        K::Packets(low, high) => (Kind::Packets, low, high),
        K::Bytes(low, high) => (Kind::Bytes, low as f64, high as f64),
        K::Seconds(low, high) => (Kind::Seconds, low, high),
        K::Rate(low, high) => (Kind::Rate, low, high),
        K::Key => (Kind::Key, 0.0, 0.0),
        K::Switch => (Kind::Switch, 0.0, 0.0),
        K::Choice(_) => (Kind::Choice, 0.0, 0.0),
        K::Schedule(_, low, high) => (Kind::Schedule, low as f64, high as f64),
        K::Numbers(_, low, high) => (Kind::Numbers, low, high),
    }
}

/// Most entries of a list.
pub(crate) fn longest(kind: fairdrop::Kind) -> usize {
    match kind {
        fairdrop::Kind::Schedule(..) => fairdrop::disciplines::choke::MAX_REGIONS,
        fairdrop::Kind::Numbers(most, ..) => most,
        _ => 0,
    }
}

/// The parameters of a discipline: `limit`, its own, and those of another that it uses as well. Their places are what
/// `fairdrop_parameter_at` takes.
pub(crate) fn parameters(info: &'static DisciplineInfo) -> impl Iterator<Item = Described> {
    let limit = Described { table: None, at: 0, spec: &LIMIT };
    let tables = [Some(info.name), info.also_uses].into_iter().flatten().filter_map(place_of);
    let described = tables.flat_map(|table| {
        let of = CATALOGUE.get(table);
        let params = of.map_or(&[][..], |info| info.params).iter().enumerate();
        let refused = of.filter(|of| of.name != info.name).map_or(&[][..], |of| of.alone);
        params.filter(move |(_, spec)| !refused.contains(&spec.name)).map(move |(at, spec)| Described {
            table: Some(table),
            at,
            spec,
        })
    });
    core::iter::once(limit).chain(described)
}

fn parameter(discipline: usize, index: usize) -> Option<Described> {
    parameters(CATALOGUE.get(discipline)?).nth(index)
}

/// Number of disciplines.
#[unsafe(no_mangle)]
pub extern "C" fn fairdrop_discipline_count() -> usize {
    CATALOGUE.len()
}

/// Describes discipline number `index`, from 0 on. `FAIRDROP_STATUS_NONE` when there are fewer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_discipline_at(index: usize, discipline: *mut Discipline) -> Status {
    if discipline.is_null() {
        return Status::BadArgument;
    }
    let Some(info) = CATALOGUE.get(index) else { return Status::None };
    let first = first_text(index);
    let described = Discipline {
        name: c_text(first),
        title: c_text(first + 1),
        doc: c_text(first + 2),
        source: c_text(first + 3),
        parameters: parameters(info).count(),
        reserved: [0; 2],
    };
    // SAFETY: not null, and the caller's to be written.
    unsafe { discipline.write(described) };
    Status::Ok
}

/// Describes parameter number `index`, from 0 on, of discipline number `discipline`. `FAIRDROP_STATUS_NONE` when there are
/// fewer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_parameter_at(
    discipline: usize,
    index: usize,
    described: *mut Parameter,
) -> Status {
    if described.is_null() {
        return Status::BadArgument;
    }
    let Some(found) = parameter(discipline, index) else { return Status::None };
    // SAFETY: not null, and the caller's to be written.
    unsafe { described.write(found.for_c()) };
    Status::Ok
}

/// Word number `word` that a parameter may be set to; NULL when there are fewer.
#[unsafe(no_mangle)]
pub extern "C" fn fairdrop_parameter_word(discipline: usize, index: usize, word: usize) -> *const c_char {
    let described = parameter(discipline, index).filter(|of| word < words(of.spec).len());
    described.map_or(ptr::null(), |of| c_text(of.first_text() + OF_PARAMETER + word))
}

/// Writes what values a parameter takes, in English, into `buffer` of `size` bytes: cut where it is longer, ending with NUL.
/// Returns the length of the whole text without the NUL, as `snprintf` does; 0 when there is no such parameter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_parameter_valid(
    discipline: usize,
    index: usize,
    buffer: *mut c_char,
    size: usize,
) -> usize {
    let to = if buffer.is_null() || size == 0 {
        &mut []
    } else {
        // SAFETY: `size` bytes that the caller lets us write. They are written before they are read.
        unsafe {
            buffer.write_bytes(0, size);
            slice::from_raw_parts_mut(buffer, size)
        }
    };
    let mut text = Buffer::new(to);
    if let Some(of) = parameter(discipline, index) {
        let _ = write!(text, "{}", of.spec.kind);
    }
    text.wanted
}

/// Number of causes that packets are dropped for; they are 0 to this less one.
#[unsafe(no_mangle)]
pub extern "C" fn fairdrop_cause_count() -> usize {
    DropCause::COUNT
}

/// The name of a cause in tables, plots and documents (`"match_queued"`); NULL when there is no such cause.
#[unsafe(no_mangle)]
pub extern "C" fn fairdrop_cause_name(cause: u8) -> *const c_char {
    if usize::from(cause) < DropCause::COUNT { c_text(usize::from(cause)) } else { ptr::null() }
}
