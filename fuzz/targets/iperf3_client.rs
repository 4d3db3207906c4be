//! The iperf 3 client and a server that sends anything: states in any order, results that are huge, nested,
//! negative or too large.
#![no_main]

use linerate_agent::iperf3::{Amount, Client, Direction, Plan, Progress, Test};
use linerate_fuzz::{Result, Rules, SendRule, Unstructured, play, server};
use std::time::Duration;

/// States of a server, in their usual order; those that end a test; the answer to a hello; pieces of results.
const WORDS: &[&[u8]] = &[
    &[9],
    &[10],
    &[1],
    &[2],
    &[13],
    &[14],
    &[11],
    &[0xff],
    &[0xfe],
    b"6789",
    &[0; 64],
    b"[",
    b"{\"a\":",
    &[9, 10],
    &[1, 2],
];
const RESULTS: &[&str] = &[
    r#"{"cpu_util_total":0,"streams":[{"id":1,"bytes":64,"jitter":0.1,"errors":0,"packets":3,"start_time":0,"end_time":1}]}"#,
    r#"{"streams":[{"id":1,"bytes":-1,"jitter":-0.1,"errors":-5,"packets":1e99,"start_time":9,"end_time":1}]}"#,
    r#"{"streams":[{"id":3,"bytes":18446744073709551615,"packets":18446744073709551615,"end_time":1e300}]}"#,
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // An input that is too short is skipped.
    let _ = run(&mut Unstructured::new(data));
});

fn run(input: &mut Unstructured) -> Result<()> {
    let test = Test {
        udp: input.arbitrary()?,
        amount: match input.arbitrary::<u8>()? % 3 {
            0 => Amount::Span(Duration::from_millis(input.arbitrary::<u16>()?.into())),
            1 => Amount::Octets(input.arbitrary()?),
            _ => Amount::Blocks(input.arbitrary()?),
        },
        omit: Duration::from_millis(input.arbitrary::<u16>()?.into()),
        parallel: input.arbitrary::<u8>()? % 4,
        direction: match input.arbitrary::<u8>()? % 3 {
            0 => Direction::Forward,
            1 => Direction::Reverse,
            _ => Direction::Both,
        },
        octets: input.arbitrary()?,
        rate_bits_per_s: input.arbitrary()?,
        wide_numbers: input.arbitrary()?,
    };
    let plan = Plan {
        to: server(),
        test,
        seed: 1,
        timeout: Duration::from_millis(input.arbitrary::<u16>()?.into()),
    };
    let framed = |text: &&str| [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat();
    let results: Vec<Vec<u8>> = RESULTS.iter().map(framed).collect();
    let results = results.iter().map(Vec::as_slice);
    let phrases: Vec<&[u8]> = WORDS.iter().copied().chain(results).collect();
    let rules = Rules {
        send_rule: SendRule::OnlyTo(server().ip()),
        forgets_within: None,
        phrases: &phrases,
        answer: <[u8]>::to_vec,
    };
    let mut client = Client::<4>::new(plan);
    play(&mut client, &rules, input, |client, now| {
        let _ = client.outcome(now);
        client.progress(now) != Progress::Running
    });
    Ok(())
}
