//! Parameters declared once: from one line `params!` makes the field, its documentation, its default, the entry of the table
//! that hosts read, and the check of its range.

use crate::contract::params::Kind;
use crate::contract::params::read_key;
use crate::contract::params::whole_key;
use crate::contract::{ParamError, ParamSpec, ParamValue, Time, Valid};

/// The type of a field that a parameter is stored in.
pub trait Parameter: Sized {
    /// Any value, before the default is set.
    const ZERO: Self;

    /// The value read by a host; `None` if it is of another kind.
    fn read(value: ParamValue<'_>) -> Option<Self>;

    /// The value as a host would give it.
    fn shown(&self) -> ParamValue<'_>;

    /// Stores a value read by a host; returns whether it is of the right kind.
    fn store(&mut self, value: ParamValue<'_>) -> bool {
        let read = Self::read(value);
        let stored = read.is_some();
        if let Some(read) = read {
            *self = read;
        }
        stored
    }
}

macro_rules! numbers {
    ($($type:ty)*) => {
        $(impl Parameter for $type {
            const ZERO: Self = 0 as Self;

            fn read(value: ParamValue<'_>) -> Option<Self> {
                if let ParamValue::Number(number) = value { Some(number as Self) } else { None }
            }

            fn shown(&self) -> ParamValue<'_> {
                ParamValue::Number(*self as f64)
            }
        })*
    };
}

numbers!(f64 u8 u16 u32);

/// A parameter that may be left out: the default `""` leaves it out, and shows as an empty word.
impl<P: Parameter> Parameter for Option<P> {
    const ZERO: Self = None;

    fn read(value: ParamValue<'_>) -> Option<Self> {
        if value == NOT_GIVEN { Some(None) } else { P::read(value).map(Some) }
    }

    fn shown(&self) -> ParamValue<'_> {
        self.as_ref().map_or(NOT_GIVEN, P::shown)
    }
}

/// The value of a parameter that is left out.
const NOT_GIVEN: ParamValue<'static> = ParamValue::Word("");

/// A key.
impl Parameter for u64 {
    const ZERO: Self = 0;

    fn read(value: ParamValue<'_>) -> Option<Self> {
        match value {
            ParamValue::Key(key) => Some(key),
            ParamValue::Number(number) => whole_key(number),
            ParamValue::Word(digits) => read_key(digits),
            _ => None,
        }
    }

    fn shown(&self) -> ParamValue<'_> {
        ParamValue::Key(*self)
    }
}

impl Parameter for bool {
    const ZERO: Self = false;

    fn read(value: ParamValue<'_>) -> Option<Self> {
        if let ParamValue::Switch(on) = value { Some(on) } else { None }
    }

    fn shown(&self) -> ParamValue<'_> {
        ParamValue::Switch(*self)
    }
}

/// In seconds, to the nearest nanosecond.
impl Parameter for Time {
    const ZERO: Self = Self::ZERO;

    fn read(value: ParamValue<'_>) -> Option<Self> {
        let ParamValue::Number(seconds) = value else { return None };
        Some(Self::from_ns((seconds * 1e9 + 0.5) as u64))
    }

    fn shown(&self) -> ParamValue<'_> {
        ParamValue::Number(self.seconds())
    }
}

/// Declares the parameters of a discipline.
///
/// ```text
/// params! {
///     /// Parameters of [`Blue`].
///     pub struct BlueParams {
///         limit;
///         /// Shortest time between two changes of the drop probability.
///         freeze: Time = 100 ms, Seconds(1e-9, 1000.0), "Feng et al. 1999";
///     }
/// }
/// ```
///
/// - First comes `limit;`, or a set of parameters that is used as well: `/// Doc.` and `base red: RedParams;`.
/// - Then each parameter: its documentation, which hosts show as well; field and type; the default as a scenario would
///   write it, with a space before the unit; the [`Kind`]; `=> "unit"` where the kind does not determine it; the source.
/// - A parameter without a type has no field: `Registered::set_other` stores it, and `check` checks it.
/// - A parameter whose type is an `Option` may be left out, and is where its default is `""`.
/// - Another name of a parameter stands behind it: `drops = candidates + 1, …` sets `candidates` to one less than `drops`.
/// - Last, in `fields { … }`, fields that no scenario sets: documentation, field, type, default.
///
/// The struct gets `Default`, `SPECS`, `set` and `validate`; it must implement `Registered`.
macro_rules! params {
    ($(#[$of:meta])* pub struct $name:ident { limit; $($rest:tt)* }) => {
        params! {
            @next [$(#[$of])*] $name
            [#[doc = "Packets that may wait."] limit: u32 = $crate::declare::limit::DEFAULT_LIMIT;] [] []
            $($rest)*
        }
        impl $crate::declare::entry::ParamTable for $name {
            const SPECS: &'static [$crate::contract::params::ParamSpec] = Self::SPECS;
            const BASE: Option<&'static str> = None;

            fn limit(&self) -> u32 {
                self.limit
            }

            fn set_link(&mut self, limit: u32, rate_bps: u64) {
                self.limit = limit;
                $crate::declare::entry::Registered::set_link_rate(self, rate_bps);
            }

            fn set_of(&mut self, owner: &str, name: &str, value: $crate::contract::params::ParamValue<'_>) -> bool {
                owner == <Self as $crate::declare::entry::Registered>::INFO.name && self.set(name, value)
            }

            fn validate(&self) -> Result<(), $crate::contract::params::ParamError> {
                $crate::declare::limit::check_limit(self.limit)?;
                self.check_ranges()?;
                $crate::declare::entry::Registered::check(self)
            }

            fn warning_of_base(&self) -> Option<$crate::declare::entry::Warning> {
                None
            }
        }
    };
    ($(#[$of:meta])* pub struct $name:ident { $(#[doc = $doc:literal])+ base $base:ident: $ty:ty; $($rest:tt)* }) => {
        params! {
            @next [$(#[$of])*] $name [$(#[doc = $doc])+ $base: $ty = Default::default();] [] []
            $($rest)*
        }
        impl $crate::declare::entry::ParamTable for $name {
            const SPECS: &'static [$crate::contract::params::ParamSpec] = Self::SPECS;
            const BASE: Option<&'static str> = Some(<$ty as $crate::declare::entry::Registered>::INFO.name);

            fn limit(&self) -> u32 {
                self.$base.limit
            }

            fn set_link(&mut self, limit: u32, rate_bps: u64) {
                $crate::declare::entry::ParamTable::set_link(&mut self.$base, limit, rate_bps);
                $crate::declare::entry::Registered::set_link_rate(self, rate_bps);
            }

            fn set_of(&mut self, owner: &str, name: &str, value: $crate::contract::params::ParamValue<'_>) -> bool {
                if owner == <Self as $crate::declare::entry::Registered>::INFO.name {
                    self.set(name, value)
                } else {
                    !<$ty as $crate::declare::entry::Registered>::INFO.alone.contains(&name)
                        && $crate::declare::entry::ParamTable::set_of(&mut self.$base, owner, name, value)
                }
            }

            fn validate(&self) -> Result<(), $crate::contract::params::ParamError> {
                self.$base.validate()?;
                $crate::declare::entry::Registered::check_shared(&self.$base)?;
                self.check_ranges()?;
                $crate::declare::entry::Registered::check(self)
            }

            fn warning_of_base(&self) -> Option<$crate::declare::entry::Warning> {
                $crate::declare::entry::Registered::warning(&self.$base)
            }
        }
    };
    // A parameter with a field, one without, another name of one, and the end.
    (@next $of:tt $name:ident $base:tt [$($fields:tt)*] [$($specs:tt)*]
        $(#[doc = $doc:literal])+
        $field:ident: $ty:ty = $default:tt $($unit:ident)?, $kind:expr $(=> $counts:literal)?, $source:expr;
        $($rest:tt)*
    ) => {
        params! {
            @next $of $name $base
            [$($fields)* { [$($doc)+] $field $ty }]
            [$($specs)* { [$($doc)+] $field [$default $($unit)?] $kind, [$($counts)?] $source }]
            $($rest)*
        }
    };
    (@next $of:tt $name:ident $base:tt [$($fields:tt)*] [$($specs:tt)*]
        $(#[doc = $doc:literal])+
        $field:ident = $default:tt $($unit:ident)?, $kind:expr $(=> $counts:literal)?, $source:expr;
        $($rest:tt)*
    ) => {
        params! {
            @next $of $name $base [$($fields)*]
            [$($specs)* { [$($doc)+] $field [$default $($unit)?] $kind, [$($counts)?] $source }]
            $($rest)*
        }
    };
    (@next $of:tt $name:ident $base:tt [$($fields:tt)*] [$($specs:tt)*]
        $(#[doc = $doc:literal])+
        $alias:ident = $target:ident + $more:literal, $kind:expr $(=> $counts:literal)?, $source:expr;
        $($rest:tt)*
    ) => {
        params! {
            @next $of $name $base [$($fields)*]
            [$($specs)* { [$($doc)+] $alias [$target + $more] $kind, [$($counts)?] $source }]
            $($rest)*
        }
    };
    (@next [$(#[$of:meta])*] $name:ident [$(#[$base_doc:meta])+ $base:ident: $base_ty:ty = $base_default:expr;]
        [$({ [$($field_doc:literal)+] $field:ident $ty:ty })*]
        [$({ [$($doc:literal)+] $param:ident [$($default:tt)+] $kind:expr, [$($counts:literal)?] $source:expr })*]
        $(fields { $($(#[$plain_doc:meta])+ $plain:ident: $plain_ty:ty = $plain_default:expr;)* })?
    ) => {
        $(#[$of])*
        #[derive(Clone, Debug, PartialEq)]
        // The texts are shown to readers of scenarios as well, where names stand as they are.
        #[allow(clippy::doc_markdown)]
        pub struct $name {
            $(#[$base_doc])+
            pub $base: $base_ty,
            $($(#[doc = $field_doc])+ pub $field: $ty,)*
            $($($(#[$plain_doc])+ pub $plain: $plain_ty,)*)?
        }

        impl Default for $name {
            #[allow(clippy::unreadable_literal, unused_mut)]
            fn default() -> Self {
                let mut params = Self {
                    $base: $base_default,
                    $($field: <$ty as $crate::declare::params::Parameter>::ZERO,)*
                    $($($plain: $plain_default,)*)?
                };
                // As a scenario would.
                $(params!(@set_default params $param $($default)+);)*
                params
            }
        }

        impl $name {
            /// Its own parameters, as a scenario writes them, in the order in which they are set.
            pub const SPECS: &'static [$crate::contract::params::ParamSpec] = {
                #[allow(unused_imports)]
                use $crate::contract::params::Kind::*;
                &[$($crate::contract::params::ParamSpec {
                    name: stringify!($param),
                    unit: $crate::declare::params::unit_of($kind, concat!($($counts)?)),
                    kind: $kind,
                    default: params!(@text $($default)+),
                    alias: params!(@alias $($default)+),
                    doc: $crate::declare::params::without_space(concat!($($doc),+)),
                    source: $source,
                }),*]
            };

            /// Sets the parameter called `name` (see `SPECS`), in their order, since some qualify earlier ones; returns
            /// whether there is one of that kind.
            pub fn set(&mut self, name: &str, value: $crate::contract::params::ParamValue<'_>) -> bool {
                $(if name == stringify!($field) {
                    return $crate::declare::params::Parameter::store(&mut self.$field, value);
                })*
                if let Some((target, value)) = $crate::declare::params::aliased(Self::SPECS, name, value) {
                    return self.set(target, value);
                }
                $crate::declare::entry::Registered::set_other(self, name, value)
            }

            /// Checks every range, then how the values fit together.
            ///
            /// # Errors
            /// Names the first parameter that is not valid.
            pub fn validate(&self) -> Result<(), $crate::contract::params::ParamError> {
                $crate::declare::entry::ParamTable::validate(self)
            }

            #[allow(clippy::unnecessary_wraps, clippy::unused_self)]
            fn check_ranges(&self) -> Result<(), $crate::contract::params::ParamError> {
                $($crate::declare::params::check_range(
                    Self::SPECS,
                    stringify!($field),
                    $crate::declare::params::Parameter::shown(&self.$field),
                )?;)*
                Ok(())
            }
        }
    };
    // Another name of a parameter has no default.
    (@set_default $params:ident $alias:ident $target:ident + $more:literal) => {};
    (@set_default $params:ident $param:ident $($default:tt)+) => {
        $params.set(stringify!($param), params!(@value $($default)+))
    };
    (@text $target:ident + $more:literal) => { "" };
    (@alias $target:ident + $more:literal) => {
        Some($crate::contract::params::Alias { of: stringify!($target), more: $more })
    };
    (@alias $($default:tt)+) => { None };
    // A default as a value, and as the text of a scenario.
    (@value $number:tt s) => { $crate::contract::params::ParamValue::Number(f64::from($number)) };
    (@value $number:tt ms) => { $crate::contract::params::ParamValue::Number(f64::from($number) * 1e-3) };
    (@value $number:tt us) => { $crate::contract::params::ParamValue::Number(f64::from($number) * 1e-6) };
    (@value $number:tt p) => { $crate::contract::params::ParamValue::Number(f64::from($number)) };
    (@value $number:tt B) => { $crate::contract::params::ParamValue::Number(f64::from($number)) };
    (@value [$($number:tt),+]) => { $crate::contract::params::ParamValue::Numbers(&[$(f64::from($number)),+]) };
    (@value $value:tt) => { $crate::contract::params::ParamValue::from($value) };
    (@text "") => { "" };
    (@text $value:tt $($unit:ident)?) => { concat!(stringify!($value) $(, stringify!($unit))?) };
}
pub(crate) use params;

/// Declares the words that a parameter may be set to, as an enum: `/// Doc.` and `Variant = "word",` each.
macro_rules! words {
    ($(#[$of:meta])* pub enum $name:ident { $($(#[$doc:meta])+ $variant:ident = $word:literal,)+ }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])+ $variant,)+
        }

        impl $name {
            /// Every value, in the order of the words.
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The words of a scenario.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl $crate::declare::params::Parameter for $name {
            const ZERO: Self = Self::ALL[0];

            fn read(value: $crate::contract::params::ParamValue<'_>) -> Option<Self> {
                let $crate::contract::params::ParamValue::Word(word) = value else { return None };
                let place = Self::WORDS.iter().position(|known| *known == word)?;
                Self::ALL.get(place).copied()
            }

            fn shown(&self) -> $crate::contract::params::ParamValue<'_> {
                $crate::contract::params::ParamValue::Word(match self {
                    $(Self::$variant => $word,)+
                })
            }
        }
    };
}
pub(crate) use words;

/// Checks `value` against the range of the parameter called `name`.
pub(crate) fn check_range(
    specs: &[ParamSpec],
    name: &'static str,
    value: ParamValue<'_>,
) -> Result<(), ParamError> {
    let is_valid = |spec: &ParamSpec| value == NOT_GIVEN || spec.kind.accepts(value);
    let Some(spec) = specs.iter().find(|spec| spec.name == name && !is_valid(spec)) else {
        return Ok(());
    };
    let value = if let ParamValue::Number(number) = value { number } else { f64::NAN };
    Err(ParamError { name, value, valid: Valid::Kind(spec.kind) })
}

/// The parameter that `name` is another name of, and its value; `None` where it is a parameter itself, or the value no
/// number.
pub(crate) fn aliased<'a>(
    specs: &[ParamSpec],
    name: &str,
    value: ParamValue<'a>,
) -> Option<(&'static str, ParamValue<'a>)> {
    let alias = specs.iter().find(|spec| spec.name == name)?.alias?;
    let ParamValue::Number(number) = value else { return None };
    Some((alias.of, ParamValue::Number(alias.value_of(number))))
}

/// `unit`, or that of the kind.
pub(crate) const fn unit_of(kind: Kind, unit: &'static str) -> &'static str {
    if unit.is_empty() { kind.unit() } else { unit }
}

/// A documentation comment without the space after its slashes.
pub(crate) const fn without_space(doc: &'static str) -> &'static str {
    match doc.as_bytes() {
        [b' ', ..] => doc.split_at(1).1,
        _ => doc,
    }
}
