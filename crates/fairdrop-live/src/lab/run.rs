//! One live run, from the check to the result.

use super::address::Place;
use super::carrier::Carrier;
use super::congestion::Congestion;
use super::error::LabError;
use super::senders::{self, Flow, Senders};
use super::sinks::{self, Sinks};
use super::stop::{AtWork, Finish, Stop};
use super::sysctl::Sysctls;
use super::verdict::{Outside, judge};
use super::{kernel, plan, side};
use crate::os::{Processors, Sleeper, Waker, now, raise_descriptors, unshare};
use fairdrop::Time;
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, Datagrams, Network, RunResult};
use rustix::thread::UnshareFlags;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, ScopedJoinHandle};

/// From when all is ready to time 0 of the scenario.
const LEAD: Time = Time::from_ms(100);

/// What real hosts cannot do of `scenario`, if anything, before something is started. Raises the limit of open files to what
/// this process may have.
///
/// # Errors
/// That, or the kernel does not list its controls.
pub fn check(scenario: &Scenario, congestion: &Congestion) -> Result<(), LabError> {
    let available = plan::available().map_err(|error| LabError::Machine {
        what: "/proc/sys/net/ipv4/tcp_available_congestion_control",
        error,
        help: "a Linux kernel with TCP, and /proc",
    })?;
    let mut refused = plan::refusals(scenario, congestion, &available);
    refused.extend(plan::too_many_descriptors(scenario, raise_descriptors()));
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
    unshare(UnshareFlags::NEWUSER).map_err(refused)?;
    fs::write("/proc/self/setgroups", "deny").map_err(refused)?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1")).map_err(refused)?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1")).map_err(refused)
}

/// A side that is ready: its device, and the waker of its thread.
type Ready = Result<(OwnedFd, Arc<Waker>), LabError>;

/// Runs `scenario` live under `seed`, which takes as long as the scenario lasts. `None` when it was interrupted.
///
/// # Errors
/// The scenario or the machine does not allow it, or the run failed.
pub fn run(
    scenario: &Scenario,
    congestion: &Congestion,
    sysctls: &Sysctls,
    seed: u64,
    interrupted: &AtomicBool,
) -> Result<Option<RunResult>, LabError> {
    check(scenario, congestion)?;
    let Some(network) = Network::new(scenario, seed, &Control::default())? else { return Ok(None) };
    let flows = lasting_flows(scenario, &network, seed);
    let is_ecn = |number: &usize| scenario.groups[*number].transport.tcp().is_some_and(|tcp| tcp.ecn);
    let ecn: Vec<usize> = (0..scenario.groups.len()).filter(is_ecn).collect();
    let mtu = plan::mtu(scenario);
    let stop = Stop::default();
    let (letter, letters) = mpsc::channel();
    let (connect, connects) = mpsc::channel();
    let mut processors = Processors::watch();
    thread::scope(|scope| {
        let (ready, left) = mpsc::channel::<Ready>();
        let (left_start, time) = mpsc::channel::<Time>();
        let (stop, ecn) = (&stop, &ecn);
        let sending = scope.spawn(move || {
            let open = || {
                Ok((
                    side::enter(senders::SIDE, mtu, ecn, sysctls)?,
                    Senders::open(scenario, congestion, flows, letter, connects)?,
                ))
            };
            side_thread(open, &ready, &time, |senders, begun, sleeper| {
                let _at_work = AtWork(stop);
                senders.run(begun, sleeper, stop)
            })
        });
        let (ready, right) = mpsc::channel::<Ready>();
        let (right_start, time) = mpsc::channel::<Time>();
        let receiving = scope.spawn(move || {
            let open = || Ok((side::enter(sinks::SIDE, mtu, &[], sysctls)?, Sinks::open(scenario)?));
            side_thread(open, &ready, &time, |sinks, _, sleeper| {
                let _at_work = AtWork(stop);
                sinks.run(sleeper, stop)
            })
        });
        let (left_tun, left_waker) = of_side(&left)?;
        let (right_tun, right_waker) = of_side(&right)?;
        let sleeper = Sleeper::new(Time::ZERO)?;
        let mut carrier =
            Carrier::new(scenario, network, [left_tun, right_tun], connect, Arc::clone(&left_waker));
        let finish = Finish::new(stop, [left_waker, right_waker]);
        // Carrier and senders work little and must not be late. The run says how they were scheduled, and how late they were.
        let scheduling = kernel::hurry();
        let at = now().after(LEAD);
        // A side that has ended says so below.
        let _ = (left_start.send(at), right_start.send(at));
        let work = || carrier.carry(at, sleeper, &letters, interrupted, &finish);
        let worked = catch_unwind(AssertUnwindSafe(work))
            .map_err(|payload| LabError::panicked("the carrier", &*payload))?;
        // Where a side has failed before, it is what went wrong.
        let worked = match worked {
            Err(error) if !finish.is_requested() => return Err(error.into()),
            other => other,
        };
        finish.request();
        let senders = joined("the sending side", sending)?;
        let lost_at_sinks = joined("the receiving side", receiving)?;
        if !worked? {
            return Ok(None);
        }
        let Some((mut result, exactness)) = carrier.result() else { return Ok(None) };
        let stolen = processors.stolen().unwrap_or(0.0);
        if let (Some(senders), Some(lost_at_sinks)) = (senders, lost_at_sinks) {
            let outside = Outside { senders, lost_at_sinks, stolen, scheduling };
            judge(&mut result, scenario, congestion, sysctls, &exactness, &outside);
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

/// A thread of a side: gets ready, reports it, and starts when it receives time 0. `None` when it does not.
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

fn joined<E>(
    who: &'static str,
    thread: ScopedJoinHandle<'_, Result<Option<E>, LabError>>,
) -> Result<Option<E>, LabError> {
    thread.join().map_err(|payload| LabError::panicked(who, &*payload))?
}

#[cfg(test)]
mod tests {
    use super::super::carrier::fault;
    use super::*;
    use std::collections::BTreeSet;
    use std::time::Duration;

    /// Nothing here takes as long.
    const PATIENCE: Duration = Duration::from_secs(60);

    const TWO: &str = "duration = 1000\nwarm_up = 1\n[dumbbell]\nrate = \"4mbit\"\ndelay = \"4ms\"\n[queue]\n\
        discipline = \"droptail\"\nlimit = \"80p\"\n[[groups]]\nname = \"tcp\"\ntransport = \"reno\"\n\
        [[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"1mbit\"\n";

    /// The network namespaces of the threads of this process.
    fn namespaces() -> BTreeSet<std::path::PathBuf> {
        let tasks = fs::read_dir("/proc/self/task").expect("Linux has it").flatten();
        tasks.filter_map(|task| fs::read_link(task.path().join("ns/net")).ok()).collect()
    }

    /// How a run of a scenario of 1000 s ends; `None`, with a message on stderr, where the machine does not allow one.
    fn end_of(fault: fault::Fault) -> Option<LabError> {
        let (sender, receiver) = mpsc::channel();
        let before = namespaces();
        thread::spawn(move || {
            fault::set(fault);
            let scenario = Scenario::parse(TWO, "two.toml", &[]).expect("it is valid");
            let congestion = Congestion::of(&scenario, &[]).expect("these are there");
            let sysctls = Sysctls::of(&[]).expect("they are valid");
            let run = run(&scenario, &congestion, &sysctls, 1, &AtomicBool::new(false));
            sender.send(run.map(drop).expect_err("it does not come to its end")).expect("somebody waits");
        });
        let error = receiver.recv_timeout(PATIENCE).expect("it ends");
        if let LabError::Machine { .. } | LabError::Refused(_) | LabError::Setting { .. } = error {
            crate::say!("skipped: {error}");
            return None;
        }
        assert_eq!(namespaces(), before, "the sides' namespaces are gone");
        Some(error)
    }

    /// One after the other: each looks at the namespaces of all threads.
    #[test]
    fn a_carrier_that_panics_or_fails_ends_the_run() {
        for (fault, prefix) in [(fault::Fault::Panic, "the carrier panicked: "), (fault::Fault::Error, "")] {
            let Some(error) = end_of(fault) else { return };
            assert_eq!(
                error.to_string(),
                format!("the run failed: {prefix}a fault of a test after 20 packets")
            );
        }
    }
}
