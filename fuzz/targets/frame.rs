//! Any bytes as a received frame.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| linerate_ether::exercise::frame(data));
