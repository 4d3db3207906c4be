//! The HTTP server and misbehaving clients.
#![no_main]

use linerate_agent::http::{PORT, Server};
use linerate_fuzz::{Rules, SendRule, Unstructured, play};
use std::time::Duration;

const PHRASES: &[&[u8]] = &[
    b"GET /1000 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /18446744073709551615 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"HEAD /7 HTTP/1.0\r\n\r\n",
    b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n",
    b"a;b=c\r\n0123456789\r\n",
    b"0\r\nTrailer: x\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"Host: b\r\n",
    b"\r\n",
    b"0123456789",
    b"GET /",
    b"A",
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let rules = Rules {
        send_rule: SendRule::NoMoreThanReceived,
        forgets_within: Some(Duration::from_mins(5)),
        phrases: PHRASES,
        answer: <[u8]>::to_vec,
    };
    let mut server = Server::<4>::new(PORT, Duration::from_secs(30));
    play(
        &mut server,
        &rules,
        &mut Unstructured::new(data),
        |it, _| {
            while it.take_finished().is_some() {}
            false
        },
    );
});
