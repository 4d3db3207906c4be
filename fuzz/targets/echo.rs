//! The echo and arbitrary datagrams.
#![no_main]

use linerate_agent::echo::{Echo, PORT};
use linerate_fuzz::{Rules, SendRule, Unstructured, play};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let rules = Rules {
        send_rule: SendRule::NoMoreThanReceived,
        forgets_within: None,
        phrases: &[b"", &[1; 64], &[2; 65]],
        answer: <[u8]>::to_vec,
    };
    let mut echo = Echo::<4, 64>::new(PORT);
    play(&mut echo, &rules, &mut Unstructured::new(data), |_, _| {
        false
    });
});
