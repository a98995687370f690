//! Plays the conformance vectors of each discipline to the wrong forms of its reference.
//!
//! `fairdrop-mutation run STATE [FILE...]` works through the forms of these files of the references, or of all, and keeps what
//! it found in the folder STATE, where the next run goes on. `fairdrop-mutation report STATE DIR PAGE` writes the scores and the
//! survivors to DIR and PAGE and says how many there are. `fairdrop-mutation search SURVIVORS ROUNDS FILE...` looks for vectors that
//! notice forms of the list SURVIVORS. `fairdrop-mutation try SURVIVORS FILE` says which of them the vectors notice whose lines, as in
//! `cases/found.tsv` or `cases/exact.tsv`, come on its standard input. `fairdrop-mutation play FILE` is the process that `run` starts.
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
    /// The disciplines whose vectors are played to its forms: those whose reference it is, and those whose reference calls it
    /// where no other does.
    pub fn disciplines(&self) -> Vec<&'static str> {
        let callers: &[&str] = match self.stem {
            "cobalt" => &["cake"],
            "pie" | "pie_linux" => &["fq_pie"],
            "codel_linux" => &["fq_codel"],
            "red_linux" => &["choke_hardware"],
            _ => &[],
        };
        [self.decides().as_slice(), callers].concat()
    }

    /// The disciplines whose reference it is: the one of its name, and those that only choose parameters of it.
    pub fn decides(&self) -> Vec<&'static str> {
        // What the kernel does instead is part of the same discipline.
        let stem = self.stem.trim_end_matches("_linux");
        let more: &[&str] = match stem {
            "red" => &["choke", "droptail"],
            "drr" => &["sfq"],
            "collar" => &["collarw", "collar_hosts", "collar_sparse"],
            _ => &[],
        };
        [stem].into_iter().chain(more.iter().copied()).collect()
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
        ["search", survivors, rounds, files @ ..] => search::search(survivors.as_ref(), rounds, files),
        ["try", survivors, file] => search::attempt(survivors.as_ref(), file),
        ["play", file] => play::play(file),
        _ => {
            Err("usage: fairdrop-mutation run STATE [FILE...] | report STATE DIR PAGE | search SURVIVORS ROUNDS FILE... | try SURVIVORS FILE"
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
