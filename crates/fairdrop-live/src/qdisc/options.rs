//! Options of a discipline: from words to settings within bounds, and back.

use super::settings::{
    CLASSES, Choke, ChokeW, Collar, DSCPS, Kind, MOST_CANDIDATES, MOST_IDS, MOST_LIMIT, MOST_REGIONS,
    MOST_SETS, ONE, Params, Red, SHARE_ONE, SWITCHES, Settings, WEIGHT_ONE,
};
use super::units::{decimal, fixed, number, packets, rate, real, size, time};

/// Options with their values; switches have none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options(Vec<(&'static str, String)>);

const OF_RED: &[&str] = &[
    "min",
    "max",
    "probability",
    "burst",
    "w_q",
    "avpkt",
    "bandwidth",
    "packet_time",
    "gentle",
    "wait",
    "independent",
    "byte_mode",
];
const OF_CHOKE: &[&str] =
    &["candidates", "schedule", "regions", "draw", "replacement", "count_on_match", "cell"];
const OF_CHOKEW: &[&str] =
    &["l_th", "l_minus", "l_plus", "p_plus", "p_minus", "weights", "classes", "max_draws", "with_red"];
const OF_WARD: &[&str] = &["full_case3"];
const OF_COLLAR: &[&str] = &["target", "span", "share", "ids", "sets"];
const OF_ALL: &[&str] = &["limit", "rate"];

/// Words of `tc` that no BPF program can heed, and why.
const REFUSED: [(&str, &str); 4] = [
    (
        "ecn",
        "a queue discipline in BPF can't mark packets: the kernel has no kfunc that sets the ECN field of one",
    ),
    ("adaptive", "the programs have no adaptive max_p"),
    ("harddrop", "without ECN everything above max is dropped"),
    ("nodrop", "without ECN nothing can be spared"),
];

fn names(kind: Kind) -> impl Iterator<Item = &'static str> {
    let own: [&[&str]; 2] = match kind {
        Kind::Red => [OF_RED, &[]],
        Kind::Choke => [OF_RED, OF_CHOKE],
        Kind::ChokeW => [OF_RED, OF_CHOKEW],
        Kind::Ward => [OF_WARD, &[]],
        Kind::Collar => [OF_COLLAR, &[]],
    };
    OF_ALL.iter().chain(own[0]).chain(own[1]).copied()
}

/// Whether an option has no value.
pub fn is_switch(name: &str) -> bool {
    SWITCHES.iter().any(|(switch, _)| *switch == name)
        || ["replacement", "count_on_match", "with_red"].contains(&name)
}

/// The options in these words.
///
/// # Errors
/// There is no such option, or it has no value.
pub fn lookup(kind: Kind, words: &[&str]) -> Result<Options, String> {
    let mut found = Vec::new();
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        if let Some((_, why)) = REFUSED.iter().find(|(name, _)| *name == word) {
            return Err(format!("{word}: {why}; valid: without {word}"));
        }
        let Some(name) = names(kind).find(|name| *name == word) else {
            let valid = names(kind).collect::<Vec<_>>().join(", ");
            return Err(format!("{word} is no option of {}; valid: {valid}", kind.name()));
        };
        // A switch may be turned off again, for `change`.
        let value = if is_switch(name) {
            words.next_if(|word| ["on", "off"].contains(word)).unwrap_or("on")
        } else {
            words.next().ok_or_else(|| format!("{name} needs a value"))?
        };
        if found.iter().any(|(known, _)| *known == name) {
            return Err(format!("{name} is given twice"));
        }
        found.push((name, value.to_owned()));
    }
    Ok(Options(found))
}

/// The problem with a value.
fn bad(name: &str, value: &str, valid: &str) -> String {
    format!("{name} {value} is not valid; valid: {valid}")
}

impl Options {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// A value that `read` understands and that is in range.
    fn get<T>(&self, name: &str, valid: &str, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, String> {
        let Some(text) = self.text(name) else { return Ok(None) };
        read(text).map(Some).ok_or_else(|| bad(name, text, valid))
    }

    fn whole(&self, name: &str, low: u32, high: u32, valid: &str) -> Result<Option<u32>, String> {
        self.get(name, valid, |text| {
            let found = number(text).filter(|found| found.fract() == 0.0)?;
            (f64::from(low)..=f64::from(high)).contains(&found).then_some(found as u32)
        })
    }

    fn real(&self, name: &str, low: f64, high: f64, valid: &str) -> Result<Option<f64>, String> {
        self.get(name, valid, |text| packets(text).filter(|found| (low..=high).contains(found)))
    }

    fn switch(&self, name: &str, of_now: bool) -> bool {
        self.text(name).map_or(of_now, |value| value == "on")
    }

    /// A queue length: bytes where RED's are meant, as `tc` has them, unless the unit is `p`.
    fn length(&self, kind: Kind, name: &str, avpkt: u32) -> Result<Option<f64>, String> {
        let in_bytes = kind == Kind::Red;
        let valid = if in_bytes {
            "a length in bytes such as 30000, or in packets such as 30p"
        } else {
            "a number of packets"
        };
        let read = |text: &str| match text {
            _ if text.ends_with('p') || !in_bytes => packets(text),
            _ => size(text).map(|bytes| bytes / f64::from(avpkt)),
        };
        self.get(name, valid, |text| read(text).filter(|found| (0.0..=65_535.0).contains(found)))
    }

    /// Settings of `kind` with these options: the others are those of now, or of their defaults. And remarks on words whose
    /// meaning differs from that of `tc`.
    ///
    /// # Errors
    /// A value is out of range, by itself or beside another.
    pub fn settings(&self, kind: Kind, of_now: Option<&Settings>) -> Result<(Settings, Vec<String>), String> {
        let mut settings = of_now.copied().unwrap_or_else(|| default(kind));
        let mut remarks = Vec::new();
        let avpkt = self.whole("avpkt", 1, 65_535, "1 to 65535 bytes")?;
        let size = settings.params.red_mut().map_or(1000, |red| avpkt.unwrap_or(red.packet_size));
        let valid = if kind == Kind::Red {
            "1p to 65528p, or as many bytes of avpkt each"
        } else {
            "1 to 65528 packets"
        };
        if let Some(limit) = self.length(kind, "limit", size)? {
            if !(1.0..=f64::from(MOST_LIMIT)).contains(&limit) {
                return Err(bad("limit", self.text("limit").unwrap_or_default(), valid));
            }
            settings.limit = limit as u32;
        }
        if let Some(rate) = self.get("rate", "8 bit/s to 1 Tbit/s, such as 10mbit", |text| {
            rate(text).filter(|rate| *rate == 0 || (8..=1 << 40).contains(rate))
        })? {
            settings.rate = rate;
        }
        let (limit, link) = (settings.limit, settings.rate);
        match &mut settings.params {
            Params::Red(red) => self.red(kind, red, limit, link, of_now.is_none(), &mut remarks)?,
            Params::Choke(choke) => {
                self.red(kind, &mut choke.red, limit, link, of_now.is_none(), &mut remarks)?;
                self.choke(choke)?;
            }
            Params::ChokeW(chokew) => {
                self.red(kind, &mut chokew.red, limit, link, of_now.is_none(), &mut remarks)?;
                self.chokew(chokew)?;
            }
            Params::Ward(drops) => {
                if let Some(word) =
                    self.get("full_case3", "queue, drop", |text| one_of(text, &["queue", "drop"]))?
                {
                    *drops = word == 1;
                }
            }
            Params::Collar(collar) => self.collar(collar)?,
        }
        Ok((settings, remarks))
    }

    fn red(
        &self,
        kind: Kind,
        red: &mut Red,
        limit: u32,
        link: u64,
        is_new: bool,
        remarks: &mut Vec<String>,
    ) -> Result<(), String> {
        let old_size = red.packet_size;
        red.packet_size = self.whole("avpkt", 1, 65_535, "1 to 65535 bytes")?.unwrap_or(old_size);
        self.thresholds(kind, red, limit, is_new, remarks)?;
        let probability = self.real("probability", 0.0, 1.0, "a probability from 0 to 1")?;
        red.max_p = probability.map_or(red.max_p, fixed);
        self.weight(red, is_new, remarks)?;
        self.packet_time(red, link, is_new)?;
        for (name, bit) in SWITCHES {
            let is_on = self.switch(name, red.switches & bit != 0);
            red.switches = if is_on { red.switches | bit } else { red.switches & !bit };
        }
        if self.switch("wait", red.switches & 2 != 0) && self.switch("independent", red.switches & 4 != 0) {
            return Err("wait and independent are both on; valid: one of them".into());
        }
        Ok(())
    }

    /// `tc`'s defaults: max is a quarter of the limit, min a third of max.
    fn thresholds(
        &self,
        kind: Kind,
        red: &mut Red,
        limit: u32,
        is_new: bool,
        remarks: &mut Vec<String>,
    ) -> Result<(), String> {
        let [min, max] = ["min", "max"].map(|name| self.length(kind, name, red.packet_size));
        let (min, max) = (min?, max?);
        if is_new || max.is_some() {
            red.max_th = fixed(max.unwrap_or_else(|| (f64::from(limit) / 4.0).floor().max(3.0)));
        }
        if is_new || min.is_some() {
            red.min_th = fixed(min.unwrap_or_else(|| (real(red.max_th) / 3.0).floor()));
        }
        let (low, high) = (real(red.min_th), real(red.max_th));
        if high < low + 1.0 {
            return Err(format!(
                "max {high} is not valid beside min {low}; valid: 1 packet above min, or more"
            ));
        }
        if kind == Kind::Red
            && (min.is_some() || max.is_some())
            && self.text("min").is_none_or(|text| !text.ends_with('p'))
        {
            remarks.push(format!(
                "red: lengths are counted in packets, not bytes: min {low}p max {high}p limit {limit}p of {} bytes",
                red.packet_size
            ));
        }
        Ok(())
    }

    /// `w_q`, or `burst` as `tc` turns it into a weight.
    fn weight(&self, red: &mut Red, is_new: bool, remarks: &mut Vec<String>) -> Result<(), String> {
        let w_q = self.real("w_q", 2.0 / ONE as f64, 1.0, "a weight above 0, up to 1")?;
        let burst = self.real("burst", 1.0, 65_535.0, "1 to 65535 packets")?;
        match (w_q, burst) {
            (Some(_), Some(_)) => return Err("burst and w_q are both given; valid: one of them".into()),
            (Some(w_q), None) => red.w_q = fixed(w_q),
            (None, None) if !is_new => {}
            (None, burst) => {
                let packets =
                    burst.unwrap_or_else(|| ((2.0 * real(red.min_th) + real(red.max_th)) / 3.0).floor());
                let w_q = weight_of_burst(packets.max(1.0), real(red.min_th))
                    .ok_or_else(|| bad("burst", self.text("burst").unwrap_or_default(), "min or more"))?;
                red.w_q = fixed(w_q);
                if burst.is_some() {
                    remarks.push(format!("burst {packets} is w_q {w_q}"));
                }
            }
        }
        Ok(())
    }

    /// The unit of idle time: that of the rate where there is one, otherwise of `bandwidth`, which is 10 Mbit/s with `tc`.
    fn packet_time(&self, red: &mut Red, link: u64, is_new: bool) -> Result<(), String> {
        let bandwidth =
            self.get("bandwidth", "a rate such as 10mbit", |text| rate(text).filter(|rate| *rate >= 8))?;
        let given = self.get("packet_time", "a time from 1ns, such as 800us", |text| {
            time(text).filter(|time| *time > 0)
        })?;
        if bandwidth.is_some() && given.is_some() {
            return Err("bandwidth and packet_time are both given; valid: one of them".into());
        }
        let changes =
            is_new || bandwidth.is_some() || self.text("avpkt").is_some() || self.text("rate").is_some();
        if let Some(time) = given {
            red.packet_time = time;
        } else if changes {
            let bits = bandwidth.unwrap_or(if link > 0 { link } else { 10_000_000 });
            red.packet_time = (u64::from(red.packet_size) * 8_000_000_000 / bits).max(1);
        }
        Ok(())
    }

    fn choke(&self, choke: &mut Choke) -> Result<(), String> {
        let candidates = self.whole("candidates", 0, MOST_CANDIDATES.into(), "0 to 8 packets")?;
        if let Some(count) = candidates {
            if self.text("schedule").is_some() {
                return Err("candidates and schedule are both given; valid: one of them".into());
            }
            (choke.regions, choke.candidates) = (1, by_region(1, |_| count as u8));
        }
        let regions = self.whole("regions", 1, MOST_REGIONS as u32, "1 to 16")?;
        if regions.is_some() && !matches!(self.text("schedule"), Some("odd" | "even")) {
            return Err("regions belongs to schedule odd or even; valid: schedule odd regions 3".into());
        }
        if let Some(schedule) = self.text("schedule") {
            let valid = "two, odd, even, or up to 16 numbers from 0 to 8 that never fall, such as 1,3,5";
            let list = schedule_of(schedule, regions.unwrap_or(3))
                .ok_or_else(|| bad("schedule", schedule, valid))?;
            (choke.regions, choke.candidates) =
                (list.len() as u32, by_region(list.len(), |region| list[region]));
        }
        if let Some(word) = self.get("draw", "uniform, head", |text| one_of(text, &["uniform", "head"]))? {
            choke.from_head = word == 1;
        }
        choke.replacement = self.switch("replacement", choke.replacement);
        choke.count_on_match = self.switch("count_on_match", choke.count_on_match);
        choke.cell = self
            .whole("cell", 0, 65_535, "0 for draws by packets, 1 by bytes, up to 65535 bytes")?
            .unwrap_or(choke.cell);
        Ok(())
    }

    fn collar(&self, collar: &mut Collar) -> Result<(), String> {
        let valid = "a time from 1us to 4.29s, such as 15ms";
        for (name, place) in [("target", &mut collar.target), ("span", &mut collar.span)] {
            let found = self.get(name, valid, |text| {
                time(text).and_then(|time| u32::try_from(time).ok()).filter(|time| *time >= 1000)
            })?;
            *place = found.unwrap_or(*place);
        }
        let least = 1.0 / f64::from(SHARE_ONE);
        let share = self.real("share", least, 1.0, "a fraction from 1/65536 to 1")?;
        collar.share = share.map_or(collar.share, |share| (share * f64::from(SHARE_ONE)) as u32);
        let valid = "a multiple of 128 from 128 to 4096";
        if let Some(ids) = self.whole("ids", 128, MOST_IDS, valid)? {
            if !ids.is_multiple_of(128) {
                return Err(bad("ids", self.text("ids").unwrap_or_default(), valid));
            }
            collar.ids = ids;
        }
        collar.sets = self.whole("sets", 1, MOST_SETS, "1 to 256")?.unwrap_or(collar.sets);
        Ok(())
    }

    fn chokew(&self, chokew: &mut ChokeW) -> Result<(), String> {
        let valid = "0 to 65535 packets";
        for (name, place) in
            [("l_th", &mut chokew.l_th), ("l_minus", &mut chokew.l_minus), ("l_plus", &mut chokew.l_plus)]
        {
            *place = self.real(name, 0.0, 65_535.0, valid)?.map_or(*place, fixed);
        }
        if !(chokew.l_th < chokew.l_minus && chokew.l_minus < chokew.l_plus) {
            let [th, minus, plus] = [chokew.l_th, chokew.l_minus, chokew.l_plus].map(real);
            return Err(format!(
                "l_th {th} l_minus {minus} l_plus {plus} is not valid; valid: l_th < l_minus < l_plus"
            ));
        }
        for (name, place) in [("p_plus", &mut chokew.p_plus), ("p_minus", &mut chokew.p_minus)] {
            *place = self.real(name, 0.0, 32_768.0, "0 to 32768 packets")?.map_or(*place, fixed);
        }
        if let Some(weights) =
            self.get("weights", "1 to 16 numbers from 1 to 1000000, such as 1,2,4", weights_of)?
        {
            chokew.weights = weights;
        }
        let valid = "pairs of a DSCP from 0 to 63 and a class from 0 to 15, such as 46:1,34:2";
        if let Some(classes) = self.get("classes", valid, classes_of)? {
            chokew.class_of_dscp = classes;
        }
        chokew.max_draws = self
            .whole("max_draws", 0, 1024, "0 for as many as packets wait, or 1 to 1024")?
            .unwrap_or(chokew.max_draws);
        chokew.with_red = self.switch("with_red", chokew.with_red);
        Ok(())
    }
}

/// The place of a word among the valid ones.
fn one_of(text: &str, words: &[&str]) -> Option<usize> {
    words.iter().position(|word| *word == text)
}

fn by_region(regions: usize, candidates: impl Fn(usize) -> u8) -> [u8; MOST_REGIONS] {
    std::array::from_fn(|region| if region < regions { candidates(region) } else { 0 })
}

/// Candidates by region.
fn schedule_of(text: &str, regions: u32) -> Option<Vec<u8>> {
    let regions = u8::try_from(regions).ok()?;
    let list: Vec<u8> = match text {
        "two" => vec![1, 2],
        "odd" => (1..=regions).map(|region| 2 * region - 1).collect(),
        "even" => (1..=regions).map(|region| 2 * region).collect(),
        list => list.split(',').map(|count| count.parse().ok()).collect::<Option<_>>()?,
    };
    let fits =
        list.len() <= MOST_REGIONS && list.is_sorted() && list.iter().all(|count| *count <= MOST_CANDIDATES);
    fits.then_some(list)
}

/// Weights by class; a class without one has the lowest of those given.
fn weights_of(text: &str) -> Option<[u64; CLASSES]> {
    let weight = |text: &str| {
        let found = number(text).filter(|weight| (1.0..=1e6).contains(weight))?;
        Some((found * WEIGHT_ONE as f64).round() as u64)
    };
    let list: Vec<u64> = text.split(',').map(weight).collect::<Option<_>>()?;
    let lowest = *list.iter().min()?;
    (list.len() <= CLASSES).then(|| std::array::from_fn(|class| list.get(class).copied().unwrap_or(lowest)))
}

/// Classes by DSCP; those that are not named are of class 0.
fn classes_of(text: &str) -> Option<[u8; DSCPS]> {
    let mut classes = [0; DSCPS];
    for pair in text.split(',').filter(|pair| !pair.is_empty()) {
        let (dscp, class) = pair.split_once(':')?;
        let class: u8 = class.parse().ok().filter(|class| usize::from(*class) < CLASSES)?;
        *classes.get_mut(dscp.parse::<usize>().ok()?)? = class;
    }
    Some(classes)
}

/// The largest power of two as a weight with which a queue may grow from nothing to `burst` packets before the average reaches
/// `min` (Floyd, Jacobson 1993, equation 3, as `tc` solves it).
fn weight_of_burst(burst: f64, min: f64) -> Option<f64> {
    let above = burst + 1.0 - min;
    let mut weight = 0.5_f64;
    for _ in 1..32 {
        if above >= 1.0 && above <= (1.0 - (1.0 - weight).powf(burst)) / weight {
            return Some(weight);
        }
        weight /= 2.0;
    }
    None
}

/// Settings of a discipline before any option; those that depend on others are found in [`Options::settings`].
pub fn default(kind: Kind) -> Settings {
    let red = Red {
        min_th: 0,
        max_th: 0,
        max_p: fixed(0.02),
        w_q: 0,
        packet_time: 0,
        packet_size: 1000,
        switches: 0,
    };
    let params = match kind {
        Kind::Red => Params::Red(red),
        Kind::Choke => Params::Choke(Choke {
            red,
            candidates: by_region(1, |_| 1),
            regions: 1,
            from_head: false,
            replacement: false,
            count_on_match: false,
            cell: 0,
        }),
        Kind::ChokeW => Params::ChokeW(ChokeW {
            red,
            l_th: fixed(100.0),
            l_minus: fixed(125.0),
            l_plus: fixed(175.0),
            p_plus: fixed(0.002),
            p_minus: fixed(0.001),
            weights: std::array::from_fn(|class| if class == 1 { 2 * WEIGHT_ONE } else { WEIGHT_ONE }),
            max_draws: 64,
            with_red: false,
            class_of_dscp: [0; DSCPS],
        }),
        Kind::Ward => Params::Ward(false),
        // fairdrop's own, in the catalogue.
        Kind::Collar => Params::Collar(Collar {
            target: 15_000_000,
            span: 200_000_000,
            share: (0.9 * f64::from(SHARE_ONE)) as u32,
            ids: 256,
            sets: 16,
        }),
    };
    Settings { limit: 1000, rate: 0, params }
}

/// The words that give these settings.
pub fn words(settings: &Settings) -> String {
    let mut words = vec![format!("limit {}p", settings.limit)];
    match &settings.params {
        Params::Red(red) => words.extend(words_of_red(red)),
        Params::Choke(choke) => {
            words.extend(words_of_red(&choke.red));
            words.extend(words_of_choke(choke));
        }
        Params::ChokeW(chokew) => {
            words.extend(words_of_chokew(chokew));
            if chokew.with_red {
                words.extend(words_of_red(&chokew.red));
            }
        }
        Params::Ward(drops) => words.push(format!("full_case3 {}", if *drops { "drop" } else { "queue" })),
        Params::Collar(Collar { target, span, share, ids, sets }) => {
            let share = f64::from(*share) / f64::from(SHARE_ONE);
            words.push(format!("target {target}ns span {span}ns share {share} ids {ids} sets {sets}"));
        }
    }
    if settings.rate > 0 {
        words.push(format!("rate {}bit", settings.rate));
    }
    words.join(" ")
}

fn words_of_red(red: &Red) -> Vec<String> {
    let [min, max, max_p, w_q] = [red.min_th, red.max_th, red.max_p, red.w_q].map(decimal);
    let mut words = vec![
        format!("min {min}p max {max}p probability {max_p} w_q {w_q}"),
        format!("avpkt {} packet_time {}ns", red.packet_size, red.packet_time),
    ];
    words.extend(
        SWITCHES.iter().filter(|(_, bit)| red.switches & bit != 0).map(|(name, _)| (*name).to_owned()),
    );
    words
}

fn words_of_choke(choke: &Choke) -> Vec<String> {
    let regions = (choke.regions as usize).clamp(1, MOST_REGIONS);
    let list = choke.candidates[..regions].iter().map(u8::to_string).collect::<Vec<_>>().join(",");
    let name = if regions == 1 { "candidates" } else { "schedule" };
    let mut words = vec![format!("{name} {list} draw {}", if choke.from_head { "head" } else { "uniform" })];
    words.extend(choke.replacement.then(|| "replacement".to_owned()));
    words.extend(choke.count_on_match.then(|| "count_on_match".to_owned()));
    words.extend((choke.cell > 0).then(|| format!("cell {}", choke.cell)));
    words
}

fn words_of_chokew(chokew: &ChokeW) -> Vec<String> {
    let [th, minus, plus, up, down] =
        [chokew.l_th, chokew.l_minus, chokew.l_plus, chokew.p_plus, chokew.p_minus].map(decimal);
    // Classes at the end that have the lowest weight need not be named.
    let lowest = chokew.weights.iter().min().copied().unwrap_or(WEIGHT_ONE);
    let named =
        chokew.weights.iter().rposition(|weight| *weight != lowest).map_or(1, |last| (last + 2).min(CLASSES));
    let named = chokew.weights[..named].iter().map(|weight| (*weight as f64 / WEIGHT_ONE as f64).to_string());
    let weights = named.collect::<Vec<_>>().join(",");
    let mut words = vec![
        format!("l_th {th}p l_minus {minus}p l_plus {plus}p p_plus {up} p_minus {down}"),
        format!("weights {weights} max_draws {}", chokew.max_draws),
    ];
    let named = chokew.class_of_dscp.iter().enumerate().filter(|(_, class)| **class > 0);
    let pairs = named.map(|(dscp, class)| format!("{dscp}:{class}")).collect::<Vec<_>>();
    words.extend((!pairs.is_empty()).then(|| format!("classes {}", pairs.join(","))));
    words.extend(chokew.with_red.then(|| "with_red".to_owned()));
    words
}

#[cfg(test)]
mod tests {
    use super::super::settings::Config;
    use super::*;

    fn settings(kind: Kind, words: &str) -> Result<Settings, String> {
        let words: Vec<&str> = words.split_whitespace().collect();
        lookup(kind, &words)?.settings(kind, None).map(|(settings, _)| settings)
    }

    const LINES: [(Kind, &str); 9] = [
        (Kind::Choke, "limit 300 min 30 max 60 bandwidth 1mbit burst 40"),
        (Kind::Choke, "limit 300 schedule odd regions 4 draw head replacement cell 1 rate 1mbit gentle"),
        (Kind::Choke, "limit 65528 candidates 8 count_on_match probability 0.1 w_q 0.002"),
        (Kind::Red, "limit 400000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.02"),
        (Kind::ChokeW, "limit 300 weights 1,2.5 classes 46:1,0:3 max_draws 0 rate 10mbit"),
        (Kind::ChokeW, "with_red limit 1000 p_plus 1.5 wait"),
        (Kind::Ward, "limit 100 full_case3 drop"),
        (Kind::Collar, "limit 1000 rate 10mbit"),
        (Kind::Collar, "limit 65528 target 4.29s span 1us share 0.123 ids 4096 sets 256"),
    ];

    #[test]
    fn words_bytes_and_settings_are_the_same() {
        for (kind, line) in LINES {
            let found = settings(kind, line).unwrap();
            let again = settings(kind, &words(&found)).unwrap();
            // What RED would do is not shown where it does nothing.
            let is_shown = !matches!(found.params, Params::ChokeW(ChokeW { with_red: false, .. }));
            assert!(again == found || !is_shown, "{line}\n{}\n{}", words(&found), words(&again));
            assert_eq!(Settings::from_bytes(kind, &found.encoded()), Some(found), "{line}");
        }
    }

    #[test]
    fn defaults_are_those_of_tc() {
        let Params::Choke(choke) = settings(Kind::Choke, "limit 300").unwrap().params else {
            panic!("choke")
        };
        assert_eq!((real(choke.red.min_th), real(choke.red.max_th)), (25.0, 75.0));
        assert_eq!((choke.red.packet_time, real(choke.red.max_p)), (800_000, real(fixed(0.02))));
        // The weight 2^-5: (1 - (31/32)^55) 32 = 26.4 is the first sum from burst + 1 - min = 26 on.
        let Params::Red(red) = settings(Kind::Red, LINES[3].1).unwrap().params else { panic!("red") };
        assert_eq!((real(red.min_th), real(red.max_th), real(red.w_q)), (30.0, 90.0, 0.031_25));
    }

    #[test]
    fn a_change_keeps_what_it_does_not_name() {
        let old = settings(Kind::Choke, "limit 300 min 30 max 60 candidates 3 rate 1mbit w_q 0.01").unwrap();
        let options = lookup(Kind::Choke, &["max", "90", "gentle"]).unwrap();
        let (new, _) = options.settings(Kind::Choke, Some(&old)).unwrap();
        let expected = "limit 300 min 30 max 90 candidates 3 rate 1mbit w_q 0.01 gentle";
        assert_eq!(new, settings(Kind::Choke, expected).unwrap());
        let (new, _) =
            lookup(Kind::Choke, &["gentle", "off"]).unwrap().settings(Kind::Choke, Some(&new)).unwrap();
        assert_eq!(new, settings(Kind::Choke, &expected.replace(" gentle", "")).unwrap());
    }

    #[test]
    fn new_settings_are_written_before_they_are_used() {
        let [old, new] = ["limit 300", "limit 200"].map(|line| settings(Kind::Ward, line).unwrap());
        let config = Config::new(&old);
        let [written, used] =
            config.changed(&new).unwrap().map(|bytes| Config::from_bytes(Kind::Ward, bytes).unwrap());
        assert_eq!(
            [config.settings(), written.settings(), used.settings()],
            [Some(old), Some(old), Some(new)]
        );
        let [written, used] =
            used.changed(&old).unwrap().map(|bytes| Config::from_bytes(Kind::Ward, bytes).unwrap());
        assert_eq!([written.settings(), used.settings()], [Some(new), Some(old)]);
    }

    #[test]
    fn problems_name_option_value_and_what_is_valid() {
        for (kind, line, expected) in [
            (Kind::Choke, "limit 0", "limit 0 is not valid; valid: 1 to 65528 packets"),
            (Kind::Choke, "limit 65529", "limit 65529 is not valid; valid: 1 to 65528 packets"),
            (Kind::Choke, "limit 10x", "limit 10x is not valid; valid: a number of packets"),
            (
                Kind::Choke,
                "limit 300 min 70 max 60",
                "max 60 is not valid beside min 70; valid: 1 packet above",
            ),
            (
                Kind::Choke,
                "limit 300 probability 2",
                "probability 2 is not valid; valid: a probability from 0 to 1",
            ),
            (Kind::Choke, "limit 300 candidates 9", "candidates 9 is not valid; valid: 0 to 8 packets"),
            (Kind::Choke, "schedule 3,1", "schedule 3,1 is not valid; valid: two, odd, even"),
            (Kind::Choke, "schedule odd regions 5", "schedule odd is not valid; valid: two, odd, even"),
            (Kind::Choke, "regions 4", "regions belongs to schedule odd or even"),
            (
                Kind::Choke,
                "ecn",
                "ecn: a queue discipline in BPF can't mark packets: the kernel has no kfunc",
            ),
            (Kind::Choke, "limit 300 limit 200", "limit is given twice"),
            (Kind::Choke, "limit", "limit needs a value"),
            (Kind::Choke, "depth 3", "depth is no option of choke; valid: limit, rate, min, max"),
            (Kind::Choke, "w_q 0", "w_q 0 is not valid; valid: a weight above 0, up to 1"),
            (Kind::Choke, "w_q 0.1 burst 30", "burst and w_q are both given"),
            (Kind::Choke, "limit 300 min 30 burst 5", "burst 5 is not valid; valid: min or more"),
            (Kind::Choke, "wait independent", "wait and independent are both on"),
            (
                Kind::Red,
                "limit 300",
                "limit 300 is not valid; valid: 1p to 65528p, or as many bytes of avpkt each",
            ),
            (Kind::Red, "adaptive", "adaptive: the programs have no adaptive max_p; valid: without adaptive"),
            (Kind::Ward, "rate 5", "rate 5 is not valid; valid: 8 bit/s to 1 Tbit/s"),
            (Kind::Ward, "full_case3 keep", "full_case3 keep is not valid; valid: queue, drop"),
            (Kind::Collar, "target 5s", "target 5s is not valid; valid: a time from 1us to 4.29s"),
            (Kind::Collar, "span 10", "span 10 is not valid; valid: a time from 1us"),
            (Kind::Collar, "share 0", "share 0 is not valid; valid: a fraction from 1/65536 to 1"),
            (Kind::Collar, "ids 200", "ids 200 is not valid; valid: a multiple of 128 from 128 to 4096"),
            (Kind::Collar, "sets 257", "sets 257 is not valid; valid: 1 to 256"),
            (Kind::Collar, "min 30", "min is no option of collar; valid: limit, rate, target, span"),
            (Kind::ChokeW, "l_th 200", "l_th 200 l_minus 125 l_plus 175 is not valid"),
            (Kind::ChokeW, "weights 0.5", "weights 0.5 is not valid; valid: 1 to 16 numbers"),
            (Kind::ChokeW, "classes 64:1", "classes 64:1 is not valid; valid: pairs of a DSCP"),
        ] {
            let error = settings(kind, line).unwrap_err();
            assert!(error.starts_with(expected), "{line}: {error}");
        }
    }
}
