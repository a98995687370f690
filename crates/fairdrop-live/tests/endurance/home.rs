//! The loop under a virtual clock, behind which a busy home sends, while somebody changes the link.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use fairdrop::{AnyParams, CATALOGUE, Philox, Time};
use fairdrop_capture::{KeyKind, LinkType};
use fairdrop_link::{Channel, Impairments, Pace};
use fairdrop_live::config::TwoWay;
use fairdrop_live::host::Amount;
use fairdrop_live::host::{Change, Direction, Flows, Mailbox, Ports, Received, Report, mailbox};

const RAW_IP: LinkType = LinkType(101);

/// Flows of the home; a few of them send most.
const FLOWS: u64 = 4096;

/// Rates of the link, bit/s.
const RATES: [u64; 6] = [1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000];

/// What is offered, in hundredths of the rate, for a while at a time.
const LOADS: [u64; 6] = [5, 20, 60, 100, 300, 1000];

/// Limits of queues.
const LIMITS: [u32; 3] = [20, 100, 400];

/// How it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Somebody stops it: a signal to end.
    Stopped,
    /// Nothing more can be read: the command and its device are gone.
    NothingToRead,
    /// Nothing more can be written, which is found in the middle of handing on.
    NothingToWrite,
}

impl End {
    pub const ALL: [Self; 3] = [Self::Stopped, Self::NothingToRead, Self::NothingToWrite];
}

/// What the ports have seen themselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Frames that were read, and how many were to be written and were.
    pub offered: Amount,
    pub taken: Amount,
    pub samples: u64,
    pub changes: u64,
    pub now: Time,
}

struct Home {
    seen: Rc<RefCell<Seen>>,
    random: Philox,
    /// Frames that are still to come.
    left: u64,
    end: End,
    next: Time,
    rate_bps: u64,
    /// Frames that are left of the load.
    load: u64,
    of_load: u64,
    /// Frames until somebody changes or asks something, and between two such moments at most.
    until_letter: u64,
    between_letters: u64,
    mailbox: Mailbox,
    asked: Option<Receiver<Report>>,
    proposed: Option<Receiver<Result<(), String>>>,
    queues: Vec<AnyParams>,
    frame: Vec<u8>,
}

/// Counted in packets and in bytes, by the loop and by its ports; buffers in use are those of packets that wait.
fn reconciles(report: &Report, seen: &Seen) {
    let dropped = report.dropped.values().fold(Amount::default(), |sum, amount| Amount {
        packets: sum.packets + amount.packets,
        bytes: sum.bytes + amount.bytes,
    });
    let (arrived, delivered, waiting) = (report.arrived, report.delivered, report.waiting);
    assert_eq!(arrived.packets, delivered.packets + dropped.packets + waiting.packets, "{report:?}");
    assert_eq!(arrived.bytes, delivered.bytes + dropped.bytes + waiting.bytes, "{report:?}");
    assert_eq!((arrived, delivered), (seen.offered, seen.taken), "as the ports saw it: {report:?}");
    assert_eq!(u64::from(report.buffers - report.buffers_free), waiting.packets, "{report:?}");
    assert!(report.queued.packets <= waiting.packets && report.queued.bytes <= waiting.bytes, "{report:?}");
}

impl Home {
    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random.next_u64() % end
    }

    /// Answers to earlier letters.
    fn read_letters(&mut self) {
        if let Some(Ok(report)) = self.asked.as_ref().map(Receiver::try_recv) {
            self.asked = None;
            let mut seen = self.seen.borrow_mut();
            seen.samples += 1;
            reconciles(&report, &seen);
        }
        if let Some(Ok(changed)) = self.proposed.as_ref().map(Receiver::try_recv) {
            changed.expect("every change is valid");
            self.proposed = None;
            self.seen.borrow_mut().changes += 1;
            self.asked = Some(self.mailbox.ask().unwrap());
        }
    }

    fn write_letter(&mut self) {
        if self.asked.is_some() || self.proposed.is_some() {
            return;
        }
        self.until_letter = 1 + self.below(self.between_letters);
        let change = match self.below(5) {
            0 => {
                self.rate_bps = self.one_of(&RATES);
                Change::Pace(Pace::Rate(self.rate_bps))
            }
            1 => {
                let delay = Time::from_ns(self.below(50_000_000));
                let jitter = Time::from_ns(self.below(10_000_000));
                let loss = self.below(50) as f64 / 1000.0;
                Change::Channel(Channel {
                    delay,
                    loss,
                    impairments: Impairments { jitter, ..Impairments::NONE },
                })
            }
            2 => Change::Buffers(500 + self.below(1000) as u32),
            // Another discipline, or another limit.
            _ => {
                let number = self.below(self.queues.len() as u64);
                Change::Queue(self.queues[number as usize].clone())
            }
        };
        self.proposed = Some(self.mailbox.propose(change).unwrap());
    }

    /// When the next frame comes, after one of `len` bytes.
    fn come_after(&mut self, len: usize) {
        if self.of_load == 0 {
            (self.load, self.of_load) = (self.one_of(&LOADS), 1 + self.below(5000));
        }
        self.of_load -= 1;
        let mean_ns = len as u64 * 8 * 1_000_000_000 / self.rate_bps * 100 / self.load;
        let gap = self.below(2 * mean_ns + 1);
        self.next = self.next.after(Time::from_ns(gap));
    }

    /// UDP from one of many ports, small or large.
    fn make_frame(&mut self) -> usize {
        let draw = self.random.next_u64();
        let flow = if draw.is_multiple_of(4) { (draw >> 8) % FLOWS } else { (draw >> 8) % 8 };
        let len = [64, 90, 576, 1500][(draw >> 2 & 3) as usize];
        self.frame[1] = (draw >> 4) as u8;
        self.frame[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        self.frame[20..22].copy_from_slice(&(flow as u16).to_be_bytes());
        len
    }
}

impl Ports for Home {
    fn now(&self) -> Time {
        self.seen.borrow().now
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        self.read_letters();
        if self.left == 0 || self.next > self.now() {
            return Ok(None);
        }
        self.left -= 1;
        self.until_letter = self.until_letter.saturating_sub(1);
        if self.until_letter == 0 {
            self.write_letter();
        }
        let (len, at) = (self.make_frame(), self.next);
        let (room, head) = (len.min(buffer.len()), 28);
        buffer[..head].copy_from_slice(&self.frame[..head]);
        buffer[head..room].fill(0);
        self.come_after(len);
        let mut seen = self.seen.borrow_mut();
        seen.offered.packets += 1;
        seen.offered.bytes += len as u64;
        Ok(Some(Received { len, at }))
    }

    fn deliver(&mut self, frame: &[u8]) -> io::Result<bool> {
        if self.left == 0 && self.end == End::NothingToWrite {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // Now and then the port has no room.
        if self.below(1000) == 0 {
            return Ok(false);
        }
        let mut seen = self.seen.borrow_mut();
        seen.taken.packets += 1;
        seen.taken.bytes += frame.len() as u64;
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wait(&mut self, until: Option<Time>) -> io::Result<()> {
        self.read_letters();
        let coming = (self.left > 0).then_some(self.next);
        if self.left == 0 {
            match self.end {
                End::Stopped => drop(self.mailbox.propose(Change::Stop).unwrap()),
                End::NothingToRead => return Err(io::ErrorKind::UnexpectedEof.into()),
                // Found when the next packet leaves; with none, nothing more happens.
                End::NothingToWrite if until.is_none() => return Err(io::ErrorKind::UnexpectedEof.into()),
                End::NothingToWrite => {}
            }
        }
        if let Some(next) = [until, coming].into_iter().flatten().min() {
            let late = Time::from_ns(self.below(100_000));
            let mut seen = self.seen.borrow_mut();
            seen.now = seen.now.max(next.after(late));
        }
        Ok(())
    }
}

/// Every discipline with every limit.
fn queues() -> Vec<AnyParams> {
    let of = |discipline: &str, limit: u32| {
        let settings = [
            format!("queue.discipline={discipline}"),
            format!("queue.limit={limit}p"),
            "up.rate=10mbit".into(),
        ];
        TwoWay::parse("", "home", &settings).unwrap().up.queue.params(10_000_000).unwrap()
    };
    CATALOGUE.iter().flat_map(|info| LIMITS.map(|limit| of(info.name, limit))).collect()
}

/// `packets` pass, with a change or a question every `between_letters` of them at most; then it ends. All counters reconcile at
/// every sample, and at the end. Returns what was seen.
pub fn run(seed: u64, packets: u64, between_letters: u64, end: End) -> Seen {
    let link =
        TwoWay::parse("", "home", &["up.rate=10mbit".into(), "queue.discipline=choke".into()]).unwrap();
    let config = link.up.direction(seed, 0, [seed, 1], RAW_IP, 1600);
    let (mailbox, commands) = mailbox(Arc::new(()));
    let shared = Rc::new(RefCell::new(Seen::default()));
    let mut frame = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 192, 0, 2, 1];
    frame.resize(28, 0);
    let mut home = Home {
        seen: Rc::clone(&shared),
        random: Philox::new(seed, 0, 0),
        left: packets,
        end,
        next: Time::ZERO,
        rate_bps: 10_000_000,
        load: 100,
        of_load: 0,
        until_letter: between_letters,
        between_letters,
        mailbox,
        asked: None,
        proposed: None,
        queues: queues(),
        frame,
    };
    let flows = Flows::new(RAW_IP, KeyKind::FiveTuple, Time::ZERO);
    let direction = Direction::new(config, commands, flows, Time::ZERO).unwrap();
    let report = direction.run(&mut home).unwrap();
    let all = *shared.borrow();
    reconciles(&report, &all);
    assert_eq!((report.waiting.packets, report.buffers_free), (0, report.buffers), "{report:?}");
    assert_eq!(all.offered.packets, packets);
    all
}
