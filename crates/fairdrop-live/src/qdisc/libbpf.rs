//! libbpf, which fits a program to the running kernel and loads it. It is opened at run time, so `fairdropd` is built and runs
//! where it is not installed.

#![allow(unsafe_code)] // Functions of a C library.

use libloading::{Library, Symbol};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::os::fd::RawFd;

/// Names that Debian's packages libbpf1 and its kin install it under.
const NAMES: [&str; 2] = ["libbpf.so.1", "libbpf.so"];

/// The begin of `struct bpf_object_open_opts`; its size says where it ends.
#[repr(C)]
struct OpenOptions {
    size: usize,
    object_name: *const c_char,
}

type Pointer = *mut c_void;
type Open = unsafe extern "C" fn(*const c_void, usize, *const OpenOptions) -> Pointer;
type OnObject = unsafe extern "C" fn(Pointer) -> c_int;
type Close = unsafe extern "C" fn(Pointer);
type FindMap = unsafe extern "C" fn(Pointer, *const c_char) -> Pointer;
type SetMaxEntries = unsafe extern "C" fn(Pointer, u32) -> c_int;
type MapFd = unsafe extern "C" fn(Pointer) -> c_int;
type Attach = unsafe extern "C" fn(Pointer) -> Pointer;
type SetPrint = unsafe extern "C" fn(Pointer) -> Pointer;

/// The library.
#[derive(Debug)]
pub struct Libbpf {
    library: Library,
}

/// An object file.
#[derive(Debug)]
pub struct Object<'a> {
    libbpf: &'a Libbpf,
    object: Pointer,
}

impl Libbpf {
    /// Opens the library; it is quiet unless `is_loud`.
    ///
    /// # Errors
    /// It is not installed.
    pub fn open(is_loud: bool) -> Result<Self, String> {
        // SAFETY: its initialisers do nothing that matters to us.
        let found = NAMES.into_iter().find_map(|name| unsafe { Library::new(name) }.ok());
        let library = found
            .ok_or("libbpf.so.1 is not installed; valid: version 1.1 or newer (Debian package libbpf1)")?;
        let libbpf = Self { library };
        if !is_loud {
            // SAFETY: a null pointer takes the function away that prints.
            unsafe { libbpf.function::<SetPrint>(c"libbpf_set_print")?(std::ptr::null_mut()) };
        }
        Ok(libbpf)
    }

    fn function<T>(&self, name: &CStr) -> Result<Symbol<'_, T>, String> {
        // SAFETY: the types above are those of libbpf's headers since its version 1.0.
        unsafe { self.library.get(name.to_bytes_with_nul()) }
            .map_err(|_| format!("libbpf has no {}; valid: version 1.1 or newer", name.to_string_lossy()))
    }

    /// Reads an object file, whose content is given.
    ///
    /// # Errors
    /// It is none.
    pub fn read(&self, content: &[u8]) -> Result<Object<'_>, String> {
        let options = OpenOptions { size: size_of::<OpenOptions>(), object_name: c"fairdrop".as_ptr() };
        let open = self.function::<Open>(c"bpf_object__open_mem")?;
        // SAFETY: content and options live as long as the call.
        let object = unsafe { open(content.as_ptr().cast(), content.len(), &raw const options) };
        if object.is_null() {
            return Err(io::Error::last_os_error().to_string());
        }
        Ok(Object { libbpf: self, object })
    }
}

impl Object<'_> {
    fn map(&self, name: &CStr) -> Result<Pointer, String> {
        // SAFETY: the object lives until it is dropped.
        let map = unsafe {
            self.libbpf.function::<FindMap>(c"bpf_object__find_map_by_name")?(self.object, name.as_ptr())
        };
        if map.is_null() { Err(format!("it has no map {}", name.to_string_lossy())) } else { Ok(map) }
    }

    /// Sets the size of an array, before loading.
    ///
    /// # Errors
    /// There is no such map, or the object is loaded.
    pub fn set_entries(&self, map: &CStr, entries: u32) -> Result<(), String> {
        let map = self.map(map)?;
        // SAFETY: as above.
        let result =
            unsafe { self.libbpf.function::<SetMaxEntries>(c"bpf_map__set_max_entries")?(map, entries) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error().to_string()) }
    }

    /// Loads programs and maps into the kernel.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn load(&self) -> Result<(), io::Error> {
        let load = self.libbpf.function::<OnObject>(c"bpf_object__load").map_err(io::Error::other)?;
        // SAFETY: as above.
        if unsafe { load(self.object) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The descriptor of a loaded map, as long as this object lives.
    ///
    /// # Errors
    /// There is no such map.
    pub fn descriptor(&self, map: &CStr) -> Result<RawFd, String> {
        let map = self.map(map)?;
        // SAFETY: as above.
        let descriptor = unsafe { self.libbpf.function::<MapFd>(c"bpf_map__fd")?(map) };
        if descriptor < 0 { Err("it is not loaded".into()) } else { Ok(descriptor) }
    }

    /// Registers the table of functions in a map with the kernel, which keeps it when this object is gone.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn register(&self, map: &CStr) -> Result<(), String> {
        let map = self.map(map)?;
        // SAFETY: as above. The link is not destroyed, since that would unregister the table.
        let link = unsafe { self.libbpf.function::<Attach>(c"bpf_map__attach_struct_ops")?(map) };
        if link.is_null() { Err(io::Error::last_os_error().to_string()) } else { Ok(()) }
    }
}

impl Drop for Object<'_> {
    fn drop(&mut self) {
        if let Ok(close) = self.libbpf.function::<Close>(c"bpf_object__close") {
            // SAFETY: nobody uses it after this.
            unsafe { close(self.object) };
        }
    }
}
