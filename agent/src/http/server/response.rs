//! The server's responses.

use crate::partial_writer::PartialWriter;
use linerate_ether::pattern;

#[derive(Debug, Clone, Copy)]
pub(super) enum Content {
    None,
    /// A prefix of the pattern, in octets.
    Pattern(u64),
    /// A number and a line feed.
    Number(u64),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) content: Content,
    /// The content is described but not sent: HEAD.
    pub(super) is_head: bool,
    /// The connection is closed after the response.
    pub(super) closes: bool,
}

impl Response {
    pub(super) const fn fault(status: u16) -> Self {
        Self {
            status,
            content: Content::None,
            is_head: false,
            closes: true,
        }
    }

    /// Octets of content to send.
    pub(super) const fn octets(&self) -> u64 {
        match self.content {
            Content::Pattern(len) if !self.is_head => len,
            _ => 0,
        }
    }

    /// Writes the head, and the content if it is a number.
    fn text(&self, writer: &mut PartialWriter) {
        let reason = match self.status {
            100 => "Continue",
            200 => "OK",
            400 => "Bad Request",
            404 => "Not Found",
            405 => "Method Not Allowed\r\nAllow: GET, HEAD, PUT, POST",
            408 => "Request Timeout",
            414 => "URI Too Long",
            417 => "Expectation Failed",
            431 => "Request Header Fields Too Large",
            501 => "Not Implemented",
            _ => "HTTP Version Not Supported",
        };
        writer.raw(b"HTTP/1.1 ");
        writer.digits(self.status.into(), 10, 1);
        writer.raw(b" ");
        writer.raw(reason.as_bytes());
        if self.status != 100 {
            let (len, kind) = match self.content {
                Content::None => (0, "text/plain"),
                Content::Pattern(len) => (len, "application/octet-stream"),
                Content::Number(value) => {
                    let line = |writer: &mut PartialWriter| number(value, writer);
                    (PartialWriter::measure(line) as u64, "text/plain")
                }
            };
            writer.raw(b"\r\nContent-Type: ");
            writer.raw(kind.as_bytes());
            writer.raw(b"\r\nContent-Length: ");
            writer.digits(len, 10, 1);
        }
        if self.closes {
            writer.raw(b"\r\nConnection: close");
        }
        writer.raw(b"\r\n\r\n");
        if let Content::Number(value) = self.content {
            number(value, writer);
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
        let buffer = &mut buffer[len..];
        let Some(begun) = (sent + len as u64).checked_sub(text_len as u64) else {
            return (len, false);
        };
        let left = self.octets() - begun;
        let now = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        pattern::fill(begun, &mut buffer[..now]);
        (len + now, now as u64 == left)
    }
}

fn number(value: u64, writer: &mut PartialWriter) {
    writer.digits(value, 10, 1);
    writer.raw(b"\n");
}
