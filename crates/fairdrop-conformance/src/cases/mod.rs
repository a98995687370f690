//! The vectors: what each exercises, and the arrivals that it takes.
//!
//! ```
//! let of_choke = fairdrop_conformance::cases::all().into_iter().filter(|case| case.discipline == "choke");
//! assert!(of_choke.count() > 5);
//! ```

mod choke;
mod delay;
mod edges;
mod exact;
mod found;
mod policed;
mod red;
mod rounds;
mod ties;

use fairdrop::{CATALOGUE, DisciplineInfo, Ecn};

use crate::script::{Mix, Phase};
use crate::{Case, Numbers};

/// Every vector, by discipline. One without vectors of its own has those of `general`.
pub fn all() -> Vec<Case> {
    let own = [
        red::cases(),
        choke::cases(),
        delay::cases(),
        policed::cases(),
        rounds::cases(),
        edges::cases(),
        exact::cases(),
        ties::cases(),
    ]
    .concat();
    let without = CATALOGUE.iter().filter(|info| own.iter().all(|case| case.discipline != info.name));
    let more: Vec<_> = without.flat_map(general).collect();
    // Beside the general ones, which go to disciplines without any of their own.
    found::and_found([own, more, delay::fq_pie()].concat())
}

/// The case of a line of `found.tsv`, in terms of those that are `known`, or of a line of `exact.tsv`.
pub fn of_line(line: &'static str, known: &[Case]) -> Option<Case> {
    found::case(line, known).or_else(|| exact::case(line))
}

/// What any discipline can be given, with its defaults.
fn general(info: &DisciplineInfo) -> Vec<Case> {
    let of = |name, text| case(info.name, name, info.source, text);
    let mut cases = vec![
        of("basic", "A greedy flow and five others, with the defaults."),
        of("mixed", "Packets of many lengths, of four classes, with every ECN field.")
            .flows(CLASSES)
            .lengths(LENGTHS)
            .ecn(EVERY_ECN),
        of("limit-1", "Room for one packet.").limit(1),
    ];
    if info.timed {
        cases.push(of("ticks", "As basic, and the host calls at each deadline.").ticks());
    }
    cases
}

const MS: u64 = 1_000_000;

/// A greedy flow and five others.
const GREEDY: &[(u64, u32, u8)] = &[(1, 6, 0), (2, 1, 0), (3, 1, 0), (4, 1, 0), (5, 1, 0), (6, 1, 0)];
/// Four flows that send as much as each other, each of its own class.
const CLASSES: &[(u64, u32, u8)] = &[(1, 1, 0), (2, 1, 1), (3, 1, 2), (4, 1, 3)];
/// Two flows in each of two classes, the first of them greedy, and one in each of two more.
const GREEDY_CLASSES: &[(u64, u32, u8)] = &[(1, 6, 0), (2, 1, 0), (3, 4, 1), (4, 1, 1), (5, 2, 2), (6, 1, 3)];
/// Twelve flows that send as much as each other, of class 0.
const DOZEN: &[(u64, u32, u8)] = &[
    (1, 1, 0),
    (2, 1, 0),
    (3, 1, 0),
    (4, 1, 0),
    (5, 1, 0),
    (6, 1, 0),
    (7, 1, 0),
    (8, 1, 0),
    (9, 1, 0),
    (10, 1, 0),
    (11, 1, 0),
    (12, 1, 0),
];
/// Packets of a kilobyte, of an acknowledgement, and odd ones.
const LENGTHS: &[(u32, u32)] = &[(1000, 3), (40, 1), (1500, 1), (1, 1), (577, 1)];
const EVERY_ECN: &[Ecn] = &[Ecn::NotCapable, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

/// A case of packets of 1000 bytes before a link of 8 Mbit/s, which takes 1 ms for each: light load, overload, an idle
/// link, and overload again.
fn case(
    discipline: &'static str,
    name: &'static str,
    source: &'static str,
    description: &'static str,
) -> Case {
    Case {
        discipline,
        name,
        description,
        source,
        limit: 30,
        link_rate_bps: 8_000_000,
        settings: Vec::new(),
        numbers: Numbers::Uniform,
        hosts: Vec::new(),
        burst_mode: Vec::new(),
        mix: Mix {
            flows: GREEDY.into(),
            lengths: vec![(1000, 1)],
            ecn: vec![Ecn::NotCapable],
            labels: Vec::new(),
        },
        phases: vec![
            Phase::Load { arrivals: 20, percent: 70 },
            Phase::Load { arrivals: 70, percent: 200 },
            Phase::Drain,
            Phase::Silence { ns: 7 * MS + 300_000 },
            Phase::Load { arrivals: 40, percent: 180 },
            Phase::Drain,
        ],
        ticks: false,
    }
}

impl Case {
    fn set(mut self, settings: &[(&'static str, &'static str)]) -> Self {
        self.settings.extend(settings);
        self
    }

    fn link(self, link_rate_bps: u64) -> Self {
        Self { link_rate_bps, ..self }
    }

    fn limit(self, limit: u32) -> Self {
        Self { limit, ..self }
    }

    fn numbers(self, numbers: Numbers) -> Self {
        Self { numbers, ..self }
    }

    fn phases(self, phases: &[Phase]) -> Self {
        Self { phases: phases.into(), ..self }
    }

    fn flows(mut self, flows: &[(u64, u32, u8)]) -> Self {
        self.mix.flows = flows.into();
        self
    }

    fn hosts(self, hosts: &[(u64, u64, u64)]) -> Self {
        Self { hosts: hosts.into(), ..self }
    }

    fn bursts(self, modes: &[&'static str]) -> Self {
        Self { burst_mode: modes.into(), ..self }
    }

    fn lengths(mut self, lengths: &[(u32, u32)]) -> Self {
        self.mix.lengths = lengths.into();
        self
    }

    fn ecn(mut self, ecn: &[Ecn]) -> Self {
        self.mix.ecn = ecn.into();
        self
    }

    fn labels(mut self, labels: &[u16]) -> Self {
        self.mix.labels = labels.into();
        self
    }

    fn ticks(self) -> Self {
        Self { ticks: true, ..self }
    }
}
