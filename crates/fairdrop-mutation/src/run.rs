//! Works through the forms in processes of their own, since a form may take all memory or never end, and keeps what it found.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use crate::play::Outcome;
use crate::{File, form, made};

/// Time after which a form is taken to go on for ever: thousands of times what one takes.
const LIMIT: Duration = Duration::from_secs(120);

/// What was found about a form, and the vector that noticed it.
pub type Found = BTreeMap<String, (Outcome, String)>;

/// Works through the forms of files whose outcome is not known; survivors are played to again, since vectors may have come.
pub fn run(state: &Path, stems: &[&str]) -> Result<(), String> {
    fs::create_dir_all(state).map_err(|error| format!("{}: {error}", state.display()))?;
    for stem in stems {
        if !made::FILES.iter().any(|file| file.stem == *stem) {
            return Err(format!("no reference {stem}"));
        }
    }
    let mut files: Vec<&File> =
        made::FILES.iter().filter(|file| stems.is_empty() || stems.contains(&file.stem)).collect();
    files.sort_by_key(|file| FIRST.iter().position(|stem| *stem == file.stem).unwrap_or(FIRST.len()));
    for file in files {
        run_file(state, file)?;
    }
    Ok(())
}

/// The files in whose disciplines most is built on.
const FIRST: &[&str] = &["red", "chokew", "ward", "codel", "pie", "fq_codel", "collar"];

fn run_file(state: &Path, file: &File) -> Result<(), String> {
    let found = found(state, file);
    let is_open = |form: &u32| {
        let known = found.get(crate::form(*form).name);
        known.is_none_or(|(outcome, _)| matches!(outcome, Outcome::Survived | Outcome::NotReached))
    };
    let mut open: Vec<u32> = file.forms.clone().filter(is_open).collect();
    open.reverse();
    let all = file.forms.len();
    let mut log = Log::open(&path(state, file), file, found)?;
    while !open.is_empty() {
        let mut player = Player::start(file)?;
        while let Some(number) = open.pop() {
            eprint!("\r{:<22} {:>5} of {all}    ", file.stem, all - open.len());
            match player.ask(number)? {
                Answer::Found(outcome, by) => log.add(number, outcome, &by)?,
                Answer::Ended => {
                    // It has taken all memory, or never ended.
                    log.add(number, Outcome::ByDecision, "the program fails")?;
                    break;
                }
            }
        }
        player.stop();
    }
    eprintln!("\r{:<22} {:>5} of {all}    ", file.stem, all);
    Ok(())
}

fn path(state: &Path, file: &File) -> PathBuf {
    state.join(format!("{}.tsv", file.stem))
}

/// What is known about the forms of a file, unless it has changed.
pub fn found(state: &Path, file: &File) -> Found {
    let text = fs::read_to_string(path(state, file)).unwrap_or_default();
    let Some(rest) = text.strip_prefix(&first_line(file)) else { return Found::new() };
    let read = |line: &str| {
        let mut fields = line.split('\t');
        let (name, outcome, by) = (fields.next()?, fields.next()?, fields.next()?);
        Some((name.to_owned(), (Outcome::named(outcome)?, by.to_owned())))
    };
    rest.lines().filter_map(read).collect()
}

/// The file that the results are of (FNV-1a of its text).
fn first_line(file: &File) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = file.text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("# {}.rs {hash:016x}\n", file.stem)
}

/// The results of a file, added to as they come, so that an interruption loses none.
struct Log(fs::File);

impl Log {
    fn open(path: &Path, file: &File, known: Found) -> Result<Self, String> {
        let problem = |error| format!("{}: {error}", path.display());
        let mut text = first_line(file);
        for (name, (outcome, by)) in known {
            let _ = writeln!(text, "{name}\t{}\t{by}", outcome.name());
        }
        fs::write(path, text).map_err(problem)?;
        Ok(Self(OpenOptions::new().append(true).open(path).map_err(problem)?))
    }

    fn add(&mut self, number: u32, outcome: Outcome, by: &str) -> Result<(), String> {
        let line = format!("{}\t{}\t{by}\n", form(number).name, outcome.name());
        self.0.write_all(line.as_bytes()).map_err(|error| error.to_string())
    }
}

enum Answer {
    Found(Outcome, String),
    Ended,
}

/// A process that plays vectors to the forms of one file.
struct Player {
    process: Child,
    lines: Receiver<String>,
}

impl Player {
    fn start(file: &File) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command.args(["play", file.stem]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| error.to_string())?;
        let output = process.stdout.take().ok_or("no output")?;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Ok(Self { process, lines })
    }

    fn ask(&mut self, number: u32) -> Result<Answer, String> {
        let input = self.process.stdin.as_mut().ok_or("no input")?;
        if writeln!(input, "{number}").is_err() {
            return Err("the references do not answer the vectors as they stand".into());
        }
        let Ok(line) = self.lines.recv_timeout(LIMIT) else { return Ok(Answer::Ended) };
        let fields: Vec<&str> = line.split('\t').collect();
        match (fields.get(1).and_then(|name| Outcome::named(name)), fields.get(2)) {
            (Some(outcome), Some(by)) => Ok(Answer::Found(outcome, (*by).to_owned())),
            _ => Err(format!("the answer {line:?}")),
        }
    }

    fn stop(mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
