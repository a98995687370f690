//! A scenario with real hosts: groups are kernel TCP and paced datagrams in two network namespaces, and every packet between
//! them goes through the scenario's links in logical time, in this process. The links, their disciplines and their meters are
//! the simulator's own ([`Network`]), so the result has the same names and means the same.

mod address;
mod carrier;
pub mod command;
mod kernel;
mod machine;
mod plan;
mod segment;
mod senders;
mod side;
mod sinks;
mod stream;

use crate::host::Wake;
use crate::os::{Sleeper, now};
use address::Place;
use carrier::{Carrier, Exactness};
use fairdrop::Time;
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, Datagrams, Network, RunError, RunResult};
use machine::CpuTime;
use rustix::thread::UnshareFlags;
use senders::{Ended, Flow, Senders};
use serde_json::json;
use sinks::Sinks;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, ScopedJoinHandle};
use thiserror::Error;

/// A run is not valid when the 99th percentile of its lateness is above this.
const MOST_LATE: Time = Time::from_ms(1);
/// A run is not valid when a packet was handed on this late.
const LATEST: Time = Time::from_ms(100);
/// A run is not valid when the hypervisor gave away more of the processors' time.
const MOST_STOLEN: f64 = 0.05;
/// From when all is ready to time 0 of the scenario.
const LEAD: Time = Time::from_ms(100);

/// Why there is no live run.
#[derive(Debug, Error)]
pub enum LabError {
    /// Real hosts cannot do what the scenario asks for; a line each.
    #[error("{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// The network of the scenario cannot be made.
    #[error(transparent)]
    Network(#[from] RunError),
    /// The machine lacks something.
    #[error("{what}: {error}; valid: {help}")]
    Machine {
        /// What.
        what: &'static str,
        /// What the operating system says.
        error: io::Error,
        /// What to do.
        help: &'static str,
    },
    /// A setting is refused.
    #[error("{what}: {why}")]
    Setting {
        /// Which.
        what: String,
        /// Why.
        why: String,
    },
    /// It failed while it ran.
    #[error("the run failed: {0}")]
    Failed(#[from] io::Error),
}

/// Set once, to end the threads of both sides.
#[derive(Debug, Default)]
struct Stop(AtomicBool);

impl Stop {
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// What real hosts cannot do of `scenario`, if anything, before something is started.
///
/// # Errors
/// That, or the kernel does not say what it offers.
pub fn check(scenario: &Scenario) -> Result<(), LabError> {
    let available = plan::available().map_err(|error| LabError::Machine {
        what: "/proc/sys/net/ipv4/tcp_available_congestion_control",
        error,
        help: "a Linux kernel with TCP, and /proc",
    })?;
    let refused = plan::refusals(scenario, &available);
    if refused.is_empty() { Ok(()) } else { Err(LabError::Refused(refused)) }
}

/// Makes an ordinary user root of a user namespace, which may have network namespaces. The process must have one thread.
///
/// # Errors
/// The machine does not allow it.
pub fn become_root() -> Result<(), LabError> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if user == 0 {
        return Ok(());
    }
    let refused = |error| LabError::Machine {
        what: "a user namespace",
        error,
        help: "kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0 (sysctl), or root",
    };
    kernel::unshare(UnshareFlags::NEWUSER).map_err(refused)?;
    fs::write("/proc/self/setgroups", "deny").map_err(refused)?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1")).map_err(refused)?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1")).map_err(refused)
}

/// What a side has ready: its device, and what wakes its thread.
type Ready = Result<(OwnedFd, Arc<crate::os::Waker>), LabError>;

/// Runs `scenario` live under `seed`, which takes as long as the scenario lasts. `None` when it was interrupted.
///
/// # Errors
/// The scenario or the machine does not allow it, or the run failed.
pub fn run(scenario: &Scenario, seed: u64, interrupted: &AtomicBool) -> Result<Option<RunResult>, LabError> {
    check(scenario)?;
    let Some(network) = Network::new(scenario, seed, &Control::default())? else { return Ok(None) };
    let flows = lasting_flows(scenario, &network, seed);
    let is_ecn = |number: &usize| scenario.groups[*number].transport.tcp().is_some_and(|tcp| tcp.ecn);
    let ecn: Vec<usize> = (0..scenario.groups.len()).filter(is_ecn).collect();
    let mtu = plan::mtu(scenario);
    let stop = Stop::default();
    let (letter, letters) = mpsc::channel();
    let (connect, connects) = mpsc::channel();
    let before = CpuTime::now();
    thread::scope(|scope| {
        let (ready, left) = mpsc::channel::<Ready>();
        let (begin, begun) = mpsc::channel::<Time>();
        let (stop, ecn) = (&stop, &ecn);
        let sending = scope.spawn(move || {
            let open = || {
                Ok((side::enter(senders::SIDE, mtu, ecn)?, Senders::open(scenario, flows, letter, connects)?))
            };
            side_thread(open, &ready, &begun, |senders, begun, sleeper| senders.run(begun, sleeper, stop))
        });
        let (ready, right) = mpsc::channel::<Ready>();
        let (begin_right, begun) = mpsc::channel::<Time>();
        let receiving = scope.spawn(move || {
            let open = || Ok((side::enter(sinks::SIDE, mtu, &[])?, Sinks::open(scenario)?));
            side_thread(open, &ready, &begun, |sinks, _, sleeper| sinks.run(sleeper, stop))
        });
        let (left_tun, left_waker) = of_side(&left)?;
        let (right_tun, right_waker) = of_side(&right)?;
        let sleeper = Sleeper::new(Time::ZERO)?;
        let carrier =
            Carrier::new(scenario, network, [left_tun, right_tun], connect, Arc::clone(&left_waker));
        // Carrier and senders work little and must not be late. The run says how they were scheduled, and how late they were.
        let scheduling = kernel::hurry();
        let at = now().after(LEAD);
        // A side that has ended says so below.
        let _ = (begin.send(at), begin_right.send(at));
        let finish = || {
            stop.set();
            left_waker.wake();
            right_waker.wake();
        };
        let carried = carrier.run(at, sleeper, &letters, interrupted, finish);
        finish();
        let ended = joined(sending)?;
        let lost_right = joined(receiving)?;
        let Some((mut result, exactness)) = carried? else { return Ok(None) };
        let stolen = CpuTime::now().stolen_since(before);
        if let (Some(ended), Some(lost_right)) = (ended, lost_right) {
            judge(&mut result, scenario, &exactness, &ended, lost_right, stolen);
            if let Some(live) = result.live.as_mut() {
                live["scheduling"] = json!(format!("{scheduling:?}"));
            }
        }
        Ok(Some(result))
    })
}

fn lasting_flows<'s>(scenario: &'s Scenario, network: &Network<'_>, seed: u64) -> Vec<Flow<'s>> {
    let mut next = vec![0_u16; scenario.groups.len()];
    let flow = |(number, &start)| {
        let group = network.group_of(number);
        let place = Place { group, index: next[group] };
        next[group] = next[group].wrapping_add(1);
        Flow { number, place, start, datagrams: Datagrams::new(scenario, network, number, seed) }
    };
    (0..).zip(network.starts()).map(flow).collect()
}

/// A thread of a side: gets ready, says so, and works when it is told when time 0 is. `None` when it was not told.
fn side_thread<S, E>(
    open: impl FnOnce() -> Result<(OwnedFd, S), LabError>,
    ready: &mpsc::Sender<Ready>,
    begun: &Receiver<Time>,
    work: impl FnOnce(S, Time, Sleeper) -> io::Result<E>,
) -> Result<Option<E>, LabError> {
    let opened = open().and_then(|(tun, side)| Ok((tun, side, Sleeper::new(Time::ZERO)?)));
    // Who waits for it has not gone: it waits for this.
    match opened {
        Err(error) => {
            let _ = ready.send(Err(error));
            Ok(None)
        }
        Ok((tun, side, sleeper)) => {
            let _ = ready.send(Ok((tun, sleeper.waker())));
            let Ok(begun) = begun.recv() else { return Ok(None) };
            Ok(Some(work(side, begun, sleeper)?))
        }
    }
}

fn of_side(ready: &Receiver<Ready>) -> Ready {
    ready.recv().map_err(|_| io::Error::other("a side panicked"))?
}

fn joined<E>(thread: ScopedJoinHandle<'_, Result<Option<E>, LabError>>) -> Result<Option<E>, LabError> {
    thread.join().map_err(|_| io::Error::other("a side panicked"))?
}

/// Adds to a result what the machine was and how exact it was, and whether that was enough.
fn judge(
    result: &mut RunResult,
    scenario: &Scenario,
    exactness: &Exactness,
    ended: &Ended,
    lost_right: u64,
    stolen: f64,
) {
    let Exactness { lateness, tally } = exactness;
    let lost = ended.lost + lost_right;
    let ms = |seconds: f64| format!("{:.3} ms", seconds * 1e3);
    let mut problem = |wrong: bool, what: String| {
        if wrong {
            result.problems.push(what);
        }
    };
    problem(
        lateness.p99_s > MOST_LATE.seconds(),
        format!(
            "1 % of the packets were handed on more than {} late (limit {})",
            ms(lateness.p99_s),
            ms(MOST_LATE.seconds())
        ),
    );
    problem(
        lateness.max_s > LATEST.seconds(),
        format!("a packet was handed on {} late (limit {})", ms(lateness.max_s), ms(LATEST.seconds())),
    );
    problem(lost > 0, format!("{lost} packets found no room in a device's own queue"));
    problem(tally.refused > 0, format!("{} packets were refused by a device", tally.refused));
    problem(
        stolen > MOST_STOLEN,
        format!("{:.1} % of the processors' time was stolen (limit 5 %)", stolen * 100.0),
    );
    if let Some((connections, why)) = &ended.failed {
        problem(true, format!("{connections} connections failed, the first: {why}"));
    }
    result.valid = result.problems.is_empty();
    let mut live = machine::facts(scenario, plan::mtu(scenario));
    let mut not_measured = vec!["fast_retransmits"];
    if !ended.tells_timeouts {
        not_measured.push("timeouts");
    }
    let measured = [
        ("lateness", json!(lateness)),
        ("datagram_lateness", json!(ended.lateness)),
        ("packets_read", json!(tally.read)),
        ("packets_handed_on", json!(tally.handed_on)),
        ("packets_of_no_flow", json!(tally.strange)),
        ("packets_lost_at_devices", json!(lost + tally.refused)),
        ("stolen", json!(stolen)),
        ("differences", json!(plan::differences(scenario))),
        ("not_measured", json!(not_measured)),
    ];
    live.extend(measured.map(|(name, value)| (name.to_owned(), value)));
    result.live = Some(live.into());
}
