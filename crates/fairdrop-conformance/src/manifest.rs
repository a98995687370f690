//! The version of a set of vectors, and a checksum of each.
//!
//! Whoever checks an implementation says with which version: the first number counts sets in which a vector has changed or gone,
//! the second those to which vectors were added.
//!
//! ```
//! use fairdrop_conformance::manifest::Manifest;
//!
//! let first = Manifest::of([("red/basic".to_owned(), "a\n")], None);
//! let more = Manifest::of([("red/basic".to_owned(), "a\n"), ("red/idle".to_owned(), "b\n")], Some(&first));
//! let other = Manifest::of([("red/basic".to_owned(), "c\n")], Some(&more));
//! assert_eq!([&first, &more, &other].map(|set| set.version.as_str()), ["1.0", "1.1", "2.0"]);
//! ```

use std::collections::BTreeMap;

use flate2::Crc;
use serde::{Deserialize, Serialize};

use crate::FORMAT;

/// The file in the folder of all vectors.
pub const FILE: &str = "vectors.json";

/// What a set of vectors consists of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// Sets in which a vector has changed, a point, and sets since then to which vectors were added.
    pub version: String,
    /// CRC-32 of the text of each vector, in hexadecimal digits, by discipline and case.
    pub crc32: BTreeMap<String, String>,
}

impl Manifest {
    /// The manifest of vectors, by discipline and case, that take the place of those of `before`.
    pub fn of<T: AsRef<str>>(vectors: impl IntoIterator<Item = (String, T)>, before: Option<&Self>) -> Self {
        let crc32 = vectors.into_iter().map(|(name, text)| (name, checksum(text.as_ref()))).collect();
        let version = before.map_or_else(|| "1.0".to_owned(), |before| before.version_of(&crc32));
        Self { format: FORMAT.into(), version, crc32 }
    }

    /// The version of a set with these checksums that takes the place of this one.
    fn version_of(&self, crc32: &BTreeMap<String, String>) -> String {
        let (changes, additions) = self.version.split_once('.').unwrap_or((&self.version, "0"));
        let number = |text: &str| text.parse::<u32>().unwrap_or(0);
        let is_kept = |(name, sum): (&String, &String)| crc32.get(name) == Some(sum);
        if self.format != FORMAT || !self.crc32.iter().all(is_kept) {
            format!("{}.0", number(changes) + 1)
        } else if crc32.len() > self.crc32.len() {
            format!("{changes}.{}", number(additions) + 1)
        } else {
            self.version.clone()
        }
    }
}

fn checksum(text: &str) -> String {
    let mut crc = Crc::new();
    crc.update(text.as_bytes());
    format!("{:08x}", crc.sum())
}
