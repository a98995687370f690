#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fairdrop_fuzz::discipline("back_choke_memory", data));
