//! `trace` of a link: a file of delivery chances in place of a rate.

use super::LinkQueue;
use fairdrop_config::{Report, Section, read_chances};
use fairdrop_link::Chances;
use std::sync::Arc;

/// Rates that a link can have, bit/s.
const RATES_BPS: (f64, f64) = (1.0, 1e13);

/// The delivery chances of a link.
#[derive(Clone, Debug)]
pub struct LinkTrace {
    /// The file, as the scenario names it.
    pub file: String,
    /// What it holds.
    pub chances: Arc<Chances>,
}

impl LinkTrace {
    /// That of a link with `queue`; problems with its file are added to `report`.
    pub fn read(section: &Section, queue: &LinkQueue, report: &mut Report) -> Option<Self> {
        let file = section.text("trace").filter(|_| section.is_set("trace"))?;
        let path = section.path("trace");
        if *queue == LinkQueue::Plain {
            let what = format!("{path} is on a link without a queue");
            report.add(section.origin("trace"), "", &what, "with queue = true or a table");
        }
        for field in ["rate_schedule", "token_bucket"] {
            if section.is_set(field) {
                let what = format!("{path} and {} exclude each other", section.path(field));
                report.add(section.origin(field), "", &what, "one of the two");
            }
        }
        match read_chances(&report.beside(file)) {
            Ok(chances) => Some(Self { file: file.into(), chances: Arc::new(chances) }),
            Err(valid) => {
                report.add(section.origin("trace"), &path, &format!("{file:?}"), &valid);
                None
            }
        }
    }

    /// The rate that it comes to, which disciplines know as that of their link, bit/s.
    pub fn rate_bps(&self) -> u64 {
        self.chances.mean_bps().clamp(RATES_BPS.0, RATES_BPS.1) as u64
    }
}
