//! `fairdropd`: real traffic through the queue disciplines.

use clap::Parser;
use fairdrop_live::cli::{Cli, Command};
use fairdrop_live::lab::command::lab;
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
        Command::Lab(arguments) => Ok(lab(&arguments)),
        Command::Shell(_) => Err("not there yet".into()),
    }
}
