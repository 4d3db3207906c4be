//! What the server answers.

use super::super::{Text, copy_part};
use linerate_ether::pattern;

/// Enough for the longest head.
const HEAD: usize = 160;

#[derive(Debug, Clone, Copy)]
pub(super) enum Content {
    None,
    /// So many octets of the pattern.
    Pattern(u64),
    /// A number and the end of the line.
    Number(u64),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) content: Content,
    /// The content is only told about: HEAD.
    pub(super) is_head: bool,
    /// The connection is closed behind it.
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

    /// Octets of content that are sent.
    pub(super) const fn octets(&self) -> u64 {
        match self.content {
            Content::Pattern(len) if !self.is_head => len,
            _ => 0,
        }
    }

    fn head(&self) -> Text<HEAD> {
        let reason = match self.status {
            100 => return Text::new().and("HTTP/1.1 100 Continue\r\n\r\n"),
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
        let (len, kind) = match self.content {
            Content::None => (0, "text/plain"),
            Content::Pattern(len) => (len, "application/octet-stream"),
            Content::Number(value) => (number(value).octets().len() as u64, "text/plain"),
        };
        let end = if self.closes {
            "\r\nConnection: close\r\n\r\n"
        } else {
            "\r\n\r\n"
        };
        let status = Text::new()
            .and("HTTP/1.1 ")
            .and_number(self.status.into(), 10);
        let status = status.and(" ").and(reason).and("\r\nContent-Type: ");
        let length = status.and(kind).and("\r\nContent-Length: ");
        length.and_number(len, 10).and(end)
    }

    /// Octets of its head.
    pub(super) fn head_len(&self) -> u64 {
        self.head().octets().len() as u64
    }

    /// Writes what comes behind the first `sent` octets of it, of which `head_len` are the head. The
    /// second: that was all.
    pub(super) fn fill(&self, head_len: u64, sent: u64, room: &mut [u8]) -> (usize, bool) {
        let mut len = 0;
        if sent < head_len {
            len = copy_part(self.head().octets(), sent as usize, room);
        }
        let begun = (sent + len as u64).saturating_sub(head_len);
        let room = &mut room[len..];
        let total = match self.content {
            Content::None => 0,
            Content::Pattern(_) => {
                let total = self.octets();
                let left = usize::try_from(total - begun).unwrap_or(usize::MAX);
                let now = room.len().min(left);
                pattern::fill(begun, &mut room[..now]);
                len += now;
                total
            }
            Content::Number(value) => {
                let text = number(value);
                len += copy_part(text.octets(), begun as usize, room);
                text.octets().len() as u64
            }
        };
        // The sum of both may be more than there are numbers.
        let sent = sent + len as u64;
        (len, sent.checked_sub(head_len) == Some(total))
    }
}

fn number(value: u64) -> Text<21> {
    Text::new().and_number(value, 10).and("\n")
}
