//! Changes of a link that runs: read as a whole, refused as a whole, made in both directions or in none.

use crate::config::{DIRECTIONS, TwoWay};
use crate::control::spread::{Part, parts, spread, with};
use crate::control::{Changed, Request, Shown};
use crate::host::{Change, Mailbox};
use fairdrop::{AnyDiscipline, AnyParams, Heap};
use fairdrop_config::{Problem, Problems};
use std::collections::BTreeMap;
use std::io;

/// A link that runs, and its description.
pub struct Steering {
    name: String,
    link: TwoWay,
    /// In the order of [`DIRECTIONS`].
    mailboxes: [Mailbox; 2],
}

/// A change and what takes it back.
struct Step {
    direction: usize,
    change: Change,
    back: Change,
}

impl Steering {
    /// Of the link that `link` describes, called `name`.
    pub fn new(name: &str, mut link: TwoWay, mailboxes: [Mailbox; 2]) -> Self {
        link.written = spread(&link.written);
        Self { name: name.into(), link, mailboxes }
    }

    /// Answers a request.
    ///
    /// # Errors
    /// What is wrong with it; nothing has changed then.
    pub fn answer(&mut self, request: &Request) -> Result<serde_json::Value, String> {
        let answer = match request {
            Request::Show => serde_json::to_value(self.show().map_err(|error| error.to_string())?),
            Request::Set { settings, direction } => {
                serde_json::to_value(self.set(settings, direction.as_deref())?)
            }
        };
        answer.map_err(|error| error.to_string())
    }

    /// How the link is.
    ///
    /// # Errors
    /// It has ended.
    pub fn show(&self) -> io::Result<Shown> {
        let mut directions = BTreeMap::new();
        for (name, mailbox) in DIRECTIONS.into_iter().zip(&self.mailboxes) {
            directions.insert(name, mailbox.report()?);
        }
        Ok(Shown { link: self.name.clone(), settings: self.link.source.clone(), directions })
    }

    /// Sets values, in both directions or in one.
    ///
    /// # Errors
    /// One of them is not valid, or cannot be changed now; nothing has changed then.
    pub fn set(&mut self, settings: &[String], direction: Option<&str>) -> Result<Changed, String> {
        let direction = direction.map(direction_of).transpose()?;
        let mut all = Vec::new();
        for setting in settings {
            all.extend(parts(setting, direction)?);
        }
        if all.is_empty() {
            return Err("no setting was given; valid: FIELD=VALUE, for example rate=20mbit".into());
        }
        let written = with(&self.link.written, &all);
        let new = TwoWay::parse(&written.text, &written.file, &written.settings)
            .map_err(|problems| problem_text(&problems, &written.settings))?;
        self.make(&self.steps(&new, &all)?)?;
        let warnings = new.directions().into_iter().filter_map(|way| way.queue.warning());
        let mut warnings: Vec<String> = warnings.collect();
        warnings.dedup();
        self.link = new;
        Ok(Changed { changed: all.iter().map(Part::setting).collect(), warnings })
    }

    /// What has to be done, in order.
    fn steps(&self, new: &TwoWay, parts: &[Part]) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        for (direction, (old, new)) in self.link.directions().into_iter().zip(new.directions()).enumerate() {
            let touched =
                |of: fn(&Part) -> bool| parts.iter().any(|part| part.direction == direction && of(part));
            let mut add = |change, back| steps.push(Step { direction, change, back });
            // Those that wait go first, beside those that the new queue may hold.
            let buffers = Change::Buffers(new.buffers.saturating_add(new.queue.limit));
            add(buffers.clone(), buffers);
            if touched(Part::of_queue) {
                let params = new.params();
                allowed(&params).map_err(|error| format!("{}.queue: {error}", DIRECTIONS[direction]))?;
                add(Change::Queue(params), Change::Queue(old.params()));
            }
            if touched(|part| ["rate", "trace"].contains(&part.field.as_str())) {
                add(Change::Pace(new.pace.clone()), Change::Pace(old.pace.clone()));
            }
            if touched(|part| ["delay", "jitter", "loss"].contains(&part.field.as_str())) {
                add(Change::Channel(new.channel), Change::Channel(old.channel));
            }
        }
        Ok(steps)
    }

    fn make(&self, steps: &[Step]) -> Result<(), String> {
        for (done, step) in steps.iter().enumerate() {
            let made = self.mailboxes[step.direction].change(step.change.clone());
            if let Err(why) = made.map_err(|error| error.to_string()).and_then(|made| made) {
                for step in steps[..done].iter().rev() {
                    // What was valid before is valid still; a link that has ended has nothing to take back.
                    let _ = self.mailboxes[step.direction].change(step.back.clone());
                }
                return Err(format!("{}: {why}", DIRECTIONS[step.direction]));
            }
        }
        Ok(())
    }
}

fn direction_of(name: &str) -> Result<usize, String> {
    DIRECTIONS
        .iter()
        .position(|&direction| direction == name)
        .ok_or_else(|| format!("direction {name:?} is not valid; valid: up, down"))
}

/// Whether the discipline accepts its parameters and there is memory for its queue.
fn allowed(params: &AnyParams) -> Result<(), String> {
    AnyDiscipline::<u32, Heap>::new(params.clone(), &mut Heap).map(drop).map_err(|error| error.to_string())
}

/// The problems, without the option `--set` that names settings in other commands.
fn problem_text(problems: &Problems, settings: &[String]) -> String {
    let what = |problem: &Problem| {
        let line = problem.to_string();
        let bare = settings.iter().find_map(|setting| line.strip_prefix(&format!("--set {setting}: ")));
        bare.map(str::to_owned).unwrap_or(line)
    };
    problems.0.iter().map(what).collect::<Vec<_>>().join("\n")
}
