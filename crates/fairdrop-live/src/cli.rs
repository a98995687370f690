//! The command line of `fairdropd`.

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use fairdrop::Time;
use fairdrop_sim::scenario::seconds;

use crate::config::{DIRECTIONS, TwoWay, setting_of};

/// Real traffic through queue disciplines that are fair without per-flow state.
#[derive(Debug, Parser)]
#[command(name = "fairdropd", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a command behind an emulated link, as an ordinary user.
    Shell(ShellArgs),
    /// Run a scenario once with real hosts, as `fairdrop live` does for each seed.
    Lab(LabArgs),
    /// Check a link's file and options, and print what they come to.
    Check(LinkArgs),
    /// A process in namespaces, for fairdropd itself.
    #[command(name = crate::os::namespace::COMMAND, hide = true, disable_help_flag = true)]
    NamespaceHelper {
        /// Of the other side.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// A link.
#[derive(Args, Clone, Debug, Default)]
pub struct LinkArgs {
    /// Towards the outside: a rate (10mbit) or a file of delivery chances in mahimahi's format.
    #[arg(long, value_name = "LINK")]
    pub up: Option<String>,
    /// From the outside: a rate (10mbit) or a file of delivery chances in mahimahi's format.
    #[arg(long, value_name = "LINK")]
    pub down: Option<String>,
    /// A file that describes both directions; options overrule it.
    #[arg(long, value_name = "FILE")]
    pub link: Option<PathBuf>,
    /// Propagation delay of each direction (20ms).
    #[arg(long, value_name = "TIME")]
    pub delay: Option<String>,
    /// Added to the delay, uniform from 0 to this; packets keep their order.
    #[arg(long, value_name = "TIME")]
    pub jitter: Option<String>,
    /// Probability with which each direction loses a packet.
    #[arg(long, value_name = "P")]
    pub loss: Option<String>,
    /// Queue discipline of both directions (`fairdrop list` tells the names).
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,
    /// A field of [queue] (choke.candidates=3, limit=100p), or one of the file (up.delay=5ms). May be given more than once.
    #[arg(long, value_name = "FIELD=VALUE")]
    pub set: Vec<String>,
}

/// What goes on beside the link.
#[derive(Args, Clone, Debug, Default)]
pub struct ServiceArgs {
    /// Serve metrics, JSON and a live page at this address; port 0 takes a free one and says which.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<SocketAddr>,
    /// Listen for `fairdropd ctl` at this path.
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Record arrivals, departures and drops with their causes.
    #[arg(long, value_name = "FILE.pcapng")]
    pub record: Option<PathBuf>,
    /// Spend this part of each sleep awake, which is more exact and costs a processor (50us).
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub spin: Option<Time>,
}

/// Options of `fairdropd shell`.
#[derive(Args, Clone, Debug)]
pub struct ShellArgs {
    /// The link.
    #[command(flatten)]
    pub link: LinkArgs,
    /// What goes on beside it.
    #[command(flatten)]
    pub services: ServiceArgs,
    /// Call the run invalid when packets were later than this at the 99th percentile (1ms).
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub max_lateness: Option<Time>,
    /// Call the run invalid when more packets were lost before they could be read.
    #[arg(long, value_name = "PACKETS", default_value_t = 0)]
    pub max_lost: u64,
    /// Write what is said at the end, and more, to a file in JSON.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// The command and its arguments; without one, the user's shell.
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Options of `fairdropd lab`.
#[derive(Args, Clone, Debug)]
pub struct LabArgs {
    /// The scenario; - for standard input.
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// What messages call the scenario, and where paths in it begin, when it comes from standard input.
    #[arg(long, value_name = "FILE", default_value = "scenario")]
    pub file: String,
    /// Change a field, such as queue.red.max_p=0.02. May be given more than once.
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Seed of the run; that of the scenario when left out.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write the run here instead of to standard output.
    #[arg(long, value_name = "FILE.json")]
    pub out: Option<PathBuf>,
    /// Only say whether real hosts can do what the scenario asks for.
    #[arg(long)]
    pub check: bool,
}

fn time(text: &str) -> Result<Time, String> {
    seconds(text).map(|seconds| Time::from_ns((seconds * 1e9) as u64))
}

impl LinkArgs {
    /// The link that file and options describe.
    ///
    /// # Errors
    /// What is wrong, a line each.
    pub fn read(&self) -> Result<TwoWay, String> {
        let (text, file) = match &self.link {
            None => (String::new(), "command line".to_owned()),
            Some(path) => {
                let name = path.display().to_string();
                let text = fs::read_to_string(path).map_err(|error| {
                    format!("--link {name:?}: {error}; valid: a file in TOML, see fairdropd(1)")
                })?;
                (text, name)
            }
        };
        let settings = self.settings()?;
        TwoWay::parse(&text, &file, &settings).map_err(|problems| problems.to_string())
    }

    /// The options as settings of the file's fields.
    fn settings(&self) -> Result<Vec<String>, String> {
        let mut settings = Vec::new();
        for (direction, link) in DIRECTIONS.into_iter().zip([&self.up, &self.down]) {
            if let Some(link) = link {
                settings.push(setting_of(direction, link)?);
            }
        }
        for (field, value) in [("delay", &self.delay), ("jitter", &self.jitter), ("loss", &self.loss)] {
            let of = |direction| value.as_ref().map(|value| format!("{direction}.{field}={value}"));
            settings.extend(DIRECTIONS.into_iter().filter_map(of));
        }
        settings.extend(self.queue.as_ref().map(|name| format!("queue.discipline={name}")));
        let of_top = |setting: &str| {
            let first = setting.split(['.', '=']).next().unwrap_or_default().trim();
            ["up", "down", "queue", "seed", "schema"].contains(&first)
        };
        settings.extend(
            self.set.iter().map(
                |setting| {
                    if of_top(setting) { setting.clone() } else { format!("queue.{setting}") }
                },
            ),
        );
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(options: &[&str]) -> Result<TwoWay, String> {
        let words = ["fairdropd", "check"].iter().chain(options);
        match Cli::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Command::Check(link) => link.read(),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn options_are_settings() {
        let options =
            ["--down", "10mbit", "--queue", "choke", "--set", "choke.candidates=3", "--delay", "5ms"];
        let two_way = link(&options).unwrap();
        assert_eq!((two_way.down.rate_bps(), two_way.up.rate_bps()), (Some(10_000_000), None));
        assert_eq!(two_way.up.impairments.delay, Time::from_ns(5_000_000));
        for direction in [&two_way.up, &two_way.down] {
            assert_eq!(direction.queue.discipline, "choke");
            assert_eq!(direction.queue.to_json()["choke"]["candidates"], 3);
        }
        let error = link(&["--queue", "chokes"]).unwrap_err();
        assert!(
            error.starts_with("--set queue.discipline=chokes: queue.discipline = \"chokes\" is not valid"),
            "{error}"
        );
    }
}
