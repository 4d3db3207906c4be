//! Arbitrary octets as a capture, and as packets of a link type selected by the first octet.
#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| linerate_explain::exercise::capture(octets));
