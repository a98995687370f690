//! Maps of BPF programs, by the system call bpf(2), and the names that they are kept under in its file system.

#![allow(unsafe_code)] // The system call takes pointers.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

// Numbers of linux/bpf.h.
const MAP_LOOKUP_ELEM: libc::c_long = 1;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const MAP_DELETE_ELEM: libc::c_long = 3;
const OBJ_PIN: libc::c_long = 6;
const OBJ_GET: libc::c_long = 7;
const OBJ_GET_INFO_BY_FD: libc::c_long = 15;

/// The members of `union bpf_attr` for an element of a map.
#[derive(Default)]
#[repr(C)]
struct Element {
    map: u32,
    unused: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// Those for a name.
#[repr(C)]
struct Named {
    path: u64,
    descriptor: u32,
    flags: u32,
}

/// Those for a description.
#[repr(C)]
struct Described {
    descriptor: u32,
    length: u32,
    description: u64,
}

/// The begin of `struct bpf_map_info`.
#[derive(Default)]
#[repr(C)]
struct Description {
    kind: u32,
    id: u32,
    key_size: u32,
    value_size: u32,
}

fn call<T>(command: libc::c_long, attributes: &T) -> io::Result<RawFd> {
    // SAFETY: `T` is one of the structures above, which the kernel reads in their size; what they point to lives in the caller.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as RawFd) }
}

fn path_of(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

/// Gives the map behind a descriptor a name.
///
/// # Errors
/// What the kernel says.
pub fn pin(map: RawFd, path: &Path) -> io::Result<()> {
    let path = path_of(path)?;
    call(OBJ_PIN, &Named { path: path.as_ptr() as u64, descriptor: map as u32, flags: 0 }).map(drop)
}

/// A map with a key of 32 bits of which only 0 is used.
#[derive(Debug)]
pub struct Map {
    descriptor: OwnedFd,
    value_size: usize,
}

impl Map {
    /// The map of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = path_of(path)?;
        let descriptor = call(OBJ_GET, &Named { path: path.as_ptr() as u64, descriptor: 0, flags: 0 })?;
        // SAFETY: the kernel has just opened it for us alone.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let mut description = Description::default();
        let ask = Described {
            descriptor: descriptor.as_raw_fd() as u32,
            length: size_of::<Description>() as u32,
            description: (&raw mut description) as u64,
        };
        call(OBJ_GET_INFO_BY_FD, &ask)?;
        Ok(Self { descriptor, value_size: description.value_size as usize })
    }

    /// The value.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let key = 0_u32;
        // The kernel rounds the size of a value up to eight bytes.
        let mut value = vec![0_u8; self.value_size.next_multiple_of(8)];
        call(MAP_LOOKUP_ELEM, &self.element(&key, value.as_mut_ptr() as u64))?;
        value.truncate(self.value_size);
        Ok(value)
    }

    /// Sets the value.
    ///
    /// # Errors
    /// It is of another size, or what the kernel says.
    pub fn write(&self, value: &[u8]) -> io::Result<()> {
        if value.len() != self.value_size {
            return Err(io::Error::other(format!(
                "a value of {} bytes for {}",
                value.len(),
                self.value_size
            )));
        }
        let key = 0_u32;
        call(MAP_UPDATE_ELEM, &self.element(&key, value.as_ptr() as u64)).map(drop)
    }

    /// Removes the value: of a table of functions, which the kernel forgets then.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn remove(&self) -> io::Result<()> {
        let key = 0_u32;
        call(MAP_DELETE_ELEM, &self.element(&key, 0)).map(drop)
    }

    fn element(&self, key: &u32, value: u64) -> Element {
        let map = self.descriptor.as_raw_fd() as u32;
        Element { map, key: std::ptr::from_ref(key) as u64, value, ..Element::default() }
    }
}

/// Whether `path` is in a file system for BPF.
pub fn is_bpf(path: &Path) -> bool {
    const MAGIC: u64 = 0xcafe_4a11; // BPF_FS_MAGIC of linux/magic.h.
    fs::metadata(path).is_ok_and(|found| found.is_dir())
        && rustix::fs::statfs(path).is_ok_and(|found| found.f_type as u64 & 0xffff_ffff == MAGIC)
}
