//! Files (`Documentation/userspace-api/landlock.rst`).

use landlock::{
    ABI, Access, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, make_bitflags,
};
use std::io;
use std::path::PathBuf;

/// What is done in a folder: files are made, written, renamed and removed; of a control socket, the file is removed.
const WRITE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{WriteFile | Truncate | MakeReg | RemoveFile});

/// From now on no file is opened, made or removed except in `folders`, where files are read only if `read`. Descriptors that are open stay. `false`: the kernel
/// does not know how.
pub(super) fn only_in(folders: &[PathBuf], read: bool) -> io::Result<bool> {
    let wanted = if read { WRITE | AccessFs::ReadFile } else { WRITE };
    let enforced = || -> Result<bool, Box<dyn std::error::Error + Send + Sync>> {
        let mut rules = Ruleset::default().handle_access(AccessFs::from_all(ABI::V5))?.create()?;
        for folder in folders {
            rules = rules.add_rule(PathBeneath::new(PathFd::new(folder)?, wanted))?;
        }
        Ok(rules.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
    };
    enforced().map_err(io::Error::other)
}
