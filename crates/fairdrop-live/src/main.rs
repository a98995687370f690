//! `fairdropd`: real traffic through the queue disciplines.

use clap::Parser;
use fairdrop_live::bridge::{self, Refusal};
use fairdrop_live::cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(problem) => {
            problem.lines().for_each(|line| eprintln!("error: {line}"));
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<ExitCode, String> {
    match command {
        Command::Check(link) => {
            print!("{}", link.read()?.source);
            Ok(ExitCode::SUCCESS)
        }
        Command::Bridge(bridge) => Ok(exit(bridge::run(&bridge.read()?))),
        Command::Restore(state) => Ok(exit(bridge::run_restore(&state.state))),
        Command::Shell(_) => Err("not there yet".into()),
    }
}

fn exit(ended: Result<(), Refusal>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            eprintln!("error: {}", refusal.message);
            ExitCode::from(refusal.code)
        }
    }
}
