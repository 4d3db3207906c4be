//! An HTTP/1.1 server (RFC 9112): `GET /N` is answered with N octets of [`linerate_ether::pattern`]; `PUT /N`
//! compares N octets with that pattern and answers 204 if they are equal, 422 if not. Other paths have the
//! [`Answer`]s of its configuration.

mod answer;
mod head;
mod upload;

pub use answer::{Answer, Body};
pub use upload::Upload;

use self::answer::Answers;
use self::head::RequestHead;
use self::upload::UploadBody;
use crate::peer::tcp::{Connection, ConnectionId, Retransmission, State, Tcp};
use crate::time::{Instant, Span};

/// A longer request line with fields is rejected.
const REQUEST_LIMIT: usize = 8 * 1024;
/// Octets written to the connection at a time.
const CHUNK: usize = 16 * 1024;

/// Configuration of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The port it listens on.
    pub port: u16,
    /// Maximum number of connections that wait to be accepted.
    pub backlog: usize,
    /// Processing time from a request to its response, in addition to the host's turnaround.
    pub service_time: Span,
    /// Size of the largest file, in octets.
    pub max_file_octets: u64,
    /// Answers to GET and HEAD for certain paths, before the files `/N`.
    pub answers: Vec<Answer>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            port: 80,
            backlog: 128,
            service_time: Span::ZERO,
            max_file_octets: 1 << 32,
            answers: Vec::new(),
        }
    }
}

/// Record of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The client's port.
    pub port: u16,
    /// Requested path.
    pub path: String,
    /// Status of the response.
    pub status: u16,
    /// Octets of the response's body.
    pub body_octets: u64,
    /// Time at which the connection's SYN was processed.
    pub opened_at: Instant,
    /// Time at which the end of the request was read.
    pub requested_at: Instant,
    /// Time at which the last octet of the response was first handed to the MAC.
    pub last_sent_at: Option<Instant>,
    /// Time at which the last octet's acknowledgment was processed.
    pub acknowledged_at: Option<Instant>,
    /// Retransmissions between `requested_at` and `acknowledged_at`.
    pub retransmissions: Vec<Retransmission>,
    /// Duplicate acknowledgments in the same interval.
    pub duplicate_acks: u64,
}

/// The HTTP server, with a record of every request.
#[derive(Debug)]
pub struct Server {
    config: Config,
    answers: Answers,
    sessions: Vec<Session>,
    records: Records,
}

/// Records of requests and uploads.
#[derive(Debug, Default)]
struct Records {
    requests: Vec<Request>,
    uploads: Vec<Upload>,
}

/// One connection.
#[derive(Debug)]
struct Session {
    id: ConnectionId,
    input: Vec<u8>,
    /// Position in the connection's stream at which the last response ends.
    stream_end: u64,
    upload: Option<(RequestHead, UploadBody)>,
    response: Option<Response>,
    close_after: bool,
}

/// A response being written.
#[derive(Debug)]
struct Response {
    record: usize,
    head: Vec<u8>,
    head_written: usize,
    body_written: u64,
    body: Body,
    with_body: bool,
    start_at: Instant,
    /// Position in the stream at which the response ends.
    end: u64,
    retransmissions_before: usize,
    duplicates_before: u64,
}

impl Server {
    /// A server; the caller makes its host listen on the port.
    #[must_use]
    pub fn new(mut config: Config) -> Self {
        Self {
            answers: Answers::new(std::mem::take(&mut config.answers)),
            config,
            sessions: Vec::new(),
            records: Records::default(),
        }
    }

    /// Every request so far, in the order of arrival.
    #[must_use]
    pub fn requests(&self) -> &[Request] {
        &self.records.requests
    }

    /// Every upload so far, in the order in which they began.
    #[must_use]
    pub fn uploads(&self) -> &[Upload] {
        &self.records.uploads
    }

    /// Earliest time at which a response delayed by `service_time` is due.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        let responses = self
            .sessions
            .iter()
            .filter_map(|session| session.response.as_ref());
        let unstarted = responses.filter(|response| response.head_written == 0);
        unstarted
            .map(|response| response.start_at)
            .min()
            .unwrap_or(Instant::NEVER)
    }

    /// Accepts connections, reads requests and writes responses as far as possible.
    pub fn poll(&mut self, tcp: &mut Tcp, now: Instant) {
        while let Some(id) = tcp.accept(self.config.port) {
            self.sessions.push(Session {
                id,
                input: Vec::new(),
                stream_end: 0,
                upload: None,
                response: None,
                close_after: false,
            });
        }
        let (config, records) = (&self.config, &mut self.records);
        let answers = &mut self.answers;
        self.sessions.retain_mut(|session| {
            let Some(connection) = tcp.get_mut(session.id) else {
                return false;
            };
            session.poll(config, answers, connection, records, now);
            let over = connection.state() == State::Closed;
            if over {
                session.update_record(connection, &mut records.requests, now);
                tcp.remove_closed(session.id);
            }
            !over
        });
    }
}

impl Session {
    fn poll(
        &mut self,
        config: &Config,
        answers: &mut Answers,
        connection: &mut Connection,
        records: &mut Records,
        now: Instant,
    ) {
        loop {
            self.update_record(connection, &mut records.requests, now);
            if self.response.is_some() {
                self.write(connection, now);
                self.update_record(connection, &mut records.requests, now);
                return;
            }
            if self.close_after {
                // Discard anything else the client sends.
                connection.read(usize::MAX);
                return;
            }
            self.input.extend(connection.read(usize::MAX));
            if let Some((head, mut body)) = self.upload.take() {
                let upload = &mut records.uploads[body.record];
                if body.take(&mut self.input, upload, now) {
                    let status = if upload.is_good() { 204 } else { 422 };
                    self.begin_response(config, &head, status, connection, records, now);
                    continue;
                }
                if connection.is_at_end() {
                    self.close_after = true;
                    connection.close();
                }
                self.upload = Some((head, body));
                return;
            }
            let Some((head, len)) = head::parse(&self.input) else {
                if connection.is_at_end() || self.input.len() > REQUEST_LIMIT {
                    self.close_after = true;
                    connection.close();
                    if self.input.len() > REQUEST_LIMIT {
                        connection.abort();
                    }
                }
                return;
            };
            self.input.drain(..len);
            if head.keep_alive {
                // The last segment of a response has no FIN, and must not wait for an acknowledgment.
                connection.set_no_delay();
            }
            match head.method.as_str() {
                "PUT" => self.begin_upload(config, head, connection, records, now),
                "GET" | "HEAD" => {
                    let answer = answers.next(&head.path).unwrap_or_else(|| {
                        let size = head.size().filter(|&size| size <= config.max_file_octets);
                        plain(&head, size.map_or(404, |_| 200))
                    });
                    self.respond(config, &head, &answer, connection, records, now);
                }
                _ => self.begin_response(config, &head, 405, connection, records, now),
            }
        }
    }

    /// Prepares for the body of an upload, or rejects it.
    fn begin_upload(
        &mut self,
        config: &Config,
        head: RequestHead,
        connection: &mut Connection,
        records: &mut Records,
        now: Instant,
    ) {
        let refused = match (head.size(), head.content_length) {
            (None, _) => Some(404),
            (_, None) => Some(411),
            (Some(size), _) if size > config.max_file_octets => Some(413),
            (Some(size), Some(length)) if size != length => Some(400),
            _ => None,
        };
        if let Some(status) = refused {
            // The body that follows would be parsed as a request.
            let head = RequestHead {
                keep_alive: false,
                ..head
            };
            self.begin_response(config, &head, status, connection, records, now);
            return;
        }
        if head.expects_continue {
            let interim = b"HTTP/1.1 100 Continue\r\n\r\n";
            self.stream_end += connection.write(interim, false) as u64;
            connection.push();
        }
        records.uploads.push(Upload {
            port: connection.remote().port,
            path: head.path.clone(),
            expected: head.content_length.unwrap_or(0),
            octets: 0,
            crc32: 0,
            first_difference: None,
            opened_at: connection.opened_at(),
            finished_at: None,
        });
        self.upload = Some((head, UploadBody::new(records.uploads.len() - 1)));
    }

    /// Starts a response without a body, or with a file `/N`.
    fn begin_response(
        &mut self,
        config: &Config,
        head: &RequestHead,
        status: u16,
        connection: &Connection,
        records: &mut Records,
        now: Instant,
    ) {
        self.respond(config, head, &plain(head, status), connection, records, now);
    }

    /// Starts a response.
    fn respond(
        &mut self,
        config: &Config,
        head: &RequestHead,
        answer: &Answer,
        connection: &Connection,
        records: &mut Records,
        now: Instant,
    ) {
        let requests = &mut records.requests;
        let (status, body_octets) = (answer.status, answer.body.len());
        let allow = if status == 405 {
            "Allow: GET, HEAD, PUT\r\n"
        } else {
            ""
        };
        let close = if head.keep_alive {
            ""
        } else {
            "Connection: close\r\n"
        };
        // A 204 response has no Content-Length (RFC 9110, section 8.6).
        let content = if status == 204 {
            String::new()
        } else {
            let kind = &answer.content_type;
            format!("Content-Type: {kind}\r\nContent-Length: {body_octets}\r\n")
        };
        let head_text = format!(
            "HTTP/1.1 {status} {}\r\n{content}{allow}{close}\r\n",
            reason_phrase(status)
        );
        let with_body = head.method != "HEAD";
        let octets = head_text.len() as u64 + if with_body { body_octets } else { 0 };
        self.stream_end += octets;
        self.close_after = !head.keep_alive;
        self.response = Some(Response {
            record: requests.len(),
            head: head_text.into_bytes(),
            head_written: 0,
            body_written: 0,
            body: answer.body.clone(),
            with_body,
            start_at: now + config.service_time + answer.delay,
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

    /// Writes as much of the response as the connection accepts. The head is written separately from
    /// the body, as most servers do, so it travels in a separate segment.
    fn write(&mut self, connection: &mut Connection, now: Instant) {
        let Some(response) = &mut self.response else {
            return;
        };
        if now < response.start_at {
            return;
        }
        if response.head_written < response.head.len() {
            response.head_written +=
                connection.write(&response.head[response.head_written..], false);
            // The head is sent before the body is available.
            connection.push();
        }
        let body = if response.with_body {
            response.body.len()
        } else {
            0
        };
        let mut chunk = [0; CHUNK];
        while response.head_written == response.head.len() && response.body_written < body {
            let len = (body - response.body_written).min(CHUNK as u64) as usize;
            response.body.copy(response.body_written, &mut chunk[..len]);
            let more = response.body_written + (len as u64) < body;
            let taken = connection.write(&chunk[..len], more);
            response.body_written += taken as u64;
            if taken < len {
                break;
            }
        }
        if self.close_after
            && response.head_written == response.head.len()
            && response.body_written == body
        {
            connection.close();
        }
    }

    /// Updates the record and ends the response when all of it is acknowledged.
    fn update_record(&mut self, connection: &Connection, requests: &mut [Request], now: Instant) {
        let Some(response) = &self.response else {
            return;
        };
        let Some(record) = requests.get_mut(response.record) else {
            return;
        };
        let sender = connection.sender();
        if sender.octets_sent() >= response.end {
            record.last_sent_at.get_or_insert(now);
        }
        let statistics = connection.statistics();
        let done = sender.octets_acknowledged() >= response.end;
        if done || connection.state() == State::Closed {
            let events = &statistics.retransmissions[response.retransmissions_before..];
            record.retransmissions = events.to_vec();
            record.duplicate_acks = statistics.duplicate_acks - response.duplicates_before;
            record.acknowledged_at = done.then_some(now);
            self.response = None;
        }
    }
}

/// A response with this status: a file `/N` if the request names one and the status is 200, else no body.
fn plain(head: &RequestHead, status: u16) -> Answer {
    Answer {
        path: head.path.clone(),
        status,
        body: Body::Pattern(match status {
            200 => head.size().unwrap_or(0),
            _ => 0,
        }),
        content_type: "application/octet-stream".to_owned(),
        delay: Span::ZERO,
    }
}

/// Reason phrase of a status (RFC 9110, section 15).
const fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        411 => "Length Required",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        _ => "Unknown",
    }
}
