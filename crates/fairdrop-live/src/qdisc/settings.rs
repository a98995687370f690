//! Settings of the programs in `bpf/`, and their form in the map that a program reads them from (`struct fd_config` of
//! `bpf/kernel/qdisc.h`).

/// `FD_LAYOUT`: changes with that form.
pub const LAYOUT: u32 = 2;
/// `FD_MOST_LIMIT`.
pub const MOST_LIMIT: u32 = 65_528;
/// `FD_MOST_CANDIDATES`.
pub const MOST_CANDIDATES: u8 = 8;
/// `FD_MOST_REGIONS`.
pub const MOST_REGIONS: usize = 16;
/// `FD_CLASSES`.
pub const CLASSES: usize = 16;
/// Values of the DSCP field.
pub const DSCPS: usize = 64;
/// `FD_MOST_IDS`.
pub const MOST_IDS: u32 = 4096;
/// `FD_MOST_SETS`.
pub const MOST_SETS: u32 = 256;

/// One in fixed point with 32 binary places: `FD_ONE`.
pub const ONE: u64 = 1 << 32;
/// One in the form of COLLAR's `share`: `FD_Q16`.
pub const SHARE_ONE: u32 = 1 << 16;
/// One in the form of `CHOKeW`'s weights: `FD_WEIGHT_ONE`.
pub const WEIGHT_ONE: u64 = 1 << 16;

/// Switches of RED (`enum fd_red_switch`), by the words that set them.
pub const SWITCHES: [(&str, u32); 4] = [("gentle", 1), ("wait", 2), ("independent", 4), ("byte_mode", 8)];

/// A discipline that there is a program for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// RED.
    Red,
    /// `CHOKe`.
    Choke,
    /// `CHOKeW`.
    ChokeW,
    /// WARD.
    Ward,
    /// COLLAR, in integers.
    Collar,
}

impl Kind {
    /// All.
    pub const ALL: [Self; 5] = [Self::Red, Self::Choke, Self::ChokeW, Self::Ward, Self::Collar];

    /// Its name on the command line, and of its object.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Choke => "choke",
            Self::ChokeW => "chokew",
            Self::Ward => "ward",
            Self::Collar => "collar",
        }
    }

    /// The discipline of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// `struct fd_red_params`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Red {
    /// Packets, in fixed point.
    pub min_th: u64,
    /// Packets, in fixed point.
    pub max_th: u64,
    /// Probability, in fixed point.
    pub max_p: u64,
    /// Weight of a new length in the average, in fixed point.
    pub w_q: u64,
    /// Time of a packet of mean size on the link, ns.
    pub packet_time: u64,
    /// Mean size, bytes.
    pub packet_size: u32,
    /// Bits of [`SWITCHES`].
    pub switches: u32,
}

/// `struct fd_choke_params`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choke {
    /// Its average and early drops.
    pub red: Red,
    /// Candidates by region of the average.
    pub candidates: [u8; MOST_REGIONS],
    /// Regions; 1 for the same number of candidates at every average.
    pub regions: u32,
    /// Candidates are the packets nearest the head.
    pub from_head: bool,
    /// A packet may be drawn twice.
    pub replacement: bool,
    /// A matched arrival counts for the spacing of early drops.
    pub count_on_match: bool,
    /// Unit of draws, bytes; 0 for packets.
    pub cell: u32,
}

/// `struct fd_classified_params`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChokeW {
    /// For [`Self::with_red`].
    pub red: Red,
    /// Packets that wait above which arrivals are compared, in fixed point.
    pub l_th: u64,
    /// Below it the drawing factor falls, in fixed point.
    pub l_minus: u64,
    /// Above it the drawing factor rises, in fixed point.
    pub l_plus: u64,
    /// Step up, in fixed point.
    pub p_plus: u64,
    /// Step down, in fixed point.
    pub p_minus: u64,
    /// By class, in units of [`WEIGHT_ONE`].
    pub weights: [u64; CLASSES],
    /// Most draws for an arrival; 0 for as many as packets wait.
    pub max_draws: u32,
    /// RED decides on arrivals that nothing matched.
    pub with_red: bool,
    /// Class of a packet by its DSCP.
    pub class_of_dscp: [u8; DSCPS],
}

/// `struct fd_collar_params`. ECN is off: no program can mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collar {
    /// Waiting time that the controller aims at, ns.
    pub target: u32,
    /// Least reach of the memory and greatest reach of the table, ns.
    pub span: u32,
    /// Limit of a suspect, in units of [`SHARE_ONE`].
    pub share: u32,
    /// Departures remembered, a multiple of 128.
    pub ids: u32,
    /// Sets of the table of suspects.
    pub sets: u32,
}

/// Settings of one discipline.
#[expect(clippy::large_enum_variant, reason = "a process has a few")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Params {
    /// RED's.
    Red(Red),
    /// `CHOKe`'s.
    Choke(Choke),
    /// `CHOKeW`'s.
    ChokeW(ChokeW),
    /// WARD's (`struct fd_ward_params`): whether an arrival at a full buffer is dropped although a pair leaves.
    Ward(bool),
    /// COLLAR's.
    Collar(Collar),
}

/// `struct fd_settings`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Packets that may wait.
    pub limit: u32,
    /// Rate, bit/s; 0 for none.
    pub rate: u64,
    /// Those of the discipline.
    pub params: Params,
}

impl Params {
    /// Whose these are.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Red(_) => Kind::Red,
            Self::Choke(_) => Kind::Choke,
            Self::ChokeW(_) => Kind::ChokeW,
            Self::Ward(_) => Kind::Ward,
            Self::Collar(_) => Kind::Collar,
        }
    }

    /// RED's part.
    pub const fn red_mut(&mut self) -> Option<&mut Red> {
        match self {
            Self::Red(red) => Some(red),
            Self::Choke(choke) => Some(&mut choke.red),
            Self::ChokeW(chokew) => Some(&mut chokew.red),
            Self::Ward(_) | Self::Collar(_) => None,
        }
    }
}

/// Writes C structures, member after member.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn word(&mut self, value: u32) {
        self.0.extend(value.to_ne_bytes());
    }

    fn long(&mut self, value: u64) {
        self.0.extend(value.to_ne_bytes());
    }

    fn longs(&mut self, values: &[u64]) {
        for value in values {
            self.long(*value);
        }
    }

    fn red(&mut self, red: &Red) {
        self.longs(&[red.min_th, red.max_th, red.max_p, red.w_q, red.packet_time]);
        self.word(red.packet_size);
        self.word(red.switches);
    }

    fn params(&mut self, params: &Params) {
        match params {
            Params::Red(red) => self.red(red),
            Params::Choke(choke) => {
                self.red(&choke.red);
                self.0.extend(choke.candidates);
                self.word(choke.regions);
                for is_on in [choke.from_head, choke.replacement, choke.count_on_match] {
                    self.word(is_on.into());
                }
                self.word(choke.cell);
            }
            Params::ChokeW(chokew) => {
                self.red(&chokew.red);
                self.longs(&[chokew.l_th, chokew.l_minus, chokew.l_plus, chokew.p_plus, chokew.p_minus]);
                self.longs(&chokew.weights);
                self.word(chokew.max_draws);
                self.word(chokew.with_red.into());
                self.0.extend(chokew.class_of_dscp);
            }
            Params::Ward(drops) => self.word((*drops).into()),
            Params::Collar(collar) => {
                let ecn = 0;
                for word in [collar.target, collar.span, collar.share, collar.ids, collar.sets, ecn] {
                    self.word(word);
                }
            }
        }
    }
}

/// Reads them back.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn word(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_ne_bytes)
    }

    fn flag(&mut self) -> Option<bool> {
        self.word().map(|word| word != 0)
    }

    fn long(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_ne_bytes)
    }

    fn red(&mut self) -> Option<Red> {
        Some(Red {
            min_th: self.long()?,
            max_th: self.long()?,
            max_p: self.long()?,
            w_q: self.long()?,
            packet_time: self.long()?,
            packet_size: self.word()?,
            switches: self.word()?,
        })
    }

    fn params(&mut self, kind: Kind) -> Option<Params> {
        Some(match kind {
            Kind::Red => Params::Red(self.red()?),
            Kind::Choke => Params::Choke(Choke {
                red: self.red()?,
                candidates: self.bytes()?,
                regions: self.word()?,
                from_head: self.flag()?,
                replacement: self.flag()?,
                count_on_match: self.flag()?,
                cell: self.word()?,
            }),
            Kind::ChokeW => {
                let mut chokew = ChokeW {
                    red: self.red()?,
                    l_th: self.long()?,
                    l_minus: self.long()?,
                    l_plus: self.long()?,
                    p_plus: self.long()?,
                    p_minus: self.long()?,
                    weights: [0; CLASSES],
                    max_draws: 0,
                    with_red: false,
                    class_of_dscp: [0; DSCPS],
                };
                for weight in &mut chokew.weights {
                    *weight = self.long()?;
                }
                (chokew.max_draws, chokew.with_red) = (self.word()?, self.flag()?);
                chokew.class_of_dscp = self.bytes()?;
                Params::ChokeW(chokew)
            }
            Kind::Ward => Params::Ward(self.flag()?),
            Kind::Collar => Params::Collar(Collar {
                target: self.word()?,
                span: self.word()?,
                share: self.word()?,
                ids: self.word()?,
                sets: self.word()?,
            }),
        })
    }
}

impl Settings {
    /// The bytes of `struct fd_settings`.
    pub fn encoded(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.word(LAYOUT);
        writer.word(self.limit);
        writer.long(self.rate);
        writer.params(&self.params);
        // The structure has members of eight bytes.
        writer.0.resize(writer.0.len().next_multiple_of(8), 0);
        writer.0
    }

    /// The settings in those bytes; none where they are of another form.
    pub fn from_bytes(kind: Kind, bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        if reader.word()? != LAYOUT {
            return None;
        }
        Some(Self { limit: reader.word()?, rate: reader.long()?, params: reader.params(kind)? })
    }

    /// Slots of the ring: `Fifo`'s in the library (`slots_for`).
    pub const fn slots(&self) -> u32 {
        (2 * self.limit + 8).next_power_of_two()
    }
}

/// The configuration map: a generation, and two settings of which its last bit says which are in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    kind: Kind,
    bytes: Vec<u8>,
}

impl Config {
    /// Both settings the same.
    pub fn new(settings: &Settings) -> Self {
        let one = settings.encoded();
        Self { kind: settings.params.kind(), bytes: [vec![0; 8], one.clone(), one].concat() }
    }

    /// The content of a map; none where it is of another size.
    pub fn from_bytes(kind: Kind, bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() > 8 && bytes.len().is_multiple_of(2)).then_some(Self { kind, bytes })
    }

    fn generation(&self) -> u32 {
        Reader(&self.bytes).word().unwrap_or(0)
    }

    fn place(&self, generation: u32) -> std::ops::Range<usize> {
        let half = (self.bytes.len() - 8) / 2;
        let begin = 8 + if generation & 1 == 0 { 0 } else { half };
        begin..begin + half
    }

    /// The settings in use.
    pub fn settings(&self) -> Option<Settings> {
        Settings::from_bytes(self.kind, &self.bytes[self.place(self.generation())])
    }

    /// The two contents by which a program goes over to `settings`: they are written while not in use, then put into use.
    /// None where the map is of another form.
    pub fn changed(&self, settings: &Settings) -> Option<[Vec<u8>; 2]> {
        let next = self.generation().wrapping_add(1);
        let new = settings.encoded();
        let mut written = self.bytes.clone();
        let place = self.place(next);
        (place.len() == new.len()).then(|| written[place].copy_from_slice(&new))?;
        let mut used = written.clone();
        used[..4].copy_from_slice(&next.to_ne_bytes());
        Some([written, used])
    }

    /// The content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
