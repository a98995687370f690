//! What runs ask of an operating system: the time, memory, threads. Where there is none (WebAssembly), clocks stand still,
//! memory ends where addresses do, and one thread does all the work.

mod available;
mod huge_pages;
#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod unix;

pub use available::{Available, Limit};
pub use huge_pages::HugePages;
#[cfg(not(unix))]
pub(crate) use portable::{Stopwatch, cores, on_threads, thread_cpu};
#[cfg(unix)]
pub(crate) use unix::{Stopwatch, cores, on_threads, thread_cpu};
