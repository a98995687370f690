//! The contract of a sender's settings.

use super::common::Common;
use super::era::Era;
use super::traits::Traits;
use crate::congestion::Variant;
use fairdrop_config::{FieldSpec, Report, Section};
use serde_json::Value as Json;
use std::fmt::Debug;
use std::ops::Deref;

/// Settings of one kind of sender, beside those that all TCPs have.
pub trait Family: Clone + Debug + PartialEq {
    /// Eras in which flows have this sender.
    const ERAS: &'static [Era];

    /// Fields of a group that only this sender reads.
    const FIELDS: &'static [FieldSpec];

    /// The settings of a group with this `variant` of TCP in `era`; `None` where it has another sender. Reports fields that then
    /// have no effect.
    fn read(variant: &Variant, era: &str, section: &Section, report: &mut Report) -> Option<Self>;

    fn traits(&self) -> Traits {
        Traits::default()
    }

    /// The settings in results.
    fn to_json(&self, common: &Common) -> Json;
}

/// Settings of a TCP with one kind of sender.
#[derive(Clone, Debug, PartialEq)]
#[repr(C)]
pub struct Config<F> {
    pub common: Common,
    pub family: F,
}

impl<F> Deref for Config<F> {
    type Target = Common;

    #[inline]
    fn deref(&self) -> &Common {
        &self.common
    }
}
