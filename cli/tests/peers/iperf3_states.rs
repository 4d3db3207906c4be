//! iperf 3 servers that stall, or leave the protocol.

use super::behaviour::Step::{
    Await, Drain, Finish, Forever, Hang, Read, ReadJson, Repeat, Reset, Send, SendJson, Signal,
};
use super::behaviour::{Behaviour, Datagrams, Event, FAILED, Step};

const TO: &str = "test iperf3 --forward -t 1";
const FROM: &str = "test iperf3 -R -t 1";
const COOKIE: usize = 37;
const BLOCK: &[u8] = &[0; 16_384];
const SINK: &[Step] = &[Read(COOKIE), Signal(Event::StreamOpen), Drain];
const RESULTS: &str = r#"{"streams":[{"id":1,"bytes":1000,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1}]}"#;

pub const ALL: &[Behaviour] = &[
    Behaviour::tcp(
        "results in a drip of spaces",
        TO,
        &[control!(Send(&[0, 0, 0xea, 0x60]), Forever(b" ", 20)), SINK],
        FAILED,
        "does not end the transfer",
    ),
    Behaviour::tcp(
        "results of 100 MB",
        TO,
        &[control!(Send(&[5, 0xf5, 0xe1, 0]), Forever(b" ", 20)), SINK],
        FAILED,
        "can't be read",
    ),
    Behaviour::tcp(
        "results nested deeply",
        TO,
        &[
            control!(Send(&[0, 0, 0xea, 0x60]), Repeat(b"[", 60_000), Hang),
            SINK,
        ],
        FAILED,
        "can't be read",
    ),
    Behaviour::tcp(
        "results cut",
        TO,
        &[
            control!(Send(&[0, 0, 1, 0]), Send(b"{\"streams\":"), Finish),
            SINK,
        ],
        FAILED,
        "closed the connection",
    ),
    Behaviour::tcp(
        "no final state",
        TO,
        &[control!(SendJson(RESULTS), Hang), SINK],
        FAILED,
        "no answer",
    ),
    Behaviour::tcp(
        "nothing after the accept",
        TO,
        &[&[Hang]],
        FAILED,
        "no answer",
    ),
    Behaviour::tcp(
        "silent after the end",
        TO,
        &[start!(Hang), SINK],
        FAILED,
        "no answer",
    ),
    Behaviour::tcp(
        "no start",
        TO,
        &[
            &[Read(COOKIE), Send(&[9]), ReadJson, Send(&[10]), Hang],
            SINK,
        ],
        FAILED,
        "no answer",
    ),
    Behaviour::tcp(
        "states out of order",
        TO,
        &[&[Read(COOKIE), Send(&[14]), Hang]],
        FAILED,
        "unexpected state",
    ),
    Behaviour::tcp(
        "start before the streams",
        TO,
        &[&[Read(COOKIE), Send(&[9]), ReadJson, Send(&[2]), Hang]],
        FAILED,
        "unexpected state",
    ),
    Behaviour::tcp(
        "a state that is none",
        TO,
        &[&[Read(COOKIE), Send(&[77]), Hang]],
        FAILED,
        "unexpected state",
    ),
    Behaviour::tcp(
        "access denied",
        TO,
        &[&[Read(COOKIE), Send(&[0xff]), Hang]],
        FAILED,
        "busy",
    ),
    Behaviour::tcp(
        "an error",
        TO,
        &[&[Read(COOKIE), Send(&[0xfe, 0, 0, 0, 13, 0, 0, 0, 1]), Hang]],
        FAILED,
        "error 13",
    ),
    Behaviour::tcp(
        "an error without its number",
        TO,
        &[&[Read(COOKIE), Send(&[0xfe]), Hang]],
        FAILED,
        "no answer",
    ),
    Behaviour::tcp(
        "terminated",
        TO,
        &[&[Read(COOKIE), Send(&[9]), ReadJson, Send(&[11]), Hang]],
        FAILED,
        "terminated",
    ),
    Behaviour::tcp(
        "end after the cookie",
        TO,
        &[&[Read(COOKIE), Finish, Hang]],
        FAILED,
        "closed the connection",
    ),
    Behaviour::tcp("reset at once", TO, &[&[Reset]], FAILED, ""),
    Behaviour::tcp(
        "reset during the test",
        TO,
        &[
            start!(Await(Event::HasData), Reset),
            &[
                Read(COOKIE),
                Signal(Event::StreamOpen),
                Read(1),
                Signal(Event::HasData),
                Drain,
            ],
        ],
        FAILED,
        "closed the connection",
    ),
    Behaviour::tcp(
        "stream reset",
        TO,
        &[
            start!(Hang),
            &[
                Read(COOKIE),
                Signal(Event::StreamOpen),
                Await(Event::Started),
                Reset,
            ],
        ],
        FAILED,
        "closed the connection",
    ),
    Behaviour::tcp(
        "stream ends early",
        FROM,
        &[
            start!(Hang),
            &[
                Read(COOKIE),
                Signal(Event::StreamOpen),
                Await(Event::Started),
                Send(BLOCK),
                Finish,
                Hang,
            ],
        ],
        FAILED,
        "closed the connection",
    ),
    Behaviour::tcp(
        "stream silent",
        FROM,
        &[
            start!(Hang),
            &[Read(COOKIE), Signal(Event::StreamOpen), Hang],
        ],
        FAILED,
        "",
    ),
    Behaviour::tcp(
        "another protocol",
        TO,
        &[&[Send(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Hang]],
        FAILED,
        "is it iperf3?",
    ),
    Behaviour::udp(
        "no answer to the hello",
        "test iperf3 -u --forward -t 1",
        Datagrams::Ignored,
        FAILED,
        "",
    ),
];
