//! iperf 2 servers that lie or stall.

use super::behaviour::Step::{
    Drain, DrainFor, Finish, Forever, Hang, Read, Reset, Send, SendFor, Wait,
};
use super::behaviour::{Behaviour, Datagrams, FAILED, MEASURED, Report, Stream};

const TO: &str = "test iperf2 --forward -t 1";
const FROM: &str = "test iperf2 -R -t 1";
/// What ends before a tenth of the time is no result, before the half is marked: seconds to either.
const FROM_LONG: &str = "test iperf2 -R -t 6";
const UDP: &str = "test iperf2 -u --forward -t 1";
const UDP_FROM: &str = "test iperf2 -u -R -t 1";
const LOAD: &str = "sweep iperf2 load --forward -t 1 --from 500k --to 1M --steps 2 --settle 0";
const RFC2544: &str = "rfc2544 iperf2 --line-rate 10M --sizes 512 --only loss --trial 0.1";
const BLOCK: &[u8] = &[0; 16_384];
/// Octets of a request (`client_hdr` of iperf 2).
const REQUEST: usize = 60;

const fn report(
    name: &'static str,
    report: Report,
    exit: i32,
    contains: &'static str,
) -> Behaviour {
    Behaviour::udp(name, UDP, Datagrams::Reported(report), exit, contains)
}

const fn stream(
    name: &'static str,
    stream: Stream,
    exit: i32,
    contains: &'static str,
) -> Behaviour {
    Behaviour::udp(name, UDP_FROM, Datagrams::Streamed(stream), exit, contains)
}

const TRUE: Report = Report {
    octets: None,
    span_us: None,
    lost: None,
    out_of_order: None,
    datagrams: None,
    jitter_us: None,
    is_plain: false,
};

const STEADY: Stream = Stream {
    number: |index| index + 1,
    count: 90,
    interval_ms: 11,
    end: None,
};

pub const ALL: &[Behaviour] = &[
    Behaviour::tcp("reads all", TO, &[&[Drain]], MEASURED, ""),
    Behaviour::tcp("never reads", TO, &[&[Hang]], FAILED, "did not read"),
    Behaviour::tcp(
        "never closes",
        TO,
        &[&[DrainFor(60_000), Hang]],
        FAILED,
        "stays open",
    ),
    Behaviour::tcp(
        "reset during the transfer",
        TO,
        &[&[Read(100_000), Reset]],
        FAILED,
        "closed the connection",
    ),
    Behaviour::tcp(
        "reset without having read",
        // Between the end of the test and the timeout.
        "test iperf2 --forward -t 1 -w 8k --timeout 4",
        &[&[Wait(2_500), Reset]],
        MEASURED,
        "had acknowledged",
    ),
    Behaviour::tcp(
        "half-open from the start",
        TO,
        &[&[Finish, Drain]],
        MEASURED,
        "",
    ),
    Behaviour::tcp(
        "sends without end",
        FROM,
        &[&[Read(REQUEST), Forever(BLOCK, 5)]],
        FAILED,
        "does not end the transfer",
    ),
    Behaviour::tcp(
        "sends a drip",
        FROM,
        &[&[Read(REQUEST), Forever(b"x", 200)]],
        FAILED,
        "does not end the transfer",
    ),
    Behaviour::tcp(
        "sends nothing and ends",
        FROM,
        &[&[Read(REQUEST), Finish, Drain]],
        FAILED,
        "sent nothing",
    ),
    Behaviour::tcp(
        "ends after a block",
        FROM_LONG,
        &[&[Read(REQUEST), Send(BLOCK), Finish, Drain]],
        FAILED,
        "ended the transfer after",
    ),
    Behaviour::tcp(
        "ends early",
        FROM_LONG,
        &[&[Read(REQUEST), SendFor(BLOCK, 1_000), Finish, Drain]],
        MEASURED,
        "ended the transfer after",
    ),
    Behaviour::tcp(
        "resets early",
        FROM_LONG,
        &[&[Read(REQUEST), SendFor(BLOCK, 1_000), Wait(50), Reset]],
        MEASURED,
        "ended the transfer after",
    ),
    Behaviour::tcp("silent", FROM, &[&[Hang]], FAILED, "no data"),
    Behaviour::tcp(
        "silent after a block",
        FROM,
        &[&[Read(REQUEST), Send(BLOCK), Hang]],
        FAILED,
        "no data",
    ),
    Behaviour::tcp(
        "no connection back",
        "test iperf2 -d -t 1",
        &[&[Drain]],
        FAILED,
        "no connection back",
    ),
    Behaviour::tcp(
        "sends without end in a sweep",
        "sweep iperf2 size -R -t 1 --from 1000 --to 2000 --steps 2 --settle 0",
        &[&[Read(REQUEST), Forever(BLOCK, 5)]],
        FAILED,
        "does not end the transfer",
    ),
    report("reports the truth", TRUE, MEASURED, ""),
    report(
        "reports 10^15 octets",
        Report {
            octets: Some(1_000_000_000_000_000),
            ..TRUE
        },
        FAILED,
        "cannot be",
    ),
    report(
        "reports one octet more per datagram",
        Report {
            octets: Some(200_000),
            ..TRUE
        },
        MEASURED,
        "duplicates are not in the rate",
    ),
    report(
        "reports no octets",
        Report {
            octets: Some(0),
            ..TRUE
        },
        FAILED,
        "cannot be",
    ),
    report(
        "reports -3 lost",
        Report {
            lost: Some(-3),
            ..TRUE
        },
        FAILED,
        "cannot be",
    ),
    report(
        "reports -3 lost of 3 late",
        Report {
            lost: Some(-3),
            out_of_order: Some(3),
            ..TRUE
        },
        MEASURED,
        "takes duplicates",
    ),
    report(
        "reports 500 lost of 10",
        Report {
            lost: Some(500),
            datagrams: Some(10),
            ..TRUE
        },
        FAILED,
        "cannot be",
    ),
    report(
        "reports all lost",
        Report {
            lost: Some(10),
            datagrams: Some(10),
            octets: Some(0),
            ..TRUE
        },
        FAILED,
        "nothing of what was sent arrived",
    ),
    report(
        "reports a billion datagrams",
        Report {
            datagrams: Some(1_000_000_000),
            ..TRUE
        },
        FAILED,
        "cannot be",
    ),
    report(
        "reports a negative number of datagrams",
        Report {
            datagrams: Some(-1),
            ..TRUE
        },
        FAILED,
        "cannot be",
    ),
    report(
        "reports more late than received",
        Report {
            out_of_order: Some(5_000),
            ..TRUE
        },
        FAILED,
        "cannot be",
    ),
    report(
        "reports no time",
        Report {
            span_us: Some(0),
            ..TRUE
        },
        MEASURED,
        "time of sending is used",
    ),
    report(
        "reports a microsecond",
        Report {
            span_us: Some(1),
            ..TRUE
        },
        MEASURED,
        "time of sending is used",
    ),
    report(
        "reports eleven days",
        Report {
            span_us: Some(1_000_000_000_000),
            ..TRUE
        },
        FAILED,
        "cannot be",
    ),
    report(
        "reports a jitter of years",
        Report {
            jitter_us: Some(100_000_000_000_000),
            ..TRUE
        },
        MEASURED,
        "jitter",
    ),
    report(
        "reports without the flag",
        Report {
            is_plain: true,
            ..TRUE
        },
        FAILED,
        "no report",
    ),
    Behaviour::udp(
        "reports nothing",
        UDP,
        Datagrams::Ignored,
        FAILED,
        "no report",
    ),
    Behaviour::udp(
        "reports 10^15 octets in a sweep",
        LOAD,
        Datagrams::Reported(Report {
            octets: Some(1_000_000_000_000_000),
            ..TRUE
        }),
        FAILED,
        "cannot be",
    ),
    Behaviour::udp(
        "reports the truth in a sweep",
        LOAD,
        Datagrams::Reported(TRUE),
        MEASURED,
        "",
    ),
    Behaviour::udp(
        "reports a billion datagrams in rfc2544",
        RFC2544,
        Datagrams::Reported(Report {
            datagrams: Some(1_000_000_000),
            ..TRUE
        }),
        FAILED,
        "cannot be",
    ),
    stream(
        "streams as asked",
        Stream {
            end: Some(-91),
            ..STEADY
        },
        MEASURED,
        "",
    ),
    stream(
        "streams without an end",
        Stream {
            count: 110,
            ..STEADY
        },
        MEASURED,
        "",
    ),
    stream(
        "streams on and on",
        Stream {
            count: 100_000,
            ..STEADY
        },
        FAILED,
        "does not end the transfer",
    ),
    stream(
        "numbers from the future",
        Stream {
            number: |index| index + 1_000_000_000,
            end: Some(-1_000_000_091),
            ..STEADY
        },
        FAILED,
        "cannot be",
    ),
    stream(
        "the lowest number as end",
        Stream {
            end: Some(i64::MIN),
            ..STEADY
        },
        FAILED,
        "",
    ),
    stream(
        "each number three times",
        Stream {
            number: |index| index / 3 + 1,
            end: Some(-31),
            ..STEADY
        },
        MEASURED,
        "",
    ),
    stream(
        "numbers downwards",
        Stream {
            number: |index| 90 - index,
            end: Some(-91),
            ..STEADY
        },
        MEASURED,
        "",
    ),
    stream(
        "only an end",
        Stream {
            count: 0,
            end: Some(-500_000),
            ..STEADY
        },
        FAILED,
        "",
    ),
];
