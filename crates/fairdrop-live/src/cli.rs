//! The command line of `fairdropd`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use fairdrop::{Time, notation};
use fairdrop_capture::open_regular;
use fairdrop_config::argument::seconds;

use crate::config::{DIRECTIONS, TwoWay, setting_of};
use crate::control::CtlArgs;
use crate::port::Joining;
use crate::summary::Limits;

/// The hidden command that keeps settings of interfaces for a bridge; its argument is the number of the socket.
pub const KEEPER: &str = "settings-keeper";

/// The largest file of a link.
const MOST_FILE_BYTES: u64 = 1 << 20;

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
    #[cfg(feature = "lab")]
    Lab(LabArgs),
    /// Put a link between two Ethernet interfaces; up is from the first to the second.
    Bridge(BridgeArgs),
    /// Make two TUN devices with a link between them; up is from NAME to its peer.
    Tun(TunArgs),
    /// Put back the settings of interfaces that a killed bridge left changed.
    Restore(StateArgs),
    /// Check a link's file and options, and print the resulting link.
    Check(CheckArgs),
    /// Look at a fairdropd that runs, and change its link.
    Ctl(CtlArgs),
    /// Queue disciplines in the kernel, in the words of tc: add, change, replace, del, show.
    Qdisc(QdiscArgs),
    /// Print the manual page (roff).
    Man,
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// A process that keeps settings of interfaces, for fairdropd itself.
    #[command(name = KEEPER, hide = true, disable_help_flag = true)]
    SettingsKeeper {
        /// Its socket.
        socket: OsString,
    },
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
    #[arg(long, value_name = "LINK", allow_hyphen_values = true)]
    pub up: Option<String>,
    /// From the outside: a rate (10mbit) or a file of delivery chances in mahimahi's format.
    #[arg(long, value_name = "LINK", allow_hyphen_values = true)]
    pub down: Option<String>,
    /// A file that describes both directions; options overrule it.
    #[arg(id = "file", long = "link", value_name = "FILE")]
    pub link: Option<PathBuf>,
    /// Propagation delay of each direction (20ms).
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub delay: Option<String>,
    /// Added to the delay, uniform from 0 to this; packets keep their order.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub jitter: Option<String>,
    /// Probability with which each direction loses a packet.
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub loss: Option<String>,
    /// Queue discipline of both directions (`fairdrop list` has the names).
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,
    /// A field of `[queue]` (choke.candidates=3, limit=100p), or one of the file (up.delay=5ms). May be given more than once.
    #[arg(long, value_name = "FIELD=VALUE")]
    pub set: Vec<String>,
}

/// Options of `fairdropd qdisc`.
#[derive(Args, Clone, Debug)]
pub struct QdiscArgs {
    /// A folder with the programs that make bpf builds. Without it: /usr/lib/fairdrop/bpf, /usr/local/lib/fairdrop/bpf, build/bpf.
    #[arg(long, value_name = "DIR")]
    pub objects: Option<PathBuf>,
    /// Print what libbpf and the kernel's verifier say.
    #[arg(long)]
    pub verbose: bool,
    /// As for tc qdisc: add dev eth0 root choke limit 300 min 30 max 60; show -s -j dev eth0.
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

impl QdiscArgs {
    /// Does what the words ask for; the text to print.
    ///
    /// # Errors
    /// The problem of the words, or the kernel's error.
    #[cfg(all(feature = "qdisc", not(target_feature = "crt-static")))]
    pub fn run(&self) -> Result<String, String> {
        crate::qdisc::run(&self.words, self.objects.as_deref(), self.verbose)
    }

    /// Says why it can't.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(all(feature = "qdisc", not(target_feature = "crt-static"))))]
    pub fn run(&self) -> Result<String, String> {
        Err("this fairdropd can't load libbpf, since it is linked statically or built without the feature qdisc; valid: \
             make fairdropd"
            .into())
    }
}

/// Options of `fairdropd check`.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// The link's file, as with --link.
    #[arg(value_name = "FILE", conflicts_with = "file")]
    pub config: Option<PathBuf>,
    /// The link.
    #[command(flatten)]
    pub link: LinkArgs,
}

impl CheckArgs {
    /// The link that file and options describe.
    ///
    /// # Errors
    /// What is wrong, a line each.
    pub fn read(&self) -> Result<TwoWay, String> {
        let mut link = self.link.clone();
        link.link = link.link.or_else(|| self.config.clone());
        link.read()
    }
}

/// What goes on beside the link.
#[derive(Args, Clone, Debug)]
pub struct ServiceArgs {
    /// Serve metrics, JSON and a live page at this address; port 0 takes a free one and says which.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub metrics: Option<SocketAddr>,
    /// A file with the secret that clients must name; needed when --metrics is open to other machines.
    #[arg(long, value_name = "FILE", requires = "metrics")]
    pub token_file: Option<PathBuf>,
    /// Listen for `fairdropd ctl` at this path.
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Record arrivals, departures and drops with their causes.
    #[arg(long, value_name = "FILE.pcapng")]
    pub record: Option<PathBuf>,
    /// Size of the recording's file above which another is begun (100MB).
    #[arg(long, value_name = "SIZE", default_value = "100MB", value_parser = size)]
    pub record_size: u64,
    /// Number of the recording's files that are kept; the oldest goes.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub record_files: u32,
    /// Spend this part of each sleep awake, which is more exact and costs a processor (50us).
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub spin: Option<Time>,
}

impl ServiceArgs {
    /// What packets are on the way between two TUN devices. A recording has them one by one, with their checksums.
    pub fn joining(&self, no_join: bool) -> Joining {
        match (&self.record, no_join) {
            (Some(_), _) => Joining::Complete,
            (None, true) => Joining::Apart,
            (None, false) => Joining::Joined,
        }
    }
}

/// The summary at the end.
#[derive(Args, Clone, Debug)]
pub struct EndArgs {
    /// Call the run invalid when packets were later than this at the 99th percentile (1ms).
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub max_lateness: Option<Time>,
    /// Call the run invalid when more packets were lost before they could be read, or behind the link.
    #[arg(long, value_name = "PACKETS", default_value_t = 0)]
    pub max_lost: u64,
    /// Write the summary, and more, to a file in JSON.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

impl EndArgs {
    /// What a run may do wrong and still count.
    ///
    /// # Errors
    /// The report is to be written to a folder that does not exist.
    pub fn limits(&self) -> Result<Limits, String> {
        if let Some(path) = &self.report
            && !path.parent().is_some_and(|folder| folder.as_os_str().is_empty() || folder.is_dir())
        {
            return Err(format!(
                "--report {}: there is no such folder; valid: a file in one that exists",
                path.display()
            ));
        }
        Ok(Limits {
            lateness_s: self.max_lateness.unwrap_or(Time::from_ns(1_000_000)).seconds(),
            lost: self.max_lost,
        })
    }
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
    /// The summary at the end.
    #[command(flatten)]
    pub end: EndArgs,
    /// Congestion control of TCP at both ends (reno, cubic, bbr: those of the kernel); without it, the machine's.
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// TCP at both ends asks for ECN, so that a discipline can mark.
    #[arg(long)]
    pub ecn: bool,
    /// Hand on every packet by itself, even where several of a flow are due at once; costs more where the link is fast.
    #[arg(long)]
    pub no_join: bool,
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
    /// Change a field, such as `queue.red.max_p=0.02`. May be given more than once.
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Seed of the run; that of the scenario when left out.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write the run here instead of to standard output.
    #[arg(long, value_name = "FILE.json")]
    pub out: Option<PathBuf>,
    /// Congestion control of a group, by the kernel's name (tcp=bbr), in place of its transport. May be given more than once.
    #[arg(long, value_name = "GROUP=NAME")]
    pub congestion: Vec<String>,
    /// A setting of the hosts' TCP, such as `net.ipv4.tcp_sack=0`; those of the machine stay. May be given more than once.
    #[arg(long, value_name = "NAME=VALUE")]
    pub sysctl: Vec<String>,
    /// Only check whether real hosts can run the scenario.
    #[arg(long)]
    pub check: bool,
    /// End when the process ends that started this one.
    #[arg(long, hide = true)]
    pub end_with_parent: bool,
}

/// How a bridge gets at frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PortKind {
    /// Packet sockets.
    Packet,
    /// AF_XDP sockets.
    Xdp,
    /// AF_XDP where both drivers share memory with the program, packet sockets otherwise.
    Auto,
}

/// Where frames are taken for AF_XDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum XdpWay {
    /// In the driver where it can, otherwise in generic mode.
    Any,
    /// In the driver, or not at all.
    Driver,
    /// In generic mode: any driver.
    Generic,
    /// In the driver, which shares memory with the program, or not at all.
    ZeroCopy,
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
    /// The summary at the end.
    #[command(flatten)]
    pub end: EndArgs,
    /// Where settings of interfaces are kept that are put back at the end.
    #[command(flatten)]
    pub state: StateArgs,
    /// Leave the interfaces' settings as they are; joined frames are cut again.
    #[arg(long)]
    pub keep_offloads: bool,
    /// Longest packet that passes, should an interface's MTU become larger, bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 9000, value_parser = clap::value_parser!(u32).range(68..=65_535))]
    pub mtu: u32,
    /// Size of each receive ring, MiB.
    #[arg(long, value_name = "MIB", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub ring: u32,
    /// Packet sockets: fetch frames in blocks; less work where very many come, up to a millisecond late where few do.
    #[arg(long)]
    pub blocks: bool,
    /// How it gets at frames: packet sockets, AF_XDP (the host's own stack does not see them), or AF_XDP where both drivers do
    /// zero copy and packet sockets otherwise (auto).
    #[arg(long, value_name = "packet|xdp|auto", value_enum, default_value_t = PortKind::Packet, hide_possible_values = true)]
    pub port: PortKind,
    /// AF_XDP: in the driver where it can and otherwise in generic mode (any), or one of these or nothing.
    #[arg(long, value_name = "any|driver|generic|zero-copy", value_enum, default_value_t = XdpWay::Any, hide_possible_values = true)]
    pub xdp: XdpWay,
}

/// Options of `fairdropd tun`.
#[derive(Args, Clone, Debug)]
pub struct TunArgs {
    /// The device of those who send up.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The device at the other end; without one, NAME-peer.
    #[arg(long, value_name = "NAME")]
    pub peer: Option<String>,
    /// The link.
    #[command(flatten)]
    pub link: LinkArgs,
    /// What goes on beside it.
    #[command(flatten)]
    pub services: ServiceArgs,
    /// The summary at the end.
    #[command(flatten)]
    pub end: EndArgs,
    /// MTU of both devices, bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(68..=65_535))]
    pub mtu: u32,
    /// Hand on every packet by itself, even where several of a flow are due at once; costs more where the link is fast.
    #[arg(long)]
    pub no_join: bool,
}

/// Settings of interfaces that are to be put back are kept here.
pub const STATE_DIR: &str = "/run/fairdropd";

/// Where state is kept.
#[derive(Args, Clone, Debug)]
pub struct StateArgs {
    /// Directory of the settings that are to be put back.
    #[arg(long, value_name = "DIRECTORY", default_value = STATE_DIR)]
    pub state: PathBuf,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "valid: an IP address and a port up to 65535, for example 127.0.0.1:9100 or [::1]:9100".into()
    })
}

fn time(text: &str) -> Result<Time, String> {
    seconds(text).map(|seconds| Time::from_ns((seconds * 1e9) as u64))
}

/// At least a megabyte: each file has room for many packets.
fn size(text: &str) -> Result<u64, String> {
    let bytes = notation::quantity(text, notation::BYTES).filter(|bytes| (1e6..=1e15).contains(bytes));
    bytes.map(|bytes| bytes as u64).ok_or_else(|| "valid: 1MB to 1000000GB, for example 100MB or 2GB".into())
}

impl Default for ServiceArgs {
    /// As without options.
    fn default() -> Self {
        Self {
            metrics: None,
            token_file: None,
            control: None,
            record: None,
            record_size: 100_000_000,
            record_files: 10,
            spin: None,
        }
    }
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
                let text =
                    open_regular(path, MOST_FILE_BYTES).and_then(io::read_to_string).map_err(|error| {
                        format!("{name}: {error}; valid: a link's file in TOML, see fairdropd(1)")
                    })?;
                (text, name)
            }
        };
        let options = self.options()?;
        let settings: Vec<String> =
            options.iter().map(|(_, setting)| setting.clone()).chain(self.set()).collect();
        TwoWay::parse(&text, &file, &settings).map_err(|problems| {
            let named =
                problems.to_string().lines().map(|line| in_words_of(&options, line)).collect::<Vec<_>>();
            named.join("\n")
        })
    }

    /// The options as they were given, and as settings of the file's fields.
    fn options(&self) -> Result<Vec<(String, String)>, String> {
        let mut options = Vec::new();
        for (direction, link) in DIRECTIONS.into_iter().zip([&self.up, &self.down]) {
            if let Some(link) = link {
                options.push((format!("--{direction} {link}"), setting_of(direction, link)?));
            }
        }
        for (field, value) in [("delay", &self.delay), ("jitter", &self.jitter), ("loss", &self.loss)] {
            let of = |direction| {
                value
                    .as_ref()
                    .map(|value| (format!("--{field} {value}"), format!("{direction}.{field}={value}")))
            };
            options.extend(DIRECTIONS.into_iter().filter_map(of));
        }
        options.extend(
            self.queue.as_ref().map(|name| (format!("--queue {name}"), format!("queue.discipline={name}"))),
        );
        Ok(options)
    }

    /// Settings of --set, with their whole paths.
    fn set(&self) -> impl Iterator<Item = String> {
        let of_top = |setting: &str| {
            let first = setting.split(['.', '=']).next().unwrap_or_default().trim();
            ["up", "down", "queue", "seed", "schema"].contains(&first)
        };
        let whole = move |setting: &String| {
            if of_top(setting) { setting.clone() } else { format!("queue.{setting}") }
        };
        self.set.iter().map(whole)
    }
}

/// A problem of a setting that an option has become names the option.
fn in_words_of(options: &[(String, String)], problem: &str) -> String {
    let named = options.iter().find_map(|(option, setting)| {
        let what = problem.strip_prefix(&format!("--set {setting}: "))?;
        Some(format!("{option}: {what}"))
    });
    named.unwrap_or_else(|| problem.to_owned())
}

/// The manual page: the command, then each of its subcommands.
///
/// # Errors
/// It is not written: never, since it is written to memory.
pub fn manual() -> Result<String, std::io::Error> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).title("fairdropd").section("1").render(&mut page)?;
    for part in all_commands(&command) {
        let man = clap_mangen::Man::new(part.clone());
        let name = part.get_bin_name().unwrap_or_default().to_uppercase();
        writeln!(page, ".SH {name}")?;
        man.render_description_section(&mut page)?;
        man.render_synopsis_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    String::from_utf8(page).map_err(std::io::Error::other)
}

/// Subcommands and theirs, each behind the one that it belongs to.
fn all_commands(command: &clap::Command) -> Vec<&clap::Command> {
    let own = command.get_subcommands().filter(|part| part.get_name() != "help");
    own.flat_map(|part| std::iter::once(part).chain(all_commands(part))).collect()
}

/// The completions for a shell.
pub fn completions(shell: clap_complete::Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fairdropd", &mut text);
    String::from_utf8_lossy(&text).into_owned()
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
        assert_eq!(two_way.up.channel.delay, Time::from_ns(5_000_000));
        for direction in [&two_way.up, &two_way.down] {
            assert_eq!(direction.queue.discipline, "choke");
            assert_eq!(direction.queue.to_json()["choke"]["candidates"], 3);
        }
    }

    #[test]
    fn problems_are_reported_once_in_the_words_of_the_option() {
        let chokes = link(&["--queue", "chokes"]).unwrap_err();
        assert!(chokes.starts_with("--queue chokes: queue.discipline = \"chokes\" is not valid"), "{chokes}");
        assert_eq!(chokes.lines().count(), 1, "{chokes}");
        for (option, value, problem) in [
            ("--loss", "-0.1", "--loss -0.1: up.loss = -0.1 is not valid; valid: a number from 0 to 1"),
            ("--delay", "-10ms", "--delay -10ms: up.delay = \"-10ms\" is not valid; valid: a time from 0"),
            ("--down", "-5mbit", "--down \"-5mbit\" is neither a rate nor a file; valid: 1 bit/s"),
            ("--up", "Cargo.toml", "--up Cargo.toml: up.trace = \"Cargo.toml\" is not valid; valid: a trace"),
            ("--set", "choke.candidates=x", "--set queue.choke.candidates=x: queue.choke.candidates = "),
            ("--link", "/dev/zero", "/dev/zero: is a character device"),
            ("--link", "no.toml", "no.toml: No such file"),
        ] {
            let message = link(&[option, value]).unwrap_err();
            assert!(message.starts_with(problem), "{message}");
        }
        let words = ["fairdropd", "shell", "--metrics", "127.0.0.1:99999"];
        let message = Cli::try_parse_from(words).unwrap_err().to_string();
        assert!(message.contains("for example 127.0.0.1:9100"), "{message}");
    }

    #[test]
    fn sizes() {
        assert_eq!(
            (size("1MB"), size("2 GB"), size("3000000")),
            (Ok(1_000_000), Ok(2_000_000_000), Ok(3_000_000))
        );
        for wrong in ["", "MB", "999kB", "2G", "-1MB", "1PB", "99999999999GB"] {
            assert!(size(wrong).unwrap_err().contains("100MB"), "{wrong}");
        }
    }

    #[test]
    fn the_manual_and_completions_name_every_command() {
        let (man, names) = (manual().unwrap(), ["shell", "check", "ctl", "completions"]);
        for name in names.into_iter().chain(["\\-\\-metrics", "\\-\\-record\\-size", "\\-\\-direction"]) {
            assert!(man.contains(name), "{name}");
        }
        for shell in <clap_complete::Shell as clap::ValueEnum>::value_variants() {
            let text = completions(*shell);
            for name in names {
                assert!(text.contains(name), "{name} in the completions of {shell}");
            }
        }
    }
}
