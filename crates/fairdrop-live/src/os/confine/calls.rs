//! Calls into the kernel (seccomp(2)): for each role those that it makes, some of them with certain arguments only.

use super::{FORBIDDEN, Role};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
use seccompiler::{
    BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};
use std::collections::BTreeMap;
use std::io;

/// The calls of a filter, each with the arguments with which it may be made; without any: with all.
type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// Of every thread: memory, time, sleep, locks, signals to itself, descriptors that are open, and its end.
const ANY: &[i64] = &[
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_close,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_getsockopt,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_newfstatat,
    libc::SYS_ppoll,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_statx,
    libc::SYS_tgkill,
    libc::SYS_timerfd_settime,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Of a process with threads, clients and connections, beside those.
const PROCESS: &[i64] = &[
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_epoll_create1,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_getuid,
    libc::SYS_lseek,
    libc::SYS_seccomp,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_socketpair,
    libc::SYS_timerfd_create,
    libc::SYS_wait4,
    libc::SYS_waitid,
];

/// Distinguishes a loop from the threads around it: a loop gives up the rest.
const BECOMING_LOOP: &[i64] = &[libc::SYS_capget, libc::SYS_capset];

/// Of a shell, beside those: its command, and the terminal.
const SHELL: &[i64] = &[libc::SYS_getpgid, libc::SYS_kill];

/// Of AF_XDP sockets that are made again, beside those.
const XDP: &[i64] = &[libc::SYS_bpf];

/// To write files, where there are some to write.
const FILES: &[i64] = &[
    libc::SYS_flock,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_openat,
    // Architectures that came after renameat2 do not have it.
    #[cfg(not(target_arch = "riscv64"))]
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
];

/// Older names of calls, which newer architectures do not have.
#[cfg(target_arch = "x86_64")]
mod older {
    pub(super) const ANY: &[i64] = &[libc::SYS_epoll_wait, libc::SYS_lstat, libc::SYS_poll, libc::SYS_stat];
    pub(super) const SHELL: &[i64] = &[libc::SYS_getpgrp];
    pub(super) const FILES: &[i64] = &[libc::SYS_open, libc::SYS_rename, libc::SYS_unlink];
}

#[cfg(not(target_arch = "x86_64"))]
mod older {
    pub(super) const ANY: &[i64] = &[];
    pub(super) const SHELL: &[i64] = &[];
    pub(super) const FILES: &[i64] = &[];
}

/// `PR_CAP_AMBIENT`, `PR_SET_NAME`, ...: a thread's settings of itself.
const PRCTL: &[i32] = &[
    libc::PR_SET_NAME,
    libc::PR_SET_NO_NEW_PRIVS,
    libc::PR_CAPBSET_DROP,
    libc::PR_CAP_AMBIENT,
    // The name of a mapping, which the allocator gives.
    libc::PR_SET_VMA,
];

/// Kinds of sockets that are opened while a link runs. Packet sockets are not: those that a bridge has were opened before.
const FAMILIES: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// To the device behind a descriptor: it does not block, and whose the terminal is.
#[allow(clippy::unnecessary_cast, reason = "another C library has them as int")]
const IOCTL: &[u64] = &[
    libc::FIONBIO as u64,
    libc::FIOCLEX as u64,
    libc::TCGETS as u64,
    libc::TIOCGPGRP as u64,
    libc::TIOCSPGRP as u64,
    libc::TIOCGWINSZ as u64,
];

/// This thread, and those that it starts, make the calls of `role` alone. `files`: it writes some. `false`: the kernel does not
/// know how, or nobody has written down the calls of this architecture.
pub(super) fn only_of(role: Role, files: bool) -> io::Result<bool> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(false) };
    let programs = || -> Result<[BpfProgram; 2], BackendError> {
        let kills = std::env::var_os(FORBIDDEN).is_some_and(|what| what == "kill");
        let forbidden =
            if kills { SeccompAction::KillProcess } else { SeccompAction::Errno(libc::EPERM as u32) };
        let allowed = SeccompFilter::new(calls_of(role, files)?, forbidden, SeccompAction::Allow, arch)?;
        // Its flags are in memory, where a filter does not see them: the C library then makes the older call.
        let hidden = [(libc::SYS_clone3, Vec::new())].into();
        let absent = SeccompAction::Errno(libc::ENOSYS as u32);
        let not_hidden = SeccompFilter::new(hidden, SeccompAction::Allow, absent, arch)?;
        Ok([not_hidden.try_into()?, allowed.try_into()?])
    };
    for program in programs().map_err(io::Error::other)? {
        match apply_filter(&program) {
            Ok(()) => {}
            Err(Error::Prctl(error) | Error::Seccomp(error))
                if [Some(libc::ENOSYS), Some(libc::EINVAL)].contains(&error.raw_os_error()) =>
            {
                return Ok(false);
            }
            Err(error) => return Err(io::Error::other(error)),
        }
    }
    Ok(true)
}

fn calls_of(role: Role, files: bool) -> Result<Calls, BackendError> {
    let mut calls = Calls::new();
    let mut allow = |numbers: &[&[i64]]| {
        for &number in numbers.iter().copied().flatten() {
            calls.insert(number, Vec::new());
        }
    };
    allow(&[ANY, older::ANY]);
    if role != Role::Loop {
        allow(&[PROCESS, BECOMING_LOOP]);
    }
    if role == Role::Shell {
        allow(&[SHELL, older::SHELL]);
    }
    if role == Role::Xdp {
        allow(&[XDP]);
    }
    if role == Role::Keeper || (files && role != Role::Loop) {
        allow(&[FILES, older::FILES]);
    }
    let mut only = |number: i64, rules: Vec<SeccompRule>| {
        calls.entry(number).or_insert(rules);
    };
    // The allocator asks how many processors there are.
    let write = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
    only(libc::SYS_openat, vec![rule(2, MaskedEq(write as u64), 0)?]);
    // Nothing that can be written becomes a program.
    for number in [libc::SYS_mmap, libc::SYS_mprotect] {
        only(number, vec![rule(2, MaskedEq(libc::PROT_EXEC as u64), 0)?]);
    }
    only(libc::SYS_prctl, one_of(0, PRCTL.iter().map(|&what| what as u64))?);
    #[allow(clippy::unnecessary_cast, reason = "as above")]
    let ethtool = [libc::SIOCETHTOOL as u64];
    let ioctl = match role {
        Role::Keeper => ethtool.to_vec(),
        Role::Xdp => [IOCTL, &ethtool].concat(),
        Role::Link | Role::Shell | Role::Loop => IOCTL.to_vec(),
    };
    only(libc::SYS_ioctl, one_of(1, ioctl.into_iter())?);
    if role != Role::Loop {
        // A thread, and no process.
        let thread = libc::CLONE_THREAD as u64;
        only(libc::SYS_clone, vec![rule(0, MaskedEq(thread), thread)?]);
        only(libc::SYS_clone3, Vec::new());
        let xdp = (role == Role::Xdp).then_some(&libc::AF_XDP);
        only(libc::SYS_socket, one_of(0, FAMILIES.iter().chain(xdp).map(|&family| family as u64))?);
        // Limits are asked for, not set.
        only(libc::SYS_prlimit64, vec![rule(2, Eq, 0)?]);
    }
    Ok(calls)
}

fn one_of(argument: u8, values: impl Iterator<Item = u64>) -> Result<Vec<SeccompRule>, BackendError> {
    values.map(|value| rule(argument, Eq, value)).collect()
}

fn rule(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    // Pointers and sizes have 64 bits; the kernel looks at 32 of a flag or number.
    let length =
        if value == 0 && matches!(operator, Eq) { SeccompCmpArgLen::Qword } else { SeccompCmpArgLen::Dword };
    SeccompRule::new(vec![SeccompCondition::new(argument, length, operator, value)?])
}
