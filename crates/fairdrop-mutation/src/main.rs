//! Plays the conformance vectors of each discipline to the wrong forms of its reference.
//!
//! `fairdrop-mutation run STATE [FILE...]` works through the forms of these files of the references, or of all, and keeps what
//! it found in the folder STATE, where the next run goes on. `fairdrop-mutation report STATE DIR PAGE` writes the scores and the
//! survivors to DIR and PAGE and says how many there are. `fairdrop-mutation search STATE FILE...` looks for vectors that notice survivors. `fairdrop-mutation play FILE` is the process that `run` starts.
#![allow(missing_docs, reason = "a program")]

mod forms;
mod play;
mod report;
mod run;
mod search;

#[path = "../../fairdrop-conformance/tests/beside.rs"]
#[allow(dead_code, reason = "its tests use more of it")]
mod beside;

/// The rewritten references, which use what all have in common.
pub use fairdrop_reference::{broken, compare, host, slow};

/// A file of the references.
pub struct File {
    pub stem: &'static str,
    pub text: &'static str,
    /// Numbers of its forms.
    pub forms: std::ops::Range<u32>,
    /// Calls of macros and arms of `match`, whose arguments and patterns are not made wrong.
    pub macros: usize,
    pub patterns: usize,
}

/// A way in which a file can be wrong.
pub struct Form {
    pub name: &'static str,
    pub line: usize,
}

impl File {
    /// The disciplines whose reference it is: the one of its name, and those that only choose parameters of it.
    pub fn disciplines(&self) -> Vec<&'static str> {
        let more: &[&str] = match self.stem {
            "red" => &["choke", "droptail"],
            "drr" => &["sfq"],
            "collar" => &["collarw", "collar_hosts", "collar_sparse"],
            _ => &[],
        };
        [self.stem].into_iter().chain(more.iter().copied()).collect()
    }
}

/// The form with a number, from 1.
pub fn form(number: u32) -> &'static Form {
    &made::FORMS[number as usize - 1]
}

#[allow(
    warnings,
    clippy::all,
    clippy::pedantic,
    reason = "written by machine, from sources that are checked as they stand"
)]
mod rewritten {
    use super::{File, Form};
    include!(concat!(env!("OUT_DIR"), "/forms.rs"));
}
use rewritten as made;
#[allow(unused_imports, reason = "the rewritten files name each other from the root")]
pub use rewritten::*;

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["run", state, files @ ..] => run::run(state.as_ref(), files),
        ["report", state, folder, page] => report::report(state.as_ref(), folder.as_ref(), page.as_ref()),
        ["search", state, files @ ..] => search::search(state.as_ref(), files),
        ["play", file] => play::play(file),
        _ => {
            Err("usage: fairdrop-mutation run STATE [FILE...] | report STATE DIR PAGE | search STATE FILE..."
                .into())
        }
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("fairdrop-mutation: {why}");
            std::process::ExitCode::FAILURE
        }
    }
}
