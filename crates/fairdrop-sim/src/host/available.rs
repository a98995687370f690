//! How much memory there is, and why no more.

use std::fmt;
use std::path::PathBuf;

/// What limits the memory of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Nothing that is known.
    None,
    /// What the machine has free.
    Machine,
    /// `ulimit -v`.
    AddressSpace,
    /// `ulimit -d`.
    Data,
    /// What pointers can name.
    Addresses,
    /// That of a control group, by its directory.
    ControlGroup(PathBuf),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no limit"),
            Self::Machine => f.write_str("free memory of the machine"),
            Self::AddressSpace => f.write_str("limit of the address space, ulimit -v"),
            Self::Data => f.write_str("limit of data, ulimit -d"),
            Self::Addresses => write!(f, "addresses of {} bits", usize::BITS),
            Self::ControlGroup(directory) => write!(f, "limit of the control group {}", directory.display()),
        }
    }
}

/// Memory that this process can still get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    /// Bytes that it can still get.
    pub bytes: u64,
    /// What leaves no more.
    pub limit: Limit,
}
