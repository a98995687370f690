//! What the program gives up once it is set up: rights, files, and calls into the kernel.
//!
//! All three belong to threads and pass to those that a thread starts. They are given up before there is a second thread, so that
//! all have given them up. Nothing is ever got back.

mod calls;
mod files;
mod rights;

use rustix::thread::{CapabilitySet, set_no_new_privs};
use std::io;
use std::path::PathBuf;

/// What a process, or a thread, is left with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A link, and what goes on beside it.
    Link,
    /// The same, with AF_XDP sockets, which take rights to have again once their interface comes back.
    Xdp,
    /// The same as a link, and the outside of a shell: it signals its command, and has a terminal.
    Shell,
    /// Puts settings of interfaces back.
    Keeper,
    /// The loop of a direction. It may become one after it was any of the others but a keeper.
    Loop,
}

/// Set to `kill` in the environment, it ends a process that makes a forbidden call; otherwise the call fails with `EPERM`.
pub const FORBIDDEN: &str = "FAIRDROPD_FORBIDDEN";

/// Gives up all that `role` does not need. Files can be written in `folders` alone from now on, and no others be read. Returns
/// the mechanisms that this kernel lacks, for a message to the operator.
///
/// # Errors
/// The kernel refuses.
pub fn confine(role: Role, folders: &[PathBuf]) -> io::Result<Vec<String>> {
    let kept = match role {
        Role::Keeper => CapabilitySet::NET_ADMIN,
        Role::Xdp => {
            CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW | CapabilitySet::BPF | CapabilitySet::IPC_LOCK
        }
        Role::Link | Role::Shell | Role::Loop => CapabilitySet::empty(),
    };
    set_no_new_privs(true)?;
    let mut missing = Vec::new();
    let only_there = role != Role::Loop && files::only_in(folders, role == Role::Keeper)?;
    if role != Role::Loop && !only_there {
        missing.push("no Landlock in this kernel: files are protected by their modes alone".into());
    }
    // Root's folders are root's; others' are not without this right, which Landlock bounds to the folders that were named.
    let others = rights::are_of_others(folders)?;
    if others && !only_there {
        return Err(io::Error::other(
            "this kernel has no Landlock, and a folder to be written belongs to another user; valid: a folder of this user's",
        ));
    }
    let others = if others { CapabilitySet::DAC_OVERRIDE } else { CapabilitySet::empty() };
    rights::keep(kept | others)?;
    if !calls::only_of(role, !folders.is_empty())? {
        missing.push("no seccomp in this kernel: every call into it is allowed".into());
    }
    Ok(missing)
}
