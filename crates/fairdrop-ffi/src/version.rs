//! The version of the interface.

/// Version of this interface. A program that was compiled with another one than `fairdrop_abi_version()` returns must not
/// use the library.
pub const FAIRDROP_ABI_VERSION: u32 = 4;

/// The version of the interface that the library was built with.
#[unsafe(no_mangle)]
pub extern "C" fn fairdrop_abi_version() -> u32 {
    FAIRDROP_ABI_VERSION
}
