//! A server connection: requests in, responses out.

use core::net::SocketAddr;
use core::time::Duration;

use super::super::body::{Body, Taken};
use super::super::fields::{Fault, Fields};
use super::super::line::Line;
use super::Finished;
use super::request::{Method, Request};
use super::response::{Content, Response};
use crate::queue::shift;
use crate::{Close, Connection, Instant, SECOND, ns, span};
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

#[derive(Debug, Clone, Copy)]
enum Reading {
    Head {
        request: Option<Request>,
        fields: Fields,
        octets: usize,
    },
    Body {
        request: Request,
        closes: bool,
        body: Body,
        octets: u64,
        /// CRC-32 register, if requested.
        crc: u32,
        began: Instant,
    },
    /// Further input is ignored.
    Over,
}

impl Reading {
    fn new() -> Self {
        Self::Head {
            request: None,
            fields: Fields::default(),
            octets: 0,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange {
    pub(super) connection: Connection,
    peer: SocketAddr,
    timeout_ns: u64,
    /// Time of the timeout, unless there is progress.
    deadline: Instant,
    line: Line,
    reading: Reading,
    /// Pending responses, with the arrival times of their requests.
    responses: [Option<(Response, Instant)>; MAX_PIPELINED],
    /// Of the first response: octets of its text, once it has begun, and octets sent.
    text_len: usize,
    sent: u64,
    is_reset: bool,
}

impl Exchange {
    pub(super) fn new(
        connection: Connection,
        peer: SocketAddr,
        timeout: Duration,
        now: Instant,
    ) -> Self {
        Self {
            connection,
            peer,
            timeout_ns: ns(timeout),
            deadline: now.after(timeout),
            line: Line::new(),
            reading: Reading::new(),
            responses: [None; MAX_PIPELINED],
            text_len: 0,
            sent: 0,
            is_reset: false,
        }
    }

    fn is_between(&self) -> bool {
        matches!(self.reading, Reading::Head { octets: 0, .. })
    }

    pub(super) fn received(
        &mut self,
        mut octets: &[u8],
        now: Instant,
        mut record: impl FnMut(Finished),
    ) {
        // A head must be complete in time, in however many pieces it arrives.
        if self.is_between() || matches!(self.reading, Reading::Body { .. }) {
            self.deadline = now.after_ns(self.timeout_ns);
        }
        loop {
            let before = octets.len();
            let step = match &self.reading {
                Reading::Over => return,
                Reading::Head { .. } => self.head(&mut octets, now),
                Reading::Body { .. } => self.body(&mut octets, now, &mut record),
            };
            match step {
                Err(Fault(status)) => self.answer(Response::fault(status), now),
                // Nothing was consumed, and nothing has ended.
                Ok(false) if octets.is_empty() || octets.len() == before => return,
                Ok(_) => {}
            }
        }
    }

    /// Consumes a line of a head, or a part of one; returns true if that began a body.
    fn head(&mut self, taken: &mut &[u8], now: Instant) -> Result<bool, Fault> {
        let Reading::Head {
            request,
            fields,
            octets,
        } = &mut self.reading
        else {
            return Ok(false);
        };
        let (len, is_over) = self.line.push(taken);
        *taken = &taken[len..];
        *octets += len;
        if *octets > MAX_HEAD {
            return Err(Fault(431));
        }
        if !is_over {
            return Ok(false);
        }
        let is_empty = self.line.text().is_empty();
        match request {
            // An empty line before a request belongs to the previous one (RFC 9112 section 2.2).
            None if is_empty => Ok(false),
            None => {
                *request = Some(Request::parse(&self.line)?);
                Ok(false)
            }
            Some(_) if !is_empty => fields.line(&self.line).map(|()| false),
            Some(request) => {
                let (request, fields) = (*request, core::mem::take(fields));
                self.begin(request, &fields, now)?;
                Ok(true)
            }
        }
    }

    fn begin(&mut self, request: Request, fields: &Fields, now: Instant) -> Result<(), Fault> {
        fields.check()?;
        if request.is_http_1_0 && fields.is_chunked || !request.is_http_1_0 && !fields.has_host {
            return Err(Fault(400));
        }
        let body = if fields.is_chunked {
            Body::chunked()
        } else {
            Body::of_length(fields.length.unwrap_or(0))
        };
        let has_content = fields.is_chunked || fields.length.is_some_and(|len| len > 0);
        let is_free = self.responses.iter().all(Option::is_none);
        if fields.expects_continue && has_content && !request.is_http_1_0 && is_free {
            self.responses[0] = Some((
                Response {
                    closes: false,
                    ..Response::fault(100)
                },
                now,
            ));
        }
        self.reading = Reading::Body {
            request,
            closes: fields.closes || request.is_http_1_0,
            body,
            octets: 0,
            crc: !0,
            began: now,
        };
        Ok(())
    }

    /// Consumes content; returns false when more input is needed.
    fn body(
        &mut self,
        taken: &mut &[u8],
        now: Instant,
        record: &mut impl FnMut(Finished),
    ) -> Result<bool, Fault> {
        let Reading::Body {
            request,
            closes,
            body,
            octets,
            crc,
            began,
        } = &mut self.reading
        else {
            return Ok(false);
        };
        match body.push(taken, &mut self.line) {
            Taken::Fault => return Err(Fault(400)),
            Taken::Data(data) => {
                *octets += data.len() as u64;
                if request.is_crc32 {
                    *crc = Bitwise.update(*crc, data);
                }
                // Once more: the content may have ended with that.
                let has_some = !data.is_empty();
                return Ok(has_some);
            }
            Taken::End => {}
        }
        let (request, closes, octets, crc, began) = (*request, *closes, *octets, *crc, *began);
        self.reading = Reading::new();
        self.line = Line::new();
        let (status, content) = match (request.method, request.octets) {
            (Method::Put, _) if request.is_crc32 => (200, Content::Number(u64::from(!crc))),
            (Method::Put, _) => (200, Content::Number(octets)),
            (_, Some(octets)) => (200, Content::Pattern(octets)),
            (_, None) => (404, Content::None),
        };
        if request.method == Method::Put {
            record(Finished {
                sent: false,
                peer: self.peer,
                octets,
                span: span(now.ns_since(began)),
            });
        }
        let response = Response {
            status,
            content,
            is_head: request.method == Method::Head,
            closes,
        };
        self.answer(response, now);
        Ok(true)
    }

    /// Queues a response. It is the last one if the queue is full then, or if the connection closes after it.
    fn answer(&mut self, response: Response, now: Instant) {
        if let Some(at) = self.responses.iter().position(Option::is_none) {
            let is_last = response.closes || at == MAX_PIPELINED - 1;
            let closes = is_last;
            self.responses[at] = Some((Response { closes, ..response }, now));
            if is_last {
                self.reading = Reading::Over;
            }
        } else {
            self.reading = Reading::Over;
        }
    }

    pub(super) fn fill(
        &mut self,
        buffer: &mut [u8],
        now: Instant,
        mut record: impl FnMut(Finished),
    ) -> usize {
        let mut len = 0;
        while let Some((response, asked)) = self.responses[0].filter(|_| len < buffer.len()) {
            if self.sent == 0 {
                self.text_len = response.text_len();
            }
            let (more, is_over) = response.fill(self.text_len, self.sent, &mut buffer[len..]);
            len += more;
            self.sent += more as u64;
            if !is_over {
                break;
            }
            self.sent = 0;
            shift(&mut self.responses);
            if let Content::Pattern(_) = response.content
                && !response.is_head
            {
                record(Finished {
                    sent: true,
                    peer: self.peer,
                    octets: response.octets(),
                    span: span(now.ns_since(asked)),
                });
            }
        }
        let reads_head = matches!(self.reading, Reading::Head { octets: 1.., .. });
        if len > 0 && !reads_head {
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
        self.reading = Reading::Over;
    }

    pub(super) fn check_timeout(&mut self, now: Instant) {
        if self.is_reset || now < self.deadline {
            return;
        }
        self.deadline = now.after_ns(LINGER_NS);
        let is_over = matches!(self.reading, Reading::Over);
        if self.responses[0].is_some() || is_over {
            // The client reads nothing, or does not close.
            self.is_reset = true;
        } else if self.is_between() {
            self.reading = Reading::Over;
        } else {
            self.answer(Response::fault(408), now);
        }
    }

    /// True if the last response was sent.
    const fn has_sent_all(&self) -> bool {
        self.responses[0].is_none() && matches!(self.reading, Reading::Over)
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

    pub(super) fn wake_at(&self) -> Option<Instant> {
        (!self.is_reset).then_some(self.deadline)
    }
}
