//! Processes that live in their own namespaces and act there on request: open sockets and TUN devices, set addresses
//! and routes, run a command.
//!
//! The helper is this program, started again with the hidden command [`COMMAND`]: a process of one thread, which may enter a
//! user namespace, and which needs no `fork` of ours. Requests are JSON over a socket that keeps messages apart; descriptors
//! come back beside the answers (unix(7), `SCM_RIGHTS`). A helper ends when its socket is closed, that is, at the latest when
//! the process that started it ends, however it ends. The network namespace ends with the last process and descriptor in it.

mod serve;

pub use serve::serve;

use super::letters::{self, receive, send};
use super::{netlink::NetworkSetting, raw};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Child;

/// The hidden command of `fairdropd` that is a helper; its argument is the number of the socket.
pub const COMMAND: &str = "namespace-helper";

/// Namespaces to enter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Enter {
    /// A user namespace in which the caller is root: what makes the others possible without rights. First of all.
    pub user: bool,
    /// A network namespace; its loopback interface is put up.
    pub network: bool,
    /// A mount namespace.
    pub mounts: bool,
    /// A process namespace for the next child, and its children: they all end with it.
    pub processes: bool,
}

/// A socket to be opened in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SocketKind {
    /// Bound to an address, which need not be one of this host's, and listening.
    TcpListener(SocketAddr),
    /// Not bound nor connected, IPv6 rather than IPv4.
    Tcp {
        /// IPv6 rather than IPv4.
        v6: bool,
    },
    /// Bound to an address, which need not be one of this host's.
    Udp(SocketAddr),
    /// Sends packets whose IP header the sender makes; receives nothing.
    RawIp {
        /// IPv6 rather than IPv4.
        v6: bool,
    },
    /// Route netlink: [`super::Netlink::over`].
    Netlink,
}

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// In a new user namespace, as this user and group, without rights over the other namespaces; `None`: as the helper.
    pub as_user: Option<(u32, u32)>,
}

/// What a helper is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Request {
    Enter(Enter),
    Helper,
    Network(Vec<NetworkSetting>),
    Tun(String),
    Socket(SocketKind),
    Sysctl { name: String, value: String },
    CoverFile { path: PathBuf, text: String },
    MountProc,
    Run(Run),
}

/// What it answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Done,
    Started {
        pid: u32,
    },
    /// How a command ended: as of `$?` in a shell.
    Ended {
        code: u8,
    },
    /// The text, and the operating system's number if it gave one.
    Failed {
        what: String,
        errno: Option<i32>,
    },
}

/// A helper, as those see it who ask. Dropping it ends it.
#[derive(Debug)]
pub struct Helper {
    socket: OwnedFd,
    /// Its number as the process sees it that started it.
    pid: u32,
    /// Only where this process started it.
    child: Option<Child>,
}

impl Helper {
    /// Starts the program `exe` (this one: `/proc/self/exe`) as a helper.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(exe: &Path) -> io::Result<Self> {
        let (child, socket) = letters::start(exe, COMMAND)?;
        Ok(Self { socket, pid: child.id(), child: Some(child) })
    }

    /// Starts another helper in the namespaces of this one.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn helper(&self) -> io::Result<Self> {
        match self.ask(&Request::Helper)? {
            (Answer::Started { pid }, Some(socket)) => Ok(Self { socket, pid, child: None }),
            (other, _) => Err(unexpected(&other)),
        }
    }

    /// Its process number, as the process sees it that started it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Enters namespaces.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn enter(&self, namespaces: Enter) -> io::Result<()> {
        self.done(&Request::Enter(namespaces))
    }

    /// Changes the network configuration, in order.
    ///
    /// # Errors
    /// The kernel refuses one of the settings, which the error names; those before it are made.
    pub fn network(&self, settings: &[NetworkSetting]) -> io::Result<()> {
        self.done(&Request::Network(settings.to_vec()))
    }

    /// A new TUN device ([`super::tun`]).
    ///
    /// # Errors
    /// There is no TUN device, or the kernel refuses.
    pub fn tun(&self, name: &str) -> io::Result<OwnedFd> {
        self.descriptor(&Request::Tun(name.into()))
    }

    /// A new socket. It does not block, netlink excepted.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn socket(&self, kind: SocketKind) -> io::Result<OwnedFd> {
        self.descriptor(&Request::Socket(kind))
    }

    /// Sets a value below `/proc/sys/net` for its network namespace: `ipv4/tcp_ecn`.
    ///
    /// # Errors
    /// There is none of that name, or the kernel refuses.
    pub fn sysctl(&self, name: &str, value: &str) -> io::Result<()> {
        self.done(&Request::Sysctl { name: name.into(), value: value.into() })
    }

    /// In its mount namespace the file `path` has another text, which cannot be changed; on the disk nothing is.
    ///
    /// # Errors
    /// There is no such file, or the kernel refuses.
    pub fn cover_file(&self, path: &Path, text: &str) -> io::Result<()> {
        self.done(&Request::CoverFile { path: path.into(), text: text.into() })
    }

    /// Shows the processes of its process namespace under `/proc`.
    ///
    /// # Errors
    /// The kernel refuses: in containers that hide parts of `/proc` it does.
    pub fn mount_proc(&self) -> io::Result<()> {
        self.done(&Request::MountProc)
    }

    /// Runs a command to its end; after that the helper ends. Returns its exit code, 128 and the signal's number if a signal
    /// ended it, as shells count. Signals `SIGTERM` and `SIGHUP` to the helper are passed on to the command.
    ///
    /// # Errors
    /// The helper was killed.
    pub fn run(self, run: Run) -> io::Result<u8> {
        match self.ask(&Request::Run(run))? {
            (Answer::Ended { code }, _) => Ok(code),
            (other, _) => Err(unexpected(&other)),
        }
    }

    fn done(&self, request: &Request) -> io::Result<()> {
        match self.ask(request)? {
            (Answer::Done, _) => Ok(()),
            (other, _) => Err(unexpected(&other)),
        }
    }

    fn descriptor(&self, request: &Request) -> io::Result<OwnedFd> {
        match self.ask(request)? {
            (Answer::Done, Some(descriptor)) => Ok(descriptor),
            (other, _) => Err(unexpected(&other)),
        }
    }

    fn ask(&self, request: &Request) -> io::Result<(Answer, Option<OwnedFd>)> {
        send(self.socket.as_fd(), request, None)?;
        match receive(self.socket.as_fd())? {
            Some((Answer::Failed { what, errno }, _)) => Err(HelperError::of(what, errno)),
            Some(answer) => Ok(answer),
            None => {
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the process in the namespace has ended"))
            }
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // The end of the socket ends it.
            let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
            let _ = child.wait();
        }
    }
}

/// The program that a command's name stands for, looked for as a shell does.
///
/// # Errors
/// The exit code that a shell gives, and why: 127, there is none; 126, it may not be executed.
pub fn find_program(name: &OsStr) -> Result<PathBuf, (u8, String)> {
    let executable =
        |path: &Path| path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    let path = Path::new(name);
    if path.components().count() > 1 || name.as_bytes().contains(&b'/') {
        return match (executable(path), path.exists()) {
            (true, _) => Ok(path.into()),
            (false, true) => Err((126, "may not be executed; valid: a program".into())),
            (false, false) => Err((127, "no such file; valid: a program".into())),
        };
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(path)).find(|path| executable(path));
    found.ok_or_else(|| (127, "command not found; valid: a program's path, or its name in PATH".into()))
}

/// The process group of this process; `None` when it is outside of its process namespace.
pub fn process_group() -> Option<Pid> {
    raw::process_group()
}

/// What went wrong in the namespace; its kind is that of the number which the operating system gave.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
struct HelperError {
    what: String,
}

impl HelperError {
    fn of(what: String, errno: Option<i32>) -> io::Error {
        let kind = errno.map_or(io::ErrorKind::Other, |errno| io::Error::from_raw_os_error(errno).kind());
        io::Error::new(kind, Self { what })
    }
}

fn unexpected(answer: &Answer) -> io::Error {
    io::Error::other(format!("unexpected answer {answer:?}"))
}
