//! ECN of a TCP: its ECN fields, and the feedback in ACKs.

use super::traits::Traits;
use crate::congestion::Variant;
use fairdrop_config::{Report, Section};

/// Feedback of marks in ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnFeedback {
    /// Whether there was one, until the sender has reacted (RFC 3168, section 6.1.3).
    Classic,
    /// Whether the last packet was marked (RFC 8257, section 3.2).
    EachPacket,
    /// The number of marked packets, in three bits (RFC 9768, without its option).
    Ace,
    /// The same, and the number of marked bytes (RFC 9768).
    Accurate,
}

impl EcnFeedback {
    /// Values that scenarios may set; [`Self::EachPacket`] belongs to its congestion control.
    pub const CHOICES: &[&str] = &["classic", "ace", "accurate"];

    fn named(name: &str) -> Self {
        match name {
            "ace" => Self::Ace,
            "accurate" => Self::Accurate,
            _ => Self::Classic,
        }
    }

    /// Name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::EachPacket => "each packet",
            Self::Ace => "ace",
            Self::Accurate => "accurate",
        }
    }

    /// Whether marks are counted.
    #[inline]
    pub const fn is_accurate(self) -> bool {
        matches!(self, Self::Ace | Self::Accurate)
    }

    /// The feedback of a group, by whether its data is ECN-capable.
    pub fn read(
        variant: &Variant,
        ecn: bool,
        traits: Traits,
        section: &Section,
        report: &mut Report,
    ) -> Self {
        let usual = match variant {
            Variant { l4s: true, .. } => Self::Accurate,
            Variant { echoes_each_packet: true, .. } => Self::EachPacket,
            _ => Self::Classic,
        };
        let Some(name) = section.text("ecn_feedback") else { return usual };
        let refused = |name: &str, report: &mut Report, valid: &str| {
            report.add(section.origin("ecn_feedback"), &section.path("ecn_feedback"), name, valid);
        };
        let asked = Self::named(name);
        if variant.l4s && !asked.is_accurate() {
            refused(name, report, &format!("accurate or ace with {}", variant.name));
        } else if variant.echoes_each_packet {
            refused(
                name,
                report,
                &format!("nothing with {}, which has an echo for each packet", variant.name),
            );
        } else if asked.is_accurate() && !traits.accurate_ecn {
            refused(name, report, "classic without era = \"linux\"");
        } else if asked.is_accurate() && !ecn {
            refused(name, report, "classic without ecn = true");
        }
        asked
    }
}

/// Whether the data of a group is ECN-capable. Some transports require it.
pub fn is_capable(variant: &Variant, section: &Section, report: &mut Report) -> bool {
    let on = section.switch("ecn").unwrap_or(false);
    if variant.needs_ecn && section.is_set("ecn") && !on {
        let valid = format!("true with {}", variant.name);
        report.add(section.origin("ecn"), &section.path("ecn"), "false", &valid);
    }
    on || variant.needs_ecn
}
