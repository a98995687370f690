//! The command line of `fairdropd`.

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use fairdrop::Time;
use fairdrop_sim::scenario::seconds;

use crate::bridge::BridgeOptions;
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
    /// Put a link between two Ethernet interfaces; up is from the first to the second.
    Bridge(BridgeArgs),
    /// Put back the settings of interfaces that a killed bridge left changed.
    Restore(StateArgs),
    /// Check a link's file and options, and print what they come to.
    Check(LinkArgs),
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
    /// The command and its arguments; without one, the user's shell.
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Options of `fairdropd bridge`.
#[derive(Args, Clone, Debug)]
pub struct BridgeArgs {
    /// The interface of those who send up.
    #[arg(value_name = "IF1")]
    pub first: String,
    /// The interface of those who send down.
    #[arg(value_name = "IF2")]
    pub second: String,
    /// The link.
    #[command(flatten)]
    pub link: LinkArgs,
    /// What goes on beside it.
    #[command(flatten)]
    pub services: ServiceArgs,
    /// Where settings of interfaces are kept that are put back at the end.
    #[command(flatten)]
    pub state: StateArgs,
    /// Leave the interfaces' settings as they are; what they join is cut again.
    #[arg(long)]
    pub keep_offloads: bool,
    /// Longest packet that passes, should an interface's MTU become larger, bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 9000, value_parser = clap::value_parser!(u32).range(68..=65_535))]
    pub mtu: u32,
    /// Size of each receive ring, MiB.
    #[arg(long, value_name = "MIB", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub ring: u32,
    /// Fetch frames in blocks: less work where very many come, up to a millisecond late where few do.
    #[arg(long)]
    pub blocks: bool,
}

/// Where state is kept.
#[derive(Args, Clone, Debug)]
pub struct StateArgs {
    /// Directory of the settings that are to be put back.
    #[arg(long, value_name = "DIRECTORY", default_value = crate::bridge::STATE_DIR)]
    pub state: PathBuf,
}

impl BridgeArgs {
    /// What the bridge is made of.
    ///
    /// # Errors
    /// What is wrong with the link, a line each.
    pub fn read(&self) -> Result<BridgeOptions, String> {
        Ok(BridgeOptions {
            interfaces: [self.first.clone(), self.second.clone()],
            link: self.link.read()?,
            spin: self.services.spin.unwrap_or(Time::ZERO),
            mtu: self.mtu,
            ring_bytes: self.ring << 20,
            blocks: self.blocks,
            state: (!self.keep_offloads).then(|| self.state.state.clone()),
        })
    }
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
