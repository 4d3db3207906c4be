//! Any bytes as half-bits on a 10BASE-T line, and as a frame to encode.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| linerate_ether::exercise::manchester(data));
