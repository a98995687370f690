//! What flows have done: over the measuring window, and on the sampling grid.

use super::Flows;
use super::hosts::Hosts;
use super::sink::Delivered;
use super::window::WindowSeries;
use crate::result::Windows;
use fairdrop::Time;
use fairdrop_tcp::SenderCount;
use fairdrop_tcp::TransportCount;

impl Flows<'_> {
    /// Adds a point to the series of windows.
    pub fn sample_windows(&mut self, now: Time) {
        let series = &mut self.window_series;
        if series.by_flow.is_empty() {
            return;
        }
        series.times.push(now);
        for (flow, windows) in &mut series.by_flow {
            let group = self.group_of[*flow as usize];
            let Hosts { is_open, others, .. } = &self.hosts[usize::from(group)];
            if !is_open {
                windows.push(self.tcp[(*flow - others) as usize].sender.window.cwnd);
            }
        }
    }

    /// Congestion windows on the sampling grid.
    pub fn window_series(&self) -> &WindowSeries {
        &self.window_series
    }

    /// What the sender of `flow` knows at `end`, where it is TCP.
    pub fn windows(&self, flow: u32, end: Time) -> Windows {
        let group = self.group_of[flow as usize];
        let (Some(tcp), Some(config)) = (self.tcp_flow(flow), self.tcp_config(group)) else {
            return Windows::default();
        };
        let index = self.index(flow, group);
        Windows {
            mean_cwnd_packets: Some(tcp.window.mean(self.opened_for(index), end)),
            final_cwnd_packets: Some(tcp.sender.window.cwnd),
            srtt_s: tcp.sender.srtt_s(config),
        }
    }

    /// When the measuring window opened for TCP sender `index`: at the beginning of those that came later.
    fn opened_for(&self, index: u32) -> Time {
        let (opened, before) = self.opened;
        if index < before { opened } else { Time::ZERO }
    }

    /// The measuring window opens: counters of transports begin again.
    pub fn open(&mut self, now: Time) {
        self.opened = (now, self.tcp.len() as u32);
        for tcp in &mut self.tcp {
            tcp.sender.counted = SenderCount::default();
            tcp.window.open(now);
        }
    }

    /// What reached the sink of `flow`.
    pub fn delivered(&self, flow: u32) -> Delivered {
        self.sinks[flow as usize].delivered
    }

    /// What the transport of `flow` did.
    pub fn transport_count(&self, flow: u32) -> TransportCount {
        self.tcp_flow(flow).map_or_else(TransportCount::default, |tcp| tcp.sender.count())
    }
}
