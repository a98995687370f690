//! Every sender, in one declaration.

use super::config::{Common, Config, Era, Family, Named, fields};
use super::congestion::{Control, External};
use super::connection::{Connection, SenderCount};
use super::count::TransportCount;
use super::messages::{Ack, Send};
use super::sender::TcpSender;
use fairdrop::{Kind, Time};
use fairdrop_config::{FieldKind, FieldSpec, Report, Section, field};
use serde_json::{Value as Json, json};
use std::ops::{Deref, DerefMut};

/// From one list: the senders, their settings, their eras and their fields. Flows have the first sender unless another
/// claims them, in the order of the list. A folder `module` exports its `Settings`, and a `Sender` that
/// meets [`TcpSender`] with them.
macro_rules! senders {
    ($($(#[$doc:meta])* $Family:ident: $module:ident),+ $(,)?) => {
        /// The sending side of a connection.
        #[derive(Debug)]
        pub enum Sender {
            $($(#[$doc])* $Family(super::$module::Sender),)+
        }

        /// Settings of a TCP.
        #[derive(Clone, Debug, PartialEq)]
        pub enum TcpConfig {
            $($(#[$doc])* $Family(Config<super::$module::Settings>),)+
        }

        const ERAS: &[&[Era]] = &[$(<super::$module::Settings as Family>::ERAS),+];

        const GROUPS: &[&[FieldSpec]] = &[
            &[ERA],
            fields::FIRST,
            $(<super::$module::Settings as Family>::FIELDS,)+
            fields::LAST,
        ];

        impl TcpConfig {
            fn of(named: Named, eras: (&Era, &Era), section: &Section, report: &mut Report) -> Option<Self> {
                let (variant, era) = (named.variant, eras.0.name);
                $(let $module = Family::read(variant, era, section, report);)+
                let mut found = None;
                $(if let Some(family) = $module {
                    found = Some(Chosen::$Family(family));
                })+
                Some(match found? {
                    $(Chosen::$Family(family) => {
                        let common = Common::read(named, Family::traits(&family), eras, section, report);
                        Self::$Family(Config { common, family })
                    })+
                })
            }

            /// Not started yet, with this congestion control. Its clock was `boot` of a tick old at time 0.
            pub fn sender(&self, boot: f64, control: Control) -> Sender {
                match self {
                    $(Self::$Family(config) => Sender::$Family(TcpSender::new(config, boot, control)),)+
                }
            }

            fn family_json(&self) -> Json {
                match self {
                    $(Self::$Family(config) => config.family.to_json(&config.common),)+
                }
            }
        }

        /// The settings of one family.
        enum Chosen {
            $($Family(super::$module::Settings),)+
        }

        impl Deref for TcpConfig {
            type Target = Common;

            #[inline]
            fn deref(&self) -> &Common {
                match self {
                    $(Self::$Family(config) => &config.common,)+
                }
            }
        }

        impl Deref for Sender {
            type Target = Connection;

            #[inline]
            fn deref(&self) -> &Connection {
                match self {
                    $(Self::$Family(sender) => TcpSender::<super::$module::Settings>::connection(sender),)+
                }
            }
        }

        impl DerefMut for Sender {
            #[inline]
            fn deref_mut(&mut self) -> &mut Connection {
                match self {
                    $(Self::$Family(sender) => TcpSender::<super::$module::Settings>::connection_mut(sender),)+
                }
            }
        }

        impl Sender {
            /// Opens the connection.
            #[inline]
            pub fn start(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
                match (self, config) {
                    $((Self::$Family(sender), TcpConfig::$Family(config)) => sender.start(now, config, out),)+
                    _ => unreachable!("a sender is made for its settings"),
                }
            }

            /// The application has written another segment.
            #[inline]
            pub fn on_supply(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
                match (self, config) {
                    $((Self::$Family(sender), TcpConfig::$Family(config)) => sender.on_supply(now, config, out),)+
                    _ => unreachable!("a sender is made for its settings"),
                }
            }

            /// The SYN was answered. With timestamps the answer has the sending time of the SYN that arrived.
            #[inline]
            pub fn on_syn_ack(&mut self, now: Time, stamp: Option<Time>, config: &TcpConfig, out: &mut Vec<Send>) {
                match (self, config) {
                    $((Self::$Family(sender), TcpConfig::$Family(config)) => sender.on_syn_ack(now, stamp, config, out),)+
                    _ => unreachable!("a sender is made for its settings"),
                }
            }

            /// An ACK has arrived.
            #[inline]
            pub fn on_ack(&mut self, now: Time, ack: Ack<'_>, config: &TcpConfig, out: &mut Vec<Send>) {
                match (self, config) {
                    $((Self::$Family(sender), TcpConfig::$Family(config)) => sender.on_ack(now, ack, config, out),)+
                    _ => unreachable!("a sender is made for its settings"),
                }
            }

            /// The timer ran out.
            #[inline]
            pub fn on_timeout(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
                match (self, config) {
                    $((Self::$Family(sender), TcpConfig::$Family(config)) => sender.on_timeout(now, config, out),)+
                    _ => unreachable!("a sender is made for its settings"),
                }
            }
        }
    };
}

senders! {
    /// By the RFCs.
    Rfc: rfc,
    /// Modelled on Linux 6.18.
    Linux: linux,
    /// Modelled on ns-2's agents.
    Ns2: ns2,
}

const _: () = assert!(size_of::<Sender>() == 136);

const ERA_NAMES: &[&str] = &names::<{ count(ERAS) }>(joined(ERAS));

const ERA: FieldSpec = field(
    "era",
    "",
    FieldKind::Param(Kind::Choice(ERA_NAMES)),
    Some("\"modern\""),
    "Where the defaults of the fields below come from: modern is what RFCs ask today, linux what the kernel does (reno, cubic, bbr, bbr3 and prague; the last three always).",
);

const fn count<T>(groups: &[&[T]]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < groups.len() {
        count += groups[at].len();
        at += 1;
    }
    count
}

const fn joined<T: Copy, const N: usize>(groups: &[&[T]]) -> [T; N] {
    let mut all = [groups[0][0]; N];
    let (mut group, mut inner, mut at) = (0, 0, 0);
    while group < groups.len() {
        if inner < groups[group].len() {
            all[at] = groups[group][inner];
            (inner, at) = (inner + 1, at + 1);
        } else {
            (group, inner) = (group + 1, 0);
        }
    }
    all
}

const fn names<const N: usize>(eras: [Era; N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = eras[at].name;
        at += 1;
    }
    names
}

/// Fields of all TCPs.
pub const FIELDS: &[FieldSpec] = &joined::<_, { count(GROUPS) }>(GROUPS);

fn era(name: Option<&str>) -> &'static Era {
    let named = ERAS.iter().copied().flatten().find(|era| Some(era.name) == name);
    named.unwrap_or(&Era::MODERN)
}

impl TcpConfig {
    /// The TCP called `name`, or one with an `external` congestion control, with the settings of `section`; `None` when there is
    /// none of that name.
    pub fn read(
        name: &str,
        external: Option<External>,
        section: &Section,
        report: &mut Report,
    ) -> Option<Self> {
        let named = Named::find(name, external, section)?;
        let written = era(section.text("era"));
        let chosen =
            if named.variant.model_based && !section.is_set("era") { era(Some("linux")) } else { written };
        Self::of(named, (chosen, written), section, report)
    }

    /// The settings that all TCPs have, those of the loss recovery, of the sender, and of the congestion control.
    pub fn to_json(&self) -> Json {
        let mut all = json!(**self);
        let sack = if self.has_sack { json!(self.sack) } else { Json::Null };
        for more in [sack, self.family_json(), self.congestion.to_json()] {
            if let (Json::Object(all), Json::Object(more)) = (&mut all, more) {
                all.extend(more);
            }
        }
        all
    }
}

impl Sender {
    /// Another connection of the same host: its clock and the counters continue.
    pub fn renew(&mut self, config: &TcpConfig) {
        let (timer, counted) = (self.timer.renewed(), self.counted);
        *self = config.sender(0.0, self.control.renewed(&config.congestion));
        (self.timer, self.counted) = (timer, counted);
    }

    /// Its counters, since they were last reset.
    pub fn count(&self) -> TransportCount {
        let SenderCount { retransmissions, timeouts, fast_retransmits } = self.counted;
        TransportCount {
            retransmissions: retransmissions.into(),
            timeouts: timeouts.into(),
            fast_retransmits: fast_retransmits.into(),
        }
    }

    /// The smoothed round-trip time in seconds; `None` before the first measurement.
    pub fn srtt_s(&self, config: &TcpConfig) -> Option<f64> {
        self.timer.rto.srtt_s(config)
    }

    /// A smoothed round-trip time that was measured elsewhere, in seconds.
    pub fn set_srtt_s(&mut self, srtt_s: f64, config: &TcpConfig) {
        self.timer.rto.set_srtt_s(srtt_s, config);
    }
}

/// Replays a `recording` of the kernel against a sender with `era = "linux"`; see the module `linux`.
///
/// # Errors
///
/// The problem of the recording or the settings.
pub fn beside_kernel(config: &TcpConfig, recording: &str) -> Result<String, String> {
    match config {
        TcpConfig::Linux(config) => super::linux::beside_kernel(config, recording),
        _ => Err("only era = \"linux\" is played".into()),
    }
}

#[cfg(test)]
impl Sender {
    /// The sender of a flow of no scenario.
    pub fn new(config: &TcpConfig, boot: f64) -> Self {
        config.sender(boot, config.congestion.control())
    }

    /// The rate sample of the last ACK, where there are any.
    pub fn rate_sample(&self) -> Option<super::congestion::RateSample> {
        if let Self::Linux(linux) = self { linux.rate_sample() } else { None }
    }

    /// What holds after every event.
    pub fn check(&self) {
        if let Self::Linux(linux) = self {
            linux.check();
        }
    }
}
