//! Messages on standard error, results on standard output. A closed stream ends no link.

use std::fmt;
use std::io::{self, Write};

/// As `eprintln!`, to nobody where nobody listens any more.
#[macro_export]
macro_rules! say {
    ($($message:tt)*) => {
        $crate::output::line(format_args!($($message)*))
    };
}

/// A line on standard error, with one call, so that lines of several threads do not mix.
pub fn line(message: fmt::Arguments<'_>) {
    // A failure could be reported nowhere.
    let _ = io::stderr().write_all(format!("{message}\n").as_bytes());
}

/// Prints to standard output. A reader that has closed it has seen enough.
///
/// # Errors
/// It cannot be written, for another reason.
pub fn print(text: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}
