//! The HTTP client and a misbehaving server.
#![no_main]

use linerate_agent::http::{Client, Plan, Progress, Upload};
use linerate_fuzz::{Result, Rules, SendRule, Unstructured, play, server};
use std::time::Duration;

const PHRASES: &[&[u8]] = &[
    b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"a;b=c\r\n0123456789\r\n",
    b"0\r\n\r\n",
    b"\r\n",
    b"18446744073709551615\n",
    b"A",
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // An input that is too short is skipped.
    let _ = run(&mut Unstructured::new(data));
});

fn run(input: &mut Unstructured) -> Result<()> {
    let upload = if input.arbitrary()? {
        Some(Upload {
            octets: input.arbitrary()?,
            chunked: input.arbitrary()?,
        })
    } else {
        None
    };
    let path: &str = input.arbitrary()?;
    let plan = Plan {
        to: server(),
        path: if input.arbitrary()? { path } else { "/1000" },
        upload,
        check: input.arbitrary()?,
        timeout: Duration::from_millis(input.arbitrary::<u16>()?.into()),
    };
    let rules = Rules {
        send_rule: SendRule::OnlyTo(server().ip()),
        forgets_within: None,
        phrases: PHRASES,
        answer: <[u8]>::to_vec,
    };
    let mut client = Client::new(plan);
    play(&mut client, &rules, input, |client, now| {
        let outcome = client.outcome();
        let all = plan.upload.map_or(0, |upload| upload.octets);
        assert!(outcome.sent <= all, "{outcome:?}");
        client.progress(now) != Progress::Running
    });
    Ok(())
}
