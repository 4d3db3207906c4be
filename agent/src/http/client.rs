//! The client: one request.

use core::net::SocketAddr;
use core::time::Duration;

use super::body::{Body, Taken};
use super::fields::Fields;
use super::line::Line;
use super::number;
use crate::partial_writer::PartialWriter;
use crate::{Close, Connection, Datagram, Instant, Opened, Refused, Service, SocketRequest};
use linerate_ether::pattern;

/// Payload of a chunk of an upload.
const CHUNK: u64 = 1024;
/// Maximum length of the path.
const MAX_PATH: usize = 200;
/// Maximum length of a response head.
const MAX_HEAD: usize = 16384;

/// Content of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upload {
    /// Octets of the pattern.
    pub octets: u64,
    /// Sent in chunks, without announcing the length.
    pub chunked: bool,
}

/// Configuration of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan<'a> {
    /// The server.
    pub to: SocketAddr,
    /// Path and query, 200 octets at most: `/1000000` for linerate's own server.
    pub path: &'a str,
    /// The content to PUT; `None` for a GET.
    pub upload: Option<Upload>,
    /// Compare the received content with the pattern.
    pub check: bool,
    /// Timeout without progress.
    pub timeout: Duration,
}

/// Reason for a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The path is invalid: too long, or not a path.
    BadPath,
    /// The connection to the server could not be established.
    NotReached,
    /// The connection broke before the end.
    Broken,
    /// No progress within the timeout.
    NoAnswer,
    /// The response is not HTTP.
    NotHttp,
}

/// Progress of a client.
pub type Progress = crate::Progress<Failure>;

/// Results of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// The response's status, 0 before it arrives.
    pub status: u16,
    /// Octets of content sent.
    pub sent: u64,
    /// Octets of content received.
    pub received: u64,
    /// Received octets of an upload, as reported by a linerate server.
    pub confirmed: Option<u64>,
    /// Offset of the first octet that differs from the pattern.
    pub mismatch_at: Option<u64>,
    /// Time from the first octet of the request to the last octet received.
    pub span: Duration,
    /// Time to the first octet received.
    pub first_octet: Option<Duration>,
}

#[derive(Debug)]
enum Reading {
    /// The status line, or fields once `status` is set.
    Head {
        status: Option<u16>,
        fields: Fields,
        octets: usize,
    },
    Body(Body),
    Over,
}

impl Reading {
    fn new() -> Self {
        Self::Head {
            status: None,
            fields: Fields::NONE,
            octets: 0,
        }
    }
}

fn head(plan: &Plan, writer: &mut PartialWriter) {
    let method = if plan.upload.is_some() {
        "PUT "
    } else {
        "GET "
    };
    writer.raw(method.as_bytes());
    writer.raw(plan.path.as_bytes());
    writer.raw(b" HTTP/1.1\r\nHost: ");
    // Infallible.
    let _ = core::fmt::Write::write_fmt(writer, format_args!("{}", plan.to));
    writer.raw(b"\r\nConnection: close");
    match plan.upload {
        None => {}
        Some(Upload { chunked: true, .. }) => writer.raw(b"\r\nTransfer-Encoding: chunked"),
        Some(Upload { octets, .. }) => {
            writer.raw(b"\r\nContent-Length: ");
            writer.digits(octets, 10, 1);
        }
    }
    writer.raw(b"\r\n\r\n");
}

/// Writes the part of a text behind its first `at` octets and returns its length.
fn part(at: u64, buffer: &mut [u8], write: impl Fn(&mut PartialWriter)) -> usize {
    let mut writer = PartialWriter::new(buffer, usize::try_from(at).unwrap_or(usize::MAX));
    write(&mut writer);
    writer.written()
}

/// A client for one request.
#[derive(Debug)]
pub struct Client<'a> {
    plan: Plan<'a>,
    asked: bool,
    connection: Option<Connection>,
    began: Option<Instant>,
    last_progress: Option<Instant>,
    head_len: u64,
    /// Octets of the request sent, head included.
    written: u64,
    is_written: bool,
    line: Line,
    reading: Reading,
    outcome: Outcome,
    /// The content of a short response, for the confirmed length.
    reply: [u8; 20],
    failure: Option<Failure>,
}

impl<'a> Client<'a> {
    /// Creates a client that begins with the driver's first turn.
    #[must_use]
    pub fn new(plan: Plan<'a>) -> Self {
        // Other octets would end the line, or the request.
        let is_path =
            plan.path.starts_with('/') && plan.path.bytes().all(|it| it.is_ascii_graphic());
        let bad = (!is_path || plan.path.len() > MAX_PATH).then_some(Failure::BadPath);
        Self {
            head_len: PartialWriter::measure(|writer| head(&plan, writer)) as u64,
            plan,
            asked: false,
            connection: None,
            began: None,
            last_progress: None,
            written: 0,
            is_written: false,
            line: Line::new(),
            reading: Reading::new(),
            outcome: Outcome::default(),
            reply: [0; 20],
            failure: bad,
        }
    }

    /// Progress of the client; call it after each turn of the driver.
    pub fn progress(&mut self, now: Instant) -> Progress {
        if let Some(failure) = self.failure {
            return Progress::Failed(failure);
        }
        if matches!(self.reading, Reading::Over) {
            return Progress::Done;
        }
        if now.since(*self.last_progress.get_or_insert(now)) >= self.plan.timeout {
            self.failure = Some(Failure::NoAnswer);
        }
        Progress::Running
    }

    /// Results so far.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let len = usize::try_from(self.outcome.received).unwrap_or(usize::MAX);
        let reply = self.reply.get(..len).map(<[u8]>::trim_ascii_end);
        let confirmed = reply.filter(|_| self.plan.upload.is_some() && self.outcome.status == 200);
        Outcome {
            confirmed: confirmed.and_then(|digits| number(digits, 10)),
            ..self.outcome
        }
    }

    /// Writes the content behind its first `at` octets. Returns the length, and the number of data octets in
    /// it.
    fn content(upload: Upload, at: u64, buffer: &mut [u8]) -> (usize, u64) {
        let Upload { octets, chunked } = upload;
        if !chunked {
            let left = usize::try_from(octets - at).unwrap_or(usize::MAX);
            let len = buffer.len().min(left);
            pattern::fill(at, &mut buffer[..len]);
            return (len, len as u64);
        }
        // Before, data and behind: each full chunk has the same number of octets.
        let before = |data: u64| {
            move |writer: &mut PartialWriter| {
                writer.digits(data, 16, 1);
                writer.raw(b"\r\n");
            }
        };
        let before_len = |data| PartialWriter::measure(before(data)) as u64;
        let each = before_len(CHUNK) + CHUNK + 2;
        let full = octets / CHUNK;
        let index = (at / each).min(full);
        let begun = index * CHUNK;
        let at = at - index * each;
        let data = CHUNK.min(octets - begun);
        if data == 0 {
            return (part(at, buffer, |writer| writer.raw(b"0\r\n\r\n")), 0);
        }
        let before_len = before_len(data);
        if at < before_len {
            return (part(at, buffer, before(data)), 0);
        }
        if at < before_len + data {
            let part = at - before_len;
            let len = buffer.len().min((data - part) as usize);
            pattern::fill(begun + part, &mut buffer[..len]);
            return (len, len as u64);
        }
        let behind: &[u8] = if data < CHUNK {
            b"\r\n0\r\n\r\n"
        } else {
            b"\r\n"
        };
        let at = at - before_len - data;
        (part(at, buffer, |writer| writer.raw(behind)), 0)
    }

    /// Consumes a line of the head.
    fn line(&mut self, taken: &mut &[u8]) -> Option<()> {
        let Reading::Head {
            status,
            fields,
            octets,
        } = &mut self.reading
        else {
            return Some(());
        };
        let before = taken.len();
        let is_over = self.line.push(taken);
        *octets += before - taken.len();
        if *octets > MAX_HEAD {
            return None;
        }
        if !is_over {
            return Some(());
        }
        let text = self.line.text();
        let Some(code) = *status else {
            let [b'H', b'T', b'T', b'P', b'/', b'1', b'.', _, b' ', code @ ..] = text else {
                return None;
            };
            *status = Some(number(code.get(..3)?, 10)? as u16);
            return Some(());
        };
        if !text.is_empty() {
            // Fields that are irrelevant here may have any value.
            return fields.line(&self.line).ok();
        }
        // Informational: the final response follows (RFC 9110 section 15.2).
        if (100..200).contains(&code) {
            self.reading = Reading::new();
            return Some(());
        }
        fields.check().ok()?;
        let body = match code {
            204 | 304 => Body::of_length(0),
            _ if fields.is_chunked => Body::chunked(),
            _ if fields.has_length => Body::of_length(fields.length),
            _ => Body::until_end(),
        };
        self.outcome.status = code;
        self.reading = Reading::Body(body);
        Some(())
    }

    fn data(&mut self, data: &[u8]) {
        let at = self.outcome.received;
        if self.plan.check && self.outcome.mismatch_at.is_none() {
            let differs = pattern::first_difference(at, data);
            self.outcome.mismatch_at = differs.map(|index| at + index as u64);
        }
        if let Some(reply) = usize::try_from(at)
            .ok()
            .and_then(|at| self.reply.get_mut(at..))
        {
            for (place, octet) in reply.iter_mut().zip(data) {
                *place = *octet;
            }
        }
        self.outcome.received += data.len() as u64;
    }
}

impl Service for Client<'_> {
    fn next_request(&mut self) -> Option<SocketRequest> {
        let asked = core::mem::replace(&mut self.asked, true);
        let to = self.plan.to;
        (!asked && self.failure.is_none()).then_some(SocketRequest::Connect { to, token: 0 })
    }

    fn opened(
        &mut self,
        connection: Connection,
        opened: Opened,
        now: Instant,
    ) -> Result<(), Refused> {
        if !matches!(opened, Opened::Connected { .. }) || self.connection.is_some() {
            return Err(Refused);
        }
        self.connection = Some(connection);
        self.last_progress = Some(now);
        Ok(())
    }

    fn failed(&mut self, _: u8, _: Instant) {
        self.failure = Some(Failure::NotReached);
    }

    fn received(&mut self, _: Connection, octets: &[u8], now: Instant) {
        if self.failure.is_some() || matches!(self.reading, Reading::Over) {
            return;
        }
        self.last_progress = Some(now);
        let span = now.since(self.began.unwrap_or(now));
        self.outcome.span = span;
        self.outcome.first_octet.get_or_insert(span);
        let mut octets = octets;
        loop {
            match &mut self.reading {
                Reading::Over => return,
                Reading::Head { .. } => {
                    if self.line(&mut octets).is_none() {
                        self.failure = Some(Failure::NotHttp);
                        return;
                    }
                    if octets.is_empty() && matches!(self.reading, Reading::Head { .. }) {
                        return;
                    }
                }
                Reading::Body(body) => {
                    let before = octets.len();
                    match body.push(&mut octets, &mut self.line) {
                        Taken::Data(data) => self.data(data),
                        Taken::End => self.reading = Reading::Over,
                        Taken::Fault => self.failure = Some(Failure::NotHttp),
                    }
                    if self.failure.is_some() || before == 0 {
                        return;
                    }
                }
            }
        }
    }

    fn fill(&mut self, _: Connection, buffer: &mut [u8], now: Instant) -> usize {
        let is_answered = matches!(self.reading, Reading::Over);
        if self.is_written || self.failure.is_some() || is_answered || buffer.is_empty() {
            return 0;
        }
        self.began.get_or_insert(now);
        let head_len = self.head_len;
        let mut len = 0;
        if self.written < head_len {
            let plan = &self.plan;
            len = part(self.written, buffer, |writer| head(plan, writer));
            self.written += len as u64;
        }
        if let Some(upload) = self.plan.upload.filter(|_| self.written >= head_len) {
            while len < buffer.len() {
                let (more, data) =
                    Self::content(upload, self.written - head_len, &mut buffer[len..]);
                if more == 0 {
                    self.is_written = true;
                    break;
                }
                len += more;
                self.written += more as u64;
                self.outcome.sent += data;
            }
        } else {
            self.is_written = self.written == head_len;
        }
        if len > 0 {
            self.last_progress = Some(now);
        }
        len
    }

    fn ended(&mut self, _: Connection, _: Instant) {
        match &self.reading {
            Reading::Over => {}
            Reading::Body(body) if body.is_until_end() => self.reading = Reading::Over,
            _ => {
                self.failure.get_or_insert(Failure::Broken);
            }
        }
    }

    fn closed(&mut self, connection: Connection, now: Instant) {
        self.ended(connection, now);
    }

    fn close(&self, _: Connection) -> Close {
        match (&self.reading, self.failure) {
            (_, Some(_)) => Close::Reset,
            // The server has answered before the end of the upload.
            (Reading::Over, _) if !self.is_written => Close::Reset,
            (Reading::Over, _) => Close::Finish,
            _ => Close::Keep,
        }
    }

    fn next_datagram(&mut self, _: &mut [u8], now: Instant) -> Option<Datagram> {
        self.last_progress.get_or_insert(now);
        None
    }

    fn wake_at(&self) -> Option<Instant> {
        if self.failure.is_some() || matches!(self.reading, Reading::Over) {
            return None;
        }
        Some(self.last_progress?.after(self.plan.timeout))
    }
}
