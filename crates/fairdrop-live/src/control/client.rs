//! `fairdropd ctl`: asks a `fairdropd` that runs.

use crate::control::{Request, default_path};
use clap::{Args, Subcommand};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Options of `fairdropd ctl`.
#[derive(Args, Clone, Debug)]
pub struct CtlArgs {
    /// The socket that `--control` named; without it the one in the environment (`FAIRDROPD_SOCKET`), else that of the user's or the system's run directory.
    #[arg(long, value_name = "PATH", global = true)]
    pub socket: Option<PathBuf>,
    /// Print the answer as JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// What to ask.
    #[command(subcommand)]
    pub command: CtlCommand,
}

/// What to ask.
#[derive(Clone, Debug, Subcommand)]
pub enum CtlCommand {
    /// Show how each direction is.
    Show,
    /// Change values at once, all of them or none (rate=20mbit, queue.choke.candidates=3).
    Set {
        /// FIELD=VALUE, and `direction up` or `direction down` for one direction only.
        #[arg(required = true, value_name = "FIELD=VALUE")]
        words: Vec<String>,
        /// Only this direction.
        #[arg(long, value_name = "up|down")]
        direction: Option<String>,
    },
    /// Put another discipline in place (queue=`fq_codel`); what waits stays, and goes first.
    Swap {
        /// queue=NAME, and `direction up` or `direction down` for one direction only.
        #[arg(required = true, value_name = "queue=NAME")]
        words: Vec<String>,
        /// Only this direction.
        #[arg(long, value_name = "up|down")]
        direction: Option<String>,
    },
}

impl CtlCommand {
    fn request(&self) -> Result<Request, String> {
        match self {
            Self::Show => Ok(Request::Show),
            Self::Set { words, direction } => Ok(set(words, direction.as_ref())),
            Self::Swap { words, direction } => {
                let request = set(words, direction.as_ref());
                if let Request::Set { settings, .. } = &request {
                    let swaps = |setting: &String| {
                        setting.split('=').next().is_some_and(|path| path.ends_with("queue"))
                    };
                    if let Some(other) = settings.iter().find(|setting| !swaps(setting)) {
                        return Err(format!(
                            "{other:?} swaps nothing; valid: queue=NAME, for example queue=fq_codel"
                        ));
                    }
                }
                Ok(request)
            }
        }
    }
}

/// `direction NAME` among the words is the option of that name.
fn set(words: &[String], direction: Option<&String>) -> Request {
    let (mut settings, mut direction) = (Vec::new(), direction.cloned());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match (word.as_str(), words.as_slice().first()) {
            ("direction", Some(name)) => {
                direction = Some(name.clone());
                words.next();
            }
            _ => settings.push(word.clone()),
        }
    }
    Request::Set { settings, direction }
}

/// Asks, and returns what to print.
///
/// # Errors
/// Nobody answers, or the request is refused.
pub fn ctl(args: &CtlArgs) -> Result<String, String> {
    let request = args.command.request()?;
    let path = args.socket.clone().unwrap_or_else(default_path);
    let answer = ask(&path, &request).map_err(|why| format!("{}: {why}", path.display()))?;
    if answer["ok"] != true {
        return Err(answer["error"].as_str().unwrap_or("the answer makes no sense").to_owned());
    }
    if args.json {
        return Ok(format!("{answer}\n"));
    }
    Ok(match request {
        Request::Show => shown(&answer),
        Request::Set { .. } => changed(&answer),
    })
}

/// The problem, and the valid values.
fn ask(path: &Path, request: &Request) -> Result<Value, String> {
    let mut stream = UnixStream::connect(path).map_err(|error| refused(path, &error))?;
    let mut talk = || {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        // A refusal is sent before the request is read.
        let written = stream.write_all(&line);
        let mut answer = String::new();
        BufReader::new(&stream).read_line(&mut answer)?;
        if answer.is_empty() {
            written?;
        }
        Ok::<_, std::io::Error>(answer)
    };
    let answer = talk().map_err(|error| unanswered(&error.to_string()))?;
    if answer.is_empty() {
        return Err(unanswered("the connection was closed"));
    }
    serde_json::from_str(&answer).map_err(|error| unanswered(&error.to_string()))
}

/// There was a connection.
fn unanswered(why: &str) -> String {
    format!("no answer: {why}; valid: to ask again, while the link runs and few others ask")
}

/// There is no connection.
fn refused(path: &Path, error: &io::Error) -> String {
    let running = "the path that a running fairdropd was given as --control";
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            let owner =
                std::fs::metadata(path).map_or("another user".into(), |file| format!("user {}", file.uid()));
            let own = rustix::process::geteuid().as_raw();
            format!(
                "not yours: it is {owner}'s, and you are user {own}; valid: to ask as that user, or as root (sudo)"
            )
        }
        io::ErrorKind::NotFound => format!("there is no such socket; valid: {running}"),
        io::ErrorKind::ConnectionRefused => format!("nobody listens there any more; valid: {running}"),
        _ => format!("{error}; valid: {running}"),
    }
}

fn changed(answer: &Value) -> String {
    let lines = |name: &str, prefix: &str| {
        let of = answer[name].as_array().into_iter().flatten().filter_map(Value::as_str);
        of.flat_map(|line| [prefix, line, "\n"]).collect::<String>()
    };
    lines("changed", "") + &lines("warnings", "note: ")
}

/// A number of bits, bytes or packets with a prefix.
fn short(number: f64) -> String {
    let units = ["", "k", "M", "G", "T"];
    let power = (number.max(1.0).log10() / 3.0).floor().min(4.0);
    let scaled = number / 1000_f64.powf(power);
    if power == 0.0 { format!("{scaled:.0}") } else { format!("{scaled:.3} {}", units[power as usize]) }
}

fn shown(answer: &Value) -> String {
    let mut text = String::new();
    let directions = answer["directions"].as_object().into_iter().flatten();
    for (name, report) in directions {
        let number = |path: &str| report.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
        let rate = report["rate_bps"].as_f64().map_or("no rate".into(), |bps| format!("{}bit/s", short(bps)));
        let _ = writeln!(
            text,
            "{}, {name}: {rate}, {}, at most {} packets; {:.0} s",
            answer["link"].as_str().unwrap_or_default(),
            report["discipline"].as_str().unwrap_or_default(),
            report["limit"],
            number("/uptime_s"),
        );
        let amount = |what: &str| {
            let of = |unit| number(&format!("/{what}/{unit}"));
            format!("{:.0} packets, {}B", of("packets"), short(of("bytes")))
        };
        for what in ["arrived", "delivered", "marked", "queued", "waiting"] {
            let _ = writeln!(text, "  {what:<10} {}", amount(what));
        }
        for (cause, _) in report["dropped"].as_object().into_iter().flatten() {
            let _ = writeln!(text, "  dropped    {}: {cause}", amount(&format!("dropped/{cause}")));
        }
        let _ = writeln!(
            text,
            "  wait       median {:.3} ms, 99th percentile {:.3} ms",
            number("/wait_p50_s") * 1e3,
            number("/wait_p99_s") * 1e3
        );
        let _ = writeln!(
            text,
            "  lateness   median {:.3} ms, 99th percentile {:.3} ms; {:.0} lost before they were read, {:.0} behind",
            number("/lateness/p50_s") * 1e3,
            number("/lateness/p99_s") * 1e3,
            number("/lost_before"),
            number("/lost_behind")
        );
        for pair in report["internals"].as_array().into_iter().flatten() {
            let _ = writeln!(text, "  {:<10} {}", pair[0].as_str().unwrap_or_default(), pair[1]);
        }
        for flow in report["flows"].as_array().into_iter().flatten().take(5) {
            let _ = writeln!(
                text,
                "  {:5.1} %    {}",
                flow["share"].as_f64().unwrap_or(0.0) * 100.0,
                flow["name"].as_str().unwrap_or_default()
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_command() {
        let words = |of: &[&str]| of.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let plain = set(&words(&["rate=20mbit", "direction", "up", "loss=0.1"]), None);
        let expected =
            Request::Set { settings: words(&["rate=20mbit", "loss=0.1"]), direction: Some("up".into()) };
        assert_eq!(plain, expected);
        let swap = CtlCommand::Swap { words: words(&["rate=1mbit"]), direction: None };
        assert!(swap.request().unwrap_err().contains("valid: queue=NAME"));
        assert_eq!((short(0.0), short(999.0), short(20e6)), ("0".into(), "999".into(), "20.000 M".into()));
    }
}
