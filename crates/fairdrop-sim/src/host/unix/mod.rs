//! With the calls and files of Unix.

mod clock;
mod memory;
mod threads;

pub use clock::{Stopwatch, thread_cpu};
pub use threads::{cores, on_threads};
