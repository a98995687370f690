//! The receiving hosts: they accept and read, and report nothing; arrivals are measured on their way in.

use super::address::{Side, UDP_PORT, tcp_port};
use super::error::LabError;
use super::kernel;
use super::plan;
use super::side;
use super::stop::Stop;
use crate::os::Sleeper;
use fairdrop_sim::scenario::{Group, Scenario};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt::{set_ip_tos, set_socket_reuseaddr};
use rustix::net::{
    AddressFamily, RecvFlags, SocketFlags, SocketType, accept_with, bind, listen, recv, socket_with,
};
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// All sinks.
pub struct Sinks {
    epoll: OwnedFd,
    listeners: Vec<OwnedFd>,
    connections: BTreeMap<u64, OwnedFd>,
    /// Datagrams are not read: the socket discards those it has no room for.
    _datagrams: OwnedFd,
    buffer: Vec<u8>,
}

impl Sinks {
    /// Opens the sinks of `scenario` in this thread's namespace.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn open(scenario: &Scenario) -> Result<Self, LabError> {
        let refused =
            |error: Errno| LabError::Setting { what: "a listening socket".into(), why: error.to_string() };
        let open = || -> Result<Self, Errno> {
            let epoll = epoll::create(CreateFlags::CLOEXEC)?;
            let mut listeners = Vec::new();
            for (number, group) in scenario.groups.iter().enumerate() {
                if let Some(tcp) = group.transport.tcp() {
                    let listener =
                        listener(group, plan::max_window(group, tcp.max_window), tcp_port(number))?;
                    epoll::add(&epoll, &listener, EventData::new_u64(key(&listener)), EventFlags::IN)?;
                    listeners.push(listener);
                }
            }
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let datagrams = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
            bind(&datagrams, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, UDP_PORT))?;
            let (connections, buffer) = (BTreeMap::new(), vec![0; 1 << 18]);
            Ok(Self { epoll, listeners, connections, _datagrams: datagrams, buffer })
        };
        open().map_err(refused)
    }

    /// Reads until `stop` says so. Returns how many packets the device had no room for.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn run(mut self, mut sleeper: Sleeper, stop: &Stop) -> io::Result<u64> {
        let mut events = Vec::with_capacity(256);
        while !stop.is_set() {
            sleeper.sleep(self.epoll.as_fd(), None)?;
            events.clear();
            let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&now)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                self.serve(event.data.u64())?;
            }
        }
        Ok(side::lost_at_device())
    }

    fn serve(&mut self, number: u64) -> io::Result<()> {
        let Some(connection) = self.connections.get(&number) else { return self.accept(number) };
        // With this flag TCP throws away what it would have copied.
        match recv(connection, &mut self.buffer[..], RecvFlags::TRUNC | RecvFlags::DONTWAIT) {
            Ok((_, 1..)) | Err(Errno::AGAIN | Errno::INTR) => {}
            // Closed, or broken off.
            Ok(_) | Err(_) => drop(self.connections.remove(&number)),
        }
        Ok(())
    }

    fn accept(&mut self, number: u64) -> io::Result<()> {
        let Some(listener) = self.listeners.iter().find(|listener| key(listener) == number) else {
            return Ok(());
        };
        loop {
            match accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(connection) => {
                    let number = key(&connection);
                    epoll::add(&self.epoll, &connection, EventData::new_u64(number), EventFlags::IN)?;
                    self.connections.insert(number, connection);
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn key(socket: &OwnedFd) -> u64 {
    socket.as_raw_fd() as u64
}

/// A socket for the connections of a group. They inherit its settings.
fn listener(group: &Group, window: u32, port: u16) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let listener = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    set_socket_reuseaddr(&listener, true)?;
    set_ip_tos(&listener, group.class << 2)?;
    let set = |option, value| {
        kernel::set_tcp_option(listener.as_fd(), option, value)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::INVAL))
    };
    set(libc::TCP_MAXSEG, plan::max_segment(group))?;
    set(libc::TCP_WINDOW_CLAMP, window)?;
    bind(&listener, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))?;
    listen(&listener, BACKLOG)?;
    Ok(listener)
}

/// The sinks' side.
pub const SIDE: Side = Side::Right;
