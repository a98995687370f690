//! Packets dropped, by cause.

use super::stored;
use fairdrop::DropCause;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Packets dropped, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops(pub [u64; DropCause::COUNT]);

impl Drops {
    /// For all causes.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(crate) fn add(&mut self, other: &[u64; DropCause::COUNT]) {
        self.0.iter_mut().zip(other).for_each(|(sum, count)| *sum += count);
    }
}

impl Serialize for Drops {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(DropCause::COUNT))?;
        for cause in DropCause::ALL {
            map.serialize_entry(cause.name(), &self.0[cause as usize])?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Drops {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut drops = Self::default();
        for (name, packets) in stored::pairs::<D, u64>(deserializer)? {
            let cause = DropCause::ALL.into_iter().find(|cause| cause.name() == name);
            let cause = cause.ok_or_else(|| D::Error::custom(format!("there is no drop cause {name:?}")))?;
            drops.0[cause as usize] = packets;
        }
        Ok(drops)
    }
}
