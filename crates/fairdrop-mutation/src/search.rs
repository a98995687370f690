//! Looks for vectors that notice survivors: settings and traffic of known vectors, put together anew, with random numbers
//! of other kinds, or arrivals at even distances, which meet thresholds exactly.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use fairdrop::{Kind, ParamSpec, Philox, info, uniform_below};
use fairdrop_conformance::{Case, Numbers, Phase, Vector, apply, cases, record};

use crate::play::{Played, notices};
use crate::{File, form, made};

/// Candidates that are made before the best are taken, and rounds without any after which the search ends.
const CANDIDATES: usize = 3000;
const FRUITLESS: u32 = 2;
/// Fewest and most events of a vector.
const EVENTS: std::ops::RangeInclusive<usize> = 8..=240;
/// Names that candidates take in turn, since random numbers follow from the name.
const NAMES: usize = 5;

/// A vector that may be kept, and the forms that it notices.
struct Candidate {
    name: &'static str,
    draft: Draft,
    events: usize,
    seen: BTreeSet<u32>,
}

/// What is chosen of a case: the rest follows from it.
#[derive(Clone)]
struct Draft {
    discipline: &'static str,
    settings: Vec<(&'static str, &'static str)>,
    numbers: Numbers,
    limit: u32,
    link_rate_bps: u64,
    ticks: bool,
    phases: Phases,
    /// The vector that has its flows, lengths and fields.
    mix: (&'static str, &'static str),
}

#[derive(Clone)]
enum Phases {
    Of(&'static str, &'static str),
    Words(Vec<String>),
}

/// Looks for vectors of these files' disciplines that notice forms of the list `survivors`, in at most `rounds` rounds, and
/// prints each as a line of `cases/found.tsv`.
pub fn search(survivors: &Path, rounds: &str, stems: &[&str]) -> Result<(), String> {
    let rounds: u32 = rounds.parse().map_err(|error| format!("{rounds}: {error}"))?;
    let list = fs::read_to_string(survivors).map_err(|error| format!("{}: {error}", survivors.display()))?;
    let names: BTreeSet<&str> = list.lines().filter_map(|line| line.split('\t').next()).collect();
    std::panic::set_hook(Box::new(|_| {}));
    for stem in stems {
        let file = made::FILES
            .iter()
            .find(|file| file.stem == *stem)
            .ok_or_else(|| format!("no reference {stem}"))?;
        let open = file.forms.clone().filter(|number| names.contains(form(*number).name)).collect();
        search_file(file, open, rounds);
    }
    Ok(())
}

/// Says which forms of the list `survivors` the vectors notice whose lines come on the standard input.
pub fn attempt(survivors: &Path, stem: &str) -> Result<(), String> {
    let list = fs::read_to_string(survivors).map_err(|error| format!("{}: {error}", survivors.display()))?;
    let names: BTreeSet<&str> = list.lines().filter_map(|line| line.split('\t').next()).collect();
    let file =
        made::FILES.iter().find(|file| file.stem == stem).ok_or_else(|| format!("no reference {stem}"))?;
    let mut open: BTreeSet<u32> =
        file.forms.clone().filter(|number| names.contains(form(*number).name)).collect();
    let known = cases::all();
    std::panic::set_hook(Box::new(|_| {}));
    let lines = std::io::read_to_string(std::io::stdin()).map_err(|error| error.to_string())?;
    for line in lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let line: &'static str = line.to_owned().leak();
        let Some(case) = cases::of_line(line, &known) else { return Err(format!("not a case: {line}")) };
        let vector = record(&case)?;
        let vector = Vector::parse(&vector.to_string())?;
        let params = apply(&vector.header)?;
        println!("{}/{}: {} events", case.discipline, case.name, vector.events.len());
        let played = Played::of(vector, params)?;
        for number in open.clone() {
            if notices(number, &played) {
                println!("    {}", form(number).name);
                open.remove(&number);
            }
        }
    }
    println!("{} left", open.len());
    for number in &open {
        println!("    {}", form(*number).name);
    }
    Ok(())
}

fn search_file(file: &File, mut open: BTreeSet<u32>, rounds: u32) {
    let known = cases::all();
    let disciplines = file.decides();
    let mut chance = Chance(Philox::new(2, 0, 0));
    let mut next = 1 + known
        .iter()
        .filter(|case| disciplines.contains(&case.discipline))
        .filter_map(|case| case.name.strip_prefix("survivor-")?.parse::<usize>().ok())
        .max()
        .unwrap_or(0);
    let mut fruitless = 0;
    for _ in 0..rounds {
        let mut candidates: Vec<Candidate> = Vec::new();
        for number in 0..CANDIDATES {
            let discipline = disciplines[chance.below(disciplines.len())];
            let Some(draft) = draft(discipline, &known, &mut chance) else { continue };
            let name: &'static str = format!("survivor-{}", next + number % NAMES).leak();
            candidates.extend(candidate(name, draft, &known, &open));
        }
        let before = open.len();
        while let Some(best) = candidates.iter().max_by_key(|candidate| candidate.worth(&open)) {
            if best.worth(&open) == 0 {
                break;
            }
            let name = best.name;
            let best = shrunk(best, &known, &open);
            println!("{}", best.draft.words(name));
            eprintln!(
                "{} {name}: {} events, {} of {}:",
                best.draft.discipline,
                best.events,
                best.seen.len(),
                open.len()
            );
            for number in &best.seen {
                eprintln!("    {}", form(*number).name);
            }
            open.retain(|number| !best.seen.contains(number));
            candidates.retain(|candidate| candidate.name != name);
        }
        next += NAMES;
        fruitless = if open.len() < before { 0 } else { fruitless + 1 };
        if open.is_empty() || fruitless == FRUITLESS {
            break;
        }
    }
    eprintln!("{}: {} left", file.stem, open.len());
}

impl Candidate {
    /// Forms noticed, a little less with each event.
    fn worth(&self, open: &BTreeSet<u32>) -> usize {
        self.seen.intersection(open).count() * 100_000 / (self.events + 60)
    }
}

/// The case of a draft where the reference agrees, it is short, and it notices any form that is open.
fn candidate(name: &'static str, draft: Draft, known: &[Case], open: &BTreeSet<u32>) -> Option<Candidate> {
    let case = draft.case(name, known)?;
    let vector = catch_unwind(AssertUnwindSafe(|| record(&case))).ok()?.ok()?;
    let events = vector.events.len();
    if !EVENTS.contains(&events) {
        return None;
    }
    let vector = Vector::parse(&vector.to_string()).ok()?;
    let params = apply(&vector.header).ok()?;
    let played = catch_unwind(AssertUnwindSafe(|| Played::of(vector, params))).ok()?.ok()?;
    let seen: BTreeSet<u32> = open.iter().copied().filter(|&form| notices(form, &played)).collect();
    (!seen.is_empty()).then_some(Candidate { name, draft, events, seen })
}

/// The shortest script of those tried that notices as much as `best` of what is open.
fn shrunk(best: &Candidate, known: &[Case], open: &BTreeSet<u32>) -> Candidate {
    let seen: BTreeSet<u32> = best.seen.intersection(open).copied().collect();
    let mut best =
        Candidate { name: best.name, draft: best.draft.clone(), events: best.events, seen: seen.clone() };
    loop {
        let Phases::Words(words) = best.draft.phases.clone() else { return best };
        let shorter = shorter(&words).into_iter().find_map(|words| {
            let draft = Draft { phases: Phases::Words(words), ..best.draft.clone() };
            candidate(best.name, draft, known, &seen)
                .filter(|other| other.seen == seen && other.events < best.events)
        });
        let Some(shorter) = shorter else { return best };
        best = shorter;
    }
}

/// Scripts with one stretch left out, or with fewer arrivals in one.
fn shorter(words: &[String]) -> Vec<Vec<String>> {
    let mut scripts = Vec::new();
    for at in 0..words.len() {
        if words.len() > 1 {
            let mut without = words.to_vec();
            without.remove(at);
            scripts.push(without);
        }
        let fields: Vec<&str> = words[at].split(':').collect();
        let Some(count) = fields.get(1).and_then(|count| count.parse::<u32>().ok()) else { continue };
        if fields[0] == "silence" {
            continue;
        }
        for fewer in [count / 2, count * 3 / 4, count.saturating_sub(1)] {
            if fewer > 0 && fewer < count {
                let mut other = words.to_vec();
                other[at] = [&[fields[0], &fewer.to_string()], &fields[2..]].concat().join(":");
                scripts.push(other);
            }
        }
    }
    scripts
}

impl Draft {
    fn case(&self, name: &'static str, known: &[Case]) -> Option<Case> {
        let of =
            |(discipline, name)| known.iter().find(|case| (case.discipline, case.name) == (discipline, name));
        let one = known.iter().find(|case| case.discipline == self.discipline)?.clone();
        let mix = of(self.mix)?;
        let phases = match &self.phases {
            Phases::Of(discipline, name) => of((discipline, name))?.phases.clone(),
            Phases::Words(words) => {
                words.iter().map(|words| Phase::of_words(words)).collect::<Option<_>>()?
            }
        };
        Some(Case {
            name,
            settings: self.settings.clone(),
            numbers: self.numbers,
            limit: self.limit,
            ticks: self.ticks,
            hosts: mix.hosts.clone(),
            burst_mode: Vec::new(),
            mix: mix.mix.clone(),
            phases,
            link_rate_bps: self.link_rate_bps,
            ..one
        })
    }

    /// A line of `cases/found.tsv`.
    fn words(&self, name: &str) -> String {
        let set: Vec<String> =
            self.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let phases = match &self.phases {
            Phases::Of(discipline, name) => format!("{discipline}/{name}"),
            Phases::Words(words) => words.join(" "),
        };
        format!(
            "{}\t{name}\t{}\t{}\t{}\t{}\t{phases}\t{}/{}\t{}",
            self.discipline,
            format!("{:?}", self.numbers).to_lowercase(),
            self.limit,
            self.link_rate_bps,
            self.ticks,
            self.mix.0,
            self.mix.1,
            set.join("; ")
        )
    }
}

struct Chance(Philox);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        uniform_below(bound as u64, || self.0.next_u64()) as usize
    }

    fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// A case of `discipline` from settings of two of its cases, from values that others give its parameters or at random, and
/// from traffic of any, or at even distances.
fn draft(discipline: &'static str, known: &[Case], chance: &mut Chance) -> Option<Draft> {
    let single = |case: &&Case| case.burst_mode.is_empty();
    let own: Vec<&Case> = known.iter().filter(|case| case.discipline == discipline).filter(single).collect();
    let (one, other) = (*chance.one_of(&own), *chance.one_of(&own));
    // Those that were found are made of others, and of none that come later.
    let written: Vec<&Case> = known.iter().filter(|case| !case.name.starts_with("survivor-")).collect();
    let mix = if chance.below(2) == 0 && !one.name.starts_with("survivor-") {
        one
    } else {
        *chance.one_of(&written)
    };
    let mut settings = one.settings.clone();
    if chance.below(3) == 0 {
        settings.extend(other.settings.iter().copied());
    }
    let about = info(discipline)?;
    let base = about.also_uses.and_then(info);
    let specs: Vec<(&str, &ParamSpec)> = base
        .into_iter()
        .flat_map(|base| base.shared().map(|spec| (base.name, spec)))
        .chain(about.params.iter().map(|spec| (about.name, spec)))
        .filter(|(_, spec)| spec.name != "limit" && spec.alias.is_none())
        .collect();
    for _ in 0..chance.below(6) {
        let Some((owner, spec)) = specs.get(chance.below(specs.len().max(1))) else { break };
        let name: &'static str = format!("{owner}.{}", spec.name).leak();
        let of_others: Vec<&'static str> = known
            .iter()
            .flat_map(|case| &case.settings)
            .filter(|(other, _)| *other == name)
            .map(|(_, value)| *value)
            .collect();
        if !of_others.is_empty() && chance.below(2) == 0 {
            settings.push((name, chance.one_of::<&'static str>(&of_others)));
        } else if let Some(value) = value(spec, chance) {
            settings.push((name, value.leak()));
        }
    }
    let mut kept: Vec<(&'static str, &'static str)> = Vec::new();
    for (name, value) in settings {
        kept.retain(|(other, _)| *other != name);
        kept.push((name, value));
    }
    let phases = if chance.below(5) == 0 {
        let of = *chance.one_of(&written);
        Phases::Of(of.discipline, of.name)
    } else {
        Phases::Words((0..=chance.below(7)).map(|_| stretch(chance)).collect())
    };
    Some(Draft {
        discipline,
        settings: kept,
        numbers: *chance.one_of(&[Numbers::Uniform, Numbers::Eighths, Numbers::Ends, Numbers::High]),
        limit: *chance.one_of(&[one.limit, one.limit, one.limit, 1, 2, 3, 5, 8, 13, 60]),
        link_rate_bps: *chance.one_of(&[one.link_rate_bps, one.link_rate_bps, 8_000_000, 1_000_000, 100_000]),
        ticks: about.timed && chance.below(4) == 0,
        phases,
        mix: (mix.discipline, mix.name),
    })
}

/// A stretch of time in words; most distances are parts or multiples of what a packet of 1000 bytes takes.
fn stretch(chance: &mut Chance) -> String {
    let few = *chance.one_of(&[1, 2, 3, 4, 5, 6, 8, 10, 12, 16]);
    let many = *chance.one_of(&[4, 8, 12, 20, 30, 40]);
    let us = *chance.one_of(&[100, 250, 500, 500, 800, 1000, 1000, 1250, 1500, 2000, 4000, 8000]);
    let long = *chance.one_of(&[
        1000, 2000, 3000, 5000, 10_000, 16_000, 20_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
        10_000_000, 60_000_000,
    ]);
    let percent = *chance.one_of(&[50, 100, 150, 200, 400]);
    match chance.below(9) {
        0 | 1 => format!("burst:{few}"),
        2..=4 => format!("even:{many}:{us}"),
        5 => format!("load:{many}:{percent}"),
        6 => format!("silence:{long}"),
        7 if chance.below(2) == 0 => format!("poll:{few}:{us}"),
        7 => format!("stall:{few}"),
        _ => "drain".into(),
    }
}

/// A value for a parameter, in the words of a scenario.
fn value(spec: &ParamSpec, chance: &mut Chance) -> Option<String> {
    let within = |number: f64, low: f64, high: f64| (low..=high).contains(&number).then_some(number);
    Some(match spec.kind {
        Kind::Switch => if chance.below(2) == 0 { "true" } else { "false" }.into(),
        Kind::Choice(words) => (*chance.one_of(words)).into(),
        Kind::Packets(low, high) => {
            format!(
                "{}p",
                within(*chance.one_of(&[0.0, 1.0, 2.0, 3.0, 4.5, 6.0, 9.0, 20.0, 1000.0]), low, high)?
            )
        }
        Kind::Bytes(low, high) => {
            let bytes = *chance.one_of(&[0.0, 1.0, 40.0, 300.0, 1000.0, 1500.0, 2000.0, 3000.0]);
            format!("{}B", within(bytes, low as f64, high as f64)?)
        }
        Kind::Integer(low, high) => {
            let number = *chance.one_of(&[0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 16.0, 100.0]);
            format!("{}", within(number, low as f64, high as f64)?)
        }
        Kind::Number(low, high) | Kind::NumberAbove(low, high) => {
            let number =
                *chance.one_of(&[0.0, 0.01, 0.0625, 0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 6.0, 20.0]);
            format!("{}", within(number, low, high)?)
        }
        Kind::Seconds(low, high) => {
            let ms =
                *chance.one_of(&[0.0, 1e-6, 1e-3, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 100.0, 400.0, 1e4, 1e6]);
            format!("{}ms", within(ms, low * 1e3, high * 1e3)?)
        }
        Kind::Rate(low, high) => {
            let rate = *chance.one_of(&[8.0, 8000.0, 1e6, 2e6, 4e6, 8e6, 8_388_608.0, 1e9]);
            format!("{}", within(rate, low, high)?)
        }
        Kind::Numbers(most, low, high) => {
            let numbers =
                [0.25, 0.5, 1.0, 2.0, 4.0].into_iter().filter(|number| (low..=high).contains(number));
            let numbers: Vec<f64> = numbers.collect();
            let picked: Vec<String> = (0..most.min(4)).map(|_| chance.one_of(&numbers).to_string()).collect();
            format!("[{}]", picked.join(", "))
        }
        _ => return None,
    })
}
