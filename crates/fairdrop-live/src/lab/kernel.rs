//! The calls into the kernel that no safe interface wraps: scheduling of a thread, options of TCP sockets.

#![allow(unsafe_code)] // The calls take pointers.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// How the scheduler treats a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// Before all that is not real time (`SCHED_FIFO`).
    Fifo,
    /// Before most others.
    Nice(i32),
    /// As the operating system does without being asked.
    Ordinary,
}

/// The most that a thread can be preferred to other ordinary ones.
const LEAST: i32 = -20;

/// Lets this thread run as soon as it is woken, as far as it has the right to.
pub fn hurry() -> Scheduling {
    // SAFETY: all zeros is a valid parameter.
    let mut parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    parameter.sched_priority = 1;
    // SAFETY: the kernel reads the parameter; 0 is the calling thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter) } == 0 {
        return Scheduling::Fifo;
    }
    match rustix::process::setpriority_process(None, LEAST) {
        Ok(()) => Scheduling::Nice(LEAST),
        Err(_) => Scheduling::Ordinary,
    }
}

/// Sets an option of a TCP socket that is a number.
///
/// # Errors
/// The kernel refuses.
pub fn set_tcp_option(socket: BorrowedFd<'_>, option: libc::c_int, value: u32) -> io::Result<()> {
    let value = libc::c_int::try_from(value).unwrap_or(libc::c_int::MAX);
    // SAFETY: the kernel reads the number, whose size is given.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What the kernel says of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Smoothed round-trip time, us; 0 before the first measurement.
    pub srtt_us: u32,
    /// Retransmission timeouts; `None` where the kernel does not report them (before 6.7).
    pub timeouts: Option<u16>,
}

/// Bytes of `struct tcp_info` that are asked for.
const TCP_INFO_BYTES: usize = 248;

/// What the kernel says of a connection (`struct tcp_info` in linux/tcp.h, which only ever grows at its end).
///
/// # Errors
/// It is no TCP socket.
pub fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    let mut bytes = [0_u8; TCP_INFO_BYTES];
    let mut len = TCP_INFO_BYTES as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, which are there.
    let got = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    let number = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    Ok(TcpInfo {
        srtt_us: number(68),
        cwnd: number(80),
        timeouts: (len >= 242).then(|| u16::from_ne_bytes([bytes[240], bytes[241]])),
    })
}
