//! What the module answers: a document as the command prints it, or the problems in its words.

use crate::request::{Asked, Request};
use fairdrop_sim::document::{add_source, head, render};
use fairdrop_sim::extension::Extensions;
use fairdrop_sim::memory::{self, Available, Estimate};
use fairdrop_sim::scenario::{Problem, Problems, Scenario, catalogue};
use fairdrop_sim::{Control, RunError, simulate};
use serde_json::{Value as Json, json};
use std::fmt::Display;

/// Why there is no answer: each problem with its line of the text, where it is about one.
struct Refused(Vec<(Option<u32>, String)>);

impl From<Problems> for Refused {
    fn from(Problems(problems): Problems) -> Self {
        let with_line =
            |problem: Problem| (problem.is_of_file().then(|| problem.line()), problem.to_string());
        Self(problems.into_iter().map(with_line).collect())
    }
}

impl Refused {
    fn because(what: &impl ToString) -> Self {
        Self(vec![(None, what.to_string())])
    }

    fn to_json(&self) -> Json {
        let problems = self.0.iter().map(|(line, text)| json!({ "line": line, "text": text }));
        json!({ "problems": problems.collect::<Vec<_>>() })
    }
}

/// Answers a request, JSON text, with JSON text: with `problems` in it where something is wrong.
pub fn answer(request: &[u8]) -> String {
    let answered = match serde_json::from_slice(request) {
        Ok(Request::Catalogue) => Ok(catalogue(&Extensions::default()).to_string()),
        Ok(Request::Run(asked)) => run(&asked),
        Err(error) => Err(Refused::because(&error)),
    };
    answered.unwrap_or_else(|refused| refused.to_json().to_string())
}

/// The result document.
fn run(asked: &Asked) -> Result<String, Refused> {
    let scenario = Scenario::parse(&asked.text, &asked.file, &asked.settings)?;
    let compared = match &asked.disciplines {
        Some(names) => scenario.with_disciplines(names)?,
        None => vec![scenario.clone()],
    };
    let jobs: Vec<_> = compared
        .iter()
        .flat_map(|one| (0..u64::from(asked.seeds)).map(move |more| (one, one.seed.wrapping_add(more))))
        .collect();
    let estimates: Vec<_> = jobs.iter().map(|(one, _)| Estimate::of(one)).collect();
    let about_file = |error: &dyn Display| Refused::because(&format!("{}: {error}", asked.file));
    let (_, bytes) = memory::share(&estimates, 1, &Available::now()).map_err(|error| about_file(&error))?;
    let control = Control::default().with_memory(bytes);
    let mut runs = Vec::with_capacity(jobs.len());
    for (one, seed) in jobs {
        let found = simulate(one, seed, &control).map_err(|error| match error {
            RunError::Memory(excess) => about_file(&excess),
            other => Refused::because(&other),
        })?;
        runs.extend(found);
    }
    let mut head = head("simulation", &scenario.name, &scenario.title, true, None);
    head.insert("scenario".into(), scenario.to_json());
    add_source(&mut head, &scenario, &compared);
    render(&head, &runs).map_err(|error| Refused::because(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADLINE: &str = include_str!("../../../python/fairdrop/scenarios/headline.toml");

    fn answered(request: &Json) -> Json {
        serde_json::from_str(&answer(request.to_string().as_bytes())).unwrap()
    }

    fn run(text: &str, settings: &[&str], disciplines: Option<&[&str]>) -> Json {
        answered(&json!({
            "ask": "run", "file": "mine.toml", "text": text, "settings": settings, "disciplines": disciplines, "seeds": 2,
        }))
    }

    /// The runs are those of the library, under each discipline and seed.
    #[test]
    fn a_document_holds_the_runs() {
        let settings = ["duration=20s", "warm_up=5s"];
        let found = run(HEADLINE, &settings, Some(&["red", "CHOKe", "choke"]));
        let scenario = Scenario::parse(HEADLINE, "mine.toml", &settings.map(String::from)).unwrap();
        let mut runs = Vec::new();
        for name in ["red", "choke"] {
            for seed in [1, 2] {
                let one = scenario.with_discipline(name).unwrap();
                runs.push(json!(simulate(&one, seed, &Control::default()).unwrap()));
            }
        }
        assert_eq!(found["runs"], Json::Array(runs));
        assert_eq!(found["kind"], "simulation");
    }

    /// The text comes back with the settings written into it, so that a page can show it.
    #[test]
    fn the_source_has_the_settings() {
        let found = run(HEADLINE, &["duration=20s", "warm_up=5s", "groups.udp.rate=3mbit"], None);
        let source = found["scenario_source"].as_str().unwrap();
        assert!(source.contains("rate = \"3mbit\"") && source.contains("# open"), "{source}");
        assert_eq!(found["runs"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn problems_have_their_lines_and_the_words_of_the_command() {
        let text = HEADLINE.replace("rate = \"2mbit\"", "rate = \"fast\"");
        let line = 1 + text.lines().position(|line| line.contains("fast")).unwrap();
        let Err(problems) = Scenario::parse(&text, "mine.toml", &[]) else { panic!("it is wrong") };
        let expected = json!({ "problems": [{ "line": line, "text": problems.to_string() }] });
        assert_eq!(run(&text, &[], None), expected);
    }

    #[test]
    fn what_is_wrong_beside_the_text_has_no_line() {
        let first = |found: &Json| found["problems"][0].clone();
        let found = first(&run(HEADLINE, &["queue.limit=many"], None));
        assert_eq!(found["line"], Json::Null);
        assert!(found["text"].as_str().unwrap().starts_with("--set queue.limit=many: "), "{found}");
        let found = first(&run(HEADLINE, &[], Some(&["chock"])));
        assert!(
            found["text"].as_str().unwrap().starts_with("there is no discipline \"chock\"; valid: one of "),
            "{found}"
        );
        assert!(first(&answered(&json!({ "ask": "what" })))["text"].is_string());
    }

    #[test]
    fn the_catalogue_names_every_discipline() {
        assert_eq!(answered(&json!({ "ask": "catalogue" })), catalogue(&Extensions::default()));
    }
}
