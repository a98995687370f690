//! Congestion controls from outside this crate, such as those that users define.

use super::contract::{CongestionControl, Variant};
use serde_json::Value as Json;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Settings of a congestion control from outside.
pub trait ExternalParams: Any + fmt::Debug + Send + Sync {
    /// The state of a new connection that belongs to no run.
    fn control(&self) -> Box<dyn ExternalControl>;

    /// The settings in results.
    fn to_json(&self) -> Json;

    /// Whether `other` makes the same controls.
    fn is_same(&self, other: &dyn ExternalParams) -> bool;
}

/// A congestion control from outside: the state of one connection.
pub trait ExternalControl: CongestionControl + fmt::Debug + Send {
    /// The state of the flow's next connection.
    fn renewed(&self) -> Box<dyn ExternalControl>;
}

/// A transport whose congestion control comes from outside.
#[derive(Clone, Debug)]
pub struct External {
    /// Its name, and the loss recovery under it.
    pub variant: &'static Variant,
    /// Its settings.
    pub params: Arc<dyn ExternalParams>,
}

impl PartialEq for dyn ExternalParams {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other)
    }
}
