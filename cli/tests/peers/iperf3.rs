//! iperf 3 servers with results that cannot be.

use super::behaviour::Step::{
    Await, Drain, Finish, Forever, Read, ReadJson, Send, SendJson, SendUntil, Signal,
};
use super::behaviour::{Behaviour, Datagrams, Event, FAILED, MEASURED, Step, Stream};

const TO: &str = "test iperf3 --forward -t 1";
const FROM: &str = "test iperf3 -R -t 1";
const UDP: &str = "test iperf3 -u --forward -t 1";
const UDP_FROM: &str = "test iperf3 -u -R -t 1";
const COOKIE: usize = 37;
const BLOCK: &[u8] = &[0; 16_384];

/// The stream of a test in which the client sends.
const SINK: &[Step] = &[Read(COOKIE), Signal(Event::StreamOpen), Drain];
/// The streams of a test in which the server sends, to the end of the test and on and on.
const SOURCE: &[Step] = &[
    Read(COOKIE),
    Signal(Event::StreamOpen),
    SendUntil(BLOCK, Event::Ended),
    Finish,
    Drain,
];
const FLOOD: &[Step] = &[Read(COOKIE), Signal(Event::StreamOpen), Forever(BLOCK, 5)];

/// A test with these results.
macro_rules! results {
    ($name:literal, $command:expr, $stream:expr, $json:expr, $exit:expr, $contains:literal) => {
        Behaviour::tcp(
            $name,
            $command,
            &[control!(SendJson($json), Send(&[14]), Read(1)), $stream],
            $exit,
            $contains,
        )
    };
}

/// A test over UDP with these results.
macro_rules! datagrams {
    ($name:literal, $json:expr, $exit:expr, $contains:literal) => {
        Behaviour {
            datagrams: Datagrams::Greeted,
            ..results!($name, UDP, SINK, $json, $exit, $contains)
        }
    };
}

/// A test in which the server sends this stream over UDP.
macro_rules! stream {
    ($name:literal, $stream:expr, $json:expr, $exit:expr, $contains:literal) => {
        Behaviour {
            datagrams: Datagrams::GreetedAndStreamed($stream),
            ..results!($name, UDP_FROM, SINK, $json, $exit, $contains)
        }
    };
}

const STEADY: Stream = Stream {
    number: |index| index + 1,
    count: 80,
    interval_ms: 11,
    end: None,
};
const SENT: &str = r#"{"streams":[{"id":1,"bytes":117600,"jitter":0,"errors":0,"packets":80,"start_time":0,"end_time":1.0}]}"#;

pub const ALL: &[Behaviour] = &[
    results!(
        "10^15 octets",
        TO,
        SINK,
        r#"{"streams":[{"id":1,"bytes":1000000000000000,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "cannot be"
    ),
    results!(
        "negative octets",
        TO,
        SINK,
        r#"{"streams":[{"id":1,"bytes":-5,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "can't be read"
    ),
    results!(
        "octets of 10^300",
        TO,
        SINK,
        r#"{"streams":[{"id":1,"bytes":1.5e300,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "can't be read"
    ),
    results!(
        "half an octet",
        TO,
        SINK,
        r#"{"streams":[{"id":1,"bytes":0.5,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "cannot be"
    ),
    results!(
        "octets absent",
        TO,
        SINK,
        r#"{"streams":[{"id":1,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "can't be read"
    ),
    results!(
        "octets as text",
        TO,
        SINK,
        r#"{"streams":[{"id":1,"bytes":"NaN","jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "can't be read"
    ),
    results!(
        "octets not a number",
        TO,
        SINK,
        r#"{"streams":[{"id":1,"bytes":NaN,"jitter":0,"errors":0,"packets":0}]}"#,
        FAILED,
        "can't be read"
    ),
    results!(
        "octets null",
        TO,
        SINK,
        r#"{"streams":[{"id":1,"bytes":null,"jitter":0,"errors":0,"packets":0}]}"#,
        FAILED,
        "can't be read"
    ),
    results!(
        "no octets",
        TO,
        SINK,
        r#"{"streams":[{"id":1,"bytes":0,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "cannot be"
    ),
    results!(
        "no streams",
        TO,
        SINK,
        r#"{"streams":[]}"#,
        FAILED,
        "can't be read"
    ),
    results!(
        "another stream",
        TO,
        SINK,
        r#"{"streams":[{"id":7,"bytes":100,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "can't be read"
    ),
    results!(
        "a time of thirty years",
        TO,
        SINK,
        r#"{"streams":[{"id":1,"bytes":100000,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1000000000}]}"#,
        FAILED,
        "cannot be"
    ),
    results!(
        "a negative time",
        TO,
        SINK,
        r#"{"streams":[{"id":1,"bytes":100000,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":-1}]}"#,
        FAILED,
        "can't be read"
    ),
    results!(
        "an end before the start",
        TO,
        SINK,
        r#"{"streams":[{"id":1,"bytes":100000,"jitter":0,"errors":0,"packets":0,"start_time":5,"end_time":1}]}"#,
        MEASURED,
        ""
    ),
    results!(
        "no time",
        TO,
        SINK,
        r#"{"streams":[{"id":1,"bytes":100000,"jitter":0,"errors":0,"packets":0}]}"#,
        MEASURED,
        ""
    ),
    results!(
        "a time of a nanosecond",
        TO,
        SINK,
        r#"{"streams":[{"id":1,"bytes":100000,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":0.000000001}]}"#,
        MEASURED,
        ""
    ),
    results!(
        "10^15 octets in a sweep",
        "sweep iperf3 size --forward -t 1 --from 1000 --to 2000 --steps 2 --settle 0",
        SINK,
        r#"{"streams":[{"id":1,"bytes":1000000000000000,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "cannot be"
    ),
    results!(
        "sends as asked",
        FROM,
        SOURCE,
        r#"{"streams":[{"id":1,"bytes":100000,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1}]}"#,
        MEASURED,
        ""
    ),
    results!(
        "sends on after the end",
        FROM,
        FLOOD,
        r#"{"streams":[{"id":1,"bytes":1000,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "does not end the transfer"
    ),
    datagrams!(
        "500 errors in 10 packets",
        r#"{"streams":[{"id":1,"bytes":10000,"jitter":0,"errors":500,"packets":10,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "cannot be"
    ),
    datagrams!(
        "10^12 packets",
        r#"{"streams":[{"id":1,"bytes":10000,"jitter":0,"errors":0,"packets":1000000000000,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "cannot be"
    ),
    datagrams!(
        "negative errors",
        r#"{"streams":[{"id":1,"bytes":10000,"jitter":0,"errors":-3,"packets":10,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "can't be read"
    ),
    datagrams!(
        "jitter of a month",
        r#"{"streams":[{"id":1,"bytes":14700,"jitter":2600000,"errors":0,"packets":10,"start_time":0,"end_time":1}]}"#,
        MEASURED,
        "jitter"
    ),
    datagrams!(
        "packets without octets",
        r#"{"streams":[{"id":1,"bytes":0,"jitter":0,"errors":0,"packets":10,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "cannot be"
    ),
    datagrams!(
        "no packets",
        r#"{"streams":[{"id":1,"bytes":0,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "nothing of what was sent arrived"
    ),
    stream!("sends datagrams as asked", STEADY, SENT, MEASURED, ""),
    stream!(
        "claims 10^12 packets",
        STEADY,
        r#"{"streams":[{"id":1,"bytes":117600,"jitter":0,"errors":0,"packets":1000000000000,"start_time":0,"end_time":1}]}"#,
        FAILED,
        "cannot be"
    ),
    stream!(
        "datagrams from the future",
        Stream {
            number: |index| index + 1_000_000_000,
            ..STEADY
        },
        SENT,
        FAILED,
        "cannot be"
    ),
];
