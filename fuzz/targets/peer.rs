//! Any bytes as frames that a device sends to the Linux-like host, at any times.
#![no_main]

use linerate_sim::peer::Station;
use linerate_sim::peer::host::{self, Host};
use linerate_sim::time::{Instant, Span};

/// More replies to one frame than a host has; an endless loop is a finding.
const MAX_REPLIES: usize = 1_000;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut host = Host::new(host::Config::default());
    let mut now = Instant::ZERO;
    let mut rest = data;
    while let [wait_us, len, tail @ ..] = rest {
        let (frame, after) = tail.split_at(usize::from(*len).min(tail.len()));
        rest = after;
        now += Span::from_us(u64::from(*wait_us) * 100);
        host.receive(frame, now);
        let replies = core::iter::from_fn(|| host.poll_transmit(now))
            .take(MAX_REPLIES)
            .count();
        assert!(replies < MAX_REPLIES, "the host replies endlessly");
        assert!(
            host.poll_timeout() > now,
            "the host has pending work but does not run it"
        );
    }
});
