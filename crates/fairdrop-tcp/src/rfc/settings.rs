//! Settings of a sender by the RFCs: none beside those of all TCPs.

use super::rules::Rules;
use crate::config::{Common, Era, Family};
use crate::congestion::Variant;
use fairdrop_config::{FieldSpec, Report, Section};
use serde_json::{Value as Json, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RfcConfig;

impl Family for RfcConfig {
    const ERAS: &'static [Era] = &[Era::MODERN];
    const FIELDS: &'static [FieldSpec] = &[];

    fn read(_variant: &Variant, _era: &str, _section: &Section, _report: &mut Report) -> Option<Self> {
        Some(Self)
    }

    fn to_json(&self, _common: &Common) -> Json {
        json!({ "ns2_compat": false })
    }
}

impl Rules for RfcConfig {}
