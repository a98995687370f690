//! Declaration of a field: name, unit, range, default, source.

use fairdrop::{Kind, ParamSpec};

/// The kind and range of a field's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldKind {
    /// As a parameter of a discipline.
    Param(Kind),
    /// A text without control characters.
    Text,
    /// A text for tables and messages: neither empty nor long, without control characters.
    Name,
    /// Bit/s between the two, inclusive; written `"1mbit"` or as a number.
    Rate(f64, f64),
    /// Seconds between the two, inclusive; written `"20ms"` or as a number.
    Seconds(f64, f64),
    /// A list of names.
    Names,
    /// A switch, or a table of its own.
    SwitchOrTable,
    /// A list of one or more, all of one kind.
    List(&'static FieldKind),
    /// A list of pairs: a time, and the rate from then on.
    RateSteps,
}

/// One field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldSpec {
    /// As it is written.
    pub name: &'static str,
    /// Empty where it has none.
    pub unit: &'static str,
    /// Its kind and range.
    pub kind: FieldKind,
    /// As it would be written; `None` for fields that must be given, `Some("")` for those that may be left out.
    pub default: Option<&'static str>,
    /// A sentence or two.
    pub doc: &'static str,
    /// Source; empty where none need be cited.
    pub source: &'static str,
}

impl From<&ParamSpec> for FieldSpec {
    fn from(spec: &ParamSpec) -> Self {
        Self {
            name: spec.name,
            unit: spec.unit,
            kind: FieldKind::Param(spec.kind),
            default: Some(spec.default),
            doc: spec.doc,
            source: spec.source,
        }
    }
}

/// A field without a source.
pub const fn field(
    name: &'static str,
    unit: &'static str,
    kind: FieldKind,
    default: Option<&'static str>,
    doc: &'static str,
) -> FieldSpec {
    FieldSpec { name, unit, kind, default, doc, source: "" }
}

impl FieldSpec {
    /// The same, with its source.
    #[must_use]
    pub const fn cited(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }
}

/// Seconds.
pub const HOUR: f64 = 3600.0;
/// Rates from one bit per second to ten terabits.
pub const ANY_RATE: FieldKind = FieldKind::Rate(1.0, 1e13);
/// On or off.
pub const SWITCH: FieldKind = FieldKind::Param(Kind::Switch);
/// Length of a packet.
pub const PACKET_BYTES: FieldKind = FieldKind::Param(Kind::Bytes(1, 65_535));
/// A period of a source: it must not be 0.
pub const PERIOD: FieldKind = FieldKind::Seconds(1e-9, 1e6);
