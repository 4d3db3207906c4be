//! Standard clients against our servers, over loopback.

mod iperf2;
mod iperf3;

use super::{Protocol, ServeConfig, ServeEvent, ServedTransfer, TransferDirection, serve};
use crate::sockets::{Driver, DriverConfig};
use crate::testing::{free_port, has_tool};
use linerate_agent::{Limits, stamp};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Longer than any client may run.
const DEADLINE: Duration = Duration::from_secs(90);

/// Stops the server, also when the client fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Serves `protocol` while `client` runs; returns the transfers. `tests`: number of transfers to wait for.
fn with<T>(
    protocol: Protocol,
    limits: Limits,
    tests: usize,
    client: impl FnOnce(u16) -> T,
) -> (T, Vec<ServedTransfer>) {
    let port = free_port();
    let config = ServeConfig {
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
            serve(&config, &stop, |event| match event {
                ServeEvent::Listening(..) => listening.send(()).expect("a receiver"),
                ServeEvent::Served(one) => {
                    served.push(one);
                    if served.len() == tests {
                        is_over.store(true, Ordering::Relaxed);
                    }
                }
                ServeEvent::Failed(protocol, error) => panic!("{protocol}: {error}"),
            });
            served
        });
        let stop = Stop(is_over);
        is_listening.recv().expect("a listening server");
        let output = client(port);
        if tests == 0 {
            drop(stop);
        }
        let served = server.join().expect("the server");
        assert_eq!(served.len(), tests, "{served:?}");
        (output, served)
    })
}

fn octets(served: &[ServedTransfer], direction: TransferDirection) -> u64 {
    let those = served.iter().filter(|it| it.direction == direction);
    those.map(|it| it.octets).sum()
}

#[test]
fn curl_can_get_and_put() {
    if !has_tool("curl") {
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
    assert_eq!(octets(&served, TransferDirection::Sent), 1_000_000);
    assert_eq!(octets(&served, TransferDirection::Received), 54_321);
}

#[test]
fn the_stamp_reflector_answers_our_sender() {
    let (outcome, _) = with(Protocol::Stamp, Limits::own_network(), 0, |port| {
        let plan = stamp::Plan {
            to: SocketAddr::new(LOOPBACK, port),
            count: 20,
            interval: Duration::from_millis(1),
            octets: 100,
            timeout: Duration::from_secs(10),
            clock: stamp::Clock::free(Duration::from_micros(1)),
            stateful: true,
            session: 7,
        };
        let sender = stamp::Sender::<20>::new(plan);
        let mut driver = Driver::new(sender, DriverConfig::default()).expect("a driver");
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
fn echo_returns_each_datagram() {
    let (back, _) = with(Protocol::Echo, Limits::own_network(), 0, |port| {
        let socket = UdpSocket::bind((LOOPBACK, 0)).expect("a socket");
        let timeout = Some(Duration::from_secs(10));
        socket.set_read_timeout(timeout).expect("a timeout");
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

/// 20,000 datagrams from more senders than there are sessions: senders are answered with no more octets
/// than they sent, and an earlier client is served throughout.
#[test]
fn a_stamp_flood_is_not_amplified_and_delays_no_other_client() {
    const SENDERS: usize = 100;
    const EACH: usize = 200;
    let new = || {
        let socket = UdpSocket::bind((LOOPBACK, 0)).expect("a socket");
        socket.set_nonblocking(true).expect("it can");
        socket
    };
    let (counts, _) = with(Protocol::Stamp, Limits::own_network(), 0, |port| {
        let to = (LOOPBACK, port);
        let probe = [0; stamp::LEN];
        let ours = UdpSocket::bind((LOOPBACK, 0)).expect("a socket");
        let timeout = Some(Duration::from_secs(1));
        ours.set_read_timeout(timeout).expect("a timeout");
        // Our probe may find the queue full.
        let is_answered = || {
            (0..20).any(|_| {
                ours.send_to(&probe, to).expect("it is sent");
                ours.recv(&mut [0; 100]).is_ok()
            })
        };
        assert!(is_answered(), "before the flood");
        let flood: Vec<UdpSocket> = (0..SENDERS).map(|_| new()).collect();
        let mut counts = [(0, 0); SENDERS];
        for round in 0..EACH {
            for (socket, (sent, _)) in flood.iter().zip(&mut counts) {
                // Sizes from too short to longer than usual; the send buffer may be full.
                let octets = [0; 100];
                let len = [stamp::LEN, 100, 43, 0][round % 4];
                *sent += socket.send_to(&octets[..len], to).unwrap_or(0);
            }
            assert!(is_answered(), "round {round}");
            for (socket, (_, came)) in flood.iter().zip(&mut counts) {
                while let Ok(len) = socket.recv(&mut [0; 2000]) {
                    *came += len;
                }
            }
        }
        counts
    });
    for (sent, came) in counts {
        assert!(came <= sent, "{came} octets for {sent}");
    }
    // One session is ours. On a machine without time, sessions fall silent, and others take their slots.
    let served = counts.iter().filter(|(_, came)| *came > 0).count();
    assert!(served >= super::MAX_SESSIONS - 1, "{served}");
}

/// Silent connections occupy the connection limit; the next one takes the place of the first.
#[test]
fn a_connection_beyond_the_limit_replaces_the_one_silent_for_longest() {
    use std::io::{ErrorKind, Read as _, Write as _};
    use std::net::TcpStream;

    with(Protocol::Http, Limits::own_network(), 1, |port| {
        let connect = || {
            let stream = TcpStream::connect((LOOPBACK, port)).expect("a connection");
            let timeout = Some(Duration::from_secs(10));
            stream.set_read_timeout(timeout).expect("a timeout");
            stream
        };
        // As many as the configuration allows.
        let mut silent: Vec<TcpStream> = (0..16).map(|_| connect()).collect();
        let mut next = connect();
        let reset = silent[0].read(&mut [0; 10]);
        assert!(
            matches!(&reset, Ok(0))
                || reset.is_err_and(|it| it.kind() == ErrorKind::ConnectionReset),
            "the first is reset"
        );
        silent[1].set_nonblocking(true).expect("it can");
        let open = silent[1].read(&mut [0; 10]);
        assert!(open.is_err_and(|it| it.kind() == ErrorKind::WouldBlock));
        // Last: the server stops after it, and closes the others.
        let request = b"GET /5 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        next.write_all(request).expect("it is sent");
        let mut answer = Vec::new();
        next.read_to_end(&mut answer).expect("an answer");
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{answer:?}");
    });
}
