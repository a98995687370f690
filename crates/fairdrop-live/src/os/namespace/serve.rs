//! The other side: the process in the namespaces.

use super::{Answer, Enter, Request, Run, SocketKind};
use crate::os::letters::{self, receive, send};
use crate::os::netlink::{Netlink, NetworkSetting};
use crate::os::{Signals, raw, tun};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use rustix::thread::UnshareFlags;
use socket2::{Domain, Protocol, Socket, Type};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// This program.
const OURSELVES: &str = "/proc/self/exe";

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// First argument of a process that is about to become the command; `USER:GROUP` or nothing, and the command follow.
const BECOME: &str = "become";

/// What a helper does: [`super::COMMAND`] with these arguments.
pub fn serve(arguments: &[OsString]) -> ExitCode {
    let served = match arguments {
        [first, user, command @ ..] if first == BECOME => {
            return become_command(&user.to_string_lossy(), command);
        }
        [number] => letters::socket(number),
        _ => Err(Errno::INVAL.into()),
    };
    match served.and_then(|socket| serve_socket(&socket)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            crate::say!("error: {}: {error}; it is for fairdropd itself", super::COMMAND);
            ExitCode::from(2)
        }
    }
}

fn serve_socket(socket: &OwnedFd) -> io::Result<()> {
    let signals = Signals::register()?;
    while let Some((request, _)) = receive::<Request>(socket.as_fd())? {
        if let Request::Run(run) = request {
            let answer = match run_command(&run, socket.as_fd(), &signals) {
                Ok(Some(code)) => Answer::Ended { code },
                Ok(None) => return Ok(()),
                Err(error) => failed(&error),
            };
            return send(socket.as_fd(), &answer, None);
        }
        let (answer, descriptor) = answer(request).unwrap_or_else(|error| (failed(&error), None));
        send(socket.as_fd(), &answer, descriptor.as_ref().map(AsFd::as_fd))?;
    }
    Ok(())
}

fn failed(error: &io::Error) -> Answer {
    Answer::Failed { what: error.to_string(), errno: error.raw_os_error() }
}

fn answer(request: Request) -> io::Result<(Answer, Option<OwnedFd>)> {
    let done = (Answer::Done, None);
    Ok(match request {
        Request::Enter(namespaces) => enter(namespaces).map(|()| done)?,
        Request::Helper => {
            let (child, socket) = letters::start(Path::new(OURSELVES), super::COMMAND)?;
            (Answer::Started { pid: child.id() }, Some(socket))
        }
        Request::Network(settings) => set_network(&settings).map(|()| done)?,
        Request::Tun(name) => (Answer::Done, Some(tun(&name)?)),
        Request::Socket(kind) => (Answer::Done, Some(open(kind)?)),
        Request::Sysctl { name, value } => {
            fs::write(Path::new("/proc/sys/net").join(name), value).map(|()| done)?
        }
        Request::CoverFile { path, text } => cover(&path, &text).map(|()| done)?,
        Request::MountProc => {
            let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            rustix::mount::mount("proc", "/proc", "proc", flags, None).map(|()| done)?
        }
        Request::Run(_) => unreachable!("served above"),
    })
}

fn enter(namespaces: Enter) -> io::Result<()> {
    if namespaces.user {
        enter_user_namespace(0, 0)?;
    }
    if namespaces.network {
        raw::unshare(UnshareFlags::NEWNET)?;
        Netlink::open()?.set(&NetworkSetting::Up { interface: "lo".into(), mtu: None })?;
    }
    if namespaces.mounts {
        raw::unshare(UnshareFlags::NEWNS)?;
        // Later mounts outside are seen here; mounts made here are not seen outside.
        let flags = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
        rustix::mount::mount_change("/", flags)?;
    }
    if namespaces.processes {
        raw::unshare(UnshareFlags::NEWPID)?;
    }
    Ok(())
}

/// Enters a user namespace in which this process is `user` and `group`. It is the only user there, so it needs no rights
/// (`user_namespaces(7)`); it cannot change its groups.
fn enter_user_namespace(user: u32, group: u32) -> io::Result<()> {
    let (outer_user, outer_group) = (rustix::process::geteuid(), rustix::process::getegid());
    raw::unshare(UnshareFlags::NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {} 1", outer_user.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("{group} {} 1", outer_group.as_raw()))
}

fn set_network(settings: &[NetworkSetting]) -> io::Result<()> {
    let netlink = Netlink::open()?;
    settings.iter().try_for_each(|setting| {
        netlink.set(setting).map_err(|error| io::Error::new(error.kind(), format!("{setting:?}: {error}")))
    })
}

fn open(kind: SocketKind) -> io::Result<OwnedFd> {
    let domain = |v6| if v6 { Domain::IPV6 } else { Domain::IPV4 };
    let socket = match kind {
        SocketKind::TcpListener(address) => {
            let socket = bound(address, Type::STREAM)?;
            socket.listen(BACKLOG)?;
            socket
        }
        SocketKind::Udp(address) => bound(address, Type::DGRAM)?,
        SocketKind::Tcp { v6 } => Socket::new(domain(v6), Type::STREAM, None)?,
        SocketKind::RawIp { v6 } => {
            let socket = Socket::new(domain(v6), Type::RAW, Some(Protocol::from(libc::IPPROTO_RAW)))?;
            if v6 {
                socket.set_header_included_v6(true)?;
            }
            socket
        }
        SocketKind::Netlink => return Ok(Netlink::open()?.into_socket()),
    };
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// A socket at an address that need not be ours: `IP_TRANSPARENT` (ip(7)).
fn bound(address: SocketAddr, kind: Type) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, None)?;
    if address.is_ipv6() {
        socket.set_ip_transparent_v6(true)?;
        socket.set_only_v6(true)?;
    } else {
        socket.set_ip_transparent_v4(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Mounts another text over a file. It is in memory that has no name any more when this returns.
fn cover(path: &Path, text: &str) -> io::Result<()> {
    let (memory, file) = ("/proc", "/proc/text");
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("tmpfs", memory, "tmpfs", flags, Some(c"mode=755"))?;
    let covered = fs::write(file, text).and_then(|()| {
        rustix::mount::mount_bind(file, path)?;
        let read_only = MountFlags::BIND | MountFlags::RDONLY | flags;
        Ok(rustix::mount::mount_remount(path, read_only, "")?)
    });
    rustix::mount::unmount(memory, UnmountFlags::DETACH)?;
    covered
}

/// Runs the command to its end, and adopts the processes that it leaves behind. `None`: nobody waits for the result.
fn run_command(run: &Run, socket: BorrowedFd<'_>, signals: &Signals) -> io::Result<Option<u8>> {
    let user = run.as_user.map(|(user, group)| format!("{user}:{group}")).unwrap_or_default();
    let child =
        Command::new(OURSELVES).arg(super::COMMAND).arg(BECOME).arg(user).args(&run.command).spawn()?;
    let child = Pid::from_child(&child);
    loop {
        while let Some((pid, status)) = rustix::process::wait(WaitOptions::NOHANG).unwrap_or_default() {
            if pid == child {
                return Ok(Some(code(status)));
            }
        }
        signals.pass_on(child);
        if !signals.wait(socket, None)? {
            let _ = rustix::process::kill_process(child, Signal::KILL);
            return Ok(None);
        }
    }
}

/// As `$?` in a shell.
fn code(status: WaitStatus) -> u8 {
    let exited = status.exit_status().map(|code| code as u8);
    exited.or(status.terminating_signal().map(|signal| 128 + signal as u8)).unwrap_or(1)
}

/// Becomes the command, which is looked for as a shell does.
fn become_command(user: &str, command: &[OsString]) -> ExitCode {
    let entered = match user.split_once(':').map(|(user, group)| (user.parse(), group.parse())) {
        Some((Ok(user), Ok(group))) => enter_user_namespace(user, group),
        _ => Ok(()),
    };
    let Some((program, arguments)) = command.split_first() else { return ExitCode::from(2) };
    let (code, why) = match (entered, super::find_program(program)) {
        (Err(error), _) => (126, error.to_string()),
        (Ok(()), Err(refused)) => refused,
        (Ok(()), Ok(path)) => (126, Command::new(path).arg0(program).args(arguments).exec().to_string()),
    };
    crate::say!("error: {}: {why}", program.display());
    ExitCode::from(code)
}
