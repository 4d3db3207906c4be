//! The iperf 3 server and hostile clients.
#![no_main]

use linerate_agent::iperf3::{PORT, Server};
use linerate_fuzz::{Result, Rules, Unstructured, limits, play};

/// The cookie; states of a client: end of the test, done.
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
    // An input that is too short is skipped.
    let _ = run(&mut Unstructured::new(data));
});

fn run(input: &mut Unstructured) -> Result<()> {
    let sends_datagrams = input.arbitrary()?;
    let framed = |text: &&str| [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat();
    let documents: Vec<Vec<u8>> = DOCUMENTS.iter().map(framed).collect();
    let documents = documents.iter().map(Vec::as_slice);
    let phrases: Vec<&[u8]> = WORDS.iter().copied().chain(documents).collect();
    let rules = Rules::of_iperf_server(sends_datagrams, &phrases);
    let mut server = Server::<4>::new(PORT, limits(sends_datagrams));
    play(&mut server, &rules, input, |server, _| {
        let _ = server.take_finished();
        false
    });
    Ok(())
}
