#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fairdrop_fuzz::plugin(data));
