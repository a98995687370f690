//! Sleep until a time, a frame, or a letter.

use crate::host::{SHORTEST_SLEEP, Wake};
use fairdrop::Time;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// The monotonic clock, which the timers of [`Sleeper`] use as well.
#[inline]
pub fn now() -> Time {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    Time::from_ns(tv_sec as u64 * 1_000_000_000 + tv_nsec as u64)
}

/// Ends a sleep from another thread.
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// Nobody has called yet.
    ///
    /// # Errors
    /// The operating system has no more descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?))
    }

    /// Calls so far are answered.
    pub fn reset(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

/// Can be read when somebody has called.
impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Wake for Waker {
    fn wake(&self) {
        // It fails only when the counter is full: then the sleep has ended already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

/// Sleeps to an absolute time; the last part of it may be spent awake.
#[derive(Debug)]
pub struct Sleeper {
    timer: OwnedFd,
    /// What the timer was set to last.
    alarm: Option<Time>,
    waker: Arc<Waker>,
    spin: Time,
}

/// What ports that need not be exact have of patience: as late as the kernel takes the liberty to make any sleep of an ordinary
/// thread (`PR_SET_TIMERSLACK`, prctl(2)).
const PATIENCE: Time = Time::from_ns(50_000);

impl Sleeper {
    /// Spends the last `spin` of each sleep awake, which costs a processor and is more exact.
    ///
    /// # Errors
    /// The operating system has no more descriptors.
    pub fn new(spin: Time) -> io::Result<Self> {
        Ok(Self {
            timer: timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?,
            alarm: None,
            waker: Arc::new(Waker::new()?),
            spin,
        })
    }

    /// What ends the sleep.
    pub fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker)
    }

    /// Sleeps until `readable` can be read, [`Waker::wake`] was called, or it is `until`. Returns whether `readable` may have
    /// something: not when it was asked last and had nothing.
    ///
    /// # Errors
    /// The descriptor is broken: `UnexpectedEof` when it was hung up.
    pub fn sleep(&mut self, readable: BorrowedFd<'_>, until: Option<Time>) -> io::Result<bool> {
        let alarm = until.map(|until| Time::from_ns(until.ns().saturating_sub(self.spin.ns())));
        if let Some(alarm) = alarm {
            if alarm <= now().after(SHORTEST_SLEEP) {
                return self.spin(readable, until, true);
            }
            self.set(alarm)?;
        }
        let mut fds = [
            PollFd::from_borrowed_fd(readable, PollFlags::IN),
            PollFd::new(&self.waker.0, PollFlags::IN),
            PollFd::new(&self.timer, PollFlags::IN),
        ];
        let watched = if alarm.is_some() { 3 } else { 2 };
        match poll(&mut fds[..watched], None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [port, woken, _] = fds.map(|fd| fd.revents());
        if woken.contains(PollFlags::IN) {
            self.waker.reset();
        }
        if port.intersects(PollFlags::NVAL)
            || (port.intersects(PollFlags::HUP) && !port.contains(PollFlags::IN))
        {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if !port.contains(PollFlags::IN) && !woken.contains(PollFlags::IN) {
            self.spin(readable, until, !port.is_empty())
        } else {
            Ok(!port.is_empty())
        }
    }

    /// Awake until `until`, unless there is something to do. Returns whether `readable` may have something: `before`, unless it
    /// is asked.
    fn spin(&self, readable: BorrowedFd<'_>, until: Option<Time>, before: bool) -> io::Result<bool> {
        let mut may_have = before;
        let Some(until) = until else { return Ok(may_have) };
        while now() < until {
            let mut fds = [
                PollFd::from_borrowed_fd(readable, PollFlags::IN),
                PollFd::new(&self.waker.0, PollFlags::IN),
            ];
            let ready = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
            may_have = !fds[0].revents().is_empty();
            if ready > 0 {
                break;
            }
        }
        Ok(may_have)
    }

    /// How late a packet may be: not at all for who stays awake to be exact.
    pub fn patience(&self) -> Time {
        if self.spin > Time::ZERO { Time::ZERO } else { PATIENCE }
    }

    /// Sleeps until it is `until` or [`Waker::wake`] was called.
    ///
    /// # Errors
    /// Never, but that the operating system has no memory.
    pub fn doze(&mut self, until: Time) -> io::Result<()> {
        self.set(until)?;
        let mut fds = [&self.waker.0, &self.timer].map(|fd| PollFd::new(fd, PollFlags::IN));
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if fds[0].revents().contains(PollFlags::IN) {
            self.waker.reset();
        }
        Ok(())
    }

    /// Sets the timer. Who was woken by a frame sleeps on until the same time.
    fn set(&mut self, at: Time) -> io::Result<()> {
        if self.alarm.replace(at) == Some(at) {
            return Ok(());
        }
        let at = Timespec { tv_sec: (at.ns() / 1_000_000_000) as _, tv_nsec: (at.ns() % 1_000_000_000) as _ };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
        timerfd_settime(self.timer.as_fd(), TimerfdTimerFlags::ABSTIME, &once)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::pipe;

    #[test]
    fn it_sleeps_until_the_time_and_no_less() {
        let (silent, _keep) = pipe().unwrap();
        for spin in [Time::ZERO, Time::from_ns(200_000)] {
            let mut sleeper = Sleeper::new(spin).unwrap();
            let until = now().after(Time::from_ns(3_000_000));
            sleeper.sleep(silent.as_fd(), Some(until)).unwrap();
            assert!(now() >= until);
            sleeper.sleep(silent.as_fd(), Some(until)).unwrap();
        }
    }

    #[test]
    fn a_sleep_that_was_broken_off_ends_when_it_should() {
        let (silent, _keep) = pipe().unwrap();
        let mut sleeper = Sleeper::new(Time::ZERO).unwrap();
        let until = now().after(Time::from_ns(20_000_000));
        for _ in 0..3 {
            sleeper.waker().wake();
            sleeper.sleep(silent.as_fd(), Some(until)).unwrap();
        }
        // Another time in between is not mistaken for the first.
        for until in [until.after(Time::from_ns(1_000_000)), until.after(Time::from_ns(9_000_000))] {
            sleeper.sleep(silent.as_fd(), Some(until)).unwrap();
            assert!(now() >= until);
        }
    }

    #[test]
    fn letters_and_frames_end_it() {
        let (port, writer) = pipe().unwrap();
        let mut sleeper = Sleeper::new(Time::ZERO).unwrap();
        let waker = sleeper.waker();
        waker.wake();
        sleeper.sleep(port.as_fd(), None).unwrap();
        rustix::io::write(&writer, b"frame").unwrap();
        sleeper.sleep(port.as_fd(), None).unwrap();
        rustix::io::read(&port, &mut [0; 8]).unwrap();
        drop(writer);
        let ended = sleeper.sleep(port.as_fd(), None).unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::UnexpectedEof);
    }
}
