//! `fairdropd`: real traffic through the queue disciplines.

use clap::Parser;
use fairdrop_live::cli::{self, Cli, Command};
use fairdrop_live::daemon::Refusal;
#[cfg(feature = "lab")]
use fairdrop_live::lab;
use fairdrop_live::{bridge, control, os::namespace, output, routed, say, shell};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(problem) => {
            problem.lines().for_each(|line| say!("error: {line}"));
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<ExitCode, String> {
    match command {
        Command::Check(check) => {
            let link = check.read()?;
            output::print(&link.source)?;
            link.in_words().iter().for_each(|line| say!("{line}"));
            Ok(ExitCode::SUCCESS)
        }
        Command::Ctl(args) => output::print(&control::ctl(&args)?).map(|()| ExitCode::SUCCESS),
        Command::Qdisc(args) => output::print(&args.run()?).map(|()| ExitCode::SUCCESS),
        Command::Man => {
            let manual = cli::manual().map_err(|error| error.to_string())?;
            output::print(&manual).map(|()| ExitCode::SUCCESS)
        }
        Command::Completions { shell } => output::print(&cli::completions(shell)).map(|()| ExitCode::SUCCESS),
        Command::SettingsKeeper { socket } => Ok(bridge::keep(&socket)),
        Command::NamespaceHelper { arguments } => Ok(namespace::serve(&arguments)),
        Command::Shell(args) => shell::run(&args),
        #[cfg(feature = "lab")]
        Command::Lab(arguments) => Ok(lab::command::lab(&arguments)),
        Command::Bridge(bridge) => Ok(exit(bridge::run(&bridge))),
        Command::Tun(tun) => Ok(exit(routed::run(&tun))),
        Command::Restore(state) => Ok(exit(bridge::run_restore(&state.state))),
    }
}

fn exit(ended: Result<(), Refusal>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            refusal.message.lines().for_each(|line| say!("error: {line}"));
            ExitCode::from(refusal.code)
        }
    }
}
