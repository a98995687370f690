//! Packets that leave together, until they are handed on: those of one flow as one frame, or each as its own with one call.

use super::Ports;
use crate::frame::{FramePool, Join, Unsummed};
use fairdrop_link::Outcome;
use std::io;

/// Packets that one frame will stand for, or one call hand on. They keep their buffers until then.
#[derive(Debug, Default)]
pub(super) struct Train {
    join: Option<Join>,
    left: Option<Unsummed>,
    outcomes: Vec<Outcome>,
    headers: Vec<u8>,
}

impl Train {
    /// Packets that are handed on with one call at most.
    pub const MOST: usize = 32;

    /// Takes a packet; whether it is of this train, or begins it. `joined`: where its IP header begins, and its checksum, which is
    /// left, if it may be joined with others. Where one call hands on only one frame, those that are not joined are no train.
    #[inline]
    pub fn take(
        &mut self,
        pool: &FramePool,
        outcome: &Outcome,
        joined: Option<(usize, Unsummed)>,
        together: usize,
    ) -> bool {
        let taken = match joined {
            None => self.join.is_none() && together > 1,
            Some((ip, left)) => self.join(pool, pool.frame(outcome.handle), ip, left, together),
        };
        if taken {
            self.outcomes.push(*outcome);
        }
        taken
    }

    fn join(&mut self, pool: &FramePool, frame: &[u8], ip: usize, left: Unsummed, together: usize) -> bool {
        if let (Some(join), Some(first)) = (&mut self.join, self.outcomes.first()) {
            return join.take(pool.frame(first.handle), frame, left);
        }
        let Some(join) = Join::new(frame, ip, left) else { return together > 1 };
        let begins = self.outcomes.is_empty();
        if begins {
            (self.join, self.left) = (Some(join), Some(left));
        }
        begins
    }

    /// Whether one call takes no more of them.
    #[inline]
    pub fn is_full(&self, together: usize) -> bool {
        self.join.is_none() && self.outcomes.len() >= together
    }

    /// Whether one frame stands for all.
    #[inline]
    pub fn is_joined(&self) -> bool {
        self.join.is_some()
    }

    /// Whether it has none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// Its packets, which are its own no longer.
    pub fn unload(&mut self) -> Vec<Outcome> {
        self.join = None;
        std::mem::take(&mut self.outcomes)
    }

    /// Frees the room of the unloaded frames.
    pub fn reuse(&mut self, mut outcomes: Vec<Outcome>) {
        outcomes.clear();
        self.outcomes = outcomes;
    }

    /// Hands all of it on as one frame; whether the port took it.
    pub fn hand_on(&mut self, pool: &FramePool, ports: &mut impl Ports) -> io::Result<bool> {
        let (Some(join), Some(left), Some(first)) = (&self.join, self.left, self.outcomes.first()) else {
            return Ok(true);
        };
        let first = pool.frame(first.handle);
        if self.outcomes.len() == 1 {
            return ports.deliver_left(&left.header(), &[first]);
        }
        let header = join.headers(first, &mut self.headers);
        let mut pieces = [&[][..]; Join::MOST + 1];
        pieces[0] = &self.headers;
        for (piece, outcome) in pieces[1..].iter_mut().zip(&self.outcomes) {
            *piece = &pool.frame(outcome.handle)[join.payload()..];
        }
        ports.deliver_left(&header, &pieces[..=self.outcomes.len()])
    }
}

#[cfg(test)]
mod tests {
    use crate::config::TwoWay;
    use crate::host::{Direction, Leaving, Ports, Received, Report, mailbox};
    use fairdrop::Time;
    use fairdrop_capture::LinkType;
    use std::io;
    use std::sync::Arc;

    /// Packets of one flow that are all there at once; each bears its number.
    struct AtOnce {
        coming: u8,
        refuses: fn(u8) -> bool,
        /// How many of a call the port takes.
        takes: usize,
        breaks_after: usize,
        calls: usize,
        delivered: Vec<u8>,
    }

    const COMING: u8 = 100;

    impl AtOnce {
        fn new(refuses: fn(u8) -> bool) -> Self {
            Self { coming: 0, refuses, takes: 8, breaks_after: usize::MAX, calls: 0, delivered: Vec::new() }
        }

        fn pass(&mut self, settings: &[&str]) -> io::Result<Report> {
            let settings: Vec<String> = settings.iter().map(|&setting| setting.into()).collect();
            let link = TwoWay::parse("", "test", &settings).unwrap();
            let config = link.up.direction(1, 0, [1, 2], LinkType(101), 1500);
            let (_mailbox, commands) = mailbox(Arc::new(()));
            Direction::new(config, commands, (), Time::ZERO).unwrap().run(self)
        }
    }

    impl Ports for AtOnce {
        fn now(&self) -> Time {
            Time::from_ns(1000)
        }

        fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
            if self.coming == COMING {
                return Ok(None);
            }
            buffer[..28].fill(0);
            buffer[..10].copy_from_slice(&[0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17]);
            buffer[27] = self.coming;
            self.coming += 1;
            Ok(Some(Received { len: 28, at: self.now() }))
        }

        fn has_more(&self) -> bool {
            self.coming < COMING
        }

        fn deliver(&mut self, frame: &[u8]) -> io::Result<bool> {
            assert_eq!(self.coming, COMING, "only the last may be alone");
            self.deliver_all([Leaving { frame, left: None }].into_iter()).map(|taken| taken > 0)
        }

        fn together(&self) -> usize {
            self.takes
        }

        fn deliver_all<'a>(
            &mut self,
            frames: impl ExactSizeIterator<Item = Leaving<'a>>,
        ) -> io::Result<usize> {
            self.calls += 1;
            if self.calls > self.breaks_after {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            assert!((1..=self.takes).contains(&frames.len()));
            let before = self.delivered.len();
            let numbers = frames.map(|leaving| leaving.frame[27]);
            self.delivered.extend(numbers.take_while(|&number| !(self.refuses)(number)));
            Ok(self.delivered.len() - before)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn wait(&mut self, _: Option<Time>) -> io::Result<()> {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    fn numbers(those: impl Fn(u8) -> bool) -> Vec<u8> {
        (0..COMING).filter(|&number| those(number)).collect()
    }

    #[test]
    fn what_is_there_together_is_handed_on_with_few_calls_and_in_order() {
        let mut ports = AtOnce::new(|_| false);
        let report = ports.pass(&[]).unwrap();
        assert_eq!((ports.delivered, ports.calls), (numbers(|_| true), 13));
        assert_eq!((report.delivered.packets, report.lateness.packets), (100, 100));
        assert_eq!(report.buffers, report.buffers_free);
    }

    #[test]
    fn one_that_the_port_does_not_take_is_one_drop() {
        let refuses: fn(u8) -> bool = |number| matches!(number, 0 | 9 | 10 | 15 | 99);
        for settings in [&[][..], &["up.buffers=3"]] {
            let mut ports = AtOnce::new(refuses);
            let report = ports.pass(settings).unwrap();
            assert_eq!(ports.delivered, numbers(|number| !refuses(number)), "{settings:?}");
            assert_eq!(report.dropped["output"].packets, 5, "{report:?}");
            assert_eq!((report.delivered.packets, report.waiting.packets), (95, 0), "{report:?}");
            assert_eq!(report.buffers, report.buffers_free);
        }
    }

    #[test]
    fn a_port_that_breaks_ends_the_loop() {
        let mut ports = AtOnce { breaks_after: 2, ..AtOnce::new(|_| false) };
        assert_eq!(ports.pass(&[]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(ports.delivered, numbers(|number| number < 16));
    }
}
