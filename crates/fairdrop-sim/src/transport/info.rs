//! What a list of transports says of each.

use fairdrop_config::FieldSpec;

/// What a list of transports says of one.
#[derive(Clone, Copy, Debug)]
pub struct TransportInfo {
    pub name: &'static str,
    pub title: &'static str,
    pub doc: &'static str,
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
