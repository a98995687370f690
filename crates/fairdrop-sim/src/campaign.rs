//! Many runs on all cores. Each run is one thread's; results come back in the order of the jobs, so the number of
//! threads changes nothing but the time it takes.
//!
//! ```
//! use fairdrop_sim::{Control, campaign::run_all};
//!
//! let squares = run_all(&[1, 2, 3], None, &Control::default(), |&job| Some(job * job));
//! assert_eq!(squares, [Some(1), Some(4), Some(9)]);
//! ```

use crate::control::Control;
use crate::host::{cores, on_threads};
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does `work` on every job, on `threads` threads (`None`: all cores). A job whose work gives `None`, or that was
/// not begun when `control` was stopped, has no result.
pub fn run_all<J: Sync, R: Send>(
    jobs: &[J],
    threads: Option<NonZero<usize>>,
    control: &Control,
    work: impl Fn(&J) -> Option<R> + Sync,
) -> Vec<Option<R>> {
    let threads = threads.map_or_else(cores, NonZero::get).min(jobs.len().max(1));
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    on_threads(threads, || {
        while !control.is_stopped() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else { break };
            let result = work(job);
            if let Ok(mut slot) = results[index].lock() {
                *slot = result;
            }
        }
    });
    results.into_iter().map(|slot| slot.into_inner().unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_jobs() {
        let jobs: Vec<u64> = (0..50).collect();
        for threads in [1, 2, 7] {
            let done = run_all(&jobs, NonZero::new(threads), &Control::default(), |&job| Some(job * job));
            assert!(done.iter().zip(&jobs).all(|(done, job)| *done == Some(job * job)));
        }
    }

    #[test]
    fn stopping_keeps_what_was_done() {
        let control = Control::default();
        let done = run_all(&[0, 1, 2, 3, 4], NonZero::new(1), &control, |&job| {
            if job == 2 {
                control.stop();
            }
            Some(job)
        });
        assert_eq!(done, [Some(0), Some(1), Some(2), None, None]);
    }
}
