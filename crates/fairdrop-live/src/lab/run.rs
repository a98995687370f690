//! One live run, from the check to the result.

use super::address::Place;
use super::carrier::Carrier;
use super::congestion::Congestion;
use super::error::LabError;
use super::machine::CpuTime;
use super::senders::{self, Flow, Senders};
use super::sinks::{self, Sinks};
use super::stop::Stop;
use super::sysctl::Sysctls;
use super::verdict::{Outside, judge};
use super::{kernel, plan, side};
use crate::host::Wake;
use crate::os::{Sleeper, Waker, now, raise_descriptors, unshare};
use fairdrop::Time;
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, Datagrams, Network, RunResult};
use rustix::thread::UnshareFlags;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
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
/// That, or the kernel does not say what it offers.
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

/// What a side has ready: its device, and what wakes its thread.
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
    let before = CpuTime::now();
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
            side_thread(open, &ready, &time, |senders, begun, sleeper| senders.run(begun, sleeper, stop))
        });
        let (ready, right) = mpsc::channel::<Ready>();
        let (right_start, time) = mpsc::channel::<Time>();
        let receiving = scope.spawn(move || {
            let open = || Ok((side::enter(sinks::SIDE, mtu, &[], sysctls)?, Sinks::open(scenario)?));
            side_thread(open, &ready, &time, |sinks, _, sleeper| sinks.run(sleeper, stop))
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
        let _ = (left_start.send(at), right_start.send(at));
        let finish = || {
            stop.set();
            left_waker.wake();
            right_waker.wake();
        };
        let outcome = carrier.run(at, sleeper, &letters, interrupted, finish);
        finish();
        let senders = joined(sending)?;
        let lost_at_sinks = joined(receiving)?;
        let Some((mut result, exactness)) = outcome? else { return Ok(None) };
        let stolen = CpuTime::now().stolen_since(before);
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
