//! Stock clients against what is served, over loopback.

mod iperf2;
mod iperf3;

use super::{Direction, Event, Order, Protocol, Served, serve};
use crate::sockets::{Driver, Settings};
use crate::testing::{free_port, has};
use linerate_agent::{Limits, stamp};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Longer than any client may run: what was not served by then never will be.
const DEADLINE: Duration = Duration::from_secs(90);

/// Ends the server, also when the client fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Serves `protocol` while `client` runs, and says what was served. `tests`: how many to wait for.
fn with<T>(
    protocol: Protocol,
    limits: Limits,
    tests: usize,
    client: impl FnOnce(u16) -> T,
) -> (T, Vec<Served>) {
    let port = free_port();
    let order = Order {
        address: LOOPBACK,
        protocols: vec![(protocol, port)],
        clients: 16,
        limits,
    };
    let is_over = &AtomicBool::new(false);
    let until = Instant::now() + DEADLINE;
    let (listening, is_listening) = channel();
    thread::scope(|scope| {
        let server = scope.spawn(move || {
            let mut served = Vec::new();
            let stop = || is_over.load(Ordering::Relaxed) || Instant::now() >= until;
            serve(&order, &stop, |event| match event {
                Event::Listening(..) => listening.send(()).expect("the test waits"),
                Event::Served(one) => {
                    served.push(one);
                    if served.len() == tests {
                        is_over.store(true, Ordering::Relaxed);
                    }
                }
                Event::Failed(protocol, error) => panic!("{protocol}: {error}"),
            });
            served
        });
        let stop = Stop(is_over);
        is_listening.recv().expect("a server that listens");
        let output = client(port);
        if tests == 0 {
            drop(stop);
        }
        let served = server.join().expect("the server");
        assert_eq!(served.len(), tests, "{served:?}");
        (output, served)
    })
}

fn octets(served: &[Served], direction: Direction) -> u64 {
    let those = served.iter().filter(|it| it.direction == direction);
    those.map(|it| it.octets).sum()
}

#[test]
fn curl_gets_and_puts() {
    if !has("curl") {
        return;
    }
    let (text, served) = with(Protocol::Http, Limits::own_network(), 2, |port| {
        let url = format!("http://127.0.0.1:{port}/1000000");
        let script = format!(
            "curl -sS -o /dev/null -w '%{{size_download}} ' {url}; \
             head -c 54321 /dev/zero | curl -sS -T - -w '%{{size_upload}}' {url}"
        );
        let output = Command::new("timeout")
            .args(["60", "sh", "-c", &script])
            .output()
            .expect("curl runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    assert!(text.starts_with("1000000 "), "{text}");
    assert_eq!(octets(&served, Direction::Sent), 1_000_000);
    assert_eq!(octets(&served, Direction::Received), 54_321);
}

#[test]
fn stamp_answers_our_own_sender() {
    let (outcome, _) = with(Protocol::Stamp, Limits::own_network(), 0, |port| {
        let plan = stamp::Plan {
            to: SocketAddr::new(LOOPBACK, port),
            count: 20,
            interval: Duration::from_millis(1),
            octets: 100,
            patience: Duration::from_secs(10),
            clock: stamp::Clock::free(Duration::from_micros(1)),
            stateful: true,
            session: 7,
        };
        let sender = stamp::Sender::<20>::new(plan);
        let mut driver = Driver::new(sender, Settings::default()).expect("a driver");
        loop {
            let now = driver.now();
            if driver.service().is_done(now) {
                break;
            }
            driver.turn(Duration::from_secs(1)).expect("a turn");
        }
        for number in 0..plan.count {
            let sample = driver.service().take_sample().expect("a sample");
            assert_eq!(sample.number, number);
        }
        driver.service().outcome()
    });
    let all = stamp::Outcome {
        sent: 20,
        answered: 20,
        ..stamp::Outcome::default()
    };
    assert_eq!(outcome, all);
}

#[test]
fn echo_sends_back_what_came() {
    let (back, _) = with(Protocol::Echo, Limits::own_network(), 0, |port| {
        let socket = UdpSocket::bind((LOOPBACK, 0)).expect("a socket");
        let patience = Some(Duration::from_secs(10));
        socket.set_read_timeout(patience).expect("a timeout");
        let mut back = Vec::new();
        for text in ["one", "", "three"] {
            let sent = socket.send_to(text.as_bytes(), (LOOPBACK, port));
            sent.expect("it is sent");
            let mut octets = [0; 100];
            let (len, from) = socket.recv_from(&mut octets).expect("an answer");
            assert_eq!(from, SocketAddr::new(LOOPBACK, port));
            back.push(String::from_utf8_lossy(&octets[..len]).into_owned());
        }
        back
    });
    assert_eq!(back, ["one", "", "three"]);
}

/// 20,000 datagrams from more senders than there is room for: as many as there is room for are answered,
/// with no more than they sent, and who was there before is served throughout.
#[test]
fn a_flood_of_stamp_gets_no_more_than_it_sends_and_holds_nobody_up() {
    const SENDERS: usize = 100;
    const EACH: usize = 200;
    let new = || {
        let socket = UdpSocket::bind((LOOPBACK, 0)).expect("a socket");
        socket.set_nonblocking(true).expect("it can");
        socket
    };
    let (told, _) = with(Protocol::Stamp, Limits::own_network(), 0, |port| {
        let to = (LOOPBACK, port);
        let probe = [0; stamp::LEN];
        let ours = UdpSocket::bind((LOOPBACK, 0)).expect("a socket");
        let patience = Some(Duration::from_secs(1));
        ours.set_read_timeout(patience).expect("a timeout");
        // One of ours may find the queue full of theirs.
        let is_answered = || {
            (0..20).any(|_| {
                ours.send_to(&probe, to).expect("it is sent");
                ours.recv(&mut [0; 100]).is_ok()
            })
        };
        assert!(is_answered(), "before the flood");
        let flood: Vec<UdpSocket> = (0..SENDERS).map(|_| new()).collect();
        let mut told = [(0, 0); SENDERS];
        for round in 0..EACH {
            for (socket, (sent, _)) in flood.iter().zip(&mut told) {
                // From what is too short to what is longer than usual; the system may have no room.
                let octets = [0; 100];
                let len = [stamp::LEN, 100, 43, 0][round % 4];
                *sent += socket.send_to(&octets[..len], to).unwrap_or(0);
            }
            assert!(is_answered(), "round {round}");
            for (socket, (_, came)) in flood.iter().zip(&mut told) {
                while let Ok(len) = socket.recv(&mut [0; 2000]) {
                    *came += len;
                }
            }
        }
        told
    });
    for (sent, came) in told {
        assert!(came <= sent, "{came} octets for {sent}");
    }
    // One place is ours.
    let served = told.iter().filter(|(_, came)| *came > 0).count();
    assert_eq!(served, super::MOST - 1);
}

/// Who connects and says nothing takes places, but not for ever those of others: one that leaves makes
/// room for the next.
#[test]
fn silent_connections_take_no_more_places_than_there_are() {
    use std::io::{ErrorKind, Read as _, Write as _};
    use std::net::TcpStream;

    with(Protocol::Http, Limits::own_network(), 1, |port| {
        let connect = || {
            let stream = TcpStream::connect((LOOPBACK, port)).expect("a connection");
            let patience = Some(Duration::from_secs(10));
            stream.set_read_timeout(patience).expect("a timeout");
            stream
        };
        // As many as the order allows.
        let mut silent: Vec<TcpStream> = (0..16).map(|_| connect()).collect();
        let refused = connect().read(&mut [0; 10]);
        assert!(
            matches!(&refused, Ok(0))
                || refused.is_err_and(|it| it.kind() == ErrorKind::ConnectionReset),
            "one more is reset"
        );
        drop(silent.pop());
        let request = b"GET /5 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        // The server may see the next before it sees that one has left.
        let answer = (0..1000).find_map(|_| {
            let mut next = connect();
            let mut answer = Vec::new();
            next.write_all(request).ok()?;
            next.read_to_end(&mut answer).ok()?;
            (!answer.is_empty()).then_some(answer)
        });
        let answer = answer.expect("room for the next");
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{answer:?}");
    });
}
