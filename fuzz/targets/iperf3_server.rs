//! The server of iperf 3 and clients that mean no test.
#![no_main]

use linerate_agent::iperf3::{Limits, PORT, Server};
use linerate_fuzz::{Result, Rules, Sends, Unstructured, play};
use std::time::Duration;

/// The cookie; states of a client: the test's end, good bye.
const WORDS: &[&[u8]] = &[
    &[b'a'; 37],
    &[4],
    &[16],
    b"9876",
    &[0; 64],
    b"[",
    b"{\"a\":",
];
/// Parameters and results.
const DOCUMENTS: &[&str] = &[
    r#"{"tcp":true,"omit":0,"time":2,"parallel":1,"len":131072}"#,
    r#"{"udp":true,"time":2,"parallel":1,"len":100,"bandwidth":1000000}"#,
    r#"{"udp":true,"time":2,"parallel":1,"len":100,"reverse":true,"udp_counters_64bit":1}"#,
    r#"{"tcp":true,"num":5000,"parallel":2,"reverse":true,"bandwidth":100000,"len":1000}"#,
    r#"{"tcp":true,"blockcount":9,"omit":1,"parallel":2,"bidirectional":true}"#,
    r#"{"udp":true,"time":-1e99,"omit":18446744073709551615,"parallel":255,"len":0}"#,
    r#"{"streams":[{"id":1,"bytes":64,"jitter":0.1,"errors":0,"packets":3,"start_time":0,"end_time":1}]}"#,
    r#"{"streams":[{"id":3,"bytes":18446744073709551615,"packets":18446744073709551615,"end_time":1e300}]}"#,
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // An input that is too short is none.
    let _ = run(&mut Unstructured::new(data));
});

fn run(input: &mut Unstructured) -> Result<()> {
    let sends_datagrams = input.arbitrary()?;
    let limits = Limits {
        sends_datagrams,
        longest: Duration::from_mins(1),
        ..Limits::default()
    };
    let framed = |text: &&str| [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat();
    let documents: Vec<Vec<u8>> = DOCUMENTS.iter().map(framed).collect();
    let documents = documents.iter().map(Vec::as_slice);
    let phrases: Vec<&[u8]> = WORDS.iter().copied().chain(documents).collect();
    let rules = Rules {
        sends: if sends_datagrams {
            Sends::OnRequest
        } else {
            Sends::NoMoreThanCame
        },
        forgets_within: Some(Duration::from_mins(5)),
        phrases: &phrases,
        answer: <[u8]>::to_vec,
    };
    let mut server = Server::<4>::new(PORT, limits);
    play(&mut server, &rules, input, |server, _| {
        let _ = server.take_finished();
        false
    });
    Ok(())
}
