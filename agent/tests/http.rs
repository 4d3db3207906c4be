//! HTTP client and server with each other, and with misbehaving peers.

mod net;

use linerate_agent::http::{Client, Failure, Outcome, PORT, Plan, Progress, Server, Upload};
use linerate_agent::{Close, Connection, Instant, Opened, Service};
use linerate_ether::pattern;
use net::{ENDS, Faults, Net, Random};
use proptest::prelude::*;
use std::net::SocketAddr;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);
const PUT: &str = "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
const C: Connection = Connection(3);

fn plan(path: &str, upload: Option<Upload>) -> Plan<'_> {
    Plan {
        to: SocketAddr::new(ENDS[1], PORT),
        path,
        upload,
        check: true,
        timeout: TIMEOUT,
    }
}

fn run(
    plan: Plan,
    seed: u64,
) -> (
    Result<Outcome, Failure>,
    Vec<linerate_agent::http::Finished>,
) {
    let server = Server::<2>::new(PORT, TIMEOUT);
    let mut net = Net::new(Client::new(plan), server, seed, Faults::default());
    net.run(Duration::from_mins(1), |net| {
        net.a.progress(net.now) != Progress::Running
    });
    let result = match net.a.progress(net.now) {
        Progress::Failed(failure) => Err(failure),
        progress => {
            assert_eq!(progress, Progress::Done);
            Ok(net.a.outcome())
        }
    };
    (
        result,
        std::iter::from_fn(|| net.b.take_finished()).collect(),
    )
}

/// A server with one connection, driven by hand.
struct Dialog {
    server: Server<1>,
    now: Instant,
}

impl Dialog {
    fn new() -> Self {
        let mut it = Self {
            server: Server::new(PORT, TIMEOUT),
            now: Instant::from_ns(0),
        };
        let from = SocketAddr::new(ENDS[0], 50_000);
        let opened = Opened::Accepted { port: PORT, from };
        it.server.opened(C, opened, it.now).unwrap();
        it
    }

    fn send(&mut self, octets: &[u8]) {
        self.server.received(C, octets, self.now);
    }

    /// The server's data, read in pieces of this length.
    fn receive(&mut self, piece: usize) -> Vec<u8> {
        let mut response = Vec::new();
        let mut room = vec![0; piece];
        while self.server.close(C) == Close::Keep {
            let len = self.server.fill(C, &mut room, self.now);
            if len == 0 {
                break;
            }
            response.extend(&room[..len]);
            assert!(response.len() < 1_000_000);
        }
        response
    }

    fn wait(&mut self, span: Duration) {
        self.now = self.now.after(span);
        assert_eq!(self.server.next_datagram(&mut [], self.now), None);
    }
}

/// The server's response to a whole request, and its action on the connection.
fn answer(request: &str) -> (String, Close) {
    let mut dialog = Dialog::new();
    dialog.send(request.as_bytes());
    let response = dialog.receive(1460);
    (
        String::from_utf8_lossy(&response).into(),
        dialog.server.close(C),
    )
}

fn status(request: &str) -> (u16, Close) {
    let (response, close) = answer(request);
    (
        response.get(9..12).map_or(0, |code| code.parse().unwrap()),
        close,
    )
}

#[test]
fn a_download_is_the_pattern_to_the_last_octet() {
    for octets in [0, 1, 3, 1460, 100_001, 3_000_000] {
        let path = format!("/{octets}");
        let (result, served) = run(plan(&path, None), octets);
        let outcome = result.unwrap();
        assert_eq!((outcome.status, outcome.received), (200, octets));
        assert_eq!(outcome.mismatch_at, None);
        assert!(served[0].sent && served[0].octets == octets && served.len() == 1);
    }
}

#[test]
fn nothing_is_too_much_to_begin_with() {
    let mut dialog = Dialog::new();
    dialog.send(b"GET /18446744073709551615 HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut room = [0; 1460];
    for _ in 0..3 {
        assert_eq!(dialog.server.fill(C, &mut room, dialog.now), room.len());
        assert_eq!(dialog.server.close(C), Close::Keep);
    }
}

#[test]
fn an_upload_is_counted_and_confirmed() {
    for octets in [0, 1, 1023, 1024, 1025, 100_000] {
        for chunked in [false, true] {
            let (result, served) = run(plan("/x", Some(Upload { octets, chunked })), octets);
            let outcome = result.unwrap();
            assert_eq!((outcome.status, outcome.sent), (200, octets), "{chunked}");
            assert_eq!(outcome.confirmed, Some(octets), "{chunked}");
            assert!(!served[0].sent && served[0].octets == octets && served.len() == 1);
        }
    }
}

#[test]
fn the_checksum_of_an_upload_is_returned_on_request() {
    // CRC-32/ISO-HDLC: its check value, of the digits 1 to 9, is 0xCBF43926.
    let head = "PUT /crc32 HTTP/1.1\r\nHost: x\r\n";
    let (response, _) = answer(&format!("{head}Content-Length: 9\r\n\r\n123456789"));
    assert!(
        response.ends_with(&format!("\r\n\r\n{}\n", 0xCBF4_3926_u32)),
        "{response}"
    );
    let pieces = "4\r\n1234\r\n5\r\n56789\r\n0\r\n\r\n";
    let (response, _) = answer(&format!("{head}Transfer-Encoding: chunked\r\n\r\n{pieces}"));
    assert!(
        response.ends_with(&format!("\r\n\r\n{}\n", 0xCBF4_3926_u32)),
        "{response}"
    );
}

#[test]
fn a_missing_path_is_404() {
    let (result, _) = run(plan("/index.html", None), 1);
    assert_eq!(result.unwrap().status, 404);
    let (result, _) = run(plan("/99999999999999999999", None), 1);
    assert_eq!(result.unwrap().status, 404);
    for path in ["x", "/a b", "/\r\nX: y", &"/1".repeat(150)] {
        let (result, _) = run(plan(path, None), 1);
        assert_eq!(result, Err(Failure::BadPath));
    }
}

#[test]
fn a_head_response_has_no_content() {
    let (response, close) = answer("HEAD /5000 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n") && response.ends_with("\r\n\r\n"));
    assert!(response.contains("Content-Length: 5000\r\n"));
    assert_eq!(close, Close::Keep);
    let (response, _) = answer("HEAD /18446744073709551615 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(response.contains("Content-Length: 18446744073709551615\r\n"));
}

#[test]
fn errors_have_their_status() {
    let long = "a".repeat(300);
    let many = "X-Field: y\r\n".repeat(1000);
    let host = "Host: x\r\n";
    let cases = [
        ("GET /1 HTTP/1.1\r\n".to_owned(), 400),
        (format!("GET /1\r\n{host}"), 400),
        (format!("GET  /1 HTTP/1.1\r\n{host}"), 400),
        (format!("GET /1 HTTP/1.1 x\r\n{host}"), 400),
        (format!("GET /1 http/1.1\r\n{host}"), 400),
        (format!("GET /1 HTTP/2.0\r\n{host}"), 505),
        (format!("BREW /1 HTTP/1.1\r\n{host}"), 405),
        (format!("GET /{long} HTTP/1.1\r\n{host}"), 414),
        (format!("GET /1 HTTP/1.1\r\n{host}{many}"), 431),
        (format!("GET /1 HTTP/1.1\r\n{host}{long}: x\r\n"), 431),
        (
            format!("GET /1 HTTP/1.1\r\n{host}Content-Length: 0{long}\r\n"),
            431,
        ),
        (format!("GET /1 HTTP/1.1\r\n{host}{host}"), 400),
        (format!("GET /1 HTTP/1.1\r\n{host}no field\r\n"), 400),
        (format!("GET /1 HTTP/1.1\r\n{host}: no name\r\n"), 400),
        (format!("GET /1 HTTP/1.1\r\n{host} folded: x\r\n"), 400),
        (format!("GET /1 HTTP/1.1\r\n{host}Space : x\r\n"), 400),
        (format!("GET /1 HTTP/1.1\r\n{host}X: a\0b\r\n"), 400),
        (
            format!("PUT /1 HTTP/1.1\r\n{host}Content-Length: -1\r\n"),
            400,
        ),
        (
            format!("PUT /1 HTTP/1.1\r\n{host}Content-Length: 18446744073709551616\r\n"),
            400,
        ),
        (
            format!("PUT /1 HTTP/1.1\r\n{host}Content-Length: 1\r\nContent-Length: 2\r\n"),
            400,
        ),
        (
            format!("PUT /1 HTTP/1.1\r\n{host}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
            400,
        ),
        (
            format!("PUT /1 HTTP/1.1\r\n{host}Transfer-Encoding: gzip, chunked\r\n"),
            501,
        ),
        (format!("PUT /1 HTTP/1.1\r\n{host}Expect: wonders\r\n"), 417),
        (
            "PUT /1 HTTP/1.0\r\nTransfer-Encoding: chunked\r\n".to_owned(),
            400,
        ),
    ];
    for (request, expected) in cases {
        let got = status(&format!("{request}\r\n"));
        assert_eq!(
            got,
            (expected, Close::Finish),
            "{:?}",
            &request[..request.len().min(80)]
        );
    }
}

#[test]
fn unusual_but_valid_requests_are_served() {
    let long = "a".repeat(3000);
    for request in [
        "\r\nGET /1 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /1 HTTP/1.1\nHost: x\n\n",
        "GET /1?a=b HTTP/1.1\r\nHOST:x\r\n\r\n",
        "GET http://x/1 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /01 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab",
        &format!("GET /1 HTTP/1.1\r\nHost: x\r\nCookie: {long}\r\n\r\n"),
    ] {
        let (response, close) = answer(request);
        assert!(
            response.starts_with("HTTP/1.1 200 OK\r\n"),
            "{request:?} {response}"
        );
        assert!(response.contains("Content-Length: 1\r\n"));
        assert_eq!(close, Close::Keep);
    }
    assert_eq!(status("GET /1 HTTP/1.0\r\n\r\n"), (200, Close::Finish));
    let close = "GET /1 HTTP/1.1\r\nHost: x\r\nConnection: x, Close\r\n\r\n";
    assert_eq!(status(close), (200, Close::Finish));
}

#[test]
fn expect_continue_is_answered() {
    let mut dialog = Dialog::new();
    dialog.send(b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(dialog.receive(1460), b"HTTP/1.1 100 Continue\r\n\r\n");
    dialog.send(b"abc");
    assert!(dialog.receive(1460).ends_with(b"\r\n\r\n3\n"));
    assert_eq!(dialog.server.close(C), Close::Keep);
}

#[test]
fn pipelined_requests_are_answered_in_order_up_to_the_limit() {
    let request = |n: u32| format!("GET /{n} HTTP/1.1\r\nHost: x\r\n\r\n");
    let requests: Vec<String> = (1..=9).map(request).collect();
    let (response, close) = answer(&requests.concat());
    let mut answered = 0;
    let mut at = 0;
    while let Some(found) = response[at..].find("Content-Length: ") {
        answered += 1;
        at += found + 16;
        assert!(response[at..].starts_with(&answered.to_string()));
    }
    assert_eq!((answered, close), (4, Close::Finish));
    assert_eq!(response.matches("Connection: close").count(), 1);
}

#[test]
fn a_head_that_takes_too_long_is_refused_however_it_drips() {
    let mut dialog = Dialog::new();
    let head = b"GET /1 HTTP/1.1\r\nHost: x\r\nX-Slow: ";
    let mut drip = head.iter().chain(std::iter::repeat(&b'z'));
    let mut drip_for = |dialog: &mut Dialog, span| {
        let until = dialog.now.after(span);
        while dialog.now < until {
            dialog.send(&[*drip.next().unwrap()]);
            dialog.wait(Duration::from_millis(200));
        }
    };
    drip_for(&mut dialog, TIMEOUT);
    assert!(dialog.receive(1460).starts_with(b"HTTP/1.1 408 "));
    assert_eq!(dialog.server.close(C), Close::Finish);
    // The client drips on and does not close: the slot is needed.
    drip_for(&mut dialog, Duration::from_secs(2));
    assert_eq!(dialog.server.close(C), Close::Reset);
    assert_eq!(dialog.server.wake_at(), None);
}

#[test]
fn a_client_that_does_not_read_its_last_response_is_not_waited_for() {
    let mut dialog = Dialog::new();
    dialog.send(b"GET");
    dialog.wait(TIMEOUT);
    assert_eq!(dialog.server.close(C), Close::Keep, "408 is to be sent");
    dialog.wait(Duration::from_secs(2));
    assert_eq!(dialog.server.close(C), Close::Reset);
}

#[test]
fn a_stalled_connection_gives_way_to_a_new_one() {
    let mut dialog = Dialog::new();
    let open = |dialog: &mut Dialog, number| {
        let from = SocketAddr::new(ENDS[0], 50_001);
        let opened = Opened::Accepted { port: PORT, from };
        let number = Connection(number);
        dialog.server.opened(number, opened, dialog.now).is_ok()
    };
    dialog.send(b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n");
    dialog.wait(Duration::from_secs(2));
    dialog.send(b"x");
    dialog.wait(Duration::from_millis(2_999));
    assert!(!open(&mut dialog, 4), "it has sent something since");
    dialog.wait(Duration::from_millis(1));
    assert!(open(&mut dialog, 4));
    assert_eq!(dialog.server.close(C), Close::Reset);
    assert_eq!(dialog.server.close(Connection(4)), Close::Keep);
}

#[test]
fn a_silent_or_non_reading_client_is_disconnected() {
    let mut idle = Dialog::new();
    assert_eq!(idle.server.wake_at(), Some(idle.now.after(TIMEOUT)));
    idle.wait(TIMEOUT);
    assert_eq!(idle.server.close(C), Close::Finish);

    let mut stuck = Dialog::new();
    stuck.send(b"GET /1000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    stuck.server.fill(C, &mut [0; 1000], stuck.now);
    stuck.wait(Duration::from_nanos(9_999_999_999));
    assert_eq!(stuck.server.close(C), Close::Keep);
    stuck.wait(Duration::from_nanos(1));
    assert_eq!(stuck.server.close(C), Close::Reset);

    let mut taker = Dialog::new();
    taker.send(b"GET /1000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    for _ in 0..10 {
        taker.wait(TIMEOUT / 2);
        assert_eq!(taker.server.fill(C, &mut [0; 100], taker.now), 100);
        assert_eq!(taker.server.close(C), Close::Keep);
    }
    // But not a client that begins a head meanwhile and does not end it.
    taker.send(b"GET");
    for _ in 0..2 {
        taker.wait(TIMEOUT / 2);
        taker.server.fill(C, &mut [0; 100], taker.now);
    }
    assert_eq!(taker.server.close(C), Close::Reset);

    let mut slow = Dialog::new();
    slow.send(b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n");
    for octet in b"abc" {
        slow.wait(TIMEOUT / 2);
        slow.send(&[*octet]);
    }
    assert!(slow.receive(1460).ends_with(b"\r\n\r\n3\n"));
}

#[test]
fn a_connection_too_many_is_refused_until_another_is_gone() {
    let mut dialog = Dialog::new();
    let from = SocketAddr::new(ENDS[0], 50_001);
    let opened = Opened::Accepted { port: PORT, from };
    assert!(
        dialog
            .server
            .opened(Connection(4), opened, dialog.now)
            .is_err()
    );
    dialog.server.closed(C, dialog.now);
    assert!(
        dialog
            .server
            .opened(Connection(4), opened, dialog.now)
            .is_ok()
    );
    assert_eq!(dialog.server.close(C), Close::Reset);
}

/// The client's result of a server's response, optionally followed by the connection's end.
fn client_result(upload: Option<Upload>, response: &[u8], end: bool) -> (Progress, Outcome, Close) {
    let mut client = Client::new(plan("/5", upload));
    let now = Instant::from_ns(5);
    client
        .opened(C, Opened::Connected { token: 0 }, now)
        .unwrap();
    client.fill(C, &mut [0; 300], now);
    for piece in response.chunks(7) {
        client.received(C, piece, now);
    }
    if end {
        client.ended(C, now);
    }
    (client.progress(now), client.outcome(), client.close(C))
}

#[test]
fn other_servers_are_understood() {
    let mut five = [0; 5];
    pattern::fill(0, &mut five);
    let response = |head: &str, tail: &[u8]| [head.as_bytes(), &five, tail].concat();
    for (octets, end) in [
        (response("HTTP/1.0 200 OK\r\nServer: x\r\n\r\n", b""), true),
        (
            response("HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n", b""),
            false,
        ),
        (
            response(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
                b"\r\n0\r\n\r\n",
            ),
            false,
        ),
        (
            response(
                "HTTP/1.1 103 x\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
                b"",
            ),
            false,
        ),
    ] {
        let (progress, outcome, close) = client_result(None, &octets, end);
        assert_eq!(close, Close::Finish);
        assert_eq!(progress, Progress::Done, "{octets:?}");
        assert_eq!(
            (outcome.status, outcome.received, outcome.mismatch_at),
            (200, 5, None)
        );
    }
    let nothing = b"HTTP/1.1 204 x\r\n\r\n";
    assert_eq!(client_result(None, nothing, false).0, Progress::Done);
    let (_, outcome, _) = client_result(
        None,
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        false,
    );
    assert_eq!(outcome.mismatch_at, Some(0));
}

#[test]
fn a_server_that_breaks_off_or_sends_no_http_is_reported() {
    let failed = |response: &[u8]| client_result(None, response, true).0;
    let broken = Progress::Failed(Failure::Broken);
    assert_eq!(failed(b""), broken);
    assert_eq!(
        failed(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
        broken
    );
    let nonsense = Progress::Failed(Failure::NotHttp);
    assert_eq!(failed(b"SSH-2.0-x\r\n"), nonsense);
    assert_eq!(failed(b"HTTP/1.1 abc\r\n\r\n"), nonsense);
    assert_eq!(
        failed(
            &b"HTTP/1.1 200 OK\r\n"
                .iter()
                .copied()
                .chain(b"A: b\r\n".repeat(9999))
                .collect::<Vec<_>>()
        ),
        nonsense
    );
    // An upload that is refused before it is complete.
    let upload = Upload {
        octets: 1 << 40,
        chunked: false,
    };
    let refused = b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n";
    let (progress, outcome, close) = client_result(Some(upload), refused, false);
    assert_eq!(close, Close::Reset);
    assert_eq!(
        (progress, outcome.status, outcome.confirmed),
        (Progress::Done, 403, None)
    );
}

#[test]
fn a_server_that_is_silent_is_given_up() {
    let mut client = Client::new(plan("/5", None));
    let now = Instant::from_ns(5);
    client
        .opened(C, Opened::Connected { token: 0 }, now)
        .unwrap();
    client.fill(C, &mut [0; 300], now);
    let late = client.wake_at().unwrap();
    assert_eq!(late, now.after(TIMEOUT));
    client.progress(late);
    assert_eq!(client.progress(late), Progress::Failed(Failure::NoAnswer));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Several requests, split anywhere and answered in pieces of any size.
    #[test]
    fn splitting_is_irrelevant(
        gets in prop::collection::vec((0..3000_u64, any::<bool>()), 1..4),
        piece in 1..100_usize,
        room in 1..2000_usize,
    ) {
        let request = |(octets, put): &(u64, bool)| match (put, octets) {
            (false, _) => format!("GET /{octets} HTTP/1.1\r\nHost: x\r\n\r\n"),
            (true, 0) => format!("{PUT}0\r\n\r\n"),
            (true, _) => {
                let content = "x".repeat(*octets as usize);
                format!("{PUT}{octets:x}\r\n{content}\r\n0\r\n\r\n")
            }
        };
        let request = gets.iter().map(request).collect::<Vec<_>>().concat();
        let mut dialog = Dialog::new();
        for part in request.as_bytes().chunks(piece) {
            dialog.send(part);
        }
        let response = dialog.receive(room);
        let mut rest = &response[..];
        for (octets, put) in gets {
            let end = rest.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
            let mut expected = vec![0; octets as usize];
            pattern::fill(0, &mut expected);
            let expected = if put { format!("{octets}\n").into_bytes() } else { expected };
            prop_assert!(rest.starts_with(b"HTTP/1.1 200 OK\r\n"));
            prop_assert!(rest[end..].starts_with(&expected));
            rest = &rest[end + expected.len()..];
        }
        prop_assert!(rest.is_empty());
        prop_assert_eq!(dialog.server.close(C), Close::Keep);
    }

    /// Heads wrongly assembled from plausible parts.
    #[test]
    fn no_request_breaks_the_server(parts in prop::collection::vec(prop_oneof![
        Just("GET "), Just("PUT "), Just("/7"), Just(" HTTP/1.1\r\n"), Just("Host: x\r\n"), Just("\r\n"),
        Just("Content-Length: "), Just("9"), Just("Transfer-Encoding: chunked\r\n"), Just("0\r\n"),
        Just("Expect: 100-continue\r\n"), Just("\0"), Just(":"), Just(" "), Just("ffffffffffffffff\r\n"),
    ], 0..60), seed: u64) {
        let mut dialog = Dialog::new();
        let mut random = Random(seed);
        for part in parts {
            dialog.send(part.as_bytes());
            if random.below(4) == 0 {
                dialog.receive(1 + random.below(100) as usize);
            }
            dialog.wait(Duration::from_millis(random.below(3000)));
        }
        // In any case the slot is soon free again.
        for _ in 0..4 {
            dialog.wait(TIMEOUT);
        }
        prop_assert_eq!(dialog.server.close(C), Close::Reset);
    }

    #[test]
    fn no_answer_breaks_the_client(octets in prop::collection::vec(any::<u8>(), 0..300), http: bool) {
        let head: &[u8] = if http { b"HTTP/1.1 200 OK\r\n" } else { b"" };
        client_result(None, &[head, &octets].concat(), true);
        client_result(Some(Upload { octets: 9, chunked: true }), &[head, &octets].concat(), true);
    }
}
