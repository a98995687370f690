//! Asks the loops once a second, for all who look: however many there are, a loop is asked no more often.

use crate::config::DIRECTIONS;
use crate::host::{Mailbox, Report};
use crate::metrics::prometheus;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time between two samples.
const EVERY: Duration = Duration::from_secs(1);

/// Samples that are kept for those who open the page: five minutes.
const KEPT: usize = 300;

/// What one sample is not kept of: it is long, and only the newest is looked at.
const ONLY_NEWEST: [&str; 5] = ["flows", "wait", "lateness", "late", "recording"];

/// The newest samples.
pub struct Sampler {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    link: String,
    mailboxes: [Mailbox; 2],
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Number of the newest sample; 0 before the first.
    number: u64,
    newest: Arc<str>,
    prometheus: Arc<str>,
    history: VecDeque<Arc<str>>,
    ended: bool,
}

/// A sample, or that there will be none.
pub enum Next {
    /// Its number, and the sample in JSON.
    Sample(u64, Arc<str>),
    /// Nothing has come for a while.
    Nothing,
    /// The link has ended.
    Ended,
}

impl Sampler {
    /// Samples the link called `link`.
    ///
    /// # Errors
    /// The link has ended, or the operating system gives no thread.
    pub fn start(link: &str, mailboxes: [Mailbox; 2]) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            link: link.into(),
            mailboxes,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        shared.sample()?;
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("fairdrop-sampler".into()).spawn(move || of_thread.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// What others look at.
    pub fn view(&self) -> View {
        View(Arc::clone(&self.shared))
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.shared.end();
        if let Some(thread) = self.thread.take() {
            // It has not panicked, and if it had there would be nothing to do.
            let _ = thread.join();
        }
    }
}

/// The samples, for who looks.
#[derive(Clone)]
pub struct View(Arc<Shared>);

impl View {
    /// Of a link that is not asked.
    #[cfg(test)]
    pub fn without_samples() -> Self {
        let mailbox = || crate::host::mailbox(Arc::new(())).0;
        Self(Arc::new(Shared {
            link: String::new(),
            mailboxes: [mailbox(), mailbox()],
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// The newest sample in JSON.
    pub fn newest(&self) -> Arc<str> {
        Arc::clone(&self.0.state().newest)
    }

    /// The newest sample for Prometheus.
    pub fn prometheus(&self) -> Arc<str> {
        Arc::clone(&self.0.state().prometheus)
    }

    /// The samples that are kept, oldest first, as a JSON array, and the number of the newest.
    pub fn history(&self) -> (u64, String) {
        let state = self.0.state();
        let samples: Vec<&str> = state.history.iter().map(|sample| &**sample).collect();
        (state.number, format!("[{}]", samples.join(",")))
    }

    /// The newest sample, once there is one newer than `seen`.
    pub fn after(&self, seen: u64, patience: Duration) -> Next {
        let state = self.0.state();
        let waiting = |state: &mut State| state.number <= seen && !state.ended;
        let (state, _) = self
            .0
            .changed
            .wait_timeout_while(state, patience, waiting)
            .unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State { number, newest, .. } if *number > seen => Next::Sample(*number, Arc::clone(newest)),
            State { ended: true, .. } => Next::Ended,
            _ => Next::Nothing,
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        self.state().ended = true;
        self.changed.notify_all();
    }

    fn run(&self) {
        loop {
            let state = self.state();
            let (state, _) = self
                .changed
                .wait_timeout_while(state, EVERY, |state| !state.ended)
                .unwrap_or_else(PoisonError::into_inner);
            if state.ended {
                return;
            }
            drop(state);
            if self.sample().is_err() {
                return self.end();
            }
        }
    }

    fn sample(&self) -> io::Result<()> {
        let [up, down] = &self.mailboxes;
        let reports = [up.report()?, down.report()?];
        let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let newest = self.document(unix_s, &reports, &[])?;
        let kept = self.document(unix_s, &reports, &ONLY_NEWEST)?;
        let named = DIRECTIONS.into_iter().zip(&reports);
        let directions: Vec<_> = named.map(|(name, report)| prometheus::Direction { name, report }).collect();
        let prometheus = prometheus::render(&self.link, &directions);
        let mut state = self.state();
        state.number += 1;
        state.newest = newest.into();
        state.prometheus = prometheus.into();
        if state.history.len() == KEPT {
            state.history.pop_front();
        }
        state.history.push_back(kept.into());
        self.changed.notify_all();
        Ok(())
    }

    fn document(&self, unix_s: f64, reports: &[Report; 2], without: &[&str]) -> io::Result<String> {
        let mut directions = Map::new();
        for (name, report) in DIRECTIONS.into_iter().zip(reports) {
            let mut report = serde_json::to_value(report)?;
            if let Some(fields) = report.as_object_mut() {
                fields.retain(|field, _| !without.contains(&field.as_str()));
            }
            directions.insert(name.into(), report);
        }
        let document = json!({
            "schema": "fairdrop/live/1",
            "time_s": unix_s,
            "link": self.link,
            "directions": Value::Object(directions),
        });
        Ok(document.to_string())
    }
}
