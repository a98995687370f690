//! What applications hand to TCP: transfers that begin, are written by and by, and complete.

use super::transfer::Job;
use super::{Flows, Transfer};
use crate::meter::TransferMeter;
use crate::random::{self, FlowPurpose};
use crate::transport::sources::{CbrConfig, Pacer};
use fairdrop::Time;

impl Flows<'_> {
    /// Notes that the transfer of a TCP flow begins. Returns whether its application writes by and by.
    pub fn begin(&mut self, flow: u32, now: Time, measured: bool) -> bool {
        let group = self.group(flow);
        let number = self.group_number(flow);
        if let (true, Some(meter)) = (measured, &mut self.transfers[number]) {
            meter.begin();
        }
        let (tcp, config) = self.tcp_of(flow, number as u16);
        if let Some(job) = &mut tcp.job {
            job.transfer.begun = now;
        }
        if let Some(rate_bps) = config.app_rate_bps {
            let steady = CbrConfig::steady(rate_bps);
            let unused = random::of_flow(0, flow, FlowPurpose::Gap);
            tcp.job().application = Some(Pacer::new(now, 0.0, unused, group.payload(), &steady));
            tcp.sender.supply = 0;
        }
        config.app_rate_bps.is_some()
    }

    /// When the application of `flow` writes its next segment; `None` when it has written all. Moves on.
    pub fn next_supply(&mut self, flow: u32) -> Option<Time> {
        let size = self.group(flow).payload();
        let tcp = self.tcp_of(flow, self.group_of[flow as usize]).0;
        let Job { transfer, application } = tcp.job.as_deref_mut()?;
        let application = application.as_mut().filter(|_| tcp.sender.supply < transfer.segments)?;
        Some(application.take(size))
    }

    /// Notes that all of a transfer is acknowledged, the first time that it is.
    pub fn complete(&mut self, flow: u32, now: Time, measured: bool) {
        let number = self.group_number(flow);
        let transfer = &mut self.tcp_of(flow, number as u16).0.job().transfer;
        if transfer.completed != Time::NEVER {
            return;
        }
        transfer.completed = now;
        let transfer = *transfer;
        if let (true, Some(meter)) = (measured, &mut self.transfers[number]) {
            meter.complete(transfer.bytes, transfer.completion_time());
        }
        self.release(flow);
    }

    /// The finished transfer of `flow`.
    pub fn completed(&self, flow: u32) -> Option<Transfer> {
        let job = self.tcp_flow(flow)?.job.as_ref()?;
        Some(job.transfer).filter(|transfer| transfer.completed != Time::NEVER)
    }

    /// Transfers of a group, when they have an end.
    pub fn transfers(&self, group: usize) -> Option<&TransferMeter> {
        self.transfers[group].as_ref()
    }
}
