//! Description of transports in lists.

use super::config::fields::SACK;
use super::congestion::{LossRecovery, Variant, variants};
use super::senders::FIELDS;
use fairdrop_config::FieldSpec;

/// Description of one transport.
#[derive(Clone, Copy, Debug)]
pub struct TransportInfo {
    /// Name in scenarios.
    pub name: &'static str,
    /// Name in headings.
    pub title: &'static str,
    /// Its behaviour, in a sentence.
    pub doc: &'static str,
    /// The paper or RFC that describes it.
    pub source: &'static str,
    /// It sends less when packets are lost.
    pub backs_off: bool,
    /// Fields of its family first, its own last.
    pub fields: [&'static [FieldSpec]; 3],
}

impl TransportInfo {
    /// All its fields.
    pub fn fields(&self) -> impl Iterator<Item = &'static FieldSpec> + use<> {
        self.fields.into_iter().flatten()
    }
}

/// Descriptions of all TCPs.
pub fn infos() -> impl Iterator<Item = TransportInfo> {
    variants().map(|(control, variant)| info_of(variant, control.fields))
}

/// Description of a TCP whose congestion control has these `fields`.
pub fn info_of(variant: &Variant, fields: &'static [FieldSpec]) -> TransportInfo {
    let &Variant { name, title, doc, source, recovery, .. } = variant;
    let sack = if recovery == LossRecovery::Sack { SACK } else { &[] };
    TransportInfo { name, title, doc, source, backs_off: true, fields: [FIELDS, sack, fields] }
}

/// The fields of all TCPs, and those of the ones with selective acknowledgements.
pub fn common_fields() -> impl Iterator<Item = &'static FieldSpec> {
    FIELDS.iter().chain(SACK)
}
