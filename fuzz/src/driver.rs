//! The hostile driver.

use crate::event::{ADDRESSES, Content, Event, MAX_ROOM};
use crate::ledger::{Ledger, SendRule};
use libfuzzer_sys::arbitrary::Unstructured;
use linerate_agent::{Close, Connection, Datagram, Instant, Opened, Service, SocketRequest, Udp};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Events per input.
const EVENTS: usize = 200;
/// Octets and datagrams that may arrive by repetition in one input: slowness is not a finding.
const REPEATED_OCTETS: usize = 1 << 17;
const REPEATED_DATAGRAMS: usize = 2000;
/// Requests of a service in one turn: one or two sockets for each of its flows.
const MAX_REQUESTS: usize = 300;
/// Datagrams per turn, and pieces of a connection per turn.
const DATAGRAMS: usize = 64;
const PIECES: usize = 4;
/// Maximum connection attempts to a peer that has requested a connection.
const TRIES: usize = 60;
/// Concurrent connections.
const CONNECTIONS: usize = 12;
/// Consecutive turns after which a service that wants more is busy, not wrong.
const TURNS: usize = 64;
/// Turns without effect that a service may request: detecting blocked connections takes three.
const IDLE_TURNS: usize = 8;
/// The last point in time: additions to it do not overflow.
const LAST: u64 = u64::MAX / 2;

/// Guarantees of a service beyond its interface, and plausible data of its peers.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Limit on its datagrams.
    pub send_rule: SendRule,
    /// For a server: maximum lifetime of connections whose peers neither send nor read.
    pub forgets_within: Option<Duration>,
    /// Valid messages: they let the fuzzer pass the first checks.
    pub phrases: &'a [&'a [u8]],
    /// Turns a datagram of the service into its peer's answer.
    pub answer: fn(&[u8]) -> Vec<u8>,
}

impl<'a> Rules<'a> {
    /// For an iperf server that does or does not send UDP on request, limited to a minute.
    pub const fn of_iperf_server(sends_datagrams: bool, phrases: &'a [&'a [u8]]) -> Self {
        Self {
            send_rule: if sends_datagrams {
                SendRule::OnRequest
            } else {
                SendRule::NoMoreThanReceived
            },
            forgets_within: Some(Duration::from_mins(5)),
            phrases,
            answer: <[u8]>::to_vec,
        }
    }
}

/// Connections that a server may open to a peer that has connected to it.
#[derive(Debug, Default)]
struct Owed {
    /// Connections accepted from it, less those established or being established.
    connections: usize,
    /// Remaining attempts: a peer that is not yet listening is retried for a while.
    tries: usize,
}

#[derive(Debug, Default)]
struct Line {
    peer_ended: bool,
    own_ended: bool,
}

struct Driver<'a, S, L> {
    service: &'a mut S,
    rules: &'a Rules<'a>,
    look: L,
    now: Instant,
    lines: BTreeMap<u8, Line>,
    listens: BTreeSet<u16>,
    sockets: BTreeSet<u8>,
    /// Requested connections that have neither been established nor failed.
    asked: Vec<(u8, IpAddr)>,
    /// By peer.
    owed: BTreeMap<IpAddr, Owed>,
    ledger: Ledger,
    sent: Vec<u8>,
    left: (usize, usize),
}

/// Applies the events in `input` to a service. `look` is called after each turn, as the service's user; it
/// returns true when the service has ended.
///
/// # Panics
/// If the service panics or violates a guarantee.
pub fn play<S: Service>(
    service: &mut S,
    rules: &Rules,
    input: &mut Unstructured,
    look: impl FnMut(&mut S, Instant) -> bool,
) {
    let mut driver = Driver {
        service,
        rules,
        look,
        now: Instant::from_ns(1),
        lines: BTreeMap::new(),
        listens: BTreeSet::new(),
        sockets: BTreeSet::new(),
        asked: Vec::new(),
        owed: BTreeMap::new(),
        ledger: Ledger::default(),
        sent: Vec::new(),
        left: (REPEATED_OCTETS, REPEATED_DATAGRAMS),
    };
    driver.handle_requests();
    for _ in 0..EVENTS {
        match Event::next(input) {
            Ok(event) if !input.is_empty() => driver.happens(event),
            _ => break,
        }
    }
    driver.settle();
    if let Some(span) = rules.forgets_within {
        driver.fall_silent(span);
    }
}

fn address(index: usize) -> SocketAddr {
    ADDRESSES[index].parse().expect("an address")
}

impl<S: Service, L: FnMut(&mut S, Instant) -> bool> Driver<'_, S, L> {
    fn happens(&mut self, event: Event) {
        match event {
            Event::Accept { address: index } => self.accept(address(index)),
            Event::Connect { which, well } => self.connect(which, well),
            Event::Octets {
                which,
                content,
                piece,
                times,
            } => self.octets(which, &content, piece, times),
            Event::Ended { which } => {
                let at = self.line(which);
                if let Some(line) = at.and_then(|at| self.lines.get_mut(&at))
                    && !core::mem::replace(&mut line.peer_ended, true)
                {
                    let connection = Connection(at.unwrap_or_default());
                    self.service.ended(connection, self.now);
                }
            }
            Event::Broken { which } => {
                if let Some(at) = self.line(which) {
                    self.lines.remove(&at);
                    self.service.closed(Connection(at), self.now);
                }
            }
            Event::Datagram {
                socket,
                address: index,
                content,
                times,
            } => self.datagram(socket, address(index), &content, times),
            Event::Passes(span) => self.pass(self.now.after(span)),
            Event::Wakes => {
                if let Some(at) = self.service.wake_at() {
                    self.pass(at);
                }
            }
            Event::Turn { stream, datagram } => {
                self.turn(stream, datagram);
            }
            Event::Settles => self.settle(),
        }
    }

    fn pass(&mut self, until: Instant) {
        self.now = self.now.max(until.min(Instant::from_ns(LAST)));
    }

    /// One of the open connections.
    fn line(&self, which: usize) -> Option<u8> {
        let at = which.checked_rem(self.lines.len())?;
        self.lines.keys().nth(at).copied()
    }

    /// Uses the lowest free number, so that numbers are reused soon.
    fn open(&mut self, opened: Opened) {
        let number = (0..).find(|at| !self.lines.contains_key(at));
        let number = number.expect("fewer connections than numbers");
        let connection = Connection(number);
        if self.service.opened(connection, opened, self.now).is_ok() {
            self.lines.insert(number, Line::default());
        }
    }

    fn accept(&mut self, from: SocketAddr) {
        let Some(port) = self.listens.first().copied() else {
            return;
        };
        if self.lines.len() < CONNECTIONS {
            let owed = self.owed.entry(from.ip()).or_default();
            owed.connections += 1;
            owed.tries += TRIES;
            self.open(Opened::Accepted { port, from });
        }
    }

    fn connect(&mut self, which: usize, well: bool) {
        let Some(at) = which.checked_rem(self.asked.len()) else {
            return;
        };
        let (token, to) = self.asked.remove(at);
        if well && self.lines.len() < CONNECTIONS {
            self.open(Opened::Connected { token });
        } else {
            self.refuse(token, to);
        }
    }

    /// Nobody is listening: the connection is still owed.
    fn refuse(&mut self, token: u8, by: IpAddr) {
        if let Some(owed) = self.owed.get_mut(&by) {
            owed.connections += 1;
        }
        self.service.failed(token, self.now);
    }

    fn written(&self, content: &Content) -> Vec<u8> {
        let alter = |mut octets: Vec<u8>, alterations: &[(u8, u8)]| {
            for (at, value) in alterations {
                match octets.len() {
                    // Truncated, rarely.
                    len if *at == u8::MAX => octets.truncate(usize::from(*value) % (len + 1)),
                    0 => {}
                    len => octets[usize::from(*at) % len] = *value,
                }
            }
            octets
        };
        match content {
            Content::Octets(octets) => octets.clone(),
            Content::Phrase(which, alterations) => {
                let at = which.checked_rem(self.rules.phrases.len());
                let phrase = at.map_or(&[][..], |at| self.rules.phrases[at]);
                alter(phrase.to_vec(), alterations)
            }
            Content::Answer(alterations) => alter((self.rules.answer)(&self.sent), alterations),
        }
    }

    fn octets(&mut self, which: usize, content: &Content, piece: usize, times: usize) {
        let Some(at) = self.line(which).filter(|at| !self.lines[at].peer_ended) else {
            return;
        };
        let octets = self.written(content);
        let times = times.min((self.left.0 / octets.len().max(1)).max(1));
        self.left.0 -= self.left.0.min(octets.len() * times);
        let all = octets.repeat(times);
        for piece in all.chunks(piece) {
            self.service.received(Connection(at), piece, self.now);
        }
    }

    fn datagram(&mut self, socket: usize, from: SocketAddr, content: &Content, times: usize) {
        let Some(at) = socket.checked_rem(self.sockets.len()) else {
            return;
        };
        let Some(socket) = self.sockets.iter().nth(at).copied() else {
            return;
        };
        let octets = self.written(content);
        let times = times.min(self.left.1.max(1));
        self.left.1 -= self.left.1.min(times);
        for _ in 0..times {
            self.ledger.on_received(from, octets.len());
            self.service.datagram(Udp(socket), from, &octets, self.now);
        }
    }

    /// Handles the service's requests; returns true if there were any.
    fn handle_requests(&mut self) -> bool {
        for asks in 0..MAX_REQUESTS {
            let Some(request) = self.service.next_request() else {
                return asks > 0;
            };
            match request {
                SocketRequest::Listen(port) => {
                    assert!(self.listens.insert(port), "it is already listening")
                }
                SocketRequest::Bind(Udp(socket), _) => {
                    assert!(self.sockets.insert(socket), "the socket is already open");
                }
                SocketRequest::Unbind(Udp(socket)) => {
                    assert!(self.sockets.remove(&socket), "the socket is not open");
                }
                SocketRequest::Connect { to, token } => {
                    let waits = self.asked.iter().any(|(asked, _)| *asked == token);
                    assert!(!waits, "this request is already pending");
                    self.on_connect(to);
                    self.asked.push((token, to.ip()));
                }
            }
        }
        panic!("it makes endless requests");
    }

    /// A server connects to peers that have connected to it, once for each, with retries; a client to its
    /// server.
    fn on_connect(&mut self, to: SocketAddr) {
        if let SendRule::OnlyTo(ip) = self.rules.send_rule {
            assert_eq!(to.ip(), ip, "a client connects to another address");
            return;
        }
        let owed = self.owed.get_mut(&to.ip());
        let owed = owed.filter(|owed| owed.connections > 0);
        let owed = owed.expect("a connection to a peer without a request");
        owed.connections -= 1;
        let left = owed.tries.checked_sub(1);
        owed.tries = left.expect("too many attempts to connect");
    }

    /// Runs one turn, in the order required by [`Service`]; returns true if it had an effect.
    fn turn(&mut self, stream_room: usize, datagram_room: usize) -> bool {
        let mut moved = self.handle_requests();
        moved |= self.send(datagram_room);
        let all: Vec<u8> = self.lines.keys().copied().collect();
        for at in all {
            moved |= self.write(at, stream_room);
        }
        moved |= self.handle_requests();
        moved
    }

    fn send(&mut self, octets: usize) -> bool {
        let mut room = [0; MAX_ROOM];
        for sent in 0..DATAGRAMS {
            let room = &mut room[..octets];
            let Some(Datagram { socket, to, len }) = self.service.next_datagram(room, self.now)
            else {
                return sent > 0;
            };
            assert!(len <= octets, "{len} octets in room for {octets}");
            assert!(self.sockets.contains(&socket.0), "it has no {socket:?}");
            self.ledger.on_sent(to, len, self.rules.send_rule);
            self.sent = room[..len].to_vec();
        }
        true
    }

    fn write(&mut self, at: u8, octets: usize) -> bool {
        let connection = Connection(at);
        let mut moved = false;
        let mut room = [0; MAX_ROOM];
        for _ in 0..PIECES {
            if self.lines[&at].own_ended {
                break;
            }
            let room = &mut room[..octets];
            // A driver may take zeros without having them written, and may ask for them at any time.
            let asks_zeros = octets % 2 == 0;
            let mut len = match asks_zeros {
                true => self.service.zeros(connection, octets, self.now),
                false => 0,
            };
            if len == 0 {
                len = self.service.fill(connection, room, self.now);
            } else {
                assert!(len <= octets, "{len} zeros in room for {octets}");
                room[..len].fill(0);
            }
            assert!(len <= octets, "{len} octets in room for {octets}");
            if len == 0 {
                break;
            }
            moved = true;
            self.sent = room[..len].to_vec();
        }
        let is_over = match self.service.close(connection) {
            Close::Keep => false,
            Close::Reset => true,
            Close::Finish => {
                let line = self.lines.get_mut(&at).expect("the connection exists");
                moved |= !core::mem::replace(&mut line.own_ended, true);
                line.peer_ended
            }
        };
        if is_over || self.lines[&at].own_ended && self.lines[&at].peer_ended {
            self.lines.remove(&at);
            self.service.closed(connection, self.now);
            moved = true;
        }
        moved
    }

    /// Takes turns with space for everything until the service wants no more; it must not request turns
    /// without effect.
    fn settle(&mut self) {
        let mut idle = 0;
        for _ in 0..TURNS {
            if self.turn(MAX_ROOM, MAX_ROOM) {
                idle = 0;
            } else {
                idle += 1;
            }
            let is_over = (self.look)(self.service, self.now);
            if is_over || self.service.wake_at().is_none_or(|at| at > self.now) {
                return;
            }
            assert!(idle < IDLE_TURNS, "woken repeatedly without work");
        }
    }

    fn refuse_all(&mut self) {
        for (token, to) in core::mem::take(&mut self.asked) {
            self.refuse(token, to);
        }
    }

    /// Peers neither send nor read any more: the service must close its connections within `span`.
    fn fall_silent(&mut self, span: Duration) {
        self.refuse_all();
        let until = self.now.after(span);
        while !self.lines.is_empty() {
            self.turn(0, 0);
            self.refuse_all();
            if self.lines.is_empty() {
                break;
            }
            let wake = self.service.wake_at();
            let wake = wake.expect("a dead connection stays forever");
            // Due data may wait for buffer space: a driver checks again now and then.
            self.now = wake.max(self.now.after(Duration::from_secs(1)));
            assert!(self.now < until, "a dead connection stays");
        }
    }
}
