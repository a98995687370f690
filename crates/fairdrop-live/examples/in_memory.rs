//! The loop of one direction without an operating system: what `fairdropd` adds to reading and writing, to be counted.
//!
//!     valgrind --tool=callgrind target/release/examples/in_memory PACKETS BYTES [SETTING=VALUE ..]
//!
//! The difference between two numbers of packets is without the start. Settings are those of a link's file
//! (`up.rate=10gbit`, `queue.discipline=choke`). A packet of one of 16 flows comes every microsecond, in batches of 32.

use fairdrop::Time;
use fairdrop_capture::LinkType;
use fairdrop_live::config::TwoWay;
use fairdrop_live::host::{Direction, Flows, Ports, Received, mailbox};
use std::error::Error;
use std::io;
use std::sync::Arc;

const RAW_IP: LinkType = LinkType(101);
const FLOWS: u64 = 16;
const BATCH: u64 = 32;
const GAP_NS: u64 = 1000;
const FRAME_BYTES: usize = 9000;

struct InMemory {
    packet: Vec<u8>,
    left: u64,
    read: u64,
    delivered: u64,
    now: Time,
}

impl Ports for InMemory {
    fn now(&self) -> Time {
        self.now
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        if self.left == 0 || self.read == BATCH {
            return Ok(None);
        }
        (self.left, self.read) = (self.left - 1, self.read + 1);
        self.now = self.now.after(Time::from_ns(GAP_NS));
        let len = self.packet.len();
        buffer[..len].copy_from_slice(&self.packet);
        // The last byte of the source address.
        buffer[15] = (self.left % FLOWS) as u8;
        Ok(Some(Received { len, at: self.now }))
    }

    fn deliver(&mut self, _: &[u8]) -> io::Result<bool> {
        self.delivered += 1;
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wait(&mut self, until: Option<Time>) -> io::Result<()> {
        self.read = 0;
        self.now = self.now.max(until.unwrap_or(self.now));
        if self.left == 0 && until.is_none() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [packets, bytes, settings @ ..] = &arguments[..] else {
        return Err("usage: in_memory PACKETS BYTES [SETTING=VALUE ..]".into());
    };
    let link = TwoWay::parse("", "command line", settings)?;
    let mut packet = vec![0; bytes.parse::<usize>()?.max(28)];
    packet[..10].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17]);
    let total = (packet.len() as u16).to_be_bytes();
    packet[2..4].copy_from_slice(&total);
    let mut ports = InMemory { packet, left: packets.parse()?, read: 0, delivered: 0, now: Time::ZERO };
    let (_mailbox, commands) = mailbox(Arc::new(()));
    let config = link.up.direction(link.seed, 0, [1, 2], RAW_IP, FRAME_BYTES);
    let flows = Flows::new(RAW_IP, link.up.flow_key, Time::ZERO);
    let report = Direction::new(config, commands, flows, Time::ZERO)?.run(&mut ports)?;
    println!("{{\"delivered\":{},\"arrived\":{}}}", ports.delivered, report.arrived.packets);
    Ok(())
}
