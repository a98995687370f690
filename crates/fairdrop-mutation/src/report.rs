//! Scores by file, and what survives.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::play::Outcome;
use crate::run::found;
use crate::{form, made};

/// Forms that decide and count as the sound one, each with its reason, one a line.
const EQUIVALENT: &str = "equivalent.tsv";

/// Counts of one file.
#[derive(Default)]
struct Score {
    forms: usize,
    by_decision: usize,
    by_value: usize,
    equivalent: usize,
    survivors: Vec<(u32, Outcome)>,
    open: usize,
}

/// Writes `score.tsv` and `survivors.tsv` below `folder`, by the equivalents listed there, and the page of all three.
pub fn report(state: &Path, folder: &Path, page: &Path) -> Result<(), String> {
    let list = folder.join(EQUIVALENT);
    let text = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let mut equivalent: Vec<(&str, &str)> =
        text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('\t')).collect();
    let mut scores = String::from("# file\tforms\tby decision\tby value\tequivalent\tsurvive\tnot run\n");
    let mut survivors = String::from("# form\tline\tsurvived, or not_reached by any vector\n");
    let mut sum = Score::default();
    for file in made::FILES.iter().filter(|file| !file.forms.is_empty()) {
        let found = found(state, file);
        let mut score = Score { forms: file.forms.len(), ..Score::default() };
        for number in file.forms.clone() {
            let name = form(number).name;
            let known = equivalent.iter().position(|(other, _)| *other == name);
            match found.get(name).map(|(outcome, _)| *outcome) {
                None => score.open += 1,
                Some(Outcome::ByDecision) => score.by_decision += 1,
                Some(Outcome::ByValue) => score.by_value += 1,
                Some(_) if known.is_some() => {
                    score.equivalent += 1;
                    known.map(|at| equivalent.swap_remove(at));
                }
                Some(outcome) => score.survivors.push((number, outcome)),
            }
        }
        let _ = writeln!(scores, "{}", row(file.stem, &score));
        for (number, outcome) in &score.survivors {
            let form = form(*number);
            let _ = writeln!(survivors, "{}\t{}\t{}", form.name, form.line, outcome.name());
        }
        sum.forms += score.forms;
        sum.by_decision += score.by_decision;
        sum.by_value += score.by_value;
        sum.equivalent += score.equivalent;
        sum.open += score.open;
        sum.survivors.extend(score.survivors);
    }
    let _ = writeln!(scores, "{}", row("all", &sum));
    for (name, text) in [("score.tsv", &scores), ("survivors.tsv", &survivors)] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let written = fairdrop_mutation::page::page(&scores, &survivors, &text)?;
    fs::write(page, written).map_err(|error| format!("{}: {error}", page.display()))?;
    let gone: Vec<_> = equivalent.iter().map(|(name, _)| *name).collect();
    if !gone.is_empty() {
        eprintln!("listed as equivalent, and noticed or not there: {gone:?}");
    }
    let noticed = sum.by_decision + sum.by_value;
    let counted = noticed + sum.survivors.len();
    println!(
        "{noticed} of {counted} wrong forms are noticed ({:.1} %), {} of them by decisions alone; {} are equivalent, {} not run",
        100.0 * noticed as f64 / counted.max(1) as f64,
        sum.by_decision,
        sum.equivalent,
        sum.open
    );
    Ok(())
}

fn row(name: &str, score: &Score) -> String {
    let Score { forms, by_decision, by_value, equivalent, survivors, open } = score;
    format!("{name}\t{forms}\t{by_decision}\t{by_value}\t{equivalent}\t{}\t{open}", survivors.len())
}
