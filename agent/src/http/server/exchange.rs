//! A server connection: requests in, responses out.

use core::net::SocketAddr;

use super::super::body::{Body, Taken};
use super::super::fields::{Fault, Fields};
use super::super::line::Line;
use super::Record;
use super::request::{Method, Request, Target};
use super::response::{Content, Response};
use crate::answer::NOBODY;
use crate::octets::behind;
use crate::{Close, Connection, Instant, SECOND};
use linerate_ether::fcs::{Bitwise, CrcMethod as _};

/// Maximum number of pipelined responses; a client that pipelines more must repeat them (RFC 9112 section
/// 9.3.2).
const MAX_PIPELINED: usize = 4;
/// Maximum length of a request head.
const MAX_HEAD: usize = 8192;
/// A connection without progress for this long gives way to a new one if there is no other slot.
const STALL_NS: u64 = 3 * SECOND;
/// Maximum wait for a client to read the last response and close its end.
const LINGER_NS: u64 = 2 * SECOND;

/// Input that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// None: the slot is free.
    Free,
    RequestLine,
    Fields,
    Body,
    /// Further input is ignored.
    Over,
}

/// A connection, or a free slot for one.
#[derive(Debug)]
pub(super) struct Exchange {
    phase: Phase,
    connection: Connection,
    is_reset: bool,
    /// Pending responses.
    pending: u8,
    /// Of the first response: octets of its text, once it has begun, and octets sent.
    text_len: usize,
    sent: u64,
    timeout_ns: u64,
    /// Time of the timeout, unless there is progress.
    deadline: Instant,
    /// Octets of the head so far.
    head_octets: usize,
    /// CRC-32 register of the content, if requested.
    crc: u32,
    /// Octets of the content, and the time of its first.
    octets: u64,
    began: Instant,
    fields: Fields,
    request: Request,
    body: Body,
    peer: SocketAddr,
    responses: [Response; MAX_PIPELINED],
    line: Line,
}

/// The requests that were served are passed to it.
pub(super) type OnRecord<'a> = &'a mut dyn FnMut(Record);

impl Exchange {
    /// A free slot. Zeros, which take no space in flash.
    pub(super) const FREE: Self = Self {
        phase: Phase::Free,
        connection: Connection(0),
        is_reset: false,
        pending: 0,
        text_len: 0,
        sent: 0,
        timeout_ns: 0,
        deadline: Instant::from_ns(0),
        head_octets: 0,
        crc: 0,
        octets: 0,
        began: Instant::from_ns(0),
        fields: Fields::NONE,
        request: Request::NONE,
        body: Body::of_length(0),
        peer: NOBODY,
        responses: [Response::NONE; MAX_PIPELINED],
        line: Line::new(),
    };

    /// Begins with a client.
    pub(super) fn begin_with(
        &mut self,
        connection: Connection,
        peer: &SocketAddr,
        timeout_ns: u64,
        now: Instant,
    ) {
        self.connection = connection;
        self.is_reset = false;
        self.pending = 0;
        self.sent = 0;
        self.timeout_ns = timeout_ns;
        self.deadline = now.after_ns(timeout_ns);
        self.peer = *peer;
        self.read_head();
    }

    /// The client is gone.
    pub(super) fn free(&mut self) {
        self.phase = Phase::Free;
    }

    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.phase == Phase::Free
    }

    pub(super) fn is_of(&self, connection: Connection) -> bool {
        !self.is_free() && self.connection == connection
    }

    fn read_head(&mut self) {
        self.phase = Phase::RequestLine;
        self.head_octets = 0;
        self.fields = Fields::NONE;
        self.line.restart();
    }

    /// True between two requests.
    fn is_between(&self) -> bool {
        self.phase == Phase::RequestLine && self.head_octets == 0
    }

    fn reads_head(&self) -> bool {
        matches!(self.phase, Phase::RequestLine | Phase::Fields)
    }

    pub(super) fn received(&mut self, mut octets: &[u8], now: Instant, record: OnRecord) {
        // A head must be complete in time, in however many pieces it arrives.
        if self.is_between() || self.phase == Phase::Body {
            self.deadline = now.after_ns(self.timeout_ns);
        }
        loop {
            let before = octets.len();
            let step = match self.phase {
                Phase::Free | Phase::Over => return,
                Phase::RequestLine | Phase::Fields => self.head(&mut octets, now),
                Phase::Body => self.body(&mut octets, now, record),
            };
            match step {
                Err(Fault(status)) => self.answer(Response::fault(status, now)),
                // Nothing was consumed, and nothing has ended.
                Ok(false) if octets.is_empty() || octets.len() == before => return,
                Ok(_) => {}
            }
        }
    }

    /// Consumes a line of a head, or a part of one; returns true if that began a body.
    #[inline(never)]
    fn head(&mut self, taken: &mut &[u8], now: Instant) -> Result<bool, Fault> {
        let before = taken.len();
        let is_over = self.line.push(taken);
        self.head_octets += before - taken.len();
        if self.head_octets > MAX_HEAD {
            return Err(Fault(431));
        }
        if !is_over {
            return Ok(false);
        }
        match (self.phase, self.line.text().is_empty()) {
            // An empty line before a request belongs to the previous one (RFC 9112 section 2.2).
            (Phase::RequestLine, true) => {}
            (Phase::RequestLine, false) => {
                self.request = Request::parse(&self.line)?;
                self.phase = Phase::Fields;
            }
            (_, false) => self.fields.line(&self.line)?,
            (_, true) => {
                self.begin(now)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The head is complete.
    fn begin(&mut self, now: Instant) -> Result<(), Fault> {
        let fields = &self.fields;
        fields.check()?;
        let is_1_0 = self.request.is_http_1_0;
        if if is_1_0 {
            fields.is_chunked
        } else {
            !fields.has_host
        } {
            return Err(Fault(400));
        }
        self.body = if fields.is_chunked {
            Body::chunked()
        } else {
            Body::of_length(fields.length)
        };
        let has_content = fields.is_chunked || fields.length > 0;
        if fields.expects_continue && has_content && !is_1_0 && self.pending == 0 {
            let mut response = Response::fault(100, now);
            response.closes = false;
            self.responses[0] = response;
            self.pending = 1;
        }
        self.phase = Phase::Body;
        self.octets = 0;
        self.crc = !0;
        self.began = now;
        Ok(())
    }

    /// Consumes content; returns false when more input is needed.
    #[inline(never)]
    fn body(&mut self, taken: &mut &[u8], now: Instant, record: OnRecord) -> Result<bool, Fault> {
        let is_crc32 = self.request.target == Target::Crc32;
        match self.body.push(taken, &mut self.line) {
            Taken::Fault => return Err(Fault(400)),
            Taken::Data(data) => {
                self.octets += data.len() as u64;
                if is_crc32 {
                    self.crc = Bitwise.update(self.crc, data);
                }
                // Once more: the content may have ended with that.
                let has_some = !data.is_empty();
                return Ok(has_some);
            }
            Taken::End => {}
        }
        let request = &self.request;
        let mut response = Response::fault(200, now);
        response.closes = self.fields.closes || request.is_http_1_0;
        response.is_head = request.method == Method::Head;
        if request.method == Method::Put {
            response.content = Content::Number;
            response.value = if is_crc32 {
                u64::from(!self.crc)
            } else {
                self.octets
            };
            record(self.record(false, self.octets, self.began, now));
        } else if request.target == Target::Octets {
            response.content = Content::Pattern;
            response.value = request.octets;
        } else {
            response.status = 404;
        }
        self.read_head();
        self.answer(response);
        Ok(true)
    }

    fn record(&self, sent: bool, octets: u64, since: Instant, now: Instant) -> Record {
        Record {
            peer: self.peer,
            octets,
            span_ns: now.ns_since(since),
            sent,
        }
    }

    /// Queues a response. It is the last one if the queue is full then, or if the connection closes after it.
    fn answer(&mut self, mut response: Response) {
        let place = usize::from(self.pending);
        response.closes |= place + 1 == MAX_PIPELINED;
        if response.closes {
            self.phase = Phase::Over;
        }
        if let Some(free) = self.responses.get_mut(place) {
            *free = response;
            self.pending += 1;
        }
    }

    pub(super) fn fill(&mut self, buffer: &mut [u8], now: Instant, record: OnRecord) -> usize {
        let mut len = 0;
        while self.pending > 0 && len < buffer.len() {
            let response = &self.responses[0];
            if self.sent == 0 {
                self.text_len = response.text_len();
            }
            let (more, is_over) = response.fill(self.text_len, self.sent, behind(buffer, len));
            len += more;
            self.sent += more as u64;
            if !is_over {
                break;
            }
            self.sent = 0;
            if response.content == Content::Pattern && !response.is_head {
                record(self.record(true, response.value, response.asked, now));
            }
            self.pending -= 1;
            for at in 1..MAX_PIPELINED {
                self.responses[at - 1] = self.responses[at];
            }
        }
        if len > 0 && (!self.reads_head() || self.is_between()) {
            self.deadline = now.after_ns(if self.has_sent_all() {
                LINGER_NS
            } else {
                self.timeout_ns
            });
        }
        len
    }

    /// The client has no more requests; an incomplete one is discarded.
    pub(super) fn ended(&mut self) {
        self.phase = Phase::Over;
    }

    pub(super) fn check_timeout(&mut self, now: Instant) {
        if self.is_free() || self.is_reset || now < self.deadline {
            return;
        }
        self.deadline = now.after_ns(LINGER_NS);
        if self.pending > 0 || self.phase == Phase::Over {
            // The client reads nothing, or does not close.
            self.is_reset = true;
        } else if self.is_between() {
            self.phase = Phase::Over;
        } else {
            self.answer(Response::fault(408, now));
        }
    }

    /// True if the last response was sent.
    fn has_sent_all(&self) -> bool {
        self.pending == 0 && self.phase == Phase::Over
    }

    pub(super) fn close(&self) -> Close {
        if self.is_reset {
            Close::Reset
        } else if self.has_sent_all() {
            Close::Finish
        } else {
            Close::Keep
        }
    }

    /// True if a new connection may have its slot.
    pub(super) fn gives_way(&self, now: Instant) -> bool {
        self.deadline <= now.after_ns(self.timeout_ns.saturating_sub(STALL_NS))
    }

    /// `NEVER` if nothing is due.
    pub(super) fn wake_at(&self) -> Instant {
        if self.is_free() || self.is_reset {
            return Instant::NEVER;
        }
        self.deadline
    }
}
