//! The parameter `linux` of disciplines that Linux has in a form of its own.

use super::params::words;

words! {
    /// Rules that a discipline follows.
    pub enum Linux {
        /// Those of its source.
        None = "none",
        /// Those of `net/sched` in the kernel of Debian's linux-source-6.12 (6.12.117), decision by decision.
        V6_12 = "6.12",
    }
}

words! {
    /// Rules that `CoDel` follows.
    pub enum LinuxCoDel {
        /// Those of its source.
        None = "none",
        /// Those of [`Linux::V6_12`].
        V6_12 = "6.12",
        /// Those of kernels before commit 815980fe6dbb of March 2026, 6.17.13 among them: a queue found empty keeps the time at which
        /// its interval ends.
        V6_17 = "6.17",
    }
}

impl LinuxCoDel {
    /// Whether the rules are those of a kernel.
    #[inline]
    pub(crate) fn is_set(self) -> bool {
        self != Self::None
    }
}

words! {
    /// Rules that `DualPI2` follows.
    pub enum LinuxDualPi2 {
        /// Those of its source.
        None = "none",
        /// Those of `net/sched` in the kernel of Debian's linux-source-7.3 (7.3.4), decision by decision.
        V7_3 = "7.3",
    }
}

impl LinuxDualPi2 {
    /// Whether the rules are those of a kernel.
    #[inline]
    pub(crate) fn is_set(self) -> bool {
        self != Self::None
    }
}

impl Linux {
    /// Whether the rules are those of a kernel.
    #[inline]
    pub(crate) fn is_set(self) -> bool {
        self != Self::None
    }
}
