//! The sending hosts: kernel TCP connections that have data, and datagrams at the times of the simulator's own sources.

use super::address::{Place, Side, UDP_PORT, tcp_sink};
use super::application::Application;
use super::congestion::Congestion;
use super::error::LabError;
use super::kernel::{self, TcpInfo};
use super::plan::{self, UDP_HEADERS};
use super::side;
use super::stop::Stop;
use crate::host::{Lateness, LatenessReport};
use crate::os::{Sleeper, now};
use fairdrop::Time;
use fairdrop_sim::scenario::{Group, Scenario};
use fairdrop_sim::{Datagram, Datagrams, SenderState};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt::{set_ip_tos, set_socket_linger, set_tcp_congestion};
use rustix::net::{
    AddressFamily, SendFlags, Shutdown, SocketFlags, SocketType, bind, connect, send, shutdown, socket_with,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// The senders' side.
pub const SIDE: Side = Side::Left;

/// Bytes written at once, at most.
const CHUNK: usize = 1 << 16;
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// A flow that is there from the start.
pub struct Flow<'s> {
    /// Its number.
    pub number: u32,
    /// Its address.
    pub place: Place,
    /// When it starts.
    pub start: Time,
    /// What it sends, if it is not TCP.
    pub datagrams: Option<Datagrams<'s>>,
}

/// A connection of a population that begins.
#[derive(Clone, Copy, Debug)]
pub struct Connect {
    /// Its flow number.
    pub flow: u32,
    /// Its address.
    pub place: Place,
    /// Bytes that it writes.
    pub bytes: u64,
}

/// Messages of the senders to the network.
#[derive(Clone, Copy, Debug)]
pub enum Letter {
    /// How a TCP sender is.
    State(u32, SenderState),
    /// How often it has timed out in the measuring window.
    Timeouts(u32, u64),
}

/// What is left to say at the end.
pub struct Ended {
    /// How much later than their time datagrams were sent.
    pub lateness: LatenessReport,
    /// Packets that the device had no room for.
    pub lost: u64,
    /// Connections that failed, and why the first did.
    pub failed: Option<(u64, String)>,
    /// Whether the kernel reports timeouts.
    pub counts_timeouts: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    Start(usize),
    Datagram(usize),
    /// The application of a flow writes.
    Write(u32),
    Stop(usize),
    Sample,
    Open,
}

/// A connection.
struct Connection {
    socket: OwnedFd,
    /// Bytes left to write; `None`: no end.
    left: Option<u64>,
    /// What writes by and by; `None`: all that the socket takes.
    application: Option<Application>,
    /// What it had done when the measuring window opened.
    before: TcpInfo,
    /// Whether it is one of those whose windows are reported.
    lasting: bool,
}

/// All senders.
pub struct Senders<'s> {
    scenario: &'s Scenario,
    congestion: &'s Congestion,
    flows: Vec<Flow<'s>>,
    /// Those of open-loop sources.
    sources: BTreeMap<usize, Source>,
    connections: BTreeMap<u32, Connection>,
    tasks: BinaryHeap<Reverse<(Time, Task)>>,
    epoll: OwnedFd,
    sample: Time,
    lateness: Lateness,
    failed: Option<(u64, String)>,
    counts_timeouts: bool,
    letters: Sender<Letter>,
    connects: Receiver<Connect>,
    begun: Time,
}

struct Source {
    socket: OwnedFd,
    next: Datagram,
    /// The octet of class and ECN field that it has.
    tos: u8,
}

impl<'s> Senders<'s> {
    /// The senders of `scenario` in this thread's namespace. Time 0 of the scenario is set later.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn open(
        scenario: &'s Scenario,
        congestion: &'s Congestion,
        flows: Vec<Flow<'s>>,
        letters: Sender<Letter>,
        connects: Receiver<Connect>,
    ) -> Result<Self, LabError> {
        let refused = |what: &str, error: &dyn ToString| LabError::Setting {
            what: what.into(),
            why: error.to_string(),
        };
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(|error| refused("epoll", &error))?;
        for (number, group) in scenario.groups.iter().enumerate() {
            // Before anything starts: whether the kernel does as it says.
            if let Some(name) = congestion.name(number) {
                let what = format!("groups.{}.transport = \"{name}\"", group.name);
                tcp_socket(group, name).map_err(|error| refused(&what, &error))?;
            }
        }
        Ok(Self {
            scenario,
            congestion,
            flows,
            sources: BTreeMap::new(),
            connections: BTreeMap::new(),
            tasks: BinaryHeap::new(),
            epoll,
            sample: scenario.sample.unwrap_or(Time::from_ms(500)).max(Time::from_ms(10)),
            lateness: Lateness::default(),
            failed: None,
            counts_timeouts: true,
            letters,
            connects,
            begun: Time::ZERO,
        })
    }

    /// Sends until `stop` says so. The scenario's time 0 is at `begun`.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn run(mut self, begun: Time, mut sleeper: Sleeper, stop: &Stop) -> io::Result<Ended> {
        kernel::hurry();
        self.begun = begun;
        self.plan();
        let mut events = Vec::with_capacity(256);
        while !stop.is_set() {
            self.do_tasks()?;
            let next = self.tasks.peek().map(|Reverse((at, _))| begun.after(*at));
            sleeper.sleep(self.epoll.as_fd(), next)?;
            while let Ok(connect) = self.connects.try_recv() {
                let at = now().since(self.begun);
                self.connect(connect.flow, connect.place, at, Some(connect.bytes), false)?;
            }
            events.clear();
            let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&at_once)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                self.write(event.data.u64() as u32)?;
            }
        }
        self.count();
        for connection in self.connections.values() {
            // What is still to be sent is of no use.
            let _ = set_socket_linger(&connection.socket, Some(Duration::ZERO));
        }
        let Self { lateness, failed, counts_timeouts, .. } = self;
        Ok(Ended { lateness: lateness.report(), lost: side::lost_at_device(), failed, counts_timeouts })
    }

    /// When what begins.
    fn plan(&mut self) {
        for index in 0..self.flows.len() {
            let flow = &mut self.flows[index];
            let (start, stop) = (flow.start, self.scenario.groups[flow.place.group].stop);
            let first = if flow.datagrams.is_some() { Task::Datagram(index) } else { Task::Start(index) };
            self.tasks.push(Reverse((start, first)));
            if stop < self.scenario.duration {
                self.tasks.push(Reverse((stop, Task::Stop(index))));
            }
        }
        self.tasks.push(Reverse((self.sample, Task::Sample)));
        self.tasks.push(Reverse((self.scenario.warm_up, Task::Open)));
    }

    fn do_tasks(&mut self) -> io::Result<()> {
        let now = now();
        while let Some(&Reverse((at, task))) = self.tasks.peek()
            && self.begun.after(at) <= now
        {
            self.tasks.pop();
            match task {
                Task::Start(index) => self.start(index)?,
                Task::Datagram(index) => self.datagram(index, at)?,
                Task::Write(flow) => self.supply(flow)?,
                Task::Stop(index) => self.stop(index),
                Task::Sample => {
                    self.report_states();
                    self.tasks.push(Reverse((at.after(self.sample), Task::Sample)));
                }
                Task::Open => self.open_window(),
            }
        }
        Ok(())
    }

    fn start(&mut self, index: usize) -> io::Result<()> {
        let Flow { number, place, start, .. } = self.flows[index];
        let group = &self.scenario.groups[place.group];
        let bytes = group.transport.tcp().and_then(|tcp| tcp.transfer_bytes);
        self.connect(number, place, start, bytes.map(|bytes| plan::to_write(group, bytes)), true)
    }

    /// A connection whose application begins to write at `start` of the scenario's time.
    fn connect(
        &mut self,
        flow: u32,
        place: Place,
        start: Time,
        left: Option<u64>,
        lasting: bool,
    ) -> io::Result<()> {
        let group = &self.scenario.groups[place.group];
        let name = self.congestion.name(place.group).unwrap_or_default();
        let open = || -> io::Result<OwnedFd> {
            let socket = tcp_socket(group, name)?;
            bind(&socket, &SocketAddrV4::new(SIDE.host(place), 0))?;
            match connect(&socket, &tcp_sink(place)) {
                Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
                Err(error) => Err(error.into()),
            }
        };
        match open() {
            Ok(socket) => {
                // Notified once of free room: an application may have nothing to fill it with.
                let room = EventFlags::OUT | EventFlags::ET;
                epoll::add(&self.epoll, &socket, EventData::new_u64(flow.into()), room)?;
                let (before, application) = (TcpInfo::default(), Application::of(group, start));
                if application.is_some() {
                    self.tasks.push(Reverse((start, Task::Write(flow))));
                }
                self.connections.insert(flow, Connection { socket, left, application, before, lasting });
            }
            Err(error) => self.fail(&error),
        }
        Ok(())
    }

    fn fail(&mut self, error: &io::Error) {
        self.failed.get_or_insert_with(|| (0, error.to_string())).0 += 1;
    }

    /// The application of a flow writes a segment, and will write the next.
    fn supply(&mut self, flow: u32) -> io::Result<()> {
        if let Some(connection) = self.connections.get_mut(&flow)
            && let Some(application) = &mut connection.application
        {
            let next = application.write();
            if connection.left.is_none_or(|left| left > application.ready()) {
                self.tasks.push(Reverse((next, Task::Write(flow))));
            }
        }
        self.write(flow)
    }

    /// A connection has room for data, or has data for the room, or has ended.
    fn write(&mut self, flow: u32) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(&flow) else { return Ok(()) };
        loop {
            let most = connection.left.map_or(CHUNK, |left| left.min(CHUNK as u64) as usize);
            if most == 0 {
                return self.finish(flow);
            }
            let ready = connection.application.as_ref().map_or(u64::MAX, Application::ready);
            let most = (most as u64).min(ready) as usize;
            if most == 0 {
                return Ok(());
            }
            match send(&connection.socket, &ZEROS[..most], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => {
                    if let Some(left) = &mut connection.left {
                        *left -= sent as u64;
                    }
                    if let Some(application) = &mut connection.application {
                        application.took(sent as u64);
                    }
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => {
                    self.connections.remove(&flow);
                    self.fail(&error.into());
                    return Ok(());
                }
            }
        }
    }

    /// All is written. The kernel sends the rest; the socket is kept where its window is asked for.
    fn finish(&mut self, flow: u32) -> io::Result<()> {
        let Some(connection) = self.connections.get(&flow) else { return Ok(()) };
        epoll::delete(&self.epoll, &connection.socket)?;
        // It may have been broken off.
        let _ = shutdown(&connection.socket, Shutdown::Write);
        if !connection.lasting {
            self.connections.remove(&flow);
        }
        Ok(())
    }

    /// A source of a stopped group never sends again.
    fn stop(&mut self, index: usize) {
        let number = self.flows[index].number;
        if let Some(connection) = self.connections.remove(&number) {
            self.count_one(number, &connection);
            let _ = set_socket_linger(&connection.socket, Some(Duration::ZERO));
        }
        self.sources.remove(&index);
    }

    /// Sends the datagram that is due, and finds the next. The first call only finds it.
    fn datagram(&mut self, index: usize, due: Time) -> io::Result<()> {
        let flow = &mut self.flows[index];
        if let Some(source) = self.sources.get_mut(&index) {
            source.send()?;
            self.lateness.record(self.begun.after(due), now());
        } else {
            let socket = udp_socket(flow.place)?;
            self.sources.insert(index, Source { socket, next: Datagram::default(), tos: 0 });
        }
        if let Some((at, datagram)) = flow.datagrams.as_mut().and_then(Iterator::next)
            && let Some(source) = self.sources.get_mut(&index)
        {
            source.next = datagram;
            self.tasks.push(Reverse((at, Task::Datagram(index))));
        }
        Ok(())
    }

    fn report_states(&mut self) {
        for (&flow, connection) in self.connections.iter().filter(|(_, connection)| connection.lasting) {
            let Ok(info) = kernel::tcp_info(connection.socket.as_fd()) else { continue };
            let srtt_s = (info.srtt_us > 0).then(|| f64::from(info.srtt_us) / 1e6);
            let state = SenderState { cwnd_packets: info.cwnd.into(), srtt_s };
            // The network may have come to its end.
            let _ = self.letters.send(Letter::State(flow, state));
        }
    }

    fn open_window(&mut self) {
        for connection in self.connections.values_mut() {
            connection.before = kernel::tcp_info(connection.socket.as_fd()).unwrap_or_default();
        }
    }

    fn count(&mut self) {
        self.report_states();
        let connections = std::mem::take(&mut self.connections);
        for (&flow, connection) in &connections {
            self.count_one(flow, connection);
        }
        self.connections = connections;
    }

    fn count_one(&mut self, flow: u32, connection: &Connection) {
        let Ok(info) = kernel::tcp_info(connection.socket.as_fd()) else { return };
        self.counts_timeouts &= info.timeouts.is_some();
        let timeouts = |info: TcpInfo| u64::from(info.timeouts.unwrap_or(0));
        let since = timeouts(info).saturating_sub(timeouts(connection.before));
        let _ = self.letters.send(Letter::Timeouts(flow, since));
    }
}

impl Source {
    fn send(&mut self) -> io::Result<()> {
        let Datagram { len, class, ecn } = self.next;
        let tos = class << 2 | ecn as u8;
        if tos != self.tos {
            set_ip_tos(&self.socket, tos)?;
            self.tos = tos;
        }
        let payload = u32::from(len).saturating_sub(UDP_HEADERS) as usize;
        match send(&self.socket, &ZEROS[..payload], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            // What the device has no room for is counted there.
            Ok(_) | Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR | Errno::CONNREFUSED) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// A socket that sends as a group does.
fn tcp_socket(group: &Group, congestion: &str) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    set_tcp_congestion(&socket, congestion)?;
    set_ip_tos(&socket, group.class << 2)?;
    kernel::set_tcp_option(socket.as_fd(), libc::TCP_MAXSEG, plan::max_segment(group))?;
    Ok(socket)
}

fn udp_socket(place: Place) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
    bind(&socket, &SocketAddrV4::new(SIDE.host(place), 0))?;
    connect(&socket, &SocketAddrV4::new(Side::Right.host(place), UDP_PORT))?;
    Ok(socket)
}
