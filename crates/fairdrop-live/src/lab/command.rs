//! `fairdropd lab`: one live run of a scenario.

use super::congestion::Congestion;
use super::error::LabError;
use super::run::{become_root, check, run};
use super::sysctl::Sysctls;
use crate::cli::LabArgs;
use crate::os::heeded;
use fairdrop_capture::{Limited, open_regular};
use fairdrop_config::MAX_TEXT_BYTES;
use fairdrop_sim::RunResult;
use fairdrop_sim::scenario::Scenario;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Wrong input.
const WRONG: u8 = 2;
/// It could not be done.
const FAILED: u8 = 1;
/// 128 and the number of SIGINT, as shells count.
const INTERRUPTED: u8 = 130;

/// Runs the command line; errors go to stderr.
pub fn lab(arguments: &LabArgs) -> ExitCode {
    let report = |code: u8, error: &dyn ToString| {
        error.to_string().lines().for_each(|line| crate::say!("error: {line}"));
        code
    };
    let ended = match read(arguments) {
        Err(error) => report(WRONG, &error),
        Ok(scenario) => match live(&scenario, arguments) {
            Ok(code) => code,
            Err(error @ LabError::Refused(_)) => report(WRONG, &error),
            Err(error) => report(FAILED, &error),
        },
    };
    ExitCode::from(ended)
}

fn read(arguments: &LabArgs) -> Result<Scenario, String> {
    let LabArgs { scenario, file, set, .. } = arguments;
    let mut text = String::new();
    let (got, name) = if scenario.as_os_str() == "-" {
        (Limited::new(io::stdin(), MAX_TEXT_BYTES).read_to_string(&mut text).map(drop), file.clone())
    } else {
        let read = open_regular(scenario, MAX_TEXT_BYTES).and_then(io::read_to_string);
        (read.map(|read| text = read), scenario.display().to_string())
    };
    got.map_err(|error| format!("{name}: {error}; valid: a scenario in TOML"))?;
    Scenario::parse(&text, &name, set).map_err(|problems| problems.to_string())
}

fn live(scenario: &Scenario, arguments: &LabArgs) -> Result<u8, LabError> {
    if arguments.end_with_parent {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
            .map_err(io::Error::from)?;
    }
    let congestion = Congestion::of(scenario, &arguments.congestion)?;
    let sysctls = Sysctls::of(&arguments.sysctl)?;
    check(scenario, &congestion)?;
    if arguments.check {
        return Ok(0);
    }
    become_root()?;
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in heeded(&[SIGINT, SIGTERM]) {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let seed = arguments.seed.unwrap_or(scenario.seed);
    let Some(result) = run(scenario, &congestion, &sysctls, seed, &interrupted)? else {
        return Ok(INTERRUPTED);
    };
    write(&result, arguments.out.as_deref())?;
    Ok(0)
}

/// Never half a file: it is written aside and renamed.
fn write(result: &RunResult, out: Option<&Path>) -> io::Result<()> {
    let mut text = serde_json::to_vec(result)?;
    text.push(b'\n');
    let Some(path) = out else { return io::stdout().write_all(&text) };
    let aside = path.with_extension(format!("{}.part", std::process::id()));
    fs::write(&aside, &text)
        .and_then(|()| fs::rename(&aside, path))
        .inspect_err(|_| drop(fs::remove_file(&aside)))
}
