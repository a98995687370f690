//! `fairdropd shell`: a command behind an emulated link.
//!
//! Two network namespaces, each with one end of the link, a TUN device: the command's, which is the inside, and another at the
//! outer end, in which this program's sockets stand for everything that the outside can reach. In between, packets pass
//! through the two directions of the link.

mod addresses;
mod door;
mod outside;
mod packet;
mod world;

use crate::cli::ShellArgs;
use crate::config::{OneWay, TwoWay};
use crate::daemon::{self, Running};
use crate::os::namespace::{Helper, Run, find_program, process_group};
use crate::os::{Awake, Processors, Role, Signals, Waker, raise_descriptors, random_key};
use crate::port::{Descriptors, TunWriter};
use crate::services::{Prepared, Services};
use crate::summary::{Limits, Summary};
use door::Door;
use fairdrop::Time;
use fairdrop_capture::LinkType;
use outside::{Outside, Parts};
use rustix::event::Timespec;
use rustix::process::{Pid, Signal};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;
use world::{INNER, MTU, OUTER, Tcp, World};

/// `LINKTYPE_RAW`: a packet that begins with its IP header.
const RAW_IP: LinkType = LinkType(101);

/// How often it is looked whether a thread has failed.
const LOOK: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Runs the command; its exit code.
///
/// # Errors
/// The input is wrong.
pub fn run(args: &ShellArgs) -> Result<ExitCode, String> {
    let link = args.link.read()?;
    let limits = args.end.limits()?;
    let command = command(&args.command);
    if let Err((code, why)) = find_program(&command[0]) {
        crate::say!("error: {}: {why}", command[0].display());
        return Ok(ExitCode::from(code));
    }
    let prepared = Prepared::new("shell", &args.services, &link)?;
    let ran = Session::start(args, &link, prepared).and_then(|session| session.run(command, limits));
    Ok(match ran {
        Ok((code, summary)) => match summary.write(args.end.report.as_deref()) {
            Ok(()) => ExitCode::from(code),
            Err(why) => failure(&why),
        },
        Err(why) => failure(&why),
    })
}

fn failure(why: &str) -> ExitCode {
    crate::say!("error: {why}");
    ExitCode::FAILURE
}

/// Without one, the user's shell.
fn command(given: &[OsString]) -> Vec<OsString> {
    if given.is_empty() {
        vec![std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())]
    } else {
        given.to_vec()
    }
}

/// All that runs beside the command.
struct Session {
    /// The process that will run it.
    helper: Helper,
    up: Running,
    down: Running,
    services: Services,
    outside: Outside,
    /// The process at the outer end, in whose namespaces the other is.
    outer: Arc<Helper>,
    processors: Processors,
    /// Until it is dropped idle processors stay awake, if they were asked to.
    _awake: Option<Awake>,
}

impl Session {
    fn start(args: &ShellArgs, link: &TwoWay, prepared: Prepared) -> Result<Self, String> {
        let world = World::make(&Tcp { congestion: args.congestion.clone(), ecn: args.ecn })?;
        world.notes.iter().for_each(|note| crate::say!("fairdropd: {note}"));
        let frame_bytes = MTU as usize;
        let frames = link.up.buffer_bytes(frame_bytes) + link.down.buffer_bytes(frame_bytes);
        let buffers = frames + prepared.memory(frame_bytes);
        crate::say!(
            "fairdropd: up {}; down {}; {:.1} MB of buffers; the outside's 127.0.0.1 is {}",
            link.up.in_words(),
            link.down.in_words(),
            buffers as f64 / 1e6,
            world.addresses.gateway(false).address
        );
        let descriptors = raise_descriptors();
        // The processes in the namespaces are there: neither they nor the command has given up anything.
        let processors = Processors::watch();
        let awake =
            daemon::confine(Role::Shell, &args.services, &args.end).map_err(|error| error.to_string())?;
        Self::drive(args, link, world, prepared, descriptors, (processors, awake))
            .map_err(|error| format!("the link: {error}"))
    }

    fn drive(
        args: &ShellArgs,
        link: &TwoWay,
        world: World,
        mut prepared: Prepared,
        descriptors: u64,
        (processors, awake): (Processors, Option<Awake>),
    ) -> io::Result<Self> {
        let World { outer, inner, addresses, .. } = world;
        let helper = Arc::new(outer.helper);
        let (sender, left) = sync_channel(door::MOST_LEFT);
        let shared = Arc::new(door::Shared::default());
        let waker = Arc::new(Waker::new()?);
        let outside = Outside::start(Parts {
            helper: Arc::clone(&helper),
            addresses: Arc::clone(&addresses),
            shared: Arc::clone(&shared),
            device: TunWriter::new(Arc::clone(&outer.device)),
            left,
            waker: Arc::clone(&waker),
            descriptors,
        })?;
        let (key, spin) = (random_key()?, args.services.spin.unwrap_or(Time::ZERO));
        let of = |way: &OneWay, number| way.direction(link.seed, number, key, RAW_IP, MTU as usize);
        let joining = args.services.joining(args.no_join);
        let ([inner_out, inner_in], [outer_out, outer_in]) = (inner.counters, outer.counters);
        let (from, to) = (Arc::clone(&inner.device), Arc::clone(&outer.device));
        let watches = prepared.watches("up", RAW_IP);
        let up = Running::start("up", of(&link.up, 0), watches, spin, move |sleeper| {
            let descriptors = Descriptors::tun(from, to, sleeper, joining)
                .counting_losses(inner_out, INNER)
                .counting_losses_behind(outer_in, OUTER);
            daemon::in_loop(Door { descriptors, sender, wake: waker, shared, addresses })
        })?;
        let (from, to) = (outer.device, inner.device);
        let watches = prepared.watches("down", RAW_IP);
        let down = Running::start("down", of(&link.down, 1), watches, spin, move |sleeper| {
            daemon::in_loop(
                Descriptors::tun(from, to, sleeper, joining)
                    .counting_losses(outer_out, OUTER)
                    .counting_losses_behind(inner_in, INNER),
            )
        })?;
        let services = prepared.serve([&up, &down])?;
        let (helper, outer) = (inner.helper, helper);
        Ok(Self { helper, up, down, services, outside, outer, processors, _awake: awake })
    }

    /// Runs the command to its end, and ends everything else.
    fn run(self, command: Vec<OsString>, limits: Limits) -> Result<(u8, Summary), String> {
        let Self { helper, up, down, services, outside, outer, mut processors, _awake } = self;
        let user = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let terminal = Terminal::now();
        let pid = Pid::from_raw(helper.pid() as i32);
        let (ended, watching) = UnixStream::pair().map_err(|error| error.to_string())?;
        let signals = Signals::register().map_err(|error| error.to_string())?;
        let ran = thread::scope(|scope| {
            scope.spawn(|| {
                let failed = || up.has_ended() || down.has_ended() || outside.has_ended();
                pass_on(&signals, &watching, pid, failed);
            });
            let ran = helper.run(Run { command, as_user: Some(user) });
            drop(ended);
            ran
        });
        terminal.take_back();
        let (up, down, outside) = (up.stop(), down.stop(), outside.stop());
        drop((services, outer));
        let failed = |what: &str, error: io::Error| format!("{what}: {error}");
        let up = up.map_err(|error| failed("up", error))?;
        let down = down.map_err(|error| failed("down", error))?;
        outside.map_err(|error| failed("the outside", error))?;
        let code = ran.map_err(|error| failed("the command", error))?;
        Ok((code, Summary::new(up, down, processors.stolen(), limits)))
    }
}

/// Passes signals on to the process, until `ended` is closed. If one of ours has failed the process is killed: what the command
/// does then has no effect any more.
fn pass_on(signals: &Signals, ended: &UnixStream, pid: Option<Pid>, failed: impl Fn() -> bool) {
    let Some(pid) = pid else { return };
    while signals.wait(ended.as_fd(), Some(&LOOK)).unwrap_or(false) {
        signals.pass_on(pid);
        if failed() {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

/// The terminal, if we have one and it is ours.
struct Terminal {
    ours: Option<Pid>,
}

impl Terminal {
    fn now() -> Self {
        let foreground = rustix::termios::tcgetpgrp(io::stdin()).ok();
        Self { ours: process_group().filter(|&group| foreground == Some(group)) }
    }

    /// An interactive shell leaves it to a process group that is gone.
    fn take_back(&self) {
        let Some(ours) = self.ours else { return };
        // From the background this stops the process, unless the signal for that is handled.
        let handled = signal_hook::flag::register(signal_hook::consts::SIGTTOU, Arc::default());
        let _ = handled.map(|_| rustix::termios::tcsetpgrp(io::stdin(), ours));
    }
}
