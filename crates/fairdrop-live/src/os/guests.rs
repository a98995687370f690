//! A bounded number of connections: the oldest one without a request gives way to a new one.

use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A connection that somebody else may end.
pub trait Connection: Send + Sync {
    /// Ends it; who reads from it finds its end.
    fn end(&self);
}

impl Connection for TcpStream {
    fn end(&self) {
        // One that is broken has ended.
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Connection for UnixStream {
    fn end(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

/// Those who are connected.
#[derive(Debug)]
pub struct Guests<C> {
    most: usize,
    next: u64,
    room: Arc<Room<C>>,
}

#[derive(Debug)]
struct Room<C> {
    /// Those who have been idle for longest first.
    present: Mutex<Vec<Entry<C>>>,
    /// Somebody gave way.
    less: Condvar,
}

#[derive(Debug)]
struct Entry<C> {
    number: u64,
    connection: Arc<C>,
    /// Whether it has asked for nothing yet, or nothing again.
    idle: bool,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Guest<C> {
    number: u64,
    connection: Arc<C>,
    room: Arc<Room<C>>,
}

impl<C> Room<C> {
    fn present(&self) -> MutexGuard<'_, Vec<Entry<C>>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Connection> Guests<C> {
    /// At most `most` at a time.
    pub fn new(most: usize) -> Self {
        Self { most, next: 0, room: Arc::new(Room { present: Mutex::default(), less: Condvar::new() }) }
    }

    /// Lets one more in, idle. Where there is no place, the one that has been idle for longest is ended.
    ///
    /// # Errors
    /// All are being answered: the connection is given back.
    pub fn admit(&mut self, connection: C) -> Result<Guest<C>, C> {
        let mut present = self.room.present();
        if present.len() >= self.most {
            let Some(oldest) = present.iter().position(|entry| entry.idle) else { return Err(connection) };
            present.remove(oldest).connection.end();
            self.room.less.notify_all();
        }
        let (number, connection) = (self.next, Arc::new(connection));
        present.push(Entry { number, connection: Arc::clone(&connection), idle: true });
        drop(present);
        self.next += 1;
        Ok(Guest { number, connection, room: Arc::clone(&self.room) })
    }
}

impl<C> Guest<C> {
    /// Its connection.
    pub fn connection(&self) -> &C {
        &self.connection
    }

    /// It is being answered, and gives way to nobody; `false` when it has given way.
    pub fn is_answered(&self) -> bool {
        let mut present = self.room.present();
        let own = present.iter_mut().find(|entry| entry.number == self.number);
        own.map(|entry| entry.idle = false).is_some()
    }

    /// It has its answer; those that are idle already have been so for longer.
    pub fn is_idle(&self) {
        let mut present = self.room.present();
        if let Some(place) = present.iter().position(|entry| entry.number == self.number) {
            let entry = present.remove(place);
            present.push(Entry { idle: true, ..entry });
        }
    }

    /// Waits for `time`, or until it has given way.
    pub fn linger(&self, time: Duration) {
        let is_there = |present: &mut Vec<Entry<C>>| present.iter().any(|entry| entry.number == self.number);
        // Whether it has given way is looked at before it is answered.
        let _ = self.room.less.wait_timeout_while(self.room.present(), time, is_there);
    }
}

impl<C> Drop for Guest<C> {
    fn drop(&mut self) {
        self.room.present().retain(|entry| entry.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[derive(Debug, Default)]
    struct Fake(AtomicBool);

    impl Connection for Fake {
        fn end(&self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn ended(guests: &[&Guest<Fake>]) -> Vec<bool> {
        guests.iter().map(|guest| guest.connection().0.load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn who_has_been_idle_for_longest_gives_way() {
        let mut guests = Guests::new(2);
        let mut admit = || guests.admit(Fake::default());
        let (first, second) = (admit().unwrap(), admit().unwrap());
        assert!(first.is_answered(), "it is still there");
        let third = admit().unwrap();
        assert_eq!(ended(&[&first, &second, &third]), [false, true, false]);
        assert!(!second.is_answered(), "it has given way");
        second.linger(Duration::MAX);
        assert!(third.is_answered());
        assert!(admit().is_err(), "all are being answered");
        third.is_idle();
        first.is_idle();
        let fourth = admit().unwrap();
        assert_eq!(ended(&[&first, &third, &fourth]), [false, true, false]);
        drop(fourth);
        let fifth = admit().unwrap();
        assert_eq!(ended(&[&first, &fifth]), [false, false], "a place was free");
    }
}
