//! Plays vectors to the forms of one file: numbers come on the standard input, outcomes go to the standard output.

use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use fairdrop::AnyParams;
use fairdrop_conformance::{Vector, apply};

use crate::beside::{compare, first_difference, vectors_of};
use crate::compare::declare_mistaken;
use crate::forms::{seen_in, turn_on};
use crate::made::{FILES, FORMS, reference_of};
use crate::slow::Slow;

/// Turns that a form may make on one vector. The sound references make at most some hundred thousand.
const TURNS: u64 = 20_000_000;

/// How a form was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It drops, marks or sends another packet.
    ByDecision,
    /// It takes other random numbers or candidates, or has another internal value, and decides alike as far as it can be played.
    ByValue,
    /// No vector comes by its place.
    NotReached,
    Survived,
}

impl Outcome {
    pub const ALL: [(Self, &str); 4] = [
        (Self::ByDecision, "decision"),
        (Self::ByValue, "value"),
        (Self::NotReached, "not_reached"),
        (Self::Survived, "survived"),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(outcome, _)| *outcome)
    }
}

/// A vector, its parameters, and the places that its run comes by.
pub struct Played {
    vector: Vector,
    params: AnyParams,
    seen: Vec<bool>,
}

impl Played {
    /// Plays a vector to the sound reference, which has to agree.
    pub fn of(vector: Vector, params: AnyParams) -> Result<Self, String> {
        let mut sound = Ok(());
        let seen = seen_in(FORMS.len() + 1, || {
            sound = compare(&vector, params.clone(), reference(&params).as_mut());
        });
        sound.map_err(|why| format!("{}/{}: {why}", vector.header.discipline, vector.header.case))?;
        Ok(Self { vector, params, seen })
    }
}

/// Answers each number on the standard input by a line: number, outcome, vector.
pub fn play(stem: &str) -> Result<(), String> {
    let file = FILES.iter().find(|file| file.stem == stem).ok_or_else(|| format!("no reference {stem}"))?;
    std::panic::set_hook(Box::new(|_| {}));
    let mut vectors = Vec::new();
    for vector in file.disciplines().into_iter().flat_map(vectors_of) {
        let params = apply(&vector.header)?;
        vectors.push(Played::of(vector, params)?);
    }
    for line in io::stdin().lock().lines() {
        let form: u32 =
            line.map_err(|e| e.to_string())?.parse().map_err(|_| "a form is a number".to_owned())?;
        let (outcome, by) = outcome(form, &vectors);
        println!("{form}\t{}\t{by}", outcome.name());
        io::stdout().flush().map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn reference(params: &AnyParams) -> Box<dyn Slow> {
    reference_of(params).expect("every form of every discipline has a reference")
}

/// Whether a vector notices a form, by decisions or by values.
pub fn notices(form: u32, Played { vector, params, seen }: &Played) -> bool {
    seen[form as usize]
        && !matches!(on(form, || compare(vector, params.clone(), reference(params).as_mut())), Some(Ok(())))
}

/// How a form is noticed, and by which vector.
pub fn outcome(form: u32, vectors: &[Played]) -> (Outcome, String) {
    let reached: Vec<_> = vectors.iter().filter(|played| played.seen[form as usize]).collect();
    if reached.is_empty() {
        return (Outcome::NotReached, String::new());
    }
    let name = |played: &Played| format!("{}/{}", played.vector.header.discipline, played.vector.header.case);
    let mut by_value = None;
    for played in reached {
        let Played { vector, params, .. } = played;
        let strict = on(form, || compare(vector, params.clone(), reference(params).as_mut()));
        if matches!(strict, Some(Ok(()))) {
            continue;
        }
        by_value.get_or_insert(played);
        declare_mistaken(true);
        let lenient = on(form, || first_difference(vector, reference(params).as_mut()));
        declare_mistaken(false);
        // A program that fails, or never ends, has not decided as it should.
        if matches!(lenient, None | Some(Ok(Some(_)))) {
            return (Outcome::ByDecision, name(played));
        }
    }
    by_value.map_or((Outcome::Survived, String::new()), |played| (Outcome::ByValue, name(played)))
}

/// What a run returns with a form turned on; nothing where it fails.
fn on<T>(form: u32, run: impl FnOnce() -> T) -> Option<T> {
    turn_on(form, TURNS);
    let result = catch_unwind(AssertUnwindSafe(run)).ok();
    turn_on(0, u64::MAX);
    result
}
