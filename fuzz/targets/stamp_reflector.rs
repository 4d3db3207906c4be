//! The STAMP reflector, stateful and stateless, and arbitrary datagrams.
#![no_main]

use linerate_agent::Service;
use linerate_agent::stamp::{Clock, PORT, Reflector};
use linerate_fuzz::{Rules, SendRule, Unstructured, play};
use std::time::Duration;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((stateful, data)) = data.split_first() else {
        return;
    };
    let clock = Clock::free(Duration::from_micros(1));
    if stateful & 1 == 1 {
        run(&mut Reflector::<3, 4, 128>::new(PORT, clock), data);
    } else {
        run(&mut Reflector::<0, 4>::new(PORT, clock), data);
    }
});

fn run(reflector: &mut impl Service, data: &[u8]) {
    let rules = Rules {
        send_rule: SendRule::NoMoreThanReceived,
        forgets_within: None,
        phrases: &[&[0; 44], &[0; 43], &[7; 100], &[0; 129]],
        answer: <[u8]>::to_vec,
    };
    play(reflector, &rules, &mut Unstructured::new(data), |_, _| {
        false
    });
}
