//! Looks for vectors that notice survivors: settings, traffic and random numbers of known vectors, put together anew.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use fairdrop::{Kind, ParamSpec, Philox, info, uniform_below};
use fairdrop_conformance::{Case, Numbers, Vector, apply, cases, record};

use crate::play::{Outcome, Played, outcome};
use crate::run::found;
use crate::{File, form, made};

/// Candidates that are made before the best is taken, and events of the longest.
const CANDIDATES: u32 = 250;
const MOST_EVENTS: usize = 260;

/// A case in the words of `cases/found.tsv`, and what it is.
struct Recipe {
    words: String,
    case: Case,
}

/// Looks for vectors of these files' disciplines, and prints each as a line of `cases/found.tsv`, the best first.
pub fn search(state: &Path, stems: &[&str]) -> Result<(), String> {
    std::panic::set_hook(Box::new(|_| {}));
    for stem in stems {
        let file = made::FILES
            .iter()
            .find(|file| file.stem == *stem)
            .ok_or_else(|| format!("no reference {stem}"))?;
        search_file(state, file);
    }
    Ok(())
}

fn search_file(state: &Path, file: &File) {
    let found = found(state, file);
    let survives = |form: &u32| {
        matches!(found.get(crate::form(*form).name), Some((Outcome::Survived | Outcome::NotReached, _)))
    };
    let mut open: BTreeSet<u32> = file.forms.clone().filter(survives).collect();
    let known = cases::all();
    let mut chance = Chance(Philox::new(1, 0, 0));
    let mut fruitless = 0;
    // Random numbers follow from the name, which has to be a new one.
    let of_search =
        |case: &&Case| case.name.starts_with("survivor-") && file.disciplines().contains(&case.discipline);
    let first = known.iter().filter(of_search).count() as u32 + 2;
    for round in first.. {
        let mut best: Option<(Recipe, Vec<u32>)> = None;
        for _ in 0..CANDIDATES {
            let disciplines = file.disciplines();
            let discipline = disciplines[chance.below(disciplines.len())];
            let Some(recipe) = recipe(discipline, round, &known, &mut chance) else { continue };
            let Some(played) = played(&recipe.case) else { continue };
            let seen = open.iter().copied().filter(|&form| noticed(form, &played)).collect::<Vec<_>>();
            if best.as_ref().map_or(0, |(_, most)| most.len()) < seen.len() {
                best = Some((recipe, seen));
            }
        }
        match best {
            Some((recipe, seen)) if seen.len() > 1 || fruitless > 0 => {
                println!("{}", recipe.words);
                eprintln!("{}: {} of {} noticed:", recipe.case.name, seen.len(), open.len());
                for number in &seen {
                    eprintln!("    {}", form(*number).name);
                }
                open.retain(|number| !seen.contains(number));
            }
            _ => fruitless += 1,
        }
        if fruitless > 1 || open.is_empty() || round >= first + 4 {
            break;
        }
    }
    eprintln!("{}: {} left", file.stem, open.len());
}

fn noticed(form: u32, played: &Played) -> bool {
    let (outcome, _) = outcome(form, std::slice::from_ref(played));
    matches!(outcome, Outcome::ByDecision | Outcome::ByValue)
}

/// The vector of a case, if the reference agrees and it is short.
fn played(case: &Case) -> Option<Played> {
    let vector = catch_unwind(AssertUnwindSafe(|| record(case))).ok()?.ok()?;
    if !(80..=MOST_EVENTS).contains(&vector.events.len()) {
        return None;
    }
    let vector = Vector::parse(&vector.to_string()).ok()?;
    let params = apply(&vector.header).ok()?;
    Played::of(vector, params).ok()
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

/// A case of `discipline` from settings of two of its cases, from traffic of any, and from a few values at random.
fn recipe(discipline: &'static str, round: u32, known: &[Case], chance: &mut Chance) -> Option<Recipe> {
    let own: Vec<&Case> = known.iter().filter(|case| case.discipline == discipline).collect();
    let (one, other) = ((*chance.one_of(&own)).clone(), (*chance.one_of(&own)).clone());
    let written: Vec<&Case> = known.iter().filter(|case| !case.name.starts_with("survivor-")).collect();
    let (phases, mix) = (*chance.one_of(&written), *chance.one_of(&written));
    let mut settings = one.settings.clone();
    if chance.below(3) == 0 {
        settings.extend(other.settings.iter().copied());
    }
    let about = info(discipline)?;
    let base = about.also_uses.and_then(info);
    let specs: Vec<(&str, &ParamSpec)> = base
        .into_iter()
        .flat_map(|base| base.params.iter().map(|spec| (base.name, spec)))
        .chain(about.params.iter().map(|spec| (about.name, spec)))
        .filter(|(_, spec)| spec.name != "limit" && spec.alias.is_none())
        .collect();
    for _ in 0..chance.below(4) {
        let Some((owner, spec)) = specs.get(chance.below(specs.len().max(1))) else { break };
        if let Some(value) = value(spec, chance) {
            settings.push((format!("{owner}.{}", spec.name).leak(), value.leak()));
        }
    }
    let mut kept: Vec<(&'static str, &'static str)> = Vec::new();
    for (name, value) in settings {
        kept.retain(|(other, _)| *other != name);
        kept.push((name, value));
    }
    let settings = kept;
    let link_rate_bps = *chance.one_of(&[one.link_rate_bps, one.link_rate_bps, one.link_rate_bps, 1_000_000]);
    let numbers = *chance.one_of(&[Numbers::Uniform, Numbers::Eighths, Numbers::Ends, Numbers::High]);
    let limit = *chance.one_of(&[one.limit, one.limit, 1, 2, 3, 5, 8, 13, 60]);
    let ticks = about.timed && chance.below(4) == 0;
    let name: &'static str = format!("survivor-{round}").leak();
    let set: Vec<String> = settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let kind = format!("{numbers:?}").to_lowercase();
    let words = format!(
        "{discipline}\t{name}\t{kind}\t{limit}\t{link_rate_bps}\t{ticks}\t{}/{}\t{}/{}\t{}",
        phases.discipline,
        phases.name,
        mix.discipline,
        mix.name,
        set.join("; ")
    );
    let case = Case {
        discipline,
        name,
        settings,
        numbers,
        limit,
        ticks,
        hosts: mix.hosts.clone(),
        mix: mix.mix.clone(),
        phases: phases.phases.clone(),
        link_rate_bps,
        ..one
    };
    Some(Recipe { words, case })
}

/// A value for a parameter, in the words of a scenario.
fn value(spec: &ParamSpec, chance: &mut Chance) -> Option<String> {
    let within = |number: f64, low: f64, high: f64| (low..=high).contains(&number).then_some(number);
    Some(match spec.kind {
        Kind::Switch => if chance.below(2) == 0 { "true" } else { "false" }.into(),
        Kind::Choice(words) => (*chance.one_of(words)).into(),
        Kind::Packets(low, high) => {
            format!("{}p", within(*chance.one_of(&[0.0, 1.0, 2.0, 3.0, 4.5, 6.0, 9.0, 20.0]), low, high)?)
        }
        Kind::Bytes(low, high) => {
            let bytes = *chance.one_of(&[1.0, 40.0, 300.0, 1000.0, 1500.0, 3000.0]);
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
            let ms = *chance.one_of(&[0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 100.0, 400.0]);
            format!("{}ms", within(ms, low * 1e3, high * 1e3)?)
        }
        _ => return None,
    })
}
