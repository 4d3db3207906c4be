//! Web servers that lie or stall.

use super::behaviour::Step::{
    Drain, Finish, Forever, Hang, ReadBody, ReadHead, Repeat, Reset, Send, Wait,
};
use super::behaviour::{Behaviour, FAILED, MEASURED};

const GET: &str = "test http/file -R -t 1";
const PUT: &str = "test http/ --forward -t 1";
const BLOCK: &[u8] = &[b'x'; 16_384];
const CHUNK: &[u8] = b"10\r\n0123456789abcdef\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
const ENDLESS: &str = "does not end: stopped after 7 s";

pub const ALL: &[Behaviour] = &[
    Behaviour::tcp(
        "body without end",
        GET,
        &[&[ReadHead, Send(OK), Forever(BLOCK, 5)]],
        MEASURED,
        ENDLESS,
    ),
    Behaviour::tcp(
        "body of a drip",
        GET,
        &[&[
            ReadHead,
            Send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"),
            Forever(b"x", 200),
        ]],
        MEASURED,
        ENDLESS,
    ),
    Behaviour::tcp(
        "chunks without end",
        GET,
        &[&[
            ReadHead,
            Send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            Forever(CHUNK, 5),
        ]],
        MEASURED,
        ENDLESS,
    ),
    Behaviour::tcp(
        "continue without end",
        GET,
        &[&[ReadHead, Forever(CONTINUE, 20)]],
        FAILED,
        "does not send the content",
    ),
    Behaviour::tcp(
        "continue in a flood",
        GET,
        &[&[ReadHead, Forever(CONTINUE, 0)]],
        FAILED,
        "does not send the content",
    ),
    Behaviour::tcp(
        "chunk size without end",
        GET,
        &[&[
            ReadHead,
            Send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            Forever(b"0", 1),
        ]],
        FAILED,
        "",
    ),
    Behaviour::tcp(
        "no content",
        GET,
        &[&[
            ReadHead,
            Send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        ]],
        FAILED,
        "no content",
    ),
    Behaviour::tcp(
        "status 204",
        GET,
        &[&[ReadHead, Send(b"HTTP/1.1 204 No Content\r\n\r\n")]],
        FAILED,
        "no content",
    ),
    Behaviour::tcp(
        "status 500",
        GET,
        &[&[
            ReadHead,
            Send(b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops"),
        ]],
        FAILED,
        "answers 500",
    ),
    Behaviour::tcp(
        "status that is none",
        GET,
        &[&[ReadHead, Send(b"HTTP/1.1 abc\r\n\r\n")]],
        FAILED,
        "not HTTP",
    ),
    Behaviour::tcp(
        "another protocol",
        GET,
        &[&[Send(b"SSH-2.0-device\r\n"), Hang]],
        FAILED,
        "not HTTP",
    ),
    Behaviour::tcp(
        "less than announced",
        GET,
        &[&[
            ReadHead,
            Send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort"),
            Finish,
        ]],
        FAILED,
        "aborted",
    ),
    Behaviour::tcp(
        "more than announced",
        GET,
        &[&[
            ReadHead,
            Send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"),
            Send(BLOCK),
            Finish,
        ]],
        MEASURED,
        "",
    ),
    Behaviour::tcp(
        "negative length",
        GET,
        &[&[
            ReadHead,
            Send(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx"),
            Hang,
        ]],
        FAILED,
        "",
    ),
    Behaviour::tcp(
        "length of twenty digits",
        GET,
        &[&[
            ReadHead,
            Send(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx"),
            Hang,
        ]],
        FAILED,
        "",
    ),
    Behaviour::tcp(
        "headers of a megabyte",
        GET,
        &[&[
            ReadHead,
            Send(b"HTTP/1.1 200 OK\r\n"),
            Repeat(b"X-Filler: 0123456789abcdef\r\n", 40_000),
            Hang,
        ]],
        FAILED,
        "not HTTP",
    ),
    Behaviour::tcp(
        "headers in a drip",
        GET,
        &[&[ReadHead, Send(b"HTTP/1.1 200 OK\r\n"), Forever(b"X", 200)]],
        FAILED,
        "does not send the content",
    ),
    Behaviour::tcp("no answer", GET, &[&[Hang]], FAILED, "no progress for 1 s"),
    Behaviour::tcp("reset at once", GET, &[&[Reset]], FAILED, ""),
    Behaviour::tcp(
        "reset in the body",
        GET,
        &[&[ReadHead, Send(OK), Send(BLOCK), Wait(50), Reset]],
        MEASURED,
        "",
    ),
    Behaviour::tcp(
        "end at once",
        GET,
        &[&[ReadHead, Finish]],
        FAILED,
        "aborted",
    ),
    Behaviour::tcp(
        "slow first octet",
        GET,
        &[&[ReadHead, Wait(700), Send(OK), Send(BLOCK), Finish]],
        MEASURED,
        "",
    ),
    Behaviour::tcp(
        "upload confirmed with 17 digits",
        PUT,
        &[&[
            ReadHead,
            ReadBody,
            Send(b"HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n99999999999999999"),
        ]],
        MEASURED,
        "not used as a count",
    ),
    Behaviour::tcp(
        "upload confirmed with 0",
        PUT,
        &[&[
            ReadHead,
            ReadBody,
            Send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n0"),
        ]],
        MEASURED,
        "not used as a count",
    ),
    Behaviour::tcp(
        "upload confirmed with a negative number",
        PUT,
        &[&[
            ReadHead,
            ReadBody,
            Send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n-5"),
        ]],
        MEASURED,
        "",
    ),
    Behaviour::tcp(
        "upload not answered",
        PUT,
        &[&[ReadHead, Drain]],
        FAILED,
        "no progress",
    ),
    Behaviour::tcp(
        "upload not read",
        "test http/ --forward -n 50M -w 20k",
        &[&[Hang]],
        FAILED,
        "no progress",
    ),
    Behaviour::tcp(
        "upload answered before its end",
        "test http/ --forward -n 50M -w 20k",
        &[&[
            ReadHead,
            Send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
            Hang,
        ]],
        FAILED,
        "before it has received the whole upload",
    ),
    Behaviour::tcp(
        "upload with continue without end",
        PUT,
        &[&[ReadHead, Forever(CONTINUE, 50)]],
        FAILED,
        "does not answer the upload",
    ),
    Behaviour::tcp(
        "upload reset",
        PUT,
        &[&[ReadHead, Reset]],
        FAILED,
        "aborted",
    ),
    Behaviour::tcp(
        "body without end in a sweep",
        "sweep http/file window -R -t 1 --from 8k --to 16k --steps 2 --settle 0",
        &[&[ReadHead, Send(OK), Forever(BLOCK, 5)]],
        MEASURED,
        ENDLESS,
    ),
];
