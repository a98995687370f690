//! The values that parameters of a part have in a scenario.

use fairdrop_config::Value;
use std::sync::Arc;

/// Values of parameters, in SI units, in the order of their specs. Copies share them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(Arc<[(&'static str, Value)]>);

impl FromIterator<(&'static str, Value)> for Values {
    fn from_iter<I: IntoIterator<Item = (&'static str, Value)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl Values {
    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// The value of a parameter.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The value of a parameter that is a number; NaN where there is none.
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Number(number)) => *number,
            Some(Value::Integer(number)) => *number as f64,
            _ => f64::NAN,
        }
    }

    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.value(name) == Some(&Value::Switch(true))
    }

    /// The word chosen; empty where there is none.
    pub fn word(&self, name: &str) -> &str {
        match self.value(name) {
            Some(Value::Text(word)) => word,
            _ => "",
        }
    }
}
