//! libFuzzer's way to the check of this name.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| talktree_checks::tokens(data));
