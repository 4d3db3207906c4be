//! The server's responses.

use crate::Instant;
use crate::octets::{behind, start};
use crate::partial_writer::PartialWriter;
use linerate_ether::pattern;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    None,
    /// A prefix of the pattern.
    Pattern,
    /// A number and a line feed.
    Number,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Response {
    /// Octets of the pattern, or the number.
    pub(super) value: u64,
    /// Arrival time of the request.
    pub(super) asked: Instant,
    pub(super) status: u16,
    pub(super) content: Content,
    /// The content is described but not sent: HEAD.
    pub(super) is_head: bool,
    /// The connection is closed after the response.
    pub(super) closes: bool,
}

const REASONS: [(u16, &str); 11] = [
    (100, "Continue"),
    (200, "OK"),
    (400, "Bad Request"),
    (404, "Not Found"),
    (405, "Method Not Allowed\r\nAllow: GET, HEAD, PUT, POST"),
    (408, "Request Timeout"),
    (414, "URI Too Long"),
    (417, "Expectation Failed"),
    (431, "Request Header Fields Too Large"),
    (501, "Not Implemented"),
    (505, "HTTP Version Not Supported"),
];

impl Response {
    /// No response. Zeros, which take no space in flash.
    pub(super) const NONE: Self = Self {
        closes: false,
        ..Self::fault(0, Instant::from_ns(0))
    };

    /// A response without content, after which the connection is closed.
    pub(super) const fn fault(status: u16, asked: Instant) -> Self {
        Self {
            value: 0,
            asked,
            status,
            content: Content::None,
            is_head: false,
            closes: true,
        }
    }

    /// Octets of content to send.
    pub(super) const fn octets(&self) -> u64 {
        match self.content {
            Content::Pattern if !self.is_head => self.value,
            _ => 0,
        }
    }

    /// Writes the head, and the content if it is a number.
    fn text(&self, writer: &mut PartialWriter) {
        let reason = REASONS.iter().find(|(status, _)| *status == self.status);
        writer.raw(b"HTTP/1.1 ");
        writer.digits(self.status.into(), 10, 1);
        writer.raw(b" ");
        writer.raw(reason.map_or("", |(_, reason)| reason).as_bytes());
        if self.status != 100 {
            let len = match self.content {
                Content::None => 0,
                Content::Pattern => self.value,
                Content::Number => {
                    PartialWriter::measure(|writer| number(self.value, writer)) as u64
                }
            };
            writer.raw(b"\r\nContent-Type: ");
            writer.raw(if self.content == Content::Pattern {
                b"application/octet-stream"
            } else {
                b"text/plain"
            });
            writer.raw(b"\r\nContent-Length: ");
            writer.digits(len, 10, 1);
        }
        if self.closes {
            writer.raw(b"\r\nConnection: close");
        }
        writer.raw(b"\r\n\r\n");
        if self.content == Content::Number {
            number(self.value, writer);
        }
    }

    /// Length of the text in octets.
    pub(super) fn text_len(&self) -> usize {
        PartialWriter::measure(|writer| self.text(writer))
    }

    /// Writes the part behind the first `sent` octets, of which `text_len` are text. Returns the length, and
    /// true if the response is complete.
    pub(super) fn fill(&self, text_len: usize, sent: u64, buffer: &mut [u8]) -> (usize, bool) {
        let mut len = 0;
        if sent < text_len as u64 {
            let mut writer = PartialWriter::new(buffer, sent as usize);
            self.text(&mut writer);
            len = writer.written();
        }
        let buffer = behind(buffer, len);
        let Some(begun) = (sent + len as u64).checked_sub(text_len as u64) else {
            return (len, false);
        };
        let left = self.octets() - begun;
        let buffer = start(buffer, usize::try_from(left).unwrap_or(usize::MAX));
        pattern::fill(begun, buffer);
        (len + buffer.len(), buffer.len() as u64 == left)
    }
}

fn number(value: u64, writer: &mut PartialWriter) {
    writer.digits(value, 10, 1);
    writer.raw(b"\n");
}
