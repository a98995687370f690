//! An application that writes by and by: a segment as often as its rate has one, the first when the flow starts.

use super::plan;
use fairdrop::Time;
use fairdrop_link::{Rate, Wire};
use fairdrop_sim::scenario::Group;

/// What one has written, and when it writes next.
#[derive(Clone, Copy, Debug)]
pub struct Application {
    next: Time,
    rate: Rate,
    wire: Wire,
    /// What the scenario counts as a segment's data, bytes: its rate is of these.
    counted: u32,
    /// Data of a full segment of the kernel's, bytes.
    segment: u64,
    /// Bytes written that the socket has not taken.
    ready: u64,
}

impl Application {
    /// That of a flow of `group` that starts at `start`; `None` where its source always has data.
    pub fn of(group: &Group, start: Time) -> Option<Self> {
        let rate_bps = group.transport.tcp()?.app_rate_bps?;
        let counted = group.payload();
        Some(Self {
            next: start,
            rate: Rate::new(rate_bps, [counted, 0]),
            wire: Wire::default(),
            counted,
            segment: plan::payload(group).into(),
            ready: 0,
        })
    }

    /// Writes a segment. Returns when the next is written.
    pub fn write(&mut self) -> Time {
        self.ready += self.segment;
        self.next = self.next.after(self.wire.time_of(self.counted, &self.rate));
        self.next
    }

    /// Bytes that the socket may take.
    pub fn ready(&self) -> u64 {
        self.ready
    }

    /// The socket has taken `bytes`.
    pub fn took(&mut self, bytes: u64) {
        self.ready -= bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairdrop_sim::scenario::Scenario;

    fn group(text: &str) -> Group {
        let text = format!("[queue]\n[[groups]]\nname = \"g\"\n{text}");
        Scenario::parse(&text, "test", &[]).unwrap().groups.remove(0)
    }

    /// 300 segments of 1000 bytes at 300 kbit/s take 8 s, to the nanosecond, and so they do where headers are extra.
    #[test]
    fn segments_are_written_at_the_rate() {
        for headers in ["", "header = 40\n"] {
            let group = group(&format!("transport = \"reno\"\napp_rate = \"300kbit\"\n{headers}"));
            let start = Time::from_ms(7);
            let mut application = Application::of(&group, start).unwrap();
            let times: Vec<Time> = (0..300).map(|_| application.write()).collect();
            assert_eq!(
                (times[0].since(start).ns(), times[299].since(start).ns()),
                (26_666_666, 8_000_000_000)
            );
            assert_eq!(application.ready(), 300 * u64::from(plan::payload(&group)));
            application.took(application.ready());
            assert_eq!(application.ready(), 0);
        }
    }

    #[test]
    fn others_always_have_data() {
        assert!(Application::of(&group("transport = \"cubic\"\n"), Time::ZERO).is_none());
        assert!(Application::of(&group("transport = \"cbr\"\nrate = 1000\n"), Time::ZERO).is_none());
    }
}
