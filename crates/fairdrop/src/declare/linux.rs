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

impl Linux {
    /// Whether the rules are those of a kernel.
    #[inline]
    pub(crate) fn is_set(self) -> bool {
        self != Self::None
    }
}
