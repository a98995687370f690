//! What turns a flow's key into its number.

use core::slice;

/// SipHash-2-4 of `length` bytes under a secret key of 128 bits: what makes `flow` of a packet's addresses, protocol and
/// ports, so that nobody who does not know the key can choose ports that collide with somebody else's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairdrop_hash(key_low: u64, key_high: u64, bytes: *const u8, length: usize) -> u64 {
    let bytes = if bytes.is_null() {
        &[]
    } else {
        // SAFETY: the caller promises `length` bytes there.
        unsafe { slice::from_raw_parts(bytes, length) }
    };
    fairdrop::siphash([key_low, key_high], bytes)
}
