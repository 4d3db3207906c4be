//! An HTTP/1.1 server (RFC 9112): `GET /N` is answered with N octets of [`ether::pattern`].

use linerate_ether as ether;

use crate::peer::tcp::{Connection, ConnectionId, Retransmission, State, Tcp};
use crate::time::{Instant, Span};

/// A request line and fields longer than this are refused.
const REQUEST_LIMIT: usize = 8 * 1024;
/// Octets written to the connection at a time.
const CHUNK: usize = 16 * 1024;

/// What the server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The port it listens on.
    pub port: u16,
    /// Connections that may wait to be accepted.
    pub backlog: usize,
    /// The program's own time from a request to its answer, beyond the host's turnaround.
    pub service_time: Span,
    /// The greatest file there is, in octets.
    pub largest: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            port: 80,
            backlog: 128,
            service_time: Span::ZERO,
            largest: 1 << 32,
        }
    }
}

/// What happened to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The client's port.
    pub port: u16,
    /// The path asked for.
    pub path: String,
    /// The status of the answer.
    pub status: u16,
    /// Octets of the answer's body.
    pub body_octets: u64,
    /// When the connection's SYN was processed.
    pub opened_at: Instant,
    /// When the end of the request was read.
    pub requested_at: Instant,
    /// When the last octet of the answer was first handed to the MAC.
    pub last_sent_at: Option<Instant>,
    /// When the last octet's acknowledgment was processed.
    pub acknowledged_at: Option<Instant>,
    /// Retransmissions from the request until then.
    pub retransmissions: Vec<Retransmission>,
    /// Duplicate acknowledgments in the same time.
    pub duplicate_acks: u64,
}

/// The server, with a record of every request.
#[derive(Debug)]
pub struct Server {
    config: Config,
    sessions: Vec<Session>,
    requests: Vec<Request>,
}

/// One connection.
#[derive(Debug)]
struct Session {
    id: ConnectionId,
    input: Vec<u8>,
    /// Octets of this connection's stream that answers have taken up.
    stream_end: u64,
    answer: Option<Answer>,
    last: bool,
}

/// An answer being written.
#[derive(Debug)]
struct Answer {
    record: usize,
    head: Vec<u8>,
    head_written: usize,
    body_written: u64,
    body_octets: u64,
    with_body: bool,
    start_at: Instant,
    /// Where in the stream the answer ends.
    end: u64,
    retransmissions_before: usize,
    duplicates_before: u64,
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    method: String,
    path: String,
    keep_alive: bool,
}

impl Server {
    /// A server; the caller has its host listen on the port.
    #[must_use]
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            sessions: Vec::new(),
            requests: Vec::new(),
        }
    }

    /// Every request so far, in the order of arrival.
    #[must_use]
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// When an answer is due that waits for the program's own time.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        let answers = self
            .sessions
            .iter()
            .filter_map(|session| session.answer.as_ref());
        let unstarted = answers.filter(|answer| answer.head_written == 0);
        unstarted
            .map(|answer| answer.start_at)
            .min()
            .unwrap_or(Instant::NEVER)
    }

    /// Accepts, reads and writes what can be.
    pub fn poll(&mut self, tcp: &mut Tcp, now: Instant) {
        while let Some(id) = tcp.accept(self.config.port) {
            if let Some(connection) = tcp.get_mut(id) {
                connection.set_no_delay();
            }
            self.sessions.push(Session {
                id,
                input: Vec::new(),
                stream_end: 0,
                answer: None,
                last: false,
            });
        }
        let (config, requests) = (self.config, &mut self.requests);
        self.sessions.retain_mut(|session| {
            let Some(connection) = tcp.get_mut(session.id) else {
                return false;
            };
            session.poll(config, connection, requests, now);
            let over = connection.state() == State::Closed;
            if over {
                session.settle(connection, requests, now);
                tcp.forget_closed(session.id);
            }
            !over
        });
    }
}

impl Session {
    fn poll(
        &mut self,
        config: Config,
        connection: &mut Connection,
        requests: &mut Vec<Request>,
        now: Instant,
    ) {
        loop {
            self.settle(connection, requests, now);
            if self.answer.is_some() {
                self.write(connection, now);
                self.settle(connection, requests, now);
                return;
            }
            if self.last {
                // Whatever else the client sends is of no interest.
                connection.read(usize::MAX);
                return;
            }
            self.input.extend(connection.read(usize::MAX));
            let Some((head, len)) = parse_head(&self.input) else {
                if connection.at_end() || self.input.len() > REQUEST_LIMIT {
                    self.last = true;
                    connection.close();
                    if self.input.len() > REQUEST_LIMIT {
                        connection.abort();
                    }
                }
                return;
            };
            self.input.drain(..len);
            self.begin(config, &head, connection, requests, now);
        }
    }

    /// Decides on the answer to a request.
    fn begin(
        &mut self,
        config: Config,
        head: &Head,
        connection: &Connection,
        requests: &mut Vec<Request>,
        now: Instant,
    ) {
        let known = matches!(head.method.as_str(), "GET" | "HEAD");
        let size = head
            .path
            .strip_prefix('/')
            .and_then(|size| size.parse::<u64>().ok());
        let size = size.filter(|&size| size <= config.largest);
        let (status, reason, body_octets) = match (known, size) {
            (false, _) => (405, "Method Not Allowed", 0),
            (true, None) => (404, "Not Found", 0),
            (true, Some(size)) => (200, "OK", size),
        };
        let allow = if known { "" } else { "Allow: GET, HEAD\r\n" };
        let close = if head.keep_alive {
            ""
        } else {
            "Connection: close\r\n"
        };
        let response = format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: application/octet-stream\r\n\
             Content-Length: {body_octets}\r\n{allow}{close}\r\n"
        );
        let with_body = head.method != "HEAD";
        let octets = response.len() as u64 + if with_body { body_octets } else { 0 };
        self.stream_end += octets;
        self.last = !head.keep_alive;
        self.answer = Some(Answer {
            record: requests.len(),
            head: response.into_bytes(),
            head_written: 0,
            body_written: 0,
            body_octets,
            with_body,
            start_at: now + config.service_time,
            end: self.stream_end,
            retransmissions_before: connection.statistics().retransmissions.len(),
            duplicates_before: connection.statistics().duplicate_acks,
        });
        requests.push(Request {
            port: connection.remote().port,
            path: head.path.clone(),
            status,
            body_octets,
            opened_at: connection.opened_at(),
            requested_at: now,
            last_sent_at: None,
            acknowledged_at: None,
            retransmissions: Vec::new(),
            duplicate_acks: 0,
        });
    }

    /// Writes as much of the answer as the connection takes. The head is written apart from the
    /// body, as most servers do, so it travels in a segment of its own.
    fn write(&mut self, connection: &mut Connection, now: Instant) {
        let Some(answer) = &mut self.answer else {
            return;
        };
        if now < answer.start_at {
            return;
        }
        if answer.head_written < answer.head.len() {
            answer.head_written += connection.write(&answer.head[answer.head_written..], false);
            // The head leaves before the body is there.
            connection.push();
        }
        let body = if answer.with_body {
            answer.body_octets
        } else {
            0
        };
        let mut chunk = [0; CHUNK];
        while answer.head_written == answer.head.len() && answer.body_written < body {
            let len = (body - answer.body_written).min(CHUNK as u64) as usize;
            ether::pattern::fill(answer.body_written, &mut chunk[..len]);
            let more = answer.body_written + (len as u64) < body;
            let taken = connection.write(&chunk[..len], more);
            answer.body_written += taken as u64;
            if taken < len {
                break;
            }
        }
        if self.last && answer.head_written == answer.head.len() && answer.body_written == body {
            connection.close();
        }
    }

    /// Brings the record up to date and ends the answer when all of it is acknowledged.
    fn settle(&mut self, connection: &Connection, requests: &mut [Request], now: Instant) {
        let Some(answer) = &self.answer else { return };
        let Some(record) = requests.get_mut(answer.record) else {
            return;
        };
        let sender = connection.sender();
        if sender.octets_sent() >= answer.end {
            record.last_sent_at.get_or_insert(now);
        }
        let statistics = connection.statistics();
        let done = sender.octets_acknowledged() >= answer.end;
        if done || connection.state() == State::Closed {
            let events = &statistics.retransmissions[answer.retransmissions_before..];
            record.retransmissions = events.to_vec();
            record.duplicate_acks = statistics.duplicate_acks - answer.duplicates_before;
            record.acknowledged_at = done.then_some(now);
            self.answer = None;
        }
    }
}

/// Reads the request line and the fields; `None` while they are incomplete. A request line that
/// makes no sense becomes a method that no server knows.
fn parse_head(input: &[u8]) -> Option<(Head, usize)> {
    let end = input.windows(4).position(|window| window == b"\r\n\r\n")?;
    let text = String::from_utf8_lossy(&input[..end]);
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let mut word = || words.next().unwrap_or_default().to_owned();
    let (method, path, version) = (word(), word(), word());
    let connection = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("connection"))
        .map(|(_, value)| value.trim().to_ascii_lowercase())
        .unwrap_or_default();
    let keep_alive = match version.as_str() {
        "HTTP/1.1" => connection != "close",
        _ => connection == "keep-alive",
    };
    Some((
        Head {
            method,
            path,
            keep_alive,
        },
        end + 4,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Option<(String, String, bool)> {
        parse_head(text.as_bytes()).map(|(head, _)| (head.method, head.path, head.keep_alive))
    }

    #[test]
    fn requests_keep_alive_by_version_and_field() {
        let get = |keep_alive| Some(("GET".to_owned(), "/1".to_owned(), keep_alive));
        assert_eq!(head("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"), get(true));
        assert_eq!(
            head("GET /1 HTTP/1.1\r\nconnection: Close\r\n\r\n"),
            get(false)
        );
        assert_eq!(head("GET /1 HTTP/1.0\r\n\r\n"), get(false));
        assert_eq!(
            head("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
            get(true)
        );
        assert_eq!(head("GET /1 HTTP/1.1\r\nHost: a\r\n"), None);
        assert_eq!(
            head("\r\n\r\n"),
            Some((String::new(), String::new(), false))
        );
    }
}
