//! The program as a command in the foreground starts it.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::thread;
use std::time::Duration;

pub const FAIRDROPD: &str = env!("CARGO_BIN_EXE_fairdropd");

/// All tests that use it have ended by then.
const LONGEST: Duration = Duration::from_secs(900);

/// The program. A child does not inherit handlers, so that it gets Ctrl-C also where the tests were started to ignore that, in
/// the background.
pub fn fairdropd() -> Command {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ends = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_default(SIGINT, ends).unwrap();
        for signal in [SIGHUP, SIGQUIT] {
            signal_hook::flag::register(signal, Arc::default()).unwrap();
        }
        thread::spawn(|| {
            thread::sleep(LONGEST);
            eprintln!("the tests of fairdropd wait for something that does not come");
            std::process::exit(1);
        });
    });
    Command::new(FAIRDROPD)
}
