//! When the lasting flows of a group start.

use crate::control::Control;
use crate::random::{self, FlowPurpose};
use crate::scenario::Group;
use fairdrop::Time;

/// Flows of a group of more than this many are numbered in the order in which they start. A queue mostly keeps that order, so
/// flows whose packets are handled one after another lie side by side in memory, where there are too many for a cache.
const NUMBERED_BY_START: u32 = 2000;

/// When the lasting flows of `group` start, of which `first` is the first: at its start, plus for each a part of the spread.
/// Flows of a group are alike, so their numbers may follow the order of these times without any other change in law.
pub fn start_times(group: &Group, first: u32, seed: u64, control: &Control) -> Option<Vec<Time>> {
    let spread_ns = group.start_spread.ns() as f64;
    let start = |flow| {
        let part = random::uniform(&mut random::of_flow(seed, flow, FlowPurpose::Start));
        group.start.after(Time::from_ns((spread_ns * part) as u64))
    };
    let mut starts = control.gather((first..first + group.lasting_flows()).map(start))?;
    if group.lasting_flows() > NUMBERED_BY_START {
        starts.sort_unstable();
    }
    Some(starts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::flows::Flows;
    use crate::scenario::Scenario;

    /// Times of the second group, whose first flow is number 1: the same whatever their order.
    #[test]
    fn large_groups_are_numbered_by_start() {
        let starts = |count: u32| {
            let text = format!(
                "[queue]\ndiscipline = \"droptail\"\nlimit = \"9p\"\n\
                [[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = 1000\n\
                [[groups]]\nname = \"tcp\"\ntransport = \"reno\"\ncount = {count}\nstart = 1\nstart_spread = \"20ms\"\n"
            );
            let scenario = Scenario::parse(&text, "test", &[]).unwrap();
            Flows::new(&scenario, 1, &Control::default()).expect("nothing stops it").1
        };
        let (small, large) = (starts(NUMBERED_BY_START), starts(NUMBERED_BY_START + 1));
        let last = small.len();
        assert_eq!((last, large.len()), (2001, 2002));
        assert!(!small[1..].is_sorted() && large[1..].is_sorted());
        let (Some(&first), Some(&latest)) = (large.get(1), large.last()) else { panic!("some flows") };
        assert!(first >= Time::from_ms(1000) && latest <= Time::from_ms(1020));
        // With one flow more there is one time more.
        let new: Vec<_> = large.iter().filter(|time| !small.contains(time)).collect();
        assert_eq!(new.len(), 1);
    }
}
