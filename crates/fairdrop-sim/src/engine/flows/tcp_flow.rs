//! The sending end of a TCP connection.

use super::transfer::{Job, Transfer};
use super::window::WindowMeter;
use fairdrop::Time;
use fairdrop_link::Wire;
use fairdrop_tcp::Sender;

/// The sending end of a TCP connection: three lines of the cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct TcpFlow {
    pub sender: Sender,
    /// When the pending timer event fires; `NEVER` when none is pending.
    pub armed: Time,
    pub window: WindowMeter,
    /// The host's own link to the network.
    pub link_out: Wire,
    /// What it is to carry; `None`: data without end, as fast as TCP may.
    pub job: Option<Box<Job>>,
}

impl TcpFlow {
    pub fn new(sender: Sender) -> Self {
        let (window, link_out) = (WindowMeter::default(), Wire::default());
        Self { sender, armed: Time::NEVER, window, link_out, job: None }
    }

    /// It has `bytes` to carry, in segments of `payload` bytes.
    pub fn carry(&mut self, bytes: u64, payload: u32) {
        let transfer = Transfer::of(bytes, payload);
        self.sender.supply = transfer.segments;
        self.job = Some(Box::new(Job { transfer, application: None }));
    }

    pub fn job(&mut self) -> &mut Job {
        self.job.get_or_insert_with(|| Box::new(Job { transfer: Transfer::ENDLESS, application: None }))
    }

    /// Whether all of a finite transfer is acknowledged.
    #[inline]
    pub fn is_acknowledged(&self) -> bool {
        self.job.as_ref().is_some_and(|job| self.sender.una >= job.transfer.segments)
    }

    /// Whether it has carried all, and knows it.
    pub fn is_completed(&self) -> bool {
        self.job.as_ref().is_some_and(|job| job.transfer.completed != Time::NEVER)
    }
}

const _: () = assert!(size_of::<TcpFlow>() == 192);
