//! Capabilities (capabilities(7)).

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};
use std::io;
use std::path::PathBuf;

/// Gives up all capabilities but those of `kept` that it has.
pub(super) fn keep(kept: CapabilitySet) -> io::Result<()> {
    for bit in 0..u64::BITS {
        // Beyond the last that the kernel knows, or no right to: with no_new_privs no program gets any from there.
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit)) {
            Ok(()) | Err(Errno::PERM) => {}
            Err(Errno::INVAL) => break,
            Err(error) => return Err(error.into()),
        }
    }
    clear_ambient_capability_set()?;
    let kept = capabilities(None)?.permitted & kept;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    Ok(set_capabilities(None, sets)?)
}

/// Whether one of `folders` can be written only with the right to pass over modes.
pub(super) fn are_of_others(folders: &[PathBuf]) -> io::Result<bool> {
    let all = capabilities(None)?;
    if !all.effective.contains(CapabilitySet::DAC_OVERRIDE) {
        return Ok(false);
    }
    let plain = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    set_capabilities(None, CapabilitySets { effective: all.effective - plain, ..all })?;
    let writable = |folder: &PathBuf| {
        accessat(CWD, folder, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).is_ok()
    };
    let others = !folders.iter().all(writable);
    set_capabilities(None, all)?;
    Ok(others)
}
