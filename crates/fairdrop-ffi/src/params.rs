//! Parameters by name, kept until a queue is made of them: what depends on the order of setting does not exist.

use core::ffi::c_char;
use core::slice;

use fairdrop::notation::{self, Written};
use fairdrop::{AnyParams, CATALOGUE, DisciplineInfo, Kind, ParamValue};

use crate::catalogue::{Described, longest, parameters, place_of};
use crate::problem::{Error, Problem, Shown, Status, text};

/// Marks a structure that was initialised: "fairdrop" in ASCII.
const READY: u64 = 0x6661_6972_6472_6f70;
/// Most parameters of a discipline.
const MOST: usize = 32;
/// Most entries of a list.
const LONGEST: usize = 16;

const _: () = {
    let mut at = 0;
    while at < CATALOGUE.len() {
        // `limit`, its own, and at most the longest table of another.
        assert!(1 + CATALOGUE[at].params.len() + 12 <= MOST, "there is a place for every parameter");
        at += 1;
    }
};

/// The parameters of one discipline. The caller's, on the stack or anywhere; may be copied. The members are not to be
/// touched.
#[repr(C)]
#[derive(Clone)]
pub struct Params {
    initialised: u64,
    link_bps: u64,
    /// Place in the catalogue.
    discipline: u32,
    /// Which parameters are set, by their bits.
    set: u32,
    /// Number; bits of a key; 0 or 1; place of the word; -1 for the list.
    values: [f64; 32],
    /// No discipline has two parameters that may be lists.
    list: [f64; 16],
    list_length: u32,
    unused: u32,
}

impl Params {
    fn info(&self) -> Result<&'static DisciplineInfo, Problem<'static>> {
        let not_ready = Problem::NotReady("fairdrop_params_init");
        if self.initialised != READY {
            return Err(not_ready);
        }
        CATALOGUE.get(self.discipline as usize).ok_or(not_ready)
    }

    /// The parameter called `name` or `table.name`, and its place.
    fn find<'a>(&self, name: &'a str) -> Result<(usize, Described), Problem<'a>> {
        let info = self.info()?;
        let named = |&(_, of): &(usize, Described)| match name.split_once('.') {
            Some((table, name)) => table == of.table_name() && name == of.spec.name,
            None => name == of.spec.name,
        };
        let mut found = parameters(info).enumerate().filter(named);
        match (found.next(), found.next()) {
            (None, _) => Err(Problem::Parameter { name, discipline: info.name }),
            (Some(one), None) => Ok(one),
            (Some((_, one)), Some((_, other))) => {
                Err(Problem::Ambiguous { name, tables: [one.table_name(), other.table_name()] })
            }
        }
    }

    fn set_text<'a>(&mut self, name: &'a str, text: &'a str) -> Result<(), Problem<'a>> {
        let (at, of) = self.find(name)?;
        let shown = Shown::Text(text);
        let mut room = [0.0; LONGEST];
        match notation::read(of.spec.kind, text) {
            Some(Written::Number(number)) => self.set_number(at, of, number, shown),
            Some(Written::Key(key)) => self.keep(at, of, f64::from_bits(key), true).ok_or(refuse(of, shown)),
            Some(Written::Switch(on)) => self.set_switch(at, of, on, shown),
            Some(Written::Word(word)) => self.set_word(at, of, word, shown),
            Some(Written::List(list)) => match notation::numbers(list, &mut room) {
                Some(numbers) => self.set_list(at, of, numbers, shown),
                None => Err(refuse(of, shown)),
            },
            None => Err(refuse(of, shown)),
        }
    }

    fn set_number<'a>(
        &mut self,
        at: usize,
        of: Described,
        number: f64,
        shown: Shown<'a>,
    ) -> Result<(), Problem<'a>> {
        let accepted = of.spec.kind.accepts(ParamValue::Number(number));
        let kept = if of.spec.kind == Kind::Key { f64::from_bits(number as u64) } else { number };
        self.keep(at, of, kept, accepted).ok_or(refuse(of, shown))
    }

    fn set_switch<'a>(
        &mut self,
        at: usize,
        of: Described,
        on: bool,
        shown: Shown<'a>,
    ) -> Result<(), Problem<'a>> {
        let accepted = of.spec.kind.accepts(ParamValue::Switch(on));
        self.keep(at, of, f64::from(u8::from(on)), accepted).ok_or(refuse(of, shown))
    }

    fn set_word<'a>(
        &mut self,
        at: usize,
        of: Described,
        word: &str,
        shown: Shown<'a>,
    ) -> Result<(), Problem<'a>> {
        let place = words(of.spec.kind).iter().position(|of| *of == word);
        self.keep(at, of, place.unwrap_or(0) as f64, place.is_some()).ok_or(refuse(of, shown))
    }

    fn set_list<'a>(
        &mut self,
        at: usize,
        of: Described,
        numbers: &[f64],
        shown: Shown<'a>,
    ) -> Result<(), Problem<'a>> {
        let fits = numbers.len() <= LONGEST.min(longest(of.spec.kind));
        let accepted = fits && of.spec.kind.accepts(list_value(of.spec.kind, numbers, &mut [0; LONGEST]));
        self.keep(at, of, -1.0, accepted).ok_or(refuse(of, shown))?;
        self.list.iter_mut().zip(numbers).for_each(|(to, from)| *to = *from);
        self.list_length = numbers.len() as u32;
        Ok(())
    }

    fn keep(&mut self, at: usize, of: Described, value: f64, accepted: bool) -> Option<()> {
        let place = self.values.get_mut(at).filter(|_| accepted)?;
        *place = value;
        // Of two names of a parameter the one that was set last counts.
        for (other, _) in parameters(self.info().ok()?).enumerate().filter(|(_, other)| other.is_named(of)) {
            self.set &= !(1 << other);
        }
        self.set |= 1 << at;
        Some(())
    }

    /// What the discipline is made of.
    pub(crate) fn any(&self) -> Result<AnyParams, Problem<'static>> {
        let info = self.info()?;
        let mut params = AnyParams::of(info.name).ok_or(Problem::NotReady("fairdrop_params_init"))?;
        let mut limit = params.limit();
        let list = self.list.get(..self.list_length as usize).unwrap_or(&self.list);
        for (at, of) in parameters(info).enumerate() {
            let Some(&number) = self.values.get(at).filter(|_| self.set & (1 << at) != 0) else { continue };
            let mut counts = [0; LONGEST];
            let value = match of.spec.kind {
                Kind::Key => ParamValue::Key(number.to_bits()),
                Kind::Switch => ParamValue::Switch(number != 0.0),
                kind @ (Kind::Choice(_) | Kind::Schedule(..) | Kind::Numbers(..)) => {
                    match words(kind).get(number as usize).filter(|_| number >= 0.0) {
                        Some(word) => ParamValue::Word(word),
                        None => list_value(kind, list, &mut counts),
                    }
                }
                _ => ParamValue::Number(number),
            };
            match of.table {
                None => limit = number as u32,
                // Every kind was checked when it was set.
                Some(_) => _ = params.set(of.table_name(), of.spec.name, value),
            }
        }
        params.set_link(limit, self.link_bps);
        params.validate().map_err(Problem::Refused)?;
        Ok(params)
    }
}

fn words(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Choice(words) | Kind::Schedule(words, ..) => words,
        _ => &[],
    }
}

/// A list as `kind` takes it.
fn list_value<'a>(kind: Kind, numbers: &'a [f64], counts: &'a mut [u8; LONGEST]) -> ParamValue<'a> {
    if !matches!(kind, Kind::Schedule(..)) {
        return ParamValue::Numbers(numbers);
    }
    for (count, number) in counts.iter_mut().zip(numbers) {
        // What is no count is above every range of counts.
        let whole = *number as u8;
        *count = if f64::from(whole) == *number { whole } else { u8::MAX };
    }
    ParamValue::Counts(counts.get(..numbers.len()).unwrap_or(&[]))
}

fn refuse(of: Described, value: Shown<'_>) -> Problem<'_> {
    Problem::Value { name: of.spec.name, value, kind: of.spec.kind }
}

/// The caller's parameters.
///
/// # Safety
/// `params` is null or points to a structure that nothing else uses during the call.
pub(crate) unsafe fn borrow<'a>(params: *const Params) -> Result<&'a Params, Problem<'static>> {
    // SAFETY: the caller's promise; every pattern of bits is a `Params`.
    unsafe { params.as_ref() }.ok_or(Problem::Null("params"))
}

/// Sets a parameter: finds it, and leaves the value to `set`.
///
/// # Safety
/// Requirements of the header on pointers.
unsafe fn with<'a>(
    params: *mut Params,
    name: *const c_char,
    error: *mut Error,
    set: impl FnOnce(&mut Params, &'a str) -> Result<(), Problem<'a>>,
) -> Status {
    // SAFETY: the caller's promise; every pattern of bits is a `Params`.
    let done = unsafe {
        params.as_mut().ok_or(Problem::Null("params")).and_then(|params| set(params, text(name, "name")?))
    };
    match done {
        Ok(()) => Status::Ok,
        // SAFETY: the caller's promise.
        Err(problem) => unsafe { problem.report(error) },
    }
}

/// Fills `params` with the defaults of the discipline called `discipline` (`"choke"`), for a link of `link_bps` bit/s, above
/// 0. Averages that decay while the link is idle, fair queueing and CSFQ reckon with that rate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_params_init(
    params: *mut Params,
    discipline: *const c_char,
    link_bps: u64,
    error: *mut Error,
) -> Status {
    // SAFETY: the caller's promise about texts.
    let made = unsafe { text(discipline, "discipline") }.and_then(|name| {
        if params.is_null() {
            return Err(Problem::Null("params"));
        }
        if link_bps == 0 {
            return Err(Problem::Argument("link_bps", link_bps, "a rate above 0, in bit/s"));
        }
        let discipline = place_of(name).ok_or(Problem::Discipline(name))? as u32;
        let (values, list) = ([0.0; MOST], [0.0; LONGEST]);
        Ok(Params {
            initialised: READY,
            link_bps,
            discipline,
            set: 0,
            values,
            list,
            list_length: 0,
            unused: 0,
        })
    });
    match made {
        Ok(made) => {
            // SAFETY: not null, and the caller's to be written.
            unsafe { params.write(made) };
            Status::Ok
        }
        // SAFETY: the caller's promise.
        Err(problem) => unsafe { problem.report(error) },
    }
}

/// Sets a parameter from text, as scenario files and the catalogue write it: `"300p"`, `"10kB"`, `"5ms"`, `"true"`,
/// `"uniform"`, `"[1, 2, 4]"`. Units may be left out: packets, bytes, seconds.
///
/// A name is that of the catalogue (`"min_th"`), or has the table that it is described in before it (`"red.min_th"`), which
/// it must have where two tables have one of that name. Parameters may be set in any order, and again; a value that is
/// refused changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_params_set(
    params: *mut Params,
    name: *const c_char,
    value: *const c_char,
    error: *mut Error,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { with(params, name, error, |params, name| params.set_text(name, text(value, "value")?)) }
}

/// Sets a parameter to a number, in the unit of the catalogue: packets, bytes, seconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_params_set_number(
    params: *mut Params,
    name: *const c_char,
    value: f64,
    error: *mut Error,
) -> Status {
    let set = |params: &mut Params, name| {
        let (at, of) = params.find(name)?;
        params.set_number(at, of, value, Shown::Number(value))
    };
    // SAFETY: the caller's promise.
    unsafe { with(params, name, error, set) }
}

/// Sets a switch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_params_set_switch(
    params: *mut Params,
    name: *const c_char,
    on: bool,
    error: *mut Error,
) -> Status {
    let set = |params: &mut Params, name| {
        let (at, of) = params.find(name)?;
        params.set_switch(at, of, on, Shown::Switch(on))
    };
    // SAFETY: the caller's promise.
    unsafe { with(params, name, error, set) }
}

/// Sets a parameter to one of its words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_params_set_word(
    params: *mut Params,
    name: *const c_char,
    word: *const c_char,
    error: *mut Error,
) -> Status {
    // SAFETY: the caller's promise.
    let set = |params: &mut Params, name| {
        let (at, of) = params.find(name)?;
        // SAFETY: the caller's promise about texts.
        let word = unsafe { text(word, "word") }?;
        params.set_word(at, of, word, Shown::Text(word))
    };
    // SAFETY: the caller's promise.
    unsafe { with(params, name, error, set) }
}

/// Sets a parameter to a list of `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_params_set_list(
    params: *mut Params,
    name: *const c_char,
    numbers: *const f64,
    count: usize,
    error: *mut Error,
) -> Status {
    let set = |params: &mut Params, name| {
        let (at, of) = params.find(name)?;
        if numbers.is_null() {
            return Err(Problem::Null("numbers"));
        }
        // SAFETY: not null, and the caller promises `count` numbers there.
        let numbers = unsafe { slice::from_raw_parts(numbers, count) };
        params.set_list(at, of, numbers, Shown::Numbers(numbers))
    };
    // SAFETY: the caller's promise.
    unsafe { with(params, name, error, set) }
}
