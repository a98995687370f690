//! Packets dropped, by cause.

use super::stored;
use crate::meter::QueueMeter;
use fairdrop::DropCause;
use fairdrop_config::is_plain_name;
use fairdrop_extension::kept;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Packets dropped, by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// For causes of the library.
    pub known: [u64; DropCause::COUNT],
    /// For causes that a user-defined part has named, by name.
    pub own: Vec<(&'static str, u64)>,
}

impl Drops {
    /// For causes of the library alone.
    pub const fn known(known: [u64; DropCause::COUNT]) -> Self {
        Self { known, own: Vec::new() }
    }

    /// Those of a flow.
    pub(crate) fn of(meter: &QueueMeter, flow: u32) -> Self {
        let mut drops = Self::known(meter.drops(flow));
        let named = meter.named_drops(flow).filter(|(_, packets)| *packets > 0);
        named.for_each(|(name, packets)| drops.add_own(name, packets));
        drops
    }

    /// For all causes.
    pub fn total(&self) -> u64 {
        self.each().map(|(_, packets)| packets).sum()
    }

    /// Packets for each cause of the library, then for each that a part has named.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let known =
            DropCause::ALL.into_iter().zip(self.known).map(|(cause, packets)| (cause.name(), packets));
        known.chain(self.own.iter().copied())
    }

    /// The same for causes that occurred.
    pub fn occurring(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.each().filter(|(_, packets)| *packets > 0)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.known.iter_mut().zip(&other.known).for_each(|(sum, count)| *sum += count);
        other.own.iter().for_each(|&(name, packets)| self.add_own(name, packets));
    }

    fn add_own(&mut self, name: &'static str, packets: u64) {
        match self.own.binary_search_by_key(&name, |(known, _)| known) {
            Ok(at) => self.own[at].1 += packets,
            Err(at) => self.own.insert(at, (name, packets)),
        }
    }
}

impl Serialize for Drops {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(DropCause::COUNT + self.own.len()))?;
        self.each().try_for_each(|(name, packets)| map.serialize_entry(name, &packets))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Drops {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut drops = Self::default();
        for (name, packets) in stored::pairs::<D, u64>(deserializer)? {
            match DropCause::ALL.into_iter().find(|cause| cause.name() == name) {
                Some(cause) => drops.known[cause as usize] = packets,
                None if is_plain_name(&name) => drops.add_own(kept(&name), packets),
                None => return Err(D::Error::custom(format!("there is no drop cause {name:?}"))),
            }
        }
        Ok(drops)
    }
}
