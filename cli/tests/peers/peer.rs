//! A peer that executes a behaviour, on a TCP and a UDP port of one number.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::behaviour::{Behaviour, Datagrams, Event, Reflection, Report, Step, Stream};

/// Interval at which a blocked call checks for the end.
const POLL: Duration = Duration::from_millis(20);
/// Interval at which an event is checked for.
const EVENT_POLL: Duration = Duration::from_millis(2);

/// The sockets of a peer.
pub struct Peer {
    listener: TcpListener,
    socket: UdpSocket,
    pub port: u16,
}

impl Peer {
    pub fn new() -> Self {
        loop {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
            let address = listener.local_addr().expect("an address");
            if let Ok(socket) = UdpSocket::bind(address) {
                let port = address.port();
                return Self {
                    listener,
                    socket,
                    port,
                };
            }
        }
    }

    /// Executes `behaviour` until `stop` is set.
    pub fn run(&self, behaviour: &Behaviour, stop: &AtomicBool) {
        let events = Events::default();
        std::thread::scope(|scope| {
            scope.spawn(|| serve_datagrams(&self.socket, behaviour.datagrams, &events, stop));
            self.listener.set_nonblocking(true).expect("an option");
            let mut accepted = 0;
            while !stop.load(Ordering::Relaxed) {
                let Ok((stream, _)) = self.listener.accept() else {
                    std::thread::sleep(Duration::from_millis(2));
                    continue;
                };
                let scripts = behaviour.connections;
                let each = scripts.len().max(1);
                let script = scripts.get(accepted % each).copied();
                let script = script.unwrap_or(&[Step::Hang]);
                let connection = Connection {
                    stream,
                    body_octets: 0,
                    test: accepted / each + 1,
                    events: &events,
                    stop,
                };
                accepted += 1;
                scope.spawn(move || connection.run(script));
            }
        });
    }
}

/// Events, each with the number of the last test that had it.
#[derive(Default)]
struct Events([AtomicUsize; 4]);

impl Events {
    /// Of a test from 1.
    fn signal(&self, event: Event, test: usize) {
        self.0[event as usize].fetch_max(test, Ordering::Relaxed);
    }

    fn has(&self, event: Event, test: usize) -> bool {
        self.0[event as usize].load(Ordering::Relaxed) >= test
    }
}

struct Connection<'a> {
    stream: TcpStream,
    /// Length of the body of the last HTTP request.
    body_octets: usize,
    /// Number of the test, from 1.
    test: usize,
    events: &'a Events,
    stop: &'a AtomicBool,
}

/// The connection is gone, or the test over.
struct Gone;

impl Connection<'_> {
    fn run(mut self, script: &[Step]) {
        let options = [
            self.stream.set_nonblocking(false),
            self.stream.set_nodelay(true),
            self.stream.set_read_timeout(Some(POLL)),
            self.stream.set_write_timeout(Some(POLL)),
        ];
        if options.into_iter().any(|it| it.is_err()) {
            return;
        }
        for step in script {
            if self.step(*step).is_err() {
                return;
            }
        }
    }

    fn step(&mut self, step: Step) -> Result<(), Gone> {
        match step {
            Step::Read(octets) => self.read(octets).map(drop),
            Step::ReadHead => {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.extend(self.read(1)?);
                }
                let head = String::from_utf8_lossy(&head).to_lowercase();
                let length = head.split_once("content-length: ");
                let digits = length.and_then(|(_, rest)| rest.split("\r\n").next());
                self.body_octets = digits.and_then(|it| it.parse().ok()).unwrap_or(0);
                Ok(())
            }
            Step::ReadBody => self.read(self.body_octets).map(drop),
            Step::ReadJson => {
                let head = self.read(4)?;
                let len = head
                    .iter()
                    .fold(0, |sum, octet| sum << 8 | usize::from(*octet));
                self.read(len).map(drop)
            }
            Step::Drain => self.drain(None),
            Step::DrainFor(ms) => self.drain(Some(Duration::from_millis(ms))),
            Step::Send(octets) => self.send(octets),
            Step::SendJson(text) => {
                self.send(&(text.len() as u32).to_be_bytes())?;
                self.send(text.as_bytes())
            }
            Step::Repeat(text, times) => (0..times).try_for_each(|_| self.send(text)),
            Step::Forever(octets, ms) => loop {
                self.send(octets)?;
                self.wait(Duration::from_millis(ms))?;
            },
            Step::SendFor(octets, ms) => {
                let until = Instant::now() + Duration::from_millis(ms);
                self.send_while(octets, |_| Instant::now() < until)
            }
            Step::SendUntil(octets, event) => {
                self.send_while(octets, |it| !it.events.has(event, it.test))
            }
            Step::Wait(ms) => self.wait(Duration::from_millis(ms)),
            Step::Await(event) => {
                while !self.events.has(event, self.test) {
                    self.wait(EVENT_POLL)?;
                }
                Ok(())
            }
            Step::Signal(event) => {
                self.events.signal(event, self.test);
                Ok(())
            }
            Step::Hang => loop {
                self.wait(Duration::from_secs(1))?;
            },
            Step::Finish => self.stream.shutdown(Shutdown::Write).map_err(|_| Gone),
            Step::Reset => {
                let zero = Some(Duration::ZERO);
                let _ = socket2::SockRef::from(&self.stream).set_linger(zero);
                Err(Gone)
            }
        }
    }

    fn check(&self) -> Result<(), Gone> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Gone);
        }
        Ok(())
    }

    fn wait(&self, span: Duration) -> Result<(), Gone> {
        let until = Instant::now() + span;
        loop {
            self.check()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(POLL));
        }
    }

    fn read(&mut self, octets: usize) -> Result<Vec<u8>, Gone> {
        let mut all = vec![0; octets];
        let mut at = 0;
        while at < octets {
            self.check()?;
            match self.stream.read(&mut all[at..]) {
                Ok(0) => return Err(Gone),
                Ok(len) => at += len,
                Err(error) if is_timeout(&error) => {}
                Err(_) => return Err(Gone),
            }
        }
        Ok(all)
    }

    fn drain(&mut self, span: Option<Duration>) -> Result<(), Gone> {
        let began = Instant::now();
        let mut octets = vec![0; 1 << 16];
        while span.is_none_or(|span| began.elapsed() < span) {
            self.check()?;
            match self.stream.read(&mut octets) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if is_timeout(&error) => {}
                Err(_) => return Err(Gone),
            }
        }
        Ok(())
    }

    /// Sends the octets again and again.
    fn send_while(&mut self, octets: &[u8], is_wanted: impl Fn(&Self) -> bool) -> Result<(), Gone> {
        while is_wanted(self) {
            self.send(octets)?;
            self.wait(Duration::from_millis(5))?;
        }
        Ok(())
    }

    fn send(&mut self, octets: &[u8]) -> Result<(), Gone> {
        let mut left = octets;
        while !left.is_empty() {
            self.check()?;
            match self.stream.write(left) {
                Ok(len) => left = &left[len..],
                Err(error) if is_timeout(&error) => {}
                Err(_) => return Err(Gone),
            }
        }
        Ok(())
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

fn serve_datagrams(socket: &UdpSocket, datagrams: Datagrams, events: &Events, stop: &AtomicBool) {
    socket.set_read_timeout(Some(POLL)).expect("an option");
    let other = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let mut octets = vec![0; 1 << 16];
    let mut counted = Counted::default();
    let mut served: Option<SocketAddr> = None;
    std::thread::scope(|scope| {
        while !stop.load(Ordering::Relaxed) {
            let Ok((len, from)) = socket.recv_from(&mut octets) else {
                continue;
            };
            let datagram = &octets[..len];
            match datagrams {
                Datagrams::Ignored => {}
                Datagrams::Reported(report) => {
                    if let Some(answer) = counted.report(datagram, report) {
                        let _ = socket.send_to(&answer, from);
                    }
                }
                Datagrams::Streamed(stream) => {
                    if served.replace(from) != Some(from) {
                        scope.spawn(move || send_stream(socket, from, stream, 1_470, stop));
                    }
                }
                Datagrams::Greeted => greet(socket, from, datagram, events),
                Datagrams::GreetedAndStreamed(stream) => {
                    greet(socket, from, datagram, events);
                    if served.replace(from) != Some(from) {
                        scope.spawn(move || {
                            while !events.has(Event::Started, 1) && !stop.load(Ordering::Relaxed) {
                                std::thread::sleep(EVENT_POLL);
                            }
                            send_iperf3_stream(socket, from, stream, stop);
                        });
                    }
                }
                Datagrams::Reflected(change) => {
                    let Some(mut reflection) = reflect(datagram) else {
                        continue;
                    };
                    change(&mut reflection);
                    let socket = if reflection.from_other_port {
                        &other
                    } else {
                        socket
                    };
                    let send = move || {
                        for _ in 0..reflection.copies {
                            let _ = socket.send_to(&reflection.octets, from);
                        }
                    };
                    if reflection.delay_ms == 0 {
                        send();
                        continue;
                    }
                    let delay = Duration::from_millis(reflection.delay_ms);
                    scope.spawn(move || {
                        std::thread::sleep(delay);
                        send();
                    });
                }
            }
        }
    });
}

fn greet(socket: &UdpSocket, from: SocketAddr, datagram: &[u8], events: &Events) {
    if datagram == b"9876" {
        let _ = socket.send_to(b"6789", from);
        events.signal(Event::StreamOpen, 1);
    }
}

/// What an iperf 2 server counted.
#[derive(Default)]
struct Counted {
    octets: u64,
    datagrams: i32,
    began: Option<Instant>,
    last: Option<Instant>,
}

impl Counted {
    /// Counts a datagram; returns the report if it is the end of its stream.
    fn report(&mut self, datagram: &[u8], report: Report) -> Option<Vec<u8>> {
        let low = i32::from_be_bytes(datagram.get(..4)?.try_into().ok()?);
        let now = Instant::now();
        // A test begins with its first datagram.
        if low == 1 {
            *self = Self::default();
        }
        let began = *self.began.get_or_insert(now);
        if self.last.is_none() || low > 0 {
            self.last = Some(now);
            self.octets += datagram.len() as u64;
            self.datagrams += 1;
        }
        if low >= 0 {
            return None;
        }
        let span_us = report
            .span_us
            .unwrap_or(now.duration_since(began).as_micros() as u64);
        let jitter_us = report.jitter_us.unwrap_or(10);
        let octets = report.octets.unwrap_or(self.octets);
        let flags: u32 = if report.is_plain { 0 } else { 0x8000_0000 };
        let seconds = |us: u64| [(us / 1_000_000) as u32, (us % 1_000_000) as u32];
        let mut answer = datagram[..16].to_vec();
        let fields = [
            [flags, (octets >> 32) as u32],
            [octets as u32, seconds(span_us)[0]],
            [seconds(span_us)[1], report.lost.unwrap_or(0) as u32],
            [
                report.out_of_order.unwrap_or(0) as u32,
                report.datagrams.unwrap_or(self.datagrams) as u32,
            ],
            seconds(jitter_us),
        ];
        for field in fields.into_iter().flatten() {
            answer.extend(field.to_be_bytes());
        }
        answer.resize(128, 0);
        Some(answer)
    }
}

/// Numbers of 64 bits, with the flag behind the header that announces them (iperf 2).
fn iperf2_datagram(number: i64, len: usize) -> Vec<u8> {
    let mut octets = vec![0; len];
    octets[..4].copy_from_slice(&(number as u32).to_be_bytes());
    octets[12..16].copy_from_slice(&((number >> 32) as u32).to_be_bytes());
    octets[16..20].copy_from_slice(&0x0800_0000_u32.to_be_bytes());
    octets
}

fn send_stream(socket: &UdpSocket, to: SocketAddr, stream: Stream, len: usize, stop: &AtomicBool) {
    let began = Instant::now();
    for index in 0..stream.count {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let _ = socket.send_to(&iperf2_datagram((stream.number)(index), len), to);
        wait_for(began, index + 1, stream);
    }
    for _ in 0..5 {
        if let Some(end) = stream.end {
            let _ = socket.send_to(&iperf2_datagram(end, len), to);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Numbers of 64 bits behind the time (iperf 3).
fn send_iperf3_stream(socket: &UdpSocket, to: SocketAddr, stream: Stream, stop: &AtomicBool) {
    let began = Instant::now();
    for index in 0..stream.count {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let mut octets = vec![0; 1_470];
        octets[8..16].copy_from_slice(&(stream.number)(index).to_be_bytes());
        let _ = socket.send_to(&octets, to);
        wait_for(began, index + 1, stream);
    }
}

/// Waits until the datagram of this index is due.
fn wait_for(began: Instant, index: i64, stream: Stream) {
    let due = began + Duration::from_millis(index as u64 * stream.interval_ms);
    std::thread::sleep(due.saturating_duration_since(Instant::now()));
}

/// The reflection of a STAMP packet (RFC 8762 section 4.3.1), with processing in no time.
fn reflect(packet: &[u8]) -> Option<Reflection> {
    let mut octets = vec![0; packet.len().max(44)];
    octets[..4].copy_from_slice(packet.get(..4)?);
    // A clock that is not synchronised, with an error of a unit.
    octets[12..14].copy_from_slice(&[0, 1]);
    octets[24..28].copy_from_slice(packet.get(..4)?);
    octets[28..36].copy_from_slice(packet.get(4..12)?);
    octets[36..38].copy_from_slice(packet.get(12..14)?);
    octets[40] = 255;
    Some(Reflection {
        octets,
        copies: 1,
        delay_ms: 0,
        from_other_port: false,
    })
}
