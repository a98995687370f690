//! The kernel's numbers of its functions, from the description of its types (`Documentation/bpf/btf.rst`).

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Mutex, PoisonError};

const MAGIC: u16 = 0xeb9f;
const KIND_FUNCTION: u32 = 12;

/// The number of a function of the running kernel; `None`: it has none of that name, or does not list them. It is asked once: a
/// process that has given up its files cannot ask again.
pub(super) fn kernel_function(name: &'static str) -> Option<i32> {
    static KNOWN: Mutex<BTreeMap<&str, Option<i32>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(name).or_insert_with(|| function(&fs::read("/sys/kernel/btf/vmlinux").ok()?, name))
}

fn function(btf: &[u8], name: &str) -> Option<i32> {
    let word = |at: usize| btf.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes);
    if btf.first_chunk().copied().map(u16::from_ne_bytes)? != MAGIC {
        return None;
    }
    let header = word(4)? as usize;
    let (types, strings) = (header + word(8)? as usize, header + word(16)? as usize);
    let end = types + word(12)? as usize;
    let is_name = |offset: u32| {
        let from = btf.get(strings + offset as usize..)?;
        let found = from.strip_prefix(name.as_bytes())?;
        (*found.first()? == 0).then_some(())
    };
    // Number 0 is void.
    let (mut at, mut id) = (types, 1);
    while at < end {
        let (offset, info) = (word(at)?, word(at + 4)?);
        let (kind, members) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        if kind == KIND_FUNCTION && is_name(offset).is_some() {
            return Some(id);
        }
        at += 12 + of_members(kind, members);
        id += 1;
    }
    None
}

/// Bytes behind the head of a type.
fn of_members(kind: u32, members: usize) -> usize {
    match kind {
        // Integers, variables, declaration tags.
        1 | 14 | 17 => 4,
        // Arrays.
        3 => 12,
        // Structures, unions, sections, enumerations of 64 bits.
        4 | 5 | 15 | 19 => 12 * members,
        // Enumerations, prototypes.
        6 | 13 => 8 * members,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_by_name() {
        let strings = b"\0int\0one\0ones\0";
        let mut types = Vec::new();
        for (name, kind, members, more) in
            [(1_u32, 1_u32, 0_u32, 4), (0, 13, 2, 16), (9, 12, 0, 0), (5, 12, 0, 0)]
        {
            types.extend(name.to_ne_bytes());
            types.extend((kind << 24 | members).to_ne_bytes());
            types.extend([0; 4]);
            types.extend(vec![0xff; more]);
        }
        let mut btf = MAGIC.to_ne_bytes().to_vec();
        btf.extend([1, 0]);
        for word in [24, 0, types.len() as u32, types.len() as u32, strings.len() as u32] {
            btf.extend(word.to_ne_bytes());
        }
        btf.extend(types);
        btf.extend(strings);
        assert_eq!((function(&btf, "ones"), function(&btf, "one")), (Some(3), Some(4)));
        assert_eq!((function(&btf, "on"), function(&btf, "int")), (None, None));
        // Cut short anywhere, it gives nothing or the same, and does not fail.
        for len in 0..btf.len() {
            assert!(matches!(function(&btf[..len], "one"), None | Some(4)));
        }
    }
}
